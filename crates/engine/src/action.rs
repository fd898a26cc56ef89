//! Failure actions: does a failed rule block the request?
//!
//! Kyverno decides this twice, and in different ways: which rules are evaluated before the answer
//! ([`is_enforced`]), and which of them block when they fail ([`denies`]; [`effective`] on the
//! command line). Semantics: `docs/reference/serve.md`, "Answers".

use ephor_ir::rule::ActionOverride;
use ephor_ir::{Policy, Rule};
use ephor_matching::Target;
use ephor_matching::filter::selects;
use ephor_value::Str;

use super::outcome::{RuleOutcome, Status};

/// Whether an action, as written, blocks. Everything that is not one of the two spellings audits.
pub fn enforces(action: &str) -> bool {
    // Evaluated for every rule of every request: compared without a call.
    matches!(action.as_bytes(), [b'E' | b'e', b'n', b'f', b'o', b'r', b'c', b'e'])
}

fn is_action(action: &str) -> bool {
    enforces(action) || matches!(action, "Audit" | "audit")
}

/// The action of a failed rule for the namespace of the request.
pub fn effective<'p>(policy: &'p Policy, rule: Option<&'p Rule>, target: &Target) -> &'p Str {
    resolved(policy, rule, target, |o| override_fits(o, target))
}

fn resolved<'p>(
    policy: &'p Policy,
    rule: Option<&'p Rule>,
    target: &Target,
    of_policy: impl Fn(&ActionOverride) -> bool,
) -> &'p Str {
    let first = |list: &'p [ActionOverride], fits: &dyn Fn(&ActionOverride) -> bool| {
        list.iter().find(|o| is_action(&o.action) && fits(o)).map(|o| &o.action)
    };
    let of_rule = rule.and_then(|rule| {
        first(&rule.action.overrides, &|o| override_fits(o, target)).or(rule.action.rule.as_ref())
    });
    of_rule.or_else(|| first(&policy.overrides, &of_policy)).unwrap_or(&policy.action)
}

/// Whether an override has no condition on namespaces, or all that it has are met; an empty list
/// names none.
fn override_fits(o: &ActionOverride, target: &Target) -> bool {
    (o.namespaces.is_none() || names(o, target)) && (o.selector.is_none() || selects_labels(o, target))
}

fn names(o: &ActionOverride, target: &Target) -> bool {
    o.namespaces.iter().flatten().any(|w| w.matches(&target.namespace))
}

fn selects_labels(o: &ActionOverride, target: &Target) -> bool {
    o.selector.as_ref().is_some_and(|selector| match target.unknown.namespace {
        // Of a namespace that is not known the strictest is assumed.
        true => enforces(&o.action),
        false => selects(selector, &target.namespace_labels),
    })
}

/// Whether the answer to a request waits for a rule because it may block: overrides of the rule
/// replace those of the policy, and one of the conditions of an override is enough; an empty list
/// of namespaces is no condition.
pub fn is_enforced(policy: &Policy, rule: &Rule, target: &Target) -> bool {
    let overrides = match rule.action.overrides.is_empty() {
        true => &policy.overrides,
        false => &rule.action.overrides,
    };
    let fits = |o: &&ActionOverride| {
        let names_none = o.namespaces.as_ref().is_none_or(|list| list.is_empty());
        (names_none && o.selector.is_none()) || names(o, target) || selects_labels(o, target)
    };
    let found = overrides.iter().find(fits).map(|o| &o.action);
    enforces(found.or(rule.action.rule.as_ref()).unwrap_or(&policy.action))
}

/// Whether the result of a rule that was evaluated before the answer blocks the request. Kyverno
/// knows no labels of namespaces when it reads the overrides of a policy, only at those of a
/// rule.
pub fn denies(policy: &Policy, result: &RuleOutcome, target: &Target) -> bool {
    let rule = rule_of(policy, result, target);
    match result.status {
        Status::Fail => {
            let rule = rule.or_else(|| representative(policy, target));
            let of_policy = |o: &ActionOverride| o.selector.is_none() && override_fits(o, target);
            enforces(resolved(policy, rule, target, of_policy))
        }
        Status::Error => policy.failure_policy.is_fail() && is_blocking(policy, result, target),
        _ => false,
    }
}

/// Whether a result is one of a rule that the answer waits for because it may block.
pub fn is_blocking(policy: &Policy, result: &RuleOutcome, target: &Target) -> bool {
    match rule_of(policy, result, target) {
        Some(rule) => is_enforced(policy, rule, target),
        None => enforces(of_policy(policy, target)),
    }
}

/// The rule that gave a result.
fn rule_of<'p>(policy: &'p Policy, result: &RuleOutcome, target: &Target) -> Option<&'p Rule> {
    let rules = policy.rules_for(&target.kind);
    rules.iter().find(|rule| rule.name == result.rule).map(AsRef::as_ref)
}

/// The first rule that has an action of its own.
fn representative<'p>(policy: &'p Policy, target: &Target) -> Option<&'p Rule> {
    let rules = policy.rules_for(&target.kind);
    rules.iter().find(|r| r.action.rule.is_some() || !r.action.overrides.is_empty()).map(AsRef::as_ref)
}

/// The action of a policy as a whole: that of the first rule that has one of its own.
pub fn of_policy<'p>(policy: &'p Policy, target: &Target) -> &'p Str {
    effective(policy, representative(policy, target), target)
}

/// The action of the rule that gave a result; that of the policy where no rule has its name.
pub fn of_result<'p>(policy: &'p Policy, result: &RuleOutcome, target: &Target) -> &'p Str {
    match rule_of(policy, result, target) {
        Some(rule) => effective(policy, Some(rule), target),
        None => of_policy(policy, target),
    }
}

/// Whether the results block the request: a failed rule that enforces, or, when errors count, an
/// error of a policy that fails closed.
pub fn blocks(policy: &Policy, results: &[RuleOutcome], target: &Target, errors_count: bool) -> bool {
    results.iter().any(|r| match r.status {
        Status::Fail => enforces(of_result(policy, r, target)),
        Status::Error => errors_count && policy.failure_policy.is_fail(),
        _ => false,
    })
}
