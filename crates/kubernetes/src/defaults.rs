//! What an API server fills into an object that it has decoded.
//!
//! In: an object and its description. Out: the object with the fields that the server writes for those
//! that are missing, quantities in their canonical form. Constant values are in the schema and in
//! `defaults.txt`; those that depend on the object are below.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::prune::inside;
use super::schema::{Leaf, Type, TypeDef, Types, constant};
use crate::value::quantity::Quantity;
use crate::value::{Map, Str, Value};

const TABLE: &str = include_str!("defaults.txt");

/// Objects that nest deeper are not looked at.
const MAX_DEPTH: usize = 512;

type Fields = Vec<(Str, Value)>;

fn constants(of: &str) -> &'static [(Str, Value)] {
    static FOUND: OnceLock<HashMap<&'static str, Fields>> = OnceLock::new();
    let table = FOUND.get_or_init(|| {
        let line = |line: &'static str| {
            let (name, rest) = line.split_once(' ')?;
            let fields = rest.split(' ').filter_map(|f| f.split_once('='));
            Some((name, fields.map(|(k, v)| (k.into(), constant(v))).collect()))
        };
        TABLE.lines().filter(|l| !l.starts_with('#')).filter_map(line).collect()
    });
    table.get(of).map_or(&[], |fields| fields)
}

/// The object as the server has it after decoding.
pub fn completed(object: &Value, def: &TypeDef, types: &Types) -> Value {
    let Value::Map(m) = object else { return object.clone() };
    Value::Map(fields(m, def, types, 0))
}

fn fields(m: &Map, def: &TypeDef, types: &Types, depth: usize) -> Map {
    let mut out = m.clone();
    if depth > MAX_DEPTH {
        return out;
    }
    before(&mut out, def);
    for (key, value) in constants(&def.name) {
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
        if v.is_null() && !def.custom && drops_null(&field.ty) {
            out.remove(&field.name);
            continue;
        }
        let v = value(v, &field.ty, types, depth + 1);
        out.insert(field.name.clone(), v);
    }
    out
}

/// Whether a null in the place of a value of a built-in kind leaves nothing behind.
fn drops_null(ty: &Type) -> bool {
    !matches!(ty, Type::List(..) | Type::Leaf(Leaf::Time | Leaf::MicroTime | Leaf::Any))
}

fn value(v: &Value, ty: &Type, types: &Types, depth: usize) -> Value {
    match (ty, v) {
        (Type::Leaf(Leaf::Quantity), v) => quantity(v),
        // Below a map a null is the empty text.
        (Type::Leaf(Leaf::String), Value::Null) => Value::from(""),
        _ => {
            let of = |m: &Map, def: &TypeDef| fields(m, def, types, depth);
            inside(v, ty, types, &of, &|v, ty| value(v, ty, types, depth + 1))
        }
    }
}

/// The canonical form of a quantity, written as text or number.
fn quantity(v: &Value) -> Value {
    let text = match v {
        Value::Str(s) => s.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Float(f) => crate::value::number::float_json(*f),
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
            if let Some(image) = m.get("image").and_then(Value::as_str).filter(|i| !i.is_empty()) {
                let policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
                fill(m, "imagePullPolicy", || policy.into());
            }
        }
        "core/v1.Pod" => {
            if let Some(Value::Map(spec)) = m.get_mut("spec") {
                fill(spec, "enableServiceLinks", || Value::Bool(true));
                ["initContainers", "containers"].into_iter().for_each(|key| request_limits(spec, key));
            }
        }
        "core/v1.Volume" if m.len() == 1 && m.contains_key("name") => {
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
            if m.get("type").and_then(Value::as_str) != Some("ExternalName") {
                fill(m, "internalTrafficPolicy", || "Cluster".into());
            }
        }
        "apps/v1.DeploymentStrategy"
        | "apps/v1.DaemonSetUpdateStrategy"
        | "apps/v1.StatefulSetUpdateStrategy"
            if m.get("type").and_then(Value::as_str).is_none_or(|t| matches!(t, "" | "RollingUpdate")) =>
        {
            fill(m, "rollingUpdate", empty);
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

/// Whether an image has the tag `latest`, or none.
fn is_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    match image.rsplit('/').next().and_then(|name| name.split_once(':')) {
        Some((_, tag)) => tag == "latest",
        None => true,
    }
}
