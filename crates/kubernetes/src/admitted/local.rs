//! Checks of an object's own fields that are more than a row of `rules.txt` can say.

use super::refusal::{Checked, Reason, Refusal, is_set, join, quantity, refuse};
use ephor_value::{Map, Value, names};

/// An annotation of all together may have this many bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

fn text<'m>(m: &'m Map, field: &str) -> &'m str {
    m.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn items<'m>(m: &'m Map, field: &str) -> &'m [Value] {
    m.get(field).and_then(Value::as_list).unwrap_or_default()
}

/// Checks the object of a type at a path.
pub fn check(name: &str, m: &Map, path: &str) -> Checked {
    match name {
        "meta/v1.ObjectMeta" => metadata(m, path),
        "core/v1.Toleration" => toleration(m, path),
        "core/v1.NodeSelectorRequirement" if matches!(text(m, "operator"), "Gt" | "Lt") => {
            let values = items(m, "values");
            let number = values.first().and_then(Value::as_str).is_some_and(|t| t.parse::<i32>().is_ok());
            if values.len() == 1 && number { Ok(()) } else { refuse(path, "values", Reason::Required) }
        }
        "core/v1.ObjectFieldSelector" => field_path(m, path),
        "core/v1.ResourceFieldSelector" => divisor(m, path),
        "core/v1.ResourceRequirements" => resources(m, path),
        "core/v1.SecurityContext" => privileges(m, path),
        "core/v1.AzureDiskVolumeSource" => {
            let managed = text(m, "kind") == "Managed";
            let fits = if managed {
                text(m, "diskURI").starts_with("/subscriptions/")
            } else {
                text(m, "diskURI").starts_with("https://")
            };
            if fits { Ok(()) } else { refuse(path, "diskURI", Reason::Invalid) }
        }
        "core/v1.PersistentVolumeClaimSpec" => claim(m, path),
        "core/v1.PersistentVolumeClaimTemplate" => {
            let metadata = m.get("metadata").and_then(Value::as_map);
            let known = |k: &str| matches!(k, "labels" | "annotations");
            let unknown = metadata.into_iter().flat_map(Map::keys).any(|k| !known(k));
            if unknown { refuse(path, "metadata", Reason::Forbidden) } else { Ok(()) }
        }
        "core/v1.CSIVolumeSource"
            if m.get("nodePublishSecretRef").is_some_and(|r| r.text_at(&["name"]).is_empty()) =>
        {
            refuse(path, "nodePublishSecretRef.name", Reason::Required)
        }
        "networking/v1.NetworkPolicyPort" => {
            match (m.get("port"), m.get("endPort").and_then(Value::as_int)) {
                (_, None) => Ok(()),
                (Some(Value::Int(port)), Some(end)) if end >= *port => Ok(()),
                _ => refuse(path, "endPort", Reason::Invalid),
            }
        }
        "apps/v1.RollingUpdateStatefulSetStrategy" => match m.get("maxUnavailable") {
            Some(Value::Int(0)) => refuse(path, "maxUnavailable", Reason::Invalid),
            Some(Value::Str(s)) if **s == *"0%" => refuse(path, "maxUnavailable", Reason::Invalid),
            _ => Ok(()),
        },
        "core/v1.ResourceQuotaSpec" => {
            let hard = m.get("hard").and_then(Value::as_map);
            let counted = |name: &str| !["cpu", "memory", "storage"].iter().any(|of| name.ends_with(of));
            let whole = |v: &Value| quantity(v).is_some_and(|q| q.as_integer().is_some());
            match hard.into_iter().flat_map(Map::iter).find(|(k, v)| counted(k) && !whole(v)) {
                Some((name, _)) => refuse(path, &format!("hard[{name}]"), Reason::Invalid),
                None => Ok(()),
            }
        }
        "core/v1.KeyToPath" | "core/v1.DownwardAPIVolumeFile" if text(m, "path").starts_with("..") => {
            refuse(path, "path", Reason::Invalid)
        }
        _ => Ok(()),
    }
}

fn metadata(m: &Map, path: &str) -> Checked {
    let annotations = m.get("annotations").and_then(Value::as_map);
    let size =
        annotations.into_iter().flat_map(Map::iter).map(|(k, v)| k.len() + v.as_str().map_or(0, str::len));
    if size.sum::<usize>() > MAX_ANNOTATIONS {
        return refuse(path, "annotations", Reason::Invalid);
    }
    // Annotations that are checked against fields of the object, or change them.
    let special = [
        "container.apparmor.security.beta.kubernetes.io/",
        "seccomp.security.alpha.kubernetes.io/",
        "container.seccomp.security.alpha.kubernetes.io/",
        "scheduler.alpha.kubernetes.io/",
        "kubernetes.io/config.",
        "pod.alpha.kubernetes.io/",
        "internal.",
        "service.kubernetes.io/topology",
        "volume.beta.kubernetes.io/",
        "storageclass.kubernetes.io/",
        "batch.kubernetes.io/",
        "kubernetes.io/service-account",
        "service.alpha.kubernetes.io/",
        "service.beta.kubernetes.io/",
        "ingressclass.kubernetes.io/",
        "autoscaling.alpha.kubernetes.io/",
        "pv.kubernetes.io/",
        "node.alpha.kubernetes.io/",
    ];
    if annotations.into_iter().flat_map(Map::keys).any(|k| special.iter().any(|s| k.starts_with(s))) {
        return refuse(path, "annotations", Reason::NotRecorded);
    }
    let owners = items(m, "ownerReferences");
    let controllers = owners.iter().filter(|o| o.get("controller").and_then(Value::as_bool) == Some(true));
    if controllers.count() > 1 || owners.iter().any(|o| o.text_at(&["kind"]) == "Event") {
        return refuse(path, "ownerReferences", Reason::Invalid);
    }
    Ok(())
}

fn toleration(m: &Map, path: &str) -> Checked {
    if !is_set(m, "key") && text(m, "operator") != "Exists" {
        return refuse(path, "operator", Reason::Invalid);
    }
    Ok(())
}

fn field_path(m: &Map, path: &str) -> Checked {
    let of_volume = path.contains("volumes[");
    let field = text(m, "fieldPath");
    let keyed = ["metadata.labels", "metadata.annotations"].iter().find_map(|p| field.strip_prefix(p));
    let fits = match (field, keyed) {
        ("metadata.name" | "metadata.namespace" | "metadata.uid", _) => true,
        (_, Some("")) => of_volume,
        (_, Some(key)) => {
            let key = key.strip_prefix("['").and_then(|k| k.strip_suffix("']"));
            key.is_some_and(|k| names::key_problems(k).is_empty() && k == k.to_lowercase())
        }
        ("spec.nodeName" | "spec.serviceAccountName" | "status.hostIP" | "status.podIP", _) => !of_volume,
        ("status.hostIPs" | "status.podIPs", _) => !of_volume,
        _ => false,
    };
    if fits { Ok(()) } else { refuse(path, "fieldPath", Reason::Invalid) }
}

fn divisor(m: &Map, path: &str) -> Checked {
    if path.contains("volumes[") && !is_set(m, "containerName") {
        return refuse(path, "containerName", Reason::Required);
    }
    let value = m.get("divisor").and_then(quantity).map(|q| q.to_string());
    let fits = match value.as_deref() {
        None | Some("0" | "1") => true,
        Some("1m") => text(m, "resource").ends_with(".cpu"),
        Some("1k" | "1M" | "1G" | "1T" | "1P" | "1E" | "1Ki" | "1Mi" | "1Gi" | "1Ti" | "1Pi" | "1Ei") => {
            !text(m, "resource").ends_with(".cpu")
        }
        Some(_) => false,
    };
    if fits { Ok(()) } else { refuse(path, "divisor", Reason::Invalid) }
}

/// Names and amounts of what a container needs.
fn resources(m: &Map, path: &str) -> Checked {
    let amounts = |field: &str| m.get(field).and_then(Value::as_map).cloned().unwrap_or_default();
    let (limits, requests) = (amounts("limits"), amounts("requests"));
    for (field, of) in [("limits", &limits), ("requests", &requests)] {
        for (name, amount) in of.iter() {
            let at = format!("{}[{name}]", join(path, field));
            let standard = matches!(&**name, "cpu" | "memory" | "ephemeral-storage");
            let extended = names::key_problems(name).is_empty()
                && name.split_once('/').is_some_and(|(domain, _)| {
                    !domain.ends_with("kubernetes.io")
                        && !domain.starts_with("requests.")
                        && domain.contains('.')
                });
            if !standard && !extended {
                return Err(Refusal::new(at, Reason::NotSupported));
            }
            let Some(amount) = quantity(amount) else { return Err(Refusal::new(at, Reason::Type)) };
            let whole = amount.as_integer().is_some_and(|i| i >= 0);
            if amount.sign().is_lt() || (extended && !whole) {
                return Err(Refusal::new(at, Reason::Invalid));
            }
        }
    }
    for (name, amount) in requests.iter() {
        let extended = name.contains('/');
        let limit = limits.get(name).and_then(quantity);
        let amount = quantity(amount);
        let fits = match limit {
            Some(_) if extended => limit == amount,
            Some(_) => amount <= limit,
            None => !extended,
        };
        if !fits {
            return Err(Refusal::new(format!("{}[{name}]", join(path, "requests")), Reason::Invalid));
        }
    }
    Ok(())
}

fn privileges(m: &Map, path: &str) -> Checked {
    let is = |field: &str, wanted: bool| m.get(field).and_then(Value::as_bool) == Some(wanted);
    let added = m.get("capabilities").and_then(|c| c.get("add")).and_then(Value::as_list).unwrap_or_default();
    let admin = added.iter().any(|c| matches!(c.as_str(), Some("CAP_SYS_ADMIN" | "SYS_ADMIN")));
    if is("allowPrivilegeEscalation", false) && (is("privileged", true) || admin) {
        return Err(Refusal::new(path, Reason::Invalid));
    }
    Ok(())
}

fn claim(m: &Map, path: &str) -> Checked {
    let modes = items(m, "accessModes");
    if modes.len() > 1 && modes.iter().any(|mode| mode.as_str() == Some("ReadWriteOncePod")) {
        return refuse(path, "accessModes", Reason::Forbidden);
    }
    let request = m.get("resources").and_then(|r| r.at(&["requests", "storage"])).and_then(quantity);
    if !request.is_some_and(|q| q.sign().is_gt()) {
        return refuse(path, "resources.requests[storage]", Reason::Required);
    }
    Ok(())
}
