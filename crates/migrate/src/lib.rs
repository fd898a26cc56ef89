//! ClusterPolicies rewritten as policies in CEL, each with a proof that it means the same.
//!
//! In: policy documents as written, with their rules of the IR. Out: documents of
//! `policies.kyverno.io` or of Kubernetes' `admissionregistration.k8s.io`, each compared with its
//! origin by `ephor-compare`; what cannot be expressed in CEL is refused by name and place. Nothing
//! is dropped silently.
//!
//! - `cel`: CEL as text
//! - `constraints`: `match` and `exclude`
//! - `driver`: policies and files
//! - `expressions`: validate rules → expressions
//! - `kinds`: a kind of policy a file
//! - `model`: what conversions share
//! - `notes`: what a reader has to know
//! - `proof`: whether both mean the same
//! - [`report`]: what a report says about each policy
//! - `text`: documents as people write them
#![forbid(unsafe_code)]

pub mod cel;
pub(crate) mod constraints;
pub(crate) mod driver;
pub mod expressions;
pub(crate) mod kinds;
pub(crate) mod model;
pub(crate) mod notes;
pub(crate) mod proof;
pub mod report;
pub(crate) mod text;

pub use crate::driver::files::{
    DocumentOutcome, File, FileDocument, Refused, document, exceptions, file, shadows,
};
pub use crate::driver::policy::{migrate, migrate_in};
pub use crate::expressions::refusal::Refusal;
pub use crate::kinds::deleting::denial_of_deletion;
pub use crate::model::migrated::{AutogenStrategy, Document, Migrated, Note, Options, TargetApi};
pub use crate::model::original::{LAST_APPLIED, OF_SERVERS, Original};
pub use crate::proof::paired::compare_acting;
pub use crate::proof::prove::{Limits, Proof, prove};
