//! Which policies of two loads are compared with each other.
//!
//! - `mapping`: pairs by name, annotation or file
//! - `overlap`: pairs by the fields that policies read

pub(crate) mod mapping;
pub(crate) mod overlap;
