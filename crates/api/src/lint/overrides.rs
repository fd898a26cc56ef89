//! Overrides of the failure action: a namespace must not come under both actions.
//!
//! Semantics: section 5.6, step 7 of the policy object specification.

use std::collections::BTreeSet;

use super::subject::{Finding, Outcome, Subject};
use crate::read::{listed, texts};
use ephor_value::{Value, wildcard};

/// Checks the overrides of each validate rule, then those of the policy.
pub fn check(subject: &Subject<'_>) -> Outcome {
    if subject.namespace.is_some() {
        return Ok(());
    }
    for (i, rule) in subject.written.iter().enumerate() {
        if let Some(validate) = rule.get("validate") {
            let place = format!("spec.rules[{i}].validate.validationFailureActionOverrides");
            check_list(listed(validate, "failureActionOverrides"), &place)?;
        }
    }
    let empty = Value::default();
    let spec = subject.policy.get("spec").unwrap_or(&empty);
    let place = "spec.validationFailureActionOverrides";
    check_list(listed(spec, "validationFailureActionOverrides"), place)
}

/// The namespaces named under one action.
#[derive(Default)]
struct Named<'a> {
    plain: BTreeSet<&'a str>,
    patterns: BTreeSet<&'a str>,
}

fn check_list(list: &[Value], place: &str) -> Outcome {
    let (mut audit, mut enforce) = (Named::default(), Named::default());
    for (i, entry) in list.iter().enumerate() {
        let (own, other) = match entry.text_at(&["action"]) {
            "audit" | "Audit" => (&mut audit, &enforce),
            "enforce" | "Enforce" => (&mut enforce, &audit),
            _ => return Err(Finding::at(&format!("{place}[{i}].action"), "invalid action")),
        };
        let (patterns, plain): (BTreeSet<_>, BTreeSet<_>) =
            texts(entry, &["namespaces"]).partition(|name| wildcard::has_wildcard(name));
        let both: Vec<&str> = plain.intersection(&other.plain).copied().collect();
        if !both.is_empty() {
            let place = format!("{place}[{i}].namespaces");
            let text = format!("conflicting namespaces found in path: {place}: {}", both.join(", "));
            return Err(Finding::at(&place, text));
        }
        own.plain.extend(plain);
        own.patterns.extend(patterns);
        let place = format!("{place}[{i}].namespaces");
        patterns_apart(&audit, &enforce, &place)?;
        patterns_apart(&enforce, &audit, &place)?;
    }
    Ok(())
}

/// No pattern of one action may take a namespace or a pattern of the other.
fn patterns_apart(own: &Named<'_>, other: &Named<'_>, place: &str) -> Outcome {
    for pattern in &own.patterns {
        if let Some(name) = other.plain.iter().find(|name| wildcard::matches(pattern, name)) {
            let detail = format!("wildcard pattern '{pattern}' matches with namespace '{name}'");
            return Err(Finding::path(place, detail));
        }
        if let Some(other) = other.patterns.iter().find(|other| wildcard::matches(pattern, other)) {
            let detail = format!("wildcard pattern '{pattern}' conflicts with the pattern '{other}'");
            return Err(Finding::path(place, detail));
        }
    }
    Ok(())
}
