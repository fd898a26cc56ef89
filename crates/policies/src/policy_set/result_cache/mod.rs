//! The result cache: a request that agrees with a former one in all that results depend on gets the
//! same results.
//!
//! Most requests of a cluster change little of what policies read: heartbeats, states, copies of
//! the same template. In: the rules that may match a request, and the request. Out: the cached
//! results, or a key to store the new ones under. What results depend on is known from the rules
//! ([`ephor_ir::reads`]); what they read of a request is hashed with a random key. If external data
//! is read during the evaluation, nothing is cached.
//!
//! Results are looked up twice: first those of many policies together, since most requests of a
//! kind are much alike, then those of each policy. Policies that read names and the like of
//! single objects are a group apart, and so is each that may read external data. After many misses
//! in a row the cache is looked up only now and then.
//!
//! - `digest`: the parts of a request that results depend on, as bytes: equal bytes, equal parts
//! - `no_store`: the store of a build without the feature `result-cache`: there is none
//! - `plan`: how rules that may match a request are evaluated: which of them are cached together,
//!   which always run
//! - `store`: the entries of the result cache, shared by threads

mod digest;
#[cfg(not(feature = "result-cache"))]
mod no_store;
mod plan;
#[cfg(feature = "result-cache")]
mod store;

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ephor_kubernetes::Kinds;
use ephor_matching::index::Slot;
use ephor_value::{Str, footprint};

use super::outcomes::{Bundle, Part};
use super::set::PolicySet;
pub use digest::{Bytes, Subject};
#[cfg(not(feature = "result-cache"))]
use no_store::NoStore as Store;
pub use plan::{Group, Needs, Plan};
#[cfg(feature = "result-cache")]
use store::Store;

/// See the module page.
#[derive(Debug)]
pub struct ResultCache {
    store: Store,
    ids: AtomicU64,
    misses: AtomicU64,
}

/// What a result cache holds now, and what became of it so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheFigures {
    /// How many entries there are.
    pub entries: u64,
    /// The bytes that they keep alive, with their table and the plans.
    pub bytes: u64,
    /// The limit of these.
    pub limit: u64,
    /// How many entries had to go.
    pub evictions: u64,
    /// How many results were looked up and had to be computed.
    pub misses: u64,
}

/// Cached results.
#[derive(Clone)]
enum Cached {
    /// With what it weighs.
    Bundle(Arc<Bundle>, #[cfg_attr(not(feature = "result-cache"), expect(dead_code))] u64),
    Part(Arc<Part>, #[cfg_attr(not(feature = "result-cache"), expect(dead_code))] u64),
}

/// What the results of a plan depend on in a request.
#[derive(Debug)]
pub struct Digests {
    /// What every result can depend on.
    common: Option<u128>,
    /// What is read of the request, computed once for all who read the same; `None` = it cannot be
    /// compared.
    read: Box<[OnceLock<Option<u128>>]>,
    /// For each group; `None` = its results are not looked up.
    pub groups: Vec<Option<u128>>,
}

thread_local! {
    static SCRATCH: RefCell<Bytes> = RefCell::default();
}

impl ResultCache {
    /// A cache for results of at most this many bytes; none in a build without the feature
    /// `result-cache`.
    pub fn new(bytes: u64) -> Option<ResultCache> {
        Store::new(bytes).map(|store| ResultCache {
            store,
            ids: AtomicU64::new(1),
            misses: AtomicU64::new(0),
        })
    }

    /// Removes all results.
    pub(super) fn clear(&self) {
        self.store.clear();
    }

    /// How the rules that may match a request are evaluated.
    pub(super) fn plan(&self, set: &PolicySet, slots: Vec<Slot>, subject: &dyn Subject) -> Arc<Plan> {
        let place = (subject.kind().clone(), slots);
        if let Some(plan) = self.store.plan(&place) {
            return plan;
        }
        // Nothing of the request is retained, and no spare room.
        let (kind, mut slots) = (Str::from(&*place.0), place.1);
        footprint::fit(&mut slots);
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let mut plan = Plan::new(id, set, &slots, &kind, &|number| self.key(b'n', &number.to_le_bytes()));
        if !self.store.has_room_for(&plan) {
            // It would be built anew for each request.
            plan = Plan::without_cache(id, &slots, &kind);
        }
        let plan = Arc::new(plan);
        self.store.insert_plan((kind, slots), plan.clone());
        plan
    }

    /// What the results of a plan's groups depend on.
    pub(super) fn digests(&self, plan: &Plan, subject: &dyn Subject) -> Digests {
        let common = SCRATCH.with_borrow_mut(|bytes| {
            bytes.clear();
            bytes.number(self.era(subject.kinds()));
            bytes.number(plan.id);
            subject.circumstances(bytes);
            self.store.hash(bytes.bytes()?)
        });
        let read = (0..plan.reads).map(|_| OnceLock::new()).collect();
        let mut digests = Digests { common, read, groups: Vec::new() };
        let of_group = |group: &Group| self.digest(&digests, &group.needs, subject);
        digests.groups = plan.groups.iter().map(of_group).collect();
        digests
    }

    /// What the results of a group or a policy depend on; `None` = they are not looked up.
    ///
    /// It is what is read of the request, combined by exclusive or with a hash of who reads: both
    /// are hashes under the store's random key, so that no two pairs are alike.
    pub(super) fn digest(&self, digests: &Digests, needs: &Needs, subject: &dyn Subject) -> Option<u128> {
        if !needs.is_promising() {
            return None;
        }
        let common = digests.common?;
        let read = digests.read.get(needs.of_reads)?.get_or_init(|| self.of(common, needs, subject));
        Some((*read)? ^ needs.key?)
    }

    fn of(&self, common: u128, needs: &Needs, subject: &dyn Subject) -> Option<u128> {
        SCRATCH.with_borrow_mut(|bytes| {
            bytes.clear();
            bytes.digest(common);
            bytes.number(needs.of_reads as u64);
            subject.reads(needs.reads(), bytes);
            self.store.hash(bytes.bytes()?)
        })
    }

    /// The hash of a part of a key, apart from those of other parts.
    fn key(&self, part: u8, bytes: &[u8]) -> Option<u128> {
        self.store.hash(&[&[part], bytes].concat())
    }

    /// What the keys of results have that were evaluated within limits of this name, to be combined
    /// with digests by exclusive or.
    pub(super) fn limits(&self, name: &str) -> Option<u128> {
        self.key(b'l', name.as_bytes())
    }

    /// A number for the kinds of the cluster: others have another one.
    fn era(&self, kinds: Option<&Arc<Kinds>>) -> u64 {
        let Some(kinds) = kinds else { return 0 };
        if let Some(era) = self.store.era(kinds) {
            return era;
        }
        let era = self.ids.fetch_add(1, Ordering::Relaxed);
        self.store.begin_era(kinds, era);
        self.clear();
        era
    }

    /// The results of a group at a place.
    pub(super) fn bundle(&self, place: u128) -> Option<Arc<Bundle>> {
        match self.store.get(place) {
            Some(Cached::Bundle(bundle, _)) => Some(bundle),
            _ => None,
        }
    }

    /// Stores the results of a group.
    pub(super) fn store_bundle(&self, place: u128, bundle: &Arc<Bundle>) {
        let alive = self.store.alive();
        // What a shared part weighs is divided among all holders but the cache, which may drop it
        // at any time.
        let own = |part: &Arc<Part>| {
            let holders = Arc::strong_count(part).saturating_sub(1).max(1);
            part.charge(alive) / holders as u64
        };
        let bytes = bundle.charge(alive) + bundle.parts.iter().map(own).sum::<u64>();
        self.store.insert(place, Cached::Bundle(bundle.clone(), bytes));
    }

    /// The results of a policy at a place.
    pub(super) fn part(&self, place: u128) -> Option<Arc<Part>> {
        match self.store.get(place) {
            Some(Cached::Part(part, _)) => Some(part),
            _ => None,
        }
    }

    /// Stores the results of a policy.
    pub(super) fn store_part(&self, place: u128, part: &Arc<Part>) {
        let bytes = part.charge(self.store.alive());
        self.store.insert(place, Cached::Part(part.clone(), bytes));
    }

    /// Counts results that were looked up and had to be computed.
    pub(super) fn missed(&self, results: u64) {
        self.misses.fetch_add(results, Ordering::Relaxed);
    }

    /// What the cache holds now, and what became of it so far.
    pub(super) fn figures(&self) -> CacheFigures {
        let [entries, bytes, limit, evictions] = self.store.figures();
        CacheFigures { entries, bytes, limit, evictions, misses: self.misses.load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests;
