//! From an AdmissionReview to the request that rules are evaluated on.
//!
//! Objects are taken as they came, with the group, version and kind of the request and its
//! namespace. Rules match the kind of the resource, also where what was sent to a subresource is of
//! another kind.

use crate::settings::FilteredRequest;
use ephor_engine::request::{NoObjects, Parts, UserParts};
use ephor_engine::{Profile, Request};
use ephor_external::ExternalData;
use ephor_functions::Context;
use ephor_kubernetes::Kinds;
use ephor_matching::unknown::Unknown;
use ephor_value::{Map, Str, Value};

use super::incoming::Incoming;

/// A review as filters read it: the kind of the resource, also where a subresource has one of
/// its own.
pub fn filtered<'r>(incoming: &'r Incoming, kinds: &'r Kinds) -> FilteredRequest<'r> {
    let of = |key: &str| incoming.text(&["resource", key]);
    let known = kinds.resource(of("group"), of("version"), of("resource"));
    FilteredRequest {
        kind: [
            of("group"),
            of("version"),
            known.map_or_else(|| incoming.text(&["kind", "kind"]), |r| &*r.kind),
        ],
        subresource: incoming.text(&["subResource"]),
        namespace: incoming.text(&["namespace"]),
        name: incoming.text(&["name"]),
    }
}

/// Builds the request of a review.
///
/// # Errors
/// The data of rules cannot be built.
pub fn request(
    incoming: &Incoming,
    cluster: &dyn ExternalData,
    profile: Profile,
    functions: &Context,
) -> Result<Request, NoObjects> {
    let (object, old) = (shaped(incoming, "object"), shaped(incoming, "oldObject"));
    let operation = incoming.text(&["operation"]);
    let object = if operation == "DELETE" { old.clone() } else { object };
    of_objects(incoming, object, old, operation, cluster, profile, functions)
}

/// The request of a review whose object is another one: as it is now, or as it was when it was
/// deleted.
///
/// # Errors
/// The data of rules cannot be built.
pub fn request_on(
    incoming: &Incoming,
    trigger: &Value,
    cluster: &dyn ExternalData,
    profile: Profile,
    functions: &Context,
) -> Result<Request, NoObjects> {
    let (old, operation) = match incoming.text(&["operation"]) {
        "UPDATE" => (shaped(incoming, "oldObject"), "UPDATE"),
        // Variables of a deletion see the object that was deleted, by either name.
        "DELETE" => (trigger.clone(), "CREATE"),
        _ => (Value::Null, "CREATE"),
    };
    of_objects(incoming, trigger.clone(), old, operation, cluster, profile, functions)
}

fn of_objects(
    incoming: &Incoming,
    object: Value,
    old: Value,
    operation: &str,
    cluster: &dyn ExternalData,
    profile: Profile,
    functions: &Context,
) -> Result<Request, NoObjects> {
    let namespace = match incoming.text(&["kind", "kind"]) {
        "Namespace" if incoming.text(&["kind", "group"]).is_empty() => incoming.text(&["name"]),
        _ => incoming.text(&["namespace"]),
    };
    let known = match namespace {
        "" => Value::Null,
        name => cluster.namespace(name).unwrap_or_default(),
    };
    let info = incoming.object("userInfo");
    let roles = cluster.roles(&info, incoming.text(&["namespace"]));
    let functions = Context { authorizer: cluster.authorizer(&info), ..functions.clone() };
    let stubs = profile.offline_namespaces;
    let unknown = Unknown::new(!namespace.is_empty() && known.is_null() && !stubs, roles.is_none());
    let (roles, cluster_roles) = roles.unwrap_or_default();
    let deleting = operation == "DELETE";
    let parts = Parts {
        object,
        old_object: Some(old),
        operation: operation.into(),
        subresource: incoming.text(&["subResource"]).into(),
        user: Some(UserParts { info, roles, cluster_roles }),
        namespace: known,
        values: Vec::new(),
        dry_run: incoming.dry_run(),
        details: true,
        sent: Some(incoming.request.clone()),
    };
    let mut request = Request::new(parts, profile, &functions)?;
    let kinds = cluster.known_kinds();
    let part = |key: &str, part: &str| Str::from(incoming.text(&[key, part]));
    let (group, version) = (part("resource", "group"), part("resource", "version"));
    let target = &mut request.target;
    target.unknown = unknown;
    let known = kinds.resource(&group, &version, incoming.text(&["resource", "resource"]));
    target.kind = known.map_or_else(|| part("kind", "kind"), |r| r.kind.clone());
    target.group = group;
    target.version = version;
    if !incoming.text(&["name"]).is_empty() {
        target.name = incoming.text(&["name"]).into();
    }
    target.namespace = incoming.text(&["namespace"]).into();
    // An object that is requested by its path alone is there too.
    target.exists = true;
    target.kinds = Some(kinds);
    if deleting || request.old_object.is_null() {
        request.target.old_labels = None;
    }
    Ok(request)
}

/// An object of the review as rules see it.
fn shaped(incoming: &Incoming, key: &str) -> Value {
    let Some(Value::Map(object)) = incoming.request.get(key) else { return Value::Null };
    let mut object = object.clone();
    let (group, version) = (incoming.text(&["kind", "group"]), incoming.text(&["kind", "version"]));
    let kind = incoming.text(&["kind", "kind"]);
    let api_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
    let said = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (same_version, same_kind) = (said("apiVersion") == api_version, said("kind") == kind);
    if !same_version && !api_version.is_empty() {
        object.insert("apiVersion", api_version.into());
    }
    if !same_kind && !kind.is_empty() {
        object.insert("kind", kind.into());
    }
    let namespace = incoming.text(&["namespace"]);
    let is_namespace = kind == "Namespace" && group.is_empty();
    let metadata = object.get("metadata").and_then(Value::as_map);
    let own = metadata.and_then(|m| m.get("namespace")).and_then(Value::as_str);
    let wanted = if is_namespace || namespace.is_empty() { None } else { Some(namespace) };
    if (wanted.is_some() && own != wanted) || (is_namespace && own.is_some()) {
        let mut metadata: Map = metadata.cloned().unwrap_or_default();
        match wanted {
            Some(namespace) => drop(metadata.insert("namespace", namespace.into())),
            None => drop(metadata.remove("namespace")),
        }
        object.insert("metadata", Value::Map(metadata));
    }
    Value::Map(object)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_document::yaml_value;
    use ephor_sources::objects::Objects;
    use ephor_value::object::{About, Check};

    #[test]
    fn expressions_of_rules_look_up_the_rights_of_the_user() {
        let objects = [
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: shop}, rules: [{apiGroups: [''], resources: [pods], verbs: [delete]}]}",
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r, namespace: shop}, roleRef: {kind: Role, name: r}, subjects: [{kind: User, name: anna}]}",
        ];
        let cluster = Objects::new(objects.map(|text| yaml_value(text).unwrap()).to_vec());
        let request = "{uid: a, operation: CREATE, namespace: shop, userInfo: {username: anna}, object: {metadata: {name: p}}}";
        let request = yaml_value(request).unwrap().as_map().cloned().unwrap();
        let incoming = Incoming {
            api_version: "admission.k8s.io/v1".into(),
            kind: "AdmissionReview".into(),
            uid: "a".into(),
            request,
        };
        let request = super::request(&incoming, &cluster, Profile::cluster(), &Context::default()).unwrap();
        let check = Check {
            about: About::Resource,
            resource: "pods".into(),
            namespace: "shop".into(),
            ..Check::default()
        };
        let authorizer = request.functions.authorizer.unwrap();
        assert!(authorizer.decide(&check, "delete").allowed);
        assert!(!authorizer.decide(&check, "create").allowed);
    }
}
