//! Sides that change objects by constants and copies, or generate some: their results are proved to
//! be the same.
//!
//! In: an environment. Out: nothing, when the objects that stand for all others were evaluated by
//! both sides as a whole; else why they are not known.
//!
//! Why these stand for all: what a rule writes is constant, at places that are known
//! (`effects::writes`), and which of it is written is decided by what the rule reads. Every other
//! part of the object stays where it is. So two sides make the same of an object when at each place
//! both write the same constant, or neither writes, or one writes the value that is there already.
//! The places that are written are put among those that are read, and the constant that is written
//! at a place among those that are tested there: it is a class of its own, so that a side that does
//! not write it shows on the objects of the other classes. Which rules write follows from the
//! classes of what they read (`objects::domain`), and for rules that follow others in the same
//! policy from these and from the constants that the others wrote. That a whole object is replaced,
//! or an item added to a list, shows on what no rule reads (`effects::frame`): each object is
//! evaluated with and without it.
//!
//! Where a value is copied each object has one that stands nowhere else (`effects::fresh`).
//!
//! Of a list whose items are changed one by one the result is the list of the results of its items,
//! if no two have one key: an item of which the sides make different things shows by itself,
//! besides the items that keep the other statements true.
//!
//! A statement of a rule about the items of a list stays true, or false, with as many items as
//! `lists::small_model` says: here of all rules of both sides, in either way, for all of them
//! decide together.
//!
//! - `checks`: rules that change objects, as rules that check what decides about the changes
//! - `footprint`: what the rules of both sides that change objects read, test and write together
//! - `positions`: objects for loops that write into the items of one list by the positions of
//!   elements of several

pub(crate) mod checks;
pub(crate) mod footprint;
pub(crate) mod positions;

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use ephor_analysis::reads::{ReadTree, Reads, Step};
use ephor_kubernetes::Types;
use ephor_kubernetes::admitted::{Reason, Refusal, admitted};
use ephor_kubernetes::schema::TypeDef;
use ephor_value::place::{PathPart, follow, parse};
use ephor_value::{Str, Value};

use crate::admitted::repair::mended;
use crate::admitted::view::{AdmittedView, as_if_admitted, is_refused_with_its_classes, seen_in_clusters};
use crate::effects::changes::checks::of_samples;
pub(crate) use crate::effects::changes::checks::{checking, validation};
use crate::effects::changes::footprint::MutationFootprint;
use crate::effects::frame::Marker;
use crate::effects::fresh::{Fresh, FreshNames};
use crate::effects::merge_keys::{MERGED, has_keys, keys_of};
use crate::inputs::context_entries::has_inputs;
use crate::model::environment::Environment;
use crate::model::limits::{MAX_DIFFERENT_OBJECTS, MAX_FIELDS};
use crate::model::request::{Case, RequestContext};
use crate::model::unsupported::Unsupported;
use crate::model::world::{Copied, ExistingObjects, World};
use crate::objects::cases::cases;
use crate::objects::contexts::request_contexts;
use crate::objects::domain::Domain;
use crate::predicates::by_field::Tested;
use crate::search::run::Run;
use crate::search::sample::REFUSED;
use crate::units::unit::open;

/// What functions of names of images assume.
const IMAGES: &str = "names of images that all languages can read";

impl Run<'_> {
    /// Compares what both sides make of all objects of an environment.
    ///
    /// # Errors
    /// Why the objects that stand for all are not known.
    pub(crate) fn changes(&mut self, environment: &Environment) -> Result<(), String> {
        let found = MutationFootprint::of(self.compared.sides, environment)?;
        let MutationFootprint {
            reads,
            tested,
            fields,
            items,
            uncounted,
            written,
            lists,
            made,
            copied,
            cloned,
            merges,
            positions,
            ..
        } = found;
        if let Some(why) = open(&reads, &tested) {
            return Err(why);
        }
        let words = Rc::clone(&self.memory.words);
        let types: &Types = Types::built_in();
        let mut domain =
            Domain::new((types, &words), (&tested, &fields), environment, items.total, self.options.objects);
        domain.deadline = self.options.deadline;
        let needed = if let Some(why) = &uncounted { Err(why.as_str()) } else { Ok(&items) };
        let (around, why) = request_contexts(environment, &reads, &tested, &words, needed, &mut None);
        let is_counted = uncounted.is_none() && !has_inputs(&reads.object) && !has_inputs(&reads.shown);
        domain.needed = is_counted.then(|| items.clone());
        let around = in_worlds(around, &cloned);
        domain.uncounted = uncounted;
        let read = positions.as_ref().map_or_else(|| vec![reads.clone()], |all| all.one_by_one(&reads));
        let of = |reads: &Reads| cases(environment, reads, &tested, &mut domain, &around);
        let cases: Vec<Case> = read.iter().flat_map(of).collect();
        let cases = match &positions {
            Some(positions) => positions.distinct(cases),
            None => cases,
        };
        if let Some(why) = domain.open.take().or(why) {
            return Err(why);
        }
        let is_assumed = domain.is_assumed;
        let mut tree = reads.shown.clone();
        tree.merge(&reads.object);
        let marking = Marking {
            marker: Marker { types, text: unread(&written), skipped: BTreeSet::new() },
            def: types.of_object(&environment.object).map(|def| &**def),
            tree,
        };
        let mut differing = 0;
        let keyed: Vec<(&Vec<Step>, &[Str])> =
            lists.iter().filter_map(|list| Some((list, keys_of(types, environment, list)?))).collect();
        // The answer is relative to that.
        let is_regular = |case: &Case| {
            keyed.iter().all(|(list, keys)| has_keys(&case.object, list, keys))
                && made.iter().all(|(_, one)| one.takes(&case.object))
        };
        let names = FreshNames { environment, tested: &tested, fields: &fields, words: &words };
        let fresh = Fresh::new(&names, [&copied[0], &copied[1]], &written, &made);
        // Others may show a difference.
        let mut open = None;
        let with_fresh = |case: Case| match copied.iter().all(BTreeSet::is_empty) {
            true => vec![case],
            false => fresh.objects(&case.object).into_iter().map(|object| case.with_object(object)).collect(),
        };
        let arranged = match &positions {
            Some(positions) => self.arranged(environment, positions, &reads, &cases)?,
            None => Vec::new(),
        };
        for case in cases.into_iter().chain(arranged).flat_map(with_fresh).filter(is_regular) {
            if fresh.has_failed() {
                return Err(of_samples(Unsupported::ComparedCopy));
            }
            if let Some(why) = self.effort.is_over() {
                return Err(why.into());
            }
            if made.iter().any(|(place, one)| !one.shows(place, &case.object)) {
                return Err(of_samples(Unsupported::UnchangedByFunction));
            }
            let known = (&reads, &fields);
            if self.differs_in_a_form(environment, known, &case, &marking, &mut open) {
                differing += 1;
            }
            if differing > MAX_DIFFERENT_OBJECTS {
                return Err("objects are left on which sides may differ".into());
            }
        }
        if let Some(why) = open {
            return Err(why);
        }
        self.findings.relative_to.extend(tested.assumptions);
        self.findings.relative_to.extend(cloned.iter().map(Copied::text));
        if is_assumed {
            self.findings.relative_to.insert(format!("the types of fields of {}", environment.object[2]));
        }
        if merges {
            self.findings.relative_to.insert(MERGED.into());
        }
        if made.iter().any(|(_, one)| one.is_of_image()) {
            self.findings.relative_to.insert(IMAGES.into());
        }
        Ok(())
    }

    /// Whether the sides differ on an object, or on it with some field that nothing reads; `open`:
    /// why that is not known.
    fn differs_in_a_form(
        &mut self,
        environment: &Environment,
        known: (&Reads, &Tested),
        case: &Case,
        marking: &Marking<'_>,
        open: &mut Option<String>,
    ) -> bool {
        let mut differs = false;
        match self.differs(environment, known, case) {
            Ok(None) => {}
            // Whatever else they have.
            Ok(Some(true)) => return false,
            Ok(Some(false)) => differs = true,
            Err(why) => {
                open.get_or_insert(why);
                return false;
            }
        }
        // Where an API server refuses an object with some field more, it may take it with another
        // one.
        let (mut found, mut marker) = (Ok(None), marking.marker.clone());
        for _ in 0..MAX_FIELDS {
            let object = marker.object(&case.object, marking.def, &marking.tree);
            if object == case.object {
                break;
            }
            let marked = case.with_object(object);
            found = self.differs(environment, known, &marked);
            if found.is_ok() || !marker.skip(refused_at(environment, &marked.object)) {
                break;
            }
        }
        match found {
            Ok(found) => differs || found.is_some(),
            Err(why) => {
                open.get_or_insert(why);
                differs
            }
        }
    }

    /// Whether the sides differ on an object; if they do, whether an API server refuses all objects
    /// of the same classes.
    ///
    /// # Errors
    /// It refuses this one, and may admit another one.
    fn differs(
        &mut self,
        environment: &Environment,
        known: (&Reads, &Tested),
        case: &Case,
    ) -> Result<Option<bool>, String> {
        self.observe(environment, case);
        self.effort.evaluates(2);
        let found = self.witness(environment, case.clone());
        match found.differs && !found.refuses_both {
            true => self.refused(environment, known, case).map(Some),
            false => Ok(None),
        }
    }

    /// An object on which the sides differ: whether an API server refuses all objects of the same
    /// classes.
    ///
    /// # Errors
    /// It refuses this one, and may admit another one.
    fn refused(
        &self,
        environment: &Environment,
        (reads, fields): (&Reads, &Tested),
        case: &Case,
    ) -> Result<bool, String> {
        match seen_in_clusters(environment, case) {
            AdmittedView::Unknown | AdmittedView::Admitted(_) => return Ok(false),
            of_all if is_refused_with_its_classes(environment, &of_all, &case.object, reads) => {
                return Ok(true);
            }
            AdmittedView::InvalidText | AdmittedView::MissingField(_) | AdmittedView::Refused(_) => {}
        }
        if is_constant(environment, fields, &case.object) {
            return Ok(true);
        }
        let is_same = |case: &Case| self.compared.differ(environment, case).is_none();
        let repaired = mended(&case.object, environment.is_creation()).map(|object| case.with_object(object));
        let shown = repaired.and_then(|case| match seen_in_clusters(environment, &case) {
            AdmittedView::Admitted(seen) => Some(seen),
            _ => None,
        });
        let completed = as_if_admitted(environment, case);
        match shown.is_none_or(|case| is_same(&case)) && completed.is_some_and(|case| is_same(&case)) {
            true => Ok(false),
            false => Err(REFUSED.into()),
        }
    }
}

/// Fields that nothing reads, for objects of a kind.
struct Marking<'t> {
    marker: Marker<'t>,
    def: Option<&'t TypeDef>,
    tree: ReadTree,
}

/// Requests with objects that rules copy, as far as these exist.
fn in_worlds(around: Vec<Arc<RequestContext>>, cloned: &BTreeSet<Copied>) -> Vec<Arc<RequestContext>> {
    if cloned.is_empty() {
        return around;
    }
    let copied: Arc<[Copied]> = cloned.iter().cloned().collect();
    let with = |one: &Arc<RequestContext>, outside: ExistingObjects| {
        Arc::new(RequestContext { world: World { outside, copied: Arc::clone(&copied) }, ..(**one).clone() })
    };
    let all =
        [ExistingObjects::Silent, ExistingObjects::Missing, ExistingObjects::Bare, ExistingObjects::Full];
    around.iter().flat_map(|one| all.map(|outside| with(one, outside))).collect()
}

/// A text that is written nowhere.
fn unread(written: &BTreeSet<String>) -> Str {
    let mut text = String::from("unread");
    while written.contains(&text) {
        text.push('x');
    }
    text.into()
}

/// The names of the fields on the way to the one because of which an API server refuses an object.
fn refused_at(environment: &Environment, object: &Value) -> Vec<Str> {
    let Some(Err(Refusal { path, .. })) = admitted(&environment.object, object) else { return Vec::new() };
    let name = |part: PathPart| match part {
        PathPart::Key(key) => Some(key),
        PathPart::Index(_) => None,
    };
    parse(&path).into_iter().filter_map(name).collect()
}

/// Whether an API server refuses an object because of a text that is a class of its own.
fn is_constant(environment: &Environment, fields: &Tested, object: &Value) -> bool {
    let Some(Err(Refusal { reason: Reason::Invalid, path, .. })) = admitted(&environment.object, object)
    else {
        return false;
    };
    let path = parse(&path);
    let (found, steps) = follow(object, &path);
    let place: Vec<Step> = path
        .iter()
        .map(|part| match part {
            PathPart::Key(key) => Step::Key(key.clone()),
            PathPart::Index(_) => Step::Items,
        })
        .collect();
    let is_alone = |text: &str| {
        let languages = fields.at(&place).languages();
        languages.globs.contains(text) || languages.texts.contains(text)
    };
    steps == path.len() && found.as_str().is_some_and(is_alone)
}
