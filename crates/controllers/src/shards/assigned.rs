//! The shards that this replica holds.
//!
//! In: grants of shards, each until a moment or without end, and their revocation. Out: whether
//! the replica scans an object. A grant ends by itself when it is not renewed in time, so a replica
//! whose requests hang stops scanning before another one may begin.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ephor_value::shard::shard_of;

/// The right to scan a shard.
#[derive(Clone, Copy, Debug)]
struct Grant {
    /// No two grants have the same number.
    number: u64,
    /// `None` = until it is revoked.
    until: Option<Instant>,
}

#[derive(Debug, Default)]
struct Grants {
    by_shard: BTreeMap<u32, Grant>,
    /// How many there were.
    count: u64,
}

/// See the module page.
#[derive(Debug)]
pub struct Assigned {
    shards: NonZero<u32>,
    grants: Mutex<Grants>,
}

/// The shards that a replica holds at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldShards {
    /// The number of the grant of each.
    numbers: BTreeMap<u32, u64>,
}

impl HeldShards {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Whether a shard is among them.
    pub fn has(&self, shard: u32) -> bool {
        self.numbers.contains_key(&shard)
    }

    /// Whether a shard is among them, and has been since `before` without a gap.
    pub fn has_since(&self, before: &HeldShards, shard: u32) -> bool {
        self.numbers.get(&shard).is_some_and(|number| before.numbers.get(&shard) == Some(number))
    }

    /// Whether there are shards that were not held at `before`, or not all the time since.
    pub fn has_more_than(&self, before: &HeldShards) -> bool {
        self.numbers.keys().any(|shard| !self.has_since(before, *shard))
    }

    /// The numbers of the shards, in order.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.numbers.keys().copied()
    }
}

impl Assigned {
    /// None of this number of shards.
    pub fn none_of(shards: NonZero<u32>) -> Assigned {
        Assigned { shards, grants: Mutex::default() }
    }

    /// Everything, without end.
    pub fn everything() -> Assigned {
        let all = Assigned::none_of(NonZero::<u32>::MIN);
        all.grant(0, None);
        all
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many shards there are.
    pub fn shards(&self) -> NonZero<u32> {
        self.shards
    }

    /// Grants a shard, or renews its grant.
    pub fn grant(&self, shard: u32, until: Option<Instant>) {
        let mut grants = self.grants();
        grants.count += 1;
        let number = match grants.by_shard.get(&shard).filter(|grant| is_valid(grant)) {
            Some(grant) => grant.number,
            None => grants.count,
        };
        grants.by_shard.insert(shard, Grant { number, until });
    }

    /// Revokes the grant of a shard.
    pub fn revoke(&self, shard: u32) {
        self.grants().by_shard.remove(&shard);
    }

    /// The shards that are held now.
    pub fn held(&self) -> HeldShards {
        let grants = self.grants();
        let valid = grants.by_shard.iter().filter(|(_, grant)| is_valid(grant));
        HeldShards { numbers: valid.map(|(shard, grant)| (*shard, grant.number)).collect() }
    }

    /// The shard of the object with this apiVersion, namespace, kind and name.
    pub fn shard_of(&self, identity: &[&str; 4]) -> u32 {
        shard_of(identity, self.shards)
    }
}

fn is_valid(grant: &Grant) -> bool {
    grant.until.is_none_or(|until| Instant::now() < until)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_grant_ends_when_its_time_is_over_or_it_is_revoked() {
        let assigned = Assigned::none_of(NonZero::new(3).unwrap());
        assigned.grant(0, Some(Instant::now() + Duration::from_secs(600)));
        assigned.grant(1, Some(Instant::now()));
        assigned.grant(2, None);
        assert_eq!(assigned.held().numbers().collect::<Vec<_>>(), [0, 2]);
        assigned.revoke(2);
        assert_eq!(assigned.held().numbers().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_shard_that_was_lost_and_granted_again_is_not_the_same_as_before() {
        let assigned = Assigned::none_of(NonZero::new(2).unwrap());
        assigned.grant(0, None);
        assigned.grant(1, None);
        let before = assigned.held();
        assigned.grant(0, None);
        assert!(!assigned.held().has_more_than(&before), "a renewal");
        assigned.revoke(1);
        assert!(!assigned.held().has_more_than(&before));
        assigned.grant(1, None);
        let after = assigned.held();
        assert!(after.has_more_than(&before));
        assert_eq!([0, 1].map(|shard| after.has_since(&before, shard)), [true, false]);
    }
}
