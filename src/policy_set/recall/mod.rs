//! Remembered results: a request that agrees with a former one in all that results depend on gets the same.
//!
//! Most requests of a cluster change little of what policies look at: heartbeats, states, copies of the same
//! template. In: the rules that may match a request, and the request. Out: the results from the time before, or a
//! place to keep the new ones. What results depend on is known from the rules ([`crate::ir::reads`]); what they read
//! of a request is hashed with a key that nobody knows. Rules that depend on more are asked every time; should
//! something unforeseen happen meanwhile, nothing is kept.
//!
//! Policies are remembered in two groups, those that look at names and the like of single objects and all
//! others, so that the former do not keep the latter from being remembered. Those that may ask others are groups of
//! their own: their results are kept when they did not.

mod digest;

use std::cell::RefCell;
use std::collections::hash_map::RandomState;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use highway::{HighwayHash, HighwayHasher, Key};
use quick_cache::Weighter;
use quick_cache::sync::{Cache, DefaultLifecycle};

use crate::engine::{Request, RuleOutcome};
use crate::ir::reads::{Reads, of_policy};
use crate::kubernetes::Kinds;
use crate::matching::index::Slot;
use crate::value::Str;

use super::outcomes::Part;
use super::{Engine, PolicyOutcome};
use digest::Bytes;

/// How many lists of rules are prepared at a time.
const PLANS: usize = 256;

/// How many results there may be at a time, roughly, by what one of them weighs.
const EACH: u64 = 2048;

/// See the module page.
pub struct Recall {
    key: Key,
    /// By kind, since positions of rules are among those for a kind.
    plans: Cache<(Str, Vec<Slot>), Arc<Plan>>,
    known: Cache<u128, Arc<Part>, Weight, RandomState, DefaultLifecycle<u128, Arc<Part>>>,
    /// The kinds of the cluster that results were made with.
    kinds: ArcSwapOption<(Arc<Kinds>, u64)>,
    made: AtomicU64,
}

impl std::fmt::Debug for Recall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recall").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

/// How rules that may match a request are asked.
#[derive(Debug, Default)]
pub struct Plan {
    id: u64,
    /// Groups of which results are remembered.
    pub groups: Vec<Group>,
    /// Rules that are asked every time.
    pub rest: Vec<Slot>,
}

/// Rules whose results are remembered together.
#[derive(Debug)]
pub struct Group {
    /// The rules.
    pub slots: Vec<Slot>,
    /// What their results depend on: of requests that delete, and of all others.
    reads: [Reads; 2],
    /// How often in a row there was nothing to keep.
    vain: AtomicU32,
}

/// After so many times without anything to keep a group is remembered only now and then.
const PATIENCE: u32 = 4;
/// How often then: once in so many times.
const NOW_AND_THEN: u32 = 64;

impl Group {
    fn new(slots: Vec<Slot>, reads: &[Reads]) -> Group {
        Group { slots, reads: merged(reads), vain: AtomicU32::new(0) }
    }

    /// Whether it is worth while to look for results.
    fn is_promising(&self) -> bool {
        self.vain.load(Ordering::Relaxed) < PATIENCE
            || self.vain.fetch_add(1, Ordering::Relaxed).is_multiple_of(NOW_AND_THEN)
    }

    /// Notes whether there was something to keep.
    pub(super) fn note(&self, kept: bool) {
        match kept {
            true => self.vain.store(0, Ordering::Relaxed),
            false => drop(self.vain.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

#[derive(Clone)]
struct Weight;

impl Weighter<u128, Arc<Part>> for Weight {
    fn weight(&self, _: &u128, part: &Arc<Part>) -> u64 {
        let texts = |r: &RuleOutcome| {
            let properties: usize = r.properties.iter().map(|(k, v)| k.len() + v.len()).sum();
            // What Pod Security found repeats the message in parts.
            let found = if r.pod_security.is_some() { 4 * r.message.len() } else { 0 };
            size_of::<RuleOutcome>() + r.message.len() + properties + found
        };
        let of = |p: &PolicyOutcome| size_of::<PolicyOutcome>() + p.rules.iter().map(texts).sum::<usize>();
        let all: usize = part.policies.iter().map(|(_, p)| of(p)).sum();
        (all + 128) as u64
    }
}

thread_local! {
    static SCRATCH: RefCell<Bytes> = RefCell::default();
}

impl Recall {
    /// Results of at most so many bytes, roughly, are remembered.
    pub fn new(bytes: u64) -> Recall {
        let key = Key([(); 4].map(|()| rand::random()));
        let capacity = usize::try_from(bytes / EACH).unwrap_or(usize::MAX).max(16);
        let known = Cache::with(capacity, bytes, Weight, RandomState::new(), DefaultLifecycle::default());
        Recall {
            key,
            plans: Cache::new(PLANS),
            known,
            kinds: ArcSwapOption::empty(),
            made: AtomicU64::new(1),
        }
    }

    /// How the rules that may match a request are asked.
    pub(super) fn plan(&self, engine: &Engine, slots: Vec<Slot>, request: &Request) -> Arc<Plan> {
        let place = (request.target.kind.clone(), slots);
        if let Some(plan) = self.plans.get(&place) {
            return plan;
        }
        let plan = Arc::new(self.make(engine, &place.1, &place.0));
        self.plans.insert(place, plan.clone());
        plan
    }

    fn make(&self, engine: &Engine, slots: &[Slot], kind: &str) -> Plan {
        let mut plan = Plan { id: self.made.fetch_add(1, Ordering::Relaxed), ..Plan::default() };
        let mut asking = Vec::new();
        let mut groups = [const { (Vec::new(), Vec::new()) }; 2];
        for group in slots.chunk_by(|a, b| a.0 == b.0) {
            let set = engine.set();
            let Some(policy) = group.first().and_then(|(p, _)| set.policies.get(*p as usize)) else {
                continue;
            };
            match of_policy(policy, kind, &set.exceptions, &set.exemptions) {
                Ok(reads) if reads.asks => asking.push(Group::new(group.to_vec(), &[reads])),
                Ok(reads) => {
                    let (slots, all) = &mut groups[usize::from(reads.tells_objects_apart())];
                    slots.extend_from_slice(group);
                    all.push(reads);
                }
                Err(_) => plan.rest.extend_from_slice(group),
            }
        }
        let used = groups.into_iter().filter(|(slots, _)| !slots.is_empty());
        plan.groups = used.map(|(slots, all)| Group::new(slots, &all)).chain(asking).collect();
        plan
    }

    /// What results of each group of a plan depend on; `None` = they are not to be remembered.
    pub(super) fn digests(&self, plan: &Plan, request: &Request) -> Vec<Option<u128>> {
        let is_there = usize::from(!request.object.is_null());
        SCRATCH.with_borrow_mut(|bytes| {
            bytes.clear();
            bytes.number(self.era(request.target.kinds.as_ref()));
            bytes.number(plan.id);
            bytes.circumstances(request);
            let common = bytes.mark();
            let of_group = |(at, group): (u64, &Group)| {
                if !group.is_promising() {
                    return None;
                }
                bytes.back_to(&common);
                bytes.number(at);
                bytes.reads(group.reads.get(is_there)?, request);
                bytes.hash(self.key)
            };
            (0..).zip(&plan.groups).map(of_group).collect()
        })
    }

    /// A number for the kinds of the cluster: others have another one.
    fn era(&self, kinds: Option<&Arc<Kinds>>) -> u64 {
        let Some(kinds) = kinds else { return 0 };
        if let Some((known, era)) = self.kinds.load().as_deref()
            && Arc::ptr_eq(known, kinds)
        {
            return *era;
        }
        let era = self.made.fetch_add(1, Ordering::Relaxed);
        self.kinds.store(Some(Arc::new((kinds.clone(), era))));
        self.known.clear();
        era
    }

    /// Where results of rules are that limits of this name have asked.
    pub(super) fn place(&self, digest: u128, limits: &str) -> u128 {
        let [a, b] =
            HighwayHasher::new(self.key).hash128(&[&digest.to_le_bytes(), limits.as_bytes()].concat());
        (u128::from(a) << 64) | u128::from(b)
    }

    /// The results at a place.
    pub(super) fn get(&self, place: u128) -> Option<Arc<Part>> {
        self.known.get(&place)
    }

    /// Keeps results.
    pub(super) fn keep(&self, place: u128, part: &Arc<Part>) {
        self.known.insert(place, part.clone());
    }
}

/// All that is read, with the object that rules match as the one that it is.
fn merged(all: &[Reads]) -> [Reads; 2] {
    let mut sum = Reads::default();
    all.iter().for_each(|reads| sum.merge(reads));
    let shown = std::mem::take(&mut sum.shown);
    let (mut deleting, mut other) = (sum.clone(), sum);
    deleting.old.merge(&shown);
    other.object.merge(&shown);
    [deleting, other]
}

#[cfg(test)]
mod tests;
