//! Whether the new policy means the same as its origin.
//!
//! - `boundary`: objects on both sides of the boundary of what is denied
//! - `paired`: policies that are compared in parts
//! - `prove`: one comparison
//! - `split`: policies that act on other objects, taken apart

pub(crate) mod boundary;
pub(crate) mod paired;
pub(crate) mod prove;
pub(crate) mod split;
