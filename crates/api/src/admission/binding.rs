//! Bindings of both kinds.

use super::errors::{Errors, FieldPath};
use super::matching::{label_selector, match_resources, path_segment_problems};
use super::policy::mutating_operations;
use super::read::{list, part, text, texts};
use ephor_value::Value;
use ephor_value::names::subdomain_problems;

/// Checks a binding. `declares`: whether what is required is declared with the type; such mistakes
/// come last, and say no more.
pub fn binding(document: &Value, declares: bool, errors: &mut Errors) {
    let mut declared = Errors::default();
    let spec = part(document, "spec").cloned().unwrap_or_default();
    let at = FieldPath::new("spec");
    let mutating = text(document, "kind") == "MutatingAdmissionPolicyBinding";
    let policy = text(&spec, "policyName");
    if policy.is_empty() {
        let of = if declares { &mut declared } else { &mut *errors };
        of.required(&at.key("policyName"), "");
    } else {
        for problem in subdomain_problems(policy) {
            errors.invalid(&at.key("policyName"), &policy.into(), &problem);
        }
    }
    if let Some(reference) = part(&spec, "paramRef") {
        param_ref(reference, &at.key("paramRef"), errors);
    }
    if let Some(block) = part(&spec, "matchResources") {
        match_resources(block, &at.key("matchResources"), errors);
        if mutating {
            mutating_operations(block, &at.key("matchResources"), errors);
        }
    }
    if !mutating {
        let here = at.key("validationActions");
        match declares && texts(&spec, "validationActions").next().is_none() {
            true => declared.required(&here, ""),
            false => actions(&spec, &here, errors),
        }
    }
    errors.0.append(&mut declared.0);
}

fn param_ref(reference: &Value, at: &FieldPath, errors: &mut Errors) {
    let name = text(reference, "name");
    let selector = part(reference, "selector");
    if !name.is_empty() {
        for problem in path_segment_problems(name) {
            errors.invalid(&at.key("name"), &name.into(), &problem);
        }
        if selector.is_some() {
            for key in ["name", "selector"] {
                errors.forbidden(&at.key(key), "name and selector are mutually exclusive");
            }
        }
    }
    match selector {
        Some(selector) => label_selector(selector, &at.key("selector"), errors),
        None if name.is_empty() => errors.required(at, "one of name or selector must be specified"),
        None => {}
    }
    let here = at.key("parameterNotFoundAction");
    match text(reference, "parameterNotFoundAction") {
        "Deny" | "Allow" => {}
        "" => errors.required(&here, ""),
        other => errors.unsupported(&here, other, &["Deny", "Allow"]),
    }
}

fn actions(spec: &Value, at: &FieldPath, errors: &mut Errors) {
    let all: Vec<&str> = texts(spec, "validationActions").collect();
    if all.is_empty() {
        errors.required(at, "at least one validation action is required");
    }
    for (i, action) in all.iter().enumerate() {
        if !matches!(*action, "Audit" | "Deny" | "Warn") {
            errors.unsupported(&at.index(i), action, &["Audit", "Deny", "Warn"]);
        }
        if all.get(..i).is_some_and(|before| before.contains(action)) {
            errors.duplicate(&at.index(i), action);
        }
    }
    if all.contains(&"Deny") && all.contains(&"Warn") {
        let value = Value::list(list(spec, "validationActions").to_vec());
        errors.invalid(
            at,
            &value,
            "must not contain both Deny and Warn (repeating the same validation failure information in the \
             API response and headers serves no purpose)",
        );
    }
}
