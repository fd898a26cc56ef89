//! Drafts → documents, a kind of policy a file; the front ends that fill drafts.
//!
//! - `admission_policy`: Kubernetes' ValidatingAdmissionPolicies with their bindings
//! - `deleting`: CleanupPolicies → DeletingPolicies
//! - `exceptions`: PolicyExceptions
//! - `generating`: generate rules → GeneratingPolicies
//! - `images`: rules that verify images → ImageValidatingPolicies
//! - `mutating`: mutate rules → MutatingPolicies
//! - `shared`: what documents of several kinds have
//! - `validate_cel`: rules with `validate.cel`, whose expressions stay
//! - `validating`: validate rules → ValidatingPolicies

pub(crate) mod admission_policy;
pub(crate) mod deleting;
pub(crate) mod exceptions;
pub(crate) mod generating;
pub(crate) mod images;
pub(crate) mod mutating;
pub(crate) mod shared;
pub(crate) mod validate_cel;
pub(crate) mod validating;
