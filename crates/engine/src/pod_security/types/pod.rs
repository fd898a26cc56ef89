//! Pods and their specification.

use super::affinity::{AFFINITY, TOLERATION, TOPOLOGY_SPREAD};
use super::container::{
    APP_ARMOR, CONTAINER, EPHEMERAL_CONTAINER, RESOURCE_REQUIREMENTS, SE_LINUX, SECCOMP, WINDOWS,
};
use super::meta::OBJECT_META;
use super::status::POD_STATUS;
use super::volume::{LOCAL_REFERENCE, VOLUME};
use super::*;

pub static POD: Struct = shape(
    "Pod",
    &[
        via("TypeMeta", "kind", STRING),
        via("TypeMeta", "apiVersion", STRING),
        one("metadata", &OBJECT_META),
        one("spec", &POD_SPEC),
        one("status", &POD_STATUS),
    ],
);

pub static POD_TEMPLATE: Struct =
    shape("PodTemplateSpec", &[one("metadata", &OBJECT_META), one("spec", &POD_SPEC)]);

static POD_SPEC: Struct = shape(
    "PodSpec",
    &[
        of("containers", List(&Kind::Struct(&CONTAINER))),
        of("initContainers", List(&Kind::Struct(&CONTAINER))),
        of("ephemeralContainers", List(&Kind::Struct(&EPHEMERAL_CONTAINER))),
        of("volumes", List(&Kind::Struct(&VOLUME))),
        one("securityContext", &POD_SECURITY_CONTEXT),
        named("restartPolicy", "v1.RestartPolicy"),
        int64("terminationGracePeriodSeconds"),
        int64("activeDeadlineSeconds"),
        named("dnsPolicy", "v1.DNSPolicy"),
        of("nodeSelector", STRING_MAP),
        text("serviceAccountName"),
        text("serviceAccount"),
        flag("automountServiceAccountToken"),
        text("nodeName"),
        flag("hostNetwork"),
        flag("hostPID"),
        flag("hostIPC"),
        flag("shareProcessNamespace"),
        of("imagePullSecrets", List(&Kind::Struct(&LOCAL_REFERENCE))),
        text("hostname"),
        text("subdomain"),
        one("affinity", &AFFINITY),
        text("schedulerName"),
        of("tolerations", List(&Kind::Struct(&TOLERATION))),
        of("hostAliases", List(&Kind::Struct(&HOST_ALIAS))),
        text("priorityClassName"),
        int32("priority"),
        one("dnsConfig", &DNS_CONFIG),
        of("readinessGates", List(&Kind::Struct(&READINESS_GATE))),
        text("runtimeClassName"),
        flag("enableServiceLinks"),
        named("preemptionPolicy", "v1.PreemptionPolicy"),
        of("overhead", RESOURCES),
        of("topologySpreadConstraints", List(&Kind::Struct(&TOPOLOGY_SPREAD))),
        flag("setHostnameAsFQDN"),
        one("os", &POD_OS),
        flag("hostUsers"),
        of("schedulingGates", List(&Kind::Struct(&SCHEDULING_GATE))),
        of("resourceClaims", List(&Kind::Struct(&RESOURCE_CLAIM))),
        one("resources", &RESOURCE_REQUIREMENTS),
        text("hostnameOverride"),
        one("schedulingGroup", &SCHEDULING_GROUP),
    ],
);

static POD_SECURITY_CONTEXT: Struct = shape(
    "PodSecurityContext",
    &[
        one("seLinuxOptions", &SE_LINUX),
        one("windowsOptions", &WINDOWS),
        int64("runAsUser"),
        int64("runAsGroup"),
        flag("runAsNonRoot"),
        of("supplementalGroups", List(&Int64)),
        named("supplementalGroupsPolicy", "v1.SupplementalGroupsPolicy"),
        int64("fsGroup"),
        of("sysctls", List(&Kind::Struct(&SYSCTL))),
        named("fsGroupChangePolicy", "v1.PodFSGroupChangePolicy"),
        one("seccompProfile", &SECCOMP),
        one("appArmorProfile", &APP_ARMOR),
        named("seLinuxChangePolicy", "v1.PodSELinuxChangePolicy"),
    ],
);

static SYSCTL: Struct = shape("Sysctl", &[text("name"), text("value")]);
static HOST_ALIAS: Struct = shape("HostAlias", &[text("ip"), of("hostnames", STRINGS)]);
static READINESS_GATE: Struct = shape("PodReadinessGate", &[named("conditionType", "v1.PodConditionType")]);
static POD_OS: Struct = shape("PodOS", &[named("name", "v1.OSName")]);
static SCHEDULING_GATE: Struct = shape("PodSchedulingGate", &[text("name")]);
static SCHEDULING_GROUP: Struct = shape("PodSchedulingGroup", &[text("podGroupName")]);
static RESOURCE_CLAIM: Struct =
    shape("PodResourceClaim", &[text("name"), text("resourceClaimName"), text("resourceClaimTemplateName")]);

static DNS_CONFIG: Struct = shape(
    "PodDNSConfig",
    &[of("nameservers", STRINGS), of("searches", STRINGS), of("options", List(&Kind::Struct(&DNS_OPTION)))],
);
static DNS_OPTION: Struct = shape("PodDNSConfigOption", &[text("name"), text("value")]);
