//! The one runner: the rules of a policy in order, for one phase of one request.
//!
//! In: a policy, some of its rules, a request, and what they are evaluated with. Out: their
//! [`Results`]. The runner does what all rules share: whether the policy concerns the request,
//! whether a rule matches or that is unknown, the budget, and what a rule leaves to the next. What
//! a rule does is its body: `verdict`, `mutate`, `verify`, `generate` and, for rules with
//! expressions, `expressions`. Semantics: `docs/internals/ir.md`.

use ephor_ir::facts::NamespaceScope;
use ephor_ir::mutate::Mutation;
use ephor_ir::rule::{Body, RuleKind};
use ephor_ir::{Policy, Rule};
use ephor_matching::unknown::{Missing, missing};
use ephor_value::Str;
use ephor_value::budget::{self, Excess};

use super::expressions::existing::{self, Targets};
use super::generate::{GenerationError, Present, WantedObject};
use super::matched::MatchedRule;
use super::outcome::{RuleOutcome, Status};
use super::request::Root;
use super::results::{RuleEffect, RuleRun};
use super::sorted::Sorted;
use super::trace::{self, EventKind};
use super::verify::{self, Records};
use super::{Profile, Request, generate, mutate, verdict};

pub use super::matched::{EvalContext, Placed, applies};
pub use super::results::Results;

/// What rules do with a request; each kind of rule has its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// They change objects.
    Mutate,
    /// They verify the signatures of images when an object comes in.
    Verify,
    /// They give verdicts.
    Decide,
    /// They generate objects.
    Generate,
    /// They say whether there is work for a controller: objects to generate, or other objects to
    /// change. It does that work.
    Trigger,
}

impl Phase {
    /// Whether a rule belongs to the phase, and the request has something for it.
    fn has(self, rule: &Rule, request: &Request) -> bool {
        match self {
            Phase::Mutate => rule.kind == RuleKind::Mutation,
            Phase::Verify => verify::concerns(rule, request),
            Phase::Decide => !matches!(rule.kind, RuleKind::Mutation | RuleKind::Generation),
            Phase::Generate => rule.kind == RuleKind::Generation,
            Phase::Trigger => has_background_work(rule),
        }
    }

    fn matches(self, rule: &Rule, request: &Request) -> bool {
        match self {
            Phase::Mutate | Phase::Verify => applies(rule, request),
            Phase::Decide => applies(rule, request) && verify::checks(rule, request),
            // It may also have matched the former object.
            Phase::Generate | Phase::Trigger => true,
        }
    }

    fn body(self, matched: MatchedRule<'_, '_>) -> RuleRun {
        match self {
            Phase::Mutate => mutate::run(matched),
            Phase::Verify => verify::run(matched),
            Phase::Decide => verdict::run(matched).into(),
            Phase::Generate => generate::run(matched),
            Phase::Trigger => generate::verdict(matched).into(),
        }
    }

    /// Whether a result of this status ends a policy of which one rule applies.
    fn ends(self, status: Status) -> bool {
        match self {
            Phase::Generate | Phase::Trigger => status != Status::Skip,
            _ => matches!(status, Status::Pass | Status::Fail),
        }
    }
}

/// The one runner: rules of a policy (all of its rules, or those that an index says can match), in
/// order, for one phase of one request.
pub fn policy<'p>(
    phase: Phase,
    policy: &Policy,
    rules: impl Iterator<Item = &'p Rule>,
    request: &Request,
    context: EvalContext<'_>,
) -> Results {
    let mut out = Results::default();
    let applicability = applicability(policy, request, context.profile);
    let is_skipped = match phase {
        Phase::Verify => request.deleting(),
        Phase::Generate | Phase::Trigger => applicability != Applicability::Yes,
        Phase::Mutate | Phase::Decide => false,
    };
    if is_skipped || applicability == Applicability::No {
        return out;
    }
    let (mut matching, sorted) = (0usize, Sorted::default());
    let (mut records, mut described) = (Records::default(), Vec::new());
    let mut current: Option<Request> = None;
    for rule in rules {
        let request = current.as_ref().unwrap_or(request);
        if !phase.has(rule, request) {
            continue;
        }
        if let Some(result) = unmatched(rule, request) {
            out.rules.push(result);
            continue;
        }
        if !phase.matches(rule, request) {
            continue;
        }
        if let Applicability::Unknown(text) = applicability {
            if phase == Phase::Decide {
                // It is the verdict on all rules.
                out.rules.clear();
            }
            out.rules.push(undecided(rule, text));
            return out;
        }
        matching += 1;
        let later = if matching > 1 { request.later_root.as_ref().map(Root::get) } else { None };
        let sorted = (phase == Phase::Decide).then_some(&sorted);
        let matched = MatchedRule { policy, rule, request, context, later, sorted };
        trace::emit(&rule.origin, || EventKind::Rule(rule.name.clone()));
        let (ran, excess) = budget::spend(|| phase.body(matched));
        let RuleRun { results, effect } = match excess {
            None => ran,
            // What was changed so far has no effect without the rest.
            Some(Excess::Time) => return Results { object: None, ..out },
            Some(excess) => ran.exceeding(rule, excess),
        };
        let next = match effect {
            RuleEffect::Same => None,
            RuleEffect::Changed(object) => Some(request.with_object(object)),
            RuleEffect::Lost => Some(request.without_object()),
            RuleEffect::Verified(more) => {
                records.extend(more);
                None
            }
            RuleEffect::Described => {
                described.push((out.rules.len(), rule));
                None
            }
        };
        // Most policies give one result.
        match out.rules.is_empty() {
            true => out.rules = results,
            false => out.rules.extend(results),
        }
        if let Some(next) = next {
            out.object = Some(next.object.clone());
            current = Some(next);
        }
        if policy.apply_one && out.rules.iter().any(|r| phase.ends(r.status)) {
            break;
        }
    }
    if !records.is_empty() {
        out.object = Some(records.on(&request.object));
    }
    if !described.is_empty() && !request.object.is_null() {
        let matched = |rule| MatchedRule { policy, rule, request, context, later: None, sorted: None };
        let described: Vec<_> = described.into_iter().map(|(at, rule)| (at, matched(rule))).collect();
        generate::finish(&described, &mut out);
    }
    out
}

/// Whether a rule leaves its work to a controller.
pub fn has_background_work(rule: &Rule) -> bool {
    rule.expressions.is_none()
        && match &rule.body {
            Body::Generate(_) => true,
            Body::Mutate(mutation) => mutation.targets.is_some(),
            _ => false,
        }
}

/// Whether a rule changes other objects than that of the request, which a controller does.
pub fn changes_others(rule: &Rule) -> bool {
    let of_expressions =
        |mutation: &Mutation| mutation.existing.as_ref().is_some_and(|existing| existing.others);
    has_background_work(rule) || matches!(&rule.body, Body::Mutate(mutation) if of_expressions(mutation))
}

/// The objects that a rule changes because of a request, in addition to that of the request.
pub fn targets(policy: &Policy, rule: &Rule, request: &Request, context: EvalContext<'_>) -> Targets {
    if !applies(rule, request) {
        return Targets::None;
    }
    existing::targets(MatchedRule { policy, rule, request, context, later: None, sorted: None })
}

/// What a rule that generates objects wants to exist, and why that is not all.
pub fn wanted(
    policy: &Policy,
    rule: &Rule,
    request: &Request,
    context: EvalContext<'_>,
    present: &dyn Present,
) -> (Vec<WantedObject>, Option<GenerationError>) {
    generate::wanted(MatchedRule { policy, rule, request, context, later: None, sorted: None }, present)
}

/// Whether a policy is evaluated for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Applicability {
    /// It is.
    Yes,
    /// It is for another namespace, or a match condition is false.
    No,
    /// A match condition cannot be evaluated, for this reason; the failure policy decides.
    Unknown(Str),
}

/// Whether the rules of a policy are evaluated for the request at all.
fn applicability(policy: &Policy, request: &Request, profile: Profile) -> Applicability {
    if !namespace_fits(policy, request, profile) {
        return Applicability::No;
    }
    if policy.admit.is_empty() {
        return Applicability::Yes;
    }
    let (admits, excess) = budget::spend(|| super::expressions::admits(&policy.admit, request));
    match (excess, admits) {
        // The policy counts as one that there was no time for.
        (Some(Excess::Time), _) => Applicability::No,
        (Some(Excess::Size(text)), _) => Applicability::Unknown(text.into()),
        (None, Ok(true)) => Applicability::Yes,
        (None, Ok(false)) => Applicability::No,
        (None, Err(_)) if profile.failing_match_conditions_exempt => Applicability::No,
        (None, Err(error)) => Applicability::Unknown(error.to_string().into()),
    }
}

/// The result of a rule of a policy whose match conditions cannot be evaluated.
fn undecided(rule: &Rule, text: Str) -> RuleOutcome {
    let text = format!("failed to evaluate match conditions: {text}");
    RuleOutcome::new(&rule.name, rule.kind, Status::Error, text)
}

/// Whether the policy applies to the namespace of the request.
fn namespace_fits(policy: &Policy, request: &Request, profile: Profile) -> bool {
    match &policy.scope {
        NamespaceScope::All => true,
        NamespaceScope::Requests(own) => {
            profile.namespaced_policies_apply_everywhere || *own == request.target.namespace
        }
        NamespaceScope::Objects(own) => [&request.object, &request.old_object]
            .into_iter()
            .filter(|o| !o.is_null())
            .all(|o| o.text_at(&["metadata", "namespace"]) == &**own),
    }
}

/// The result of a rule for which it is unknown whether it matches, because something is not known
/// of the request.
fn unmatched(rule: &Rule, request: &Request) -> Option<RuleOutcome> {
    let target = &request.target;
    if !target.unknown.any() || !target.exists {
        return None;
    }
    let text = match missing(&rule.when, &rule.unless, target)? {
        Missing::NamespaceLabels => format!("namespace \"{}\" not found", target.namespace),
        Missing::Roles => {
            "failed to match by roles: the role bindings of the cluster are not known".to_owned()
        }
    };
    Some(RuleOutcome::new(&rule.name, rule.kind, Status::Error, text))
}
