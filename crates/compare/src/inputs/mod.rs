//! Data from lookups that both sides share, as fields of the object.
//!
//! - `context_entries`: external data that both sides load in the same words
//! - `copied_objects`: objects that lookups of generating rules copy
//! - `dependencies`: external data by name: what a proof is relative to
//! - `derived`: values that both languages compute alike of external data
//! - `json_lists`: lists in texts of ConfigMaps
//! - `lookup`: lookups in words that are the same in every language
//! - `namespace_key`: entries of ConfigMaps under the name of the namespace
//! - `unify`: lookups of both sides become shared inputs

pub(crate) mod context_entries;
pub(crate) mod copied_objects;
pub(crate) mod dependencies;
pub(crate) mod derived;
pub(crate) mod json_lists;
pub(crate) mod lookup;
pub(crate) mod namespace_key;
pub(crate) mod unify;
