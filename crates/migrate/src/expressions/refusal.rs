//! Why a construct is not migrated: its place, and what to write instead.

use ephor_ir::Origin;
use ephor_value::Str;

/// What is migrated, or the construct that is not.
pub type Result<T, E = Refusal> = std::result::Result<T, E>;

/// A construct that cannot be expressed in CEL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{place}: {construct} cannot be written in CEL; {nearest}", place = place.path)]
pub struct Refusal {
    /// What it is: `function random`, `roles in match`.
    pub construct: Str,
    /// Where it is written.
    pub place: Origin,
    /// The nearest rewrite.
    pub nearest: Str,
}

impl Refusal {
    /// The refusal of a construct at a place.
    pub fn new(construct: impl Into<Str>, place: Origin, nearest: impl Into<Str>) -> Refusal {
        Refusal { construct: construct.into(), place, nearest: nearest.into() }
    }

    /// The refusal at another place, where it is at the one that this other place is a part of.
    #[must_use]
    pub fn moved(self, from: &Origin, to: &Origin) -> Refusal {
        if self.place == *from { Refusal { place: to.clone(), ..self } } else { self }
    }
}
