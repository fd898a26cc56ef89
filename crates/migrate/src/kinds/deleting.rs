//! CleanupPolicies → DeletingPolicies.
//!
//! In: the document as written. Out: a DeletingPolicy with the same schedule. Conditions are those
//! of a rule whose object is the target; a DeletingPolicy sees no request.

use ephor_ir::Origin;
use ephor_value::print::json;
use ephor_value::{Map as Fields, Str, Value};

use crate::constraints::{add_condition, conditions, constraints, of_stored};
use crate::expressions::context::{Context, Target};
use crate::expressions::converted::{Converted, NamedExpression};
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::shared;
use crate::kinds::shared::{VERSION, conditions_of};
use crate::model::migrated::{Migrated, Note, Options, TargetApi};
use crate::model::original::{NewMetadata, Original};
use crate::model::pair::{Pair, PairKind};
use crate::proof::split::{denial_where, denying_alone, of_object};
use crate::text::{Map, Node};

/// Objects that exist are compared as new ones.
const CREATE: &str = "CREATE";

/// What takes the place of a CleanupPolicy or ClusterCleanupPolicy.
pub fn migrate(original: &Original, options: &Options) -> Result<Migrated, Vec<Refusal>> {
    policy(original, options).map_err(|refusal| vec![refusal])
}

fn policy(original: &Original, options: &Options) -> Result<Migrated> {
    let document = &original.value;
    if options.to == TargetApi::Kubernetes {
        return Err(Refusal::new(
            "a policy that deletes objects",
            Origin::new("spec"),
            "Kubernetes has none: write a DeletingPolicy with `--to vpol`",
        ));
    }
    let lowered = ephor_lower::policy::cleanup(document);
    let found = of_stored(&lowered.when, lowered.unless.as_ref(), &options.kinds)?;
    let name = document.text_at(&["metadata", "name"]);
    let namespace = Some(document.text_at(&["metadata", "namespace"]))
        .filter(|_| document.text_at(&["kind"]) == "CleanupPolicy");
    let context = Context {
        kinds: found.kinds.clone(),
        namespace: namespace.map(Str::from),
        ..Context::new(Target::Kyverno, found.kinds.clone(), options.types.clone())
    };
    let converted = preconditions(document, &context)?;
    let mut all = found.conditions.clone();
    converted.conditions.into_iter().for_each(|one| add_condition(&mut all, one));
    let variables = converted.variables.iter().map(|v| v.expression.as_str());
    if all.iter().map(|c| c.expression.as_str()).chain(variables).any(|text| text.contains("request.")) {
        return Err(Refusal::new(
            "a condition about the request",
            Origin::new("spec.conditions"),
            "objects are deleted on a schedule, without a request: leave it out",
        ));
    }
    let mut spec = Map::default();
    let text = |key: &str| document.text_at(&["spec", key]).to_string();
    spec.push("schedule", Node::text(text("schedule")));
    spec.push_text("deletionPropagationPolicy", &text("deletionPropagationPolicy"));
    spec.push("matchConstraints", constraints(&found));
    spec.push_list("variables", converted.variables.iter().map(NamedExpression::node));
    spec.push_some("conditions", conditions(&all));
    let kind = if namespace.is_some() { "NamespacedDeletingPolicy" } else { "DeletingPolicy" };
    let out = shared::document(original, kind, &NewMetadata { name, namespace, origin: None }, spec);
    let notes =
        found.notes.iter().map(|text| Note { place: original.place("spec.match"), text: text.clone() });
    let written = ephor_document::yaml_value(&out.text).unwrap_or_default();
    let denials = denial_of_deletion(document).zip(denial_of_deletion(&written));
    let pair = denials.map(|(old, new)| Pair { old, new, says: PairKind::Acts });
    Ok(Migrated {
        pairs: pair.into_iter().collect(),
        documents: vec![out],
        notes: notes.collect(),
        ..Migrated::default()
    })
}

/// A policy that denies the objects which a policy deletes, so that two of these can be compared
/// whatever their kinds; `None`: it deletes none.
pub fn denial_of_deletion(document: &Value) -> Option<String> {
    let kind = document.text_at(&["kind"]);
    match document.text_at(&["apiVersion"]) {
        version if version.starts_with("policies.kyverno.io/") && kind.ends_with("DeletingPolicy") => {
            Some(of_deleting(document))
        }
        version if version.starts_with("kyverno.io/") && kind.ends_with("CleanupPolicy") => {
            Some(of_cleanup(document))
        }
        _ => None,
    }
}

fn of_cleanup(document: &Value) -> String {
    let spec = document.get("spec").cloned().unwrap_or_default();
    let mut rule = Fields::new();
    rule.insert("name", Value::from("cleanup"));
    for key in ["match", "exclude"] {
        if let Some(value) = spec.get(key) {
            rule.insert(key, created(value));
        }
    }
    for (from, to) in [("context", "context"), ("conditions", "preconditions")] {
        if let Some(value) = spec.get(from).filter(|_| spec.get("conditions").is_some()) {
            rule.insert(to, of_object(value));
        }
    }
    denying_alone(document, Value::Map(rule))
}

fn of_deleting(document: &Value) -> String {
    let text = |key: &str| document.text_at(&["metadata", key]);
    let mut metadata = Fields::new();
    for key in ["name", "namespace"].into_iter().filter(|key| !text(key).is_empty()) {
        metadata.insert(key, Value::from(text(key)));
    }
    let part = |key: &str| document.at(&["spec", key]).filter(|v| !v.is_null());
    let on_creation = |rules: &Value| {
        let rules = rules.as_list().unwrap_or_default().iter();
        Value::list(rules.map(|rule| rule.with("operations", Value::list(vec![CREATE.into()]))).collect())
    };
    let mut constraints = part("matchConstraints").cloned().unwrap_or_default();
    for key in ["resourceRules", "excludeResourceRules"] {
        if let Some(rules) = constraints.get(key).filter(|v| !v.is_null()).map(on_creation) {
            constraints = constraints.with(key, rules);
        }
    }
    let all = NamedExpression::written(part("conditions"));
    let check = Value::map([("expression", Value::from(denial_where(&all)))]);
    let none = Value::map([("controllers", Value::list(Vec::new()))]);
    let mut spec = Fields::new();
    spec.insert("validationActions", Value::list(vec![Value::from("Audit")]));
    spec.insert("autogen", Value::map([("podControllers", none)]));
    spec.insert("matchConstraints", constraints);
    if let Some(variables) = part("variables") {
        spec.insert("variables", variables.clone());
    }
    spec.insert("validations", Value::list(vec![check]));
    let kind = match document.text_at(&["kind"]).starts_with("Namespaced") {
        true => "NamespacedValidatingPolicy",
        false => "ValidatingPolicy",
    };
    json(&Value::map([
        ("apiVersion", Value::from(VERSION)),
        ("kind", Value::from(kind)),
        ("metadata", Value::Map(metadata)),
        ("spec", Value::Map(spec)),
    ]))
    .to_string()
}

/// A block of `match` or `exclude` for objects that are created.
fn created(block: &Value) -> Value {
    match block {
        Value::List(items) => Value::list(items.iter().map(created).collect()),
        Value::Map(fields) => {
            let of = |(key, value): (&Str, &Value)| {
                let value = match &**key {
                    "resources" => value.with("operations", Value::list(vec![Value::from(CREATE)])),
                    _ => created(value),
                };
                (key.clone(), value)
            };
            Value::Map(fields.iter().map(of).collect())
        }
        other => other.clone(),
    }
}

/// The conditions in CEL: those of a rule with the target as its object.
fn preconditions(document: &Value, context: &Context) -> Result<Converted> {
    let part = |key: &str| document.at(&["spec", key]).filter(|v| !v.is_null());
    if part("conditions").is_none() {
        return Ok(Converted::default());
    }
    let mut rule = Fields::new();
    rule.insert("name", Value::from("cleanup"));
    for (from, to) in [("match", "match"), ("context", "context"), ("conditions", "preconditions")] {
        if let Some(value) = part(from) {
            rule.insert(to, of_object(value));
        }
    }
    conditions_of(rule, 0, context).map_err(|refusal| {
        let path = refusal.place.path.replace("spec.rules[0].preconditions", "spec.conditions");
        Refusal { place: Origin::new(path.replace("spec.rules[0]", "spec")), ..refusal }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_cleanup_policy_becomes_one_that_deletes_on_the_same_schedule() {
        let text = "apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata:
  name: clean
spec:
  schedule: '*/5 * * * *'
  match:
    any:
      - resources: {kinds: [Deployment], selector: {matchLabels: {remove: 'true'}}}
  conditions:
    any:
      - {key: '{{ target.spec.replicas }}', operator: LessThan, value: 2}
";
        let value = ephor_document::yaml_value(text).unwrap();
        let original = Original { file: "c.yaml".into(), line: 1, text: text.into(), value };
        let migrated = migrate(&original, &Options::default()).unwrap();
        let new = &migrated.documents.first().unwrap().text;
        assert!(new.starts_with("apiVersion: policies.kyverno.io/v1\nkind: DeletingPolicy\n"), "{new}");
        assert!(new.contains("  schedule: '*/5 * * * *'\n"), "{new}");
        assert!(new.contains("object.metadata.?labels[?'remove'].orValue('') == 'true'"), "{new}");
        assert!(new.contains("object.spec.replicas < 2") || new.contains("replicas"), "{new}");
    }
}
