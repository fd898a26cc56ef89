//! What the expressions of admission policies see.
//!
//! In: the `request` of an AdmissionReview, objects, a namespace. Out: the values under their
//! names. Empty members are left out, as the API does. Semantics: `docs/semantics/admission.md`,
//! "What expressions see".

use ephor_kubernetes::{kind_object, resource_object, views};
use ephor_value::object::{About, Check};
use ephor_value::{Map, Object, Str, Value};

/// What expressions see in addition to the request.
#[derive(Clone, Debug, Default)]
pub struct AdmissionVariables {
    /// The new object.
    pub object: Value,
    /// The former object.
    pub old_object: Value,
    /// Parameters; `None` = not even declared.
    pub params: Option<Value>,
    /// The namespace, as [`namespace`] shows it.
    pub namespace: Value,
    /// Whether the authorizer is available.
    pub authorizer: bool,
    /// Whether the request and the namespace are views of their types.
    pub typed: bool,
}

/// The types of the parts of a request and of a namespace.
const REQUEST: [(&str, &str); 6] = [
    ("kind", "v1.GroupVersionKind"),
    ("requestKind", "v1.GroupVersionKind"),
    ("resource", "v1.GroupVersionResource"),
    ("requestResource", "v1.GroupVersionResource"),
    ("userInfo", "v1.UserInfo"),
    // Any object, of a type that is not known.
    ("options", views::TREE),
];
const NAMESPACE: [(&str, &str); 3] =
    [("metadata", "v1.ObjectMeta"), ("spec", "v1.NamespaceSpec"), ("status", "v1.NamespaceStatus")];

/// All variables. `request` is the value that [`request`] built, `review` the one that it was built
/// from.
pub fn root(request: &Value, seen: AdmissionVariables, review: &Value) -> Value {
    let mut m = Map::new();
    m.insert("object", seen.object);
    m.insert("oldObject", seen.old_object);
    if let Some(params) = seen.params {
        m.insert("params", params);
    }
    let shown = |v: Value, name: &str, parts: &[(&str, &str)]| match seen.typed {
        true => views::named(&v, name, parts),
        false => v,
    };
    m.insert("request", shown(request.clone(), "v1.AdmissionRequest", &REQUEST));
    m.insert("namespaceObject", shown(seen.namespace, "v1.Namespace", &NAMESPACE));
    if seen.authorizer {
        m.insert("authorizer", Value::object(Object::Check(Check::default())));
        let text = |path: &[&str]| Str::from(review.text_at(path));
        let check = Check {
            about: About::Resource,
            group: text(&["resource", "group"]),
            resource: text(&["resource", "resource"]),
            subresource: text(&["subResource"]),
            namespace: text(&["namespace"]),
            name: text(&["name"]),
            ..Check::default()
        };
        m.insert("authorizer.requestResource", Value::object(Object::Check(check)));
    }
    Value::Map(m)
}

/// `request`.
pub fn request(given: &Value) -> Value {
    let mut m = Map::new();
    let kind = |key: &str| kind_object(["group", "version", "kind"].map(|k| given.text_at(&[key, k])));
    let resource =
        |key: &str| resource_object(["group", "version", "resource"].map(|k| given.text_at(&[key, k])));
    m.insert("kind", kind("kind"));
    m.insert("resource", resource("resource"));
    let or = |own: &'static str, other: &'static str| if given.get(own).is_some() { own } else { other };
    m.insert("requestKind", kind(or("requestKind", "kind")));
    m.insert("requestResource", resource(or("requestResource", "resource")));
    for (k, v) in without_empty(given, &["subResource", "name", "namespace", "operation"]).iter() {
        m.insert(k.clone(), v.clone());
    }
    let sub = given.text_at(&[or("requestSubResource", "subResource")]);
    if !sub.is_empty() {
        m.insert("requestSubResource", Value::from(sub));
    }
    let user = given.get("userInfo").cloned().unwrap_or_default();
    m.insert("userInfo", Value::Map(without_empty(&user, &["username", "uid", "groups", "extra"])));
    m.insert("uid", Value::from(given.text_at(&["uid"])));
    m.insert("object", Value::Null);
    m.insert("oldObject", Value::Null);
    m.insert("dryRun", given.get("dryRun").cloned().unwrap_or(Value::Bool(false)));
    m.insert("options", given.get("options").cloned().unwrap_or_default());
    Value::Map(m)
}

const METADATA: [&str; 12] = [
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "uid",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "resourceVersion",
    "finalizers",
];

/// `namespaceObject`: what is shown of a namespace; null stays null.
pub fn namespace(given: &Value) -> Value {
    if given.is_null() {
        return Value::Null;
    }
    let part = |key: &str| given.get(key).cloned().unwrap_or_default();
    let mut m = Map::new();
    m.insert("metadata", Value::Map(without_empty(&part("metadata"), &METADATA)));
    m.insert("spec", Value::Map(without_empty(&part("spec"), &["finalizers"])));
    m.insert("status", Value::Map(without_empty(&part("status"), &["conditions", "phase"])));
    Value::Map(m)
}

/// The members of an object that are not empty, in the order of `keys`.
fn without_empty(v: &Value, keys: &[&str]) -> Map {
    let found = |k: &&str| Some((Str::from(*k), v.get(k).filter(|v| !v.is_empty())?.clone()));
    keys.iter().filter_map(found).collect()
}
