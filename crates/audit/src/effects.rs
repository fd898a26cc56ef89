//! What policies would have answered to a request.
//!
//! In: a gate and a request of a log. Out: its [`Effects`]: whether it would have been denied,
//! warned about or changed, and by which rules.

use ephor_admission::admit::{Deadline, Gate, Incoming, Phase, Route};
use ephor_admission::redact::Redactor;
use ephor_engine::admission::Review;
use ephor_engine::outcome::Effect as RuleEffect;
use ephor_engine::{Consequence, RuleOutcome, Status};
use ephor_ir::Policy;
use ephor_ir::rule::RuleKind;
use ephor_matching::Target;
use ephor_report::replayed::{Effect, RuleId};
use ephor_value::Value;

use super::request::{AuditedRequest, Subject};

/// See the module page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Whether the request would have been denied.
    pub denied: bool,
    /// Whether its client would have been warned.
    pub warned: bool,
    /// Whether its object would have been changed.
    pub changed: bool,
    /// The message of the denial.
    pub message: String,
    /// What each rule did that did something, in order, each once.
    pub rules: Vec<(RuleId, Effect, String)>,
}

/// A gate with what is known of its policies.
pub struct Replayer {
    gate: Gate,
    mutates: bool,
    has_native: bool,
}

impl Replayer {
    /// A gate that answers requests of logs.
    pub fn new(gate: Gate) -> Replayer {
        let set = gate.engine().set();
        let changes = |policy: &Policy| policy.all_rules().any(|rule| rule.kind == RuleKind::Mutation);
        let verifies =
            |policy: &Policy| policy.all_rules().any(|rule| rule.kind == RuleKind::ImageVerification);
        let mutates = set.policies().iter().any(|policy| changes(policy) || verifies(policy));
        let has_native = gate.engine().native().any(|policy| !policy.mutates());
        Replayer { gate, mutates, has_native }
    }

    /// The gate.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// What would have been answered.
    pub fn effects(&self, request: &AuditedRequest) -> Effects {
        let objects = request.objects();
        let kinds = self.gate.cluster().known_kinds();
        let mut effects = Effects::default();
        if self.mutates {
            let sent = request.review(&objects, Subject::Sent, &kinds);
            self.mutate(&sent, &mut effects);
        }
        let stored = request.review(&objects, Subject::Stored, &kinds);
        self.validate(&stored, &mut effects);
        effects.rules.sort_unstable();
        effects.rules.dedup_by(|a, b| (&a.0, a.1) == (&b.0, b.1));
        effects
    }

    fn mutate(&self, incoming: &Incoming, effects: &mut Effects) {
        let done = self.gate.answer(&Route::all(Phase::Mutate), incoming, &Deadline::never());
        effects.changed |= !done.answer.patch.is_empty();
        effects.note(
            incoming,
            &done.answer.denial.as_ref().map(|d| d.message.clone()),
            &done.answer.warnings,
        );
        let target = done.prepared.as_ref().map(|prepared| &prepared.request.target);
        for (policy, result) in done.outcomes.results() {
            let object = incoming.object("object");
            let is_changed = match result.effect.as_deref() {
                Some(RuleEffect::Patched(made)) => *made != object,
                _ => false,
            };
            let effect = match result.status {
                Status::Pass if is_changed => Effect::Changed,
                _ if Consequence::of(policy, result, target).denies => Effect::Denied,
                Status::Error => Effect::Failed,
                _ => continue,
            };
            effects.add(policy, result, effect, incoming);
        }
    }

    fn validate(&self, incoming: &Incoming, effects: &mut Effects) {
        let route = Route::all(Phase::Validate);
        let done = self.gate.answer(&route, incoming, &Deadline::never());
        effects.note(
            incoming,
            &done.answer.denial.as_ref().map(|d| d.message.clone()),
            &done.answer.warnings,
        );
        let target = done.prepared.as_ref().map(|prepared| &prepared.request.target);
        for (policy, result) in done.outcomes.results() {
            effects.result(policy, result, target, incoming);
        }
        if let Some(prepared) = done.prepared.as_ref().filter(|_| done.audits) {
            let later = self.gate.audit(&route, prepared, &Deadline::never());
            for (policy, result) in later.results() {
                effects.result(policy, result, target, incoming);
            }
        }
        if self.has_native {
            let review = Review::new(Value::Map(incoming.request.clone()));
            let native = self.gate.engine().native_verdicts(&review);
            for (policy, result) in native.results() {
                effects.result(policy, result, target, incoming);
            }
        }
    }
}

impl Effects {
    /// Whether nothing would have happened.
    pub fn is_none(&self) -> bool {
        !self.denied && !self.warned && !self.changed && self.rules.is_empty()
    }

    fn note(&mut self, incoming: &Incoming, denial: &Option<String>, warnings: &[String]) {
        if let Some(message) = denial.as_ref().filter(|_| !self.denied) {
            self.denied = true;
            self.message = redacted(message, incoming);
        }
        self.warned |= !warnings.is_empty();
    }

    fn result(
        &mut self,
        policy: &Policy,
        result: &RuleOutcome,
        target: Option<&Target>,
        incoming: &Incoming,
    ) {
        let effect = match result.status {
            _ if Consequence::of(policy, result, target).denies => Effect::Denied,
            Status::Error => Effect::Failed,
            Status::Fail | Status::Warn => Effect::Audited,
            _ => return,
        };
        self.add(policy, result, effect, incoming);
    }

    fn add(&mut self, policy: &Policy, result: &RuleOutcome, effect: Effect, incoming: &Incoming) {
        let id = RuleId {
            kind: policy.api.kind.to_string(),
            policy: policy.key().to_string(),
            rule: result.rule.to_string(),
        };
        self.rules.push((id, effect, redacted(&result.message, incoming)));
    }
}

/// A message without the values of Secrets.
fn redacted(message: &str, incoming: &Incoming) -> String {
    Redactor::of(incoming).map_or_else(|| message.to_owned(), |redactor| redactor.text(message))
}
