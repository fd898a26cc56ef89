//! The limits of a comparison.
//!
//! In: nothing. Out: constants, those that several stages share first, then those of each folder.
//! Each says what happens beyond it. None decides whether an answer is true: beyond a limit an
//! answer is "tested" with the limit as its reason, never "proved". A smaller number costs proofs
//! or differences that are not found, a larger one time. The answers on the working set
//! (`conformance/reference/`) are the measure: a change of a number shows there.

/// Statements about items of lists, more of which are not distinguished.
pub(crate) const MAX_ITEM_STATEMENTS: usize = 16;

/// How many items lists have together where longer ones are too many to be tried.
pub(crate) const MAX_ITEMS_SAMPLED: usize = 4;

/// More cases are not evaluated for one unit, unless the objects alone are more.
pub(crate) const MAX_CASES: usize = 40_000;

/// Of more cases, values that others stand for are left out. Finding these takes longer than it
/// saves where there are fewer.
pub(crate) const MAX_CASES_UNREDUCED: usize = 3_000;

/// How many objects that show a difference are evaluated by both sides.
pub(crate) const MAX_WITNESSES: usize = 64;

/// Why a comparison is no proof that evaluated as much as it may.
pub(crate) const EVALUATION_LIMIT: &str = "the limit of evaluations was reached";

/// Why one is no proof that was cut short.
pub(crate) const TIME_LIMIT: &str = "the time limit was reached";

/// How many objects are evaluated where nothing can be proved. Too few miss differences, too many
/// take the time of other units; no proof depends on them.
pub(crate) struct Sampling {
    /// Of the objects that a comparison may evaluate for a unit, one of this many is evaluated.
    one_of: usize,
    /// Fewer by this factor in the next kinds and operations, after the first ...
    next: usize,
    /// ... which are this many ...
    next_environments: usize,
    /// ... and by this factor in all others.
    rest: usize,
    /// This many objects are evaluated in all, roughly.
    explored: usize,
    /// A unit has this many objects in any case.
    pub min: usize,
    /// How many objects are built for a unit at most.
    pub max: usize,
    /// More units share the objects that this many have.
    units: usize,
}

/// How much is sampled.
pub(crate) const SAMPLING: Sampling = Sampling {
    one_of: 20,
    next: 4,
    next_environments: 3,
    rest: 10,
    explored: 120_000,
    min: 40,
    max: 2_000,
    units: 3,
};

impl Sampling {
    /// How many objects are evaluated for a unit, in the environment of this number, when this many
    /// shares were taken of what a unit may have, and this many objects were evaluated before.
    pub fn objects(&self, for_one: usize, environment: usize, share: usize, before: usize) -> usize {
        let further = match environment {
            0 | 1 => 1,
            at if at <= self.next_environments => self.next,
            _ => self.rest,
        };
        let few = (for_one / self.one_of / further / share).max(1);
        // The more was evaluated, the less is evaluated of the rest.
        few.min(self.explored.saturating_sub(before) / self.next).max(self.min.min(few))
    }

    /// Among how many the objects are shared that one unit may have.
    pub fn share(&self, units: usize) -> usize {
        (units / self.units).max(1)
    }
}

// Objects that an API server admits (`admitted`).

/// How many faults of one object are mended before it is given up.
pub(crate) const MAX_REPAIRS: usize = 12;

/// Parts of objects that nest deeper are not in the view of what an API server admits.
pub(crate) const MAX_VIEW_DEPTH: usize = 64;

// Claims about a result (`claim`).

/// How many objects are evaluated in addition where a claim is not proved.
pub(crate) const MAX_MORE_OBJECTS: usize = 5_000;

/// Objects that nest deeper are not searched for what a claim names.
pub(crate) const MAX_CLAIM_DEPTH: usize = 64;

/// How many objects of a rule are evaluated to distinguish errors from violations.
pub(crate) const MAX_OBJECTS_FOR_ERRORS: usize = 200;

// Effects of rules that mutate and generate (`effects`).

/// More items of a list are not put next to its smallest one.
pub(crate) const MAX_ADJACENT_ITEMS: usize = 24;

/// Lists that nest deeper get no adjacent items.
pub(crate) const MAX_ADJACENT_DEPTH: usize = 16;

/// On more objects differences are not searched.
pub(crate) const MAX_DIFFERENT_OBJECTS: usize = 64;

/// How many fields are tried as those that no rule reads.
pub(crate) const MAX_FIELDS: usize = 8;

/// How many objects are evaluated where loops write by positions.
pub(crate) const MAX_POSITION_OBJECTS: usize = 100_000;

/// Parts of an existing object that nest deeper are left out.
pub(crate) const MAX_EXISTING_DEPTH: usize = 6;

/// Parts of objects that nest deeper get no probe.
pub(crate) const MAX_FRAME_DEPTH: usize = 64;

/// How many items the lists have of objects whose results are compared.
pub(crate) const MAX_RESULT_ITEMS: usize = 2;

/// How many objects of a kind and operation are evaluated where nothing is proved.
pub(crate) const MAX_SAMPLED_RESULTS: usize = 1_500;

/// Values that nest deeper are not copied as wholes.
pub(crate) const MAX_COPIED_PARTS: usize = 8;

/// Changes that nest deeper are not followed.
pub(crate) const MAX_WRITE_DEPTH: usize = 64;

// What both sides read from a cluster (`inputs`).

/// How many context entries may name one another in a row.
pub(crate) const MAX_ENTRY_NAMES: usize = 16;

/// More variables in one query are not unified.
pub(crate) const MAX_HOLES: usize = 16;

// Findings about one policy (`lint`).

/// More parts of a policy are not left out one by one.
pub(crate) const MAX_LINT_PARTS: usize = 48;

// Items of lists (`lists`).

/// More lists of items are not combined.
pub(crate) const MAX_LISTS: usize = 4_096;

/// Longer lists are not tried.
pub(crate) const MAX_LIST_LENGTH: usize = 64;

/// With more verdicts of loops a closure is given up: it takes minutes.
pub(crate) const MAX_ANSWERS: usize = 60_000;

/// How much of what an API server shows of lists is stored to be found again.
pub(crate) const MAX_SHOWN: usize = 50_000;

/// Expressions of more nodes are not followed through a loop.
pub(crate) const MAX_NODES: usize = 128;

/// Longer lists are not counted.
pub(crate) const MAX_COUNTED_LENGTH: i64 = 8;

/// More loops of a unit are not replaced by what they decide.
pub(crate) const MAX_LOOPS: usize = 64;

/// Expressions that nest deeper are no projection of a list.
pub(crate) const MAX_PROJECTION_DEPTH: usize = 64;

// Messages (`messages`).

/// Of more objects messages are not compared.
pub const MAX_WITH_MESSAGES: usize = 20_000;

// Objects and users that are built (`objects`).

/// More combinations of users and namespaces are not evaluated.
pub(crate) const MAX_CONTEXTS: usize = 400;

/// Parts of objects that nest deeper are not read.
pub(crate) const MAX_OBJECT_DEPTH: usize = 24;

/// More fields of which an API server takes one are not tried all together.
pub(crate) const MAX_SOURCES_TOGETHER: usize = 4;

/// For more loops over a list, lists of one item are tried instead where that is enough.
pub(crate) const MAX_LOOPS_TOGETHER: usize = 8;

/// More names of fields are not tried together.
pub(crate) const MAX_NAMES_OF_KEYS: usize = 8;

/// Types that nest deeper have no values as wholes.
pub(crate) const MAX_WHOLE_DEPTH: usize = 16;

/// More lists of groups, or of roles, are not tried.
pub(crate) const MAX_GROUP_LISTS: usize = 200;

/// More users are not evaluated.
pub(crate) const MAX_USERS: usize = 2_000;

// Pairs of rules (`pairs`).

/// Fields that nest deeper count as one.
pub(crate) const MAX_OVERLAP_DEPTH: usize = 16;

// Search for cases that one side does not cover (`search`).

/// How many of the nearest units are tried alone.
pub(crate) const MAX_UNITS_ALONE: usize = 3;

/// How many units of the other side are taken together.
pub(crate) const MAX_UNITS_TOGETHER: usize = 32;

/// How many other units are added to one unit of the other side.
pub(crate) const MAX_ADDED: usize = 6;

/// How many objects on which sides differ compete to be shown.
pub(crate) const MAX_REAL_WITNESSES: usize = 8;

/// How many objects are evaluated for a unit of a rule of which a difference is shown already.
pub(crate) const MAX_OBJECTS_OF_SHOWN: usize = 400;

/// Near how many attempts whose objects an API server refuses others are searched.
pub(crate) const MAX_REFUSED: usize = 3;

// Kinds and operations (`sides`).

/// More kinds are sampled: a rule for all kinds says the same of most of them.
pub(crate) const MAX_KINDS: usize = 128;

// Texts and numbers (`strings`).

/// Memory of one automaton of a regular expression, in bytes.
pub(crate) const MAX_AUTOMATON_BYTES: usize = 8 << 20;

/// With more states a product of automata is given up.
pub(crate) const MAX_STATES: usize = 20_000;

/// Larger constants have no class of numbers.
pub(crate) const MAX_NUMBER: i128 = 1 << 96;

/// More numerals are not tried.
pub(crate) const MAX_NUMERALS: usize = 6_000;

/// How many numbers of each unit of a quantity are tried.
pub(crate) const MAX_NUMBERS_OF_UNIT: i128 = 12;

// Units and their atoms (`units`).

/// Expressions that nest deeper are one atom.
pub(crate) const MAX_ATOM_DEPTH: usize = 32;

/// A unit of more atoms is evaluated as a whole.
pub(crate) const MAX_ATOMS: usize = 96;

/// How many verdicts of an atom are stored.
pub(crate) const MAX_KNOWN: usize = 50_000;

/// With more verdicts a field is not reduced: it takes minutes.
pub(crate) const MAX_VERDICTS: usize = 400_000;

/// Fewer objects that lack fields are left as they are.
pub(crate) const MIN_INCOMPLETE_OBJECTS: usize = 64;
