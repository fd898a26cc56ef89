//! What an API server writes into an object besides defaults: fields with two names, creation,
//! admission plugins.

use super::kinds;
use super::refusal::{Reason, Refusal};
use crate::kinds::Kinds;
use crate::release::ServerRules;
use crate::schema::TypeDef;
use ephor_value::quantity::Quantity;
use ephor_value::release::Release;
use ephor_value::{Map, Str, Value, print};

/// Stands for the uid that a server chooses.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// Statuses of objects that were just created, a kind a line.
const STATUS: &str = include_str!("status.txt");

/// The fields of the metadata that the server writes.
pub const CHOSEN: [&str; 8] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// The condition of a Pod with scheduling gates.
const GATED: &str = r#"{"type":"PodScheduled","status":"False","lastProbeTime":null,"reason":"SchedulingGated",
    "message":"Scheduling is blocked due to non-empty scheduling gates"}"#;

/// An object whose parts are changed in place.
fn edit(value: &mut Map, path: &[&str], change: &dyn Fn(&mut Map)) {
    match path.split_first() {
        None => change(value),
        Some((first, rest)) => {
            if let Some(Value::Map(m)) = value.get_mut(first) {
                edit(m, rest, change);
            }
        }
    }
}

fn insert_new(m: &mut Map, key: &str, value: Value) {
    if !m.contains_key(key) {
        m.insert(key, value);
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// The decoded object with what comes of fields with two names, before defaults.
pub fn decoded(object: Value, def: &TypeDef) -> Value {
    let Value::Map(mut m) = object else { return object };
    let name = def.short_name().to_owned();
    edit(&mut m, kinds::spec_path(&name), &|spec| {
        let account = ["serviceAccountName", "serviceAccount"].iter().find_map(|f| spec.get(f).cloned());
        if let Some(account) = account {
            spec.insert("serviceAccountName", account.clone());
            spec.insert("serviceAccount", account);
        }
        if name == "Pod" && spec.get("hostNetwork").and_then(Value::as_bool) == Some(true) {
            ["containers", "initContainers"].into_iter().for_each(|key| host_ports(spec, key));
        }
    });
    if name == "Secret"
        && let Some(Value::Map(texts)) = m.remove("stringData")
    {
        use base64::Engine;
        let mut data = m.get("data").and_then(Value::as_map).cloned().unwrap_or_default();
        for (key, text) in texts.iter() {
            let bytes = text.as_str().unwrap_or_default();
            data.insert(key.clone(), base64::engine::general_purpose::STANDARD.encode(bytes).into());
        }
        m.insert("data", Value::Map(data));
    }
    Value::Map(m)
}

/// Ports in the network of the node are the same there.
fn host_ports(spec: &mut Map, key: &str) {
    let Some(Value::List(containers)) = spec.get_mut(key) else { return };
    for container in containers.make_mut() {
        let Value::Map(container) = container else { continue };
        let Some(Value::List(ports)) = container.get_mut("ports") else { continue };
        for port in ports.make_mut() {
            let Value::Map(port) = port else { continue };
            if let Some(number) = port.get("containerPort").cloned() {
                insert_new(port, "hostPort", number);
            }
        }
    }
}

/// The object as it is stored: with a status, a namespace, and what admission plugins write.
pub fn stored(kind: &[Str; 3], object: Value, release: Release) -> Result<Value, Refusal> {
    let Value::Map(mut m) = object else { return Ok(object) };
    let name = &*kind[2];
    let mut metadata = m.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    if metadata.contains_key("resourceVersion") {
        return Err(Refusal::new("metadata.resourceVersion", Reason::Forbidden));
    }
    if metadata.contains_key("generateName") {
        return Err(Refusal::new("metadata.generateName", Reason::NotRecorded));
    }
    CHOSEN.into_iter().for_each(|field| drop(metadata.remove(field)));
    let known = Kinds::of_release(release).kind(&kind[0], &kind[1], name);
    let is_namespaced = known.is_some_and(|r| r.namespaced);
    if is_namespaced {
        insert_new(&mut metadata, "namespace", "default".into());
    } else if metadata.contains_key("namespace") {
        return Err(Refusal::new("metadata.namespace", Reason::Forbidden));
    }
    let object_name = metadata.get("name").cloned();
    m.insert("metadata", Value::Map(metadata));
    if name == "Node" && m.get("status").and_then(Value::as_map).is_some_and(|s| !s.is_empty()) {
        let fresh = m
            .get("status")
            .and_then(Value::as_map)
            .is_some_and(|s| s.keys().all(|k| matches!(&**k, "daemonEndpoints" | "nodeInfo")));
        if !fresh {
            return Err(Refusal::new("status", Reason::NotRecorded));
        }
    }
    let versioned = format!("{name}/{}", kind[1]);
    let lines = || STATUS.lines().filter_map(|l| l.split_once(' '));
    let status =
        lines().find(|(kind, _)| *kind == versioned).or_else(|| lines().find(|(kind, _)| *kind == name));
    drop_disabled(&mut m, name, release);
    m.remove("status");
    if let Some((_, status)) = status {
        m.insert("status", json(status));
    }
    match name {
        "Pod" => pod(&mut m),
        "Namespace" => {
            edit(&mut m, &["metadata"], &|meta| {
                let mut labels = meta.get("labels").and_then(Value::as_map).cloned().unwrap_or_default();
                labels.insert("kubernetes.io/metadata.name", object_name.clone().unwrap_or_default());
                meta.insert("labels", Value::Map(labels));
            });
            edit(&mut m, &["spec"], &|spec| {
                let mut finalizers =
                    spec.get("finalizers").and_then(Value::as_list).unwrap_or_default().to_vec();
                if !finalizers.iter().any(|f| f.as_str() == Some("kubernetes")) {
                    finalizers.push("kubernetes".into());
                }
                spec.insert("finalizers", Value::list(finalizers));
            });
        }
        "PersistentVolumeClaim" => protect(&mut m, "kubernetes.io/pvc-protection"),
        "PersistentVolume" => protect(&mut m, "kubernetes.io/pv-protection"),
        "Node" => edit(&mut m, &["spec"], &|spec| {
            let mut taints = spec.get("taints").and_then(Value::as_list).unwrap_or_default().to_vec();
            let mine = json(r#"{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}"#);
            if !taints.iter().any(|t| {
                t.text_at(&["key"]) == "node.kubernetes.io/not-ready"
                    && t.text_at(&["effect"]) == "NoSchedule"
            }) {
                taints.push(mine);
            }
            spec.insert("taints", Value::list(taints));
        }),
        "DaemonSet" => edit(&mut m, &["metadata"], &|meta| {
            let mut annotations =
                meta.get("annotations").and_then(Value::as_map).cloned().unwrap_or_default();
            annotations.insert("deprecated.daemonset.template.generation", "1".into());
            meta.insert("annotations", Value::Map(annotations));
        }),
        "Job" => job(&mut m, object_name)?,
        "ReplicationController" => controller(&mut m),
        "Service" => service(&mut m)?,
        "ServiceAccount" => names_alone(&mut m, "secrets"),
        "StatefulSet" => edit(&mut m, &["spec"], &claims),
        _ => {}
    }
    Ok(Value::Map(m))
}

/// Drops the fields whose gates are closed on a release, as an API server does after mutations and
/// before validation.
fn drop_disabled(m: &mut Map, kind: &str, release: Release) {
    let rules = ServerRules::of(release);
    if !rules.keeps_image_volumes {
        edit(m, kinds::spec_path(kind), &without_image_volumes);
    }
    if kind == "StatefulSet" && !rules.keeps_max_unavailable {
        edit(m, &["spec", "updateStrategy", "rollingUpdate"], &|rolling| {
            drop(rolling.remove("maxUnavailable"));
        });
    }
}

/// An object that a client sends as policies that validate see it, without the fields whose gates
/// are closed on a release; see [`as_sent`](super::encode::as_sent).
pub fn without_disabled(object: Value, kind: &str, release: Release) -> Value {
    match object {
        Value::Map(mut m) => {
            drop_disabled(&mut m, kind, release);
            Value::Map(m)
        }
        other => other,
    }
}

/// References of which the server stores the names.
fn names_alone(m: &mut Map, field: &str) {
    let Some(Value::List(items)) = m.get_mut(field) else { return };
    for item in items.make_mut() {
        let name = item.get("name").cloned();
        *item = Value::Map(name.map(|name| ("name".into(), name)).into_iter().collect());
    }
}

/// Volumes with a source that the server does not have are dropped, with all their sources.
fn without_image_volumes(spec: &mut Map) {
    let Some(Value::List(volumes)) = spec.get("volumes") else { return };
    let rest: Vec<Value> = volumes.iter().filter(|volume| volume.get("image").is_none()).cloned().collect();
    if rest.is_empty() {
        spec.remove("volumes");
    } else {
        spec.insert("volumes", Value::list(rest));
    }
}

/// Claims in a template are whole objects.
fn claims(spec: &mut Map) {
    let Some(Value::List(items)) = spec.get_mut("volumeClaimTemplates") else { return };
    for item in items.make_mut() {
        let Value::Map(claim) = item else { continue };
        claim.insert("apiVersion", "v1".into());
        claim.insert("kind", "PersistentVolumeClaim".into());
        claim.insert("status", Value::map([("phase", "Pending".into())]));
    }
}

fn protect(m: &mut Map, finalizer: &str) {
    edit(m, &["metadata"], &|meta| {
        let mut all = meta.get("finalizers").and_then(Value::as_list).unwrap_or_default().to_vec();
        if !all.iter().any(|f| f.as_str() == Some(finalizer)) {
            all.push(finalizer.into());
        }
        meta.insert("finalizers", Value::list(all));
    });
}

/// Tolerations, priority and the class of service.
fn pod(m: &mut Map) {
    let mut class = "BestEffort";
    edit(m, &["spec"], &|spec| {
        let mut all = spec.get("tolerations").and_then(Value::as_list).unwrap_or_default().to_vec();
        for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
            let tolerated = |t: &Value| {
                matches!(
                    t.text_at(&["key"]),
                    "" | "node.kubernetes.io/not-ready" | "node.kubernetes.io/unreachable"
                ) && (t.text_at(&["key"]).is_empty() || t.text_at(&["key"]) == key)
                    && matches!(t.text_at(&["effect"]), "" | "NoExecute")
            };
            if !all.iter().any(tolerated) {
                let entries = [
                    ("key", key.into()),
                    ("operator", "Exists".into()),
                    ("effect", "NoExecute".into()),
                    ("tolerationSeconds", Value::Int(300)),
                ];
                all.push(Value::map(entries));
            }
        }
        spec.insert("tolerations", Value::list(all));
        insert_new(spec, "priority", Value::Int(0));
        insert_new(spec, "preemptionPolicy", "PreemptLowerPriority".into());
    });
    if let Some(spec) = m.get("spec").and_then(Value::as_map) {
        class = class_of(spec);
    }
    let gated = m.get("spec").and_then(|s| s.get("schedulingGates")).is_some();
    edit(m, &["status"], &|status| {
        status.insert("qosClass", class.into());
        if gated {
            status.insert("conditions", Value::list(vec![json(GATED)]));
        }
    });
}

/// How sure a pod is of its resources: the amounts of cpu and memory of all containers.
fn class_of(spec: &Map) -> &'static str {
    let containers = ["containers", "initContainers"].iter().filter_map(|k| spec.get(k)?.as_list()).flatten();
    let (mut any, mut all) = (false, true);
    for container in containers {
        for resource in ["cpu", "memory"] {
            let amount = |of: &str| {
                let text = container.at(&["resources", of, resource]).and_then(super::refusal::quantity);
                text.filter(|q: &Quantity| !q.is_zero())
            };
            let (limit, request) = (amount("limits"), amount("requests"));
            any |= limit.is_some() || request.is_some();
            all &= limit.is_some() && limit == request;
        }
    }
    match (any, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// A Job selects its pods by labels that the server writes; it has those of its template.
fn job(m: &mut Map, name: Option<Value>) -> Result<(), Refusal> {
    let name = name.unwrap_or_default();
    let spec = m.get("spec").and_then(Value::as_map).cloned().unwrap_or_default();
    let labels =
        m.get("spec").and_then(|s| s.at(&["template", "metadata", "labels"])).and_then(Value::as_map);
    let is_own =
        |k: &str| matches!(k, "job-name" | "controller-uid") || k.starts_with("batch.kubernetes.io/");
    let own_labels = labels.is_some_and(|l| l.keys().any(|k| is_own(k)));
    let own =
        spec.contains_key("selector") || spec.get("manualSelector").and_then(Value::as_bool) == Some(true);
    if own || own_labels {
        return Err(Refusal::new("spec.selector", Reason::NotRecorded));
    }
    edit(m, &["spec"], &|spec| {
        spec.insert("manualSelector", Value::Bool(false));
        let own = Value::map([("batch.kubernetes.io/controller-uid", UID.into())]);
        spec.insert("selector", Value::map([("matchLabels", own)]));
    });
    edit(m, &["spec", "template", "metadata"], &|meta| {
        let mut labels = meta.get("labels").and_then(Value::as_map).cloned().unwrap_or_default();
        for key in ["batch.kubernetes.io/job-name", "job-name"] {
            labels.insert(key, name.clone());
        }
        for key in ["batch.kubernetes.io/controller-uid", "controller-uid"] {
            labels.insert(key, UID.into());
        }
        meta.insert("labels", Value::Map(labels));
    });
    let labels = Value::Map(m.clone()).at(&["spec", "template", "metadata", "labels"]).cloned();
    edit(m, &["metadata"], &|meta| {
        if let Some(labels) = &labels {
            insert_new(meta, "labels", labels.clone());
        }
    });
    Ok(())
}

/// The labels of the template are those of the object and of the selector, where these are missing.
fn controller(m: &mut Map) {
    let labels = Value::Map(m.clone()).at(&["spec", "template", "metadata", "labels"]).cloned();
    let Some(labels) = labels else { return };
    edit(m, &["metadata"], &|meta| insert_new(meta, "labels", labels.clone()));
    edit(m, &["spec"], &|spec| insert_new(spec, "selector", labels.clone()));
}

/// Addresses, families and ports of nodes; those that the server chooses are examples.
fn service(m: &mut Map) -> Result<(), Refusal> {
    let Some(Value::Map(spec)) = m.get_mut("spec") else { return Ok(()) };
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind == "ExternalName" {
        return Ok(());
    }
    let is_headless = spec.get("clusterIP").and_then(Value::as_str) == Some("None");
    let known = |field: &str, wanted: &str| spec.get(field).is_none_or(|v| v.json_eq(&json(wanted)));
    let address = print::json(&spec.get("clusterIP").cloned().unwrap_or_default());
    if let Some(field) = [
        ("ipFamilies", r#"["IPv4"]"#),
        ("ipFamilyPolicy", r#""SingleStack""#),
        ("clusterIPs", &format!("[{address}]")),
    ]
    .into_iter()
    .find_map(|(field, wanted)| (!known(field, wanted)).then_some(field))
    {
        return Err(Refusal::new(format!("spec.{field}"), Reason::NotRecorded));
    }
    if !is_headless && (spec.contains_key("clusterIP") || spec.contains_key("clusterIPs")) {
        return Err(Refusal::new("spec.clusterIP", Reason::NotRecorded));
    }
    if is_headless && !spec.contains_key("selector") {
        insert_new(spec, "ipFamilies", json(r#"["IPv4","IPv6"]"#));
        insert_new(spec, "ipFamilyPolicy", "RequireDualStack".into());
    }
    insert_new(spec, "clusterIP", "10.0.0.1".into());
    let address = spec.get("clusterIP").cloned().unwrap_or_default();
    insert_new(spec, "clusterIPs", Value::list(vec![address]));
    insert_new(spec, "ipFamilies", json(r#"["IPv4"]"#));
    insert_new(spec, "ipFamilyPolicy", "SingleStack".into());
    let is_external = matches!(&*kind, "NodePort" | "LoadBalancer");
    let allocates = kind == "NodePort"
        || spec.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool) == Some(true);
    if is_external
        && allocates
        && let Some(Value::List(ports)) = spec.get_mut("ports")
    {
        for (number, port) in (32700..).zip(ports.make_mut()) {
            let Value::Map(port) = port else { continue };
            insert_new(port, "nodePort", Value::Int(number));
        }
    }
    Ok(())
}
