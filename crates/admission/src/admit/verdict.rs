//! Validation of the object of an AdmissionReview.
//!
//! Rules that enforce, or that warn, are evaluated before the answer; all others after it
//! ([`later`]). A failed rule that enforces refuses the request, and so does one that ends in an
//! error when its policy fails closed.

use ephor_engine::action;
use ephor_engine::admission::Review;
use ephor_engine::{Consequence, RuleOutcome};
use ephor_ir::{Policy, Rule};
use ephor_matching::Target;
use ephor_policies::policy_set::outcomes::Outcomes;
use ephor_policies::policy_set::verdicts::{Limits, PreparedRequest};
use ephor_value::Value;

use super::answer::{Answer, Refusal};
use super::decision::{Deadline, Decision};
use super::denial::{self, DeniedObject};
use super::gate::Gate;
use super::incoming::Incoming;
use super::needs;
use super::route::Route;

/// Whether the answer waits for a rule.
fn is_awaited(policy: &Policy, rule: &Rule, target: &Target) -> bool {
    policy.actions.warns()
        || match policy.actions.is_per_rule() {
            true => action::is_enforced(policy, rule, target),
            false => policy.actions.denies(),
        }
}

/// The decision on a request after the verdicts of all policies that a path selects.
pub(super) fn decide(gate: &Gate, route: &Route, incoming: &Incoming, deadline: &Deadline) -> Decision {
    let request = match gate.request(incoming) {
        Ok(request) => request,
        Err(text) => return Decision::of(Answer::denied(format!("failed to create policy context: {text}"))),
    };
    let awaited = |p: &Policy, r: &Rule| is_awaited(p, r, &request.target);
    if gate.awaiting_namespace(route, &request.target, awaited).is_some() {
        let text = needs::no_namespace(&request.target);
        return Decision::of(Answer::denied(format!("failed to create policy context: {text}")));
    }
    let prepared = gate.engine().prepare(request);
    let target = &prepared.request.target;
    let limits = Limits {
        policies: &|p| gate.selects(p, route, target),
        rules: &|p, r| is_awaited(p, r, target),
        has_time: &|| !deadline.is_over(),
        stops: &|_, _| false,
        name: Some(&route.limits(needs::moment(target, "before"))),
    };
    let done = deadline.within(|| gate.engine().verdicts(&prepared, &limits));
    let mut answer = Answer::default();
    let mut reasons: Vec<String> = Vec::new();
    let all: Vec<(&Policy, &[RuleOutcome])> =
        done.outcomes.policies().map(|p| (&*p.policy, &p.rules[..])).collect();
    let results = || all.iter().copied();
    let denies = |p: &Policy, r: &RuleOutcome| Consequence::of(p, r, Some(target)).denies;
    let blocked = |(policy, rules): &(&Policy, &[RuleOutcome])| {
        policy.actions.is_per_rule() && rules.iter().any(|r| denies(policy, r))
    };
    // Kyverno evaluates policies that fail closed and the others in webhooks of their own: an error
    // of one that fails open is part of a refusal only when another one of these refuses.
    let refuses =
        |is_fail: bool| results().filter(|(p, _)| p.failure_policy.is_fail() == is_fail).any(|r| blocked(&r));
    let (closed, open) = (refuses(true), refuses(false));
    if closed || open {
        // Policies that only warn are left out.
        let counts =
            |p: &Policy| p.actions.is_per_rule() && if p.failure_policy.is_fail() { closed } else { open };
        let reported = results().filter(|(p, _)| counts(p));
        let enforced = |p: &Policy, r: &RuleOutcome| action::is_blocking(p, r, target);
        reasons.push(denial::block(&DeniedObject::of(incoming), reported, enforced));
    }
    let of_cel_policies: Vec<String> = results()
        .filter(|(p, _)| !p.actions.is_per_rule())
        .flat_map(|(p, rules)| rules.iter().filter(move |r| denies(p, r)).map(move |r| denial::verdict(p, r)))
        .collect();
    reasons.extend((!of_cel_policies.is_empty()).then(|| of_cel_policies.join("; ")));
    let mut refusal =
        (!reasons.is_empty()).then(|| Refusal { message: reasons.join("\n"), ..Refusal::default() });
    refusal = refusal.or_else(|| deadline.refusal(&done.left));
    if route.selects_native() && refusal.is_none() && gate.engine().native().any(|p| !p.mutates()) {
        let review = Review::new(Value::Map(incoming.request.clone()));
        let native = deadline.within(|| gate.engine().validate_as_server(&review));
        refusal = native.denial.map(Refusal::from);
        answer.warnings.extend(native.warnings);
        answer.annotations = native.annotations;
    }
    // A client whose request is refused gets the warnings of CEL policies, and not those of rules.
    let warns = |p: &Policy| refusal.is_none() || !p.actions.is_per_rule();
    let mut warnings: Vec<String> =
        results().filter(|(p, _)| warns(p)).flat_map(|(p, rules)| warnings(p, rules)).collect();
    warnings.append(&mut answer.warnings);
    answer.warnings = warnings;
    answer.denial = refusal;
    Decision {
        answer,
        outcomes: done.outcomes,
        prepared: Some(prepared),
        audits: done.is_partial,
        unknown: None,
    }
}

/// A rule that the answer has waited for is one that warns, or one that did not refuse the request
/// although it enforces, of which the client is warned as well.
fn warnings<'r>(policy: &'r Policy, rules: &'r [RuleOutcome]) -> impl Iterator<Item = String> + 'r {
    let is_per_rule = policy.actions.is_per_rule();
    let warned = move |r: &&RuleOutcome| r.status.is_violation() && (is_per_rule || policy.actions.warns());
    let text = if is_per_rule { denial::warning } else { denial::verdict };
    rules.iter().filter(warned).map(move |r| text(policy, r))
}

/// The results of the rules that the answer did not wait for.
pub(super) fn later(gate: &Gate, route: &Route, prepared: &PreparedRequest, deadline: &Deadline) -> Outcomes {
    let target = &prepared.request.target;
    let limits = Limits {
        policies: &|p| gate.selects(p, route, target),
        rules: &|p, r| !is_awaited(p, r, target),
        has_time: &|| !deadline.is_over(),
        stops: &|_, _| false,
        name: Some(&route.limits(needs::moment(target, "after"))),
    };
    deadline.within(|| gate.engine().verdicts(prepared, &limits).outcomes)
}
