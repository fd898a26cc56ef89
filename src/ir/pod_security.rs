//! The Pod Security Standards as rows: which fields of a pod a control is about, and what they may hold.
//!
//! In: a level and a version. Out: the [`Form`]s of the controls that count there, in the order of reports; each is a list of
//! [`Requirement`]s, each of which names fields and their [`Condition`]. `engine::pod_security` runs them and words what they
//! find; an analysis reads the same rows. Semantics: `docs/validate.md`, "podSecurity".

use crate::value::Value;

use Absent::{Allowed, Empty, Forbidden};
use Condition::{FirstKey, Holds, Is, Items, Not, NotNumber, Number, Parent, Present, Texts, Unset};
use Of::{Both, Containers, Pod};

/// Versions as the minor number of `v1.N`; the latest is above all.
pub type Minor = u32;

/// The latest version.
pub const LATEST: Minor = Minor::MAX;

/// A control: one row.
#[derive(Debug)]
pub struct Control {
    /// The name of its check.
    pub id: &'static str,
    /// Its name in exclusions; empty for one that cannot be excluded.
    pub name: &'static str,
    /// Whether the baseline level has it; the others have all.
    pub baseline: bool,
    /// What it requires since which version. The first one also counts before its version (Kyverno's behaviour).
    pub forms: &'static [Form],
}

/// What a control requires since a version.
#[derive(Debug)]
pub struct Form {
    /// The version.
    pub since: Minor,
    /// Whether pods for Windows are exempt.
    pub unless_windows: bool,
    /// Why a pod is refused: for one bad value, for several.
    pub reason: [&'static str; 2],
    /// All of these.
    pub requirements: &'static [Requirement],
    /// What stands between the sentences of requirements; `None`: the first one that is not met says it all.
    pub joined: Option<&'static str>,
}

/// A requirement on fields, with the sentence that says that it is not met. In sentences `{who}` is the pod and the containers
/// in violation, `{containers}` the containers, `{volumes}` the volumes, `{use}` the verb that goes with them, `{values}` the
/// bad values sorted and quoted, `{list}` the same without quotation marks, `{found}` as they were found, `{s}` their
/// plural, `{tails, }` the tails of the fields in violation with what is between them, `{annotations}` annotations.
#[derive(Debug)]
pub struct Requirement {
    /// Whose fields.
    pub of: Of,
    /// The fields.
    pub fields: &'static [Field],
    /// The containers need nothing when the pod's own field satisfies this.
    pub unless_pod: Option<Condition>,
    /// Annotations that count like the fields.
    pub annotations: Option<&'static Annotations>,
    /// The sentence.
    pub sentence: &'static str,
    /// Whether reports name the fields.
    pub shows_fields: bool,
}

/// Whose fields a requirement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The pod's: paths begin below its `spec`.
    Pod,
    /// Those of every container, init container and ephemeral container: paths begin below the container.
    Containers,
    /// The pod's and those of every container.
    Both,
}

/// A field and what it may hold.
#[derive(Debug)]
pub struct Field {
    /// Its path; `*` stands for every item of a list.
    pub path: &'static [&'static str],
    /// What it may hold.
    pub condition: Condition,
    /// What a sentence says of the field.
    pub tail: &'static str,
}

/// What a field may hold. Null counts as absent.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// Anything but this boolean.
    Not(bool),
    /// This boolean.
    Is(bool),
    /// Something.
    Present,
    /// Anything, also nothing, in something that is present.
    Parent,
    /// Nothing.
    Unset,
    /// This number, or nothing.
    Number(i64),
    /// Anything but this number.
    NotNumber(i64),
    /// One of these texts.
    Texts(&'static [&'static str], Absent),
    /// A list of these texts, or nothing.
    Items(&'static [&'static str]),
    /// A list in which this text is.
    Holds(&'static str),
    /// An object with one of the first keys; the others are known, too.
    FirstKey(&'static [&'static str], &'static [&'static str]),
}

/// What it means that a text is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// Nothing is wrong.
    Allowed,
    /// It is the empty text; where what it is a field of is not there either, nothing is wrong.
    Empty,
    /// It must be there.
    Forbidden,
}

/// Annotations with profiles.
#[derive(Debug)]
pub struct Annotations {
    /// A key that is meant, whatever containers there are.
    pub pod: Option<&'static str>,
    /// What keys begin with.
    pub prefix: &'static str,
    /// Whether what follows must be the name of a container.
    pub of_containers: bool,
    /// The values that are allowed, besides those below `localhost/`.
    pub allowed: &'static [&'static str],
}

/// What stands under a path.
#[derive(Clone, Copy, Debug)]
pub enum Found<'v> {
    /// What it would be a field of is not there.
    NoParent,
    /// It is not there.
    Missing,
    /// This; null only as an item of a list.
    Value(&'v Value),
}

impl<'v> Found<'v> {
    /// The value.
    pub fn value(self) -> Option<&'v Value> {
        match self {
            Found::Value(v) => Some(v),
            Found::NoParent | Found::Missing => None,
        }
    }

    fn below(v: &'v Value, path: &[&str]) -> Found<'v> {
        let Some((last, parents)) = path.split_last() else { return Found::Value(v) };
        match parents.iter().try_fold(v, |v, key| present(v, key)) {
            None => Found::NoParent,
            Some(parent) => present(parent, last).map_or(Found::Missing, Found::Value),
        }
    }
}

/// The member `key` unless it is null.
pub fn present<'v>(v: &'v Value, key: &str) -> Option<&'v Value> {
    v.get(key).filter(|v| !v.is_null())
}

/// The texts of a list.
pub fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_list).unwrap_or_default().iter().map(|v| v.as_str().unwrap_or_default())
}

/// The whole number that a field holds.
pub fn whole(v: &Value) -> Option<i64> {
    match v {
        Value::Int(i) => Some(*i),
        Value::Float(f) => Some(*f as i64),
        _ => None,
    }
}

impl Field {
    /// Calls `f` with what stands under the path below `base`: with every item of the list that it walks, the position and
    /// the item of that list.
    pub fn each<'v>(&self, base: &'v Value, f: &mut dyn FnMut(Option<(usize, &'v Value)>, Found<'v>)) {
        let mut parts = self.path.split(|key| *key == "*");
        let list = parts.next().unwrap_or_default();
        let Some(rest) = parts.next() else { return f(None, Found::below(base, list)) };
        let items = base.at(list).and_then(Value::as_list).unwrap_or_default();
        items.iter().enumerate().for_each(|(i, item)| f(Some((i, item)), Found::below(item, rest)));
    }
}

impl Condition {
    /// Whether what stands somewhere is as it may be.
    pub fn admits(&self, found: Found<'_>) -> bool {
        let value = found.value();
        match self {
            Not(b) => value.and_then(Value::as_bool) != Some(*b),
            Is(b) => value.and_then(Value::as_bool) == Some(*b),
            Present => value.is_some(),
            Parent => !matches!(found, Found::NoParent),
            Unset => value.is_none(),
            Number(n) => value.and_then(whole).is_none_or(|v| v == *n),
            NotNumber(n) => value.and_then(whole) != Some(*n),
            Texts(allowed, absent) => match (found, absent) {
                (Found::Value(v), _) => v.as_str().is_some_and(|text| allowed.contains(&text)),
                (Found::Missing, Empty) => allowed.contains(&""),
                (_, Forbidden) => false,
                _ => true,
            },
            Items(allowed) => texts(value).all(|text| allowed.contains(&text)),
            Holds(wanted) => texts(value).any(|text| text == *wanted),
            FirstKey(allowed, _) => {
                value.is_some_and(|v| allowed.iter().any(|key| present(v, key).is_some()))
            }
        }
    }
}

/// A form of a control.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Its position among all forms of all controls.
    pub position: usize,
    /// The control.
    pub control: &'static Control,
    /// The form.
    pub form: &'static Form,
}

/// The minor number of a version; `None` when it is neither `latest`, nor empty, nor `v1.N`.
pub fn version(text: &str) -> Option<Minor> {
    if matches!(text, "" | "latest") {
        return Some(LATEST);
    }
    let digits = text.strip_prefix("v1.")?;
    let canonical = digits == "0" || !digits.starts_with('0');
    (canonical && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// The controls of a level in the form of a version, in the order of reports. Every level but `baseline` has all controls,
/// `privileged` too (Kyverno's behaviour).
pub fn of_level(level: &str, version: Minor) -> impl Iterator<Item = Placed> {
    let all = level != "baseline";
    let mut first = 0;
    CONTROLS.iter().filter_map(move |control| {
        let start = first;
        first += control.forms.len();
        if !all && !control.baseline {
            return None;
        }
        let newest = control.forms.iter().rposition(|form| form.since <= version).unwrap_or(0);
        let form = control.forms.get(newest)?;
        Some(Placed { position: start + newest, control, form })
    })
}

/// How many forms the controls have together.
pub const FORMS: usize = {
    let (mut sum, mut i) = (0, 0);
    while i < CONTROLS.len() {
        sum += CONTROLS[i].forms.len();
        i += 1;
    }
    sum
};

const fn baseline(id: &'static str, name: &'static str, forms: &'static [Form]) -> Control {
    Control { id, name, baseline: true, forms }
}

const fn restricted(id: &'static str, name: &'static str, forms: &'static [Form]) -> Control {
    Control { id, name, baseline: false, forms }
}

const fn since(since: Minor, reason: &'static str, requirements: &'static [Requirement]) -> Form {
    Form { since, unless_windows: false, reason: [reason; 2], requirements, joined: Some("; ") }
}

impl Form {
    const fn unless_windows(self) -> Form {
        Form { unless_windows: true, ..self }
    }

    const fn joined(self, joined: Option<&'static str>) -> Form {
        Form { joined, ..self }
    }
}

const fn all(of: Of, fields: &'static [Field], sentence: &'static str) -> Requirement {
    Requirement { of, fields, unless_pod: None, annotations: None, sentence, shows_fields: true }
}

const fn field(path: &'static [&'static str], condition: Condition) -> Field {
    Field { path, condition, tail: "" }
}

impl Field {
    const fn tail(self, tail: &'static str) -> Field {
        Field { tail, ..self }
    }
}

/// The capabilities that a container may add.
const CAPABILITIES: &[&str] = &[
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The profiles that are allowed.
const PROFILES: &[&str] = &["RuntimeDefault", "Localhost"];

/// The types of SELinux; the last one since a later version.
const SE_LINUX: &[&str] = &["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

/// The safe sysctls, those of later versions behind those of earlier ones.
const SYSCTLS: &[&str] = &[
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

/// The sources that every volume may have.
const VOLUMES: &[&str] = &[
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// The other sources, in the order in which they are looked for.
const OTHER_VOLUMES: &[&str] = &[
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

const SECCOMP: Requirement = all(
    Both,
    &[field(&["securityContext", "seccompProfile", "type"], Texts(PROFILES, Empty))],
    "{who} must not set securityContext.seccompProfile.type to {values}",
);

const fn added(allowed: &'static [Field]) -> Requirement {
    all(Containers, allowed, "{containers} must not include {values} in securityContext.capabilities.add")
}

const ADD: &[&str] = &["securityContext", "capabilities", "add"];

const ALL_DROPPED: &[Requirement] = &[
    all(
        Containers,
        &[field(&["securityContext", "capabilities", "drop"], Holds("ALL"))],
        "{containers} must set securityContext.capabilities.drop=[\"ALL\"]",
    ),
    added(&[field(ADD, Items(&["NET_BIND_SERVICE"]))]),
];

const ESCALATION: &[Requirement] = &[all(
    Containers,
    &[field(&["securityContext", "allowPrivilegeEscalation"], Is(false))],
    "{containers} must set securityContext.allowPrivilegeEscalation=false",
)];

const SECCOMP_REQUIRED: &[Requirement] = &[
    SECCOMP,
    Requirement {
        unless_pod: Some(Texts(PROFILES, Forbidden)),
        ..all(
            Containers,
            &[field(&["securityContext", "seccompProfile", "type"], Parent)],
            "pod or {containers} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
        )
    },
];

const fn se_linux(fields: &'static [Field]) -> Requirement {
    all(Both, fields, "{who} set forbidden securityContext.seLinuxOptions: {tails; }")
}

const fn se_linux_type(allowed: &'static [&'static str]) -> Field {
    field(&["securityContext", "seLinuxOptions", "type"], Texts(allowed, Allowed)).tail("type{s} {values}")
}

const SE_LINUX_USER: Field =
    field(&["securityContext", "seLinuxOptions", "user"], Texts(&[""], Allowed)).tail("user may not be set");
const SE_LINUX_ROLE: Field =
    field(&["securityContext", "seLinuxOptions", "role"], Texts(&[""], Allowed)).tail("role may not be set");

const fn sysctls(fields: &'static [Field]) -> Requirement {
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
    baseline("appArmorProfile", "AppArmor", &[Form {
        reason: ["forbidden AppArmor profile", "forbidden AppArmor profiles"],
        ..since(0, "", &[Requirement {
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
    baseline("hostProbesAndHostLifecycle", "", &[since(34, "probe or lifecycle host", &[Requirement {
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
            Requirement {
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
        since(0, "seccompProfile", &[Requirement {
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
