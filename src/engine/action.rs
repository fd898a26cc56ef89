//! Failure actions: does a failed rule block the request?

use crate::ir::rule::ActionOverride;
use crate::ir::{Policy, Rule};
use crate::matching::Target;
use crate::matching::filter::selects;
use crate::value::Str;

use super::outcome::{RuleOutcome, Status};

/// Whether an action, as written, blocks. Everything that is not one of the two spellings audits.
pub fn enforces(action: &str) -> bool {
    matches!(action, "Enforce" | "enforce")
}

fn is_action(action: &str) -> bool {
    matches!(action, "Enforce" | "enforce" | "Audit" | "audit")
}

/// The action of a failed rule for the namespace of the request.
pub fn effective<'p>(policy: &'p Policy, rule: Option<&'p Rule>, target: &Target) -> &'p Str {
    let matching = |list: &'p [ActionOverride]| {
        list.iter().find(|o| is_action(&o.action) && override_fits(o, target)).map(|o| &o.action)
    };
    match rule {
        Some(rule) => matching(&rule.action.overrides)
            .or(rule.action.rule.as_ref())
            .or_else(|| matching(&policy.overrides))
            .unwrap_or(&policy.action),
        None => matching(&policy.overrides).unwrap_or(&policy.action),
    }
}

fn override_fits(o: &ActionOverride, t: &Target) -> bool {
    (o.namespaces.is_empty() || o.namespaces.iter().any(|w| w.matches(&t.namespace)))
        && o.selector.as_ref().is_none_or(|s| match t.unknown.namespace {
            // Of a namespace that is not known the strictest is assumed.
            true => enforces(&o.action),
            false => selects(s, &t.namespace_labels),
        })
}

/// The action of a policy as a whole: that of the first rule that has one of its own.
pub fn of_policy<'p>(policy: &'p Policy, target: &Target) -> &'p Str {
    let rules = policy.rules_for(&target.kind);
    let own = rules.iter().find(|r| r.action.rule.is_some() || !r.action.overrides.is_empty());
    effective(policy, own.map(AsRef::as_ref), target)
}

/// The action of the rule that gave a result; that of the policy where no rule has its name.
pub fn of_result<'p>(policy: &'p Policy, result: &RuleOutcome, target: &Target) -> &'p Str {
    match policy.rules_for(&target.kind).iter().find(|rule| rule.name == result.rule) {
        Some(rule) => effective(policy, Some(rule), target),
        None => of_policy(policy, target),
    }
}

/// Whether the results block the request: a failed rule that enforces, or, when errors count, an error
/// of a policy that fails closed.
pub fn blocks(policy: &Policy, results: &[RuleOutcome], target: &Target, errors_count: bool) -> bool {
    results.iter().any(|r| match r.status {
        Status::Fail => enforces(of_result(policy, r, target)),
        Status::Error => errors_count && policy.fail_closed,
        _ => false,
    })
}
