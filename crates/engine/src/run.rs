//! Requests that rules of policies are evaluated on: the rules in order, for one phase of one
//! request.
//!
//! In: a policy, some of its rules, a request, and what they are evaluated with. Out: their
//! [`Results`]. The loop over rules is `call::calls`; here is what it reads of a request: whether
//! the policy concerns it, whether a rule matches or that is unknown, and what a rule leaves to the
//! next. What a rule does is its body: `verdict`, `mutate`, `verify`, `generate` and, for rules
//! with expressions, `expressions`. Semantics: `docs/internals/ir.md`.

use ephor_ir::expressions::Proxy;
use ephor_ir::facts::{ActionModel, NamespaceScope};
use ephor_ir::mutate::Mutation;
use ephor_ir::rule::{Body, RuleKind};
use ephor_ir::{Policy, Rule};
use ephor_matching::unknown::{Missing, missing};
use ephor_value::Str;
use ephor_value::budget::{self, Excess};

use super::admission::{offline, on_request};
use super::call::{CallMatch, Subject, calls};
use super::expressions::deletion::DeletionSubject;
use super::expressions::{self, existing};
use super::generate::GenerationError;
use super::matched::{MatchedRule, RuleCall};
use super::outcome::{RuleOutcome, Status};
use super::request::Root;
use super::results::{RuleEffect, RuleRun};
use super::sorted::Sorted;
use super::trace::{self, EventKind};
use super::verify::{self, Records};
use super::{Profile, Request, generate, mutate, verdict};

pub use super::matched::{EvalContext, Placed, applies};
pub use super::results::{Results, Work};

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
    /// They say which other objects they change.
    Select,
    /// They say which objects they want to exist, whether they match or not.
    Want,
    /// They select objects, or data of any form, for deletion.
    Delete(DeletionSubject),
    /// They answer check requests of a proxy; the object of the request is the check request.
    Answer(Proxy),
}

impl Phase {
    /// Whether rules see a request as such: policies say whether they are about it.
    fn is_on_requests(self) -> bool {
        matches!(self, Phase::Mutate | Phase::Verify | Phase::Decide | Phase::Generate | Phase::Trigger)
    }

    /// Whether a rule belongs to the phase, and the request has something for it.
    fn has(self, rule: &Rule, request: &Request) -> bool {
        match self {
            Phase::Mutate => rule.kind == RuleKind::Mutation,
            Phase::Verify => verify::concerns(rule, request),
            Phase::Decide => !matches!(rule.kind, RuleKind::Mutation | RuleKind::Generation),
            Phase::Generate | Phase::Want => rule.kind == RuleKind::Generation,
            Phase::Trigger => has_background_work(rule),
            Phase::Select => rule.kind == RuleKind::Mutation,
            Phase::Delete(_) => matches!(rule.body, Body::Delete),
            Phase::Answer(proxy) => expressions::answer::concerns(rule, proxy),
        }
    }

    fn matches(self, rule: &Rule, request: &Request) -> bool {
        match self {
            Phase::Mutate | Phase::Verify | Phase::Select => applies(rule, request),
            Phase::Decide => applies(rule, request) && verify::checks(rule, request),
            // It may also have matched the former object.
            Phase::Generate | Phase::Trigger | Phase::Want => true,
            Phase::Delete(subject) => !subject.is_restricted(request) || applies(rule, request),
            Phase::Answer(_) => true,
        }
    }

    fn body(self, matched: MatchedRule<'_, '_>) -> RuleRun {
        match self {
            Phase::Mutate => mutate::run(matched),
            Phase::Verify => verify::run(matched),
            Phase::Decide => verdict::run(matched).into(),
            Phase::Generate => generate::run(matched),
            Phase::Trigger => generate::verdict(matched).into(),
            Phase::Select => Work::Targets(existing::targets(matched)).into(),
            Phase::Want => generate::wanted(matched).into(),
            Phase::Delete(subject) => expressions::deletion::run(matched, subject).into(),
            Phase::Answer(_) => expressions::answer::run(matched).into(),
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

/// Rules of a policy (all of its rules, or those that an index says can match), in order, for one
/// phase of one request. Its plan is a call for each rule.
pub fn policy<'p>(
    phase: Phase,
    policy: &Policy,
    rules: impl Iterator<Item = &'p Rule>,
    request: &Request,
    context: EvalContext<'_>,
) -> Results {
    if let Some(release) = on_request::server_of(policy) {
        return on_request::results(phase, policy, release, request, context);
    }
    let applicability = match phase.is_on_requests() {
        true => applicability(policy, request, context.profile),
        false => Applicability::Yes,
    };
    let is_skipped = match phase {
        Phase::Verify => request.deleting(),
        Phase::Generate | Phase::Trigger => applicability != Applicability::Yes,
        _ => false,
    };
    if is_skipped || applicability == Applicability::No {
        return Results::default();
    }
    let mut subject = RequestCalls {
        phase,
        policy,
        request,
        context,
        applicability,
        sorted: Sorted::default(),
        matching: 0,
        current: None,
        records: Records::default(),
        described: Vec::new(),
    };
    match subject.is_bound() {
        true => {
            calls(rules.flat_map(|rule| offline::plan(rule, request, phase == Phase::Decide)), &mut subject)
        }
        false => calls(rules.map(RuleCall::from), &mut subject),
    }
}

/// A request that the rules of a policy are evaluated on, in one phase.
struct RequestCalls<'c, 'r, 'p> {
    phase: Phase,
    policy: &'c Policy,
    request: &'c Request,
    context: EvalContext<'r>,
    applicability: Applicability,
    sorted: Sorted,
    /// How many rules have matched.
    matching: usize,
    /// The request with what rules have changed.
    current: Option<Request>,
    /// What rules have verified.
    records: Records,
    /// Rules that describe objects, each with the position of its result.
    described: Vec<(usize, RuleCall<'p>)>,
}

impl RequestCalls<'_, '_, '_> {
    /// Whether there is a call for each binding, the last of which counts.
    fn is_bound(&self) -> bool {
        self.policy.actions == ActionModel::Bindings
    }

    fn request(&self) -> &Request {
        self.current.as_ref().unwrap_or(self.request)
    }
}

impl<'p> Subject for RequestCalls<'_, '_, 'p> {
    type Call = RuleCall<'p>;

    fn enter(&mut self, RuleCall { rule, .. }: &RuleCall<'p>) -> CallMatch {
        let (request, phase) = (self.request(), self.phase);
        if !phase.has(rule, request) {
            return CallMatch::Miss;
        }
        if phase.is_on_requests()
            && let Some(result) = unmatched(rule, request)
        {
            return CallMatch::Broken(result);
        }
        if !phase.matches(rule, request) {
            return CallMatch::Miss;
        }
        if let Applicability::Unknown(text) = &self.applicability {
            // For verdicts it is the verdict on all rules.
            return CallMatch::Settled { result: undecided(rule, text), is_all: phase == Phase::Decide };
        }
        self.matching += 1;
        CallMatch::Match
    }

    fn evaluate(&mut self, &RuleCall { rule, binding }: &RuleCall<'p>) -> RuleRun {
        trace::emit(&rule.origin, || EventKind::Rule(rule.name.clone()));
        let request = self.request();
        self.phase.body(MatchedRule {
            policy: self.policy,
            rule,
            binding,
            request,
            context: self.context,
            later: if self.matching > 1 { request.later_root.as_ref().map(Root::get) } else { None },
            sorted: (self.phase == Phase::Decide).then_some(&self.sorted),
        })
    }

    fn exceeded(&mut self, call: &RuleCall<'p>, run: RuleRun, excess: Excess) -> Option<RuleRun> {
        match run.effect {
            RuleEffect::Left(Work::Wanted(objects, _)) => {
                Some(Work::Wanted(objects, Some(GenerationError::Excess(excess.text()))).into())
            }
            _ if excess == Excess::Time => None,
            _ => Some(run.exceeding(call.rule, excess)),
        }
    }

    fn leave(&mut self, call: &RuleCall<'p>, effect: RuleEffect, so_far: &mut Results) {
        let next = match effect {
            RuleEffect::Same => return,
            // What the request is about stays the same for all bindings.
            RuleEffect::Changed(object) if self.is_bound() => {
                Request { target: self.request.target.clone(), ..self.request().with_object(object) }
            }
            RuleEffect::Changed(object) => self.request().with_object(object),
            RuleEffect::Lost => self.request().without_object(),
            RuleEffect::Verified(more) => return self.records.extend(more),
            RuleEffect::Described => return self.described.push((so_far.rules.len(), *call)),
            RuleEffect::Left(work) => return so_far.work = work,
        };
        so_far.object = Some(next.object.clone());
        self.current = Some(next);
    }

    fn is_over(&self, results: &[RuleOutcome]) -> bool {
        self.policy.apply_one && results.iter().any(|r| self.phase.ends(r.status))
    }

    fn finish(&mut self, out: &mut Results) {
        let (policy, request, context) = (self.policy, self.request, self.context);
        if !self.records.is_empty() {
            out.object = Some(self.records.on(&request.object));
        }
        if !self.described.is_empty() && !request.object.is_null() {
            let matched = |&RuleCall { rule, binding }: &RuleCall<'p>| MatchedRule {
                policy,
                rule,
                binding,
                request,
                context,
                later: None,
                sorted: None,
            };
            let described: Vec<_> = self.described.iter().map(|(at, call)| (*at, matched(call))).collect();
            generate::finish(&described, out);
        }
        if self.is_bound() {
            out.rules.drain(..out.rules.len().saturating_sub(1));
            out.object = out.object.take().filter(|object| !object.strict_eq(&request.object));
        }
    }
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
fn undecided(rule: &Rule, text: &str) -> RuleOutcome {
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
