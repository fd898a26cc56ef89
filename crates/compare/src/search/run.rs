//! The state of one comparison: what was found, and how much may still be done.

use std::collections::BTreeSet;
use std::rc::Rc;

use ephor_analysis::reads::Reads;
use ephor_value::Str;
use ephor_value::clock::{self, Instant};

use crate::lists::closure::ListMemory;
use crate::model::environment::Environment;
use crate::model::limits::{EVALUATION_LIMIT, TIME_LIMIT};
use crate::model::observer::Observer;
use crate::model::options::Options;
use crate::model::request::Case;
use crate::model::verdict::Effect;
use crate::search::compared::Compared;
use crate::search::findings::Findings;
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

/// How much was evaluated, and how much may still be.
pub(crate) struct Effort {
    /// How many evaluations are left.
    pub left: usize,
    /// How many objects were evaluated.
    pub objects: usize,
    /// How many environments were evaluated.
    pub environments: usize,
    /// Among how many units the objects are shared that are evaluated where nothing can be proved.
    pub share: usize,
    /// Among how many those near objects that an API server refuses.
    pub units: usize,
    deadline: Option<Instant>,
}

impl Effort {
    /// What options allow.
    pub fn of(options: Options) -> Effort {
        let Options { evaluations: left, deadline, .. } = options;
        Effort { left, objects: 0, environments: 0, share: 1, units: 1, deadline }
    }

    /// Counts an object, and what its evaluation costs.
    pub fn evaluates(&mut self, cost: usize) {
        self.left = self.left.saturating_sub(cost);
        self.objects += 1;
    }

    /// Why no more may be evaluated, if so.
    pub fn is_over(&self) -> Option<&'static str> {
        match self.left {
            0 => Some(EVALUATION_LIMIT),
            _ => self.is_late().then_some(TIME_LIMIT),
        }
    }

    /// Whether the time is over.
    pub fn is_late(&self) -> bool {
        clock::has_passed(self.deadline)
    }
}

/// What is computed once for a comparison.
pub(crate) struct Memory {
    /// Objects that are left out.
    pub one_key: Rc<AmbiguousWildcardKeys>,
    /// The texts of languages that were met.
    pub words: Rc<WitnessCache>,
    /// What API servers show of lists and maps, and what loops say.
    pub lists: Rc<ListMemory>,
    /// The environments that were evaluated, by what decides in them.
    pub alike: BTreeSet<String>,
}

/// One comparison while it runs.
pub(crate) struct Run<'s> {
    pub compared: Compared<'s>,
    pub options: Options,
    pub observer: Option<&'s dyn Observer>,
    pub effort: Effort,
    pub memory: Memory,
    pub findings: Findings,
    /// Whether units are compared by what follows from violations, else by verdicts.
    pub by_effect: bool,
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
        self.options.proof_only && !self.findings.is_proof()
    }

    /// Shows the observer what is evaluated.
    pub(crate) fn observe(&self, environment: &Environment, case: &Case) {
        if let Some(observer) = self.observer {
            observer.evaluated(environment, &case.object, case.old.as_ref(), &case.around);
        }
    }
}
