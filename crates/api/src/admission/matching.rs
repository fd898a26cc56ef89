//! `MatchResources` and label selectors.

use super::errors::{Errors, FieldPath};
use super::read::{blank, list, text, texts};
use ephor_value::Value;
use ephor_value::names::{key_problems_of_server, value_problems};

/// Checks the rules of a policy or binding.
pub fn match_resources(block: &Value, at: &FieldPath, errors: &mut Errors) {
    match text(block, "matchPolicy") {
        "" => errors.required(&at.key("matchPolicy"), ""),
        "Exact" | "Equivalent" => {}
        other => errors.unsupported(&at.key("matchPolicy"), other, &["Equivalent", "Exact"]),
    }
    for key in ["namespaceSelector", "objectSelector"] {
        match block.get(key) {
            None | Some(Value::Null) => errors.required(&at.key(key), ""),
            Some(selector) => label_selector(selector, &at.key(key), errors),
        }
    }
    for key in ["resourceRules", "excludeResourceRules"] {
        for (i, rule) in list(block, key).iter().enumerate() {
            resource_rule(rule, &at.key(key).index(i), errors);
        }
    }
}

/// Checks a label selector.
pub fn label_selector(selector: &Value, at: &FieldPath, errors: &mut Errors) {
    let labels = at.key("matchLabels");
    for (key, value) in
        selector.get("matchLabels").and_then(Value::as_map).into_iter().flat_map(|m| m.sorted())
    {
        for problem in key_problems_of_server(key) {
            errors.invalid(&labels, &Value::Str(key.clone()), &problem);
        }
        for problem in value_problems(value.as_str().unwrap_or_default()) {
            errors.invalid(&labels, value, &problem);
        }
    }
    for (i, requirement) in list(selector, "matchExpressions").iter().enumerate() {
        let at = at.key("matchExpressions").index(i);
        let values = list(requirement, "values");
        match text(requirement, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                errors.required(&at.key("values"), "must be specified when `operator` is 'In' or 'NotIn'")
            }
            "In" | "NotIn" => {}
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.forbidden(
                &at.key("values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
            "Exists" | "DoesNotExist" => {}
            other => errors.invalid(&at.key("operator"), &other.into(), "not a valid selector operator"),
        }
        let key = text(requirement, "key");
        for problem in key_problems_of_server(key) {
            errors.invalid(&at.key("key"), &key.into(), &problem);
        }
        for (j, value) in values.iter().enumerate() {
            for problem in value_problems(value.as_str().unwrap_or_default()) {
                errors.invalid(&at.key("values").index(j), value, &problem);
            }
        }
    }
}

/// What is wrong with a text that becomes a part of a path.
pub fn path_segment_problems(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let forbidden = ["/", "%"].into_iter().filter(|c| name.contains(c));
    forbidden.map(|c| format!("may not contain '{c}'")).collect()
}

/// Checks a rule.
pub fn resource_rule(rule: &Value, at: &FieldPath, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for (i, name) in texts(rule, "resourceNames").enumerate() {
        let at = at.key("resourceNames").index(i);
        for problem in path_segment_problems(name) {
            errors.invalid(&at, &name.into(), &problem);
        }
        if seen.contains(&name) {
            errors.duplicate(&at, name);
        }
        seen.push(name);
    }
    starred(rule, "operations", at, errors, "if '*' is present, must not specify other operations");
    for (i, operation) in texts(rule, "operations").enumerate() {
        if !matches!(operation, "*" | "CREATE" | "UPDATE" | "DELETE" | "CONNECT") {
            let supported = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
            errors.unsupported(&at.key("operations").index(i), operation, &supported);
        }
    }
    starred(rule, "apiGroups", at, errors, "if '*' is present, must not specify other API groups");
    starred(rule, "apiVersions", at, errors, "if '*' is present, must not specify other API versions");
    for (i, version) in texts(rule, "apiVersions").enumerate() {
        if version.is_empty() {
            errors.required(&at.key("apiVersions").index(i), "");
        }
    }
    resources(rule, &at.key("resources"), errors);
    match text(rule, "scope") {
        "" if blank(rule, "scope") => {}
        "*" | "Cluster" | "Namespaced" => {}
        other => errors.unsupported(&at.key("scope"), other, &["*", "Cluster", "Namespaced"]),
    }
}

/// A list that must hold something, and a star alone.
fn starred(rule: &Value, key: &str, at: &FieldPath, errors: &mut Errors, text: &str) {
    let items = list(rule, key);
    if items.is_empty() {
        errors.required(&at.key(key), "");
    } else if items.len() > 1 && texts(rule, key).any(|t| t == "*") {
        errors.invalid(&at.key(key), &Value::list(items.to_vec()), text);
    }
}

fn resources(rule: &Value, at: &FieldPath, errors: &mut Errors) {
    let all = list(rule, "resources");
    if all.is_empty() {
        errors.required(at, "");
    }
    let (mut whole, mut parts): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    // Only the last entry without subresource decides.
    let (mut everything, mut star, mut plain) = (false, false, false);
    for (i, resource) in texts(rule, "resources").enumerate() {
        let at = at.index(i);
        match resource {
            "" => {
                errors.required(&at, "");
                continue;
            }
            "*/*" => everything = true,
            "*" => star = true,
            _ => {}
        }
        let Some((name, sub)) = resource.split_once('/') else {
            plain = resource != "*";
            continue;
        };
        let value = Value::from(resource);
        if whole.contains(&name) {
            let text = format!("if '{name}/*' is present, must not specify {resource}");
            errors.invalid(&at, &value, &text);
        }
        if parts.contains(&sub) {
            let text = format!("if '*/{sub}' is present, must not specify {resource}");
            errors.invalid(&at, &value, &text);
        }
        if sub == "*" {
            whole.push(name);
        }
        if name == "*" {
            parts.push(sub);
        }
    }
    let value = Value::list(all.to_vec());
    if all.len() > 1 && everything {
        errors.invalid(at, &value, "if '*/*' is present, must not specify other resources");
    }
    if star && plain {
        let text = "if '*' is present, must not specify other resources without subresources";
        errors.invalid(at, &value, text);
    }
}
