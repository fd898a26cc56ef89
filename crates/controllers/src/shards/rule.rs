//! The rule by which replicas divide shards.
//!
//! In: for each shard, which replica holds it and which one wants it, as one replica has just read
//! them. Out: what this replica does with each. All replicas follow the same rule, and each decides
//! for itself: none has to know how many there are.
//!
//! 1. A free shard is taken by a replica that holds fewer than `ceil(shards / L)`, where L counts
//!    the replicas that hold shards, and itself.
//! 2. A replica that finds no free shard, and another one with at least two more than it has, wants
//!    half of the difference from the one that has most. It wants from one replica at a time.
//! 3. A shard that is wanted is handed over if its holder has at least two more than the replica
//!    which wants it. Otherwise its holder keeps it, and the wish is removed.
//!
//! Every shard is held: while one is free, the L replicas hold fewer than `shards` together, so one
//! of them has fewer than the average and takes it. A replica that has ended holds nothing once its
//! leases expire, and does not count then.
//!
//! Shares become equal: a hand-over from `a` to `b`, with `a >= b + 2`, makes the sum of squares of
//! what replicas hold smaller by `2 (a - b - 1) >= 2`, so there are finitely many until a replica
//! joins or ends, and as long as two replicas differ by two or more, the one with fewest wants
//! more. In the end they differ by one at most, and none has more than `ceil(shards / replicas)`.
//!
//! What replicas read may be old by the time they write. Then the API server refuses the write of
//! one of them, or a shard is handed over once more than needed: a shard has one holder all the
//! same.

use std::collections::BTreeMap;

/// The lease of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShardLease {
    /// The replica that holds it; `None` = it is free.
    pub holder: Option<String>,
    /// Another replica that wants it.
    pub wanted_by: Option<String>,
}

/// What a replica does with a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShardStep {
    /// It has it and keeps it.
    Renew,
    /// It has it and gives it to another replica.
    HandOver(String),
    /// It takes it: nothing holds it.
    Take,
    /// It has its holder notice that it wants it.
    Want,
    /// It leaves it to another replica.
    Leave,
}

/// What the replica `me` does with each of the shards.
pub(super) fn steps(me: &str, shards: &[ShardLease]) -> Vec<ShardStep> {
    let mut counts = BTreeMap::from([(me, 0_usize)]);
    for holder in shards.iter().filter_map(|shard| shard.holder.as_deref()) {
        *counts.entry(holder).or_default() += 1;
    }
    let fair = shards.len().div_ceil(counts.len());
    let mut own = counts.get(me).copied().unwrap_or_default();
    let mut steps: Vec<ShardStep> = Vec::with_capacity(shards.len());
    for shard in shards {
        steps.push(match (shard.holder.as_deref(), shard.wanted_by.as_deref()) {
            (Some(holder), Some(other)) if holder == me && other != me => {
                let others = counts.entry(other).or_default();
                if own >= *others + 2 {
                    (own, *others) = (own - 1, *others + 1);
                    ShardStep::HandOver(other.into())
                } else {
                    ShardStep::Renew
                }
            }
            (Some(holder), _) if holder == me => ShardStep::Renew,
            (Some(_), _) => ShardStep::Leave,
            (None, _) if own < fair => {
                own += 1;
                ShardStep::Take
            }
            (None, _) => ShardStep::Leave,
        });
    }
    let is_waiting = |shard: &ShardLease| {
        shard.holder.is_none()
            || shard.holder.as_deref() != Some(me) && shard.wanted_by.as_deref() == Some(me)
    };
    if !shards.iter().any(is_waiting) {
        want(me, own, &counts, shards, &mut steps);
    }
    steps
}

/// Wants shards of the replica that has most of them.
fn want(
    me: &str,
    own: usize,
    counts: &BTreeMap<&str, usize>,
    shards: &[ShardLease],
    steps: &mut [ShardStep],
) {
    let others = counts.iter().filter(|(holder, _)| **holder != me);
    let Some((most, count)) = others.max_by_key(|(_, count)| **count) else { return };
    let wanted = count.saturating_sub(own) / 2;
    let is_open = |shard: &ShardLease| shard.holder.as_deref() == Some(*most) && shard.wanted_by.is_none();
    let open = shards.iter().zip(steps).filter(|(shard, _)| is_open(shard));
    open.take(wanted).for_each(|(_, step)| *step = ShardStep::Want);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shards in memory, with the replicas that run. The replica of a turn reads all shards, then
    /// writes; a write counts only if the shard has not changed since it was read.
    struct Cluster {
        shards: Vec<(ShardLease, u64)>,
        hand_overs: usize,
    }

    impl Cluster {
        fn of(shards: usize) -> Cluster {
            Cluster { shards: vec![(ShardLease::default(), 0); shards], hand_overs: 0 }
        }

        fn read(&self) -> Vec<(ShardLease, u64)> {
            self.shards.clone()
        }

        fn write(&mut self, me: &str, read: &[(ShardLease, u64)]) {
            let seen: Vec<ShardLease> = read.iter().map(|(shard, _)| shard.clone()).collect();
            for (i, step) in steps(me, &seen).into_iter().enumerate() {
                let (shard, version) = &mut self.shards[i];
                if step == ShardStep::Leave || *version != read[i].1 {
                    continue;
                }
                *version += 1;
                match step {
                    ShardStep::Renew | ShardStep::Take => {
                        *shard = ShardLease { holder: Some(me.into()), wanted_by: None };
                    }
                    ShardStep::HandOver(to) => {
                        assert_eq!(shard.holder.as_deref(), Some(me));
                        *shard = ShardLease { holder: Some(to), wanted_by: None };
                        self.hand_overs += 1;
                    }
                    ShardStep::Want => shard.wanted_by = Some(me.into()),
                    ShardStep::Leave => {}
                }
            }
        }

        fn turn(&mut self, me: &str) {
            let read = self.read();
            self.write(me, &read);
        }

        /// The leases of a replica expire.
        fn end(&mut self, replica: &str) {
            for (shard, version) in &mut self.shards {
                if shard.holder.as_deref() == Some(replica) {
                    shard.holder = None;
                    *version += 1;
                }
            }
        }

        fn counts(&self, replicas: &[&str]) -> Vec<usize> {
            let holds =
                |of: &str| self.shards.iter().filter(|(s, _)| s.holder.as_deref() == Some(of)).count();
            replicas.iter().map(|replica| holds(replica)).collect()
        }

        fn is_fair(&self, replicas: &[&str]) -> bool {
            let counts = self.counts(replicas);
            let most = counts.iter().max().copied().unwrap_or_default();
            let fewest = counts.iter().min().copied().unwrap_or_default();
            counts.iter().sum::<usize>() == self.shards.len() && most - fewest <= 1
        }
    }

    #[test]
    fn one_replica_takes_all_shards_and_gives_half_to_a_second_one() {
        let mut cluster = Cluster::of(8);
        cluster.turn("a");
        assert_eq!(cluster.counts(&["a", "b"]), [8, 0]);
        cluster.turn("b");
        cluster.turn("a");
        assert_eq!((cluster.counts(&["a", "b"]), cluster.hand_overs), (vec![4, 4], 4));
        (0..10).for_each(|_| ["a", "b"].into_iter().for_each(|replica| cluster.turn(replica)));
        assert_eq!(cluster.hand_overs, 4, "equal shares stay as they are");
    }

    #[test]
    fn the_shards_of_a_replica_that_ends_go_to_the_others_in_equal_parts() {
        let mut cluster = Cluster::of(9);
        let all = ["a", "b", "c"];
        (0..10).for_each(|_| all.into_iter().for_each(|replica| cluster.turn(replica)));
        assert_eq!(cluster.counts(&all), [3, 3, 3]);
        cluster.end("b");
        ["a", "c"].into_iter().for_each(|replica| cluster.turn(replica));
        assert_eq!(cluster.counts(&all), [5, 0, 4]);
    }

    #[test]
    fn a_replica_more_than_there_are_shards_holds_none_and_takes_the_place_of_one_that_ends() {
        let mut cluster = Cluster::of(2);
        let all = ["a", "b", "c"];
        (0..10).for_each(|_| all.into_iter().for_each(|replica| cluster.turn(replica)));
        assert_eq!(cluster.counts(&all), [1, 1, 0]);
        cluster.end("a");
        ["c", "b"].into_iter().for_each(|replica| cluster.turn(replica));
        assert_eq!(cluster.counts(&all), [0, 1, 1]);
    }

    #[test]
    fn a_wish_of_a_replica_that_has_nearly_as_much_is_removed() {
        let lease = |holder: &str, wanted_by: Option<&str>| ShardLease {
            holder: Some(holder.into()),
            wanted_by: wanted_by.map(String::from),
        };
        let shards = [lease("a", Some("b")), lease("a", None), lease("b", None)];
        assert_eq!(steps("a", &shards), [ShardStep::Renew, ShardStep::Renew, ShardStep::Leave]);
    }

    /// Numbers that look random (an LCG), the same in every run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % limit
        }
    }

    #[test]
    fn whatever_the_order_of_turns_all_shards_are_held_and_shares_become_equal() {
        let names = ["a", "b", "c", "d", "e"];
        for seed in 0..500 {
            let mut numbers = Numbers(seed);
            let mut cluster = Cluster::of(1 + numbers.below(20));
            let mut running: Vec<&str> = vec!["a"];
            for _ in 0..4 {
                match names.iter().find(|name| !running.contains(name)) {
                    Some(new) if running.len() < 2 || numbers.below(2) == 0 => running.push(new),
                    _ => cluster.end(running.remove(numbers.below(running.len()))),
                }
                // Turns in any order, some of which write what they have read before others wrote.
                for _ in 0..20 {
                    let old = cluster.read();
                    let slow = running[numbers.below(running.len())];
                    (0..2).for_each(|_| cluster.turn(running[numbers.below(running.len())]));
                    cluster.write(slow, &old);
                }
                let before = cluster.hand_overs;
                (0..30).for_each(|_| running.iter().for_each(|replica| cluster.turn(replica)));
                assert!(cluster.is_fair(&running), "{seed}: {running:?} {:?}", cluster.counts(&running));
                let made = cluster.hand_overs - before;
                assert!(made <= cluster.shards.len() * running.len(), "{seed}: {made} hand-overs");
            }
        }
    }

    #[test]
    fn a_replica_that_does_not_run_any_more_gets_a_shard_at_most_once() {
        let mut cluster = Cluster::of(6);
        cluster.turn("a");
        cluster.turn("gone");
        cluster.turn("a");
        assert_eq!(cluster.counts(&["a", "gone"]), [3, 3]);
        (0..5).for_each(|_| cluster.turn("a"));
        assert_eq!(cluster.counts(&["a", "gone"]), [3, 3], "until its leases expire");
        cluster.end("gone");
        cluster.turn("a");
        assert_eq!(cluster.counts(&["a", "gone"]), [6, 0]);
    }
}
