//! ClusterPolicies with one rule in CEL.

use ephor_api::read::{listed, member, texts as texts_of};
use ephor_value::wildcard::matches;
use ephor_value::{Map, Value};

use super::outcome::{Known, Native, NativeError};
use super::parts::{copy, map, named, texts};
use super::resources::UnknownKind;
use super::{refusals, resources};

/// The policy and its binding.
pub fn native(policy: &Value, known: &Known<'_>) -> Result<Native, NativeError> {
    let name = policy.text_at(&["metadata", "name"]);
    let rules = policy.get("spec").map_or(&[][..], |spec| listed(spec, "rules"));
    let rule = rules.first().cloned().unwrap_or_default();
    let exceptions: Vec<&Value> =
        known.exceptions.iter().filter(|e| excepts(e, name, rule.text_at(&["name"]))).collect();
    refusals::check(policy, &exceptions).map_err(NativeError::Refused)?;
    let cel = rule.at(&["validate", "cel"]).cloned().unwrap_or_default();

    let mut spec = Map::new();
    copy(&cel, &mut spec, &[("auditAnnotations", "auditAnnotations")]);
    copy(&rule, &mut spec, &[("celPreconditions", "matchConditions")]);
    spec.insert(
        "matchConstraints",
        Value::Map(constraints(&rule, &exceptions, known).map_err(NativeError::UnknownKind)?),
    );
    copy(
        &cel,
        &mut spec,
        &[("paramKind", "paramKind"), ("expressions", "validations"), ("variables", "variables")],
    );

    let mut binding = Map::new();
    copy(&cel, &mut binding, &[("paramRef", "paramRef")]);
    let action = match rule.text_at(&["validate", "failureAction"]) {
        "" => policy.text_at(&["spec", "validationFailureAction"]),
        own => own,
    };
    let actions: &[&str] =
        if action.eq_ignore_ascii_case("enforce") { &["Deny"] } else { &["Audit", "Warn"] };
    binding.insert("validationActions", texts(actions));
    Ok(named(policy, "cpol", "ValidatingAdmissionPolicy", spec, binding, known.kinds))
}

/// Whether an exception is one from the rule.
fn excepts(exception: &Value, policy: &str, rule: &str) -> bool {
    exception.text_at(&["apiVersion"]).starts_with("kyverno.io/")
        && exception.get("spec").map_or(&[][..], |spec| listed(spec, "exceptions")).iter().any(|e| {
            e.text_at(&["policyName"]) == policy
                && texts_of(e, &["ruleNames"]).any(|wanted| matches(wanted, rule))
        })
}

/// The filters of a block: the block itself, those of `any`, those of `all`.
fn filters(block: Option<&Value>) -> Vec<&Value> {
    let Some(block) = block else { return Vec::new() };
    let mut all = vec![block];
    all.extend(listed(block, "any"));
    all.extend(listed(block, "all"));
    all
}

fn constraints(rule: &Value, exceptions: &[&Value], known: &Known<'_>) -> Result<Map, UnknownKind> {
    let matched = filters(member(rule, "match"));
    let mut excluded = filters(member(rule, "exclude"));
    for exception in exceptions {
        excluded.extend(filters(exception.at(&["spec", "match"])));
    }
    let mut out = Map::new();
    let rules = resources::rules(excluded.into_iter(), known.kinds)?;
    if !rules.is_empty() {
        out.insert("excludeResourceRules", Value::list(rules));
    }
    let (mut namespaces, mut objects) = (None, None);
    for resources in matched.iter().filter_map(|f| f.get("resources")) {
        let names = listed(resources, "namespaces");
        if !names.is_empty() {
            namespaces = Some(in_namespaces(names));
        } else if let Some(selector) = member(resources, "namespaceSelector") {
            namespaces = Some(selector.clone());
        }
        objects = member(resources, "selector").cloned().or(objects);
    }
    for (key, selector) in [("namespaceSelector", namespaces), ("objectSelector", objects)] {
        if let Some(selector) = selector {
            out.insert(key, selector);
        }
    }
    let matched = matched
        .into_iter()
        .filter(|f| !f.get("resources").map_or(&[][..], |r| listed(r, "kinds")).is_empty());
    out.insert("resourceRules", Value::list(resources::rules(matched, known.kinds)?));
    Ok(out)
}

/// Namespaces are chosen by the label that has their name.
fn in_namespaces(names: &[Value]) -> Value {
    let expression = map([
        ("key", "kubernetes.io/metadata.name".into()),
        ("operator", "In".into()),
        ("values", Value::list(names.to_vec())),
    ]);
    Value::Map(map([("matchExpressions", Value::list(vec![Value::Map(expression)]))]))
}
