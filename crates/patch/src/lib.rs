//! Patches: what changes a document, and how.
//!
//! In: a document and a patch, or two documents. Out: the changed document, or the patch that leads
//! from one to the other. [`operation`] reads JSON patches, [`apply`] runs them, [`diff`] makes
//! them; [`merge`] is the strategic merge, with `keyed` for lists whose items have keys and
//! [`schema`] for the knowledge which lists these are. Nothing here knows variables, anchors or
//! rules.
//!
//! Semantics: RFC 6902 and `docs/semantics/mutate.md`.
//!
//! - [`apply`]: running JSON patches
//! - [`diff`]: the JSON patch that leads from one document to another
//! - `keyed`: lists in a strategic merge
//! - [`merge`]: strategic merge: a patch document laid over an object
//! - [`operation`]: JSON patches: texts → operations, and operations → documents
//! - [`schema`]: which lists are merged item by item, and by which keys
//! - [`structured`]: the structured merge: an object is changed by what another one says, field by
//!   field, as its schema has it
#![forbid(unsafe_code)]

pub mod apply;
pub mod diff;
mod keyed;
pub mod merge;
pub mod operation;
pub mod schema;
pub mod structured;

pub use operation::{JsonPatch, Operation};

/// How deeply patches and what they are merged into may nest: as deep as JSON texts may.
const MAX_DEPTH: usize = 10_000;
