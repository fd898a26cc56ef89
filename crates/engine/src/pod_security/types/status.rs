//! Status of pods.

use super::container::RESOURCE_REQUIREMENTS;
use super::*;

pub static POD_STATUS: Struct = shape(
    "PodStatus",
    &[
        int64("observedGeneration"),
        named("phase", "v1.PodPhase"),
        of("conditions", List(&Kind::Struct(&CONDITION))),
        text("message"),
        text("reason"),
        text("nominatedNodeName"),
        text("hostIP"),
        of("hostIPs", List(&Kind::Struct(&HOST_IP))),
        text("podIP"),
        of("podIPs", List(&Kind::Struct(&POD_IP))),
        of("startTime", Time),
        of("initContainerStatuses", List(&Kind::Struct(&CONTAINER_STATUS))),
        of("containerStatuses", List(&Kind::Struct(&CONTAINER_STATUS))),
        named("qosClass", "v1.PodQOSClass"),
        of("ephemeralContainerStatuses", List(&Kind::Struct(&CONTAINER_STATUS))),
        named("resize", "v1.PodResizeStatus"),
        of("resourceClaimStatuses", List(&Kind::Struct(&CLAIM_STATUS))),
        one("extendedResourceClaimStatus", &EXTENDED_CLAIM_STATUS),
        of("allocatedResources", RESOURCES),
        one("resources", &RESOURCE_REQUIREMENTS),
    ],
);

static CONDITION: Struct = shape(
    "PodCondition",
    &[
        named("type", "v1.PodConditionType"),
        int64("observedGeneration"),
        named("status", "v1.ConditionStatus"),
        of("lastProbeTime", Time),
        of("lastTransitionTime", Time),
        text("reason"),
        text("message"),
    ],
);
static HOST_IP: Struct = shape("HostIP", &[text("ip")]);
static POD_IP: Struct = shape("PodIP", &[text("ip")]);
static CLAIM_STATUS: Struct = shape("PodResourceClaimStatus", &[text("name"), text("resourceClaimName")]);
static EXTENDED_CLAIM_STATUS: Struct = shape(
    "PodExtendedResourceClaimStatus",
    &[of("requestMappings", List(&Kind::Struct(&EXTENDED_REQUEST))), text("resourceClaimName")],
);
static EXTENDED_REQUEST: Struct = shape(
    "ContainerExtendedResourceRequest",
    &[text("containerName"), text("resourceName"), text("requestName")],
);

static CONTAINER_STATUS: Struct = shape(
    "ContainerStatus",
    &[
        text("name"),
        one("state", &STATE),
        one("lastState", &STATE),
        flag("ready"),
        int32("restartCount"),
        text("image"),
        text("imageID"),
        text("containerID"),
        flag("started"),
        of("allocatedResources", RESOURCES),
        one("resources", &RESOURCE_REQUIREMENTS),
        of("volumeMounts", List(&Kind::Struct(&MOUNT_STATUS))),
        one("user", &USER),
        of("allocatedResourcesStatus", List(&Kind::Struct(&RESOURCE_STATUS))),
        named("stopSignal", "v1.Signal"),
    ],
);
static STATE: Struct = shape(
    "ContainerState",
    &[one("waiting", &WAITING), one("running", &RUNNING), one("terminated", &TERMINATED)],
);
static WAITING: Struct = shape("ContainerStateWaiting", &[text("reason"), text("message")]);
static RUNNING: Struct = shape("ContainerStateRunning", &[of("startedAt", Time)]);
static TERMINATED: Struct = shape(
    "ContainerStateTerminated",
    &[
        int32("exitCode"),
        int32("signal"),
        text("reason"),
        text("message"),
        of("startedAt", Time),
        of("finishedAt", Time),
        text("containerID"),
    ],
);
static MOUNT_STATUS: Struct = shape(
    "VolumeMountStatus",
    &[
        text("name"),
        text("mountPath"),
        flag("readOnly"),
        named("recursiveReadOnly", "v1.RecursiveReadOnlyMode"),
    ],
);
static USER: Struct = shape("ContainerUser", &[one("linux", &LINUX_USER)]);
static LINUX_USER: Struct =
    shape("LinuxContainerUser", &[int64("uid"), int64("gid"), of("supplementalGroups", List(&Int64))]);
static RESOURCE_STATUS: Struct = shape(
    "ResourceStatus",
    &[named("name", "v1.ResourceName"), of("resources", List(&Kind::Struct(&RESOURCE_HEALTH)))],
);
static RESOURCE_HEALTH: Struct = shape(
    "ResourceHealth",
    &[named("resourceID", "v1.ResourceID"), named("health", "v1.ResourceHealthStatus")],
);
