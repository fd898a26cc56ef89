//! How rules that may match a request are evaluated: which of them are cached together, which
//! always run.
//!
//! In: rules, and a kind of objects. Out: a [`Plan`], and what it weighs: the result cache retains
//! plans within its limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::policy_set::set::PolicySet;
use ephor_analysis::reads::{Reads, of_policy};
use ephor_lower::LATE;
use ephor_matching::index::Slot;
use ephor_value::footprint;

/// How the rules that may match a request are evaluated.
#[derive(Debug, Default)]
pub struct Plan {
    /// Unique among all plans.
    pub id: u64,
    /// Policies whose results are cached together.
    pub groups: Vec<Group>,
    /// Rules that are evaluated every time.
    pub rest: Vec<Slot>,
    /// How many different parts of requests the groups and their members read.
    pub reads: usize,
    /// How many bytes it keeps alive on the heap together with the list of rules that it is found
    /// by, once it is shared.
    pub weight: u64,
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
    /// The hash of a number that is unique within the plan.
    pub key: Option<u128>,
    reads: Arc<Reads>,
    /// Which of the plan's reads these are.
    pub of_reads: usize,
    /// How many misses there were in a row.
    misses: AtomicU32,
}

/// After this many misses the cache is looked up only now and then.
const PATIENCE: u32 = 64;
/// How often then: once in this many times.
const NOW_AND_THEN: u32 = 16;
/// As many misses count results that read external data.
const UNTRACKED: u32 = 16;

impl Needs {
    fn new(key: Option<u128>, reads: (usize, Arc<Reads>)) -> Needs {
        let (of_reads, reads) = reads;
        Needs { key, reads, of_reads, misses: AtomicU32::new(0) }
    }

    /// The parts of a request.
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// How many bytes it keeps alive, as one of those that share what is read.
    fn footprint(&self) -> usize {
        let bytes = footprint::shared(size_of::<Reads>()) + self.reads.footprint();
        bytes.div_ceil(Arc::strong_count(&self.reads))
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
    /// Of rules that may match objects of a kind; `key` hashes numbers.
    pub fn new(
        id: u64,
        set: &PolicySet,
        slots: &[Slot],
        kind: &str,
        key: &dyn Fn(u64) -> Option<u128>,
    ) -> Plan {
        let mut plan = Plan { id, ..Plan::default() };
        let mut numbers = 0..;
        let mut number = || key(numbers.next().unwrap_or_default());
        let mut known = KnownReads::default();
        let mut together = [const { Vec::new() }; 2];
        for group in slots.chunk_by(|a, b| a.0 == b.0) {
            let Some(policy) = group.first().and_then(|(p, _)| set.policies.get(*p as usize)) else {
                continue;
            };
            match of_policy(policy, kind, &set.exceptions, &set.cel_exceptions, LATE) {
                Err(_) => plan.rest.extend_from_slice(group),
                Ok(mut reads) => {
                    reads.fit();
                    let (is_external, is_apart) = (reads.external, reads.distinguishes_objects());
                    let needs = Needs::new(number(), known.share(reads));
                    let member = Member { slots: group.to_vec(), needs };
                    if is_external {
                        plan.groups.push(Group::of(number(), vec![member], &mut known));
                    } else {
                        together[usize::from(is_apart)].push(member);
                    }
                }
            }
        }
        let together = together.into_iter().filter(|all| !all.is_empty());
        plan.groups.extend(together.map(|all| Group::of(number(), all, &mut known)));
        plan.reads = known.all.len();
        // What is shared is weighed by the number of those that hold it.
        drop(known);
        footprint::fit(&mut plan.rest);
        footprint::fit(&mut plan.groups);
        plan.weighed(slots, kind)
    }

    /// All rules are evaluated every time.
    pub fn without_cache(id: u64, slots: &[Slot], kind: &str) -> Plan {
        Plan { id, rest: slots.to_vec(), ..Plan::default() }.weighed(slots, kind)
    }

    /// With its weight, once it is complete and has no spare room.
    fn weighed(mut self, slots: &[Slot], kind: &str) -> Plan {
        let of_member = |member: &Member| footprint::of_vec(&member.slots) + member.needs.footprint();
        let of_group = |group: &Group| {
            footprint::of_vec(&group.members)
                + group.members.iter().map(of_member).sum::<usize>()
                + group.needs.footprint()
        };
        let bytes = footprint::shared(size_of::<Plan>())
            + footprint::of_vec(&self.rest)
            + footprint::of_vec(&self.groups)
            + self.groups.iter().map(of_group).sum::<usize>();
        self.weight = (bytes + size_of_val(slots) + footprint::shared(kind.len())) as u64;
        self
    }
}

impl Group {
    /// What the results of several depend on is what those of each do.
    fn of(key: Option<u128>, mut members: Vec<Member>, known: &mut KnownReads) -> Group {
        footprint::fit(&mut members);
        let reads = match &*members {
            [member] => (member.needs.of_reads, member.needs.reads.clone()),
            all => {
                let mut sum = Reads::default();
                all.iter().for_each(|member| sum.merge(&member.needs.reads));
                sum.fit();
                known.share(sum)
            }
        };
        Group { needs: Needs::new(key, reads), members }
    }
}

/// The different reads of a plan.
#[derive(Default)]
struct KnownReads {
    all: Vec<Arc<Reads>>,
}

impl KnownReads {
    /// The same reads, shared with others that read the same, and their position.
    fn share(&mut self, reads: Reads) -> (usize, Arc<Reads>) {
        let at = self.all.iter().position(|known| **known == reads).unwrap_or(self.all.len());
        if at == self.all.len() {
            self.all.push(Arc::new(reads));
        }
        (at, self.all[at].clone())
    }
}
