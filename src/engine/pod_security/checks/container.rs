//! Checks of what containers are allowed to do: privileges, capabilities, `/proc`.

use crate::value::Value;

use super::super::finding::{Bad, plural, quoted, sorted};
use super::super::pod::{Pod, present};
use super::Violation;

/// The capabilities that a container may add.
const DEFAULT: [&str; 13] = [
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

/// `container "a"` or `containers "a", "b"`.
pub fn containers(names: &[&str]) -> String {
    format!("{} {}", plural("container", names.len()), quoted(names))
}

/// Every container says `allowPrivilegeEscalation: false`.
pub fn privilege_escalation(pod: &Pod<'_>) -> Option<Violation> {
    const FIELD: &str = "securityContext.allowPrivilegeEscalation";
    let (mut names, mut errors) = (Vec::new(), Vec::new());
    for c in pod.containers() {
        let bad = match c.security().map(|s| present(s, "allowPrivilegeEscalation")) {
            None => Bad::Missing,
            Some(None) => Bad::Text("nil".into()),
            Some(Some(Value::Bool(true))) => Bad::Flag(true),
            Some(Some(_)) => continue,
        };
        names.push(c.name());
        errors.push(c.error(FIELD, bad));
    }
    (!names.is_empty()).then(|| Violation {
        reason: "allowPrivilegeEscalation != false",
        detail: format!("{} must set {FIELD}=false", containers(&names)),
        errors,
    })
}

/// No container is privileged.
pub fn privileged(pod: &Pod<'_>) -> Option<Violation> {
    const FIELD: &str = "securityContext.privileged";
    let (mut names, mut errors) = (Vec::new(), Vec::new());
    for c in pod.containers() {
        if c.security().and_then(|s| s.get("privileged")).and_then(Value::as_bool) == Some(true) {
            names.push(c.name());
            errors.push(c.error(FIELD, Bad::Flag(true)));
        }
    }
    (!names.is_empty()).then(|| Violation {
        reason: "privileged",
        detail: format!("{} must not set {FIELD}=true", containers(&names)),
        errors,
    })
}

/// `/proc` is mounted as usual.
pub fn proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    const FIELD: &str = "securityContext.procMount";
    let (mut names, mut values, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for c in pod.containers() {
        let Some(kind) = c.security().and_then(|s| s.get("procMount")).and_then(Value::as_str) else {
            continue;
        };
        if kind != "Default" {
            names.push(c.name());
            values.push(kind);
            errors.push(c.error(FIELD, Bad::Text(kind.into())));
        }
    }
    (!names.is_empty()).then(|| Violation {
        reason: "procMount",
        detail: format!("{} must not set {FIELD} to {}", containers(&names), quoted(&sorted(values))),
        errors,
    })
}

fn names_in<'a>(security: Option<&'a Value>, list: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let items = security.and_then(|s| s.at(&["capabilities", list])).and_then(Value::as_list);
    items.unwrap_or_default().iter().map(|v| v.as_str().unwrap_or_default())
}

/// Containers add default capabilities only.
pub fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    added_beyond(pod, &DEFAULT).map(|a| Violation {
        reason: "non-default capabilities",
        detail: a.detail,
        errors: a.errors,
    })
}

/// What containers add beyond a list, without a reason.
fn added_beyond(pod: &Pod<'_>, allowed: &[&str]) -> Option<Violation> {
    let (mut names, mut values, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for c in pod.containers() {
        if names_in(c.security(), "add").all(|name| allowed.contains(&name)) {
            continue;
        }
        let bad = sorted(names_in(c.security(), "add").filter(|name| !allowed.contains(name)));
        names.push(c.name());
        values.extend(bad.iter().cloned());
        errors.push(c.error("securityContext.capabilities.add", Bad::Texts(bad)));
    }
    (!names.is_empty()).then(|| Violation {
        reason: "",
        detail: format!(
            "{} must not include {} in securityContext.capabilities.add",
            containers(&names),
            quoted(&sorted(values))
        ),
        errors,
    })
}

/// Containers drop all capabilities and add none but the one for low ports.
pub fn all_dropped(pod: &Pod<'_>) -> Option<Violation> {
    let (mut names, mut errors) = (Vec::new(), Vec::new());
    for c in pod.containers() {
        if names_in(c.security(), "drop").any(|name| name == "ALL") {
            continue;
        }
        let dropped = sorted(names_in(c.security(), "drop"));
        let bad = if dropped.is_empty() { Bad::Missing } else { Bad::Texts(dropped) };
        names.push(c.name());
        errors.push(c.error("securityContext.capabilities.drop", bad));
    }
    let mut details = Vec::new();
    if !names.is_empty() {
        details.push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", containers(&names)));
    }
    if let Some(added) = added_beyond(pod, &["NET_BIND_SERVICE"]) {
        details.push(added.detail);
        errors.extend(added.errors);
    }
    (!details.is_empty()).then(|| Violation {
        reason: "unrestricted capabilities",
        detail: details.join("; "),
        errors,
    })
}
