//! How rules that may match a request are asked: which of them together, which every time.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::analysis::reads::{Reads, of_policy};
use crate::lower::LATE;
use crate::matching::index::Slot;
use crate::policy_set::Engine;

/// How the rules that may match a request are asked.
#[derive(Debug, Default)]
pub struct Plan {
    /// Tells it from all others.
    pub id: u64,
    /// Policies whose results are remembered together.
    pub groups: Vec<Group>,
    /// Rules that are asked every time.
    pub rest: Vec<Slot>,
}

/// Policies whose results are remembered together.
#[derive(Debug)]
pub struct Group {
    /// What their results depend on.
    pub needs: Needs,
    /// They, each of which is remembered by itself as well if there are several.
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
    /// Tells it from all others of the plan.
    pub number: u64,
    /// Of requests that delete, and of all others.
    reads: [Reads; 2],
    /// How often in a row nothing was found.
    vain: AtomicU32,
}

/// After so many times without a find one looks only now and then.
const PATIENCE: u32 = 64;
/// How often then: once in so many times.
const NOW_AND_THEN: u32 = 16;
/// What counts as much as so many times: results for which something besides the request was asked.
const ASKED: u32 = 16;

impl Needs {
    fn new<'r>(number: u64, all: impl IntoIterator<Item = &'r Reads>) -> Needs {
        let mut sum = Reads::default();
        all.into_iter().for_each(|reads| sum.merge(reads));
        let shown = std::mem::take(&mut sum.shown);
        let (mut deleting, mut other) = (sum.clone(), sum);
        deleting.old.merge(&shown);
        other.object.merge(&shown);
        Needs { number, reads: [deleting, other], vain: AtomicU32::new(0) }
    }

    /// Of requests with or without a new object.
    pub fn reads(&self, has_object: bool) -> &Reads {
        let [deleting, other] = &self.reads;
        if has_object { other } else { deleting }
    }

    /// Whether it is worth while to look for results.
    pub fn is_promising(&self) -> bool {
        self.vain.load(Ordering::Relaxed) < PATIENCE
            || self.vain.fetch_add(1, Ordering::Relaxed).is_multiple_of(NOW_AND_THEN)
    }

    /// Notes that results were found.
    pub fn found(&self) {
        if self.vain.load(Ordering::Relaxed) > 0 {
            self.vain.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that there were none, and whether those that were made are kept.
    pub fn missed(&self, kept: bool) {
        let by = if kept { 1 } else { ASKED };
        let _ = self.vain.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some(n.saturating_add(by)));
    }
}

impl Plan {
    /// Of rules that may match objects of a kind.
    pub fn new(id: u64, engine: &Engine, slots: &[Slot], kind: &str) -> Plan {
        let mut plan = Plan { id, ..Plan::default() };
        let mut numbers = 0..;
        let mut number = || numbers.next().unwrap_or_default();
        let mut together = [const { Vec::new() }; 2];
        for group in slots.chunk_by(|a, b| a.0 == b.0) {
            let set = engine.set();
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
