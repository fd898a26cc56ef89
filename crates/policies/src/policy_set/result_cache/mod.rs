//! Remembered results: a request that agrees with a former one in all that results depend on gets the same.
//!
//! Most requests of a cluster change little of what policies look at: heartbeats, states, copies of the same
//! template. In: the rules that may match a request, and the request. Out: the results from the time before, or a
//! place to keep the new ones. What results depend on is known from the rules ([`crate::ir::reads`]); what they read
//! of a request is hashed with a key that nobody knows. Should something besides the request be asked meanwhile, nothing
//! is kept.
//!
//! Results are looked for twice: first those of many policies together, since most requests of a kind are much
//! alike, then those of each policy. Policies that look at names and the like of single objects are a group apart, and so is
//! each that may ask others. Where nothing is found again and again, one looks only now and then.

mod digest;
mod plan;

use std::cell::RefCell;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use highway::Key;
use quick_cache::Weighter;
use quick_cache::sync::{Cache, DefaultLifecycle};

use crate::kubernetes::Kinds;
use crate::matching::index::Slot;
use crate::value::Str;

use super::Engine;
use super::outcomes::{Bundle, Part};
pub use digest::{Bytes, Subject};
pub use plan::{Member, Needs, Plan};

/// How many lists of rules are prepared at a time.
const PLANS: usize = 256;

/// What is kept weighs so many bytes on the average, to begin with.
const EACH: u64 = 1024;

/// See the module page.
pub struct ResultCache {
    key: Key,
    /// By kind, since positions of rules are among those for a kind.
    plans: Cache<(Str, Vec<Slot>), Arc<Plan>>,
    known: Cache<u128, Kept, Weight, BuildHasherDefault<Taken>, DefaultLifecycle<u128, Kept>>,
    /// The kinds of the cluster that results were made with.
    kinds: ArcSwapOption<(Arc<Kinds>, u64)>,
    made: AtomicU64,
}

impl std::fmt::Debug for ResultCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultCache").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

/// Results that are kept.
#[derive(Clone)]
enum Kept {
    /// With the bytes that it needs besides what is kept by itself.
    Bundle(Arc<Bundle>, u64),
    Part(Arc<Part>),
}

/// Places are hashes already.
#[derive(Default)]
struct Taken(u64);

impl Hasher for Taken {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            self.0 = self.0.rotate_left(1) ^ u64::from_le_bytes(word);
        }
    }
}

#[derive(Clone)]
struct Weight;

impl Weighter<u128, Kept> for Weight {
    fn weight(&self, _: &u128, kept: &Kept) -> u64 {
        match kept {
            Kept::Bundle(_, bytes) => *bytes,
            Kept::Part(part) => part.bytes() as u64,
        }
    }
}

/// What the results of all groups of a plan depend on.
#[derive(Debug)]
pub struct Digests {
    /// What every result can depend on.
    common: Option<u128>,
    /// For each group; `None` = its results are not looked for.
    pub groups: Vec<Option<u128>>,
}

thread_local! {
    static SCRATCH: RefCell<Bytes> = RefCell::default();
}

impl ResultCache {
    /// Results of at most so many bytes, roughly, are remembered.
    pub fn new(bytes: u64) -> ResultCache {
        let key = Key([(); 4].map(|()| rand::random()));
        let capacity = usize::try_from(bytes / EACH).unwrap_or(usize::MAX).max(16);
        let known =
            Cache::with(capacity, bytes, Weight, BuildHasherDefault::default(), DefaultLifecycle::default());
        ResultCache {
            key,
            plans: Cache::new(PLANS),
            known,
            kinds: ArcSwapOption::empty(),
            made: AtomicU64::new(1),
        }
    }

    /// Forgets all results.
    pub(super) fn forget(&self) {
        self.known.clear();
    }

    /// How the rules that may match a request are asked.
    pub(super) fn plan(&self, engine: &Engine, slots: Vec<Slot>, subject: &dyn Subject) -> Arc<Plan> {
        let place = (subject.kind().clone(), slots);
        if let Some(plan) = self.plans.get(&place) {
            return plan;
        }
        let id = self.made.fetch_add(1, Ordering::Relaxed);
        let plan = Arc::new(Plan::new(id, engine, &place.1, &place.0));
        self.plans.insert(place, plan.clone());
        plan
    }

    /// What the results of a plan's groups depend on.
    pub(super) fn digests(&self, plan: &Plan, subject: &dyn Subject) -> Digests {
        let common = SCRATCH.with_borrow_mut(|bytes| {
            bytes.clear();
            bytes.number(self.era(subject.kinds()));
            bytes.number(plan.id);
            subject.circumstances(bytes);
            bytes.hash(self.key)
        });
        let of_group =
            |needs: &Needs| if needs.is_promising() { self.of(common?, needs, subject) } else { None };
        let groups = plan.groups.iter().map(|group| of_group(&group.needs)).collect();
        Digests { common, groups }
    }

    /// What the results of a policy depend on; `None` = they are not looked for.
    pub(super) fn digest(&self, digests: &Digests, needs: &Needs, subject: &dyn Subject) -> Option<u128> {
        if needs.is_promising() { self.of(digests.common?, needs, subject) } else { None }
    }

    fn of(&self, common: u128, needs: &Needs, subject: &dyn Subject) -> Option<u128> {
        SCRATCH.with_borrow_mut(|bytes| {
            bytes.clear();
            bytes.digest(common);
            bytes.number(needs.number);
            subject.reads(needs.reads(subject.has_object()), bytes);
            bytes.hash(self.key)
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
        self.forget();
        era
    }

    /// Where results of rules are that limits of this name have asked.
    pub(super) fn place(&self, digest: u128, limits: &str) -> Option<u128> {
        SCRATCH.with_borrow_mut(|bytes| {
            bytes.clear();
            bytes.digest(digest);
            bytes.text(limits);
            bytes.hash(self.key)
        })
    }

    /// The results of a group at a place.
    pub(super) fn bundle(&self, place: u128) -> Option<Arc<Bundle>> {
        match self.known.get(&place) {
            Some(Kept::Bundle(bundle, _)) => Some(bundle),
            _ => None,
        }
    }

    /// Keeps the results of a group.
    pub(super) fn keep_bundle(&self, place: u128, bundle: &Arc<Bundle>) {
        // What others hold as well is borne by all of them but the cache, which may let go of it at any time.
        let own = |part: &Arc<Part>| part.bytes() / Arc::strong_count(part).saturating_sub(1).max(1);
        let bytes = bundle.bytes() + bundle.parts.iter().map(own).sum::<usize>();
        self.known.insert(place, Kept::Bundle(bundle.clone(), bytes as u64));
    }

    /// The results of a policy at a place.
    pub(super) fn part(&self, place: u128) -> Option<Arc<Part>> {
        match self.known.get(&place) {
            Some(Kept::Part(part)) => Some(part),
            _ => None,
        }
    }

    /// Keeps the results of a policy.
    pub(super) fn keep_part(&self, place: u128, part: &Arc<Part>) {
        self.known.insert(place, Kept::Part(part.clone()));
    }
}

#[cfg(test)]
mod tests;
