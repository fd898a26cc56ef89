//! The rows of the Pod Security controls, in the order of reports.
//!
//! In: nothing. Out: [`CONTROLS`]. Which fields there are and what they may hold is Kubernetes'
//! `policy` package, as Kyverno uses it (`docs/semantics/validate.md`, "Bodies").

use super::control::Absent::{Allowed, Empty, Forbidden};
use super::control::FieldCondition::{
    FirstKey, Holds, Is, Items, Not, NotNumber, Number, Parent, Present, Texts, Unset,
};
use super::control::Of::{self, Both, Containers, Pod};
use super::control::{Annotations, Control, ControlVersion, Field, FieldCondition, FieldRequirement, Minor};

const fn baseline(id: &'static str, name: &'static str, forms: &'static [ControlVersion]) -> Control {
    Control { id, name, baseline: true, forms }
}

const fn restricted(id: &'static str, name: &'static str, forms: &'static [ControlVersion]) -> Control {
    Control { id, name, baseline: false, forms }
}

const fn since(
    since: Minor,
    reason: &'static str,
    requirements: &'static [FieldRequirement],
) -> ControlVersion {
    ControlVersion { since, unless_windows: false, reason: [reason; 2], requirements, joined: Some("; ") }
}

impl ControlVersion {
    const fn unless_windows(self) -> ControlVersion {
        ControlVersion { unless_windows: true, ..self }
    }

    const fn joined(self, joined: Option<&'static str>) -> ControlVersion {
        ControlVersion { joined, ..self }
    }
}

const fn all(of: Of, fields: &'static [Field], sentence: &'static str) -> FieldRequirement {
    FieldRequirement { of, fields, unless_pod: None, annotations: None, sentence, shows_fields: true }
}

const fn field(path: &'static [&'static str], condition: FieldCondition) -> Field {
    Field { path, condition, tail: "" }
}

impl Field {
    const fn tail(self, tail: &'static str) -> Field {
        Field { tail, ..self }
    }
}

/// The capabilities that a container may add.
#[rustfmt::skip]
const CAPABILITIES: &[&str] = &[
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID",
    "SETPCAP", "SETUID", "SYS_CHROOT",
];

/// The profiles that are allowed.
const PROFILES: &[&str] = &["RuntimeDefault", "Localhost"];

/// The types of SELinux; the last one since a later version.
const SE_LINUX: &[&str] = &["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

/// The safe sysctls, those of later versions behind those of earlier ones.
#[rustfmt::skip]
const SYSCTLS: &[&str] = &[
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

/// The sources that every volume may have.
#[rustfmt::skip]
const VOLUMES: &[&str] = &[
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
];

/// The other sources, in the order in which they are looked for.
#[rustfmt::skip]
const OTHER_VOLUMES: &[&str] = &[
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd", "flexVolume",
    "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk",
    "portworxVolume", "scaleIO", "storageos",
];

const SECCOMP: FieldRequirement = all(
    Both,
    &[field(&["securityContext", "seccompProfile", "type"], Texts(PROFILES, Empty))],
    "{who} must not set securityContext.seccompProfile.type to {values}",
);

const fn added(allowed: &'static [Field]) -> FieldRequirement {
    all(Containers, allowed, "{containers} must not include {values} in securityContext.capabilities.add")
}

const ADD: &[&str] = &["securityContext", "capabilities", "add"];

const ALL_DROPPED: &[FieldRequirement] = &[
    all(
        Containers,
        &[field(&["securityContext", "capabilities", "drop"], Holds("ALL"))],
        "{containers} must set securityContext.capabilities.drop=[\"ALL\"]",
    ),
    added(&[field(ADD, Items(&["NET_BIND_SERVICE"]))]),
];

const ESCALATION: &[FieldRequirement] = &[all(
    Containers,
    &[field(&["securityContext", "allowPrivilegeEscalation"], Is(false))],
    "{containers} must set securityContext.allowPrivilegeEscalation=false",
)];

const SECCOMP_REQUIRED: &[FieldRequirement] = &[
    SECCOMP,
    FieldRequirement {
        unless_pod: Some(Texts(PROFILES, Forbidden)),
        ..all(
            Containers,
            &[field(&["securityContext", "seccompProfile", "type"], Parent)],
            "pod or {containers} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
        )
    },
];

const fn se_linux(fields: &'static [Field]) -> FieldRequirement {
    all(Both, fields, "{who} set forbidden securityContext.seLinuxOptions: {tails; }")
}

const fn se_linux_type(allowed: &'static [&'static str]) -> Field {
    field(&["securityContext", "seLinuxOptions", "type"], Texts(allowed, Allowed)).tail("type{s} {values}")
}

const SE_LINUX_USER: Field =
    field(&["securityContext", "seLinuxOptions", "user"], Texts(&[""], Allowed)).tail("user may not be set");
const SE_LINUX_ROLE: Field =
    field(&["securityContext", "seLinuxOptions", "role"], Texts(&[""], Allowed)).tail("role may not be set");

const fn sysctls(fields: &'static [Field]) -> FieldRequirement {
    all(Pod, fields, "{found}")
}

const fn sysctl(allowed: &'static [&'static str]) -> Field {
    field(&["securityContext", "sysctls", "*", "name"], Texts(allowed, Empty))
}

const fn host(path: &'static [&'static str]) -> Field {
    field(path, Texts(&[""], Allowed))
}

const SYSCTLS_REASON: &str = "forbidden sysctls";

/// All controls, in the order of reports.
#[rustfmt::skip]
pub static CONTROLS: &[Control] = &[
    restricted("allowPrivilegeEscalation", "Privilege Escalation", &[
        since(8, "allowPrivilegeEscalation != false", ESCALATION),
        since(25, "allowPrivilegeEscalation != false", ESCALATION).unless_windows(),
    ]),
    baseline("appArmorProfile", "AppArmor", &[ControlVersion {
        reason: ["forbidden AppArmor profile", "forbidden AppArmor profiles"],
        ..since(0, "", &[FieldRequirement {
            annotations: Some(&Annotations {
                pod: None,
                prefix: "container.apparmor.security.beta.kubernetes.io/",
                of_containers: false,
                allowed: &["", "runtime/default"],
            }),
            ..all(Both, &[field(&["securityContext", "appArmorProfile", "type"], Texts(PROFILES, Empty))],
                "{who} must not set AppArmor profile type to {values}")
        }])
    }]),
    baseline("capabilities_baseline", "Capabilities", &[
        since(0, "non-default capabilities", &[added(&[field(ADD, Items(CAPABILITIES))])]),
    ]),
    restricted("capabilities_restricted", "Capabilities", &[
        since(22, "unrestricted capabilities", ALL_DROPPED),
        since(25, "unrestricted capabilities", ALL_DROPPED).unless_windows(),
    ]),
    baseline("hostNamespaces", "Host Namespaces", &[since(0, "host namespaces", &[all(Pod, &[
        field(&["hostNetwork"], Not(true)).tail("hostNetwork=true"),
        field(&["hostPID"], Not(true)).tail("hostPID=true"),
        field(&["hostIPC"], Not(true)).tail("hostIPC=true"),
    ], "{tails, }")])]),
    baseline("hostPathVolumes", "HostPath Volumes", &[
        since(0, "hostPath volumes", &[all(Pod, &[field(&["volumes", "*", "hostPath"], Unset)], "{volumes}")]),
    ]),
    baseline("hostPorts", "Host Ports", &[
        since(0, "hostPort", &[all(Containers, &[field(&["ports", "*", "hostPort"], Number(0))],
            "{containers} {use} hostPort{s} {list}")]),
    ]),
    baseline("hostProbesAndHostLifecycle", "", &[since(34, "probe or lifecycle host", &[FieldRequirement {
        // There are no field errors (Kubernetes' behaviour).
        shows_fields: false,
        ..all(Containers, &[
            host(&["livenessProbe", "httpGet", "host"]), host(&["livenessProbe", "tcpSocket", "host"]),
            host(&["readinessProbe", "httpGet", "host"]), host(&["readinessProbe", "tcpSocket", "host"]),
            host(&["startupProbe", "httpGet", "host"]), host(&["startupProbe", "tcpSocket", "host"]),
            host(&["lifecycle", "postStart", "httpGet", "host"]), host(&["lifecycle", "postStart", "tcpSocket", "host"]),
            host(&["lifecycle", "preStop", "httpGet", "host"]), host(&["lifecycle", "preStop", "tcpSocket", "host"]),
        ], "{sorted containers} {use} probe or lifecycle host{s} {values}")
    }])]),
    baseline("privileged", "Privileged Containers", &[
        since(0, "privileged", &[all(Containers, &[field(&["securityContext", "privileged"], Not(true))],
            "{containers} must not set securityContext.privileged=true")]),
    ]),
    baseline("procMount", "/proc Mount Type", &[
        since(0, "procMount", &[all(Containers, &[field(&["securityContext", "procMount"], Texts(&["Default"], Allowed))],
            "{containers} must not set securityContext.procMount to {values}")]),
    ]),
    restricted("restrictedVolumes", "Volume Types", &[
        since(0, "restricted volume types", &[all(Pod, &[field(&["volumes", "*"], FirstKey(VOLUMES, OTHER_VOLUMES))],
            "{volumes} {use} restricted volume type{s} {values}")]),
    ]),
    restricted("runAsNonRoot", "Running as Non-root", &[
        since(0, "runAsNonRoot != true", &[
            all(Both, &[field(&["securityContext", "runAsNonRoot"], Not(false))],
                "{who} must not set securityContext.runAsNonRoot=false"),
            FieldRequirement {
                unless_pod: Some(Is(true)),
                ..all(Containers, &[field(&["securityContext", "runAsNonRoot"], Present)],
                    "pod or {containers} must set securityContext.runAsNonRoot=true")
            },
        ]).joined(Some("\n")),
    ]),
    restricted("runAsUser", "Running as Non-root user", &[
        since(23, "runAsUser=0", &[all(Both, &[field(&["securityContext", "runAsUser"], NotNumber(0))],
            "{who} must not set runAsUser=0")]),
    ]),
    baseline("seLinuxOptions", "SELinux", &[
        since(0, "seLinuxOptions", &[se_linux(&[se_linux_type(SE_LINUX.split_at(4).0), SE_LINUX_USER, SE_LINUX_ROLE])]),
        since(31, "seLinuxOptions", &[se_linux(&[se_linux_type(SE_LINUX), SE_LINUX_USER, SE_LINUX_ROLE])]),
    ]),
    baseline("seccompProfile_baseline", "Seccomp", &[
        since(0, "seccompProfile", &[FieldRequirement {
            annotations: Some(&Annotations {
                pod: Some("seccomp.security.alpha.kubernetes.io/pod"),
                prefix: "container.seccomp.security.alpha.kubernetes.io/",
                of_containers: true,
                allowed: &["runtime/default", "docker/default"],
            }),
            ..all(Pod, &[], "forbidden annotation{s} {annotations}")
        }]),
        since(19, "seccompProfile", &[SECCOMP]),
    ]),
    restricted("seccompProfile_restricted", "Seccomp", &[
        since(19, "seccompProfile", SECCOMP_REQUIRED).joined(None),
        since(25, "seccompProfile", SECCOMP_REQUIRED).joined(None).unless_windows(),
    ]),
    baseline("sysctls", "Sysctls", &[
        since(0, SYSCTLS_REASON, &[sysctls(&[sysctl(SYSCTLS.split_at(5).0)])]),
        since(27, SYSCTLS_REASON, &[sysctls(&[sysctl(SYSCTLS.split_at(6).0)])]),
        since(29, SYSCTLS_REASON, &[sysctls(&[sysctl(SYSCTLS.split_at(10).0)])]),
        since(32, SYSCTLS_REASON, &[sysctls(&[sysctl(SYSCTLS)])]),
    ]),
    baseline("windowsHostProcess", "HostProcess", &[
        since(0, "hostProcess", &[all(Both, &[field(&["securityContext", "windowsOptions", "hostProcess"], Not(true))],
            "{who} must not set securityContext.windowsOptions.hostProcess=true")]),
    ]),
];
