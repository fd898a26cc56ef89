//! What the results of one object hold that Kyverno is silent about.
//!
//! In: policies, an object and the outcome of its request. Out: [`OfOutcome`], lines for people.

use std::sync::Arc;

use crate::policy_set::{Outcome, PolicyOutcome, PolicySet};
use crate::subjects::has;
use ephor_engine::Status;
use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_ir::rule::RuleKind;
use ephor_kubernetes::Kinds;

use super::{Pitfall, PitfallKind};
use ephor_value::Value;

/// What to report of the results of one object.
#[derive(Debug, Default)]
pub struct OfOutcome {
    /// About this object.
    pub each: Vec<Pitfall>,
    /// About policies, whatever the object: once in a run is enough.
    pub once: Vec<Pitfall>,
}

/// What to report of the outcome of a request for an object.
pub fn of_outcome(set: &PolicySet, object: &Value, outcome: &Outcome) -> OfOutcome {
    let steps = set.mutating().map(|policy| {
        let done = mutation_of(outcome, policy);
        (done, outcome.left_by(policy, done))
    });
    let mut out = OfOutcome { each: super::of_steps(steps, object), once: Vec::new() };
    for done in &outcome.policies {
        out.once.extend(super::of_namespace(done, object));
        out.once.extend(of_binding(done, object));
        for result in &done.rules {
            out.once.extend(super::of_missing_data(&done.policy, result));
            out.once.extend(super::of_error(&done.policy, result));
        }
    }
    out
}

/// Results of an admission policy of Kubernetes about an object that it does not select: the
/// command line reads its bindings alone.
fn of_binding(outcome: &PolicyOutcome, object: &Value) -> Option<Pitfall> {
    let policy = &outcome.policy;
    if policy.stage != Stage::ApiServer || outcome.rules.iter().all(|rule| rule.status == Status::Skip) {
        return None;
    }
    let bound = policy.all_rules().find_map(|rule| rule.bound.as_ref())?;
    let own = bound.constraints.as_ref().filter(|_| !bound.bindings.is_empty())?;
    let (api_version, kind) = (object.text_at(&["apiVersion"]), object.text_at(&["kind"]));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = Kinds::built_in().kind(group, version, kind)?;
    (!own.rules.iter().any(|rule| has(rule, resource))).then(|| {
        let text = format!(
            "policy {} gives results about {kind}, which its matchConstraints do not select: where there is a binding Kyverno's command line looks at that alone, a cluster at both",
            policy.key()
        );
        Pitfall::new(PitfallKind::ConstraintsOfBindings, policy, "", text)
    })
}

/// The mutations of a policy among the results.
pub fn mutation_of<'o>(outcome: &'o Outcome, policy: &Arc<Policy>) -> Option<&'o PolicyOutcome> {
    let is_it = |p: &&PolicyOutcome| {
        Arc::ptr_eq(&p.policy, policy) && p.rules.iter().any(|rule| rule.kind == RuleKind::Mutation)
    };
    outcome.policies.iter().find(is_it)
}
