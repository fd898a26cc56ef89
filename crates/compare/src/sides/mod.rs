//! Sides: policies that are evaluated together, without anything that answers lookups.
//!
//! - `environments`: what two sides are compared in
//! - `lookup_stub`: nothing answers, but for objects that rules copy
//! - `natives`: the policies of Kubernetes of a side, and what of them depends on the release
//! - `side`: policies that are evaluated together
//! - `wildcard_keys`: wildcards in keys of patterns

pub(crate) mod environments;
pub(crate) mod lookup_stub;
pub(crate) mod natives;
pub(crate) mod side;
pub(crate) mod wildcard_keys;
