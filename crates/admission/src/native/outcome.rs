//! What is known besides a policy that is handed over, what it becomes, and why it does not.

use super::refusals::NativeRefusal;
use super::resources::UnknownKind;
use ephor_kubernetes::Kinds;
use ephor_lower::cel_policy::Failed;
use ephor_value::Value;
use ephor_value::time::Time;

/// What is known besides the policy.
#[derive(Clone, Copy)]
pub struct Known<'k> {
    /// PolicyExceptions of both groups.
    pub exceptions: &'k [Value],
    /// The kinds that the server has.
    pub kinds: &'k Kinds,
    /// Exceptions that end before this are none.
    pub now: Time,
    /// Whether variants for pod controllers stand in the way also where no controllers are named.
    /// Kyverno's controllers do not count those: what they create the API server sees as pods.
    pub keeps_variants: bool,
}

/// Why a policy has no native form; the texts are Kyverno's.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// Policies of its kind have none.
    #[error(
        "kind {0} cannot become a native policy: only ClusterPolicy, ValidatingPolicy and MutatingPolicy can"
    )]
    Kind(Box<str>),
    /// It says what Kubernetes' policies cannot.
    #[error(transparent)]
    Refused(NativeRefusal),
    /// It does not want one, or has something that Kubernetes' policies of this kind cannot have.
    #[error("skip generating {kind}: {why}.")]
    Skipped {
        /// The kind.
        kind: &'static str,
        /// Why.
        why: SkipReason,
    },
    /// It is about a kind of objects that is not known.
    #[error(transparent)]
    UnknownKind(UnknownKind),
    /// Its conditions do not compile.
    #[error("{0}")]
    Conditions(#[source] Failed),
}

/// Why a policy of CEL has no native form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkipReason {
    /// It does not want one.
    #[error("not enabled")]
    NotEnabled,
    /// It mutates as server-side apply does.
    #[error(
        "useServerSideApply is enabled, which mutates atomic fields that a native MutatingAdmissionPolicy rejects"
    )]
    ServerSideApply,
    /// It has variants for pod controllers.
    #[error("pod controllers autogen is enabled")]
    Variants,
}

/// A policy of Kubernetes and the binding that puts it into force.
#[derive(Clone, Debug)]
pub struct Native {
    /// `ValidatingAdmissionPolicy` or `MutatingAdmissionPolicy`.
    pub policy: Value,
    /// Its binding.
    pub binding: Value,
}
