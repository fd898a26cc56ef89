//! Checks across the fields of a pod's specification: names that must exist or be unique, and what
//! depends on whether it is a Pod or a template.

use super::refusal::{Checked, Reason, is_set, join, refuse};
use ephor_value::{Map, Value};

fn items<'m>(m: &'m Map, field: &str) -> impl Iterator<Item = (usize, &'m Map)> + use<'m> {
    let items = m.get(field).and_then(Value::as_list).unwrap_or_default();
    items.iter().enumerate().filter_map(|(i, v)| Some((i, v.as_map()?)))
}

fn text<'m>(m: &'m Map, field: &str) -> &'m str {
    m.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn is(m: &Map, field: &str) -> bool {
    m.get(field).and_then(Value::as_bool) == Some(true)
}

fn part<'m>(m: &'m Map, path: &[&str]) -> Option<&'m Value> {
    let (first, rest) = path.split_first()?;
    m.get(first)?.at(rest)
}

/// All containers with their paths.
fn containers<'m>(spec: &'m Map, path: &str) -> Vec<(String, &'m Map, bool)> {
    let list = |field: &'static str| items(spec, field).map(move |(i, c)| (format!("{field}[{i}]"), c));
    let all = list("initContainers")
        .map(|(p, c)| (p, c, true))
        .chain(list("containers").map(|(p, c)| (p, c, false)));
    all.map(|(p, c, init)| (join(path, &p), c, init)).collect()
}

/// Checks the specification at a path of an object of a kind, with claims that are volumes besides.
pub fn check(kind: &str, spec: &Map, path: &str, claims: &[&str]) -> Checked {
    restart(kind, spec, path)?;
    if kind == "Pod" {
        plugins(spec, path)?;
    }
    network(spec, path)?;
    windows(spec, path)?;
    let mut names: Vec<&str> = Vec::new();
    let mut host_ports: Vec<(i64, &str, &str)> = Vec::new();
    for (at, container, init) in containers(spec, path) {
        let name = text(container, "name");
        if names.contains(&name) {
            return refuse(&at, "name", Reason::Duplicate);
        }
        names.push(name);
        of_container(spec, container, &at, init)?;
        mounts(spec, claims, container, &at)?;
        for (i, port) in items(container, "ports") {
            let Some(number) = port.get("hostPort").and_then(Value::as_int) else { continue };
            let key = (number, text(port, "protocol"), text(port, "hostIP"));
            if host_ports.contains(&key) {
                return refuse(&at, &format!("ports[{i}].hostPort"), Reason::Duplicate);
            }
            host_ports.push(key);
        }
    }
    for (i, container) in items(spec, "ephemeralContainers") {
        let at = join(path, &format!("ephemeralContainers[{i}]"));
        let name = text(container, "name");
        if names.contains(&name) {
            return refuse(&at, "name", Reason::Duplicate);
        }
        names.push(name);
        ephemeral(spec, claims, container, &at)?;
    }
    volumes(spec, path)
}

/// Checks a container that is added to a pod.
fn ephemeral(spec: &Map, claims: &[&str], container: &Map, at: &str) -> Checked {
    let target = text(container, "targetContainerName");
    if !target.is_empty() && !items(spec, "containers").any(|(_, one)| text(one, "name") == target) {
        return refuse(at, "targetContainerName", Reason::Invalid);
    }
    for (i, mount) in items(container, "volumeMounts") {
        for field in ["subPath", "subPathExpr"] {
            if is_set(mount, field) {
                return refuse(at, &format!("volumeMounts[{i}].{field}"), Reason::Forbidden);
            }
        }
    }
    of_container(spec, container, at, false)?;
    mounts(spec, claims, container, at)
}

/// What is seen only in the ephemeral containers of a pod as they are sent: empty values count as
/// set.
pub fn sent(pod: &Value) -> Checked {
    let all = pod.at(&["spec", "ephemeralContainers"]).and_then(Value::as_list).unwrap_or_default();
    for (i, container) in all.iter().enumerate() {
        let at = format!("spec.ephemeralContainers[{i}]");
        for field in ["ports", "resizePolicy"] {
            if container.get(field).is_some_and(|value| !value.is_null()) {
                return refuse(&at, field, Reason::Forbidden);
            }
        }
        let resources = container.get("resources").and_then(Value::as_map);
        if resources.is_some_and(|own| own.values().any(|value| !value.is_null())) {
            return refuse(&at, "resources", Reason::Forbidden);
        }
    }
    Ok(())
}

fn restart(kind: &str, spec: &Map, path: &str) -> Checked {
    let policy = text(spec, "restartPolicy");
    let allowed = match kind {
        "Pod" => true,
        "Job" | "CronJob" => matches!(policy, "OnFailure" | "Never"),
        _ => policy == "Always",
    };
    if !allowed {
        return refuse(path, "restartPolicy", Reason::NotSupported);
    }
    let fixed = !matches!(kind, "Pod" | "Job" | "CronJob");
    if fixed && spec.contains_key("activeDeadlineSeconds") {
        return refuse(path, "activeDeadlineSeconds", Reason::Forbidden);
    }
    Ok(())
}

/// What admission plugins refuse of a Pod: classes that do not exist, other priorities than those
/// of its class.
fn plugins(spec: &Map, path: &str) -> Checked {
    for field in ["priorityClassName", "runtimeClassName"] {
        if spec.contains_key(field) {
            return refuse(path, field, Reason::NotRecorded);
        }
    }
    if spec.get("priority").and_then(Value::as_int) != Some(0) {
        return refuse(path, "priority", Reason::Forbidden);
    }
    if text(spec, "preemptionPolicy") != "PreemptLowerPriority" {
        return refuse(path, "preemptionPolicy", Reason::Forbidden);
    }
    if is_set(spec, "schedulingGates") && spec.contains_key("nodeName") {
        return refuse(path, "nodeName", Reason::Forbidden);
    }
    Ok(())
}

fn network(spec: &Map, path: &str) -> Checked {
    if is(spec, "shareProcessNamespace") && is(spec, "hostPID") {
        return refuse(path, "shareProcessNamespace", Reason::Invalid);
    }
    let own_users = spec.get("hostUsers").and_then(Value::as_bool) == Some(false);
    if own_users && ["hostNetwork", "hostPID", "hostIPC"].iter().any(|f| is(spec, f)) {
        return refuse(path, "hostUsers", Reason::Forbidden);
    }
    let servers = part(spec, &["dnsConfig", "nameservers"]).and_then(Value::as_list).unwrap_or_default();
    if text(spec, "dnsPolicy") == "None" && servers.is_empty() {
        return refuse(path, "dnsConfig.nameservers", Reason::Required);
    }
    let sysctls = part(spec, &["securityContext", "sysctls"]).and_then(Value::as_list).unwrap_or_default();
    for (i, sysctl) in sysctls.iter().enumerate() {
        let name = sysctl.text_at(&["name"]).replace('/', ".");
        let of_host = (is(spec, "hostNetwork") && name.starts_with("net."))
            || (is(spec, "hostIPC")
                && (name.starts_with("kernel.shm")
                    || name.starts_with("kernel.msg")
                    || name.starts_with("kernel.sem")
                    || name.starts_with("fs.mqueue.")));
        if of_host {
            return refuse(path, &format!("securityContext.sysctls[{i}].name"), Reason::Invalid);
        }
    }
    if is(spec, "hostNetwork") {
        for (at, container, _) in containers(spec, path) {
            for (i, port) in items(container, "ports") {
                let same = port.get("hostPort").and_then(Value::as_int)
                    == port.get("containerPort").and_then(Value::as_int);
                if port.contains_key("hostPort") && !same {
                    return refuse(&at, &format!("ports[{i}].containerPort"), Reason::Invalid);
                }
            }
        }
    }
    Ok(())
}

/// Fields of Windows and of Linux go with the named operating system; host processes are all or
/// none.
fn windows(spec: &Map, path: &str) -> Checked {
    let os = part(spec, &["os", "name"]).and_then(Value::as_str).unwrap_or_default();
    let option = |holder: &Map| part(holder, &["securityContext", "windowsOptions"]).cloned();
    let mut all = containers(spec, path);
    all.extend(items(spec, "ephemeralContainers").map(|(_, one)| (path.to_owned(), one, false)));
    let host = |o: &Option<Value>| o.as_ref().and_then(|o| o.get("hostProcess")).and_then(Value::as_bool);
    let of_pod = option(spec);
    let has_options = of_pod.is_some() || all.iter().any(|(_, c, _)| option(c).is_some());
    if os == "linux" && has_options {
        return refuse(path, "securityContext.windowsOptions", Reason::Forbidden);
    }
    if os == "windows" {
        let plain = ["hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];
        let linux = plain.iter().find(|f| spec.contains_key(f));
        if let Some(field) = linux {
            return refuse(path, field, Reason::Forbidden);
        }
        let only = |holder: &Map| {
            let fields = holder.get("securityContext").and_then(Value::as_map);
            fields.is_none_or(|m| m.keys().all(|k| matches!(&**k, "windowsOptions" | "runAsNonRoot")))
        };
        if !only(spec) || !all.iter().all(|(_, c, _)| only(c)) {
            return refuse(path, "securityContext", Reason::Forbidden);
        }
    }
    let effective: Vec<bool> =
        all.iter().map(|(_, c, _)| host(&option(c)).or(host(&of_pod)).unwrap_or(false)).collect();
    let contradicts =
        all.iter().any(|(_, c, _)| host(&option(c)).zip(host(&of_pod)).is_some_and(|(a, b)| a != b));
    if contradicts || (effective.contains(&true) && effective.contains(&false)) {
        return refuse(path, "securityContext.windowsOptions.hostProcess", Reason::Invalid);
    }
    if (effective.contains(&true) || host(&of_pod) == Some(true)) && !is(spec, "hostNetwork") {
        return refuse(path, "hostNetwork", Reason::Invalid);
    }
    Ok(())
}

fn of_container(spec: &Map, container: &Map, at: &str, init: bool) -> Checked {
    let is_sidecar = init && text(container, "restartPolicy") == "Always";
    if !init && container.contains_key("restartPolicy") {
        return refuse(at, "restartPolicy", Reason::NotRecorded);
    }
    let probes = ["livenessProbe", "readinessProbe", "startupProbe"];
    if init && !is_sidecar {
        let found = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]
            .iter()
            .find(|f| container.contains_key(f));
        if let Some(field) = found {
            return refuse(at, field, Reason::Forbidden);
        }
    }
    let mut ports: Vec<&str> = Vec::new();
    for (i, port) in items(container, "ports") {
        let name = text(port, "name");
        if !name.is_empty() && ports.contains(&name) {
            return refuse(at, &format!("ports[{i}].name"), Reason::Duplicate);
        }
        ports.push(name);
    }
    let grace = spec.get("terminationGracePeriodSeconds").and_then(Value::as_int).unwrap_or(30);
    for hook in ["postStart", "preStop"] {
        let seconds = part(container, &["lifecycle", hook, "sleep", "seconds"]).and_then(Value::as_int);
        if seconds.is_some_and(|s| s > grace) {
            return refuse(at, &format!("lifecycle.{hook}.sleep"), Reason::Invalid);
        }
    }
    for field in probes {
        let Some(probe) = container.get(field).and_then(Value::as_map) else { continue };
        let once = probe.get("successThreshold").and_then(Value::as_int) == Some(1);
        if field != "readinessProbe" && !once {
            return refuse(at, &format!("{field}.successThreshold"), Reason::Invalid);
        }
        if field == "readinessProbe" && probe.contains_key("terminationGracePeriodSeconds") {
            return refuse(at, &format!("{field}.terminationGracePeriodSeconds"), Reason::Invalid);
        }
    }
    if text(&part_map(container, "securityContext"), "procMount") == "Unmasked"
        && spec.get("hostUsers").and_then(Value::as_bool) != Some(false)
    {
        return refuse(at, "securityContext.procMount", Reason::Invalid);
    }
    let resize = container.get("resizePolicy").and_then(Value::as_list).unwrap_or_default();
    let restarts = resize.iter().any(|r| r.text_at(&["restartPolicy"]) == "RestartContainer");
    if restarts && text(spec, "restartPolicy") == "Never" {
        return refuse(at, "resizePolicy", Reason::Invalid);
    }
    Ok(())
}

fn part_map(m: &Map, field: &str) -> Map {
    m.get(field).and_then(Value::as_map).cloned().unwrap_or_default()
}

fn mounts(spec: &Map, claims: &[&str], container: &Map, at: &str) -> Checked {
    let volume = |name: &str| items(spec, "volumes").find(|(_, v)| text(v, "name") == name).map(|(_, v)| v);
    let privileged =
        part(container, &["securityContext", "privileged"]).and_then(Value::as_bool) == Some(true);
    let mut devices: Vec<&str> = Vec::new();
    let mut paths: Vec<&str> = Vec::new();
    for (i, device) in items(container, "volumeDevices") {
        let name = text(device, "name");
        let fits = volume(name)
            .is_some_and(|v| v.contains_key("persistentVolumeClaim") || v.contains_key("ephemeral"));
        if !fits || devices.contains(&name) {
            return refuse(at, &format!("volumeDevices[{i}].name"), Reason::Invalid);
        }
        devices.push(name);
        paths.push(text(device, "devicePath"));
    }
    for (i, mount) in items(container, "volumeMounts") {
        let name = text(mount, "name");
        if volume(name).is_none() && !claims.contains(&name) {
            return refuse(at, &format!("volumeMounts[{i}].name"), Reason::Invalid);
        }
        if devices.contains(&name) || paths.contains(&text(mount, "mountPath")) {
            return refuse(at, &format!("volumeMounts[{i}].name"), Reason::Invalid);
        }
        if text(mount, "mountPropagation") == "Bidirectional" && !privileged {
            return refuse(at, &format!("volumeMounts[{i}].mountPropagation"), Reason::Invalid);
        }
    }
    Ok(())
}

/// Files of a projected volume have different paths.
fn volumes(spec: &Map, path: &str) -> Checked {
    for (i, volume) in items(spec, "volumes") {
        let sources = part(volume, &["projected", "sources"]).and_then(Value::as_list).unwrap_or_default();
        let mut paths: Vec<&str> = Vec::new();
        for source in sources {
            if source.get("serviceAccountToken").is_some() && !is_set(spec, "serviceAccountName") {
                return refuse(path, &format!("volumes[{i}].projected.sources"), Reason::Forbidden);
            }
            let own = source.at(&["serviceAccountToken", "path"]).and_then(Value::as_str);
            let listed = ["configMap", "secret", "downwardAPI"]
                .iter()
                .filter_map(|of| source.at(&[of, "items"])?.as_list())
                .flatten()
                .filter_map(|item| item.get("path")?.as_str());
            for file in own.into_iter().chain(listed) {
                if paths.contains(&file) {
                    return refuse(path, &format!("volumes[{i}].projected.sources"), Reason::Invalid);
                }
                paths.push(file);
            }
        }
    }
    Ok(())
}
