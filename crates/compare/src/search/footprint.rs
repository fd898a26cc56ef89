//! The footprint of a question about a unit: what it and those that may cover it read and test.
//!
//! In: a unit, and units of the other side. Out: a [`Footprint`]. Objects that agree on it are
//! alike to all of them, so `search::domains` needs one object of each class of it, whatever else
//! the policies read.

use ephor_analysis::reads::Reads;

use crate::lists::small_model::Count;
use crate::model::limits::MAX_ITEM_STATEMENTS;
use crate::predicates::by_field::Tested;
use crate::predicates::summary::Predicates;
use crate::units::unit::{Unit, open};

/// What a unit and those that may cover it read and test together.
pub(crate) struct Footprint {
    /// What they read.
    pub reads: Reads,
    /// What they test of a request.
    pub predicates: Predicates,
    /// What they test at each field.
    pub fields: Tested,
    /// How many items of each list matter (small-model bound).
    pub count: Count,
    /// How many items matter together, at most as many as are distinguished.
    pub items: usize,
    /// Why it is not known how many items matter.
    pub uncounted: Option<String>,
}

impl Footprint {
    /// Of a unit and others that together may cover it.
    pub fn of<'u>(unit: &Unit, others: impl Iterator<Item = &'u Unit>) -> Footprint {
        let mut reads = unit.reads.clone();
        let mut predicates = unit.predicates.clone();
        let mut fields = unit.tested.clone();
        let mut count = unit.items.violated.clone();
        let mut has_more = unit.items.violated_without;
        let mut uncounted = unit.items.open.clone();
        let mut go_with_others = unit.items.violated_by_others;
        for other in others {
            reads.merge(&other.reads);
            predicates.merge(&other.predicates);
            fields.merge(&other.tested);
            count = count.and(&other.items.satisfied);
            has_more |=
                other.items.satisfied_without || (other.items.any && other.items.satisfied.total == 0);
            go_with_others |= other.items.satisfied_by_others;
            uncounted = uncounted.or_else(|| other.items.open.clone());
        }
        if go_with_others {
            uncounted.get_or_insert_with(|| "items of one list go with items of another".into());
        }
        let items = count.total + usize::from(has_more);
        // Lists whose items are read one after the other need no number.
        let are_too_many = items > MAX_ITEM_STATEMENTS;
        let uncounted =
            uncounted.or_else(|| are_too_many.then(|| "many statements about items of lists".into()));
        let items = items.clamp(1, MAX_ITEM_STATEMENTS);
        Footprint { reads, predicates, fields, count, items, uncounted }
    }

    /// Why classes of values do not say all.
    pub fn open(&self) -> Option<String> {
        open(&self.reads, &self.predicates)
    }
}
