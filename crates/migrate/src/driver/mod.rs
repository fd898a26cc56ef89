//! From policies and files to migrated ones.
//!
//! - `files`: files of policies
//! - `policy`: one policy
//! - `rows`: what a report says about each policy

pub(crate) mod files;
pub(crate) mod policy;
pub mod rows;
