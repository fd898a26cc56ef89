//! What the results of one object hold that Kyverno is silent about.
//!
//! In: policies, an object and the outcome of its request. Out: [`OfOutcome`], lines for people.

use std::sync::Arc;

use crate::ir::Policy;
use crate::ir::rule::RuleKind;
use crate::policy_set::{Outcome, PolicyOutcome, PolicySet};
use crate::value::Value;

/// What is to be said of the results of one object.
#[derive(Debug, Default)]
pub struct OfOutcome {
    /// About this object.
    pub each: Vec<String>,
    /// About policies, whatever the object: once in a run is enough.
    pub once: Vec<String>,
}

/// What is to be said of the outcome of a request for an object.
pub fn of_outcome(set: &PolicySet, object: &Value, outcome: &Outcome) -> OfOutcome {
    let mut out = OfOutcome::default();
    let mut current = object;
    for policy in set.mutating() {
        let done = mutation_of(outcome, policy);
        if let Some(done) = done {
            out.each.extend(super::of_mutations(done, current));
        }
        current = outcome.left_by(policy, done).unwrap_or(current);
    }
    for done in &outcome.policies {
        out.once.extend(super::of_namespace(done, object));
        for result in &done.rules {
            out.once.extend(super::of_missing_data(&done.policy, result));
            let error = super::of_error(&result.message);
            out.once.extend(error.map(|text| format!("policy {}: {text}", done.policy.key())));
        }
    }
    out
}

/// The mutations of a policy among the results.
pub fn mutation_of<'o>(outcome: &'o Outcome, policy: &Arc<Policy>) -> Option<&'o PolicyOutcome> {
    let is_it = |p: &&PolicyOutcome| {
        Arc::ptr_eq(&p.policy, policy) && p.rules.iter().any(|rule| rule.kind == RuleKind::Mutation)
    };
    outcome.policies.iter().find(is_it)
}
