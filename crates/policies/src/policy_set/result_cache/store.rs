//! The entries of the result cache, shared by threads.
//!
//! In: keys that are hashes, and entries. Out: the entries that fit into the limit; which one goes first is up to `quick_cache`.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use highway::{HighwayHash, HighwayHasher, Key};
use quick_cache::Weighter;
use quick_cache::sync::{Cache, DefaultLifecycle};

use super::{Cached, Plan};
use crate::kubernetes::Kinds;
use crate::matching::index::Slot;
use crate::value::Str;

/// How many lists of rules are prepared at a time.
const PLANS: usize = 256;

/// The estimated size of an entry in bytes, which sets the initial capacity.
const EACH: u64 = 1024;

/// See the module page.
pub struct Store {
    key: Key,
    /// By kind, since positions of rules are among those for a kind.
    plans: Cache<(Str, Vec<Slot>), Arc<Plan>>,
    known: Cache<u128, Cached, Weight, BuildHasherDefault<Identity>, DefaultLifecycle<u128, Cached>>,
    /// The kinds of the cluster that results were computed with.
    kinds: ArcSwapOption<(Arc<Kinds>, u64)>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl Store {
    /// A store for entries of at most so many bytes, roughly.
    pub fn new(bytes: u64) -> Option<Store> {
        let key = Key([(); 4].map(|()| rand::random()));
        let capacity = usize::try_from(bytes / EACH).unwrap_or(usize::MAX).max(16);
        let known =
            Cache::with(capacity, bytes, Weight, BuildHasherDefault::default(), DefaultLifecycle::default());
        Some(Store { key, plans: Cache::new(PLANS), known, kinds: ArcSwapOption::empty() })
    }

    /// The hash of bytes under the store's random key.
    pub fn hash(&self, bytes: &[u8]) -> Option<u128> {
        let [a, b] = HighwayHasher::new(self.key).hash128(bytes);
        Some((u128::from(a) << 64) | u128::from(b))
    }

    /// The plan of a list of rules.
    pub fn plan(&self, rules: &(Str, Vec<Slot>)) -> Option<Arc<Plan>> {
        self.plans.get(rules)
    }

    /// Stores the plan of a list of rules.
    pub fn insert_plan(&self, rules: (Str, Vec<Slot>), plan: Arc<Plan>) {
        self.plans.insert(rules, plan);
    }

    /// The entry of a key.
    pub fn get(&self, key: u128) -> Option<Cached> {
        self.known.get(&key)
    }

    /// Stores an entry.
    pub fn insert(&self, key: u128, entry: Cached) {
        self.known.insert(key, entry);
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

/// Keys are hashes already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
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

impl Weighter<u128, Cached> for Weight {
    fn weight(&self, _: &u128, cached: &Cached) -> u64 {
        match cached {
            Cached::Bundle(_, bytes) => *bytes,
            Cached::Part(part) => part.bytes() as u64,
        }
    }
}
