//! The results of a request: for each policy, what its rules did.

use std::sync::Arc;

use ephor_engine::RuleOutcome;
use ephor_engine::run::Results;
use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_value::Value;

use super::set::PolicySet;

/// The results of one policy.
#[derive(Clone, Debug)]
pub struct PolicyOutcome {
    /// The policy.
    pub policy: Arc<Policy>,
    /// Its rules' results, in order.
    pub rules: Vec<RuleOutcome>,
    /// The object that its mutate rules left, when they changed it; null when they lost it.
    pub object: Option<Value>,
    /// Why its generate rules generated nothing.
    pub failure: Option<String>,
    /// Whether these are results of image verification on the incoming object; verdicts follow.
    pub incoming: bool,
}

impl PolicyOutcome {
    /// What rules of a policy did.
    pub fn of(policy: &Arc<Policy>, done: impl Into<Results>) -> PolicyOutcome {
        let Results { rules, object, failure, work: _ } = done.into();
        PolicyOutcome { policy: policy.clone(), rules, object, failure, incoming: false }
    }
}

/// The results of all policies for one request; policies without a matching rule are left out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// In the order of the policies: first their mutate rules, then those that give verdicts, then
    /// their generate rules.
    pub policies: Vec<PolicyOutcome>,
    /// The object after all mutate rules, when they changed it; null when they lost it.
    pub object: Option<Value>,
}

impl Outcome {
    /// The object that a mutating policy left, as Kyverno's command line shows it; `done`: what the
    /// policy did. Responses of MutatingPolicies share one object: that which all of them leave.
    pub fn left_by<'o>(&'o self, policy: &Policy, done: Option<&'o PolicyOutcome>) -> Option<&'o Value> {
        match policy.stage {
            Stage::Expressions => self.object.as_ref(),
            _ => done?.object.as_ref(),
        }
    }

    /// All results with their policies.
    pub fn results(&self) -> impl Iterator<Item = (&Policy, &RuleOutcome)> {
        self.policies.iter().flat_map(|p| p.rules.iter().map(|r| (&*p.policy, r)))
    }

    /// Adds what rules of a policy did, unless none has anything to say.
    pub(super) fn push(&mut self, policy: &Arc<Policy>, done: Results) {
        if !done.rules.is_empty() {
            self.policies.push(PolicyOutcome::of(policy, done));
        }
    }

    /// Puts the results of the policy at position `at` of the set in the place of those that
    /// are there.
    pub fn replace(&mut self, set: &PolicySet, at: usize, results: Vec<RuleOutcome>) {
        let Some(policy) = set.policies.get(at) else { return };
        let position = |p: &Arc<Policy>| set.policies.iter().position(|q| Arc::ptr_eq(p, q));
        self.policies.retain(|p| !Arc::ptr_eq(&p.policy, policy));
        if results.is_empty() {
            return;
        }
        let before = self.policies.iter().take_while(|p| position(&p.policy).is_some_and(|i| i < at)).count();
        self.policies.insert(before, PolicyOutcome::of(policy, results));
    }
}
