//! Releases of cel-go, whose functions, words and costs differ in a few points.
//!
//! In: a level. Out: its row of [`LevelRules`], which is what code reads; no code compares levels.
//! The rows were recorded by running each release's own environment on the same expressions
//! (`conformance/kubernetes-cel`): cel-go 0.26.0 in k8s.io/apiserver 0.36.3, 0.29.2 in 0.37.2,
//! 0.30 in Kyverno 1.19.1, 0.33.2 in 0.38.0-beta.0.

use ephor_value::release::Release;

/// The level of CEL's runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CelLevel {
    /// 0.26, of the API server 1.34, which introduced functions of lists.
    V26NewLists,
    /// 0.26, of the API servers 1.35 and 1.36.
    V26,
    /// 0.29, of the API server 1.37.
    V29,
    /// 0.30, which Kyverno is built with.
    V30,
    /// 0.30 as Kyverno runs it: `orValue` takes values that are not optional.
    #[default]
    Kyverno,
    /// 0.33, of the API server 1.38.
    V33,
}

/// Which expressions of an API server's level have a function. A server refuses new expressions
/// that the release before it would refuse, so that it can be taken back; it runs stored ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// None.
    Absent,
    /// Those of objects that are stored already: the release introduces the function.
    Stored,
    /// All.
    Always,
}

impl Availability {
    /// Whether expressions have the function, new or stored ones.
    pub fn allows(self, is_new: bool) -> bool {
        match self {
            Availability::Absent => false,
            Availability::Stored => !is_new,
            Availability::Always => true,
        }
    }
}

/// What differs between levels.
#[derive(Clone, Copy, Debug)]
pub struct LevelRules {
    /// Which expressions have `distinct`, `flatten`, `reverse`, `slice`, `sort`, `sortBy` and
    /// `lists.range`, introduced in Kubernetes 1.34.
    pub lists: Availability,
    /// Which expressions have `includes`, introduced in Kubernetes 1.37.
    pub includes: Availability,
    /// Which expressions have `isMask`, introduced in Kubernetes 1.38.
    pub masks: Availability,
    /// `duration` has a form for integers, which always fails.
    pub has_integer_durations: bool,
    /// Names in backticks are fields in policies.
    pub has_backticks: bool,
    /// `or` and `orValue` of a value that is not optional fail; else they give the value.
    pub wants_optionals: bool,
    /// `orValue(a, b)` is the same as `a.orValue(b)`.
    pub has_global_or_value: bool,
    /// A call of two arguments ends at the first fault, without its cost.
    pub ends_at_first_fault: bool,
    /// A call whose arguments failed costs nothing; equality costs as if they had not.
    pub failed_calls_are_free: bool,
    /// A loop for the only item of its kind still counts items once it has failed.
    pub counts_once_failed: bool,
    /// A loop that makes a list and has failed reads its list alone for each further item.
    pub reads_failed_lists: bool,
    /// A loop that has failed still compares its count for being the only one.
    pub compares_once_failed: bool,
    /// Branches of a condition lose a layer of an optional when they are read again.
    pub rereads_branches: bool,
    /// `matches(text, pattern)` costs as much as `text.matches(pattern)`.
    pub counts_global_matches: bool,
    /// `startsWith` and `endsWith` cost the affix; else the text.
    pub counts_affixes: bool,
    /// `flatten` of a negative depth costs the list once.
    pub counts_negative_depths: bool,
    /// `indexOf` and `lastIndexOf` of the empty text are never past the end of the text.
    pub bounds_empty_indices: bool,
    /// `lists.range` of a negative number fails.
    pub refuses_negative_ranges: bool,
    /// The most items that `lists.range` makes without a fault of its own.
    pub longest_range: Option<i64>,
    /// `<` and its like are false of NaN; else they fail.
    pub orders_nan: bool,
    /// The type `optional_type` is shown with its parameter.
    pub shows_optional_parameter: bool,
    /// Times must have the exact form of RFC 3339.
    pub wants_exact_times: bool,
    /// A message of a name that is a variable is an unknown name.
    pub messages_are_names: bool,
    /// Estimates of `distinct` know the type of the items.
    pub estimates_items_of_distinct: bool,
    /// Estimates add the cost of every selection of a field; else not of those of unknown types.
    pub estimates_every_selection: bool,
    /// Estimates of texts without a bound have none, either.
    pub estimates_without_bound: bool,
    /// Estimates know that a type is as large as a number.
    pub estimates_types: bool,
    /// Estimates of `flatten` of a negative depth have no bound.
    pub estimates_negative_depths: bool,
    /// An optional key that a value cannot have costs as much as another one.
    pub counts_misplaced_keys: bool,
    /// Unknown names are reported with their container.
    pub names_containers: bool,
    /// Unknown names are reported with names that are like them.
    pub suggests_names: bool,
    /// `distinct`, `flatten` and `sortBy` of what they cannot take fail as other calls do; else
    /// their cost cannot be computed, and that is the fault.
    pub counts_faulty_lists: bool,
    /// Quantities of 19 digits are whole numbers like shorter ones.
    pub has_whole_integer_quantities: bool,
}

/// 0.26; the others say what they do not share with it.
const V26: LevelRules = LevelRules {
    lists: Availability::Always,
    includes: Availability::Absent,
    masks: Availability::Absent,
    has_integer_durations: true,
    has_backticks: false,
    wants_optionals: false,
    has_global_or_value: false,
    ends_at_first_fault: false,
    failed_calls_are_free: false,
    counts_once_failed: true,
    reads_failed_lists: false,
    compares_once_failed: true,
    rereads_branches: true,
    counts_global_matches: false,
    counts_affixes: false,
    counts_negative_depths: false,
    bounds_empty_indices: false,
    refuses_negative_ranges: false,
    longest_range: None,
    orders_nan: false,
    shows_optional_parameter: false,
    wants_exact_times: false,
    messages_are_names: false,
    estimates_items_of_distinct: false,
    estimates_every_selection: false,
    estimates_without_bound: false,
    estimates_types: false,
    estimates_negative_depths: false,
    counts_misplaced_keys: false,
    names_containers: true,
    suggests_names: false,
    counts_faulty_lists: false,
    has_whole_integer_quantities: false,
};

const V26_NEW_LISTS: LevelRules = LevelRules { lists: Availability::Stored, ..V26 };

const V29: LevelRules = LevelRules {
    includes: Availability::Stored,
    has_integer_durations: false,
    has_backticks: true,
    wants_optionals: true,
    rereads_branches: false,
    counts_global_matches: true,
    counts_affixes: true,
    counts_negative_depths: true,
    bounds_empty_indices: true,
    refuses_negative_ranges: true,
    longest_range: Some(1_000_000),
    shows_optional_parameter: true,
    messages_are_names: true,
    ..V26
};

const V30: LevelRules = LevelRules {
    includes: Availability::Absent,
    estimates_items_of_distinct: true,
    has_global_or_value: true,
    ends_at_first_fault: true,
    counts_once_failed: false,
    compares_once_failed: false,
    reads_failed_lists: true,
    longest_range: None,
    orders_nan: true,
    wants_exact_times: true,
    ..V29
};

const KYVERNO: LevelRules = LevelRules { wants_optionals: false, longest_range: Some(1_000_000), ..V30 };

const V33: LevelRules = LevelRules {
    includes: Availability::Always,
    masks: Availability::Stored,
    failed_calls_are_free: true,
    compares_once_failed: true,
    longest_range: Some(1_000_000),
    wants_exact_times: false,
    estimates_every_selection: true,
    estimates_without_bound: true,
    estimates_types: true,
    estimates_negative_depths: true,
    counts_misplaced_keys: true,
    names_containers: false,
    suggests_names: true,
    counts_faulty_lists: true,
    has_whole_integer_quantities: true,
    ..V30
};

impl CelLevel {
    /// All of them.
    pub const ALL: [CelLevel; 6] = [
        CelLevel::V26NewLists,
        CelLevel::V26,
        CelLevel::V29,
        CelLevel::V30,
        CelLevel::Kyverno,
        CelLevel::V33,
    ];

    /// The level of an API server.
    pub const fn of_server(release: Release) -> CelLevel {
        match release {
            Release::V1_34 => CelLevel::V26NewLists,
            Release::V1_35 | Release::V1_36 => CelLevel::V26,
            Release::V1_37 => CelLevel::V29,
            Release::V1_38 => CelLevel::V33,
        }
    }

    /// What the level does.
    pub const fn rules(self) -> &'static LevelRules {
        match self {
            CelLevel::V26NewLists => &V26_NEW_LISTS,
            CelLevel::V26 => &V26,
            CelLevel::V29 => &V29,
            CelLevel::V30 => &V30,
            CelLevel::Kyverno => &KYVERNO,
            CelLevel::V33 => &V33,
        }
    }
}
