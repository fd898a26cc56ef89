//! What releases of the API server do differently, apart from CEL (`functions::CelLevel`).
//!
//! In: a release. Out: its row of [`ServerRules`]. The rows were measured on kube-apiserver 1.34.4,
//! 1.35.4, 1.36.3 and 1.37.2 with the same requests; what 1.38 does beyond CEL is not recorded and
//! taken from 1.37.

use ephor_value::release::Release;

/// What differs between API servers.
#[derive(Clone, Copy, Debug)]
pub struct ServerRules {
    /// Conditions see objects of built-in kinds, parameters, namespaces and the request as
    /// structures of their types: equal by meaning, and never of another type than their field.
    pub has_typed_views: bool,
    /// The audit annotation `validation_failure` holds all failures of a request, up to
    /// [`ServerRules::MAX_AUDITED`]; else the first one.
    pub audits_all_failures: bool,
    /// Names that end in `.static.k8s.io` belong to files on the server.
    pub reserves_static_names: bool,
    /// What bindings must have is declared with their type, which changes words and order of
    /// mistakes.
    pub declares_required: bool,
    /// Webhooks are called for reviews of tokens and of access.
    pub sends_reviews_to_webhooks: bool,
    /// StatefulSets keep how many of their pods may be unavailable; else it is dropped.
    pub keeps_max_unavailable: bool,
    /// Pods keep volumes of images; else these are dropped.
    pub keeps_image_volumes: bool,
    /// Names of Services may begin with a digit.
    pub names_services_by_digits: bool,
}

impl ServerRules {
    /// How many failures of a request an audit annotation holds.
    pub const MAX_AUDITED: usize = 50;

    /// What a release does.
    pub const fn of(release: Release) -> &'static ServerRules {
        match release {
            Release::V1_34 => &V1_34,
            Release::V1_35 => &V1_35,
            Release::V1_36 => &V1_36,
            Release::V1_37 | Release::V1_38 => &V1_37,
        }
    }
}

/// Fields that schemas have before their gates open, with the first release that keeps their
/// values: type, field, release. Of volumes 1.34 drops those that have an image. Gates:
/// `facts-R.txt` in `conformance/reference`.
const STORED_SINCE: [(&str, &str, Release); 13] = [
    ("apps/v1.RollingUpdateStatefulSetStrategy", "maxUnavailable", Release::V1_37),
    ("autoscaling/v2.HPAScalingRules", "tolerance", Release::V1_35),
    ("core/v1.Container", "restartPolicy", Release::V1_35),
    ("core/v1.Container", "restartPolicyRules", Release::V1_35),
    ("core/v1.ContainerRestartRule", "action", Release::V1_36),
    ("core/v1.EnvVarSource", "fileKeyRef", Release::V1_35),
    ("core/v1.PodSpec", "hostnameOverride", Release::V1_35),
    ("core/v1.PodSpec", "resources", Release::V1_37),
    ("core/v1.PodSpec", "volumes", Release::V1_35),
    ("core/v1.PodStatus", "qosClass", Release::V1_37),
    ("core/v1.Volume", "image", Release::V1_35),
    ("core/v1.VolumeProjection", "clusterTrustBundle", Release::V1_37),
    ("core/v1.VolumeProjection", "podCertificate", Release::V1_37),
];

/// The types of dynamic allocation, most of whose gates opened in 1.36.
const ALLOCATION: (&str, Release) = ("resource/", Release::V1_36);

/// The first release that keeps all values of a field which earlier schemas have, too; `None` =
/// each release that knows the field keeps them.
pub fn stored_since(of: &str, field: &str) -> Option<Release> {
    let (allocation, since) = ALLOCATION;
    let of_field = STORED_SINCE.iter().find(|(ty, name, _)| *ty == of && *name == field);
    of_field.map(|(.., since)| *since).or_else(|| of.starts_with(allocation).then_some(since))
}

const V1_36: ServerRules = ServerRules {
    has_typed_views: false,
    audits_all_failures: false,
    reserves_static_names: false,
    declares_required: false,
    sends_reviews_to_webhooks: true,
    keeps_max_unavailable: false,
    keeps_image_volumes: true,
    names_services_by_digits: true,
};

const V1_34: ServerRules = ServerRules { keeps_image_volumes: false, ..V1_35 };

const V1_35: ServerRules = ServerRules { names_services_by_digits: false, ..V1_36 };

const V1_37: ServerRules = ServerRules {
    has_typed_views: true,
    audits_all_failures: true,
    reserves_static_names: true,
    declares_required: true,
    sends_reviews_to_webhooks: false,
    keeps_max_unavailable: true,
    keeps_image_volumes: true,
    names_services_by_digits: true,
};
