//! Witnesses: objects on which both sides as a whole differ.
//!
//! In: cases that a unit and others disagree on. Out: whether the sides differ there, which is
//! noted among the findings.

use crate::admitted::view::{AdmittedView, seen_in_clusters};
use crate::model::answer::{DifferenceKind, Universe};
use crate::model::environment::Environment;
use crate::model::request::Case;
use crate::model::verdict::{Judgement, Verdict};
use crate::search::compared::refuses_both;
use crate::search::run::Run;

/// What is assumed where an API server refuses both results.
const UNMENDED: &str = "no other webhook names an item of a list that has no name";

/// How both sides as a whole differ on an object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Witnessed {
    /// Whether they do.
    pub differs: bool,
    /// Whether they do in clusters so that the violation of the one side, or of the other, is what
    /// differs.
    pub is_real: [bool; 2],
    /// Whether an API server admits the object, and refuses the result of either side: then nothing
    /// else differs.
    pub refuses_both: bool,
}

impl Witnessed {
    fn add(&mut self, (kind, old, new): &(DifferenceKind, Judgement, Judgement), universe: Universe) {
        self.differs = true;
        for (at, own) in [old, new].into_iter().enumerate() {
            // Where both are violated, the one that fails differs: the other is covered by it.
            let is_own = *kind != DifferenceKind::Errors || own.verdict == Verdict::Error;
            self.is_real[at] |= is_own && universe != Universe::Files;
        }
    }
}

impl Run<'_> {
    /// Evaluates both sides as a whole on an object, and on the form in which an API server shows
    /// it where they do not differ in the same way on both.
    pub(crate) fn witness(&mut self, environment: &Environment, case: Case) -> Witnessed {
        let mut found = Witnessed::default();
        if self.memory.one_key.leaves_out(&case.object) {
            return found;
        }
        let as_written = self.compared.differ(environment, &case);
        let seen = seen_in_clusters(environment, &case);
        let universe =
            as_written.as_ref().map(|(kind, ..)| self.compared.universe(environment, &seen, *kind));
        let as_seen = match (seen, universe) {
            (AdmittedView::Admitted(seen), None | Some(Universe::Files)) => {
                let differ = self.compared.differ(environment, &seen);
                found.refuses_both = differ.as_ref().is_some_and(|one| refuses_both(environment, one));
                self.findings.relative_to.extend(found.refuses_both.then(|| UNMENDED.to_string()));
                differ.filter(|_| !found.refuses_both).map(|differ| (seen, differ))
            }
            _ => None,
        };
        if let (Some(differ), Some(universe)) = (as_written, universe) {
            found.add(&differ, universe);
            self.findings.note(environment, case, universe, differ);
        }
        if let Some((seen, differ)) = as_seen {
            found.add(&differ, Universe::Cluster);
            self.findings.note(environment, seen, Universe::Cluster, differ);
        }
        found
    }
}
