//! The comparison: each unit of one side must be covered by units of the other.
//!
//! In: two sides. Out: a [`Comparison`]. A unit that is violated by an object is covered when a
//! unit of the other side is violated by it, too. When that holds for each unit, in both directions
//! and in every environment, both sides deny the same requests. It is enough to look at the objects
//! of [`Domain`] for what the units involved read, whatever else the policies read: so the
//! combinations stay few. Objects on which a unit is not covered are evaluated by both sides as a
//! whole: where these differ, that is a difference; where they do not, more units are taken
//! together.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use ephor_analysis::reads::{Reads, Step, Tree};
use ephor_kubernetes::Types;
use ephor_value::Value;
use ephor_value::print::json;

use super::answer::{Answer, Comparison, Difference};
use super::atoms::Deciding;
use super::classes::{Classes, Memory};
use super::differences::Key;
use super::domain::{Domain, SOME};
use super::environment::{Environment, environments};
use super::explore::Pool;
use super::inputs::has_inputs;
use super::observer::Observer;
use super::one_key::OneKey;
use super::predicates::Predicates;
use super::results::same;
use super::seen::is_read;
use super::side::{Effect, Side};
use super::signature::signature;
use super::surroundings::{Case, IDENTITY, Surroundings, identified, surroundings};
use super::tested::Tested;
use super::units::{Unit, units};
use super::whatever_comes::{Outside, whatever_comes};
use super::words::Words;

/// How much a comparison may do.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many objects are evaluated at most for one unit.
    pub objects: usize,
    /// How many evaluations there are at most in all.
    pub evaluations: usize,
    /// When the comparison ends at the latest, with the best answer so far.
    pub deadline: Option<Instant>,
    /// Only whether the new side denies what the old one denies, not the other way round.
    pub one_way: bool,
    /// Whether a violation because of an error is another one than a violation without.
    pub errors: bool,
    /// The kinds of objects that are compared.
    pub kinds: Chosen,
    /// Whether a rule that the other side has, too, is covered without a look at objects.
    pub same_rules: bool,
    /// Whether only a proof matters that is relative to nothing: the comparison ends at the first
    /// thing that prevents one, and differences are as they were met.
    pub proof_only: bool,
}

/// Which kinds of objects are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// All that a side selects.
    All,
    /// This one alone.
    Only(&'static str),
    /// All but this one.
    Without(&'static str),
}

impl Chosen {
    fn has(self, kind: &str) -> bool {
        match self {
            Chosen::All => true,
            Chosen::Only(one) => one == kind,
            Chosen::Without(one) => one != kind,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            objects: 20_000,
            evaluations: 600_000,
            deadline: None,
            one_way: false,
            errors: true,
            kinds: Chosen::All,
            same_rules: true,
            proof_only: false,
        }
    }
}

/// Statements about items of lists, more of which are not distinguished.
pub(crate) const MOST_ITEMS: usize = 16;

/// Lists of so many items are tried where longer ones are too many.
const SOME_ITEMS: usize = 4;

/// More objects with what surrounds them are not looked at for one unit, unless these are more
/// alone.
const MOST_CASES: usize = 40_000;

/// Of more, values that others stand for are left out.
const MANY_CASES: usize = 3_000;

/// How many objects that show a difference are evaluated by both sides.
pub(crate) const MOST_WITNESSES: usize = 64;

/// Where nothing can be proved, one object of so many is evaluated, and fewer by the other factors
/// for the next kinds and operations, and for all others.
const SPARSE: [usize; 3] = [20, 4, 10];

/// For so many kinds and operations the second of these factors counts.
const NEXT: usize = 3;

/// So many objects are looked at where nothing can be proved, roughly.
const MOST_EXPLORED: usize = 120_000;

/// A unit has so many of them in any case.
pub(crate) const FEWEST: usize = 40;

/// More units share the objects that these have.
const FEW_UNITS: usize = 3;

/// Why a comparison that was cut short is no proof.
pub(crate) const TIME_LIMIT: &str = "the time limit was reached";

/// Compares two sides.
pub fn compare(old: &Side, new: &Side, options: Options) -> Comparison {
    compare_observed(old, new, options, None)
}

/// The same, with an observer of the objects that are evaluated.
pub fn compare_observed<'s>(
    old: &'s Side,
    new: &'s Side,
    options: Options,
    observer: Option<&'s dyn Observer>,
) -> Comparison {
    // What holds relative to external data is no proof of the kind that counts.
    if options.proof_only {
        return of_sides(old, new, options, observer);
    }
    let doubt = match whatever_comes([old, new], options) {
        Outside::Equal(found) => {
            observer.into_iter().for_each(Observer::skipped);
            return *found;
        }
        Outside::Other(doubt) => doubt,
    };
    let mut found = of_sides(old, new, options, observer);
    if let Some(doubt) = doubt {
        if let Answer::Tested(reasons) = &mut found.answer {
            reasons.push(doubt.clone());
        }
        found.reasons.push(doubt);
    }
    found
}

/// Why sides are not the same that are evaluated in the same way: one of them, or a part of it, is
/// not evaluated when requests are admitted.
fn not_admitted(sides: [&Side; 2]) -> Option<String> {
    let [old, new] =
        sides.map(|side| side.policies().iter().map(|policy| policy.admission).collect::<BTreeSet<bool>>());
    let differ = !old.is_empty() && !new.is_empty() && old != new;
    differ.then(|| "some policies of one side alone are not evaluated when requests are admitted".into())
}

pub(crate) fn of_sides<'s>(
    old: &'s Side,
    new: &'s Side,
    options: Options,
    observer: Option<&'s dyn Observer>,
) -> Comparison {
    let (mut environments, partly) = environments([old, new]);
    environments.retain(|environment| options.kinds.has(&environment.resource.kind));
    let mut kinds: Vec<String> = environments.iter().map(|e| e.resource.kind.to_string()).collect();
    kinds.dedup();
    if let Some(why) = [old, new].into_iter().find_map(Side::unsupported) {
        // Rules of one text in the environments that are known say nothing of the others.
        let same = partly.is_none().then(|| is_same_text(old, new, &environments)).flatten();
        let answer = match same {
            Some(relative_to) => Answer::ProvedRelative(relative_to.into_iter().collect()),
            None => Answer::Incomparable(why),
        };
        return Comparison {
            answer,
            differences: Vec::new(),
            existing: None,
            reordered: false,
            objects: 0,
            kinds,
            reasons: Vec::new(),
            relative_to: Vec::new(),
        };
    }
    let mut run = Run {
        sides: [old, new],
        strict: [old, new]
            .into_iter()
            .any(Side::allows_existing)
            .then(|| [old, new].map(Side::without_existing)),
        options,
        observer,
        left: options.evaluations,
        objects: 0,
        reasons: partly.into_iter().chain(not_admitted([old, new])).collect(),
        relative_to: BTreeSet::new(),
        found: BTreeMap::new(),
        one_key: Rc::new(OneKey::of([old, new])),
        words: Rc::default(),
        memory: Rc::default(),
        alike: BTreeSet::new(),
        looked: 0,
        share: 1,
        units: 1,
        has_effects: ![old, new].into_iter().any(Side::is_unbound),
        only_generate: [old, new].into_iter().all(Side::only_generates),
        by_effect: false,
        reordered: Cell::new(false),
        effects: Default::default(),
    };
    let changes = old.changes() || new.changes();
    for environment in &environments {
        match changes {
            true => run.results(environment),
            false => run.environment(environment),
        }
    }
    if let Some(observer) = observer {
        run.words.classes().iter().for_each(|classes| observer.texts(classes));
    }
    run.end(kinds)
}

pub(crate) struct Run<'s> {
    pub sides: [&'s Side; 2],
    /// The same without what allows updates of violations, where a side does.
    pub strict: Option<[Side; 2]>,
    pub options: Options,
    observer: Option<&'s dyn Observer>,
    pub left: usize,
    pub objects: usize,
    /// Why agreement on all objects that were tried is no proof.
    pub reasons: BTreeSet<String>,
    /// The external data that both sides read in the same way.
    pub relative_to: BTreeSet<String>,
    pub found: BTreeMap<Key, Difference>,
    /// Objects that are left out.
    pub one_key: Rc<OneKey>,
    /// The texts of languages that were met.
    pub words: Rc<Words>,
    /// What API servers show of lists and maps, and what loops say.
    memory: Rc<Memory>,
    /// The environments that were looked at, by what decides in them.
    alike: BTreeSet<String>,
    /// How many environments were looked at.
    looked: usize,
    /// Among how many units the objects are shared that are evaluated where nothing can be proved.
    share: usize,
    /// Among how many those near objects that an API server refuses.
    units: usize,
    /// Whether what follows from violations is known.
    pub has_effects: bool,
    /// Whether both sides do nothing but generate objects.
    pub only_generate: bool,
    /// Whether units are compared by what follows from violations, else by verdicts.
    pub by_effect: bool,
    /// Whether both sides left the items of a list in another order.
    pub reordered: Cell<bool>,
    /// What followed from violations of either side in an environment.
    pub effects: [BTreeSet<Effect>; 2],
}

/// On which objects units do not cover one.
#[derive(Default)]
pub(crate) struct Uncovered {
    /// On these, which exist in clusters.
    pub in_clusters: Vec<Case>,
    /// On these, which exist in files.
    pub in_files: Vec<Case>,
    /// Why the objects that were tried do not stand for all.
    pub open: Option<String>,
    /// Why those in clusters do not.
    pub open_in_clusters: Option<String>,
    /// What is read, and where to look, when an API server refuses all of the objects on which they
    /// do not.
    pub near_refused: Option<(Reads, Pool)>,
}

impl Run<'_> {
    fn environment(&mut self, environment: &Environment) {
        if self.is_late() {
            self.reasons.insert(TIME_LIMIT.into());
            return;
        }
        if self.is_over() {
            return;
        }
        let mut sides = self.sides.map(|side| units(side, environment));
        sides.iter_mut().for_each(|units| units.retain(|unit| may_matter(environment, unit)));
        let are_patterns = sides.iter().flatten().any(|unit| unit.predicates.are_patterns);
        sides.iter_mut().flatten().for_each(|unit| unit.tested.are_patterns = are_patterns);
        Tested::share(sides.iter_mut().flatten().map(|unit| &mut unit.tested));
        // Kinds and operations that all rules treat alike are looked at once.
        if let Some(signature) = signature(environment, &sides)
            && !self.alike.insert(signature)
        {
            return;
        }
        self.looked += 1;
        self.memory.next_environment();
        let is_open = |unit: &&Unit| open(&unit.reads, &unit.predicates).is_some();
        self.share = (sides.iter().flatten().filter(is_open).count() / FEW_UNITS).max(1);
        self.units = (sides.iter().flatten().count() / FEW_UNITS).max(1);
        self.effects = Default::default();
        self.units(environment, &sides);
        // Where all violations of both sides have one consequence, what is covered is covered in
        // this, too.
        let [old, new] = &self.effects;
        if self.has_effects && (old.len() > 1 || new.len() > 1 || (old != new && !old.is_empty())) {
            self.by_effect = true;
            self.units(environment, &sides);
            self.by_effect = false;
        }
    }

    fn units(&mut self, environment: &Environment, [old, new]: &[Vec<Unit>; 2]) {
        let directions = if self.options.one_way { 1 } else { 2 };
        for (from, to, at) in [(old, new, 0), (new, old, 1)].into_iter().take(directions) {
            for unit in from {
                if self.is_over() {
                    return;
                }
                let is_same = |other: &Unit| unit.identity.is_some() && unit.identity == other.identity;
                match self.options.same_rules && to.iter().any(is_same) {
                    true => {
                        self.relative_to.extend(unit.external.iter().cloned());
                        self.observer.into_iter().for_each(Observer::skipped);
                    }
                    false => self.unit(environment, unit, to, at),
                }
            }
        }
    }

    /// On which of at most so many objects others do not cover a unit.
    pub(crate) fn cover(
        &mut self,
        environment: &Environment,
        from: (&Unit, usize),
        others: &[&Unit],
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
            let (mut all, why) = surroundings(environment, &reads, &tested, &words, needed, deciding);
            if knows_no_patterns {
                let is_pattern = |text: &str| text.contains(['*', '?']);
                all.retain(|one| !one.user.info.any_text(&is_pattern));
            }
            (all, why)
        };
        let (around_all, why) = around(&mut None);
        let (options, memory, one_key) = (self.options, Rc::clone(&self.memory), Rc::clone(&self.one_key));
        let built = |only_admitted: bool, around: &[Arc<Surroundings>], deciding: Option<Deciding>| {
            let of = (&tested, &fields);
            let mut domain = Domain::new((Types::built_in(), &words), of, environment, most_items, limit);
            domain.deadline = options.deadline;
            domain.some = some;
            domain.only_admitted = only_admitted;
            domain.one_key = Some(&one_key);
            domain.classes = Classes::of(environment, all(), &memory).filter(|_| !is_open);
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
                    self.takes(&tested, fewer.is_assumed, environment);
                    return found;
                }
            }
        }
        found.open = found.open.or(domain.open.take()).or(why);
        self.takes(&tested, domain.is_assumed, environment);
        let (texts, integers) = domain.classes();
        if found.open.is_some() && items > 1 {
            // Short lists first: these combinations are few.
            let types = Types::built_in();
            let of = |items: usize, limit: usize| {
                let mut domain = Domain::new((types, &words), (&tested, &fields), environment, items, limit);
                domain.deadline = self.options.deadline;
                domain.is_sampled = is_open;
                self::cases(environment, &reads, &tested, &mut domain, &around_all)
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

    /// Notes what is taken for granted.
    fn takes(&mut self, tested: &Predicates, is_assumed: bool, environment: &Environment) {
        self.relative_to.extend(tested.taken.iter().cloned());
        if is_assumed {
            self.relative_to.insert(format!("the types of fields of {}", environment.object[2]));
        }
    }

    /// Looks at all cases; whether it did.
    fn each(
        &mut self,
        environment: &Environment,
        from: (&Unit, usize),
        others: &[&Unit],
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

    /// Whether only a proof matters, and there is none.
    pub(crate) fn is_over(&self) -> bool {
        self.options.proof_only
            && !(self.found.is_empty() && self.reasons.is_empty() && self.relative_to.is_empty())
    }

    /// Whether the time is over.
    pub(crate) fn is_late(&self) -> bool {
        self.options.deadline.is_some_and(|end| Instant::now() >= end)
    }

    /// Shows the observer what is evaluated.
    pub(crate) fn observe(&self, environment: &Environment, case: &Case) {
        if let Some(observer) = self.observer {
            observer.evaluated(environment, &case.object, case.old.as_ref(), &case.around);
        }
    }
}

/// The cases of an environment: objects, and what surrounds them.
pub(crate) fn cases(
    environment: &Environment,
    reads: &Reads,
    tested: &Predicates,
    domain: &mut Domain<'_>,
    around: &[Arc<Surroundings>],
) -> Vec<Case> {
    let mut tree = reads.shown.clone();
    // In deletions there is no new object.
    tree.merge(if environment.operation == "DELETE" { &reads.old } else { &reads.object });
    if &*environment.resource.kind == "Namespace" {
        // Selectors of namespaces look at the labels of the object.
        for label in tested.namespace_labels.keys() {
            tree.add(&["metadata", "labels", label].map(|key| Step::Key(key.into())), true);
        }
    }
    let is_update = environment.operation == "UPDATE" && reads.old != Tree::default();
    let mut former = reads.old.clone();
    if is_update {
        // Of an object that stays, the name and the namespace do, too.
        for key in IDENTITY.iter().filter(|key| takes_out(&mut former, key)) {
            tree.add(&["metadata", key].map(|key| Step::Key(key.into())), true);
        }
    }
    let objects = domain.objects(environment, &tree, reads.name);
    // Loops look at the new object, and so do parts that decide.
    domain.classes = None;
    let deciding = domain.deciding.take();
    let before: Vec<Option<Value>> = match is_update {
        true => {
            let mut known = BTreeSet::new();
            let all = domain.objects(environment, &former, false).into_iter();
            let all = all.map(|old| identified(&old, &Value::Null));
            all.filter(|old| known.insert(json(old))).map(Some).collect()
        }
        false => vec![None],
    };
    domain.deciding = deciding;
    let most = objects.len().max(before.len()).max(MOST_CASES);
    let total = objects.len().saturating_mul(before.len()).saturating_mul(around.len());
    if total > most {
        domain.open.get_or_insert_with(|| "too many combinations of objects".into());
    }
    let case = |at: usize| {
        let object = objects.get(at % objects.len())?;
        let rest = at / objects.len();
        let old = before.get(rest % before.len())?.as_ref().map(|old| identified(old, object));
        Some(Case { object: object.clone(), old, around: Arc::clone(around.get(rest / before.len())?) })
    };
    spread(total, most).filter_map(case).collect()
}

/// So many of some numbers, in their order where these are all, else from everywhere.
fn spread(total: usize, most: usize) -> impl Iterator<Item = usize> {
    let are_coprime = |step: &usize| {
        let (mut a, mut b) = (total, *step);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a == 1
    };
    // About the golden section of them: what is near each other comes far apart.
    let golden = total / 1_000 * 618 + total % 1_000 * 618 / 1_000;
    let step = if total <= most { 1 } else { (golden.max(1)..).find(are_coprime).unwrap_or(1) };
    (0..total.min(most)).scan(0, move |at, _| {
        let here = *at;
        *at = (*at + step) % total.max(1);
        Some(here)
    })
}

/// Takes a field of the metadata out of what is read; whether it was read.
fn takes_out(tree: &mut Tree, key: &str) -> bool {
    let Some((_, metadata)) = tree.keys.iter_mut().find(|(own, _)| **own == *"metadata") else {
        return false;
    };
    let before = metadata.keys.len();
    metadata.keys.retain(|(own, _)| **own != *key);
    metadata.keys.len() < before
}

/// Whether a request in an environment can violate what the object did not violate before: what is
/// sent for ephemeral containers changes nothing else of a Pod.
fn may_matter(environment: &Environment, unit: &Unit) -> bool {
    let field = "spec.ephemeralContainers";
    &*environment.subresource != "ephemeralcontainers" || !unit.is_all_read || is_read(&unit.reads, field)
}

/// The external data of both sides, when they have the same rules in every environment.
fn is_same_text(old: &Side, new: &Side, environments: &[Environment]) -> Option<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for environment in environments {
        all.extend(same(&[old, new].map(|side| units(side, environment)))?);
    }
    Some(all)
}

/// Why classes of values do not say all.
pub(crate) fn open(reads: &Reads, tested: &Predicates) -> Option<String> {
    tested.open.clone().or_else(|| reads.external.then(|| "external data".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_many_are_from_everywhere_and_each_is_taken_once() {
        assert_eq!(spread(5, 9).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(spread(0, 9).count(), 0);
        for total in [100, 1_000, 65_536, 99_991] {
            let found: BTreeSet<usize> = spread(total, 90).collect();
            assert_eq!(found.len(), 90, "{total}");
            let tenths: BTreeSet<usize> = found.iter().map(|at| at * 10 / total).collect();
            assert_eq!(tenths.len(), 10, "{total}");
        }
    }
}
