//! The entries of the result cache, shared by threads.
//!
//! In: keys that are hashes, and entries. Out: the entries that fit into the limit; which one goes
//! first is up to `quick_cache`. Entries share parts, so what the cache keeps alive is not the sum
//! of what each entry weighs: it is counted apart, part by part ([`Store::alive`]), and the cache's
//! own capacity follows it ([`Store::balance`]). Plans have a part of the limit.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use highway::{HighwayHash, HighwayHasher, Key};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Lifecycle, OptionsBuilder, Weighter};

use super::{Cached, Plan};
use ephor_kubernetes::Kinds;
use ephor_matching::index::Slot;
use ephor_value::Str;

/// The part of the limit that plans may take: one in this many.
const PART_OF_PLANS: u64 = 4;

/// How many plans there is room for at first.
const PLANS: usize = 64;

/// The place of a plan: rules are positions among those for a kind.
type PlanKey = (Str, Vec<Slot>);

/// The estimated size of an entry in bytes, which sets how many entries there is room for at first.
const EACH: u64 = 4096;

/// After this many new entries the capacity is read again.
const OFTEN: u64 = 32;

/// See the module page.
pub struct Store {
    key: Key,
    plans: Cache<PlanKey, Arc<Plan>, PlanWeight>,
    known: Cache<u128, Cached, Weight, BuildHasherDefault<Identity>, Evictions>,
    /// The limit of what entries keep alive, with the table of entries and the plans.
    limit: u64,
    /// The bytes that they keep alive.
    alive: Arc<AtomicU64>,
    stored: AtomicU64,
    evicted: Arc<AtomicU64>,
    /// The kinds of the cluster that results were computed with.
    kinds: ArcSwapOption<(Arc<Kinds>, u64)>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl Store {
    /// A store for entries of at most this many bytes.
    pub fn new(bytes: u64) -> Option<Store> {
        let key = Key([(); 4].map(|()| rand::random()));
        let capacity = usize::try_from(bytes / EACH).unwrap_or(usize::MAX).max(16);
        let evicted: Arc<AtomicU64> = Arc::default();
        let counts = Evictions(evicted.clone());
        let known = Cache::with(capacity, bytes, Weight, BuildHasherDefault::default(), counts);
        // In one piece, so that each plan may be as large as all may be.
        let mut of_plans = OptionsBuilder::new();
        of_plans.estimated_items_capacity(PLANS).weight_capacity(bytes / PART_OF_PLANS).shards(1);
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let plans = Cache::with_options(of_plans.build().ok()?, PlanWeight, hasher, lifecycle);
        Some(Store {
            key,
            plans,
            known,
            limit: bytes,
            alive: Arc::default(),
            stored: AtomicU64::new(0),
            evicted,
            kinds: ArcSwapOption::empty(),
        })
    }

    /// The bytes that entries keep alive: every holder of a part that has been stored is in it.
    pub fn alive(&self) -> &Arc<AtomicU64> {
        &self.alive
    }

    /// Entries, the bytes that they keep alive with their table, the limit of these, and how many
    /// entries had to go.
    pub fn figures(&self) -> [u64; 4] {
        let entries = self.known.len() as u64;
        [entries, self.bytes(), self.limit, self.evicted.load(Ordering::Relaxed)]
    }

    fn bytes(&self) -> u64 {
        let tables = (self.known.memory_used().total() + self.plans.memory_used().total()) as u64;
        self.alive.load(Ordering::Relaxed).saturating_add(tables).saturating_add(self.plans.weight())
    }

    /// Lets the capacity follow what is alive: entries weigh what they share by the number of those
    /// that share it, which is wrong once some of them are gone.
    fn balance(&self) {
        let (bytes, capacity) = (self.bytes(), self.known.capacity());
        let weight = self.known.weight();
        let wanted = if bytes > self.limit {
            // As much less as there is too much, of what the entries weigh now.
            scaled(weight.min(capacity), self.limit, bytes)
        } else if bytes < self.limit / 16 * 15 && weight > capacity / 16 * 15 {
            capacity.saturating_add(self.limit / 64).min(self.limit)
        } else {
            return;
        };
        if wanted != capacity {
            self.known.set_capacity(wanted.max(1));
        }
    }

    /// The hash of bytes under the store's random key.
    pub fn hash(&self, bytes: &[u8]) -> Option<u128> {
        let [a, b] = HighwayHasher::new(self.key).hash128(bytes);
        Some((u128::from(a) << 64) | u128::from(b))
    }

    /// The plan of a list of rules.
    pub fn plan(&self, rules: &PlanKey) -> Option<Arc<Plan>> {
        self.plans.get(rules)
    }

    /// Whether a plan weighs no more than all plans may.
    pub fn has_room_for(&self, plan: &Plan) -> bool {
        plan.weight <= self.plans.capacity()
    }

    /// Stores the plan of a list of rules.
    pub fn insert_plan(&self, rules: PlanKey, plan: Arc<Plan>) {
        self.plans.insert(rules, plan);
    }

    /// The entry of a key.
    pub fn get(&self, key: u128) -> Option<Cached> {
        self.known.get(&key)
    }

    /// Stores an entry.
    pub fn insert(&self, key: u128, entry: Cached) {
        self.known.insert(key, entry);
        if self.stored.fetch_add(1, Ordering::Relaxed) % OFTEN == OFTEN - 1 {
            self.balance();
        }
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.known.clear();
    }

    /// The number of the kinds of the cluster, if results were computed with them last.
    pub fn era(&self, kinds: &Arc<Kinds>) -> Option<u64> {
        let known = self.kinds.load();
        known.as_deref().filter(|(known, _)| Arc::ptr_eq(known, kinds)).map(|(_, era)| *era)
    }

    /// Notes that results are computed with these kinds from now on.
    pub fn begin_era(&self, kinds: &Arc<Kinds>, era: u64) {
        self.kinds.store(Some(Arc::new((kinds.clone(), era))));
    }
}

/// `n` of this many parts in the whole.
fn scaled(n: u64, parts: u64, whole: u64) -> u64 {
    let scaled = u128::from(n) * u128::from(parts) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Counts the entries that had to go.
#[derive(Clone)]
struct Evictions(Arc<AtomicU64>);

impl Lifecycle<u128, Cached> for Evictions {
    /// What has gone is freed when the cache is not locked any more.
    type RequestState = Vec<Cached>;

    fn on_evict(&self, gone: &mut Vec<Cached>, _: u128, entry: Cached) {
        self.0.fetch_add(1, Ordering::Relaxed);
        gone.push(entry);
    }
}

/// Keys are hashes already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u128(&mut self, key: u128) {
        // One half of a hash is a hash.
        self.0 = (key & u128::from(u64::MAX)) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }
}

#[derive(Clone)]
struct Weight;

impl Weighter<u128, Cached> for Weight {
    fn weight(&self, _: &u128, cached: &Cached) -> u64 {
        match cached {
            Cached::Bundle(_, bytes) | Cached::Part(_, bytes) => *bytes,
        }
    }
}

#[derive(Clone)]
struct PlanWeight;

impl Weighter<PlanKey, Arc<Plan>> for PlanWeight {
    fn weight(&self, _: &PlanKey, plan: &Arc<Plan>) -> u64 {
        plan.weight
    }
}
