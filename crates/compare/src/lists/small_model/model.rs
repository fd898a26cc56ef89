//! What the other files count with: the numbers of a rule, and those of one statement.
//!
//! [`Items`] is what is known of a rule, [`Need`] what one statement needs to stay true or false,
//! [`ListProvenance`] under which names lists of the object are read.

use std::collections::{BTreeMap, BTreeSet};

use ephor_functions::registry::Operation;
use ephor_ir::parts::RulePart;
use ephor_ir::rule::QuerySource;
use ephor_ir::strict::Step;
use ephor_ir::walk::holds;
use ephor_ir::{Expr, Template};
use ephor_value::{Str, Value};

use crate::lists::small_model::count::Count;
use crate::lists::small_model::shapes::Shapes;

/// How many items of lists matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Items {
    /// This many for a violation to stay one.
    pub violated: Count,
    /// This many for what is no violation to stay none.
    pub satisfied: Count,
    /// Whether for a violation to stay one each item that stays may need items of other lists.
    pub violated_by_others: bool,
    /// The same for what is no violation to stay none.
    pub satisfied_by_others: bool,
    /// Whether a violation stays one without items of a list that it reads: if this has to have
    /// one, it is one more.
    pub violated_without: bool,
    /// The same for what is no violation.
    pub satisfied_without: bool,
    /// Whether there are lists at all.
    pub any: bool,
    /// Why their number is not known.
    pub open: Option<String>,
    /// Whether the list that comes next has an existence anchor.
    pub(crate) is_existence: bool,
    /// Whether a length has a name, under which it may be compared anywhere.
    pub(crate) is_length_named: bool,
    /// Which variables of the rule are the same for all objects.
    pub(crate) constants: Vec<bool>,
    /// Whether lengths, or the operation, are used in a way that is not described.
    pub other_uses: bool,
    /// Lists that have names.
    pub(crate) grown: ListProvenance,
    pub(crate) shapes: Shapes,
    /// Which of them are labels or annotations.
    pub(crate) texts: Vec<bool>,
    /// The entries of the rule that are lists in which operators look for an item, and nothing
    /// else.
    pub(crate) searched: Vec<Str>,
    /// Whether the projection that comes next is such a list: the operator has the item that it
    /// needs.
    pub(crate) is_searched: bool,
}

/// What a loop over a list is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopUse {
    /// Each item is checked.
    Each,
    /// Some item is searched.
    Some,
    /// Exactly one item is.
    One,
    /// Anything else: its value is a list.
    Other,
}

/// This many items for a statement to stay true, and this many for it to stay false.
#[derive(Clone, Default)]
pub(crate) struct Need {
    pub(crate) to_hold: Count,
    pub(crate) to_fail: Count,
    /// Whether each item that stays may need others for the statement to stay true.
    pub(crate) holds_by_others: bool,
    /// The same for it to stay false.
    pub(crate) fails_by_others: bool,
    /// Whether it stays true without items of a list that it reads.
    pub(crate) holds_without: bool,
    /// The same for it to stay false.
    pub(crate) fails_without: bool,
}

impl Need {
    pub(crate) fn both(count: usize) -> Need {
        Need::both_of(Count::of(count))
    }

    pub(crate) fn both_of(count: Count) -> Need {
        Need { to_hold: count.clone(), to_fail: count, ..Need::default() }
    }

    pub(crate) fn and(self, other: Need) -> Need {
        Need {
            to_hold: self.to_hold.and(&other.to_hold),
            to_fail: self.to_fail.and(&other.to_fail),
            holds_by_others: self.holds_by_others || other.holds_by_others,
            fails_by_others: self.fails_by_others || other.fails_by_others,
            holds_without: self.holds_without || other.holds_without,
            fails_without: self.fails_without || other.fails_without,
        }
    }

    /// Of what becomes true with its opposite.
    pub(crate) fn negated(self) -> Need {
        Need {
            to_hold: self.to_fail,
            to_fail: self.to_hold,
            holds_by_others: self.fails_by_others,
            fails_by_others: self.holds_by_others,
            holds_without: self.fails_without,
            fails_without: self.holds_without,
        }
    }

    /// Whether it is true or false.
    pub(crate) fn either(self) -> Need {
        let most = self.to_hold.or(&self.to_fail);
        let by_others = self.holds_by_others || self.fails_by_others;
        let without = self.holds_without || self.fails_without;
        Need {
            holds_by_others: by_others,
            fails_by_others: by_others,
            holds_without: without,
            fails_without: without,
            ..Need::both_of(most)
        }
    }
}

/// The names under which lists of the object are read, and parts of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListProvenance {
    /// Which variables are such lists, and of which fields.
    pub(crate) variables: Vec<Option<BTreeSet<String>>>,
    /// Which variables are parts of the object, and of which fields where they are lists.
    pub(crate) parts: Vec<Option<BTreeSet<String>>>,
    /// The entries of the context that are.
    pub(crate) entries: BTreeMap<String, BTreeSet<String>>,
    /// Whether values have names that are no items of loops.
    pub(crate) has_binders: bool,
}

/// Whether a side of a condition is the operation of the request, which is no list.
pub(crate) fn is_operation(side: &Template) -> bool {
    fn paths(part: RulePart, found: &mut [bool; 2]) {
        match part {
            RulePart::OnDelete(_) => return,
            RulePart::Expr(Expr::Path { keys, .. }) => {
                let is_operation = keys.iter().map(|key| &**key).eq(["request", "operation"]);
                found[usize::from(is_operation)] = true;
            }
            RulePart::Expr(Expr::Walk(_) | Expr::Project { .. } | Expr::Call { .. }) => found[0] = true,
            _ => {}
        }
        part.parts(&mut |below| paths(below, found));
    }
    let mut found = [false; 2];
    paths(RulePart::Template(side), &mut found);
    found == [false, true]
}

/// Calls `f` with the parts of a part on which verdicts depend when no object is deleted.
pub(crate) fn deciding_parts<'p>(part: RulePart<'p>, f: &mut dyn FnMut(RulePart<'p>)) {
    match part {
        // Their text is that of what is put into it.
        RulePart::QuerySource(QuerySource::Dynamic { .. }) => {}
        RulePart::Claim(claim) => claim.blocks.iter().for_each(|block| f(RulePart::Conditions(block))),
        part => part.parts(&mut |below| match below {
            RulePart::Message(_) | RulePart::OnDelete(_) => {}
            below => f(below),
        }),
    }
}

/// Whether one of these parts satisfies a test.
pub(crate) fn any_deciding(part: RulePart, is: &mut dyn FnMut(RulePart) -> bool) -> bool {
    let mut found = false;
    deciding_parts(part, &mut |below| found = found || is(below));
    found
}

/// Whether a part, or what is in it, satisfies a test.
pub(crate) fn any_expr(part: RulePart, is: &dyn Fn(&Expr) -> bool) -> bool {
    match part {
        RulePart::Expr(expr) => holds(expr, is),
        part => part.any(&mut |below| any_expr(below, is)),
    }
}

/// Whether an expression is the length of a text, a list or an object.
pub(crate) fn is_length(expr: &Expr) -> bool {
    expr.called().is_some_and(|function| function.operation == Operation::Size)
}

/// The key that a step reads, if it is a text that is written there.
pub(crate) fn key_of(step: &Step) -> Option<&str> {
    match step {
        Step::Key { key: Value::Str(key), .. } => Some(key),
        Step::Key { .. } | Step::Field(_) | Step::At { .. } => None,
    }
}
