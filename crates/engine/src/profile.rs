//! Fidelity profiles: where Kyverno's command line and Kyverno in a cluster differ.
//!
//! A difference is a named choice here; no code deeper inside checks which program runs. A
//! profile is fixed when a policy set is built. Every choice has a row in
//! `docs/reference/profiles.md`, and `tests/serve/profile.rs` walks these rows against a running
//! server.

/// The choices; see the constructors for the two consistent sets of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Every number of a resource is a double, in patterns too (`docs/semantics/patterns.md`,
    /// "Scalars"). A cluster keeps integers.
    pub float_resources: bool,
    /// `request` holds only what the command line knows (object, namespace, operation, user)
    /// instead of the whole admission request (`docs/semantics/variables.md`, "Variables").
    pub bare_request: bool,
    /// From the second matching rule of a policy on, variables see the integers of the decoded
    /// object instead of doubles (`docs/semantics/variables.md`, "Variables").
    pub integers_after_first_rule: bool,
    /// `paramRef` of `validate.cel` is looked up in the stand-in cluster of the command line, which
    /// has eight kinds and no objects. A cluster evaluates the expressions with each parameter.
    pub offline_params: bool,
    /// `namespaceObject` of `validate.cel` has nothing but a name. A cluster has the whole
    /// namespace, and one that it does not know is an error.
    pub offline_namespaces: bool,
    /// CEL policies of a namespace apply to objects of all namespaces. In a cluster they apply to
    /// their own.
    pub namespaced_policies_apply_everywhere: bool,
    /// Exceptions of `policies.kyverno.io` apply after their `expiresAt`. A cluster drops them.
    pub expired_exceptions_apply: bool,
    /// A context entry that no source answers is dropped, so that `||` gives its default. In a
    /// cluster there is always a source, and one that fails is an error.
    pub unanswered_entries_are_dropped: bool,
    /// A failing match condition of `webhookConfiguration` exempts the request. The API server
    /// judges it by the failure policy.
    pub failing_match_conditions_exempt: bool,
    /// Services may answer more than a server reads, and `0.0.0.0` may be called
    /// (`docs/semantics/variables.md`, "apiCall").
    pub unlimited_services: bool,
    /// Admission policies of Kubernetes see every request as one that creates the object
    /// (`docs/semantics/admission.md`, "Outside of a cluster"). An API server shows them its
    /// operation and the former object.
    pub admission_policies_see_creations: bool,
}

impl Profile {
    /// What Kyverno's command line answers.
    pub const fn kyverno_cli() -> Profile {
        Profile {
            float_resources: true,
            bare_request: true,
            integers_after_first_rule: false,
            offline_params: true,
            offline_namespaces: true,
            namespaced_policies_apply_everywhere: true,
            expired_exceptions_apply: true,
            unanswered_entries_are_dropped: true,
            failing_match_conditions_exempt: true,
            unlimited_services: true,
            admission_policies_see_creations: true,
        }
    }

    /// What Kyverno answers in a cluster, as far as a run over files can: data that only a cluster
    /// has stays what the command line makes of it.
    pub const fn as_cluster() -> Profile {
        Profile {
            float_resources: false,
            bare_request: false,
            integers_after_first_rule: true,
            namespaced_policies_apply_everywhere: false,
            ..Profile::kyverno_cli()
        }
    }

    /// What Kyverno answers in a cluster; the profile of the webhook server.
    pub const fn cluster() -> Profile {
        Profile {
            float_resources: false,
            bare_request: false,
            integers_after_first_rule: true,
            offline_params: false,
            offline_namespaces: false,
            namespaced_policies_apply_everywhere: false,
            expired_exceptions_apply: false,
            unanswered_entries_are_dropped: false,
            failing_match_conditions_exempt: false,
            unlimited_services: false,
            admission_policies_see_creations: true,
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Profile::kyverno_cli()
    }
}
