//! Pod Security Standards: `validate.podSecurity` rules.
//!
//! In: level, version and exclusions of a rule, the object of a request, and the exceptions that
//! apply. Out: pass, fail with the findings of the failing checks, skip by exceptions, error for an
//! object that is no pod or does not decode; nothing for deletions. The semantics' source is
//! `docs/semantics/validate.md`, "Bodies".
//!
//! The object is decoded as a typed Kubernetes object ([`ephor_kubernetes::decode`]), seen as a
//! [`pod::Pod`], put to the controls of `ir::pod_security` ([`checks`]), once for all rules
//! ([`seen`]); what they find is thinned by the exclusions ([`exclude`]) and worded ([`finding`],
//! [`report`]).
//!
//! - [`checks`]: runs the Pod Security controls: what a pod has that a control's row does not allow
//! - [`exclude`]: excluding controls from what the checks found
//! - [`finding`]: what a Pod Security check finds: a reason, a text for people, and the fields in
//!   violation
//! - [`pod`]: a pod as the checks read it
//! - [`report`]: what reports say about failing Pod Security checks
//! - [`seen`]: what the Pod Security checks know of one object, found once for all rules

pub mod checks;
pub mod exclude;
pub mod finding;
pub mod pod;
pub mod report;
pub mod seen;

use std::fmt::Write;

use crate::trace::{self, EventKind};
use ephor_ir::check::PodSecurity;
use ephor_ir::{Exception, Rule};
use ephor_value::Str;

use super::{Request, RuleOutcome, Status};

/// Room for a message without the name of its rule and what was found.
const HEAD: usize = 96;

/// Runs a podSecurity rule.
pub fn rule(
    check: &PodSecurity,
    rule: &Rule,
    request: &Request,
    exceptions: &[&Exception],
) -> Option<RuleOutcome> {
    let outcome = |status, message: Str| RuleOutcome::new(&rule.name, rule.kind, status, message);
    if request.object.is_null() || request.deleting() {
        return None;
    }
    if let Some(whole) = exceptions.iter().find(|e| e.pod_security.is_null()) {
        let text = format!("rule is skipped due to policy exception {}", whole.key);
        return Some(RuleOutcome {
            exceptions: vec![whole.name.clone()],
            ..outcome(Status::Skip, text.into())
        });
    }
    let seen = match request.pod.get(&request.object) {
        Ok(seen) => seen,
        Err(error) => return Some(outcome(Status::Error, error.to_string().into())),
    };
    let Some(controls) = check.controls() else {
        let text = "failed to parse pod security api version: must be \"latest\" or \"v1.x\"";
        return Some(outcome(Status::Error, text.into()));
    };
    let pod = seen.pod();
    let found = seen.found(controls, check.field());
    let mut found = exclude::apply(found, &check.exclude, &pod, check);
    if found.is_empty() {
        return Some(outcome(Status::Pass, format!("Validation rule '{}' passed.", rule.name).into()));
    }
    for exception in exceptions {
        found = exclude::apply(found, &exception.pod_security, &pod, check);
    }
    if found.is_empty() {
        let keys: Vec<&str> = exceptions.iter().map(|e| &*e.key).collect();
        let text = format!("rule is skipped due to policy exceptions {}", keys.join(", "));
        return Some(RuleOutcome {
            exceptions: exceptions.iter().map(|e| e.name.clone()).collect(),
            ..outcome(Status::Skip, text.into())
        });
    }
    let known = found.iter().map(|shown| shown.text.as_ref().map_or(0, String::len));
    let mut text = String::with_capacity(HEAD + rule.name.len() + known.sum::<usize>());
    let _ = write!(
        text,
        "Validation rule '{}' failed. It violates PodSecurity \"{}:{}\": ",
        rule.name, check.level, check.version
    );
    for shown in &found {
        match &shown.text {
            Some(known) => text.push_str(known),
            None => finding::write(&mut text, &shown.finding, seen.origin),
        }
    }
    trace::emit(&rule.origin, || {
        let errors = found.iter().flat_map(|shown| &shown.finding.errors);
        EventKind::Fields(errors.map(|e| seen.origin.placed(&e.field)).collect())
    });
    Some(RuleOutcome {
        pod_security: request.details.then(|| report::value(check, &found, request)),
        ..outcome(Status::Fail, text.into())
    })
}

#[cfg(test)]
mod tests;
