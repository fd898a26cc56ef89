//! Webhook configurations of both kinds.

use super::errors::{Errors, FieldPath};
use super::expressions::Expressions;
use super::matching::{label_selector, resource_rule};
use super::policy::conditions;
use super::read::{list, part, text, texts};
use ephor_value::Value;
use ephor_value::names::{old_label_problems, subdomain_problems};
use ephor_value::quote::quote;
use ephor_value::url;

const FORM: &str = "; desired format: https://host[/path]";

/// Checks a configuration.
pub fn configuration(document: &Value, expressions: &mut dyn Expressions, errors: &mut Errors) {
    let mutating = text(document, "kind") == "MutatingWebhookConfiguration";
    let mut names: Vec<&str> = Vec::new();
    for (i, v) in list(document, "webhooks").iter().enumerate() {
        let at = FieldPath::new("webhooks").index(i);
        webhook(v, mutating, &at, expressions, errors);
        versions(v, &at.key("admissionReviewVersions"), errors);
        let name = text(v, "name");
        if names.contains(&name) {
            errors.duplicate(&at.key("name"), name);
        }
        if !name.is_empty() {
            names.push(name);
        }
    }
}

fn webhook(
    v: &Value,
    mutating: bool,
    at: &FieldPath,
    expressions: &mut dyn Expressions,
    errors: &mut Errors,
) {
    qualified_name(text(v, "name"), &at.key("name"), errors);
    for (i, rule) in list(v, "rules").iter().enumerate() {
        resource_rule(rule, &at.key("rules").index(i), errors);
    }
    one_of(v, "failurePolicy", &["Fail", "Ignore"], at, errors);
    one_of(v, "matchPolicy", &["Equivalent", "Exact"], at, errors);
    if part(v, "sideEffects").is_none() {
        errors.required(&at.key("sideEffects"), "must specify one of None, NoneOnDryRun");
    }
    one_of(v, "sideEffects", &["None", "NoneOnDryRun"], at, errors);
    if let Some(seconds @ Value::Int(n)) = part(v, "timeoutSeconds")
        && !(1..=30).contains(n)
    {
        let text = "the timeout value must be between 1 and 30 seconds";
        errors.invalid(&at.key("timeoutSeconds"), seconds, text);
    }
    for key in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = part(v, key) {
            label_selector(selector, &at.key(key), errors);
        }
    }
    if mutating {
        one_of(v, "reinvocationPolicy", &["IfNeeded", "Never"], at, errors);
    }
    client(part(v, "clientConfig").unwrap_or(&Value::Null), &at.key("clientConfig"), errors);
    conditions(list(v, "matchConditions"), &at.key("matchConditions"), expressions, errors);
}

/// A word out of a list, if it is there.
fn one_of(v: &Value, key: &str, all: &[&str], at: &FieldPath, errors: &mut Errors) {
    if let Some(word) = part(v, key).and_then(Value::as_str)
        && !all.contains(&word)
    {
        errors.unsupported(&at.key(key), word, all);
    }
}

fn problems_of_subdomain(name: &str) -> Vec<String> {
    subdomain_problems(name).into_iter().map(|p| p.replace("253 bytes", "253 characters")).collect()
}

fn qualified_name(name: &str, at: &FieldPath, errors: &mut Errors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    let problems = problems_of_subdomain(name);
    if !problems.is_empty() {
        errors.invalid(at, &name.into(), &problems.join(","));
    } else if name.split('.').count() < 3 {
        let text = "should be a domain with at least three segments separated by dots";
        errors.invalid(at, &name.into(), text);
    }
}

fn client(v: &Value, at: &FieldPath, errors: &mut Errors) {
    match (part(v, "url").and_then(Value::as_str), part(v, "service")) {
        (Some(address), None) => address_problems(address, &at.key("url"), errors),
        (None, Some(service)) => service_problems(service, &at.key("service"), errors),
        _ => errors.required(at, "exactly one of url or service is required"),
    }
}

fn address_problems(address: &str, at: &FieldPath, errors: &mut Errors) {
    let parts = match url::split(address) {
        Ok(parts) => parts,
        Err(why) => {
            let text = format!("url must be a valid URL: parse {}: {why}{FORM}", quote(address));
            return errors.required(at, &text);
        }
    };
    let scheme = parts.scheme.to_ascii_lowercase();
    if scheme != "https" {
        errors.invalid(at, &scheme.into(), &format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if parts.host.is_empty() {
        errors.invalid(at, &"".into(), &format!("host must be specified{FORM}"));
    }
    if let Some(user) = parts.user {
        errors.invalid(at, &user.into(), "user information is not permitted in the URL");
    }
    if !parts.fragment.is_empty() {
        errors.invalid(at, &Value::from(&*parts.fragment), "fragments are not permitted in the URL");
    }
    if let Some(query) = parts.query.filter(|q| !q.is_empty()) {
        errors.invalid(at, &query.into(), "query parameters are not permitted in the URL");
    }
}

fn service_problems(service: &Value, at: &FieldPath, errors: &mut Errors) {
    // What is missing is reported at the other field (kube-apiserver 1.36.3's behaviour).
    for (missing, reported) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, missing).is_empty() {
            errors.required(&at.key(reported), "");
        }
    }
    if let Some(port @ Value::Int(n)) = part(service, "port")
        && !(1..=65535).contains(n)
    {
        let text = "port is not valid: must be between 1 and 65535, inclusive";
        errors.invalid(&at.key("port"), port, text);
    }
    let path = text(service, "path");
    if !matches!(path, "" | "/") {
        path_problems(path, &at.key("path"), errors);
    }
}

fn path_problems(path: &str, at: &FieldPath, errors: &mut Errors) {
    if path == "//" {
        return errors.invalid(at, &path.into(), "segment[0] may not be empty");
    }
    if !path.starts_with('/') {
        errors.invalid(at, &path.into(), "must start with a '/'");
    }
    // The first character is no part of a segment, whatever it is.
    let mut rest = path.chars();
    rest.next();
    let rest = rest.as_str();
    for (i, segment) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if segment.is_empty() {
            errors.invalid(at, &path.into(), &format!("segment[{i}] may not be empty"));
            continue;
        }
        for problem in problems_of_subdomain(segment) {
            errors.invalid(at, &path.into(), &format!("segment[{i}]: {problem}"));
        }
    }
}

/// The versions of reviews that a webhook takes.
fn versions(v: &Value, at: &FieldPath, errors: &mut Errors) {
    let all: Vec<&str> = texts(v, "admissionReviewVersions").collect();
    if all.is_empty() {
        return errors.required(at, "must specify one of v1, v1beta1");
    }
    for (i, version) in all.iter().enumerate() {
        let value = Value::from(*version);
        if all.get(..i).is_some_and(|before| before.contains(version)) {
            errors.invalid(&at.index(i), &value, "duplicate version");
            continue;
        }
        for problem in old_label_problems(version) {
            errors.invalid(&at.index(i), &value, &problem);
        }
    }
    if !all.iter().any(|v| matches!(*v, "v1" | "v1beta1")) {
        let value = Value::list(all.into_iter().map(Value::from).collect());
        errors.invalid(at, &value, "must include at least one of v1, v1beta1");
    }
}
