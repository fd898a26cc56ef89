//! Controllers of pods: Deployments, for which all but CronJobs are taken, and CronJobs.

use super::meta::{LABEL_SELECTOR, OBJECT_META};
use super::pod::POD_TEMPLATE;
use super::*;

const KIND: Field = via("TypeMeta", "kind", STRING);
const API_VERSION: Field = via("TypeMeta", "apiVersion", STRING);
const METADATA: Field = one("metadata", &OBJECT_META);
const SELECTOR: Field = one("selector", &LABEL_SELECTOR);
const TEMPLATE: Field = one("template", &POD_TEMPLATE);

pub static DEPLOYMENT: Struct = shape(
    "Deployment",
    &[KIND, API_VERSION, METADATA, one("spec", &DEPLOYMENT_SPEC), one("status", &DEPLOYMENT_STATUS)],
);
pub static CRON_JOB: Struct = shape(
    "CronJob",
    &[KIND, API_VERSION, METADATA, one("spec", &CRON_JOB_SPEC), one("status", &CRON_JOB_STATUS)],
);

static DEPLOYMENT_CONDITION: Struct = shape(
    "DeploymentCondition",
    &[
        named("type", "v1.DeploymentConditionType"),
        named("status", "v1.ConditionStatus"),
        of("lastUpdateTime", Time),
        of("lastTransitionTime", Time),
        text("reason"),
        text("message"),
    ],
);
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
