//! Checks of what pods share with their host: namespaces, ports, probes, sysctls.

use crate::value::Value;

use super::super::finding::{Bad, plural, quoted, sorted};
use super::super::pod::{Pod, error, whole};
use super::Violation;
use super::container::containers;

/// The pod has its own namespaces.
pub fn namespaces(pod: &Pod<'_>) -> Option<Violation> {
    let (mut details, mut errors) = (Vec::new(), Vec::new());
    for field in ["hostNetwork", "hostPID", "hostIPC"] {
        if pod.spec.get(field).and_then(Value::as_bool) == Some(true) {
            details.push(format!("{field}=true"));
            errors.push(error(format!("spec.{field}"), Bad::Flag(true)));
        }
    }
    (!errors.is_empty()).then(|| Violation { reason: "host namespaces", detail: details.join(", "), errors })
}

/// Containers use no port of the host.
pub fn ports(pod: &Pod<'_>) -> Option<Violation> {
    let (mut names, mut values, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for c in pod.containers() {
        let before = errors.len();
        let ports = c.value().get("ports").and_then(Value::as_list).unwrap_or_default();
        for (j, port) in ports.iter().enumerate() {
            let number = port.get("hostPort").and_then(whole).unwrap_or_default();
            if number != 0 {
                values.push(number.to_string());
                errors.push(c.error(&format!("ports[{j}].hostPort"), Bad::Number(number)));
            }
        }
        if errors.len() > before {
            names.push(c.name());
        }
    }
    (!names.is_empty()).then(|| {
        let values = sorted(values);
        Violation {
            reason: "hostPort",
            detail: format!(
                "{} {} {} {}",
                containers(&names),
                uses(names.len()),
                plural("hostPort", values.len()),
                values.join(", ")
            ),
            errors,
        }
    })
}

fn uses(count: usize) -> &'static str {
    if count == 1 { "uses" } else { "use" }
}

/// Where probes and hooks name a host.
const HOSTS: [[&str; 4]; 10] = [
    ["livenessProbe", "", "httpGet", "host"],
    ["livenessProbe", "", "tcpSocket", "host"],
    ["readinessProbe", "", "httpGet", "host"],
    ["readinessProbe", "", "tcpSocket", "host"],
    ["startupProbe", "", "httpGet", "host"],
    ["startupProbe", "", "tcpSocket", "host"],
    ["lifecycle", "postStart", "httpGet", "host"],
    ["lifecycle", "postStart", "tcpSocket", "host"],
    ["lifecycle", "preStop", "httpGet", "host"],
    ["lifecycle", "preStop", "tcpSocket", "host"],
];

/// Probes and hooks name no host. There are no field errors (the reference's behaviour).
pub fn probes(pod: &Pod<'_>) -> Option<Violation> {
    let (mut names, mut hosts) = (Vec::new(), Vec::new());
    for c in pod.containers() {
        let before = hosts.len();
        for path in HOSTS {
            let found = path
                .into_iter()
                .filter(|key| !key.is_empty())
                .try_fold(c.value(), |v, key| v.get(key))
                .and_then(Value::as_str)
                .unwrap_or_default();
            if !found.is_empty() {
                hosts.push(found);
            }
        }
        if hosts.len() > before {
            names.push(c.name());
        }
    }
    (!names.is_empty()).then(|| {
        let hosts = sorted(hosts);
        names.sort_unstable();
        names.dedup();
        Violation {
            reason: "probe or lifecycle host",
            detail: format!(
                "{} {} {} {}",
                containers(&names),
                uses(names.len()),
                plural("probe or lifecycle host", hosts.len()),
                quoted(&hosts)
            ),
            errors: Vec::new(),
        }
    })
}

/// The safe sysctls: since when, and which.
const SAFE: [(u32, &str); 12] = [
    (0, "kernel.shm_rmid_forced"),
    (0, "net.ipv4.ip_local_port_range"),
    (0, "net.ipv4.tcp_syncookies"),
    (0, "net.ipv4.ping_group_range"),
    (0, "net.ipv4.ip_unprivileged_port_start"),
    (27, "net.ipv4.ip_local_reserved_ports"),
    (29, "net.ipv4.tcp_keepalive_time"),
    (29, "net.ipv4.tcp_fin_timeout"),
    (29, "net.ipv4.tcp_keepalive_intvl"),
    (29, "net.ipv4.tcp_keepalive_probes"),
    (32, "net.ipv4.tcp_rmem"),
    (32, "net.ipv4.tcp_wmem"),
];

fn safe_sysctls(pod: &Pod<'_>, version: u32) -> Option<Violation> {
    let (mut names, mut errors) = (Vec::new(), Vec::new());
    for (i, sysctl) in pod.list(&["securityContext", "sysctls"]).iter().enumerate() {
        let name = sysctl.text_at(&["name"]);
        if !SAFE.iter().any(|(since, safe)| *since <= version && *safe == name) {
            names.push(name);
            errors.push(error(format!("spec.securityContext.sysctls[{i}].name"), Bad::Text(name.into())));
        }
    }
    (!errors.is_empty()).then(|| Violation { reason: "forbidden sysctls", detail: names.join(", "), errors })
}

/// Sysctls are safe ones.
pub fn sysctls(pod: &Pod<'_>) -> Option<Violation> {
    safe_sysctls(pod, 0)
}

/// Sysctls are safe ones of 1.27.
pub fn sysctls_27(pod: &Pod<'_>) -> Option<Violation> {
    safe_sysctls(pod, 27)
}

/// Sysctls are safe ones of 1.29.
pub fn sysctls_29(pod: &Pod<'_>) -> Option<Violation> {
    safe_sysctls(pod, 29)
}

/// Sysctls are safe ones of 1.32.
pub fn sysctls_32(pod: &Pod<'_>) -> Option<Violation> {
    safe_sysctls(pod, 32)
}
