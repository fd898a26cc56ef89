//! What conversions share: policies as they were written, drafts of new ones, and what comes of
//! them.
//!
//! - `actions`: failure actions, overrides and pod controllers
//! - `draft`: policies in CEL before they are written
//! - `lists`: policies in lists
//! - `migrated`: options, documents and notes
//! - `names`: names of policies and variables
//! - `operations`: which operations a rule is about
//! - `original`: the policy as it was written
//! - `pair`: policies that are compared in parts
//! - `source`: a rule that is migrated
//! - `unique`: lists without repetitions, and parts of objects

pub(crate) mod actions;
pub(crate) mod draft;
pub(crate) mod lists;
pub(crate) mod migrated;
pub(crate) mod names;
pub(crate) mod operations;
pub(crate) mod original;
pub(crate) mod pair;
pub(crate) mod source;
pub(crate) mod unique;
