//! Containers.

use super::volume::OBJECT_FIELD_SELECTOR;
use super::volume::RESOURCE_FIELD_SELECTOR;
use super::*;

/// The fields that all containers have, with the embedded struct that ephemeral ones have them from.
macro_rules! container_fields {
    ($via:literal) => {
        [
            via($via, "name", STRING),
            via($via, "image", STRING),
            via($via, "securityContext", Kind::Struct(&SECURITY_CONTEXT)),
            via($via, "ports", List(&Kind::Struct(&PORT))),
            via($via, "command", STRINGS),
            via($via, "args", STRINGS),
            via($via, "workingDir", STRING),
            via($via, "envFrom", List(&Kind::Struct(&ENV_FROM))),
            via($via, "env", List(&Kind::Struct(&ENV))),
            via($via, "resources", Kind::Struct(&RESOURCE_REQUIREMENTS)),
            via($via, "resizePolicy", List(&Kind::Struct(&RESIZE_POLICY))),
            via($via, "restartPolicy", Kind::Text("v1.ContainerRestartPolicy")),
            via($via, "restartPolicyRules", List(&Kind::Struct(&RESTART_RULE))),
            via($via, "volumeMounts", List(&Kind::Struct(&VOLUME_MOUNT))),
            via($via, "volumeDevices", List(&Kind::Struct(&VOLUME_DEVICE))),
            via($via, "livenessProbe", Kind::Struct(&PROBE)),
            via($via, "readinessProbe", Kind::Struct(&PROBE)),
            via($via, "startupProbe", Kind::Struct(&PROBE)),
            via($via, "lifecycle", Kind::Struct(&LIFECYCLE)),
            via($via, "terminationMessagePath", STRING),
            via($via, "terminationMessagePolicy", Kind::Text("v1.TerminationMessagePolicy")),
            via($via, "imagePullPolicy", Kind::Text("v1.PullPolicy")),
            via($via, "stdin", Bool),
            via($via, "stdinOnce", Bool),
            via($via, "tty", Bool),
            of("targetContainerName", STRING),
        ]
    };
}

static OWN_FIELDS: [Field; 26] = container_fields!("");
static EMBEDDED_FIELDS: [Field; 26] = container_fields!("EphemeralContainerCommon");

/// Without the last field, which only ephemeral containers have.
pub static CONTAINER: Struct = shape("Container", OWN_FIELDS.split_at(25).0);
pub static EPHEMERAL_CONTAINER: Struct = shape("EphemeralContainer", &EMBEDDED_FIELDS);

static SECURITY_CONTEXT: Struct = shape(
    "SecurityContext",
    &[
        one("capabilities", &CAPABILITIES),
        flag("privileged"),
        one("seLinuxOptions", &SE_LINUX),
        one("windowsOptions", &WINDOWS),
        int64("runAsUser"),
        int64("runAsGroup"),
        flag("runAsNonRoot"),
        flag("readOnlyRootFilesystem"),
        flag("allowPrivilegeEscalation"),
        named("procMount", "v1.ProcMountType"),
        one("seccompProfile", &SECCOMP),
        one("appArmorProfile", &APP_ARMOR),
    ],
);

static CAPABILITIES: Struct = shape(
    "Capabilities",
    &[of("add", List(&Kind::Text("v1.Capability"))), of("drop", List(&Kind::Text("v1.Capability")))],
);

pub static SE_LINUX: Struct =
    shape("SELinuxOptions", &[text("user"), text("role"), text("type"), text("level")]);
pub static WINDOWS: Struct = shape(
    "WindowsSecurityContextOptions",
    &[text("gmsaCredentialSpecName"), text("gmsaCredentialSpec"), text("runAsUserName"), flag("hostProcess")],
);
pub static SECCOMP: Struct =
    shape("SeccompProfile", &[named("type", "v1.SeccompProfileType"), text("localhostProfile")]);
pub static APP_ARMOR: Struct =
    shape("AppArmorProfile", &[named("type", "v1.AppArmorProfileType"), text("localhostProfile")]);

static PORT: Struct = shape(
    "ContainerPort",
    &[
        text("name"),
        int32("hostPort"),
        int32("containerPort"),
        named("protocol", "v1.Protocol"),
        text("hostIP"),
    ],
);

static ENV_FROM: Struct = shape(
    "EnvFromSource",
    &[text("prefix"), one("configMapRef", &CONFIG_MAP_ENV), one("secretRef", &SECRET_ENV)],
);
static CONFIG_MAP_ENV: Struct =
    shape("ConfigMapEnvSource", &[via("LocalObjectReference", "name", STRING), flag("optional")]);
static SECRET_ENV: Struct =
    shape("SecretEnvSource", &[via("LocalObjectReference", "name", STRING), flag("optional")]);

static ENV: Struct = shape("EnvVar", &[text("name"), text("value"), one("valueFrom", &ENV_SOURCE)]);
static ENV_SOURCE: Struct = shape(
    "EnvVarSource",
    &[
        one("fieldRef", &OBJECT_FIELD_SELECTOR),
        one("resourceFieldRef", &RESOURCE_FIELD_SELECTOR),
        one("configMapKeyRef", &CONFIG_MAP_KEY),
        one("secretKeyRef", &SECRET_KEY),
        one("fileKeyRef", &FILE_KEY),
    ],
);
static CONFIG_MAP_KEY: Struct = shape(
    "ConfigMapKeySelector",
    &[via("LocalObjectReference", "name", STRING), text("key"), flag("optional")],
);
static SECRET_KEY: Struct =
    shape("SecretKeySelector", &[via("LocalObjectReference", "name", STRING), text("key"), flag("optional")]);
static FILE_KEY: Struct =
    shape("FileKeySelector", &[text("volumeName"), text("path"), text("key"), flag("optional")]);

pub static RESOURCE_REQUIREMENTS: Struct = shape(
    "ResourceRequirements",
    &[of("limits", RESOURCES), of("requests", RESOURCES), of("claims", List(&Kind::Struct(&CLAIM)))],
);
static CLAIM: Struct = shape("ResourceClaim", &[text("name"), text("request")]);
static RESIZE_POLICY: Struct = shape(
    "ContainerResizePolicy",
    &[named("resourceName", "v1.ResourceName"), named("restartPolicy", "v1.ResourceResizeRestartPolicy")],
);
static RESTART_RULE: Struct = shape(
    "ContainerRestartRule",
    &[named("action", "v1.ContainerRestartRuleAction"), one("exitCodes", &EXIT_CODES)],
);
static EXIT_CODES: Struct = shape(
    "ContainerRestartRuleOnExitCodes",
    &[named("operator", "v1.ContainerRestartRuleOnExitCodesOperator"), of("values", List(&Int32))],
);

static VOLUME_MOUNT: Struct = shape(
    "VolumeMount",
    &[
        text("name"),
        flag("readOnly"),
        named("recursiveReadOnly", "v1.RecursiveReadOnlyMode"),
        text("mountPath"),
        text("subPath"),
        named("mountPropagation", "v1.MountPropagationMode"),
        text("subPathExpr"),
    ],
);
static VOLUME_DEVICE: Struct = shape("VolumeDevice", &[text("name"), text("devicePath")]);

static PROBE: Struct = shape(
    "Probe",
    &[
        via("ProbeHandler", "exec", Kind::Struct(&EXEC)),
        via("ProbeHandler", "httpGet", Kind::Struct(&HTTP_GET)),
        via("ProbeHandler", "tcpSocket", Kind::Struct(&TCP_SOCKET)),
        via("ProbeHandler", "grpc", Kind::Struct(&GRPC)),
        int32("initialDelaySeconds"),
        int32("timeoutSeconds"),
        int32("periodSeconds"),
        int32("successThreshold"),
        int32("failureThreshold"),
        int64("terminationGracePeriodSeconds"),
    ],
);
static LIFECYCLE: Struct = shape(
    "Lifecycle",
    &[one("postStart", &HANDLER), one("preStop", &HANDLER), named("stopSignal", "v1.Signal")],
);
static HANDLER: Struct = shape(
    "LifecycleHandler",
    &[one("exec", &EXEC), one("httpGet", &HTTP_GET), one("tcpSocket", &TCP_SOCKET), one("sleep", &SLEEP)],
);
static EXEC: Struct = shape("ExecAction", &[of("command", STRINGS)]);
static HTTP_GET: Struct = shape(
    "HTTPGetAction",
    &[
        text("path"),
        of("port", Port),
        text("host"),
        named("scheme", "v1.URIScheme"),
        of("httpHeaders", List(&Kind::Struct(&HEADER))),
    ],
);
static HEADER: Struct = shape("HTTPHeader", &[text("name"), text("value")]);
static TCP_SOCKET: Struct = shape("TCPSocketAction", &[of("port", Port), text("host")]);
static GRPC: Struct = shape("GRPCAction", &[int32("port"), text("service")]);
static SLEEP: Struct = shape("SleepAction", &[int64("seconds")]);
