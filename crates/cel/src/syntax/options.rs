//! What the syntax allows, and how deep.

/// How deeply expressions may nest; cel-go stops here as well.
pub(super) const MAX_DEPTH: usize = 250;

/// What the syntax allows besides the language itself.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `a.?b`, `a[?b]`, `[?a]`, `{?k: v}` and `optMap`.
    pub optional: bool,
    /// Names in backticks.
    pub backticks: bool,
    /// Macros with two variables.
    pub two_variables: bool,
    /// `sortBy`
    pub sort_by: bool,
    /// `cel.bind`
    pub bind: bool,
    /// `orValue` takes values of every kind and faults.
    pub untyped_or_value: bool,
    /// `cel.block`, of tests.
    #[cfg(feature = "test-macros")]
    pub block: bool,
    /// `math.greatest` and `math.least`.
    pub math: bool,
    /// `proto.hasExt` and `proto.getExt`.
    pub proto: bool,
}
