//! From policies and files to migrated ones.
//!
//! - `files`: files of policies
//! - `policy`: one policy

pub(crate) mod files;
pub(crate) mod policy;
