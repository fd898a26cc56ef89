//! Which built-in kinds live outside namespaces.
//!
//! In: API group and kind. The table is that of Kubernetes 1.32 as the reference bundles it: alpha
//! kinds and custom resources, the policy kinds among them, are not in it and count as namespaced.

/// Cluster-scoped kinds by group.
const CLUSTER_SCOPED: &[(&str, &[&str])] = &[
    ("", &["ComponentStatus", "Namespace", "Node", "PersistentVolume"]),
    (
        "admissionregistration.k8s.io",
        &[
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("authentication.k8s.io", &["SelfSubjectReview", "TokenReview"]),
    ("authorization.k8s.io", &["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"]),
    ("certificates.k8s.io", &["CertificateSigningRequest"]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io", &["IPAddress", "IngressClass", "ServiceCIDR"]),
    ("node.k8s.io", &["RuntimeClass"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding"]),
    ("resource.k8s.io", &["DeviceClass", "ResourceSlice"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    (
        "storage.k8s.io",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
    ),
];

/// Whether objects of this kind have no namespace.
pub fn is_cluster_scoped(group: &str, kind: &str) -> bool {
    CLUSTER_SCOPED.iter().any(|(g, kinds)| *g == group && kinds.contains(&kind))
}

/// The API group of an `apiVersion`: empty for the core group.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
