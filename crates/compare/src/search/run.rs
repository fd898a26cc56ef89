//! The state of one comparison: what was found, and how much may still be done.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use ephor_analysis::reads::Reads;
use ephor_value::Str;

use crate::lists::closure::ListMemory;
use crate::model::answer::{Difference, DifferenceKind};
use crate::model::environment::Environment;
use crate::model::observer::Observer;
use crate::model::options::Options;
use crate::model::request::Case;
use crate::model::verdict::Effect;
use crate::sides::side::Side;
use crate::sides::wildcard_keys::AmbiguousWildcardKeys;
use crate::strings::witnesses::WitnessCache;

/// Where objects to evaluate are taken from.
pub(crate) struct Pool {
    /// Objects that are spread over all combinations.
    pub cases: Vec<Case>,
    /// Texts of each class.
    pub texts: Vec<Str>,
    /// Integers of each class.
    pub integers: Vec<i64>,
    /// How many are read, roughly.
    pub few: usize,
}

/// What identifies a kind of difference: how, on which kind, whether in deletions, and by which
/// rules.
pub(crate) type Key = (DifferenceKind, String, bool, [Option<String>; 2]);

pub(crate) struct Run<'s> {
    pub sides: [&'s Side; 2],
    /// The same without what allows updates of violations, where a side does.
    pub strict: Option<[Side; 2]>,
    pub options: Options,
    pub(crate) observer: Option<&'s dyn Observer>,
    pub left: usize,
    pub objects: usize,
    /// Why agreement on all objects that were tried is no proof.
    pub reasons: BTreeSet<String>,
    /// The external data that both sides read in the same way.
    pub relative_to: BTreeSet<String>,
    pub found: BTreeMap<Key, Difference>,
    /// Objects that are left out.
    pub one_key: Rc<AmbiguousWildcardKeys>,
    /// The texts of languages that were met.
    pub words: Rc<WitnessCache>,
    /// What API servers show of lists and maps, and what loops say.
    pub(crate) memory: Rc<ListMemory>,
    /// The environments that were evaluated, by what decides in them.
    pub(crate) alike: BTreeSet<String>,
    /// How many environments were evaluated.
    pub(crate) looked: usize,
    /// Among how many units the objects are shared that are evaluated where nothing can be proved.
    pub(crate) share: usize,
    /// Among how many those near objects that an API server refuses.
    pub(crate) units: usize,
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
