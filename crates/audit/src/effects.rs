//! What policies would have answered to a request.
//!
//! In: a gate and a request of a log. Out: its [`Effects`]: whether it would have been denied,
//! warned about or changed, and by which rules.

use std::sync::Arc;

use ephor_admission::admit::{Answer, Deadline, Finding, Gate, Incoming, Phase, Route, needs};
use ephor_admission::redact::Redactor;
use ephor_engine::admission::Review;
use ephor_engine::outcome::Effect as RuleEffect;
use ephor_engine::{Consequence, RuleOutcome, Status};
use ephor_external::ExternalData;
use ephor_ir::Policy;
use ephor_ir::rule::RuleKind;
use ephor_matching::Target;
use ephor_policies::load::{LoadedPolicy, Policies};
use ephor_report::replayed::{Effect, RuleId};
use ephor_value::Value;

use super::request::{AuditedRequest, Subject};

/// See the module page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Whether the request would have been denied.
    pub denied: bool,
    /// Whether data is not there that would have decided.
    pub undecided: bool,
    /// Whether its client would have been warned.
    pub warned: bool,
    /// Whether its object would have been changed.
    pub changed: bool,
    /// The message of the denial.
    pub message: String,
    /// What each rule did that did something, in order, each once.
    pub rules: Vec<(RuleId, Effect, String)>,
}

/// Policies that answer requests of logs. Those that need data which is not there stand apart: they
/// decide what they can, and do not keep others from deciding.
pub struct Replayer {
    gates: Vec<ReplayGate>,
}

/// A gate with what is known of its policies.
struct ReplayGate {
    gate: Gate,
    mutates: bool,
    has_native: bool,
    /// Whether its policies need data that is not there.
    lacks_data: bool,
}

impl Replayer {
    /// Policies, and the data that they look up.
    pub fn new(loaded: Policies, data: &Arc<dyn ExternalData>) -> Replayer {
        let offers = data.offers();
        let lacks_data = |loaded: &LoadedPolicy| {
            let policy = loaded.policy.as_deref();
            policy.is_some_and(|policy| !needs::unmet(std::iter::once(policy), offers).is_empty())
        };
        let (lacking, others): (Vec<_>, Vec<_>) = loaded.policies.iter().cloned().partition(lacks_data);
        let of = |policies: Vec<LoadedPolicy>, lacks_data| {
            let gate = Gate::new(Policies { policies, ..loaded.clone() }, data.clone(), &[]);
            ReplayGate::new(gate, lacks_data)
        };
        let has_lacking = !lacking.is_empty();
        let mut gates = vec![of(others, false)];
        gates.extend(has_lacking.then(|| of(lacking, true)));
        Replayer { gates }
    }

    /// How many policies can be evaluated.
    pub fn usable(&self) -> usize {
        self.gates.iter().map(|one| one.gate.usable()).sum()
    }

    /// The policies that cannot be.
    pub fn broken(&self) -> impl Iterator<Item = &Finding> {
        self.gates.iter().flat_map(|one| one.gate.broken())
    }

    /// What policies need and is not there, a line each.
    pub fn unmet_needs(&self) -> Vec<String> {
        self.gates.iter().flat_map(|one| one.gate.unmet_needs()).collect()
    }

    /// What would have been answered.
    pub fn effects(&self, request: &AuditedRequest) -> Effects {
        let objects = request.objects();
        let mut effects = Effects::default();
        for one in &self.gates {
            let kinds = one.gate.cluster().known_kinds();
            let mut own = Effects::default();
            if one.mutates {
                one.mutate(&request.review(&objects, Subject::Sent, &kinds), &mut own);
            }
            one.validate(&request.review(&objects, Subject::Stored, &kinds), &mut own);
            effects.add_all(own);
        }
        effects.rules.sort_unstable();
        effects.rules.dedup_by(|a, b| (&a.0, a.1) == (&b.0, b.1));
        effects
    }
}

impl ReplayGate {
    fn new(gate: Gate, lacks_data: bool) -> ReplayGate {
        let set = gate.engine().set();
        let changes = |policy: &Policy| policy.all_rules().any(|rule| rule.kind == RuleKind::Mutation);
        let verifies =
            |policy: &Policy| policy.all_rules().any(|rule| rule.kind == RuleKind::ImageVerification);
        let mutates = set.policies().iter().any(|policy| changes(policy) || verifies(policy));
        let has_native = gate.engine().native().any(|policy| !policy.mutates());
        ReplayGate { gate, mutates, has_native, lacks_data }
    }

    fn mutate(&self, incoming: &Incoming, effects: &mut Effects) {
        let done = self.gate.answer(&Route::all(Phase::Mutate), incoming, &Deadline::never());
        effects.changed |= !done.answer.patch.is_empty();
        let target = done.prepared.as_ref().map(|prepared| &prepared.request.target);
        let object = incoming.object("object");
        for (policy, result) in done.outcomes.results() {
            let is_changed = match result.effect.as_deref() {
                Some(RuleEffect::Patched(made)) => *made != object,
                _ => false,
            };
            let effect = match result.status {
                Status::Pass if is_changed => Effect::Changed,
                Status::Error if self.lacks_data => Effect::Failed,
                _ if Consequence::of(policy, result, target).denies => Effect::Denied,
                Status::Error => Effect::Failed,
                _ => continue,
            };
            effects.add(policy, result, effect, incoming);
        }
        effects.note(incoming, &done.answer, self.lacks_data);
    }

    fn validate(&self, incoming: &Incoming, effects: &mut Effects) {
        let route = Route::all(Phase::Validate);
        let done = self.gate.answer(&route, incoming, &Deadline::never());
        let target = done.prepared.as_ref().map(|prepared| &prepared.request.target);
        for (policy, result) in done.outcomes.results() {
            effects.result(policy, result, target, incoming, self.lacks_data);
        }
        if let Some(prepared) = done.prepared.as_ref().filter(|_| done.audits) {
            let later = self.gate.audit(&route, prepared, &Deadline::never());
            for (policy, result) in later.results() {
                effects.result(policy, result, target, incoming, self.lacks_data);
            }
        }
        if self.has_native {
            let review = Review::new(Value::Map(incoming.request.clone()));
            let native = self.gate.engine().native_verdicts(&review);
            for (policy, result) in native.results() {
                effects.result(policy, result, target, incoming, self.lacks_data);
            }
        }
        effects.note(incoming, &done.answer, self.lacks_data);
    }
}

impl Effects {
    /// Takes what other policies would have answered.
    fn add_all(&mut self, other: Effects) {
        if !self.denied {
            self.message = other.message;
        }
        self.denied |= other.denied;
        self.undecided |= other.undecided;
        self.warned |= other.warned;
        self.changed |= other.changed;
        self.rules.extend(other.rules);
    }

    /// Takes an answer. Where data is not there, and no rule is violated, nothing is decided.
    fn note(&mut self, incoming: &Incoming, answer: &Answer, lacks_data: bool) {
        self.warned |= !answer.warnings.is_empty();
        let Some(denial) = &answer.denial else { return };
        if lacks_data && !self.rules.iter().any(|(_, effect, _)| *effect == Effect::Denied) {
            self.undecided = true;
        } else if !self.denied {
            self.denied = true;
            self.message = redacted(&denial.message, incoming);
        }
    }

    fn result(
        &mut self,
        policy: &Policy,
        result: &RuleOutcome,
        target: Option<&Target>,
        incoming: &Incoming,
        lacks_data: bool,
    ) {
        let effect = match result.status {
            Status::Error if lacks_data => Effect::Failed,
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
