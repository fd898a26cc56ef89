//! Which lists are merged item by item, and by which keys.
//!
//! A table by type, generated from the OpenAPI document of Kubernetes 1.21 – the one that is compiled into
//! the reference's merge library, whatever version the cluster has. Kinds that are not in it (custom
//! resources, newer versions) have no schema: all their lists are replaced as a whole. Only fields on
//! the way to such a list are listed; every other one counts as unknown.

use crate::value::Value;

/// What is known of a node.
#[derive(Clone, Copy, Debug)]
pub enum Schema {
    /// Nothing.
    Unknown,
    /// An object.
    Object(&'static Fields),
    /// A list of objects that keys identify.
    Keyed(&'static [&'static str], &'static Fields),
    /// A list of scalars of which each occurs once.
    Set,
}

/// Fields by name.
type Fields = [(&'static str, Schema)];

impl Schema {
    /// What is known of a member.
    pub fn field(self, key: &str) -> Schema {
        match self {
            Schema::Object(fields) => {
                fields.iter().find(|(name, _)| *name == key).map_or(Schema::Unknown, |(_, s)| *s)
            }
            _ => Schema::Unknown,
        }
    }

    /// What is known of an object by what it says it is.
    pub fn of_object(object: &Value) -> Schema {
        of_kind(object.text_at(&["apiVersion"]), object.text_at(&["kind"]))
    }
}

use Schema::{Keyed, Object, Set};

const BY_NAME: &[&str] = &["name"];
const BY_TYPE: &[&str] = &["type"];
const PLAIN: &Fields = &[];

const META: Schema = Object(&[("finalizers", Set), ("ownerReferences", Keyed(&["uid"], PLAIN))]);
const ONLY_META: Schema = Object(&[("metadata", META)]);
const CONDITIONS: Schema = Object(&[("conditions", Keyed(BY_TYPE, PLAIN))]);

const ENV: (&str, Schema) = ("env", Keyed(BY_NAME, PLAIN));
const MOUNTS: (&str, Schema) = ("volumeMounts", Keyed(&["mountPath"], PLAIN));
const DEVICES: (&str, Schema) = ("volumeDevices", Keyed(&["devicePath"], PLAIN));
const PORTS: (&str, Schema) = ("ports", Keyed(&["containerPort", "protocol"], PLAIN));
const CONTAINERS: Schema = Keyed(BY_NAME, &[ENV, PORTS, MOUNTS, DEVICES]);
/// Ports of ephemeral containers are replaced as a whole.
const EPHEMERAL: Schema = Keyed(BY_NAME, &[ENV, MOUNTS, DEVICES]);
const CLAIM_TEMPLATE: Schema = Object(&[("volumeClaimTemplate", ONLY_META)]);

const POD_SPEC: Schema = Object(&[
    ("containers", CONTAINERS),
    ("initContainers", CONTAINERS),
    ("ephemeralContainers", EPHEMERAL),
    ("volumes", Keyed(BY_NAME, &[("ephemeral", CLAIM_TEMPLATE)])),
    ("imagePullSecrets", Keyed(BY_NAME, PLAIN)),
    ("hostAliases", Keyed(&["ip"], PLAIN)),
    ("topologySpreadConstraints", Keyed(&["topologyKey", "whenUnsatisfiable"], PLAIN)),
]);
const TEMPLATE: Schema = Object(&[("metadata", META), ("spec", POD_SPEC)]);
const WITH_TEMPLATE: Schema = Object(&[("template", TEMPLATE)]);
const JOB_TEMPLATE: Schema =
    Object(&[("jobTemplate", Object(&[("metadata", META), ("spec", WITH_TEMPLATE)]))]);

const WORKLOAD: Schema = Object(&[("metadata", META), ("spec", WITH_TEMPLATE), ("status", CONDITIONS)]);
const WITH_STATUS: Schema = Object(&[("metadata", META), ("status", CONDITIONS)]);

const POD: Schema = Object(&[
    ("metadata", META),
    ("spec", POD_SPEC),
    ("status", Object(&[("conditions", Keyed(BY_TYPE, PLAIN)), ("podIPs", Keyed(&["ip"], PLAIN))])),
]);
const NODE: Schema = Object(&[
    ("metadata", META),
    ("spec", Object(&[("podCIDRs", Set)])),
    ("status", Object(&[("addresses", Keyed(BY_TYPE, PLAIN)), ("conditions", Keyed(BY_TYPE, PLAIN))])),
]);
const SERVICE: Schema = Object(&[
    ("metadata", META),
    ("spec", Object(&[("ports", Keyed(&["port", "protocol"], PLAIN))])),
    ("status", CONDITIONS),
]);
const SERVICE_ACCOUNT: Schema = Object(&[("metadata", META), ("secrets", Keyed(BY_NAME, PLAIN))]);
const WEBHOOKS: Schema = Object(&[("metadata", META), ("webhooks", Keyed(BY_NAME, PLAIN))]);
const CSI_NODE: Schema =
    Object(&[("metadata", META), ("spec", Object(&[("drivers", Keyed(BY_NAME, PLAIN))]))]);

/// What is known of a kind.
fn of_kind(api_version: &str, kind: &str) -> Schema {
    let schema = match api_version {
        "v1" => core(kind),
        "apps/v1" => apps(kind),
        "batch/v1" | "batch/v1beta1" => match kind {
            "Job" if api_version == "batch/v1" => Some(WORKLOAD),
            "CronJob" => Some(Object(&[("metadata", META), ("spec", JOB_TEMPLATE)])),
            _ => None,
        },
        "policy/v1" | "policy/v1beta1" if kind == "PodDisruptionBudget" => Some(WITH_STATUS),
        "admissionregistration.k8s.io/v1" | "admissionregistration.k8s.io/v1beta1" => {
            matches!(kind, "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration")
                .then_some(WEBHOOKS)
        }
        "apiregistration.k8s.io/v1" | "apiregistration.k8s.io/v1beta1" if kind == "APIService" => {
            Some(WITH_STATUS)
        }
        "storage.k8s.io/v1" | "storage.k8s.io/v1beta1" if kind == "CSINode" => Some(CSI_NODE),
        _ => METADATA_ONLY
            .iter()
            .any(|(group, kinds)| *group == api_version && kinds.contains(&kind))
            .then_some(ONLY_META),
    };
    schema.unwrap_or(Schema::Unknown)
}

fn core(kind: &str) -> Option<Schema> {
    Some(match kind {
        "Pod" => POD,
        "PodTemplate" => Object(&[("metadata", META), ("template", TEMPLATE)]),
        "ReplicationController" => WORKLOAD,
        "Service" => SERVICE,
        "ServiceAccount" => SERVICE_ACCOUNT,
        "Node" => NODE,
        "Namespace" | "PersistentVolumeClaim" => WITH_STATUS,
        "ComponentStatus" => Object(&[("metadata", META), ("conditions", Keyed(BY_TYPE, PLAIN))]),
        "Binding" | "ConfigMap" | "Endpoints" | "Event" | "LimitRange" | "PersistentVolume"
        | "ResourceQuota" | "Secret" => ONLY_META,
        _ => return None,
    })
}

fn apps(kind: &str) -> Option<Schema> {
    Some(match kind {
        "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet" => WORKLOAD,
        "ControllerRevision" => ONLY_META,
        "Kustomization" => Object(&[
            ("configMapGenerator", Keyed(BY_NAME, PLAIN)),
            ("secretGenerator", Keyed(BY_NAME, PLAIN)),
        ]),
        _ => return None,
    })
}

/// Kinds whose only such lists are in their metadata, by group and version.
const METADATA_ONLY: &[(&str, &[&str])] = &[
    ("apiextensions.k8s.io/v1", &["CustomResourceDefinition"]),
    ("apiextensions.k8s.io/v1beta1", &["CustomResourceDefinition"]),
    ("authentication.k8s.io/v1", &["TokenReview", "TokenRequest"]),
    ("authentication.k8s.io/v1beta1", &["TokenReview"]),
    ("authorization.k8s.io/v1", REVIEWS),
    ("authorization.k8s.io/v1beta1", REVIEWS),
    ("autoscaling/v1", &["HorizontalPodAutoscaler", "Scale"]),
    ("autoscaling/v2beta1", &["HorizontalPodAutoscaler"]),
    ("autoscaling/v2beta2", &["HorizontalPodAutoscaler"]),
    ("certificates.k8s.io/v1", &["CertificateSigningRequest"]),
    ("certificates.k8s.io/v1beta1", &["CertificateSigningRequest"]),
    ("coordination.k8s.io/v1", &["Lease"]),
    ("coordination.k8s.io/v1beta1", &["Lease"]),
    ("discovery.k8s.io/v1", &["EndpointSlice"]),
    ("discovery.k8s.io/v1beta1", &["EndpointSlice"]),
    ("events.k8s.io/v1", &["Event"]),
    ("events.k8s.io/v1beta1", &["Event"]),
    ("extensions/v1beta1", &["Ingress"]),
    ("flowcontrol.apiserver.k8s.io/v1beta1", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io/v1", &["Ingress", "IngressClass", "NetworkPolicy"]),
    ("networking.k8s.io/v1beta1", &["Ingress", "IngressClass"]),
    ("node.k8s.io/v1", &["RuntimeClass"]),
    ("node.k8s.io/v1beta1", &["RuntimeClass"]),
    ("policy/v1beta1", &["PodSecurityPolicy", "Eviction"]),
    ("rbac.authorization.k8s.io/v1", ROLES),
    ("rbac.authorization.k8s.io/v1beta1", ROLES),
    ("scheduling.k8s.io/v1", &["PriorityClass"]),
    ("scheduling.k8s.io/v1beta1", &["PriorityClass"]),
    ("storage.k8s.io/v1", &["CSIDriver", "StorageClass", "VolumeAttachment"]),
    ("storage.k8s.io/v1beta1", &["CSIDriver", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"]),
];

const ROLES: &[&str] = &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
const REVIEWS: &[&str] =
    &["LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"];
