//! The kinds of policies and exceptions that clusters store.

/// The API group of ClusterPolicies.
pub const CLASSIC: &str = "kyverno.io";
/// The API group of policies whose expressions are CEL.
pub const CEL: &str = "policies.kyverno.io";
/// The kind of exceptions, in both groups.
pub const EXCEPTION: &str = "PolicyException";

/// The kinds of policies and exceptions, by group.
pub const KINDS: [(&str, &[&str]); 2] = [
    (CLASSIC, &["ClusterPolicy", "Policy", "ClusterCleanupPolicy", "CleanupPolicy", EXCEPTION]),
    (
        CEL,
        &[
            "ValidatingPolicy",
            "NamespacedValidatingPolicy",
            "MutatingPolicy",
            "NamespacedMutatingPolicy",
            "GeneratingPolicy",
            "NamespacedGeneratingPolicy",
            "ImageValidatingPolicy",
            "NamespacedImageValidatingPolicy",
            "DeletingPolicy",
            "NamespacedDeletingPolicy",
            EXCEPTION,
        ],
    ),
];

/// Group and kind of each.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.iter().flat_map(|(group, kinds)| kinds.iter().map(|kind| (*group, *kind)))
}
