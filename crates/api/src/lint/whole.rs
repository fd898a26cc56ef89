//! Checks of the policy as a whole: its namespace, spellings of actions, where it is processed.

use super::subject::{Finding, Outcome, Subject};
use crate::read::{Body, has_body, listed};
use ephor_value::Value;

/// A ClusterPolicy has no namespace.
pub fn namespace(subject: &Subject<'_>, warnings: &mut Vec<Finding>) -> Outcome {
    let has_namespace = !subject.policy.text_at(&["metadata", "namespace"]).is_empty();
    if subject.namespace.is_none() && has_namespace {
        let finding =
            Finding::at("metadata.namespace", "A clusterpolicy should not have the namespace defined");
        warnings.push(finding.clone());
        return Err(finding);
    }
    Ok(())
}

/// Warns of actions in lower case.
pub fn action_spellings(subject: &Subject<'_>, warnings: &mut Vec<Finding>) {
    let mut warn = |place: String, action: &str| {
        if matches!(action, "audit" | "enforce") {
            let text = format!(
                "{place}: Validation failure actions enforce/audit are deprecated, use Enforce/Audit instead."
            );
            warnings.push(Finding::at(&place, text));
        }
    };
    let spec = subject.policy.get("spec").cloned().unwrap_or_default();
    warn("spec.validationFailureAction".into(), spec.text_at(&["validationFailureAction"]));
    for (i, entry) in listed(&spec, "validationFailureActionOverrides").iter().enumerate() {
        warn(format!("spec.validationFailureActionOverrides[{i}].action"), entry.text_at(&["action"]));
    }
    for (i, rule) in subject.written.iter().enumerate() {
        let Some(validate) = rule.get("validate") else { continue };
        warn(format!("spec.rules[{i}].validate.failureAction"), validate.text_at(&["failureAction"]));
        for (j, entry) in listed(validate, "failureActionOverrides").iter().enumerate() {
            let place = format!("spec.rules[{i}].validate.failureActionOverrides[{j}].action");
            warn(place, entry.text_at(&["action"]));
        }
    }
}

/// Conditions on requests must be expressions that give booleans.
pub fn match_conditions(subject: &Subject<'_>) -> Outcome {
    let configuration = subject.spec("webhookConfiguration").cloned().unwrap_or_default();
    let mut errors = Vec::new();
    let mut first = None;
    for (i, condition) in listed(&configuration, "matchConditions").iter().enumerate() {
        if let Err(text) = (subject.checks.condition)(condition.text_at(&["expression"])) {
            first.get_or_insert(i);
            errors.push(text.to_string());
        }
    }
    let Some(i) = first else { return Ok(()) };
    let place = format!("spec.webhookConfiguration.matchConditions[{i}].expression");
    Err(Finding::at(&place, format!("match conditions compilation errors: [{}]", errors.join(" "))))
}

/// A policy is processed at admission, in background scans, or both; without admission only
/// validation makes sense.
pub fn processing(subject: &Subject<'_>) -> Outcome {
    let admission = subject.spec("admission").and_then(Value::as_bool).unwrap_or(true);
    if admission {
        return Ok(());
    }
    if !subject.background {
        let text = "disabling both admission and background processing is not allowed";
        return Err(Finding::at("spec.admission", text));
    }
    let changes = [Body::Mutate, Body::Generate, Body::VerifyImages];
    if subject.written.iter().any(|rule| changes.iter().any(|body| has_body(rule, *body))) {
        let text = "disabling admission processing is only allowed with validation policies";
        return Err(Finding::at("spec.admission", text));
    }
    Ok(())
}
