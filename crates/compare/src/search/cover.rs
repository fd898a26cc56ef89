//! Whether some units cover one: the question of a comparison, in stages.
//!
//! In: a unit, and units of the other side. Out: the objects on which they do not cover it
//! ([`Uncovered`]). The stages hand each other types:
//!
//! ```text
//! unit, others ─▶ Footprint: what they read and test ─▶ Budget: how much is evaluated
//!              ─▶ Domains: a value of each class at each field ─▶ [Case]: combinations of them
//!              ─▶ Uncovered: the cases on which the others do not cover the unit
//! ```
//!
//! A unit that an object violates is covered there when one of the others is violated by it, too.
//! When that holds for each unit, in both directions and in every environment, both sides deny the
//! same requests. It is enough to read objects for the footprint of the units involved, whatever
//! else the policies read: so the combinations stay few.

use ephor_analysis::reads::Reads;

use crate::model::environment::Environment;
use crate::model::limits::{MAX_CASES_UNREDUCED, MAX_ITEMS_SAMPLED, MAX_WITNESSES};
use crate::model::request::Case;
use crate::objects::domain::Domain;
use crate::search::budget::Budget;
use crate::search::domains::Domains;
use crate::search::footprint::Footprint;
use crate::search::run::{Pool, Run, Uncovered};
use crate::units::cached::CachedUnit;

impl Run<'_> {
    /// On which of at most this many objects others do not cover a unit.
    pub(crate) fn cover(
        &mut self,
        environment: &Environment,
        from: (&CachedUnit, usize),
        others: &[&CachedUnit],
        most: usize,
    ) -> Uncovered {
        let (unit, at) = from;
        let footprint = Footprint::of(unit, others.iter().map(|other| &***other));
        let budget = Budget::of(self, &footprint, at, most);
        let domains = Domains::new(self, environment, (unit, others), (&footprint, &budget));
        let (contexts, why) = domains.contexts(&mut None);
        let (mut domain, mut cases) = domains.all(false, &contexts);
        if domain.open.is_some() && !budget.is_open && domain.has_refused {
            // Those that an API server may admit may be few enough.
            let fewer = domains.all(true, &contexts);
            if fewer.0.open.is_none() {
                (domain, cases) = fewer;
            }
        }
        let are_too_many = domain.open.is_some() || why.is_some() || cases.len() > MAX_CASES_UNREDUCED;
        if !budget.is_open
            && are_too_many
            && let Some((fewer, cases)) = deciding_cases(&domains)
        {
            let mut found = Uncovered::default();
            let is_done = self.each(environment, from, others, &footprint.reads, &cases, &mut found);
            // Whether an API server refuses an object is not among what its parts say.
            if !found.in_clusters.is_empty() || (is_done && found.in_files.is_empty()) {
                self.record_assumptions(&footprint, fewer.is_assumed, environment);
                return found;
            }
        }
        let open = footprint.open().or(domain.open.take()).or(why);
        let mut found = Uncovered { open, ..Uncovered::default() };
        self.record_assumptions(&footprint, domain.is_assumed, environment);
        let (texts, integers) = domain.classes();
        let few = budget.few;
        if found.open.is_some() && footprint.items > 1 {
            // Short lists first: these combinations are few.
            if footprint.items > MAX_ITEMS_SAMPLED && !budget.is_shorter {
                cases = domains.short(MAX_ITEMS_SAMPLED, budget.short_limit(self), &contexts);
            }
            let shortest = domains.short(1, few, &contexts);
            cases = shortest.into_iter().chain(cases.into_iter().step_by(2)).collect();
        }
        if found.open.is_some() {
            let pool = Pool { cases, texts, integers, few };
            self.explore((environment, from, others), &footprint.reads, pool, &mut found);
            return found;
        }
        self.each(environment, from, others, &footprint.reads, &cases, &mut found);
        if found.open.is_none() && found.in_clusters.is_empty() && found.open_in_clusters.is_some() {
            // An object near one that an API server refuses may be admitted.
            let few = (few / self.effort.units).max(1);
            drop(domain);
            found.near_refused = Some((footprint.reads, Pool { cases, texts, integers, few }));
        }
        found
    }

    /// Notes what the units assume.
    fn record_assumptions(&mut self, footprint: &Footprint, is_assumed: bool, environment: &Environment) {
        self.findings.relative_to.extend(footprint.predicates.assumptions.iter().cloned());
        if is_assumed {
            self.findings.relative_to.insert(format!("the types of fields of {}", environment.object[2]));
        }
    }

    /// Evaluates all cases; whether it did.
    fn each(
        &mut self,
        environment: &Environment,
        from: (&CachedUnit, usize),
        others: &[&CachedUnit],
        reads: &Reads,
        cases: &[Case],
        found: &mut Uncovered,
    ) -> bool {
        for case in cases {
            if let Some(why) = self.effort.is_over() {
                found.open = Some(why.into());
                return false;
            }
            self.look((environment, from, others), reads, case.clone(), found);
            if found.in_clusters.len() >= MAX_WITNESSES {
                return false;
            }
        }
        true
    }
}

/// The cases whose atoms say something else than those of others, where these stand for all.
fn deciding_cases<'d>(domains: &'d Domains<'_>) -> Option<(Domain<'d>, Vec<Case>)> {
    let mut fewer = domains.deciding(false);
    if fewer.as_ref().is_some_and(|(domain, _)| domain.open.is_some() && domain.has_refused) {
        fewer = domains.deciding(true);
    }
    fewer.filter(|(domain, _)| domain.open.is_none())
}
