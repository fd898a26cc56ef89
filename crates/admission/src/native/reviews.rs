//! ValidatingPolicies and MutatingPolicies.

use ephor_api::read::listed;
use ephor_lower::cel_policy::{check_match_conditions, has_variants};
use ephor_value::time::Time;
use ephor_value::{Map, Value};

use super::outcome::{Known, Native, NativeError, SkipReason};
use super::parts::{copy, map, named, texts};

/// A ValidatingAdmissionPolicy.
pub fn validating(policy: &Value, known: &Known<'_>) -> Result<Native, NativeError> {
    let kind = "ValidatingAdmissionPolicy";
    let spec = enabled_spec(policy, "validatingAdmissionPolicy", kind, known)?;
    let exceptions = exceptions(policy, known);
    let mut out = Map::new();
    copy(spec, &mut out, &[("auditAnnotations", "auditAnnotations")]);
    let mut conditions = listed(spec, "matchConditions").to_vec();
    conditions.extend(exceptions.iter().flat_map(|e| negated(e)));
    insert_list(&mut out, "matchConditions", conditions);
    copy(spec, &mut out, &[("matchConstraints", "matchConstraints")]);
    let mut variables = listed(spec, "variables").to_vec();
    let mut validations = listed(spec, "validations").to_vec();
    for (key, name) in [("images", "allowedImages"), ("allowedValues", "allowedValues")] {
        let of_spec = |e: &&Value| e.get("spec").map_or(Vec::new(), |spec| listed(spec, key).to_vec());
        let allowed: Vec<String> =
            exceptions.iter().flat_map(of_spec).filter_map(|v| v.as_str().map(quoted)).collect();
        if allowed.is_empty() {
            continue;
        }
        let list = format!("[{}]", allowed.join(", "));
        variables.push(Value::Map(map([("name", name.into()), ("expression", list.into())])));
        let (from, to) = (format!("exceptions.{name}"), format!("variables.{name}"));
        for validation in &mut validations {
            replace(validation, &from, &to);
        }
    }
    insert_list(&mut out, "validations", validations);
    insert_list(&mut out, "variables", variables);
    let actions = match listed(spec, "validationActions") {
        [] => texts(["Deny"]),
        given => Value::list(given.to_vec()),
    };
    Ok(named(policy, "vpol", kind, out, map([("validationActions", actions)]), known.kinds))
}

/// A MutatingAdmissionPolicy.
pub fn mutating(policy: &Value, known: &Known<'_>) -> Result<Native, NativeError> {
    let kind = "MutatingAdmissionPolicy";
    let spec = enabled_spec(policy, "mutatingAdmissionPolicy", kind, known)?;
    check_match_conditions(spec).map_err(NativeError::Conditions)?;
    let exceptions = exceptions(policy, known);
    let mut out = Map::new();
    copy(spec, &mut out, &[("failurePolicy", "failurePolicy")]);
    let mut conditions: Vec<Value> = exceptions.iter().flat_map(|e| negated(e)).collect();
    conditions.extend(listed(spec, "matchConditions").iter().cloned());
    insert_list(&mut out, "matchConditions", conditions);
    let rules = spec.get("matchConstraints").map_or(&[][..], |c| listed(c, "resourceRules"));
    let rules = map([("resourceRules", Value::list(rules.to_vec()))]);
    out.insert("matchConstraints", Value::Map(rules));
    copy(spec, &mut out, &[("mutations", "mutations")]);
    let again = match spec.text_at(&["reinvocationPolicy"]) {
        "" => "Never",
        given => given,
    };
    out.insert("reinvocationPolicy", again.into());
    copy(spec, &mut out, &[("variables", "variables")]);
    Ok(named(policy, "mpol", kind, out, Map::new(), known.kinds))
}

/// The spec of a policy that has native generation enabled and supports it.
fn enabled_spec<'p>(
    policy: &'p Value,
    key: &str,
    kind: &'static str,
    known: &Known<'_>,
) -> Result<&'p Value, NativeError> {
    let refused = |why| Err(NativeError::Skipped { kind, why });
    let enabled = policy.at(&["spec", "autogen", key, "enabled"]).and_then(Value::as_bool);
    let Some(spec) = policy.get("spec").filter(|_| enabled == Some(true)) else {
        return refused(SkipReason::NotEnabled);
    };
    if kind.starts_with("Mutating")
        && policy.at(&["spec", "evaluation", "useServerSideApply"]).and_then(Value::as_bool) == Some(true)
    {
        return refused(SkipReason::ServerSideApply);
    }
    let names_controllers =
        spec.at(&["autogen", "podControllers"]).is_some_and(|of| !listed(of, "controllers").is_empty());
    if (known.keeps_variants || names_controllers) && has_variants(spec) {
        return refused(SkipReason::Variants);
    }
    Ok(spec)
}

/// The exceptions from a policy that are in force.
fn exceptions<'k>(policy: &Value, known: &Known<'k>) -> Vec<&'k Value> {
    let name = policy.text_at(&["metadata", "name"]);
    let names_it = |e: &&Value| {
        e.text_at(&["apiVersion"]).starts_with("policies.kyverno.io/")
            && e.get("spec")
                .map_or(&[][..], |s| listed(s, "policyRefs"))
                .iter()
                .any(|r| r.text_at(&["name"]) == name)
    };
    let over = |e: &&Value| {
        Time::parse_rfc3339(e.text_at(&["spec", "expiresAt"]))
            .is_ok_and(|end| end.unix_nanos() <= known.now.unix_nanos())
    };
    known.exceptions.iter().filter(names_it).filter(|e| !over(e)).collect()
}

/// The conditions of an exception, each the other way round.
fn negated(exception: &Value) -> Vec<Value> {
    let conditions = exception.get("spec").map_or(&[][..], |s| listed(s, "matchConditions"));
    let turned = |c: &Value| {
        let expression = format!("!({})", c.text_at(&["expression"]));
        Value::Map(map([("name", c.text_at(&["name"]).into()), ("expression", expression.into())]))
    };
    conditions.iter().map(turned).collect()
}

/// A text as a literal.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn replace(validation: &mut Value, from: &str, to: &str) {
    if let Value::Map(m) = validation
        && let Some(text) = m.get("expression").and_then(Value::as_str).map(|t| t.replace(from, to))
    {
        m.insert("expression", text.into());
    }
}

fn insert_list(out: &mut Map, key: &str, list: Vec<Value>) {
    if !list.is_empty() {
        out.insert(key, Value::list(list));
    }
}
