//! What the expressions of `policies.kyverno.io` see: the request, or data of any form, and the
//! libraries.
//!
//! In: a request. Out: a root with `object`, `oldObject`, `request`, `namespaceObject` and the
//! receivers of functions. Semantics: `docs/semantics/cel-policies.md`, "Evaluation".

use crate::Request;
use ephor_functions::cel::external_data;
use ephor_ir::cel_exception::exceptions_value;
use ephor_value::{Map, Str, Value};

use super::rule::admission_request;

/// A root with another value under a name.
pub fn with(root: &Value, key: &str, value: Value) -> Value {
    let mut m = root.as_map().cloned().unwrap_or_default();
    m.insert(key, value);
    Value::Map(m)
}

/// The root for a namespaced policy: it may look up objects of its own namespace only.
pub fn limited_to(root: &Value, namespace: &str) -> Value {
    let mut m = root.as_map().cloned().unwrap_or_default();
    for (name, type_name) in RECEIVERS {
        m.insert(name, external_data::receiver(type_name, Some(namespace)));
    }
    Value::Map(m)
}

/// The receivers of functions that look up external data.
const RECEIVERS: [(&str, &str); 4] = [
    ("resource", external_data::RESOURCE),
    ("http", external_data::HTTP),
    ("globalContext", external_data::GLOBAL),
    ("generator", "generator.Context"),
];

/// What roots have in common.
struct Common {
    /// The names of what depends on the request.
    names: [Str; 4],
    /// All else.
    entries: Vec<(Str, Value)>,
}

thread_local! {
    // One for each thread: counting references to the same values from all threads is slow.
    static COMMON: Common = Common::new();
}

impl Common {
    fn new() -> Common {
        let receiver =
            |(name, type_name): (&str, &str)| (Str::from(name), external_data::receiver(type_name, None));
        let mut entries: Vec<(Str, Value)> = RECEIVERS.into_iter().map(receiver).collect();
        let others = [
            ("image", external_data::IMAGE_DATA),
            ("json", "json.Json"),
            ("yaml", "yaml.Yaml"),
            ("mcp", "mcp.MCP"),
        ];
        entries.extend(others.map(receiver));
        entries.push(("mylib_version".into(), Value::from("")));
        entries.push(("exceptions".into(), exceptions_value(Vec::new(), Vec::new())));
        Common { names: ["object", "oldObject", "request", "namespaceObject"].map(Str::from), entries }
    }
}

/// What of a root depends on the request.
#[derive(Clone, Copy)]
pub enum RequestPart {
    /// `object`
    Object,
    /// `oldObject`
    OldObject,
    /// `request`
    Request,
    /// `namespaceObject`
    Namespace,
}

/// A root with these parts, each given once.
pub fn rooted<const N: usize>(parts: [(RequestPart, Value); N]) -> Value {
    COMMON.with(|common| {
        let [object, old, request, namespace] = &common.names;
        let name = |part| match part {
            RequestPart::Object => object,
            RequestPart::OldObject => old,
            RequestPart::Request => request,
            RequestPart::Namespace => namespace,
        };
        let mut entries = Vec::with_capacity(N + common.entries.len());
        entries.extend(parts.into_iter().map(|(part, value)| (name(part).clone(), value)));
        entries.extend(common.entries.iter().cloned());
        Value::Map(Map::from_unique(entries))
    })
}

/// An absent object is an empty map.
fn or_empty(object: &Value) -> Value {
    if object.is_null() { Value::Map(Map::new()) } else { object.clone() }
}

/// What stands for an object of the request that is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// Null.
    Null,
    /// An empty object.
    Empty,
}

/// What expressions see of an admission request.
pub fn root(request: &Request, absent: Absent) -> Value {
    let mut r = admission_request(request);
    if request.sent.is_none() {
        r.insert("uid", Value::from(""));
    }
    let shown = |v: &Value| match absent {
        Absent::Empty => or_empty(v),
        Absent::Null => v.with_whole_numbers(),
    };
    r.insert("object", shown(&request.object));
    r.insert("oldObject", shown(&request.old_object));
    let r = request.cause.clone().unwrap_or(Value::Map(r));
    let (object, old) = (or_empty(&request.object), or_empty(&request.old_object));
    rooted([
        (RequestPart::Object, object),
        (RequestPart::OldObject, old),
        (RequestPart::Request, r),
        (RequestPart::Namespace, namespace(request)),
    ])
}

/// What expressions see of data of any form.
pub fn payload(request: &Request) -> Value {
    let object = request.object_or_old();
    rooted([
        (RequestPart::Object, object.clone()),
        (RequestPart::OldObject, Value::Null),
        (RequestPart::Request, Value::Null),
        (RequestPart::Namespace, Value::Null),
    ])
}

/// The namespace of the object, when it is known.
pub fn namespace(request: &Request) -> Value {
    if request.target.namespace.is_empty() { Value::Null } else { request.namespace.clone() }
}
