//! Conditions: complete, with an operator that exists, and with operations that exist.
//!
//! Semantics: section 5.7, step 4 of the policy object specification; 2.4 of the specification of
//! conditions and variables.

use super::subject::{ComputedRule, Finding, Outcome};
use crate::read::{listed, member};
use ephor_value::Value;

/// All operators, in the order in which messages list them here (Kyverno 1.19.1's order varies).
pub const OPERATORS: [&str; 18] = [
    "Equal",
    "Equals",
    "NotEqual",
    "NotEquals",
    "In",
    "AnyIn",
    "AllIn",
    "NotIn",
    "AnyNotIn",
    "AllNotIn",
    "GreaterThanOrEquals",
    "GreaterThan",
    "LessThanOrEquals",
    "LessThan",
    "DurationGreaterThanOrEquals",
    "DurationGreaterThan",
    "DurationLessThanOrEquals",
    "DurationLessThan",
];

const OPERATIONS: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

/// Checks the conditions of a rule, wherever it has them.
pub fn check(rule: &ComputedRule<'_>) -> Outcome {
    check_all(rule).map_err(|(place, detail)| {
        let place = format!("{}.{place}", rule.place());
        Finding::path(&place, detail).in_written(rule)
    })
}

/// A place below the rule, and what is wrong there.
type ConditionProblem = (String, String);

fn check_all(rule: &ComputedRule<'_>) -> Result<(), ConditionProblem> {
    let rule = rule.value;
    full(rule.get("preconditions"), "validate.preconditions")?;
    full(rule.at(&["validate", "deny", "conditions"]), "validate.deny.conditions")?;
    let loops = |body| rule.get(body).map(|body| listed(body, "foreach")).unwrap_or(&[]);
    for entry in loops("validate") {
        operators(entry.get("preconditions"), "validate.foreach.conditions")?;
        operators(entry.at(&["deny", "conditions"]), "validate.foreach.deny.conditions")?;
    }
    for entry in loops("mutate") {
        operators(entry.get("preconditions"), "mutate.foreach.conditions")?;
    }
    for entry in listed(rule, "verifyImages") {
        for conditions in listed(entry, "attestations").iter().flat_map(|a| listed(a, "conditions")) {
            operators(Some(conditions), "verifyImages.attestations.conditions")?;
        }
        full(entry.at(&["validate", "deny", "conditions"]), "imageVerify.validate.deny.conditions")?;
    }
    Ok(())
}

/// The conditions with their place: `.any[0]`, `.all[0]`, or `[0]` in a plain list.
fn numbered<'v>(conditions: Option<&'v Value>, place: &str) -> Vec<(String, &'v Value)> {
    let number = |list: &'v [Value], name: &str| {
        let items = list.iter().enumerate();
        items.map(|(i, item)| (format!("{place}{name}[{i}]"), item)).collect::<Vec<_>>()
    };
    match conditions {
        Some(Value::List(items)) => number(items, ""),
        Some(block) => {
            let mut all = number(listed(block, "any"), ".any");
            all.extend(number(listed(block, "all"), ".all"));
            all
        }
        None => Vec::new(),
    }
}

fn full(conditions: Option<&Value>, place: &str) -> Result<(), ConditionProblem> {
    for (place, condition) in numbered(conditions, place) {
        let is_complete = member(condition, "key").is_some()
            && member(condition, "value").is_some()
            && !condition.text_at(&["operator"]).is_empty();
        if !is_complete {
            let detail = "entered value of `key`, `value` or `operator` is missing or misspelled";
            return Err((format!("{place}."), detail.to_owned()));
        }
        let key = condition.text_at(&["key"]).replace(' ', "");
        if key == "{{request.operation}}"
            && let Some(value) = condition.get("value")
        {
            operations(value).map_err(|(below, detail)| (format!("{place}.value{below}"), detail))?;
        }
    }
    operators(conditions, place)
}

fn operators(conditions: Option<&Value>, place: &str) -> Result<(), ConditionProblem> {
    for (place, condition) in numbered(conditions, place) {
        if !OPERATORS.contains(&condition.text_at(&["operator"])) {
            let names: Vec<String> = OPERATORS.iter().map(|name| format!("\"{name}\"")).collect();
            let detail =
                format!("entered value of `operator` is invalid. valid values: [{}]", names.join(" "));
            return Err((format!("{}.", place.replace(".all[", ".any[")), detail));
        }
    }
    Ok(())
}

/// Checks what `request.operation` is compared with.
fn operations(value: &Value) -> Result<(), ConditionProblem> {
    let unknown = |text: &str, place: String| {
        let detail = format!(
            "unknown value '{text}' found under the 'value' field. Only the following values are allowed: [CREATE, \
             UPDATE, DELETE, CONNECT]"
        );
        Err((place, detail))
    };
    let is_known = |text: &str| {
        OPERATIONS.contains(&text) || text.trim().starts_with("{{") && text.trim().ends_with("}}")
    };
    match value {
        Value::Str(text) if is_known(text) => Ok(()),
        Value::Str(text) => unknown(text, format!(": {text}")),
        Value::List(items) => {
            for (i, item) in items.iter().enumerate() {
                match item {
                    Value::Str(text) if is_known(text) => {}
                    Value::Str(text) => return unknown(text, format!("[{i}]")),
                    other => {
                        let found = kind(other);
                        let detail = format!(
                            "'value[{i}]' found to be of the type {found}. The provided values are expected to be strings"
                        );
                        return Err((format!("[{i}]"), detail));
                    }
                }
            }
            Ok(())
        }
        other => {
            let detail = format!(
                "'value' field found to be of the type {}. The provided value/values are expected to be either in \
                 the form of a string or list",
                kind(other)
            );
            Err((String::new(), detail))
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::UInt(_) => "int64",
        Value::Float(_) => "float64",
        Value::Str(_) => "string",
        Value::List(_) => "slice",
        Value::Map(_) => "map",
        other => other.json_type(),
    }
}

/// Warnings about operators that are going away; rule preconditions are not read.
pub fn warnings(rule: &ComputedRule<'_>, warnings: &mut Vec<Finding>) {
    let value = rule.value;
    let loops = |body| value.get(body).map(|body| listed(body, "foreach")).unwrap_or(&[]);
    let mut blocks: Vec<Option<&Value>> = vec![value.at(&["validate", "deny", "conditions"])];
    for entry in loops("validate").iter().chain(loops("mutate")) {
        blocks.extend([entry.get("preconditions"), entry.at(&["deny", "conditions"])]);
    }
    for entry in listed(value, "verifyImages") {
        for attestation in listed(entry, "attestations") {
            blocks.extend(listed(attestation, "conditions").iter().map(Some));
        }
    }
    for (_, condition) in blocks.into_iter().flat_map(|block| numbered(block, "")) {
        let operator = condition.text_at(&["operator"]);
        let instead = match operator {
            "In" => r#"["AllIn" "AnyIn"]"#,
            "NotIn" => r#"["AllNotIn" "AnyNotIn"]"#,
            _ => continue,
        };
        let text = format!(
            "Operator {operator} has been deprecated and will be removed soon. Use these instead: {instead}"
        );
        warnings.push(Finding::at(&format!("spec.rules[{}]", rule.written), text));
    }
}
