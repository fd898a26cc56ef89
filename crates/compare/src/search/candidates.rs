//! Which units of the other side cover a unit.
//!
//! In: a unit, and the units of the other side. Out: whether it is covered, or why that is not
//! known. The nearest units are tried first, each alone. On some objects they may not cover it
//! where the sides agree: others do there. Such a unit is added, and the two are taken
//! together, and so on. So few units are taken together, and there are few combinations of what
//! they read.

use crate::model::environment::Environment;
use crate::model::limits::{
    MAX_ADDED, MAX_OBJECTS_OF_SHOWN, MAX_REAL_WITNESSES, MAX_REFUSED, MAX_UNITS_ALONE, MAX_UNITS_TOGETHER,
    MAX_WITNESSES, SAMPLING, TIME_LIMIT,
};
use crate::model::request::Case;
use crate::search::run::{Run, Uncovered};
use crate::units::cached::CachedUnit;
use crate::units::similarity::nearest;
use crate::units::unit::open;

/// The unit to be added is chosen by this many objects in clusters and in files.
const LEFT_SAMPLE: usize = 8;

/// What is known of a unit after others were evaluated.
#[derive(Default)]
struct Attempts<'u> {
    /// Whether it is covered, and why that is no proof.
    covered: Option<Option<String>>,
    /// Whether the sides differ on an object in clusters that violates it.
    is_real: bool,
    /// Whether no others need to be read.
    is_decided: bool,
    /// Those that left the fewest objects, or came last where units are added, with some of these
    /// objects.
    best: Option<(Vec<&'u CachedUnit>, Left)>,
    /// Those of which an API server refuses all objects that are left.
    refused: Vec<(Vec<&'u CachedUnit>, Uncovered)>,
}

/// Some of the objects on which units do not cover one.
struct Left {
    /// How many there are.
    count: usize,
    /// Whether some exist in clusters.
    is_in_clusters: bool,
    cases: Vec<Case>,
}

impl Left {
    fn of(found: &Uncovered) -> Left {
        let all =
            || found.in_clusters.iter().take(LEFT_SAMPLE).chain(found.in_files.iter().take(LEFT_SAMPLE));
        Left {
            count: found.in_clusters.len() + found.in_files.len(),
            is_in_clusters: !found.in_clusters.is_empty(),
            cases: all().cloned().collect(),
        }
    }
}

impl Run<'_> {
    /// Looks whether a unit of the side `at` is covered by units of the other.
    pub(crate) fn unit(
        &mut self,
        environment: &Environment,
        unit: &CachedUnit,
        others: &[CachedUnit],
        at: usize,
    ) {
        if self.effort.is_late() {
            self.findings.reasons.insert(TIME_LIMIT.into());
            return;
        }
        let near = nearest(unit, others);
        let is_near = near.iter().any(|(_, overlap)| *overlap > 0);
        // What reads nothing that others read may still be covered by several of them.
        let close = near.iter().filter(|(_, overlap)| !is_near || *overlap > 0);
        let close: Vec<&CachedUnit> = close.map(|(one, _)| *one).take(MAX_UNITS_TOGETHER).collect();
        let near: Vec<&CachedUnit> = near.iter().map(|(one, _)| *one).collect();
        let is_shown = self.findings.is_shown(environment, (unit, at));
        let most = if is_shown { MAX_OBJECTS_OF_SHOWN } else { self.options.objects };
        // What cannot be proved is read once.
        let is_open = open(&unit.reads, &unit.predicates).is_some();
        let is_whole = near.is_empty() || (is_open && close.len() > 1);
        let first = if is_whole {
            vec![close.clone()]
        } else {
            near.iter().take(if is_shown { 1 } else { MAX_UNITS_ALONE }).map(|one| vec![*one]).collect()
        };
        let mut so_far = Attempts::default();
        for others in first {
            let found = self.cover(environment, (unit, at), &others, most);
            let left = Left::of(&found);
            if so_far.best.as_ref().is_none_or(|(_, known)| left.count < known.count) {
                so_far.best = Some((others.clone(), left));
            }
            self.attempted(environment, at, (others, found), &mut so_far);
            if so_far.is_decided {
                break;
            }
        }
        if !is_shown && !so_far.is_decided {
            let is_alone = !is_open && self.add(environment, (unit, at), (&near, most), &mut so_far);
            if !so_far.is_decided && !is_alone && !is_whole && close.len() > 1 {
                let found = self.cover(environment, (unit, at), &close, most);
                self.attempted(environment, at, (close, found), &mut so_far);
            }
        }
        self.near_refused(environment, (unit, at), is_shown, &mut so_far);
        match so_far.covered {
            Some(None) => {}
            Some(Some(why)) => {
                self.findings.reasons.insert(why);
            }
            None if so_far.is_real => {}
            None => {
                let side = if at == 0 { "old" } else { "new" };
                self.findings
                    .reasons
                    .insert(format!("a rule of the {side} side is covered by several of the other together"));
            }
        }
    }

    /// Notes on which objects others do not cover a unit of the side `at`.
    fn attempted<'u>(
        &mut self,
        environment: &Environment,
        at: usize,
        (others, found): (Vec<&'u CachedUnit>, Uncovered),
        so_far: &mut Attempts<'u>,
    ) {
        if found.near_refused.is_some() {
            so_far.refused.push((others, found));
        } else {
            so_far.is_decided = self.is_decided(environment, at, found, so_far);
        }
    }

    /// Adds units to the best so far, one by one: what one does not cover another may. Whether none
    /// covers what is left, and all of that is in files only: then all together do not cover it
    /// either.
    fn add<'u>(
        &mut self,
        environment: &Environment,
        (unit, at): (&CachedUnit, usize),
        (near, most): (&[&'u CachedUnit], usize),
        so_far: &mut Attempts<'u>,
    ) -> bool {
        for _ in 0..MAX_ADDED {
            let Some((mut others, left)) = so_far.best.take() else { return false };
            let Some(next) = self.next(environment, (unit, at), near, &others, &left) else {
                return !left.is_in_clusters;
            };
            others.push(next);
            let found = self.cover(environment, (unit, at), &others, most);
            let is_open = found.open.is_some();
            so_far.best = Some((others.clone(), Left::of(&found)));
            self.attempted(environment, at, (others, found), so_far);
            if so_far.is_decided || is_open {
                return false;
            }
        }
        false
    }

    /// The nearest of the units that cover most of the objects on which others do not cover one.
    fn next<'u>(
        &mut self,
        environment: &Environment,
        from: (&CachedUnit, usize),
        near: &[&'u CachedUnit],
        others: &[&CachedUnit],
        left: &Left,
    ) -> Option<&'u CachedUnit> {
        let is_new = |one: &&CachedUnit| !others.iter().any(|known| std::ptr::eq(*known, *one));
        let mut best: Option<(usize, &'u CachedUnit)> = None;
        for one in near.iter().copied().filter(is_new).take(MAX_UNITS_TOGETHER) {
            let mut count = 0;
            for case in &left.cases {
                count += usize::from(self.judged(environment, from, &[one], case, false).is_covered);
            }
            if count > best.map_or(0, |(most, _)| most) {
                best = Some((count, one));
            }
        }
        best.map(|(_, one)| one)
    }

    /// Where no unit is known to cover one, objects near those that an API server refuses are
    /// tried.
    fn near_refused(
        &mut self,
        environment: &Environment,
        (unit, at): (&CachedUnit, usize),
        is_shown: bool,
        so_far: &mut Attempts<'_>,
    ) {
        let mut refused = std::mem::take(&mut so_far.refused);
        refused.sort_by_key(|(_, found)| found.in_files.len());
        for (others, mut found) in refused.into_iter().take(MAX_REFUSED) {
            if so_far.is_decided {
                return;
            }
            if let Some((reads, mut pool)) = found.near_refused.take() {
                if self.findings.is_known_to_differ(at) {
                    pool.few = pool.few.min(SAMPLING.min);
                }
                if !is_shown {
                    self.explore((environment, (unit, at), &others), &reads, pool, &mut found);
                }
            }
            so_far.is_decided = self.is_decided(environment, at, found, so_far);
        }
    }

    /// Whether no further units need to be evaluated: these cover the unit, or the sides differ
    /// where it is violated.
    fn is_decided(
        &mut self,
        environment: &Environment,
        at: usize,
        found: Uncovered,
        so_far: &mut Attempts<'_>,
    ) -> bool {
        let why = found.open.or(found.open_in_clusters);
        if found.in_clusters.is_empty() && so_far.covered.as_ref().is_none_or(Option::is_some) {
            so_far.covered = Some(why);
        }
        if found.in_clusters.is_empty() && found.in_files.is_empty() {
            return true;
        }
        let is_real = self.witnesses(environment, at, found.in_clusters);
        so_far.is_real |= is_real;
        // What differs in files says nothing of clusters.
        self.witnesses(environment, at, found.in_files);
        is_real
    }

    /// Whether the sides differ in clusters on one of these objects, on which a unit of the side
    /// `at` is violated. Several are read: the best of them is shown.
    fn witnesses(&mut self, environment: &Environment, at: usize, cases: Vec<Case>) -> bool {
        let mut real = 0;
        for case in cases.into_iter().take(MAX_WITNESSES / 2) {
            real += usize::from(self.witness(environment, case).is_real[at]);
            if real >= MAX_REAL_WITNESSES {
                break;
            }
        }
        real > 0
    }
}
