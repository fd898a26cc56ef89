//! Verdicts of Kyverno's policies on a request as it is, within limits.

use std::sync::Arc;

use ephor_engine::run::{Phase, Results};
use ephor_engine::{Request, RuleOutcome};
use ephor_functions::untracked;
use ephor_ir::{Policy, Rule};
use ephor_matching::index::Slot;
use ephor_value::budget;

use super::engine::Engine;
use super::outcomes::{Bundle, Outcomes, Part};
use super::result_cache::{Digests, Group, Plan, ResultCache, Subject};
use super::results::PolicyOutcome;

/// What a run over a request is limited to.
pub struct Limits<'l> {
    /// The policies that are evaluated.
    pub policies: &'l dyn Fn(&Policy) -> bool,
    /// Their rules that are evaluated for verdicts.
    pub rules: &'l dyn Fn(&Policy, &Rule) -> bool,
    /// Whether there is time for the next policy.
    pub has_time: &'l dyn Fn() -> bool,
    /// Whether a policy that failed, with these results, ends the run.
    pub stops: &'l dyn Fn(&Policy, &[RuleOutcome]) -> bool,
    /// Identifies the policies and rules that are evaluated: requests about the same kind in the
    /// same namespace with the same name of limits evaluate the same ones. `None` = results are not
    /// cached.
    pub name: Option<&'l str>,
}

/// What a limited run for verdicts gave.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// The results.
    pub outcomes: Outcomes,
    /// Policies that there was no time for.
    pub left: Vec<Arc<Policy>>,
    /// Whether rules of evaluated policies were skipped that may match.
    pub is_partial: bool,
}

/// A request with the rules that may match it.
#[derive(Debug)]
pub struct PreparedRequest {
    /// The request.
    pub request: Request,
    rules: Rules,
}

/// How rules are evaluated.
#[derive(Debug)]
pub(super) enum Rules {
    All(Vec<Slot>),
    Planned { plan: Arc<Plan>, digests: Digests },
}

/// Evaluates rules; policies that there was no time for are left.
type Evaluate<'e> = dyn Fn(&[Slot], &mut Vec<Arc<Policy>>) -> Part + 'e;

/// What rules are evaluated on, and how.
pub(super) struct Evaluation<'e> {
    pub subject: &'e dyn Subject,
    /// See [`Limits::name`].
    pub name: Option<&'e str>,
    pub part: &'e Evaluate<'e>,
}

impl From<Request> for PreparedRequest {
    /// A request about which no rule gives verdicts.
    fn from(request: Request) -> PreparedRequest {
        PreparedRequest { request, rules: Rules::All(Vec::new()) }
    }
}

impl Verdicts {
    fn push(&mut self, bundle: Arc<Bundle>, is_cached: bool) {
        self.is_partial |= bundle.is_partial();
        self.outcomes.push(bundle, is_cached);
    }
}

impl Engine {
    /// The rules that may match a request, with their policies.
    pub fn candidates<'e>(&'e self, request: &'e Request) -> impl Iterator<Item = (&'e Policy, &'e Rule)> {
        let slots = self.set.index.candidates(&request.target);
        slots.into_iter().filter_map(|(p, r)| {
            let (_, policy) = self.policy(p)?;
            Some((&**policy, &**policy.rules_for(&request.target.kind).get(r as usize)?))
        })
    }

    /// Finds the rules that may match a request, to be evaluated within one or several limits.
    /// Native policies are found by [`Engine::validate_as_server`].
    pub fn prepare(&self, request: Request) -> PreparedRequest {
        let mut slots = self.set.index.candidates(&request.target);
        slots.retain(|(policy, _)| !self.set.native.contains(policy));
        // Of a request that no server has sent, not all is known that results can depend on.
        let is_known = request.sent.is_some() && !request.is_dry_run();
        let rules = self.planned(slots, &request, is_known);
        PreparedRequest { request, rules }
    }

    /// How rules are evaluated; `is_known` = all that their results can depend on is known of the
    /// subject.
    pub(super) fn planned(&self, slots: Vec<Slot>, subject: &dyn Subject, is_known: bool) -> Rules {
        let Some(result_cache) = self.result_cache.as_ref().filter(|_| is_known) else {
            return Rules::All(slots);
        };
        let plan = result_cache.plan(&self.set, slots, subject);
        let digests = result_cache.digests(&plan, subject);
        Rules::Planned { plan, digests }
    }

    /// The verdicts of Kyverno's policies on a request as it is; those of Kubernetes are not
    /// evaluated.
    pub fn verdicts(&self, prepared: &PreparedRequest, limits: &Limits<'_>) -> Verdicts {
        let PreparedRequest { request, rules } = prepared;
        let part = |slots: &[Slot], left: &mut Vec<Arc<Policy>>| self.part(slots, request, limits, left);
        self.evaluated(rules, &Evaluation { subject: request, name: limits.name, part: &part })
    }

    /// The results of rules, from the cache or computed.
    pub(super) fn evaluated(&self, rules: &Rules, evaluation: &Evaluation<'_>) -> Verdicts {
        let mut out = Verdicts::default();
        let (plan, digests) = match rules {
            Rules::Planned { plan, digests } => (plan, digests),
            Rules::All(slots) => {
                let part = (evaluation.part)(slots, &mut out.left);
                out.push(Arc::new(Bundle::of(part)), false);
                return out;
            }
        };
        let limits =
            self.result_cache.as_ref().zip(evaluation.name).and_then(|(cache, name)| cache.limits(name));
        for (group, digest) in plan.groups.iter().zip(&digests.groups) {
            let place = self.place(*digest, limits);
            if let Some(known) = place.and_then(|(result_cache, place)| result_cache.bundle(place)) {
                group.needs.found();
                out.push(known, true);
                continue;
            }
            let left = out.left.len();
            let is_retained = place.is_some();
            let make =
                || Arc::new(self.bundle(group, (digests, limits), evaluation, is_retained, &mut out.left));
            let (bundle, is_untracked) = untracked::during(make);
            if let Some((result_cache, place)) = place {
                let is_cacheable = !is_untracked && out.left.len() == left;
                group.needs.missed(is_cacheable);
                let results = bundle.parts.iter().map(|part| part.results()).sum::<u64>();
                result_cache.missed(results.saturating_sub(bundle.cached));
                if is_cacheable {
                    result_cache.store_bundle(place, &bundle);
                }
            }
            out.push(bundle, false);
        }
        if !plan.rest.is_empty() {
            let part = (evaluation.part)(&plan.rest, &mut out.left);
            out.push(Arc::new(Bundle::of(part)), false);
        }
        out
    }

    /// The cache and the key of the results that depend on this, within limits.
    fn place(&self, digest: Option<u128>, limits: Option<u128>) -> Option<(&ResultCache, u128)> {
        Some((self.result_cache.as_ref()?, digest? ^ limits?))
    }

    /// The verdicts of policies, those of each from the cache or computed; a single one was looked
    /// up already. `is_retained`: all of them together may be stored.
    fn bundle(
        &self,
        Group { members, .. }: &Group,
        (digests, limits): (&Digests, Option<u128>),
        evaluation: &Evaluation<'_>,
        is_retained: bool,
        left: &mut Vec<Arc<Policy>>,
    ) -> Bundle {
        let mut out = Bundle::with_room(members.len());
        for member in members {
            let result_cache = self.result_cache.as_ref().filter(|_| members.len() > 1);
            let digest = result_cache
                .and_then(|result_cache| result_cache.digest(digests, &member.needs, evaluation.subject));
            let place = self.place(digest, limits);
            if let Some(known) = place.and_then(|(result_cache, place)| result_cache.part(place)) {
                member.needs.found();
                out.cached += known.results();
                out.push(known);
                continue;
            }
            let before = left.len();
            let (mut part, is_untracked) = untracked::during(|| (evaluation.part)(&member.slots, left));
            if is_retained || place.is_some() {
                part.detach();
            }
            let part = Arc::new(part);
            if let Some((result_cache, place)) = place {
                let is_cacheable = !is_untracked && left.len() == before;
                member.needs.missed(is_cacheable);
                if is_cacheable {
                    result_cache.store_part(place, &part);
                }
            }
            out.push(part);
        }
        out.fit();
        out
    }

    /// The verdicts of some rules.
    fn part(
        &self,
        slots: &[Slot],
        request: &Request,
        limits: &Limits<'_>,
        left: &mut Vec<Arc<Policy>>,
    ) -> Part {
        let mut out = Part::default();
        let mut selected: Vec<&Rule> = Vec::new();
        for group in slots.chunk_by(|a, b| a.0 == b.0) {
            let Some((at, _)) = group.first() else { continue };
            let Some((_, policy)) = self.policy(*at) else { continue };
            if !(limits.policies)(policy) {
                continue;
            }
            let all = policy.rules_for(&request.target.kind);
            selected.clear();
            for rule in group.iter().filter_map(|(_, r)| all.get(*r as usize)) {
                match (limits.rules)(policy, rule) {
                    true => selected.push(rule),
                    false => out.is_partial = true,
                }
            }
            if selected.is_empty() {
                continue;
            }
            if !(limits.has_time)() {
                left.push(policy.clone());
                continue;
            }
            let Results { rules, .. } = self.run(Phase::Decide, policy, selected.iter().copied(), request);
            // The rules that ended in time count; those that did not leave the policy's verdict
            // open.
            if budget::is_interrupted() {
                left.push(policy.clone());
            }
            if !rules.is_empty() {
                out.policies.push((*at, PolicyOutcome::of(policy, rules)));
            }
        }
        out
    }
}
