//! Policies of both kinds.

use super::errors::{Errors, FieldPath};
use super::expressions::{ExpressionProblem, Expressions, Wanted};
use super::matching::match_resources;
use super::read::{list, part, text, texts};
use ephor_value::names::{
    is_word_of_expressions, key_problems_of_server, old_label_problems, subdomain_problems,
};
use ephor_value::{Map, Str, Value};

const MAX_CONDITIONS: usize = 64;
const MAX_ANNOTATIONS: usize = 20;
const MAX_VALUE: usize = 5 << 10;

/// Checks a policy that is new, or takes the place of a stored one.
pub fn policy(
    document: &Value,
    stored: Option<&Value>,
    expressions: &mut dyn Expressions,
    errors: &mut Errors,
) {
    let spec = part(document, "spec").cloned().unwrap_or_default();
    let at = FieldPath::new("spec");
    let mutating = text(document, "kind") == "MutatingAdmissionPolicy";
    match text(&spec, "failurePolicy") {
        "Fail" | "Ignore" => {}
        "" => errors.required(&at.key("failurePolicy"), ""),
        other => errors.unsupported(&at.key("failurePolicy"), other, &["Fail", "Ignore"]),
    }
    if let Some(kind) = part(&spec, "paramKind") {
        param_kind(kind, &at.key("paramKind"), errors);
    }
    let constraints = at.key("matchConstraints");
    match part(&spec, "matchConstraints") {
        None => errors.required(&constraints, ""),
        Some(block) => {
            match_resources(block, &constraints, errors);
            if list(block, "resourceRules").is_empty() {
                errors.required(&constraints.key("resourceRules"), "");
            }
            if mutating {
                mutating_operations(block, &constraints, errors);
            }
        }
    }
    let same = |key: &str| {
        let of = |document: &Value| document.at(&["spec", key]).cloned().unwrap_or_default();
        stored.is_some_and(|stored| of(stored).json_eq(&of(document)))
    };
    if !(same("matchConditions") && same("paramKind")) {
        conditions(list(&spec, "matchConditions"), &at.key("matchConditions"), expressions, errors);
    }
    variables(list(&spec, "variables"), &at.key("variables"), expressions, errors);
    if mutating {
        mutations(&spec, &at, expressions, errors);
        match text(&spec, "reinvocationPolicy") {
            "Never" | "IfNeeded" => {}
            "" => errors.required(&at.key("reinvocationPolicy"), ""),
            other => errors.unsupported(&at.key("reinvocationPolicy"), other, &["IfNeeded", "Never"]),
        }
        return;
    }
    let (validations, annotations) = (list(&spec, "validations"), list(&spec, "auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        for key in ["validations", "auditAnnotations"] {
            errors.required(&at.key(key), "validations or auditAnnotations must contain at least one item");
        }
    }
    for (i, v) in validations.iter().enumerate() {
        validation(v, &at.key("validations").index(i), expressions, errors);
    }
    let policy = document.text_at(&["metadata", "name"]);
    audit_annotations(annotations, policy, &at.key("auditAnnotations"), expressions, errors);
}

/// Policies that change objects never see them go.
pub fn mutating_operations(block: &Value, at: &FieldPath, errors: &mut Errors) {
    for rule in list(block, "resourceRules") {
        for operation in texts(rule, "operations") {
            if !matches!(operation, "*" | "CREATE" | "UPDATE" | "CONNECT") {
                let supported = ["*", "CONNECT", "CREATE", "UPDATE"];
                errors.unsupported(&at.key("resourceRules").key("operations"), operation, &supported);
            }
        }
    }
}

fn param_kind(kind: &Value, at: &FieldPath, errors: &mut Errors) {
    let api_version = text(kind, "apiVersion");
    let here = at.key("apiVersion");
    if api_version.is_empty() {
        errors.required(&here, "");
    } else if api_version.matches('/').count() > 1 {
        errors.invalid(&here, &api_version.into(), &format!("unexpected GroupVersion string: {api_version}"));
    } else {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let problems = if group.is_empty() { Vec::new() } else { subdomain_problems(group) };
        if !problems.is_empty() {
            errors.invalid(&here, &group.into(), &problems.join(","));
        }
        let problems = old_label_problems(version);
        if version.is_empty() {
            errors.invalid(&here, &api_version.into(), "version must be specified");
        } else if !problems.is_empty() {
            errors.invalid(&here, &version.into(), &problems.join(","));
        }
    }
    let (name, here) = (text(kind, "kind"), at.key("kind"));
    let problems = old_label_problems(&name.to_lowercase());
    if name.is_empty() {
        errors.required(&here, "");
    } else if !problems.is_empty() {
        let text = format!("may have mixed case, but should otherwise match: {}", problems.join(","));
        errors.invalid(&here, &name.into(), &text);
    }
}

fn expression(
    source: &str,
    wanted: Wanted,
    at: &FieldPath,
    expressions: &mut dyn Expressions,
    errors: &mut Errors,
) {
    add_problem(expressions.problem(source, wanted), source, at, errors);
}

/// An expression that cannot be planned is not the policy's mistake, says the API.
fn add_problem(problem: Option<ExpressionProblem>, source: &str, at: &FieldPath, errors: &mut Errors) {
    match problem {
        Some(ExpressionProblem::Impossible(text)) => errors.internal(at, &text),
        Some(ExpressionProblem::Invalid(text)) => errors.invalid(at, &source.into(), &text),
        None => {}
    }
}

/// Checks match conditions.
pub fn conditions(items: &[Value], at: &FieldPath, expressions: &mut dyn Expressions, errors: &mut Errors) {
    if items.len() > MAX_CONDITIONS {
        errors.too_many(at, items.len(), MAX_CONDITIONS);
    }
    let mut seen: Vec<&str> = Vec::new();
    for (i, condition) in items.iter().enumerate() {
        let at = at.index(i);
        let source = text(condition, "expression");
        if source.trim().is_empty() {
            errors.required(&at.key("expression"), "");
        } else {
            expression(source, Wanted::Condition, &at.key("expression"), expressions, errors);
        }
        let name = text(condition, "name");
        if name.is_empty() {
            errors.required(&at.key("name"), "");
            continue;
        }
        for problem in key_problems_of_server(name) {
            errors.invalid(&at.key("name"), &name.into(), &problem);
        }
        if seen.contains(&name) {
            errors.duplicate(&at.key("name"), name);
        }
        seen.push(name);
    }
}

fn is_identifier(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !is_word_of_expressions(name)
}

fn variables(items: &[Value], at: &FieldPath, expressions: &mut dyn Expressions, errors: &mut Errors) {
    for (i, variable) in items.iter().enumerate() {
        let at = at.index(i);
        let name = text(variable, "name");
        if name.trim().is_empty() {
            errors.required(&at.key("name"), "name is not specified");
        } else if !is_identifier(name) {
            errors.invalid(&at.key("name"), &name.into(), "must be a valid CEL identifier");
        }
        let source = text(variable, "expression");
        if source.trim().is_empty() {
            errors.required(&at.key("expression"), "expression is not specified");
        } else {
            add_problem(expressions.variable(name, source), source, &at.key("expression"), errors);
        }
    }
}

fn validation(v: &Value, at: &FieldPath, expressions: &mut dyn Expressions, errors: &mut Errors) {
    let source = text(v, "expression");
    if source.trim().is_empty() {
        errors.required(&at.key("expression"), "expression is not specified");
    } else {
        expression(source, Wanted::Validation, &at.key("expression"), expressions, errors);
    }
    let made = text(v, "messageExpression");
    let here = at.key("messageExpression");
    if !made.is_empty() && made.trim().is_empty() {
        errors.invalid(&here, &made.into(), "must be non-empty if specified");
    } else if !made.is_empty() {
        expression(made, Wanted::Message, &here, expressions, errors);
    }
    let message = text(v, "message");
    let here = at.key("message");
    if !message.is_empty() && message.trim().is_empty() {
        errors.invalid(&here, &message.into(), "must be non-empty if specified");
    } else if message.trim().contains(['\n', '\r']) {
        errors.invalid(&here, &message.into(), "must not contain line breaks");
    }
    match text(v, "reason") {
        "" | "Forbidden" | "Invalid" | "RequestEntityTooLarge" => {}
        other => {
            let supported = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
            errors.unsupported(&at.key("reason"), other, &supported);
        }
    }
}

fn audit_annotations(
    items: &[Value],
    policy: &str,
    at: &FieldPath,
    expressions: &mut dyn Expressions,
    errors: &mut Errors,
) {
    if items.len() > MAX_ANNOTATIONS {
        // The value is shown as the server holds it.
        let shown = |a: &Value| {
            let entries = [("Key", text(a, "key")), ("ValueExpression", text(a, "valueExpression"))];
            Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), Value::from(v))).collect::<Map>())
        };
        let value = Value::list(items.iter().map(shown).collect());
        errors.invalid(at, &value, &format!("must not have more than {MAX_ANNOTATIONS} auditAnnotations"));
    }
    let mut seen: Vec<&str> = Vec::new();
    for (i, annotation) in items.iter().enumerate() {
        let at = at.index(i);
        let (key, here) = (text(annotation, "key"), at.key("key"));
        if policy.is_empty() {
            errors.invalid(&here, &key.into(), "requires metadata.name be non-empty");
        } else {
            let whole = format!("{policy}/{key}");
            for problem in key_problems_of_server(&whole) {
                errors.invalid(&here, &Value::from(&*whole), &problem);
            }
        }
        let (source, here) = (text(annotation, "valueExpression"), at.key("valueExpression"));
        if source.trim().is_empty() {
            errors.required(&here, "valueExpression is not specified");
        } else if source.trim().len() > MAX_VALUE {
            errors.required(&here, &format!("must not exceed {MAX_VALUE} bytes in length"));
        } else {
            expression(source, Wanted::Annotation, &here, expressions, errors);
        }
        if seen.contains(&key) {
            errors.duplicate(&at.key("key"), key);
        }
        seen.push(key);
    }
}

fn mutations(spec: &Value, at: &FieldPath, expressions: &mut dyn Expressions, errors: &mut Errors) {
    let items = list(spec, "mutations");
    if items.is_empty() {
        errors.required(&at.key("mutations"), "mutations must contain at least one item");
    }
    for (i, mutation) in items.iter().enumerate() {
        let at = at.key("mutations").index(i);
        let (own, other, wanted) = match text(mutation, "patchType") {
            "" => {
                errors.required(&at.key("patchType"), "");
                continue;
            }
            "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", Wanted::Apply),
            "JSONPatch" => ("jsonPatch", "applyConfiguration", Wanted::JsonPatch),
            unknown => {
                let supported = ["ApplyConfiguration", "JSONPatch"];
                errors.unsupported(&at.key("patchType"), unknown, &supported);
                continue;
            }
        };
        let patch_type = text(mutation, "patchType");
        if part(mutation, other).is_some() {
            let value = Value::from(format!("{{{other}}}"));
            let text = format!("must not be specified when patchType is {patch_type}");
            errors.invalid(&at.key(other), &value, &text);
        }
        match part(mutation, own) {
            None => {
                errors.required(&at.key(own), &format!("must be specified when patchType is {patch_type}"));
            }
            Some(block) => {
                let (source, here) = (text(block, "expression"), at.key(own).key("expression"));
                if source.trim().is_empty() {
                    errors.required(&here, "expression is not specified");
                } else {
                    expression(source, wanted, &here, expressions, errors);
                }
            }
        }
    }
}
