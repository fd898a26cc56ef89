//! Fidelity profiles: where the reference's command line and the reference in a cluster differ.
//!
//! A difference is a named choice here and never a question about who is asking deeper inside. A
//! profile is fixed when a policy set is made.

/// The choices; see the constructors for the two consistent sets of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Every number of a resource is a double, in patterns too (`docs/patterns.md`, "Numbers"). A
    /// cluster keeps integers.
    pub float_resources: bool,
    /// `request` holds only what the command line knows (object, namespace, operation, user) instead
    /// of the whole admission request (`docs/variables.md`, "request").
    pub bare_request: bool,
    /// From the second matching rule of a policy on, variables see the integers of the decoded object
    /// instead of doubles (`docs/variables.md`, "Numbers").
    pub integers_after_first_rule: bool,
    /// Services may answer more than a server reads, and `0.0.0.0` may be called (`docs/variables.md`, "apiCall").
    pub unlimited_services: bool,
}

impl Profile {
    /// What the reference's command line answers.
    pub const fn kyverno_cli() -> Profile {
        Profile {
            float_resources: true,
            bare_request: true,
            integers_after_first_rule: false,
            unlimited_services: true,
        }
    }

    /// What the reference answers in a cluster.
    pub const fn cluster() -> Profile {
        Profile {
            float_resources: false,
            bare_request: false,
            integers_after_first_rule: true,
            unlimited_services: false,
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Profile::kyverno_cli()
    }
}
