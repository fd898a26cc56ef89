//! The response of each policy of a test to each object.
//!
//! In: the outcome of an object. Out: one response a policy and phase, as Kyverno makes them:
//! most policies respond to every object, though without results where they do not match.
//! Semantics: `docs/reference/test.md`, "Rows".

use ephor_engine::RuleOutcome;
use ephor_ir::facts::Stage;
use ephor_ir::matcher::Selector;
use ephor_ir::rule::{Body, RuleKind};
use ephor_ir::{Matcher, Policy, Rule};
use ephor_policies::policy_set::{Outcome, PolicyOutcome, PolicySet};
use ephor_value::Value;

/// The response of a policy to an object.
#[derive(Clone, Debug)]
pub struct Response<'o> {
    /// The policy.
    pub policy: &'o Policy,
    /// Its results.
    pub results: Vec<&'o RuleOutcome>,
    /// The object as the policy left it.
    pub object: Value,
}

/// What a test knows an object by: version, kind, namespace and name.
pub fn key(object: &Value) -> [String; 4] {
    let text = |path: &[&str]| object.text_at(path).to_owned();
    [text(&["apiVersion"]), text(&["kind"]), text(&["metadata", "namespace"]), text(&["metadata", "name"])]
}

/// The responses of all policies to an object, in the order of their phases.
pub fn responses<'o>(set: &'o PolicySet, object: &Value, outcome: &'o Outcome) -> Vec<Response<'o>> {
    let mut all = Vec::new();
    let mut current = object.clone();
    for policy in set.mutating() {
        let done = outcome.policies.iter().find(|p| of(p, policy) && has(p, RuleKind::Mutation));
        if policy.stage == Stage::ApiServer && done.is_none() {
            continue;
        }
        if let Some(object) = outcome.left_by(policy, done) {
            current = object.clone();
        }
        let results = done.into_iter().flat_map(|p| &p.rules).collect();
        all.push(Response { policy, results, object: current.clone() });
    }
    for policy in set.policies().iter().filter(|p| wants(p, RuleKind::ImageVerification)) {
        let done = outcome.policies.iter().find(|p| of(p, policy) && p.incoming);
        let results = done.into_iter().flat_map(|p| &p.rules).collect();
        all.push(Response { policy, results, object: current.clone() });
    }
    for policy in set.policies() {
        let gives_verdicts =
            |p: &&PolicyOutcome| !p.incoming && !has(p, RuleKind::Mutation) && !has(p, RuleKind::Generation);
        let verdicts: Vec<&PolicyOutcome> =
            outcome.policies.iter().filter(|p| of(p, policy)).filter(gives_verdicts).collect();
        let results = |p: &&'o PolicyOutcome| Response {
            policy,
            results: p.rules.iter().collect(),
            object: current.clone(),
        };
        if verdicts.is_empty() && responds_always(policy) {
            all.push(Response { policy, results: Vec::new(), object: current.clone() });
        }
        all.extend(verdicts.iter().map(results));
    }
    for p in outcome.policies.iter().filter(|p| has(p, RuleKind::Generation)) {
        all.push(Response { policy: &p.policy, results: p.rules.iter().collect(), object: current.clone() });
    }
    all
}

fn of(outcome: &PolicyOutcome, policy: &Policy) -> bool {
    std::ptr::eq(&*outcome.policy, policy)
}

fn has(outcome: &PolicyOutcome, kind: RuleKind) -> bool {
    outcome.rules.iter().any(|r| r.kind == kind)
}

/// Whether a policy with rules that give verdicts responds to objects that it does not match.
/// Reviews do where their constraints are more than one plain rule.
fn responds_always(policy: &Policy) -> bool {
    match policy.stage {
        Stage::CheckRequests | Stage::Schedule => return false,
        Stage::ApiServer => return policy.rules.iter().any(|r| r.kind == RuleKind::Validation),
        Stage::Expressions | Stage::Payloads => {
            let generates = policy.rules.iter().any(|r| r.kind == RuleKind::Generation);
            return !generates
                && !policy.verifies_images_together()
                && policy.rules.iter().any(|r| !is_plain(&r.when));
        }
        Stage::Rules => {}
    }
    let gives_verdicts = |rule: &Rule| match &rule.body {
        Body::VerifyImages(checks) => checks.checks_alone(),
        _ => rule.kind == RuleKind::Validation,
    };
    policy.rules.iter().any(|r| gives_verdicts(r))
}

/// Whether constraints are one rule on resources and nothing else.
fn is_plain(when: &Matcher) -> bool {
    let Matcher::Constraints(c) = when else { return true };
    let selects =
        |s: &Option<Selector>| s.as_ref().is_some_and(|s| !s.labels.is_empty() || !s.expressions.is_empty());
    matches!(&c.rules[..], [rule] if rule.names.is_empty())
        && c.exclude.is_empty()
        && !selects(&c.namespace_selector)
        && !selects(&c.object_selector)
}

fn wants(policy: &Policy, kind: RuleKind) -> bool {
    policy.rules.iter().any(|r| r.kind == kind)
}
