//! Units: rules that check one thing, and their parts that decide.
//!
//! - `atom_rules`: the parts of a rule that decide, as rules
//! - `atoms`: the parts of a unit, and what they said
//! - `cached`: units with what is computed of them when first needed
//! - `deciding`: values that others stand for
//! - `similarity`: which units are likely to cover one
//! - `split`: the units of a side
//! - `unit`: one unit

pub(crate) mod atom_rules;
pub(crate) mod atoms;
pub(crate) mod cached;
pub(crate) mod deciding;
pub(crate) mod similarity;
pub(crate) mod split;
pub(crate) mod unit;
