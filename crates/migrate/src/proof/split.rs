//! Policies that act on other objects than that of a request, taken apart for a comparison.
//!
//! In: a rule with targets or one that verifies images, with its drafts; a policy that deletes
//! objects. Out: [`Pair`]s of an old and a new policy about one object. Where one of a pair denies
//! an object, the rule acts because of it; where one changes an object, the rule changes a target
//! so. In the second one the target is the object of the request, too.

use ephor_compare::REPLACES;
use ephor_value::print::json;
use ephor_value::replace::replace_where;
use ephor_value::{Map as Fields, Str, Value};

use crate::constraints::Deletions;
use crate::constraints::model::Matching;
use crate::driver::policy::documents;
use crate::expressions::converted::NamedExpression;
use crate::model::draft::{Check, Draft, MutationDraft};
use crate::model::migrated::SEPARATOR;
use crate::model::pair::{Pair, PairKind};
use crate::model::source::Source;
use crate::model::unique::members;

/// A policy with a rule that denies what it selects, in the place of one that deletes that.
pub fn denying_alone(document: &Value, rule: Value) -> String {
    policy(document, rule.with("validate", denial()), Some("none"))
}

/// The pairs for a rule and the drafts that take its place.
pub fn pairs(source: &Source<'_>, rule: &Value, drafts: &[&Draft]) -> Vec<Pair> {
    let is_apart = |draft: &&&Draft| draft.targets.is_some() || draft.images.is_some();
    let own: Vec<&Draft> = drafts.iter().filter(is_apart).copied().collect();
    if own.is_empty() {
        return Vec::new();
    }
    let of_images: Vec<&Draft> = own.iter().filter(|draft| draft.targets.is_none()).copied().collect();
    let mut out = Vec::new();
    if !of_images.is_empty() {
        out.push(acts(source, rule, &of_images));
    }
    let targets = rule.at(&["mutate", "targets"]).and_then(Value::as_list).unwrap_or_default();
    for (at, target) in targets.iter().enumerate() {
        let is_for = |draft: &&&Draft| draft.targets.as_ref().is_some_and(|targets| targets.at == at);
        let of_target: Vec<&Draft> = own.iter().filter(is_for).copied().collect();
        out.push(acts(source, rule, &of_target));
        out.extend(of_target.first().map(|draft| changes(source, rule, target, draft)));
        out.extend(of_target.iter().filter_map(|draft| names(source, rule, target, draft)));
    }
    out
}

/// A policy of which some rules act on other objects than that of a request, taken apart: the old
/// policy and what takes its place, first with the rules that generate objects and then with those
/// that say something about the object. Rules with targets are in neither, but in pairs. Empty: all
/// rules are of one of these kinds.
pub fn apart(source: &Source<'_>, drafts: &[Draft]) -> Vec<(String, String)> {
    type Of<'f, T> = &'f dyn Fn(&&T) -> bool;
    let has_targets = |rule: &&Value| {
        rule.at(&["mutate", "targets"]).and_then(Value::as_list).is_some_and(|list| !list.is_empty())
    };
    let generates = |rule: &&Value| rule.get("generate").is_some_and(|own| !own.is_null());
    let kinds: [(Of<'_, Value>, Of<'_, Draft>); 2] = [
        (&generates, &|draft| !draft.generated.is_empty()),
        (&|rule| !generates(rule) && !has_targets(rule), &|draft| {
            draft.generated.is_empty() && draft.targets.is_none()
        }),
    ];
    let mut out = Vec::new();
    for (of_rule, of_draft) in kinds {
        let own: Vec<Draft> = drafts.iter().filter(of_draft).cloned().collect();
        if own.len() == drafts.len() {
            return Vec::new();
        }
        if !own.is_empty() {
            out.push((with_rules(source, of_rule), written(source, &own)));
        }
    }
    out
}

/// The old policy with some of its rules.
fn with_rules(source: &Source<'_>, is_one: &dyn Fn(&&Value) -> bool) -> String {
    let spec = source.document.get("spec").cloned().unwrap_or_default();
    let rules = spec.get("rules").and_then(Value::as_list).unwrap_or_default();
    let rules: Vec<Value> = rules.iter().filter(is_one).cloned().collect();
    let mut old = source.document.with("spec", spec.with("rules", Value::list(rules)));
    // A rule that is left out may be why there are none for controllers.
    if source.policy.by_kind.is_empty() {
        let metadata = old.get("metadata").cloned().unwrap_or_default();
        let annotations = metadata.get("annotations").cloned().unwrap_or_else(|| Value::Map(Fields::new()));
        let annotations = annotations.with(CONTROLLERS, Value::from("none"));
        old = old.with("metadata", metadata.with("annotations", annotations));
    }
    json(&old).to_string()
}

/// The annotation that names the controllers for which there are rules.
const CONTROLLERS: &str = "pod-policies.kyverno.io/autogen-controllers";

/// Which requests a rule acts on.
fn acts(source: &Source<'_>, rule: &Value, drafts: &[&Draft]) -> Pair {
    let mut new = Vec::new();
    for draft in drafts {
        let mut own = Draft {
            targets: None,
            images: None,
            mutations: Vec::new(),
            checks: vec![never()],
            ..(*draft).clone()
        };
        // Conditions of policies that validate read no variables.
        if own.conditions.iter().any(|condition| condition.expression.contains("variables.")) {
            let all = std::mem::take(&mut own.conditions);
            own.checks = vec![Check { expression: denial_where(&all), ..never() }];
        } else {
            own.variables.clear();
        }
        new.push(own);
    }
    let autogen = if drafts.iter().any(|draft| draft.targets.is_some()) { Some("none") } else { None };
    Pair { old: denying(source, rule, autogen), new: written(source, &new), says: PairKind::Acts }
}

/// What is false where all conditions hold.
pub fn denial_where(all: &[NamedExpression]) -> String {
    let all: Vec<String> = all.iter().map(|one| format!("({})", one.expression)).collect();
    if all.is_empty() { "false".into() } else { format!("!({})", all.join(" && ")) }
}

/// A validation that is never true.
fn never() -> Check {
    Check { expression: "false".into(), ..Check::default() }
}

/// What a rule says of the requests that it is about.
const OF_MATCH: [&str; 6] = ["name", "match", "exclude", "context", "preconditions", "celPreconditions"];

/// A policy whose only rule denies what another one acts on.
fn denying(source: &Source<'_>, rule: &Value, autogen: Option<&str>) -> String {
    let mut own = members(rule, &OF_MATCH);
    if rule.get("preconditions").is_none_or(Value::is_null) {
        own.remove("context");
    }
    own.insert("validate", denial());
    policy(source.document, Value::Map(own), autogen)
}

/// What denies everything.
fn denial() -> Value {
    Value::map([
        ("allowExistingViolations", Value::Bool(false)),
        ("deny", Value::Map(Fields::new())),
        ("failureAction", Value::from("Audit")),
    ])
}

/// A policy with a rule, in the place of the one that moves.
fn policy(document: &Value, rule: Value, autogen: Option<&str>) -> String {
    let is_namespaced = matches!(document.text_at(&["kind"]), "Policy" | "CleanupPolicy");
    let written = document.get("metadata").unwrap_or(&Value::Null);
    let mut metadata = members(written, &["name", "namespace"]);
    let own = document.at(&["metadata", "annotations", CONTROLLERS]).cloned();
    if let Some(controllers) = autogen.map(Value::from).or(own) {
        metadata.insert("annotations", Value::map([(CONTROLLERS, controllers)]));
    }
    let mut spec = Fields::new();
    spec.insert("background", Value::Bool(false));
    if let Some(webhook) = document.at(&["spec", "webhookConfiguration"]) {
        spec.insert("webhookConfiguration", webhook.clone());
    }
    spec.insert("rules", Value::list(vec![rule]));
    json(&Value::map([
        ("apiVersion", Value::from("kyverno.io/v1")),
        ("kind", Value::from(if is_namespaced { "Policy" } else { "ClusterPolicy" })),
        ("metadata", Value::Map(metadata)),
        ("spec", Value::Map(spec)),
    ]))
    .to_string()
}

/// How a rule changes a target.
fn changes(source: &Source<'_>, rule: &Value, target: &Value, draft: &Draft) -> Pair {
    let Some(targets) = &draft.targets else { return acts(source, rule, &[draft]) };
    let text = |key: &str| target.text_at(&[key]);
    let operation = if text("kind").contains('/') { "UPDATE" } else { "CREATE" };
    let mut matching = Matching { conditions: Vec::new(), ..targets.matching.clone() };
    if targets.expression.is_some() {
        matching.namespaces.clear();
    }
    for own in &mut matching.rules {
        own.operations = vec![operation.into()];
    }
    // What goes away is the object of the request, too.
    let as_object = |text: &str| text.replace("request.oldObject", "request.object");
    let mut mutations = draft.mutations.clone();
    mutations.iter_mut().for_each(|one| one.expression = as_object(&one.expression));
    let mut conditions = targets.conditions.clone();
    conditions.iter_mut().for_each(|one| one.expression = as_object(&one.expression));
    let new = Draft {
        matching,
        conditions,
        mutations,
        targets: None,
        controllers: Some(Vec::new()),
        ..draft.clone()
    };

    let mut resources = Fields::new();
    let kind = match text("apiVersion") {
        "" | "*" => text("kind").to_string(),
        version => format!("{version}/{}", text("kind")),
    };
    resources.insert("kinds", Value::list(vec![Value::from(kind)]));
    resources.insert("operations", Value::list(vec![Value::from(operation)]));
    // Exact names are a part of an expression.
    let is_exact = |text: &str| !text.contains(['*', '?']);
    for (from, to) in [("name", "names"), ("namespace", "namespaces")] {
        let own = text(from);
        // The objects of a namespaced policy are in its namespace.
        let is_own = to == "namespaces" && source.policy.namespace.as_deref() == Some(own);
        let is_elsewhere = is_own || own.contains("{{") || targets.expression.is_some() && is_exact(own);
        if !own.is_empty() && own != "*" && !is_elsewhere {
            resources.insert(to, Value::list(vec![Value::from(own)]));
        }
    }
    if let Some(selector) = target.get("selector").filter(|v| !v.is_null()) {
        resources.insert("selector", selector.clone());
    }
    let list = |from: &Value| from.get("context").and_then(Value::as_list).unwrap_or_default().to_vec();
    let context: Vec<Value> = [list(rule), list(target)].concat();
    let block = Value::map([("resources", Value::Map(resources))]);
    let mut own = Fields::new();
    own.insert("name", rule.get("name").cloned().unwrap_or_default());
    own.insert("match", Value::map([("any", Value::list(vec![block]))]));
    own.insert("context", of_object(&Value::list(context)));
    if let Some(conditions) = target.get("preconditions").filter(|v| !v.is_null()) {
        own.insert("preconditions", of_object(conditions));
    }
    let is_change = |key: &str| !matches!(key, "targets" | "mutateExistingOnPolicyUpdate");
    let mutate = rule.get("mutate").and_then(Value::as_map).into_iter().flat_map(|map| map.iter());
    let mutate = mutate.filter(|(key, _)| is_change(key)).map(|(k, v)| (k.clone(), of_object(v))).collect();
    own.insert("mutate", Value::Map(mutate));
    Pair {
        old: policy(source.document, Value::Map(own), Some("none")),
        new: written(source, &[new]),
        says: PairKind::Changes,
    }
}

/// What a rule calls a target that depends on the request: both policies write it into annotations
/// of the request's object.
fn names(source: &Source<'_>, rule: &Value, target: &Value, draft: &Draft) -> Option<Pair> {
    let found = draft.targets.as_ref().and_then(|targets| targets.expression.as_ref())?;
    if found.by.is_empty() {
        return None;
    }
    // Deletions change no object.
    let deletes = draft.matching.deletions() == Deletions::Only;
    let of_object = |text: &str| if deletes { text.replace("oldObject", "object") } else { text.to_string() };
    let all: Vec<String> =
        found.by.iter().map(|(key, text)| format!("'target-{key}': dyn({})", of_object(text))).collect();
    let mut matching = draft.matching.clone();
    for own in &mut matching.rules {
        match deletes {
            true => own.operations = vec!["CREATE".into()],
            false => own.operations.retain(|one| one != "DELETE"),
        }
    }
    let mut conditions = draft.conditions.clone();
    conditions.iter_mut().for_each(|one| one.expression = of_object(&one.expression));
    let mut variables = draft.variables.clone();
    variables.iter_mut().for_each(|one| one.expression = of_object(&one.expression));
    let new = Draft {
        matching,
        conditions,
        variables,
        mutations: vec![MutationDraft {
            comments: Vec::new(),
            is_json: false,
            expression: format!("Object{{metadata: Object.metadata{{annotations: {{{}}}}}}}", all.join(", ")),
        }],
        targets: None,
        controllers: Some(Vec::new()),
        ..draft.clone()
    };

    let by = |(key, _): &(&'static str, String)| {
        (Str::from(format!("target-{key}")), Value::from(target.text_at(&[key])))
    };
    let annotations = Value::Map(found.by.iter().map(by).collect());
    let change = Value::map([("metadata", Value::map([("annotations", annotations)]))]);
    let mut own = members(rule, &OF_MATCH);
    own.insert("mutate", Value::map([("patchStrategicMerge", change)]));
    let old = policy(source.document, Value::Map(own), Some("none"));
    let old = match deletes {
        true => old.replace("request.oldObject", "request.object").replace("\"DELETE\"", "\"CREATE\""),
        false => old,
    };
    Some(Pair { old, new: written(source, &[new]), says: PairKind::Changes })
}

/// The documents of drafts.
fn written(source: &Source<'_>, drafts: &[Draft]) -> String {
    let all = documents(source, drafts, &mut Vec::new(), REPLACES);
    let texts: Vec<String> = all.into_iter().map(|document| document.text).collect();
    texts.join(SEPARATOR)
}

/// A value in whose variables the target is the object of a request.
pub fn of_object(value: &Value) -> Value {
    match value {
        Value::Str(text) => Value::Str(in_variables(text)),
        Value::List(items) => Value::list(items.iter().map(of_object).collect()),
        Value::Map(fields) => {
            let of = |(key, value): (&Str, &Value)| {
                let value = match value {
                    // A query is one without braces.
                    Value::Str(text) if matches!(&**key, "jmesPath" | "list") => Value::Str(in_query(text)),
                    value => of_object(value),
                };
                (key.clone(), value)
            };
            Value::Map(fields.iter().map(of).collect())
        }
        other => other.clone(),
    }
}

/// A text with other queries between its braces.
fn in_variables(text: &str) -> Str {
    let mut out = String::new();
    let mut depth = 0_usize;
    for part in text.split_inclusive("{{").flat_map(|part| part.split_inclusive("}}")) {
        match depth {
            0 => out.push_str(part),
            _ => out.push_str(&in_query(part)),
        }
        if part.ends_with("{{") {
            depth += 1;
        } else if part.ends_with("}}") {
            depth = depth.saturating_sub(1);
        }
    }
    Str::from(out)
}

fn in_query(text: &str) -> Str {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let is_whole = |before: &str, after: &str| {
        !before.ends_with(is_word) && !after.starts_with(|c: char| is_word(c) && c != '.')
    };
    replace_where(text, "target", "request.object", is_whole).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_objects_in_variables_and_queries_alone() {
        for (from, to) in [
            ("{{ target.metadata.name }}", "{{ request.object.metadata.name }}"),
            ("target-{{ target.a }}-{{ x.target }}", "target-{{ request.object.a }}-{{ x.target }}"),
            ("{{ a.\"{{ target.b }}\" }} target", "{{ a.\"{{ request.object.b }}\" }} target"),
        ] {
            assert_eq!(&*in_variables(from), to);
        }
        let entry = Value::map([("jmesPath", Value::from("target.data")), ("value", Value::from("target"))]);
        let expected =
            Value::map([("jmesPath", Value::from("request.object.data")), ("value", Value::from("target"))]);
        assert_eq!(of_object(&entry), expected);
    }
}
