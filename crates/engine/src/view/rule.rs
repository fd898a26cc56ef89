//! What the expressions of rules with `validate.cel` and of `matchConditions` see.
//!
//! In: a request. Out: `object`, `oldObject`, `request`, `namespaceObject`, `params`, `authorizer`.
//! Semantics: `docs/semantics/validate.md`, "Bodies".

use crate::{Profile, Request};
use ephor_kubernetes::kinds::guessed_plural as plural;
use ephor_kubernetes::{kind_object, resource_object};
use ephor_value::object::{About, Check};
use ephor_value::stock::stock;
use ephor_value::{Map, Object, Str, Value};

use super::admission;

/// What an API server lets conditions of webhooks see.
pub fn match_conditions_as_sent(request: &Request, sent: &Map) -> Value {
    let mut root = Map::new();
    root.insert("object", request.object.clone());
    root.insert("oldObject", request.old_object.clone());
    root.insert("request", Value::Map(sent.clone()));
    root.insert("namespaceObject", Value::Null);
    Value::Map(root)
}

/// The request as rules see it: the name of the resource is known in a cluster only.
fn request_of_rule(request: &Request) -> Map {
    let mut seen = admission_request(request);
    for key in ["resource", "requestResource"] {
        let known = request.root.get().at(&["request", key]).cloned();
        seen.insert(key, known.unwrap_or_else(|| resource_object(["", "", ""])));
    }
    seen
}

/// What conditions on requests see: an object that is not there has its kind all the same.
pub fn match_conditions(request: &Request) -> Value {
    let target = &request.target;
    let version = match &*target.group {
        "" => target.version.to_string(),
        group => format!("{group}/{}", target.version),
    };
    let of_kind = |object: &Value| {
        let mut m = object.as_map().cloned().unwrap_or_default();
        m.insert("apiVersion", version.as_str().into());
        m.insert("kind", Value::Str(target.kind.clone()));
        Value::Map(m)
    };
    let mut seen = request_of_rule(request);
    for key in ["name", "namespace"] {
        match request.object.text_at(&["metadata", key]) {
            "" => drop(seen.remove(key)),
            text => drop(seen.insert(key, text.into())),
        }
    }
    let mut m = Map::new();
    m.insert("object", of_kind(&request.object));
    m.insert("oldObject", of_kind(&request.old_object));
    m.insert("request", Value::Map(seen));
    m.insert("namespaceObject", Value::Null);
    Value::Map(m)
}

/// The request as expressions see it; built when the first rule needs it.
pub fn admission_request(request: &Request) -> Map {
    match &request.sent {
        Some(sent) => sent.clone(),
        None => request.seen.get_or_init(|| unsent_request(request)).clone(),
    }
}

/// A request that no API server has sent.
fn unsent_request(request: &Request) -> Map {
    let target = &request.target;
    let kind = kind_object([&target.group, &target.version, &target.kind].map(Str::clone));
    let resource =
        resource_object([target.group.clone(), target.version.clone(), plural(&target.kind).into()]);
    let mut entries = Vec::with_capacity(12);
    entries.extend([
        (stock("kind"), kind.clone()),
        (stock("resource"), resource.clone()),
        (stock("requestKind"), kind),
        (stock("requestResource"), resource),
    ]);
    for (key, value) in [
        ("subResource", &target.subresource),
        ("requestSubResource", &target.subresource),
        ("name", &target.name),
        ("namespace", &target.namespace),
        ("operation", &target.operation),
    ] {
        if !value.is_empty() {
            entries.push((stock(key), Value::Str(value.clone())));
        }
    }
    let user = request.root.get().at(&["request", "userInfo"]).cloned().unwrap_or(Value::Map(Map::new()));
    entries.extend([
        (stock("userInfo"), user),
        (stock("dryRun"), Value::Bool(false)),
        (stock("options"), Value::Null),
    ]);
    Map::from_unique(entries)
}

/// What the expressions of a rule with `validate.cel` see.
pub fn root(request: &Request, profile: Profile) -> Value {
    let namespace = match profile.offline_namespaces {
        true => named_namespace(request),
        false if is_namespaced(request) => admission::namespace(&request.namespace),
        false => Value::Null,
    };
    let of_request = Check { about: About::Resource, ..Check::default() };
    Value::Map(Map::from_unique(vec![
        (stock("object"), request.object.clone()),
        (stock("oldObject"), request.old_object.clone()),
        (stock("request"), Value::Map(request_of_rule(request))),
        (stock("params"), Value::Null),
        (stock("namespaceObject"), namespace),
        (stock("authorizer"), Value::object(Object::Check(Check::default()))),
        (stock("authorizer.requestResource"), Value::object(Object::Check(of_request))),
    ]))
}

/// Whether the object is in a namespace. A request about a namespace carries its name as well.
pub fn is_namespaced(request: &Request) -> bool {
    let target = &request.target;
    let is_namespace = target.group.is_empty() && &*target.kind == "Namespace";
    !target.namespace.is_empty() && !is_namespace
}

/// The object's namespace as rules see it: outside of a cluster they know its name only.
fn named_namespace(request: &Request) -> Value {
    if request.target.namespace.is_empty() {
        return Value::Null;
    }
    let mut found = namespace(request);
    if let Value::Map(m) = &mut found
        && let Some(Value::Map(metadata)) = m.get_mut("metadata")
    {
        metadata.remove("labels");
    }
    found
}

/// The object's namespace, as far as it is known outside of a cluster.
pub fn namespace(request: &Request) -> Value {
    let target = &request.target;
    if target.namespace.is_empty() {
        return Value::Map(Map::new());
    }
    let mut metadata = Vec::with_capacity(2);
    metadata.push((stock("name"), Value::Str(target.namespace.clone())));
    if !target.namespace_labels.is_empty() {
        metadata.push((stock("labels"), Value::Map(target.namespace_labels.clone())));
    }
    let metadata = Value::Map(Map::from_unique(metadata));
    Value::Map(Map::from_unique(vec![(stock("metadata"), metadata)]))
}
