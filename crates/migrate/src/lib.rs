//! ClusterPolicies rewritten as policies in CEL, each with a proof that it means the same.
//!
//! In: policy documents as written, with their rules of the IR. Out: documents of
//! `policies.kyverno.io` or of Kubernetes' `admissionregistration.k8s.io`, each compared with its
//! origin by `ephor-compare`; what cannot be said in CEL is refused by name and place. Nothing is
//! dropped silently.
#![forbid(unsafe_code)]

use ephor_cel::ast as cel_tree;

mod actions;
mod boundary;
mod calls;
pub mod cel;
mod comments;
pub mod constraints;
mod deleting;
mod draft;
mod exceptions;
pub mod expressions;
mod files;
mod generating;
mod images;
mod lists;
mod mutating;
mod names;
mod native;
mod operations;
mod original;
mod paired;
mod parts;
mod policy;
mod proof;
pub mod text;
mod validating;
mod verbatim;
mod wildcards;

pub use deleting::denial_of_deletion;
pub use expressions::Refusal;
pub use files::{File, DocumentOutcome, FileDocument, Refused, document, exceptions, file, shadows};
pub use original::{LAST_APPLIED, OF_SERVERS, Original};
pub use paired::compare_acting;
pub use policy::{Document, Migrated, Note, Options, TargetApi, AutogenStrategy, migrate, migrate_in};
pub use proof::{Limits, Proof, prove};
