//! Runs validate rules and rules that verify images; an update whose old object violated too is
//! audited.
//!
//! In: a rule that matches a request. Out: its result, none where it has nothing to say. On updates
//! a violation that the former object had too may be allowed. Texts and order are those of
//! `docs/semantics/validate.md`.

use ephor_ir::check::Check;
use ephor_ir::expressions::View;
use ephor_ir::rule::Body;
use ephor_ir::{Policy, Rule};
use ephor_value::Str;

use super::Request;
use super::data::Data;
use super::matched::{EnteredRule, MatchedRule, applies, excepted, reported};
use super::outcome::{RuleOutcome, Status};
use super::validate::{self, CheckSubject};

/// Runs the body of a rule that gives a verdict.
pub(super) fn run(matched: MatchedRule<'_, '_>) -> Option<RuleOutcome> {
    let MatchedRule { policy, rule, request, context, .. } = matched;
    if let Some(bound) = &rule.bound {
        return super::admission::offline::verdict(bound, matched);
    }
    if let Some(expressions) = rule.expressions.as_ref().filter(|e| e.view != View::Rule) {
        return super::expressions::run(matched, expressions);
    }
    let mut data = matched.data(matched.root());
    let EnteredRule { properties, exceptions } = match matched.enter(&mut data) {
        Ok(entered) => entered,
        Err(result) => return Some(*result),
    };
    let outcome = |status, message: Str| matched.result(status, message);
    let mut result = match &rule.body {
        Body::Validate { check: Check::PodSecurity(check), .. } => {
            super::pod_security::rule(check, rule, request, &exceptions)
        }
        _ if !exceptions.is_empty() => Some(excepted(rule, &exceptions)),
        Body::Validate { check: Check::Assert(validations), message } => {
            rule.expressions.as_ref().map(|expressions| {
                let passed = &message.passed;
                let (status, text) =
                    super::expressions::rule::run(expressions, validations, passed, request, context);
                outcome(status, text)
            })
        }
        Body::VerifyImages(checks) => {
            let (status, text) = super::verify::check(checks, policy, rule, request);
            Some(outcome(status, text.into()))
        }
        Body::Manifests(wanted) => {
            let (status, text) = super::manifests::check(wanted, request, &rule.origin);
            Some(outcome(status, text.into()))
        }
        // These have phases of their own.
        Body::Mutate(_) | Body::Generate(_) | Body::Delete | Body::Answer(_) | Body::ValidateImages(_) => {
            None
        }
        Body::Validate { check, message } => {
            let object = request.object_or_old();
            let subject = CheckSubject {
                rule: &rule.name,
                message,
                object,
                scoped: false,
                deleting: request.deleting(),
                depth: 0,
            };
            validate::run(check, subject, &mut data).map(|(status, text)| outcome(status, text))
        }
    }?;
    if result.status == Status::Fail
        && tolerates_existing(policy, rule, request)
        && failed_before(matched, &mut data)
    {
        result = outcome(
            Status::Skip,
            "skipping the rule evaluation as pre-existing violations are allowed".into(),
        );
    }
    Some(reported(result, properties))
}

/// Whether violations that the former object had too are allowed.
fn tolerates_existing(policy: &Policy, rule: &Rule, request: &Request) -> bool {
    let action = rule.action.rule.as_ref().unwrap_or(&policy.action);
    rule.action.allow_existing
        && super::action::enforces(action)
        && &*request.target.operation == "UPDATE"
        && !request.old_object.is_null()
}

/// Whether the former object, as if it were created now, fails the rule as well. Kyverno keeps what
/// it has loaded and filled in for the new object: images, context entries, and the patterns of the
/// rule itself (`docs/semantics/validate.md`, "Existing violations").
fn failed_before(matched: MatchedRule<'_, '_>, current: &mut Data<'_>) -> bool {
    let (rule, former) = (matched.rule, matched.request.former());
    if !applies(rule, &former) {
        return false;
    }
    let (matched, mut data) = matched.on(&former);
    data.adopt_loaded(current);
    match &rule.body {
        // The only check that looks up exceptions again.
        Body::Validate { check: Check::PodSecurity(check), .. } => {
            let exceptions = matched.exceptions(&mut data);
            super::pod_security::rule(check, rule, &former, &exceptions)
                .is_some_and(|outcome| outcome.status == Status::Fail)
        }
        Body::Validate { check, message } => {
            let subject = CheckSubject {
                rule: &rule.name,
                message,
                object: former.object_or_old(),
                scoped: false,
                deleting: false,
                depth: 0,
            };
            validate::fails_on_former(check, subject, &mut data, current)
        }
        _ => false,
    }
}
