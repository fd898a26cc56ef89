//! What the expressions of generated variants see: each pod template of an object as if it were a
//! pod.
//!
//! In: a request. Out: a root for each template below `spec`, with the template's path. Semantics:
//! `docs/semantics/cel-policies.md`, "Controllers of pods".

use crate::Request;
use ephor_kubernetes::{kind_object, resource_object};
use ephor_value::{Map, Value};

use super::request::{Absent, root};

/// The roots, each with the path of its template; none where the object has no template.
pub fn roots(request: &Request) -> Vec<(String, Value)> {
    let object = request.object_or_old();
    let mut found = Vec::new();
    collect(object.get("spec").unwrap_or(&Value::Null), &mut "spec".to_string(), &mut found, 0);
    found
        .into_iter()
        .map(|(path, template)| {
            let former = former_at(&request.old_object, &path);
            let former = former.map(|t| pod_of(t, &request.old_object));
            let root = root_of(request, &pod_of(template, object), former);
            (path, root)
        })
        .collect()
}

fn root_of(request: &Request, pod: &Value, former: Option<Value>) -> Value {
    let mut m = root(request, Absent::Null).as_map().cloned().unwrap_or_default();
    let deleting = request.object.is_null();
    let (object, old) =
        if deleting { (Value::Null, pod.clone()) } else { (pod.clone(), former.unwrap_or_default()) };
    let mut r = m.get("request").and_then(Value::as_map).cloned().unwrap_or_default();
    let kind = kind_object(["", "v1", "Pod"]);
    let resource = resource_object(["", "v1", "pods"]);
    for (key, value) in [
        ("kind", &kind),
        ("requestKind", &kind),
        ("resource", &resource),
        ("requestResource", &resource),
        ("object", &object),
        ("oldObject", &old),
    ] {
        r.insert(key, value.clone());
    }
    m.insert("request", Value::Map(r));
    m.insert("object", object);
    m.insert("oldObject", old);
    Value::Map(m)
}

/// The deepest objects that are searched.
const MAX_DEPTH: usize = 64;

/// The pod templates below a value, with their paths.
fn collect<'v>(v: &'v Value, path: &mut String, out: &mut Vec<(String, &'v Value)>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    if is_template(v) {
        out.push((path.clone(), v));
        return;
    }
    let length = path.len();
    match v {
        Value::Map(m) => {
            for (k, inner) in m.sorted() {
                path.push('.');
                path.push_str(k);
                collect(inner, path, out, depth + 1);
                path.truncate(length);
            }
        }
        Value::List(items) => {
            for (i, inner) in items.iter().enumerate() {
                path.push_str(&format!("[{i}]"));
                collect(inner, path, out, depth + 1);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn is_template(v: &Value) -> bool {
    let containers = v.at(&["spec", "containers"]).and_then(Value::as_list).unwrap_or_default();
    let is_container =
        |c: &Value| !c.text_at(&["name"]).is_empty() && c.get("image").is_some_and(|i| i.as_str().is_some());
    let metadata = v.get("metadata").is_none_or(|m| m.as_map().is_some());
    !containers.is_empty() && containers.iter().all(is_container) && metadata
}

fn former_at<'v>(old: &'v Value, path: &str) -> Option<&'v Value> {
    let mut found = Vec::new();
    collect(old.get("spec")?, &mut "spec".to_string(), &mut found, 0);
    found.into_iter().find(|(p, _)| p == path).map(|(_, v)| v)
}

fn pod_of(template: &Value, parent: &Value) -> Value {
    let mut metadata = template.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    if metadata.get("name").is_none() {
        metadata.insert("name", Value::from(parent.text_at(&["metadata", "name"])));
    }
    let namespace = parent.text_at(&["metadata", "namespace"]);
    if !namespace.is_empty() {
        metadata.insert("namespace", Value::from(namespace));
    }
    let mut m = Map::new();
    m.insert("apiVersion", Value::from("v1"));
    m.insert("kind", Value::from("Pod"));
    m.insert("metadata", Value::Map(metadata));
    m.insert("spec", template.get("spec").cloned().unwrap_or_default());
    Value::Map(m)
}
