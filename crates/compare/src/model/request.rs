//! Requests: an object, the former one, who sends it, and the namespace that it is in.
//!
//! In: an environment and a [`Case`]. Out: the request as policies see it.

use std::sync::{Arc, LazyLock};

use ephor_analysis::reads::NAME_OF_NAMESPACE;
use ephor_engine::request::{Parts, UserParts, namespace_of_labels};
use ephor_engine::{Profile, Request};
use ephor_functions::Context;
use ephor_kubernetes::Types;
use ephor_value::{Map, Str, Value};

use crate::model::environment::Environment;
use crate::model::world::World;
use crate::sides::lookup_stub::Silent;

/// The objects of a request, and what surrounds them.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The object; the one that goes away in deletions.
    pub object: Value,
    /// The former object of an update; `None` = a copy.
    pub old: Option<Value>,
    /// Who sends it, and where it is.
    pub around: Arc<RequestContext>,
}

impl Case {
    /// The same with another object. An object that is updated stays the same one.
    pub fn with_object(&self, object: Value) -> Case {
        let old = self.old.as_ref().map(|old| identified(old, &object));
        Case { object, old, around: Arc::clone(&self.around) }
    }
}

/// What identifies an object: no API server takes an update that changes it.
pub(crate) const IDENTITY: [&str; 2] = ["name", "namespace"];

/// A former object with the name and the namespace of the new one.
pub(crate) fn identified(old: &Value, new: &Value) -> Value {
    let Some(mut metadata) = old.get("metadata").and_then(Value::as_map).cloned() else { return old.clone() };
    for key in IDENTITY {
        match new.at(&["metadata", key]) {
            Some(own) => _ = metadata.insert(key, own.clone()),
            None => _ = metadata.remove(key),
        }
    }
    old.with("metadata", Value::Map(metadata))
}

/// What surrounds the objects of a request.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// Who sends it.
    pub user: UserParts,
    /// Labels and annotations of the namespace.
    pub namespace: [Map; 2],
    /// The objects that rules copy.
    pub(crate) world: World,
}

impl Default for RequestContext {
    fn default() -> RequestContext {
        let info = Value::map([
            ("username", Value::from("developer")),
            ("groups", Value::list(vec![Value::from("system:authenticated")])),
        ]);
        RequestContext::new(UserParts { info, ..UserParts::default() }, Default::default())
    }
}

impl RequestContext {
    /// Who sends a request, with labels and annotations of the namespace.
    pub fn new(user: UserParts, namespace: [Map; 2]) -> RequestContext {
        RequestContext { user, namespace, world: World::default() }
    }

    /// Whether they are those of every other request.
    pub fn is_usual(&self) -> bool {
        let usual = RequestContext::default();
        self.namespace == usual.namespace
            && self.user.info == usual.user.info
            && self.user.roles.is_empty()
            && self.user.cluster_roles.is_empty()
    }
}

/// The request of a case; `None` when it cannot be built.
pub(crate) fn request(environment: &Environment, case: &Case) -> Option<Request> {
    let text = |path: &[&str]| Str::from(case.object.text_at(path));
    let (name, mut namespace) = (text(&["metadata", "name"]), text(&["metadata", "namespace"]));
    // An API server says where the object is.
    let is_somewhere = environment.resource.namespaced && namespace.is_empty();
    if is_somewhere {
        namespace = "default".into();
    }
    let placed = |object: &Value| match object.get("metadata") {
        Some(metadata) if is_somewhere => {
            object.with("metadata", metadata.with("namespace", Value::Str(namespace.clone())))
        }
        _ => object.clone(),
    };
    let is_own = environment.is_of_resource();
    let sent = |object: &Value| match is_own || has_metadata(environment) {
        true => placed(object),
        false => without_metadata(object),
    };
    let is_namespace = is_own && &*environment.resource.kind == "Namespace";
    let parts = Parts {
        object: sent(&case.object),
        old_object: case.old.as_ref().map(sent),
        operation: environment.operation.into(),
        subresource: environment.subresource.clone(),
        namespace: match (is_namespace, &*namespace) {
            (true, _) => case.object.clone(),
            (_, "") => Value::Null,
            (_, name) => in_cluster(name, &case.around.namespace),
        },
        user: Some(case.around.user.clone()),
        sent: match is_namespace {
            // It is in the namespace that it is.
            true => Some(sent_to(environment, &name, &name, case)),
            false if environment.subresource.is_empty() => None,
            false => Some(sent_to(environment, &name, &namespace, case)),
        },
        ..Parts::default()
    };
    let mut request = Request::new(parts, Profile::cluster(), &FUNCTIONS).ok()?;
    if !environment.subresource.is_empty() {
        let resource = &environment.resource;
        let target = &mut request.target;
        target.group = resource.group.clone();
        target.version = resource.version.clone();
        target.kind = resource.kind.clone();
        (target.name, target.namespace, target.exists) = (name, namespace, true);
    }
    Some(request)
}

/// What an API server says of a request.
fn sent_to(environment: &Environment, name: &Str, namespace: &Str, case: &Case) -> Map {
    let [group, version, kind] = environment.object.clone().map(Value::Str);
    let resource = &environment.resource;
    let mut sent = Map::new();
    sent.insert("uid", Value::from("00000000-0000-0000-0000-000000000001"));
    sent.insert("kind", Value::map([("group", group), ("version", version), ("kind", kind)]));
    let of = |text: &Str| Value::Str(text.clone());
    let named = [
        ("group", of(&resource.group)),
        ("version", of(&resource.version)),
        ("resource", of(&resource.plural)),
    ];
    sent.insert("resource", Value::map(named));
    if !environment.subresource.is_empty() {
        sent.insert("subResource", Value::Str(environment.subresource.clone()));
    }
    sent.insert("name", Value::Str(name.clone()));
    if !namespace.is_empty() {
        sent.insert("namespace", Value::Str(namespace.clone()));
    }
    sent.insert("operation", Value::from(environment.operation));
    sent.insert("userInfo", case.around.user.info.clone());
    sent.insert("dryRun", Value::Bool(false));
    sent
}

fn has_metadata(environment: &Environment) -> bool {
    let def = Types::built_in().of_object(&environment.object);
    def.is_none_or(|def| def.field("metadata").is_some())
}

fn without_metadata(object: &Value) -> Value {
    let fields = object.as_map().into_iter().flat_map(Map::iter);
    Value::Map(fields.filter(|(key, _)| &***key != "metadata").map(|(k, v)| (k.clone(), v.clone())).collect())
}

/// A namespace, with the label that every one has.
fn in_cluster(name: &str, [labels, annotations]: &[Map; 2]) -> Value {
    let mut labels = labels.clone();
    labels.insert(NAME_OF_NAMESPACE, Value::from(name));
    let namespace = namespace_of_labels(name, labels);
    if annotations.is_empty() {
        return namespace;
    }
    let metadata = namespace.get("metadata").cloned().unwrap_or_default();
    namespace.with("metadata", metadata.with("annotations", Value::Map(annotations.clone())))
}

/// What functions of expressions know, for requests.
pub(crate) static FUNCTIONS: LazyLock<Context> =
    LazyLock::new(|| Context { external: Some(Arc::new(Silent::default())), ..Context::default() });
