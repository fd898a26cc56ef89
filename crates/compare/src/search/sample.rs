//! Objects that are evaluated: the verdict of a unit on each, and whether others cover it.
//!
//! In: a unit, units of the other side, objects. Out: those on which the unit is not covered
//! ([`Uncovered`]). Where nothing can be proved a part of the objects is evaluated, and variations
//! of those that decide, each once.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ephor_analysis::reads::Reads;
use ephor_value::Value;

use crate::admitted::repair::mended;
use crate::admitted::view::{
    AdmittedView, as_if_admitted, before_ephemeral, is_refused_with_its_classes, seen_in_clusters,
};
use crate::model::environment::Environment;
use crate::model::limits::MAX_WITNESSES;
use crate::model::request::{Case, request};
use crate::model::verdict::Verdict;
use crate::objects::spelling::respelled;
use crate::search::neighbours::{WithPaths, substituted, varied};
use crate::search::run::{Pool, Run, Uncovered};
use crate::sides::natives::show_types_once;
use crate::sides::side::{Side, judge};
use crate::units::cached::CachedUnit;

/// How many objects of one kind of answer are varied.
const VARIED_PER_ANSWER: usize = 6;

/// Of these, each field is given each value.
const SUBSTITUTED_PER_ANSWER: usize = 2;

/// Why agreement is no proof where sides differ on objects that are refused.
pub const REFUSED: &str = "an API server refuses the objects on which rules differ";

/// What a unit says of an object, and what others say.
pub(crate) struct Judged {
    own: Verdict,
    others: Verdict,
    /// Whether it is no violation, or others are violated as gravely.
    pub is_covered: bool,
}

/// Verdicts of units on the cases that were evaluated: each case is judged once.
#[derive(Default)]
struct VerdictCache(HashMap<(Value, Option<Value>, usize), (Verdict, Verdict)>);

impl VerdictCache {
    /// The verdicts on a case. Its context lives as long as the cases do, so its address stands for
    /// it.
    fn of(&mut self, case: &Case, look: impl FnOnce() -> (Verdict, Verdict)) -> (Verdict, Verdict) {
        let place = (case.object.clone(), case.old.clone(), Arc::as_ptr(&case.around).addr());
        *self.0.entry(place).or_insert_with(look)
    }
}

impl Run<'_> {
    /// Where nothing can be proved: some of the objects, and variations of those on which units
    /// said different things.
    pub(crate) fn explore(
        &mut self,
        among: (&Environment, (&CachedUnit, usize), &[&CachedUnit]),
        reads: &Reads,
        Pool { cases, texts, integers, few }: Pool,
        found: &mut Uncovered,
    ) {
        let every = cases.len().div_ceil(few).max(1);
        let some: Vec<WithPaths<Case>> = cases.into_iter().step_by(every).map(WithPaths::new).collect();
        let mut near: BTreeMap<(Verdict, Verdict), Vec<WithPaths<Case>>> = BTreeMap::new();
        let mut known = VerdictCache::default();
        let is_over =
            |run: &Self, found: &Uncovered| run.effort.left == 0 || found.in_clusters.len() >= MAX_WITNESSES;
        // Where one side shows objects with their types, equal quantities may count as such.
        let respells =
            show_types_once(self.compared.sides.map(Side::release)) && among.0.operation == "UPDATE";
        for case in some.iter().map(|one| &one.whole).filter(|_| respells).take(VARIED_PER_ANSWER) {
            let base = mended(&case.object, false).unwrap_or_else(|| case.object.clone());
            for [old, new] in respelled(&among.0.object, &base) {
                if is_over(self, found) {
                    return;
                }
                let case = Case { object: new, old: Some(old), around: Arc::clone(&case.around) };
                self.look(among, reads, case, found);
            }
        }
        for WithPaths { whole: case, .. } in &some {
            if is_over(self, found) {
                return;
            }
            let seen = known.of(case, || self.look(among, reads, case.clone(), found));
            let known = near.entry(seen).or_default();
            if known.len() < VARIED_PER_ANSWER {
                let object =
                    mended(&case.object, among.0.is_creation()).unwrap_or_else(|| case.object.clone());
                known.push(WithPaths::new(case.with_object(object)));
            }
        }
        // One field decides: each is given each value that is tested.
        let bases = near.values().flat_map(|known| known.iter().take(SUBSTITUTED_PER_ANSWER));
        let bases: Vec<Case> = bases.map(|base| base.whole.clone()).collect();
        let each = few / bases.len().max(1);
        for base in &bases {
            for object in substituted(&base.object, &texts, &integers).take(each) {
                if is_over(self, found) {
                    return;
                }
                let case = base.with_object(object);
                let seen = known.of(&case, || self.look(among, reads, case.clone(), found));
                let known = near.entry(seen).or_default();
                if known.len() < VARIED_PER_ANSWER {
                    known.push(WithPaths::new(case));
                }
            }
        }
        for at in 0..2 * few {
            if is_over(self, found) {
                return;
            }
            let groups = near.len().max(1);
            let Some(bases) = near.values().nth(at % groups) else { return };
            let (Some(base), Some(donor)) =
                (bases.get((at / groups) % bases.len().max(1)), some.get(at * 7919 % some.len().max(1)))
            else {
                return;
            };
            let [own, other] = [base, donor].map(|one| (&one.whole.object, one.ways(&one.whole.object)));
            let Some(object) = varied(own, other, at / 3) else { continue };
            let case = base.whole.with_object(object);
            let seen = known.of(&case, || self.look(among, reads, case.clone(), found));
            let known = near.entry(seen).or_default();
            match known.len() < VARIED_PER_ANSWER {
                true => known.push(WithPaths::new(case)),
                // The search continues from what it has found.
                false if at % 5 == 0 => known[at / 5 % VARIED_PER_ANSWER] = WithPaths::new(case),
                false => {}
            }
        }
    }

    /// Evaluates one object: the verdict of the unit, and of the others.
    pub(crate) fn look(
        &mut self,
        (environment, from, others): (&Environment, (&CachedUnit, usize), &[&CachedUnit]),
        reads: &Reads,
        case: Case,
        found: &mut Uncovered,
    ) -> (Verdict, Verdict) {
        let judged = self.judged(environment, from, others, &case, found.open.is_some());
        let seen = (judged.own, judged.others);
        if judged.is_covered {
            return seen;
        }
        match seen_in_clusters(environment, &case) {
            of_all if is_refused_with_its_classes(environment, &of_all, &case.object, reads) => {
                found.in_files.push(case);
            }
            AdmittedView::Unknown => found.in_clusters.push(case),
            AdmittedView::Admitted(as_seen)
                if self.judged(environment, from, others, &as_seen, false).is_covered =>
            {
                found.in_files.push(case);
            }
            AdmittedView::Admitted(_) => found.in_clusters.push(case),
            AdmittedView::InvalidText | AdmittedView::MissingField(_) | AdmittedView::Refused(_) => {
                if let Some(object) = mended(&case.object, environment.is_creation()) {
                    let case = case.with_object(object);
                    if let AdmittedView::Admitted(as_seen) = seen_in_clusters(environment, &case)
                        && !self.judged(environment, from, others, &as_seen, false).is_covered
                    {
                        found.in_clusters.push(case);
                        return seen;
                    }
                }
                if let Some(completed) = as_if_admitted(environment, &case)
                    && self.judged(environment, from, others, &completed, false).is_covered
                {
                    found.in_files.push(case);
                    found.in_files.truncate(MAX_WITNESSES);
                    return seen;
                }
                // Another object of the same classes may be admitted.
                found.open_in_clusters = Some(REFUSED.into());
                found.in_files.push(case);
            }
        }
        found.in_files.truncate(MAX_WITNESSES);
        seen
    }

    /// What a unit of the side `at` says of an object, and what the others say; `all`: even when it
    /// is no violation.
    pub(crate) fn judged(
        &mut self,
        environment: &Environment,
        (unit, at): (&CachedUnit, usize),
        others: &[&CachedUnit],
        case: &Case,
        all: bool,
    ) -> Judged {
        // What proves nothing has a limit of its own.
        if self.memory.one_key.leaves_out(&case.object) {
            return Judged { own: Verdict::Skip, others: Verdict::Skip, is_covered: true };
        }
        let cost = usize::from(!all);
        self.effort.evaluates(cost);
        self.observe(environment, case);
        let mut found = Judged { own: Verdict::Skip, others: Verdict::Skip, is_covered: true };
        let Some(request) = request(environment, case) else { return found };
        let own = judge(&unit.engine, &request);
        let before = before_ephemeral(environment, case).filter(|_| own.verdict.is_violation());
        let before = before.as_ref().and_then(|before| crate::search::sample::request(environment, before));
        if before.is_some_and(|before| judge(&unit.engine, &before).verdict.is_violation()) {
            // It was one before: another class (`Comparison::existing`).
            return found;
        }
        found.own = own.verdict;
        let is_violation = own.verdict.is_violation();
        if !is_violation && !all {
            return found;
        }
        found.is_covered = !is_violation;
        if is_violation {
            self.effects[at].insert(own.effect);
        }
        for other in others {
            self.effort.left = self.effort.left.saturating_sub(cost);
            let other = judge(&other.engine, &request);
            found.others = found.others.max(other.verdict);
            if !is_violation {
                continue;
            }
            if other.verdict.is_violation() {
                self.effects[1 - at].insert(other.effect);
            }
            found.is_covered |= self.options.question.covers(&own, &other, self.by_effect);
            if found.is_covered && !all {
                break;
            }
        }
        found
    }
}
