//! Label selectors: whether one can be built. Semantics: Kubernetes' label selectors.

use crate::labels::{key_problems, value_problems};
use crate::read::{entries, listed, texts};
use ephor_value::{Value, print, wildcard};

/// What is wrong with a selector in a match or exclude block, if anything.
///
/// A selector whose labels hold wildcards is known only at run time.
pub fn problem(selector: &Value) -> Option<String> {
    let labels = || entries(selector, "matchLabels").map(|(k, v)| (k, v.as_str().unwrap_or("")));
    if labels().any(|(k, v)| wildcard::has_wildcard(k) || wildcard::has_wildcard(v)) {
        return None;
    }
    let expressions = listed(selector, "matchExpressions");
    if labels().next().is_none() && expressions.is_empty() {
        return Some("The requirements are not specified in selector".to_owned());
    }
    labels()
        .find_map(|(key, value)| requirement_problem(key, "In", &[value]))
        .or_else(|| expressions.iter().find_map(expression_problem))
}

fn expression_problem(expression: &Value) -> Option<String> {
    let values: Vec<&str> = texts(expression, &["values"]).collect();
    let operator = expression.text_at(&["operator"]);
    if !matches!(operator, "In" | "NotIn" | "Exists" | "DoesNotExist") {
        return Some(format!("{} is not a valid label selector operator", quoted(operator)));
    }
    requirement_problem(expression.text_at(&["key"]), operator, &values)
}

fn requirement_problem(key: &str, operator: &str, values: &[&str]) -> Option<String> {
    let mut problems: Vec<String> = key_problems(key)
        .into_iter()
        .map(|problem| format!("key: Invalid value: {}: {problem}", quoted(key)))
        .collect();
    let takes_values = matches!(operator, "In" | "NotIn");
    if takes_values && values.is_empty() {
        problems.push(
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty".to_owned(),
        );
    }
    if !takes_values && !values.is_empty() {
        let values = print::json(&values.iter().map(|v| Value::from(*v)).collect::<Vec<_>>().into());
        problems.push(format!(
            "values: Invalid value: {values}: values set must be empty for exists and does not exist"
        ));
    }
    for (index, value) in values.iter().enumerate() {
        problems.extend(
            value_problems(value).into_iter().map(|problem| {
                format!("values[{index}][{key}]: Invalid value: {}: {problem}", quoted(value))
            }),
        );
    }
    match problems.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

fn quoted(text: &str) -> String {
    print::json(&Value::from(text))
}
