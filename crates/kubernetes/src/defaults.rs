//! What an API server fills into an object that it has decoded.
//!
//! In: an object and its description. Out: the object with the fields that the server writes for
//! those that are missing, quantities in their canonical form. Constant values are in the schema
//! and in `defaults.txt`; those that depend on the object are below.

use std::collections::HashMap;

use super::prune::inside;
use super::schema::{Leaf, Type, TypeDef, Types, constant};
use ephor_value::quantity::Quantity;
use ephor_value::release::{ByRelease, Release};
use ephor_value::{Map, Str, Value};

const TABLE: &str = include_str!("defaults.txt");
const TABLE_1_37: &str = include_str!("defaults-1.37.txt");

/// Objects that nest deeper are not read.
const MAX_DEPTH: usize = 512;

type Fields = Vec<(Str, Value)>;

type Constants = HashMap<&'static str, Fields>;

fn constants_of(tables: &[&'static str]) -> Constants {
    let line = |line: &'static str| {
        let (name, rest) = line.split_once(' ')?;
        let fields = rest.split(' ').filter_map(|f| f.split_once('='));
        Some((name, fields.map(|(k, v)| (k.into(), constant(v))).collect()))
    };
    let lines = tables.iter().flat_map(|table| table.lines());
    lines.filter(|l| !l.starts_with('#')).filter_map(line).collect()
}

/// The constant defaults of the fields of a type.
fn constants(of: &str, release: Release) -> &'static [(Str, Value)] {
    static CONSTANTS: ByRelease<Constants> = ByRelease::new();
    let tables: &[&str] = match release {
        Release::V1_34 | Release::V1_35 | Release::V1_36 => &[TABLE],
        Release::V1_37 | Release::V1_38 => &[TABLE, TABLE_1_37],
    };
    CONSTANTS.get(release, || constants_of(tables)).get(of).map_or(&[], |fields| fields)
}

/// The constant default of a field of a type, if it has one in a release.
pub fn constant_of(of: &str, field: &str, release: Release) -> Option<&'static Value> {
    constants(of, release).iter().find(|(name, _)| **name == *field).map(|(_, value)| value)
}

/// The object as the server has it after decoding.
pub fn completed(object: &Value, def: &TypeDef, types: &Types) -> Value {
    let Value::Map(m) = object else { return object.clone() };
    Value::Map(fields(m, def, types, (0, def.custom)))
}

/// `at`: how deep it is, and whether it is a part of a custom resource.
fn fields(m: &Map, def: &TypeDef, types: &Types, at: (usize, bool)) -> Map {
    let (depth, is_custom) = at;
    let mut out = m.clone();
    if depth > MAX_DEPTH {
        return out;
    }
    before(&mut out, def);
    for (key, value) in constants(&def.name, types.release()) {
        fill(&mut out, key, || value.clone());
    }
    for field in &def.fields {
        if let Some(default) = &field.default
            && (!out.contains_key(&field.name)
                || (!field.nullable && out.get(&field.name).is_some_and(Value::is_null)))
        {
            out.insert(field.name.clone(), default.clone());
        }
        let Some(v) = out.get(&field.name) else { continue };
        if v.is_null() && !is_custom && drops_null(&field.ty) {
            out.remove(&field.name);
            continue;
        }
        if matches!(&field.ty, Type::Leaf(leaf) if !matches!(leaf, Leaf::Quantity)) && !v.is_null() {
            continue;
        }
        let mut complete = value(v, &field.ty, types, (depth + 1, is_custom));
        if &*def.name == "batch/v1.JobTemplateSpec" && &*field.name == "spec" {
            complete = undecided(v, &complete);
        }
        if &*def.name == "apps/v1.StatefulSetUpdateStrategy" && !rolls(&out) {
            complete = as_written(v, complete, "maxUnavailable");
        }
        out.insert(field.name.clone(), complete);
    }
    out
}

/// A Job in a CronJob gets its own defaults when it is created: only those of its template are
/// there.
fn undecided(written: &Value, complete: &Value) -> Value {
    let (Value::Map(written), Value::Map(complete)) = (written, complete) else { return complete.clone() };
    let stays = |k: &str| k == "template" || written.contains_key(k);
    Value::Map(complete.iter().filter(|(k, _)| stays(k)).map(|(k, v)| (k.clone(), v.clone())).collect())
}

/// Whether a strategy replaces pods one after the other.
fn rolls(strategy: &Map) -> bool {
    strategy.get("type").and_then(Value::as_str).is_none_or(|t| matches!(t, "" | "RollingUpdate"))
}

/// Without the default of a field, which the server does not fill in here.
fn as_written(written: &Value, complete: Value, key: &str) -> Value {
    let Value::Map(mut complete) = complete else { return complete };
    if written.get(key).is_none() {
        complete.remove(key);
    }
    Value::Map(complete)
}

/// Whether a null in the place of a value of a built-in kind leaves nothing behind.
fn drops_null(ty: &Type) -> bool {
    !matches!(ty, Type::List(..) | Type::Leaf(Leaf::Time | Leaf::MicroTime | Leaf::Any))
}

/// `at`: how deep it is, and whether it is a part of a custom resource.
fn value(v: &Value, ty: &Type, types: &Types, at: (usize, bool)) -> Value {
    let (depth, is_custom) = at;
    match (ty, v) {
        // Below a map a null is the empty value; custom resources keep it.
        (Type::Leaf(Leaf::Quantity), Value::Null) if !is_custom => Value::from("0"),
        (Type::Leaf(Leaf::Quantity), v) => quantity(v),
        (Type::Leaf(Leaf::String), Value::Null) if !is_custom => Value::from(""),
        _ => {
            let of = |m: &Map, def: &TypeDef| fields(m, def, types, at);
            inside(v, ty, types, &of, &|v, ty| value(v, ty, types, (depth + 1, is_custom)))
        }
    }
}

/// The canonical form of a quantity, written as text or number.
fn quantity(v: &Value) -> Value {
    let text = match v {
        Value::Str(s) => s.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Float(f) => ephor_value::number::float_json(*f),
        other => return other.clone(),
    };
    Quantity::parse(&text).map_or_else(|| v.clone(), |q| Value::from(q.to_string()))
}

fn fill(m: &mut Map, key: &str, value: impl FnOnce() -> Value) {
    if m.get(key).is_none_or(Value::is_null) {
        m.insert(key, value());
    }
}

fn empty() -> Value {
    Value::Map(Map::new())
}

/// What depends on the object.
fn before(m: &mut Map, def: &TypeDef) {
    match &*def.name {
        "core/v1.Container" | "core/v1.EphemeralContainer" => {
            let image = m.get("image").and_then(Value::as_str).unwrap_or_default();
            let policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
            fill(m, "imagePullPolicy", || policy.into());
        }
        "core/v1.ImageVolumeSource" => {
            let image = m.get("reference").and_then(Value::as_str).unwrap_or_default();
            let policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
            fill(m, "pullPolicy", || policy.into());
        }
        "core/v1.LimitRangeItem" if m.get("type").and_then(Value::as_str) == Some("Container") => limits(m),
        "autoscaling/v1.HorizontalPodAutoscalerSpec" => {
            fill(m, "targetCPUUtilizationPercentage", || Value::Int(80));
        }
        "autoscaling/v2.HorizontalPodAutoscalerSpec"
            if m.get("metrics").and_then(Value::as_list).is_none_or(<[Value]>::is_empty) =>
        {
            let target = Value::map([("type", "Utilization".into()), ("averageUtilization", Value::Int(80))]);
            let resource = Value::map([("name", "cpu".into()), ("target", target)]);
            let metric = Value::map([("type", "Resource".into()), ("resource", resource)]);
            m.insert("metrics", Value::list(vec![metric]));
        }
        "autoscaling/v2.HorizontalPodAutoscalerBehavior" => {
            let up = [("Pods", 4), ("Percent", 100)];
            scaling(m, "scaleUp", &up, Some(0));
            scaling(m, "scaleDown", &up[1..], None);
        }
        "flowcontrol/v1.LimitedPriorityLevelConfiguration" => {
            fill(m, "nominalConcurrencyShares", || Value::Int(30));
            fill(m, "lendablePercent", || Value::Int(0));
        }
        "flowcontrol/v1.ExemptPriorityLevelConfiguration" => {
            fill(m, "nominalConcurrencyShares", || Value::Int(0));
            fill(m, "lendablePercent", || Value::Int(0));
        }
        // Not in attachments of volumes, which hold the same type.
        "core/v1.PersistentVolume" => {
            if let Some(Value::Map(spec)) = m.get_mut("spec") {
                fill(spec, "persistentVolumeReclaimPolicy", || "Retain".into());
                fill(spec, "volumeMode", || "Filesystem".into());
            }
        }
        // Two names of one field.
        "core/v1.PodSpec" => {
            let account = ["serviceAccountName", "serviceAccount"].into_iter().find_map(|key| {
                m.get(key).filter(|v| v.as_str().is_some_and(|text| !text.is_empty())).cloned()
            });
            if let Some(account) = account {
                m.insert("serviceAccountName", account.clone());
                m.insert("serviceAccount", account);
            }
        }
        // What is written as text is stored as bytes.
        "core/v1.Secret" => {
            if let Some(Value::Map(texts)) = m.remove("stringData") {
                let mut data = m.get("data").and_then(Value::as_map).cloned().unwrap_or_default();
                for (key, text) in texts.iter() {
                    data.insert(key.clone(), base64(text.as_str().unwrap_or_default()));
                }
                m.insert("data", Value::Map(data));
            }
        }
        "core/v1.NodeSpec" => one_and_all(m, "podCIDR", "podCIDRs", None),
        "core/v1.PodStatus" => one_and_all(m, "podIP", "podIPs", Some("ip")),
        "core/v1.TCPSocketAction" => fill(m, "port", || Value::Int(0)),
        "core/v1.HTTPGetAction" => fill(m, "port", || Value::Int(0)),
        "core/v1.Pod" => {
            fill(m, "spec", empty);
            if let Some(Value::Map(spec)) = m.get_mut("spec") {
                fill(spec, "enableServiceLinks", || Value::Bool(true));
                ["initContainers", "containers"].into_iter().for_each(|key| request_limits(spec, key));
            }
        }
        "core/v1.Volume" if m.iter().all(|(key, v)| &**key == "name" || v.is_null()) => {
            m.insert("emptyDir", empty());
        }
        "core/v1.ServiceSpec" => {
            if let Some(Value::List(ports)) = m.get_mut("ports") {
                for port in ports.make_mut() {
                    let Value::Map(port) = port else { continue };
                    if let Some(number) = port.get("port").cloned() {
                        fill(port, "targetPort", || number);
                    }
                }
            }
            service(m);
        }
        "apps/v1.StatefulSetUpdateStrategy"
            if m.get("type").and_then(Value::as_str).is_none_or(str::is_empty) =>
        {
            fill(m, "rollingUpdate", empty);
        }
        "apps/v1.DeploymentStrategy" | "apps/v1.DaemonSetUpdateStrategy" => {
            if rolls(m) {
                fill(m, "rollingUpdate", empty);
            } else if let Some(Value::Map(rolling)) = m.get_mut("rollingUpdate") {
                // What other strategies do not use has no defaults, and is stored as numbers.
                ["maxSurge", "maxUnavailable"]
                    .into_iter()
                    .for_each(|key| fill(rolling, key, || Value::Int(0)));
            }
        }
        "batch/v1.JobSpec" if !m.contains_key("completions") && !m.contains_key("parallelism") => {
            m.insert("completions", Value::Int(1));
            m.insert("parallelism", Value::Int(1));
        }
        "batch/v1.JobSpec" => fill(m, "parallelism", || Value::Int(1)),
        "rbac/v1.Subject" => {
            if matches!(m.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
                fill(m, "apiGroup", || "rbac.authorization.k8s.io".into());
            }
        }
        "networking/v1.NetworkPolicySpec" if !m.contains_key("policyTypes") => {
            let has_egress = m.get("egress").and_then(Value::as_list).is_some_and(|l| !l.is_empty());
            let types = ["Ingress", "Egress"].into_iter().take(if has_egress { 2 } else { 1 });
            m.insert("policyTypes", Value::list(types.map(Value::from).collect()));
        }
        _ => {}
    }
}

/// A field of one value and the list that it is the first of; where they differ, the field decides.
fn one_and_all(m: &mut Map, one: &str, all: &str, key: Option<&str>) {
    let own = m.get(one).filter(|v| v.as_str().is_some_and(|v| !v.is_empty())).cloned();
    let first = m.get(all).and_then(|all| all.as_list()?.first());
    let first = first.map(|first| key.map_or(Some(first), |key| first.get(key)).cloned().unwrap_or_default());
    match (own, first) {
        (Some(own), first) if first.as_ref().is_none_or(|first| !first.json_eq(&own)) => {
            let item = key.map_or_else(|| own.clone(), |key| Value::map([(key, own.clone())]));
            m.insert(all, Value::list(vec![item]));
        }
        (None, Some(first)) => drop(m.insert(one, first)),
        _ => {}
    }
}

fn base64(text: &str) -> Value {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text).into()
}

/// How fast replicas come or go, as far as it is not written.
fn scaling(m: &mut Map, direction: &str, policies: &[(&str, i64)], window: Option<i64>) {
    let mut rules = m.get(direction).and_then(Value::as_map).cloned().unwrap_or_default();
    if let Some(window) = window {
        fill(&mut rules, "stabilizationWindowSeconds", || Value::Int(window));
    }
    fill(&mut rules, "selectPolicy", || "Max".into());
    let policy = |(kind, value): &(&str, i64)| {
        Value::map([
            ("type", (*kind).into()),
            ("value", Value::Int(*value)),
            ("periodSeconds", Value::Int(15)),
        ])
    };
    // In the order in which the server has them.
    fill(&mut rules, "policies", || Value::list(policies.iter().map(policy).collect()));
    m.insert(direction, Value::Map(rules));
}

/// Where a Service is reached from, and for how long clients stay with a Pod.
fn service(m: &mut Map) {
    let text = |m: &Map, field: &str| m.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    match &*text(m, "sessionAffinity") {
        "ClientIP" => {
            let seconds =
                m.get("sessionAffinityConfig").and_then(|c| c.at(&["clientIP", "timeoutSeconds"])).cloned();
            let seconds = seconds.filter(|s| !s.is_null()).unwrap_or(Value::Int(10800));
            let client = Value::map([("timeoutSeconds", seconds)]);
            m.insert("sessionAffinityConfig", Value::map([("clientIP", client)]));
        }
        "" | "None" => drop(m.remove("sessionAffinityConfig")),
        _ => {}
    }
    let kind = text(m, "type");
    let is_external = matches!(&*kind, "NodePort" | "LoadBalancer");
    let has_addresses = m.get("externalIPs").and_then(Value::as_list).is_some_and(|l| !l.is_empty());
    if is_external || (matches!(&*kind, "" | "ClusterIP") && has_addresses) {
        fill(m, "externalTrafficPolicy", || "Cluster".into());
    }
    if kind == "LoadBalancer" {
        fill(m, "allocateLoadBalancerNodePorts", || Value::Bool(true));
    }
    if kind != "ExternalName" {
        fill(m, "internalTrafficPolicy", || "Cluster".into());
    }
}

/// Containers have by default what they have at most, and request what they have by default, or at
/// least.
fn limits(m: &mut Map) {
    let of = |m: &Map, field: &str| m.get(field).and_then(Value::as_map).cloned().unwrap_or_default();
    for (field, from) in [("default", &["max"][..]), ("defaultRequest", &["default", "min"])] {
        let mut filled = of(m, field);
        for from in from {
            of(m, from).iter().for_each(|(k, v)| fill(&mut filled, k, || v.clone()));
        }
        if !filled.is_empty() {
            m.insert(field, Value::Map(filled));
        }
    }
}

/// What the containers of a pod are limited to is requested, unless something else is.
fn request_limits(spec: &mut Map, key: &str) {
    let Some(Value::List(containers)) = spec.get_mut(key) else { return };
    for container in containers.make_mut() {
        let Value::Map(container) = container else { continue };
        let Some(Value::Map(resources)) = container.get_mut("resources") else { continue };
        let Some(Value::Map(limits)) = resources.get("limits").cloned() else { continue };
        let mut requests = resources.get("requests").and_then(Value::as_map).cloned().unwrap_or_default();
        limits.iter().for_each(|(k, v)| fill(&mut requests, k, || v.clone()));
        resources.insert("requests", Value::Map(requests));
    }
}

/// Whether a text without digest names an image: a repository of lower case, perhaps with a
/// registry and a tag.
fn is_reference(image: &str) -> bool {
    let (path, tag) = match image.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
        _ => (image, None),
    };
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let good_tag = |t: &str| {
        t.starts_with(word) && t.len() <= 128 && t.chars().all(|c| word(c) || matches!(c, '.' | '-'))
    };
    let (registry, rest) = match path.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" || has_upper(first) => {
            (Some(first), rest)
        }
        _ => (None, path),
    };
    let host = |r: &str| {
        let (name, port) = r.split_once(':').map_or((r, "1"), |(name, port)| (name, port));
        let end = |c: char| c.is_ascii_alphanumeric();
        let part = |p: &str| p.starts_with(end) && p.ends_with(end) && p.chars().all(|c| end(c) || c == '-');
        name.split('.').all(part) && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
    };
    let is_digest = |p: &str| p.len() == 64 && p.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let length = rest.len() + if registry.is_none() && !rest.contains('/') { "library/".len() } else { 0 };
    rest.split('/').all(is_repository_part)
        && tag.is_none_or(good_tag)
        && registry.is_none_or(host)
        && length <= 255
        && !is_digest(path)
}

fn has_upper(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_uppercase())
}

/// Letters and digits with separators between: a point, one or two underscores, or hyphens.
fn is_repository_part(part: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separators = part.split(word).filter(|s| !s.is_empty());
    let good = |s: &str| matches!(s, "." | "_" | "__") || s.bytes().all(|b| b == b'-');
    part.starts_with(word) && part.ends_with(word) && separators.into_iter().all(good)
}

/// Whether an image has the tag `latest`, or none.
fn is_latest(image: &str) -> bool {
    if image.contains('@') || !is_reference(image) {
        return false;
    }
    match image.rsplit('/').next().and_then(|name| name.split_once(':')) {
        Some((_, tag)) => tag == "latest",
        None => true,
    }
}
