//! Controllers of pods: apps/v1, batch/v1 and the ReplicationController.

use super::meta::{LABEL_SELECTOR, OBJECT_META};
use super::pod::POD_TEMPLATE;
use super::volume::PERSISTENT_VOLUME_CLAIM;
use super::*;

const KIND: Field = via("TypeMeta", "kind", STRING);
const API_VERSION: Field = via("TypeMeta", "apiVersion", STRING);
const METADATA: Field = one("metadata", &OBJECT_META);
const SELECTOR: Field = one("selector", &LABEL_SELECTOR);
const TEMPLATE: Field = one("template", &POD_TEMPLATE);

/// The table of a controller: kind, struct of its specification, struct of its status.
macro_rules! controller {
    ($name:ident, $kind:literal, $spec:ident, $status:ident) => {
        pub static $name: Struct =
            shape($kind, &[KIND, API_VERSION, METADATA, one("spec", &$spec), one("status", &$status)]);
    };
}

controller!(DEPLOYMENT, "Deployment", DEPLOYMENT_SPEC, DEPLOYMENT_STATUS);
controller!(DAEMON_SET, "DaemonSet", DAEMON_SET_SPEC, DAEMON_SET_STATUS);
controller!(STATEFUL_SET, "StatefulSet", STATEFUL_SET_SPEC, STATEFUL_SET_STATUS);
controller!(REPLICA_SET, "ReplicaSet", REPLICA_SET_SPEC, REPLICA_SET_STATUS);
controller!(
    REPLICATION_CONTROLLER,
    "ReplicationController",
    REPLICATION_CONTROLLER_SPEC,
    REPLICATION_CONTROLLER_STATUS
);
controller!(JOB, "Job", JOB_SPEC, JOB_STATUS);
controller!(CRON_JOB, "CronJob", CRON_JOB_SPEC, CRON_JOB_STATUS);

/// A condition in a status; the name and the Go type of its `type` differ.
macro_rules! condition {
    ($name:ident, $struct:literal, $kind:literal $(, $more:expr)*) => {
        static $name: Struct = shape(
            $struct,
            &[
                named("type", $kind),
                named("status", "v1.ConditionStatus"),
                of("lastTransitionTime", Time),
                text("reason"),
                text("message"),
                $($more,)*
            ],
        );
    };
}

condition!(
    DEPLOYMENT_CONDITION,
    "DeploymentCondition",
    "v1.DeploymentConditionType",
    of("lastUpdateTime", Time)
);
condition!(DAEMON_SET_CONDITION, "DaemonSetCondition", "v1.DaemonSetConditionType");
condition!(STATEFUL_SET_CONDITION, "StatefulSetCondition", "v1.StatefulSetConditionType");
condition!(REPLICA_SET_CONDITION, "ReplicaSetCondition", "v1.ReplicaSetConditionType");
condition!(
    REPLICATION_CONTROLLER_CONDITION,
    "ReplicationControllerCondition",
    "v1.ReplicationControllerConditionType"
);
condition!(JOB_CONDITION, "JobCondition", "v1.JobConditionType", of("lastProbeTime", Time));

static DEPLOYMENT_SPEC: Struct = shape(
    "DeploymentSpec",
    &[
        int32("replicas"),
        SELECTOR,
        TEMPLATE,
        one("strategy", &DEPLOYMENT_STRATEGY),
        int32("minReadySeconds"),
        int32("revisionHistoryLimit"),
        flag("paused"),
        int32("progressDeadlineSeconds"),
    ],
);
static DEPLOYMENT_STRATEGY: Struct = shape(
    "DeploymentStrategy",
    &[named("type", "v1.DeploymentStrategyType"), one("rollingUpdate", &DEPLOYMENT_ROLLING)],
);
static DEPLOYMENT_ROLLING: Struct =
    shape("RollingUpdateDeployment", &[of("maxUnavailable", Port), of("maxSurge", Port)]);
static DEPLOYMENT_STATUS: Struct = shape(
    "DeploymentStatus",
    &[
        int64("observedGeneration"),
        int32("replicas"),
        int32("updatedReplicas"),
        int32("readyReplicas"),
        int32("availableReplicas"),
        int32("unavailableReplicas"),
        int32("terminatingReplicas"),
        of("conditions", List(&Kind::Struct(&DEPLOYMENT_CONDITION))),
        int32("collisionCount"),
    ],
);

static DAEMON_SET_SPEC: Struct = shape(
    "DaemonSetSpec",
    &[
        SELECTOR,
        TEMPLATE,
        one("updateStrategy", &DAEMON_SET_STRATEGY),
        int32("minReadySeconds"),
        int32("revisionHistoryLimit"),
    ],
);
static DAEMON_SET_STRATEGY: Struct = shape(
    "DaemonSetUpdateStrategy",
    &[named("type", "v1.DaemonSetUpdateStrategyType"), one("rollingUpdate", &DAEMON_SET_ROLLING)],
);
static DAEMON_SET_ROLLING: Struct =
    shape("RollingUpdateDaemonSet", &[of("maxUnavailable", Port), of("maxSurge", Port)]);
static DAEMON_SET_STATUS: Struct = shape(
    "DaemonSetStatus",
    &[
        int32("currentNumberScheduled"),
        int32("numberMisscheduled"),
        int32("desiredNumberScheduled"),
        int32("numberReady"),
        int64("observedGeneration"),
        int32("updatedNumberScheduled"),
        int32("numberAvailable"),
        int32("numberUnavailable"),
        int32("collisionCount"),
        of("conditions", List(&Kind::Struct(&DAEMON_SET_CONDITION))),
    ],
);

static STATEFUL_SET_SPEC: Struct = shape(
    "StatefulSetSpec",
    &[
        int32("replicas"),
        SELECTOR,
        TEMPLATE,
        of("volumeClaimTemplates", List(&Kind::Struct(&PERSISTENT_VOLUME_CLAIM))),
        text("serviceName"),
        named("podManagementPolicy", "v1.PodManagementPolicyType"),
        one("updateStrategy", &STATEFUL_SET_STRATEGY),
        int32("revisionHistoryLimit"),
        int32("minReadySeconds"),
        one("persistentVolumeClaimRetentionPolicy", &RETENTION),
        one("ordinals", &ORDINALS),
    ],
);
static STATEFUL_SET_STRATEGY: Struct = shape(
    "StatefulSetUpdateStrategy",
    &[named("type", "v1.StatefulSetUpdateStrategyType"), one("rollingUpdate", &STATEFUL_SET_ROLLING)],
);
static STATEFUL_SET_ROLLING: Struct =
    shape("RollingUpdateStatefulSetStrategy", &[int32("partition"), of("maxUnavailable", Port)]);
static RETENTION: Struct = shape(
    "StatefulSetPersistentVolumeClaimRetentionPolicy",
    &[
        named("whenDeleted", "v1.PersistentVolumeClaimRetentionPolicyType"),
        named("whenScaled", "v1.PersistentVolumeClaimRetentionPolicyType"),
    ],
);
static ORDINALS: Struct = shape("StatefulSetOrdinals", &[int32("start")]);
static STATEFUL_SET_STATUS: Struct = shape(
    "StatefulSetStatus",
    &[
        int64("observedGeneration"),
        int32("replicas"),
        int32("readyReplicas"),
        int32("currentReplicas"),
        int32("updatedReplicas"),
        text("currentRevision"),
        text("updateRevision"),
        int32("collisionCount"),
        of("conditions", List(&Kind::Struct(&STATEFUL_SET_CONDITION))),
        int32("availableReplicas"),
    ],
);

static REPLICA_SET_SPEC: Struct =
    shape("ReplicaSetSpec", &[int32("replicas"), int32("minReadySeconds"), SELECTOR, TEMPLATE]);
static REPLICA_SET_STATUS: Struct = shape(
    "ReplicaSetStatus",
    &[
        int32("replicas"),
        int32("fullyLabeledReplicas"),
        int32("readyReplicas"),
        int32("availableReplicas"),
        int32("terminatingReplicas"),
        int64("observedGeneration"),
        of("conditions", List(&Kind::Struct(&REPLICA_SET_CONDITION))),
    ],
);

static REPLICATION_CONTROLLER_SPEC: Struct = shape(
    "ReplicationControllerSpec",
    &[int32("replicas"), int32("minReadySeconds"), of("selector", STRING_MAP), TEMPLATE],
);
static REPLICATION_CONTROLLER_STATUS: Struct = shape(
    "ReplicationControllerStatus",
    &[
        int32("replicas"),
        int32("fullyLabeledReplicas"),
        int32("readyReplicas"),
        int32("availableReplicas"),
        int64("observedGeneration"),
        of("conditions", List(&Kind::Struct(&REPLICATION_CONTROLLER_CONDITION))),
    ],
);

static JOB_SPEC: Struct = shape(
    "JobSpec",
    &[
        int32("parallelism"),
        int32("completions"),
        int64("activeDeadlineSeconds"),
        one("podFailurePolicy", &FAILURE_POLICY),
        one("successPolicy", &SUCCESS_POLICY),
        int32("backoffLimit"),
        int32("backoffLimitPerIndex"),
        int32("maxFailedIndexes"),
        SELECTOR,
        flag("manualSelector"),
        TEMPLATE,
        int32("ttlSecondsAfterFinished"),
        named("completionMode", "v1.CompletionMode"),
        flag("suspend"),
        named("podReplacementPolicy", "v1.PodReplacementPolicy"),
        text("managedBy"),
    ],
);
static FAILURE_POLICY: Struct = shape("PodFailurePolicy", &[of("rules", List(&Kind::Struct(&FAILURE_RULE)))]);
static FAILURE_RULE: Struct = shape(
    "PodFailurePolicyRule",
    &[
        named("action", "v1.PodFailurePolicyAction"),
        one("onExitCodes", &FAILURE_CODES),
        of("onPodConditions", List(&Kind::Struct(&FAILURE_CONDITION))),
    ],
);
static FAILURE_CODES: Struct = shape(
    "PodFailurePolicyOnExitCodesRequirement",
    &[
        text("containerName"),
        named("operator", "v1.PodFailurePolicyOnExitCodesOperator"),
        of("values", List(&Int32)),
    ],
);
static FAILURE_CONDITION: Struct = shape(
    "PodFailurePolicyOnPodConditionsPattern",
    &[named("type", "v1.PodConditionType"), named("status", "v1.ConditionStatus")],
);
static SUCCESS_POLICY: Struct = shape("SuccessPolicy", &[of("rules", List(&Kind::Struct(&SUCCESS_RULE)))]);
static SUCCESS_RULE: Struct =
    shape("SuccessPolicyRule", &[text("succeededIndexes"), int32("succeededCount")]);
static JOB_STATUS: Struct = shape(
    "JobStatus",
    &[
        of("conditions", List(&Kind::Struct(&JOB_CONDITION))),
        of("startTime", Time),
        of("completionTime", Time),
        int32("active"),
        int32("succeeded"),
        int32("failed"),
        int32("terminating"),
        text("completedIndexes"),
        text("failedIndexes"),
        one("uncountedTerminatedPods", &UNCOUNTED),
        int32("ready"),
    ],
);
static UNCOUNTED: Struct = shape(
    "UncountedTerminatedPods",
    &[of("succeeded", List(&Kind::Text("types.UID"))), of("failed", List(&Kind::Text("types.UID")))],
);

static CRON_JOB_SPEC: Struct = shape(
    "CronJobSpec",
    &[
        text("schedule"),
        text("timeZone"),
        int64("startingDeadlineSeconds"),
        named("concurrencyPolicy", "v1.ConcurrencyPolicy"),
        flag("suspend"),
        one("jobTemplate", &JOB_TEMPLATE),
        int32("successfulJobsHistoryLimit"),
        int32("failedJobsHistoryLimit"),
    ],
);
static JOB_TEMPLATE: Struct =
    shape("JobTemplateSpec", &[one("metadata", &OBJECT_META), one("spec", &JOB_SPEC)]);
static CRON_JOB_STATUS: Struct = shape(
    "CronJobStatus",
    &[
        of("active", List(&Kind::Struct(&OBJECT_REFERENCE))),
        of("lastScheduleTime", Time),
        of("lastSuccessfulTime", Time),
    ],
);
static OBJECT_REFERENCE: Struct = shape(
    "ObjectReference",
    &[
        text("kind"),
        text("namespace"),
        text("name"),
        named("uid", "types.UID"),
        text("apiVersion"),
        text("resourceVersion"),
        text("fieldPath"),
    ],
);
