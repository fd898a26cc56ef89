//! How rules that may match a request are evaluated: which of them are cached together, which always run.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::analysis::reads::{Reads, of_policy};
use crate::lower::LATE;
use crate::matching::index::Slot;
use crate::policy_set::set::PolicySet;

/// How the rules that may match a request are evaluated.
#[derive(Debug, Default)]
pub struct Plan {
    /// Unique among all plans.
    pub id: u64,
    /// Policies whose results are cached together.
    pub groups: Vec<Group>,
    /// Rules that are evaluated every time.
    pub rest: Vec<Slot>,
}

/// Policies whose results are cached together.
#[derive(Debug)]
pub struct Group {
    /// What their results depend on.
    pub needs: Needs,
    /// The policies, each of which is cached by itself as well if there are several.
    pub members: Vec<Member>,
}

/// The rules of a policy.
#[derive(Debug)]
pub struct Member {
    /// The rules.
    pub slots: Vec<Slot>,
    /// What their results depend on.
    pub needs: Needs,
}

/// What results depend on.
#[derive(Debug)]
pub struct Needs {
    /// Unique within the plan.
    pub number: u64,
    /// Of requests that delete, and of all others.
    reads: [Reads; 2],
    /// How many misses there were in a row.
    misses: AtomicU32,
}

/// After so many misses the cache is looked up only now and then.
const PATIENCE: u32 = 64;
/// How often then: once in so many times.
const NOW_AND_THEN: u32 = 16;
/// As many misses count results that read external data.
const UNTRACKED: u32 = 16;

impl Needs {
    fn new<'r>(number: u64, all: impl IntoIterator<Item = &'r Reads>) -> Needs {
        let mut sum = Reads::default();
        all.into_iter().for_each(|reads| sum.merge(reads));
        let shown = std::mem::take(&mut sum.shown);
        let (mut deleting, mut other) = (sum.clone(), sum);
        deleting.old.merge(&shown);
        other.object.merge(&shown);
        Needs { number, reads: [deleting, other], misses: AtomicU32::new(0) }
    }

    /// Of requests with or without a new object.
    pub fn reads(&self, has_object: bool) -> &Reads {
        let [deleting, other] = &self.reads;
        if has_object { other } else { deleting }
    }

    /// Whether it is worth while to look up results.
    pub fn is_promising(&self) -> bool {
        self.misses.load(Ordering::Relaxed) < PATIENCE
            || self.misses.fetch_add(1, Ordering::Relaxed).is_multiple_of(NOW_AND_THEN)
    }

    /// Notes a cache hit.
    pub fn found(&self) {
        if self.misses.load(Ordering::Relaxed) > 0 {
            self.misses.store(0, Ordering::Relaxed);
        }
    }

    /// Notes a cache miss, and whether the new results are cached.
    pub fn missed(&self, is_cached: bool) {
        let by = if is_cached { 1 } else { UNTRACKED };
        let _ =
            self.misses.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some(n.saturating_add(by)));
    }
}

impl Plan {
    /// Of rules that may match objects of a kind.
    pub fn new(id: u64, set: &PolicySet, slots: &[Slot], kind: &str) -> Plan {
        let mut plan = Plan { id, ..Plan::default() };
        let mut numbers = 0..;
        let mut number = || numbers.next().unwrap_or_default();
        let mut together = [const { Vec::new() }; 2];
        for group in slots.chunk_by(|a, b| a.0 == b.0) {
            let Some(policy) = group.first().and_then(|(p, _)| set.policies.get(*p as usize)) else {
                continue;
            };
            match of_policy(policy, kind, &set.exceptions, &set.cel_exceptions, LATE) {
                Err(_) => plan.rest.extend_from_slice(group),
                Ok(reads) => {
                    let member = Member { slots: group.to_vec(), needs: Needs::new(number(), [&reads]) };
                    if reads.external {
                        let needs = Needs::new(number(), [&reads]);
                        plan.groups.push(Group { needs, members: vec![member] });
                    } else {
                        together[usize::from(reads.distinguishes_objects())].push((member, reads));
                    }
                }
            }
        }
        for all in together.into_iter().filter(|all| !all.is_empty()) {
            let needs = Needs::new(number(), all.iter().map(|(_, reads)| reads));
            let members = all.into_iter().map(|(member, _)| member).collect();
            plan.groups.push(Group { needs, members });
        }
        plan
    }
}
