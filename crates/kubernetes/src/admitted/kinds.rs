//! Checks across the fields of an object: its name, its selector and template, and what its kind
//! allows of a pod.

use super::refusal::{Checked, Reason, is_set, refuse};
use super::{formats, pods};
use crate::release::ServerRules;
use ephor_value::release::Release;
use ephor_value::{Map, Str, Value};

/// The way to the pod specification of a kind; empty for kinds that have none.
pub fn spec_path(kind: &str) -> &'static [&'static str] {
    match kind {
        "Pod" => &["spec"],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController" | "Job" => {
            &["spec", "template", "spec"]
        }
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => &[],
    }
}

fn at<'m>(m: &'m Map, path: &[&str]) -> Option<&'m Value> {
    let (first, rest) = path.split_first()?;
    m.get(first)?.at(rest)
}

fn text<'m>(m: &'m Map, path: &[&str]) -> &'m str {
    at(m, path).and_then(Value::as_str).unwrap_or_default()
}

/// Checks what is seen only in an object as it is sent: empty values that count as set.
pub fn sent(kind: &str, object: &Value) -> Checked {
    let Some(spec) = object.at(spec_path(kind)).filter(|_| !spec_path(kind).is_empty()) else {
        return Ok(());
    };
    if kind == "Pod" {
        pods::sent(object)?;
    }
    let path = spec_path(kind).join(".");
    if spec.get("overhead").is_some() {
        return refuse(&path, "overhead", Reason::NotRecorded);
    }
    let of_linux =
        ["supplementalGroups", "sysctls"].iter().find(|f| spec.at(&["securityContext", f]).is_some());
    match of_linux {
        Some(field) if spec.text_at(&["os", "name"]) == "windows" => {
            refuse(&format!("{path}.securityContext"), field, Reason::Forbidden)
        }
        _ => Ok(()),
    }
}

/// The names of the claims of a StatefulSet, which are volumes of its pods.
fn claims(m: &Map) -> Vec<&str> {
    let claims = at(m, &["spec", "volumeClaimTemplates"]).and_then(Value::as_list).unwrap_or_default();
    claims.iter().map(|c| c.text_at(&["metadata", "name"])).collect()
}

/// Checks an object of a kind.
pub fn check(kind: &[Str; 3], m: &Map, release: Release) -> Checked {
    let kind = &*kind[2];
    name(kind, m, ServerRules::of(release))?;
    let path = spec_path(kind);
    if !path.is_empty() {
        let at_path = path.join(".");
        let Some(spec) = at(m, path).and_then(Value::as_map) else {
            return refuse("", &at_path, Reason::Required);
        };
        let claims = claims(m);
        let is_name = |name: &&str| formats::fits("label", name) == Some(true);
        if let Some(i) = claims.iter().position(|name| !is_name(name)) {
            return refuse(&format!("spec.volumeClaimTemplates[{i}].metadata"), "name", Reason::Invalid);
        }
        pods::check(kind, spec, &at_path, &claims)?;
        template(kind, m)?;
    }
    let spec = m.get("spec").and_then(Value::as_map).cloned().unwrap_or_default();
    match kind {
        "Deployment" | "DaemonSet" => {
            let number = |f: &str| spec.get(f).and_then(Value::as_int);
            if number("progressDeadlineSeconds")
                .is_some_and(|d| d <= number("minReadySeconds").unwrap_or_default())
            {
                return refuse("spec", "progressDeadlineSeconds", Reason::Invalid);
            }
            rolling(kind, &spec)
        }
        "CronJob" => {
            let job = at(&spec, &["jobTemplate", "spec"]);
            let own =
                ["manualSelector", "selector"].into_iter().find(|f| job.is_some_and(|j| j.get(f).is_some()));
            own.map_or(Ok(()), |field| refuse("spec.jobTemplate.spec", field, Reason::Forbidden))
        }
        "Service" => service(&spec),
        "Ingress" if !is_set(&spec, "defaultBackend") && !is_set(&spec, "rules") => {
            refuse("spec", "rules", Reason::Required)
        }
        "ConfigMap" => config(m),
        "RoleBinding" | "ClusterRoleBinding" => binding(kind, m),
        "PersistentVolume" => volume(&spec),
        "HorizontalPodAutoscaler" => {
            let number = |f: &str| spec.get(f).and_then(Value::as_int).unwrap_or_default();
            if number("minReplicas") > number("maxReplicas") {
                return refuse("spec", "maxReplicas", Reason::Invalid);
            }
            Ok(())
        }
        "Secret" if text(m, &["type"]) != "Opaque" && text(m, &["type"]).contains("kubernetes.io/") => {
            refuse("", "type", Reason::NotRecorded)
        }
        "PodDisruptionBudget" if is_set(&spec, "minAvailable") && is_set(&spec, "maxUnavailable") => {
            refuse("", "spec", Reason::Invalid)
        }
        "Role" | "ClusterRole" => role(kind, m),
        _ => Ok(()),
    }
}

fn name(kind: &str, m: &Map, server: &ServerRules) -> Checked {
    let name = text(m, &["metadata", "name"]);
    let form = match kind {
        "Namespace" => "label",
        "Service" if !server.names_services_by_digits => "dns1035",
        "Service" => "label",
        "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding" => "path-segment",
        _ => "subdomain",
    };
    let longest = match kind {
        "CronJob" => 52,
        "Job" | "StatefulSet" => 63,
        _ => 253,
    };
    // The names of Jobs and StatefulSets become hostnames.
    let is_label = !matches!(kind, "Job" | "StatefulSet") || formats::fits("label", name) == Some(true);
    if name.is_empty() {
        return refuse("metadata", "name", Reason::Required);
    }
    if formats::fits(form, name) != Some(true) || name.len() > longest || !is_label {
        return refuse("metadata", "name", Reason::Invalid);
    }
    // Objects are created in a namespace that exists.
    match text(m, &["metadata", "namespace"]) {
        "" | "default" | "kube-system" | "kube-public" => Ok(()),
        other if formats::fits("label", other) == Some(true) => Ok(()),
        _ => refuse("metadata", "namespace", Reason::Invalid),
    }
}

/// A selector that is not empty selects the pods of the template.
fn template(kind: &str, m: &Map) -> Checked {
    if matches!(kind, "Pod" | "Job" | "CronJob") {
        return Ok(());
    }
    let none = Map::new();
    let labels = at(m, &["spec", "template", "metadata", "labels"]).and_then(Value::as_map).unwrap_or(&none);
    let selector = at(m, &["spec", "selector"]).and_then(Value::as_map).unwrap_or(&none);
    if selector.is_empty() {
        return refuse("spec", "selector", Reason::Required);
    }
    let fits =
        if kind == "ReplicationController" { has_all(labels, selector) } else { selects(selector, labels) };
    if fits { Ok(()) } else { refuse("spec.template.metadata", "labels", Reason::Invalid) }
}

fn has_all(labels: &Map, wanted: &Map) -> bool {
    wanted.iter().all(|(k, v)| labels.get(k).is_some_and(|l| l.json_eq(v)))
}

fn selects(selector: &Map, labels: &Map) -> bool {
    let exact = selector.get("matchLabels").and_then(Value::as_map);
    let expressions = selector.get("matchExpressions").and_then(Value::as_list).unwrap_or_default();
    exact.is_none_or(|wanted| has_all(labels, wanted))
        && expressions.iter().all(|e| {
            let label = labels.get(e.text_at(&["key"]));
            let values = e.get("values").and_then(Value::as_list).unwrap_or_default();
            let is_among = label.is_some_and(|l| values.iter().any(|v| v.json_eq(l)));
            match e.text_at(&["operator"]) {
                "In" => is_among,
                "NotIn" => !is_among,
                "Exists" => label.is_some(),
                _ => label.is_none(),
            }
        })
}

/// Not both amounts of a rolling update are zero.
fn rolling(kind: &str, spec: &Map) -> Checked {
    let strategy = if kind == "Deployment" { "strategy" } else { "updateStrategy" };
    let Some(rolling) = at(spec, &[strategy, "rollingUpdate"]) else { return Ok(()) };
    let is_zero = |field: &str| match rolling.get(field) {
        Some(Value::Int(i)) => *i == 0,
        Some(v) => v.as_str() == Some("0%"),
        None => true,
    };
    let both = is_zero("maxSurge") && is_zero("maxUnavailable");
    let neither = kind == "DaemonSet" && !is_zero("maxSurge") && !is_zero("maxUnavailable");
    if both || neither {
        refuse(&format!("spec.{strategy}"), "rollingUpdate", Reason::Invalid)
    } else {
        Ok(())
    }
}

fn service(spec: &Map) -> Checked {
    let kind = text(spec, &["type"]);
    let ports = spec.get("ports").and_then(Value::as_list).unwrap_or_default();
    let is_headless = text(spec, &["clusterIP"]) == "None";
    if kind == "ExternalName" {
        let own = [
            "clusterIP",
            "clusterIPs",
            "ipFamilies",
            "ipFamilyPolicy",
            "internalTrafficPolicy",
            "sessionAffinityConfig",
        ];
        let set = own.iter().find(|f| spec.contains_key(f));
        if let Some(field) = set {
            return refuse("spec", field, Reason::Forbidden);
        }
        if text(spec, &["externalName"]).is_empty() {
            return refuse("spec", "externalName", Reason::Required);
        }
    } else if ports.is_empty() && !is_headless {
        return refuse("spec", "ports", Reason::Required);
    }
    if is_headless && kind != "ClusterIP" {
        return refuse("spec", "clusterIPs", Reason::Invalid);
    }
    let is_external = matches!(kind, "NodePort" | "LoadBalancer");
    let is_reached = is_external || (kind == "ClusterIP" && is_set(spec, "externalIPs"));
    let traffic = text(spec, &["externalTrafficPolicy"]);
    if !is_reached && !traffic.is_empty() {
        return refuse("spec", "externalTrafficPolicy", Reason::Invalid);
    }
    if kind == "LoadBalancer" && traffic == "Local" {
        // The server allocates a port for health checks.
        return refuse("spec", "healthCheckNodePort", Reason::NotRecorded);
    }
    if text(spec, &["sessionAffinity"]) == "None" && is_set(spec, "sessionAffinityConfig") {
        return refuse("spec", "sessionAffinityConfig", Reason::Forbidden);
    }
    let only_balancer = ["allocateLoadBalancerNodePorts", "loadBalancerClass", "loadBalancerSourceRanges"];
    if let Some(field) =
        only_balancer.iter().find(|f| spec.contains_key(f)).filter(|_| kind != "LoadBalancer")
    {
        return refuse("spec", field, Reason::Forbidden);
    }
    for (i, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{i}]");
        if ports.len() > 1 && port.text_at(&["name"]).is_empty() {
            return refuse(&path, "name", Reason::Required);
        }
        let given = port.get("nodePort").is_some();
        if given && !is_external {
            return refuse(&path, "nodePort", Reason::Forbidden);
        }
    }
    Ok(())
}

/// Keys of texts and bytes are different ones.
fn config(m: &Map) -> Checked {
    let none = Map::new();
    let of = |field: &str| m.get(field).and_then(Value::as_map).unwrap_or(&none);
    match of("binaryData").keys().find(|k| of("data").contains_key(k)) {
        Some(key) => refuse("", &format!("data[{key}]"), Reason::Invalid),
        None => Ok(()),
    }
}

fn binding(kind: &str, m: &Map) -> Checked {
    let role = text(m, &["roleRef", "kind"]);
    let known = role == "ClusterRole" || (role == "Role" && kind == "RoleBinding");
    if !known {
        return refuse("roleRef", "kind", Reason::NotSupported);
    }
    let subjects = m.get("subjects").and_then(Value::as_list).unwrap_or_default();
    for (i, subject) in subjects.iter().enumerate() {
        let path = format!("subjects[{i}]");
        let group = subject.text_at(&["apiGroup"]);
        let is_account = subject.text_at(&["kind"]) == "ServiceAccount";
        let wanted = if is_account { "" } else { "rbac.authorization.k8s.io" };
        if group != wanted {
            return refuse(&path, "apiGroup", Reason::NotSupported);
        }
        if is_account && formats::fits("subdomain", subject.text_at(&["name"])) != Some(true) {
            return refuse(&path, "name", Reason::Invalid);
        }
        if is_account && subject.text_at(&["namespace"]).is_empty() {
            return refuse(&path, "namespace", Reason::Required);
        }
    }
    Ok(())
}

/// Rules about paths are those of a ClusterRole, and name nothing else.
fn role(kind: &str, m: &Map) -> Checked {
    let rules = m.get("rules").and_then(Value::as_list).unwrap_or_default();
    for (i, rule) in rules.iter().enumerate() {
        let path = format!("rules[{i}]");
        let has = |f: &str| rule.get(f).is_some();
        if has("nonResourceURLs") {
            if kind == "Role" || has("apiGroups") || has("resources") || has("resourceNames") {
                return refuse(&path, "nonResourceURLs", Reason::Invalid);
            }
        } else if !has("apiGroups") || !has("resources") {
            return refuse(&path, if has("apiGroups") { "resources" } else { "apiGroups" }, Reason::Required);
        }
    }
    Ok(())
}

fn volume(spec: &Map) -> Checked {
    let capacity = spec.get("capacity").and_then(Value::as_map).cloned().unwrap_or_default();
    let size = capacity.get("storage").and_then(super::refusal::quantity);
    if capacity.len() != 1 || !size.is_some_and(|q| q.sign().is_gt()) {
        return refuse("spec", "capacity", Reason::Invalid);
    }
    let modes = spec.get("accessModes").and_then(Value::as_list).unwrap_or_default();
    if modes.len() > 1 && modes.iter().any(|mode| mode.as_str() == Some("ReadWriteOncePod")) {
        return refuse("spec", "accessModes", Reason::Forbidden);
    }
    if is_set(spec, "local") && !is_set(spec, "nodeAffinity") {
        return refuse("spec", "nodeAffinity", Reason::Required);
    }
    let recycles = text(spec, &["persistentVolumeReclaimPolicy"]) == "Recycle";
    if recycles && at(spec, &["hostPath", "path"]).and_then(Value::as_str) == Some("/") {
        return refuse("spec", "persistentVolumeReclaimPolicy", Reason::Forbidden);
    }
    Ok(())
}
