//! The comparison: each unit of one side must be covered by units of the other.
//!
//! In: two sides. Out: a [`Comparison`]. A unit that is violated by an object is covered when a
//! unit of the other side is violated by it, too. When that holds for each unit, in both directions
//! and in every environment, both sides deny the same requests. It is enough to look at the objects
//! of [`Domain`] for what the units involved read, whatever else the policies read: so the
//! combinations stay few. Objects on which a unit is not covered are evaluated by both sides as a
//! whole: where these differ, that is a difference; where they do not, more units are taken
//! together.

use std::rc::Rc;
use std::sync::Arc;

use ephor_analysis::reads::Reads;
use ephor_kubernetes::Types;

use crate::inputs::context_entries::has_inputs;
use crate::lists::closure::ListClasses;
use crate::model::environment::Environment;
use crate::model::limits::{
    FEWEST, MANY_CASES, MOST_EXPLORED, MOST_ITEMS, MOST_WITNESSES, NEXT, SOME, SOME_ITEMS, SPARSE, TIME_LIMIT,
};
use crate::model::request::{Case, RequestContext};
use crate::objects::cases::cases;
use crate::objects::contexts::request_contexts;
use crate::objects::domain::Domain;
use crate::predicates::summary::Predicates;
use crate::search::run::{Pool, Run, Uncovered};
use crate::units::cached::CachedUnit;
use crate::units::deciding::Deciding;
use crate::units::unit::open;

impl Run<'_> {
    /// On which of at most so many objects others do not cover a unit.
    pub(crate) fn cover(
        &mut self,
        environment: &Environment,
        from: (&CachedUnit, usize),
        others: &[&CachedUnit],
        most: usize,
    ) -> Uncovered {
        let (unit, _) = from;
        let mut reads = unit.reads.clone();
        let mut tested = unit.predicates.clone();
        let mut fields = unit.tested.clone();
        let mut count = unit.items.violated.clone();
        let mut has_more = unit.items.violated_without;
        let mut why = unit.items.open.clone();
        for other in others {
            reads.merge(&other.reads);
            tested.merge(&other.predicates);
            fields.merge(&other.tested);
            count = count.and(&other.items.satisfied);
            has_more |=
                other.items.satisfied_without || (other.items.any && other.items.satisfied.total == 0);
            why = why.or_else(|| other.items.open.clone());
        }
        let items = count.total + usize::from(has_more);
        if unit.items.violated_by_others || others.iter().any(|other| other.items.satisfied_by_others) {
            why.get_or_insert_with(|| "items of one list go with items of another".into());
        }
        let mut found = Uncovered { open: open(&reads, &tested), ..Uncovered::default() };
        // Lists whose items are looked at one after the other need no number.
        let uncounted =
            why.or_else(|| (items > MOST_ITEMS).then(|| "many statements about items of lists".into()));
        let items = items.clamp(1, MOST_ITEMS);
        let further = match self.looked {
            0 | 1 => 1,
            2..=NEXT => SPARSE[1],
            _ => SPARSE[2],
        };
        let few = (self.options.objects / SPARSE[0] / further / self.share).max(1);
        // The more was looked at, the less is looked at of the rest.
        let few = few.min(MOST_EXPLORED.saturating_sub(self.objects) / SPARSE[1]).max(FEWEST.min(few));
        let few = if self.is_known_to_differ(from.1) { few.min(FEWEST) } else { few };
        let limit = if found.open.is_some() { few } else { most.min(self.options.objects) };
        let words = Rc::clone(&self.words);
        // In further kinds and operations fewer are built.
        let some = if self.looked > 1 { (2 * few).clamp(FEWEST, SOME) } else { SOME };
        let is_open = found.open.is_some();
        // Where nothing can be proved, long lists are too many.
        let is_shorter = is_open && items > SOME_ITEMS;
        let (most_items, limit) = match is_shorter {
            true => (SOME_ITEMS, if self.looked > 1 { some } else { limit }),
            false => (items, limit),
        };
        let all = || std::iter::once(unit).chain(others.iter().copied());
        let needed = if let Some(why) = &uncounted { Err(why.as_str()) } else { Ok(&count) };
        let knows_no_patterns = self.sides.iter().any(|side| side.knows_no_patterns);
        let around = |deciding: &mut Option<Deciding>| {
            let (mut all, why) = request_contexts(environment, &reads, &tested, &words, needed, deciding);
            if knows_no_patterns {
                let is_pattern = |text: &str| text.contains(['*', '?']);
                all.retain(|one| !one.user.info.any_text(&is_pattern));
            }
            (all, why)
        };
        let (around_all, why) = around(&mut None);
        let (options, memory, one_key) = (self.options, Rc::clone(&self.memory), Rc::clone(&self.one_key));
        let built = |only_admitted: bool, around: &[Arc<RequestContext>], deciding: Option<Deciding>| {
            let of = (&tested, &fields);
            let mut domain = Domain::new((Types::built_in(), &words), of, environment, most_items, limit);
            domain.deadline = options.deadline;
            domain.some = some;
            domain.only_admitted = only_admitted;
            domain.one_key = Some(&one_key);
            domain.classes = ListClasses::of(environment, all(), &memory).filter(|_| !is_open);
            domain.uncounted = uncounted.clone().filter(|_| !is_shorter);
            domain.needed = Some(count.clone())
                .filter(|_| !is_shorter && !has_inputs(&reads.object) && !has_inputs(&reads.shown));
            domain.is_sampled = is_open;
            domain.deciding = deciding;
            let cases = cases(environment, &reads, &tested, &mut domain, around);
            (domain, cases)
        };
        let (mut domain, mut cases) = built(false, &around_all, None);
        if domain.open.is_some() && !is_open && domain.has_refused {
            // Those that an API server may admit may be few enough.
            let fewer = built(true, &around_all, None);
            if fewer.0.open.is_none() {
                (domain, cases) = fewer;
            }
        }
        // Or those whose parts say something else.
        let decided = |only_admitted: bool| {
            let mut deciding = Deciding::of(environment, all());
            deciding.as_ref()?;
            let (around, why) = around(&mut deciding);
            let (domain, cases) = built(only_admitted, &around, deciding);
            let has_left_out = domain.deciding.as_ref().is_some_and(|deciding| deciding.has_left_out);
            (has_left_out && why.is_none()).then_some((domain, cases))
        };
        if !is_open && (domain.open.is_some() || why.is_some() || cases.len() > MANY_CASES) {
            let mut fewer = decided(false);
            if fewer.as_ref().is_some_and(|(domain, _)| domain.open.is_some() && domain.has_refused) {
                fewer = decided(true);
            }
            if let Some((fewer, cases)) = fewer.filter(|(domain, _)| domain.open.is_none()) {
                let mut found = Uncovered::default();
                let is_done = self.each(environment, from, others, &reads, &cases, &mut found);
                // Whether an API server refuses an object is not among what its parts say.
                if !found.in_clusters.is_empty() || (is_done && found.in_files.is_empty()) {
                    self.record_assumptions(&tested, fewer.is_assumed, environment);
                    return found;
                }
            }
        }
        found.open = found.open.or(domain.open.take()).or(why);
        self.record_assumptions(&tested, domain.is_assumed, environment);
        let (texts, integers) = domain.classes();
        if found.open.is_some() && items > 1 {
            // Short lists first: these combinations are few.
            let types = Types::built_in();
            let of = |items: usize, limit: usize| {
                let mut domain = Domain::new((types, &words), (&tested, &fields), environment, items, limit);
                domain.deadline = self.options.deadline;
                domain.is_sampled = is_open;
                crate::objects::cases::cases(environment, &reads, &tested, &mut domain, &around_all)
            };
            if items > SOME_ITEMS && !is_shorter {
                cases = of(SOME_ITEMS, if self.looked > 1 { some } else { limit });
            }
            cases = of(1, few).into_iter().chain(cases.into_iter().step_by(2)).collect();
        }
        if found.open.is_some() {
            let pool = Pool { cases, texts, integers, few };
            self.explore((environment, from, others), &reads, pool, &mut found);
            return found;
        }
        self.each(environment, from, others, &reads, &cases, &mut found);
        if found.open.is_none() && found.in_clusters.is_empty() && found.open_in_clusters.is_some() {
            // An object near one that an API server refuses may be admitted.
            let few = (few / self.units).max(1);
            found.near_refused = Some((reads, Pool { cases, texts, integers, few }));
        }
        found
    }

    /// Notes what the units assume.
    fn record_assumptions(&mut self, tested: &Predicates, is_assumed: bool, environment: &Environment) {
        self.relative_to.extend(tested.assumptions.iter().cloned());
        if is_assumed {
            self.relative_to.insert(format!("the types of fields of {}", environment.object[2]));
        }
    }

    /// Looks at all cases; whether it did.
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
            if self.left == 0 {
                found.open = Some("the limit of evaluations was reached".into());
                return false;
            }
            if self.is_late() {
                found.open = Some(TIME_LIMIT.into());
                return false;
            }
            self.look((environment, from, others), reads, case.clone(), found);
            if found.in_clusters.len() >= MOST_WITNESSES {
                return false;
            }
        }
        true
    }
}
