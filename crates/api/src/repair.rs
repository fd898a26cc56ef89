//! Repairing policies: matchers, preconditions and operators of former versions become those of
//! today.
//!
//! In: a policy with its defaults. Out: the policy as it should be written, and a line on each
//! repair. Semantics: `docs/reference/cli.md`.

use ephor_value::{Map, Str, Value};

/// Operators of conditions that have another name today.
const OPERATORS: [(&str, &str); 4] =
    [("Equal", "Equals"), ("NotEqual", "NotEquals"), ("In", "AllIn"), ("NotIn", "AnyNotIn")];

/// Repairs a policy.
pub fn policy(document: &Value) -> (Value, Vec<String>) {
    let mut warnings = Vec::new();
    let Some(mut top) = document.as_map().cloned() else { return (document.clone(), warnings) };
    top.remove("status");
    let mut spec = top.get("spec").and_then(Value::as_map).cloned().unwrap_or_default();
    let action = spec.get("validationFailureAction").and_then(Value::as_str).unwrap_or_default();
    let action = if action.eq_ignore_ascii_case("enforce") { "Enforce" } else { "Audit" };
    spec.insert("validationFailureAction", Value::from(action));
    let rules = spec.get("rules").and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default();
    let rules = rules.iter().map(|r| rule(r, &mut warnings)).collect();
    spec.insert("rules", Value::list(rules));
    top.insert("spec", Value::Map(spec));
    (Value::Map(top), warnings)
}

fn rule(rule: &Value, warnings: &mut Vec<String>) -> Value {
    let Some(mut fields) = rule.as_map().cloned() else { return rule.clone() };
    for key in ["match", "exclude"] {
        let Some(given) = fields.get(key).and_then(Value::as_map) else { continue };
        let direct: Map = given
            .iter()
            .filter(|(k, v)| !matches!(&***k, "any" | "all") && !is_empty(v))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        if !direct.is_empty() && !given.contains_key("any") && !given.contains_key("all") {
            warnings.push(format!("{key} uses old syntax, moving to any"));
            let any: Map = [(Str::from("any"), Value::list(vec![Value::Map(direct)]))].into_iter().collect();
            fields.insert(key, Value::Map(any));
        }
    }
    if let Some(given) = fields.get("preconditions").filter(|v| !v.is_null()).cloned() {
        fields.insert("preconditions", preconditions(&given, warnings));
    }
    for key in ["match", "exclude", "generate", "mutate", "validate"] {
        if fields.get(key).is_some_and(is_empty) {
            fields.remove(key);
        }
    }
    Value::Map(fields)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Map(m) => m.is_empty(),
        Value::List(l) => l.is_empty(),
        _ => false,
    }
}

fn preconditions(given: &Value, warnings: &mut Vec<String>) -> Value {
    let mut conditions = |list: &[Value]| Value::list(list.iter().map(|c| condition(c, warnings)).collect());
    match given {
        Value::List(list) => [(Str::from("all"), conditions(list))].into_iter().collect::<Map>().into(),
        Value::Map(groups) => {
            let group = |(k, v): (&Str, &Value)| {
                let list = v.as_list().map(&mut conditions);
                (k.clone(), list.unwrap_or_else(|| v.clone()))
            };
            groups.iter().map(group).collect::<Map>().into()
        }
        other => other.clone(),
    }
}

fn condition(given: &Value, warnings: &mut Vec<String>) -> Value {
    let Some(mut fields) = given.as_map().cloned() else { return given.clone() };
    let operator = given.text_at(&["operator"]);
    if let Some((old, new)) = OPERATORS.iter().find(|(old, _)| *old == operator) {
        warnings.push(format!("condition uses old operator `{old}`, updating"));
        fields.insert("operator", Value::from(*new));
    }
    Value::Map(fields)
}
