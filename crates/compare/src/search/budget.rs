//! How much is evaluated for one question about a unit.
//!
//! In: the footprint, and how much was read before. Out: a [`Budget`]. Where classes of values
//! say all, every combination is evaluated and the budget is a limit; else some of them are, and
//! fewer in each further kind and operation ([`SAMPLING`]).

use crate::model::limits::{MAX_ITEMS_SAMPLED, SAMPLING};
use crate::search::footprint::Footprint;
use crate::search::run::Run;

/// How many objects are built and evaluated for a unit.
pub(crate) struct Budget {
    /// Whether classes of values do not say all: nothing can be proved.
    pub is_open: bool,
    /// Whether lists are shorter than those that matter.
    pub is_shorter: bool,
    /// How many items lists have together, at most.
    pub items: usize,
    /// How many objects are built at most.
    pub limit: usize,
    /// The same when they do not stand for all others.
    pub some: usize,
    /// How many are evaluated where nothing can be proved, roughly.
    pub few: usize,
}

impl Budget {
    /// For a unit of the side `at`, of whose objects at most `most` are evaluated.
    pub fn of(run: &Run<'_>, footprint: &Footprint, at: usize, most: usize) -> Budget {
        let is_open = footprint.open().is_some();
        let few = SAMPLING.objects(
            run.options.objects,
            run.effort.environments,
            run.effort.share,
            run.effort.objects,
        );
        let few = if run.findings.is_known_to_differ(at) { few.min(SAMPLING.min) } else { few };
        let limit = if is_open { few } else { most.min(run.options.objects) };
        // In further kinds and operations fewer are built.
        let is_further = run.effort.environments > 1;
        let some = if is_further { (2 * few).clamp(SAMPLING.min, SAMPLING.max) } else { SAMPLING.max };
        // Where nothing can be proved, long lists are too many.
        let is_shorter = is_open && footprint.items > MAX_ITEMS_SAMPLED;
        let (items, limit) = match is_shorter {
            true => (MAX_ITEMS_SAMPLED, if is_further { some } else { limit }),
            false => (footprint.items, limit),
        };
        Budget { is_open, is_shorter, items, limit, some, few }
    }

    /// The most objects of short lists that are tried first.
    pub fn short_limit(&self, run: &Run<'_>) -> usize {
        if run.effort.environments > 1 { self.some } else { self.limit }
    }
}
