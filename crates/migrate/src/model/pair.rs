//! Parts of a policy that acts on other objects, each a pair of policies that can be compared.

/// Two policies that must say the same of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The old policy.
    pub old: String,
    /// What takes its place.
    pub new: String,
    /// What they say of an object.
    pub says: PairKind,
}

/// What the policies of a pair say of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairKind {
    /// Whether a rule acts because of it.
    Acts,
    /// How a rule changes it.
    Changes,
}
