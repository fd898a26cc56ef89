//! Where Kyverno 1.19.1 does what the users of a policy do not expect, in the log and in a metric:
//! no answer says it.
//!
//! In: pitfalls of loaded policies, and those that reviews show ([`crate::pitfalls`]). Out: one
//! line of the log for each policy, rule and pitfall, and a counter with these labels. Policies,
//! not clients, determine how many there are; further ones than [`MAX_LOGGED`] are counted together
//! and not logged.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use prometheus::IntCounterVec;

use ephor_admission::admit::Decision;
use ephor_policies::pitfalls::{Pitfall, PitfallKind, Remarks, of_remarks, of_review};

use super::catalog::Catalog;
use super::families::OTHER;
use super::policies::Snapshot;

/// How many policies, rules and pitfalls have a line and a counter of their own: more than a
/// cluster has rules, as a rule. Further ones are counted together without names.
const MAX_LOGGED: usize = 1000;

/// See the module page.
pub struct Pitfalls {
    counters: IntCounterVec,
    logged: Mutex<HashSet<(String, String, PitfallKind)>>,
}

impl Pitfalls {
    pub(super) fn new(all: &Catalog) -> Result<Pitfalls, prometheus::Error> {
        let counters = all.counters(
            "ephor_policy_pitfalls_total",
            "Reviews that show behaviour of Kyverno which users of a policy do not expect: `removed_items`, `ineffective_patch`, `types_of_variants`, `no_version` (of no policy by name); for `uncovered_variants` loads of policies.",
            &["policy", "rule", "pitfall"],
        )?;
        Ok(Pitfalls { counters, logged: Mutex::default() })
    }

    /// Notes those of loaded policies.
    pub fn loaded(&self, snapshot: &Snapshot) {
        snapshot.pitfalls.iter().for_each(|one| self.note(one));
    }

    /// Notes what a decision of the mutating webhook shows.
    pub fn decided(&self, decision: &Decision) {
        let Some(prepared) = &decision.prepared else { return };
        of_review(decision.outcomes.policies(), &prepared.request.object)
            .iter()
            .for_each(|one| self.note(one));
    }

    /// Notes what functions said.
    pub fn remarked(&self, remarks: &Remarks) {
        of_remarks(remarks).iter().for_each(|one| self.note(one));
    }

    /// Counts a pitfall, and logs the first of its policy and rule.
    pub fn note(&self, pitfall: &Pitfall) {
        let Pitfall { kind, policy, rule, .. } = pitfall;
        let key = (policy.clone(), rule.clone(), *kind);
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = logged.contains(&key);
        let is_own = is_known || (logged.len() < MAX_LOGGED && logged.insert(key));
        drop(logged);
        let (policy, rule) = if is_own { (&**policy, &**rule) } else { (OTHER, OTHER) };
        self.counters.with_label_values(&[policy, rule, kind.name()]).inc();
        if is_own && !is_known {
            tracing::warn!(policy, rule, pitfall = kind.name(), text = %pitfall, "not what users of the policy expect");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_policies_are_counted_together() {
        let all = Catalog::default();
        let pitfalls = Pitfalls::new(&all).expect("a metric");
        let note = |n: usize| {
            let (policy, rule, text) = (format!("p{n}"), "r".to_string(), String::new());
            pitfalls.note(&Pitfall { kind: PitfallKind::IneffectivePatch, policy, rule, text });
        };
        (0..MAX_LOGGED + 7).for_each(note);
        note(0);
        let of =
            |policy, rule| pitfalls.counters.with_label_values(&[policy, rule, "ineffective_patch"]).get();
        assert_eq!((of(OTHER, OTHER), of("p0", "r"), of("p1", "r")), (7, 2, 1));
        assert_eq!(pitfalls.logged.lock().expect("no panic").len(), MAX_LOGGED);
    }
}
