//! What follows from a result: does it deny the request, is its client warned, is it a failure for
//! the audit log?
//!
//! In: a policy and a result of one of its rules. Out: a [`Consequence`], by what the policy says
//! about violations ([`ActionModel`]): failure actions of rules, actions of the policy, actions of
//! its bindings. Semantics: `docs/reference/serve.md`, "Answers"; `docs/semantics/admission.md`.

use ephor_ir::Policy;
use ephor_ir::admission::PolicyBinding;
use ephor_ir::facts::ActionModel;
use ephor_ir::rule::RuleKind;
use ephor_matching::Target;

use super::action;
use super::outcome::{RuleOutcome, Status};

/// What follows from a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consequence {
    /// The request is denied.
    pub denies: bool,
    /// Its client is warned, if the request is not denied.
    pub warns: bool,
    /// The audit log gets a failure.
    pub audits: bool,
}

impl Consequence {
    const NOTHING: Consequence = Consequence { denies: false, warns: false, audits: false };
    const DENIAL: Consequence = Consequence { denies: true, ..Consequence::NOTHING };

    /// What follows from a result of a policy on a request about a target. Where that is not known
    /// nothing follows from failure actions of rules.
    pub fn of(policy: &Policy, result: &RuleOutcome, target: Option<&Target>) -> Consequence {
        if !result.status.is_violation() {
            return Consequence::NOTHING;
        }
        let is_per_rule = policy.actions.is_per_rule();
        match result.kind {
            // No failure action says what follows, and Kyverno warns of rules of ClusterPolicies
            // that fail.
            RuleKind::Mutation => {
                let denies = policy.failure_policy.is_fail();
                return Consequence { denies, warns: is_per_rule, audits: false };
            }
            // They run once the request is admitted.
            RuleKind::Generation => return Consequence::NOTHING,
            RuleKind::Validation | RuleKind::ImageVerification => {}
        }
        match policy.actions {
            ActionModel::FailureActions { warn } => {
                let denies = target.is_some_and(|target| action::denies(policy, result, target));
                Consequence { denies, warns: warn, audits: false }
            }
            ActionModel::ValidationActions { deny, warn } => {
                Consequence { denies: deny, warns: warn, audits: false }
            }
            ActionModel::Bindings => bound(policy, result),
        }
    }
}

/// What follows from a result of a policy whose bindings say that.
fn bound(policy: &Policy, result: &RuleOutcome) -> Consequence {
    let at = result.binding.as_deref();
    if at.is_some_and(|at| at.validation.is_none()) {
        // A mistake in the policy or in a binding, which no failure policy ignores any more.
        return Consequence::DENIAL;
    }
    if result.status == Status::Error && !policy.failure_policy.is_fail() {
        return Consequence::NOTHING;
    }
    let mut all = policy.all_rules().filter_map(|rule| rule.bound.as_deref()).flat_map(|b| &b.bindings);
    let says = |binding: &PolicyBinding| {
        let has = |wanted: &str| binding.actions.iter().any(|action| **action == *wanted);
        Consequence { denies: has("Deny"), warns: has("Warn"), audits: has("Audit") }
    };
    match at.and_then(|at| at.binding) {
        Some(at) => all.nth(at).map_or(Consequence::NOTHING, says),
        // Outside of a server a result says nothing of its binding.
        None => all.map(says).fold(Consequence::NOTHING, |a, b| Consequence {
            denies: a.denies || b.denies,
            warns: a.warns || b.warns,
            audits: a.audits || b.audits,
        }),
    }
}
