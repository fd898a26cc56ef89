//! Admission policies and bindings as the Kubernetes API takes them: defaults and validation.
//!
//! In: `ValidatingAdmissionPolicy`, `MutatingAdmissionPolicy` and bindings as written. Out: the objects with
//! their defaults, or why the API refuses them, in its words.

mod defaults;

pub use defaults::defaulted;
