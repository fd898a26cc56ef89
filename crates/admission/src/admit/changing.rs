//! Mutation of the object of an AdmissionReview.
//!
//! Each policy sees what those before it left. A policy that fails denies the request when it fails
//! closed; else its mutations are dropped. The patch is that of all policies, one after another.

use ephor_engine::admission::Review;
use ephor_engine::{Consequence, RuleOutcome, Status, action};
use ephor_ir::facts::ActionModel;
use ephor_ir::rule::RuleKind;
use ephor_ir::{Policy, Rule};
use ephor_patch::Operation;
use ephor_patch::diff::diff;
use ephor_policies::policy_set::PolicyOutcome;
use ephor_policies::policy_set::verdicts::{Limits, PreparedRequest};
use ephor_value::Value;

use super::answer::{Answer, Refusal};
use super::decision::{Deadline, Decision};
use super::denial::{self, DeniedObject};
use super::gate::Gate;
use super::incoming::Incoming;
use super::needs;
use super::route::Route;

/// The decision on a request after the mutations of all policies that a path selects.
///
/// `is_own`: the controllers themselves send it.
pub(super) fn decide(
    gate: &Gate,
    route: &Route,
    incoming: &Incoming,
    is_own: bool,
    deadline: &Deadline,
) -> Decision {
    // A deleted object cannot be changed, but may be a reason to change others.
    let changes_it = matches!(incoming.text(&["operation"]), "CREATE" | "UPDATE" | "CONNECT");
    if !changes_it && !gate.works_on_deletions(route) {
        return Decision::default();
    }
    let request = match gate.request(incoming) {
        Ok(request) => request,
        Err(text) => return Decision::of(Answer::denied(format!("failed to create policy context: {text}"))),
    };
    if !changes_it {
        return Decision { prepared: Some(PreparedRequest::from(request)), ..Decision::default() };
    }
    let changes = |_: &Policy, r: &Rule| r.kind == RuleKind::Mutation;
    if let Some(policy) = gate.awaiting_namespace(route, &request.target, changes) {
        let text = needs::no_namespace(&request.target);
        return Decision::of(Answer::denied(format!("mutation policy {} error: {text}", policy.name)));
    }
    let limits = Limits {
        policies: &|p| gate.selects(p, route, &request.target) && !(is_own && gate.skips_own(p)),
        rules: &|_, _| true,
        has_time: &|| !deadline.is_over(),
        stops: &|p, rules| p.actions.is_per_rule() && refuses(p, rules, &request.target),
        name: None,
    };
    let done = deadline.within(|| gate.engine().changes(&request, &limits));
    let policies = &done.outcome.policies;
    let mut refusal = match policies.last().filter(|_| done.stopped) {
        Some(last) if last.incoming => {
            let failed = std::iter::once((&*last.policy, &last.rules[..]));
            Some(denial::block(&DeniedObject::of(incoming), failed, |_, _| true))
        }
        Some(last) => Some(denial::unchanged(&last.policy, &last.rules)),
        None => errors_of_cel_policies(policies, incoming),
    }
    .map(|message| Refusal { message, ..Refusal::default() })
    .or_else(|| deadline.refusal(&done.left));
    let mut patch: Vec<Operation> = Vec::new();
    let mut current = &request.object;
    for object in policies.iter().filter_map(|p| p.object.as_ref()) {
        patch.extend(diff(current, object));
        current = object;
    }
    if refusal.is_none() && route.selects_native() && gate.engine().native().any(|p| p.mutates()) {
        let review = Review::new(Value::Map(incoming.request.clone())).with_object(current.clone());
        let changed = deadline.within(|| gate.engine().mutate_as_server(&review));
        refusal = changed.denial.map(Refusal::from);
        patch.extend(diff(current, &changed.object));
    }
    let mut answer = Answer::default();
    match refusal {
        Some(refusal) => answer.denial = Some(refusal),
        None => {
            answer.warnings = policies.iter().flat_map(warnings).collect();
            answer.patch = patch;
        }
    }
    Decision {
        answer,
        outcomes: done.outcome.into(),
        prepared: Some(PreparedRequest::from(request)),
        audits: false,
        unknown: None,
    }
}

/// Whether changes that failed refuse the request.
fn refuses(policy: &Policy, rules: &[RuleOutcome], target: &ephor_matching::Target) -> bool {
    let verifies = rules.iter().any(|r| r.kind == ephor_ir::rule::RuleKind::ImageVerification);
    if verifies { action::blocks(policy, rules, target, true) } else { policy.failure_policy.is_fail() }
}

/// The errors of CEL policies that failed to mutate the object, where they count.
fn errors_of_cel_policies(policies: &[PolicyOutcome], incoming: &Incoming) -> Option<String> {
    let failed = policies.iter().filter(|p| !p.policy.actions.is_per_rule()).flat_map(|p| {
        let errors = p.rules.iter().filter(|r| Consequence::of(&p.policy, r, None).denies);
        errors.map(|r| format!("Policy {}: {}", p.policy.name, r.message))
    });
    let errors: Vec<String> = failed.collect();
    let DeniedObject { kind, namespace, name } = DeniedObject::of(incoming);
    (!errors.is_empty())
        .then(|| format!("Resource: {namespace}/{name}, Kind: {kind}, Errors: [{}]", errors.join(" ")))
}

fn warnings(of: &PolicyOutcome) -> Vec<String> {
    let policy = &of.policy;
    let warns = |r: &&RuleOutcome| match r.status {
        Status::Fail | Status::Error => policy.actions.is_per_rule(),
        Status::Warn => true,
        Status::Pass => policy.actions == ActionModel::FailureActions { warn: true } && !of.incoming,
        Status::Skip => false,
    };
    let warned = of.rules.iter().filter(warns);
    match policy.actions.is_per_rule() {
        true => warned.map(|r| denial::warning(policy, r)).collect(),
        false => warned.map(|r| r.message.to_string()).collect(),
    }
}
