//! The external data of a command without a cluster: objects, a context file, and services that are
//! really called.
//!
//! Objects answer `apiCall.urlPath` and global context entries; the plural of a kind is guessed
//! from its name, as Kyverno's offline client does. Expressions read the context file instead.
//! Semantics: `docs/reference/cli.md`, "apply".

use std::sync::{Arc, OnceLock};

use ephor_external::{
    Address, Answer, ApiError, ApiRequest, ExternalData, Found, LookupError, Reader, ServiceCall,
};
use ephor_kubernetes::Types;
use ephor_kubernetes::kinds::guessed_plural as plural;
use ephor_value::{Fault, Map, Str, Value};

use super::context::Context;
#[cfg(feature = "network")]
use super::http::client;
use super::registry::Registry;
#[cfg(feature = "network")]
use super::service;
use super::stored::StoredObjects;
use ephor_external::facts;

/// See the module page.
#[derive(Default)]
pub struct Offline {
    /// The objects that exist.
    pub objects: Vec<Value>,
    /// Which of the objects these are; `None` = all.
    pub retained: Option<Arc<RetainedObjects>>,
    /// Where they are, and lists of them.
    pub stored: StoredObjects,
    /// Global context entries.
    pub globals: Vec<Value>,
    /// What expressions read; `None` = they have no external data.
    pub context: Option<Context>,
    /// The types of objects; `None` = those that every cluster has.
    pub types: Option<Arc<Types>>,
    /// The client for image registries; `None` = registry access is not enabled.
    pub registry: Option<Arc<dyn Registry>>,
    /// Whether a resource of which there is no object at all is an error, as in a server that was
    /// given the objects of a cluster; else it is an empty list, as for Kyverno's offline client.
    pub strict: bool,
}

impl std::fmt::Debug for Offline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offline").field("objects", &self.objects.len()).finish_non_exhaustive()
    }
}

/// What a path of the Kubernetes API names.
#[derive(Clone, Copy)]
struct ApiPath<'p> {
    group: &'p str,
    version: &'p str,
    namespace: Option<&'p str>,
    resource: &'p str,
    name: Option<&'p str>,
}

/// Why a path of the Kubernetes API has no answer, in Kyverno's words where it has some.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to GET resource with raw url: {path}: {cause}")]
struct PathError {
    path: Box<str>,
    #[source]
    cause: PathCause,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum PathCause {
    #[error("the server could not find the requested resource")]
    NoPath,
    #[error("there is no data of {0}: give it with --data, or --cluster")]
    NoData(Box<str>),
    /// `resource` ends with a blank, unless it is empty.
    #[error("failed to get resource {version}/{kind}/{name}: {resource}\"{name}\" not found")]
    Missing { version: Box<str>, kind: Box<str>, name: Box<str>, resource: Box<str> },
    #[error("failed to parse path: {0}")]
    Unreadable(Box<str>),
}

/// Why a global entry has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectionError {
    /// It has no such projection.
    #[error("no data available")]
    Absent,
    /// The projection is no query, in the words of its compiler.
    #[error("{0}")]
    Query(Box<str>),
    /// The projection has no value.
    #[error(transparent)]
    Value(#[from] Fault),
}

/// The objects that a path names, whatever their namespaces and names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathResource {
    /// Group and version, as objects have them.
    api_version: String,
    /// The name of the resource.
    resource: String,
}

impl PathResource {
    /// That of a path, as a command without a cluster reads it.
    pub fn of(path: &str) -> Option<PathResource> {
        offline_path(path).map(|path| PathResource::of_path(&path))
    }

    fn of_path(path: &ApiPath<'_>) -> PathResource {
        let api_version = match path.group {
            "" => path.version.to_string(),
            group => format!("{group}/{}", path.version),
        };
        PathResource { api_version, resource: path.resource.into() }
    }

    /// Whether an object is one of them.
    pub fn has(&self, object: &Value) -> bool {
        object.text_at(&["apiVersion"]) == self.api_version
            && is_plural(object.text_at(&["kind"]), &self.resource)
    }

    /// Its parts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&*self.api_version, &*self.resource].into_iter()
    }
}

/// The objects that are there: those of these resources alone.
#[derive(Debug, Default)]
pub struct RetainedObjects {
    resources: Vec<PathResource>,
    missed: OnceLock<PathResource>,
}

impl RetainedObjects {
    /// Those of these resources.
    pub fn new(resources: Vec<PathResource>) -> RetainedObjects {
        RetainedObjects { resources, missed: OnceLock::new() }
    }

    /// The name of a resource that was looked up and is none of them.
    pub fn missed(&self) -> Option<&str> {
        self.missed.get().map(|missed| &*missed.resource)
    }

    fn note(&self, path: &ApiPath<'_>) {
        let resource = PathResource::of_path(path);
        if !self.resources.contains(&resource) {
            let _ = self.missed.set(resource);
        }
    }
}

fn parse_path(path: &str) -> Option<ApiPath<'_>> {
    parse_steps(path.split('?').next().unwrap_or_default())
}

fn parse_steps(path: &str) -> Option<ApiPath<'_>> {
    let steps: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version, rest) = match &steps[..] {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let (namespace, rest) = match rest {
        ["namespaces", ns, rest @ ..] if !rest.is_empty() => (Some(*ns), rest),
        rest => (None, rest),
    };
    match rest {
        [resource] => Some(ApiPath { group, version, namespace, resource, name: None }),
        [resource, name, ..] => Some(ApiPath { group, version, namespace, resource, name: Some(name) }),
        [] => None,
    }
}

/// A path as Kyverno's command line reads it: one that ends with the name of a namespace is none,
/// and a question mark behind a name is a part of it.
fn offline_path(path: &str) -> Option<ApiPath<'_>> {
    let whole = parse_steps(path).filter(|whole| !whole.resource.contains('?'));
    let wanted = whole.or_else(|| parse_path(path))?;
    let is_namespace = wanted.namespace.is_none() && wanted.resource == "namespaces" && wanted.name.is_some();
    (!is_namespace).then_some(wanted)
}

/// Whether a resource name is the plural of a kind: the one that clusters use, or one of those that
/// Kyverno's command line tries.
fn is_plural(kind: &str, name: &str) -> bool {
    let lower = kind.to_lowercase();
    let is_longer = |ending: &str| name.strip_prefix(&*lower) == Some(ending);
    plural(kind) == name || is_longer("s") || is_longer("es")
}

/// The kind that Kyverno's command line makes of the name of a resource of which it has no object:
/// `nodes` is of kind `Nod`.
fn guessed_kind(resource: &str) -> String {
    let singular = match (resource.strip_suffix("ies"), resource.strip_suffix("es")) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) => stem.to_string(),
        (None, None) => resource.strip_suffix('s').unwrap_or(resource).to_string(),
    };
    let mut chars = singular.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// The resources that Kyverno's command line names also where it has no object of them, with their
/// groups.
const NAMED: [(&str, &str); 8] = [
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "statefulsets"),
    ("", "configmaps"),
    ("", "endpoints"),
    ("", "resourcequotas"),
    ("", "secrets"),
    ("", "serviceaccounts"),
];

impl Offline {
    /// The objects of a resource, whatever their namespaces and names.
    fn of_resource<'o>(&'o self, w: &'o ApiPath<'o>) -> impl Iterator<Item = &'o Value> {
        self.retained.iter().for_each(|retained| retained.note(w));
        let PathResource { api_version, .. } = PathResource::of_path(w);
        self.stored.of(&self.objects, &api_version, |kind| is_plural(kind, w.resource)).into_iter()
    }

    /// The objects that a path names: one is in the very namespace, a list without a namespace, or
    /// with an empty one, has those of all.
    fn matching<'o>(&'o self, w: &'o ApiPath<'o>) -> impl Iterator<Item = &'o Value> {
        let namespace = w.namespace.unwrap_or_default();
        self.of_resource(w).filter(move |o| {
            let own = o.text_at(&["metadata", "namespace"]);
            match w.name {
                Some(name) => o.text_at(&["metadata", "name"]) == name && own == namespace,
                None => namespace.is_empty() || own == namespace,
            }
        })
    }

    /// Whether nothing is known of a resource, where that is an error.
    fn lacks(&self, w: &ApiPath<'_>) -> bool {
        self.strict && self.of_resource(w).next().is_none()
    }

    fn answer(&self, path: &str) -> Result<Value, PathError> {
        self.found(path).map_err(|cause| PathError { path: path.into(), cause })
    }

    fn found(&self, path: &str) -> Result<Value, PathCause> {
        let wanted = match self.strict {
            true => parse_path(path).ok_or(PathCause::NoPath)?,
            false => offline_path(path)
                .ok_or_else(|| PathCause::Unreadable(path.strip_prefix('/').unwrap_or(path).into()))?,
        };
        if self.lacks(&wanted) {
            return Err(PathCause::NoData(wanted.resource.into()));
        }
        if let Some(name) = wanted.name {
            let missing = || {
                let (group, version) = (wanted.group, wanted.version);
                let known =
                    self.of_resource(&wanted).next().map(|object| object.text_at(&["kind"]).to_string());
                let is_named = known.is_some() || NAMED.contains(&(group, wanted.resource));
                let resource = match group {
                    _ if !is_named => String::new(),
                    "" => format!("{} ", wanted.resource),
                    group => format!("{}.{group} ", wanted.resource),
                };
                let version = if group.is_empty() { version.into() } else { format!("{group}/{version}") };
                PathCause::Missing {
                    version: version.into(),
                    kind: known.unwrap_or_else(|| guessed_kind(wanted.resource)).into(),
                    name: name.into(),
                    resource: resource.into(),
                }
            };
            return self.matching(&wanted).next().cloned().ok_or_else(missing);
        }
        if let Some(known) = self.stored.list(path) {
            return Ok(known);
        }
        let list = self.list(&wanted);
        self.stored.cache(path, &list, list.get("items").and_then(Value::as_list).map_or(0, <[_]>::len));
        Ok(list)
    }

    /// The list of the objects that a path names.
    fn list(&self, wanted: &ApiPath<'_>) -> Value {
        let mut items: Vec<&Value> = self.matching(wanted).collect();
        let of = |object: &Value, key: &str| object.text_at(&["metadata", key]).to_string();
        items.sort_by_cached_key(|object| (of(object, "namespace"), of(object, "name")));
        let known: Vec<&Value> = self.of_resource(wanted).collect();
        let kind = known.first().map_or("", |o| o.text_at(&["kind"]));
        let api_version = known.first().map_or(wanted.version, |o| o.text_at(&["apiVersion"]));
        // Each object that was stored counts as a change of the resource.
        let version = (known.len() + 1).to_string();
        let metadata = [("continue", Value::from("")), ("resourceVersion", Value::from(version))];
        let entries = [
            ("apiVersion", Value::from(api_version)),
            ("kind", Value::from(format!("{kind}List"))),
            ("metadata", Value::map(metadata)),
            ("items", Value::list(items.into_iter().cloned().collect())),
        ];
        Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), v)).collect::<Map>())
    }
}

impl ExternalData for Offline {
    fn types(&self) -> Option<&Types> {
        self.types.as_deref()
    }

    fn objects(&self) -> &[Value] {
        &self.objects
    }

    fn registry(&self) -> Option<&Arc<dyn Registry>> {
        self.registry.as_ref()
    }

    fn api(&self, request: &ApiRequest<'_>) -> Found<ApiError> {
        match request.at {
            Address::Path { path, .. } => {
                Some(self.answer(path).map_err(|error| ApiError::from(error.to_string())))
            }
            Address::Objects(_) if request.body.is_some() => None,
            Address::Objects(at) => self.context.as_ref()?.find(at).map(Ok),
        }
    }

    fn service(&self, call: &ServiceCall<'_>) -> Found {
        let is_entry = matches!(call.answer, Answer::Json(Reader::Entry(_)));
        (is_entry || self.context.is_some()).then(|| called(call))
    }

    fn image(&self, reference: &str) -> Found {
        let known = self.context.as_ref()?.image(reference);
        known.map(Ok).or_else(|| {
            let registry = self.registry.as_deref()?;
            Some(facts::for_expressions(registry, reference).map_err(Into::into))
        })
    }

    fn global(&self, entry: &str, projection: &str, by: Reader<'_>) -> Found {
        if self.globals.is_empty() || by == Reader::Expression {
            return None;
        }
        let found = self.globals.iter().find(|g| g.text_at(&["metadata", "name"]) == entry);
        let Some(found) = found else {
            return Some(Err(format!("failed to fetch entry key={entry}").into()));
        };
        let resource = found.at(&["spec", "kubernetesResource"])?;
        let namespace = resource.text_at(&["namespace"]);
        let wanted = ApiPath {
            group: resource.text_at(&["group"]),
            version: resource.text_at(&["version"]),
            namespace: (!namespace.is_empty()).then_some(namespace),
            resource: resource.text_at(&["resource"]),
            name: None,
        };
        if self.lacks(&wanted) {
            return Some(Err(format!("there is no data of {}", wanted.resource).into()));
        }
        let items = Value::list(self.matching(&wanted).cloned().collect());
        Some(projected(found, items, projection).map_err(Into::into))
    }
}

/// Calls a service.
#[cfg(feature = "network")]
fn called(call: &ServiceCall<'_>) -> Result<Value, LookupError> {
    service::answer(call, client()).map_err(Into::into)
}

/// Calls no service.
#[cfg(not(feature = "network"))]
fn called(_: &ServiceCall<'_>) -> Result<Value, LookupError> {
    Err("services cannot be called here: built without the feature `network`".to_string().into())
}

/// The data of a global entry, or one of its projections.
///
/// # Errors
/// There is no such projection, or it fails.
pub fn projected(entry: &Value, data: Value, projection: &str) -> Result<Value, ProjectionError> {
    if projection.is_empty() {
        return Ok(data);
    }
    let list = entry.at(&["spec", "projections"]).and_then(Value::as_list).unwrap_or_default();
    let Some(projected) = list.iter().find(|p| p.text_at(&["name"]) == projection) else {
        return Err(ProjectionError::Absent);
    };
    let query = ephor_lower::query::plain(projected.text_at(&["jmesPath"]), &[]);
    let expr = query.expr.as_ref().map_err(|error| ProjectionError::Query(error.to_string().into()))?;
    let data = data.with_float_numbers();
    let context = ephor_functions::Context::default();
    let env = ephor_engine::eval::Env::new(&data, &context);
    Ok(ephor_engine::eval::eval(expr, env)?.into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// What Kyverno's command line says of paths to objects that are not there.
    const RECORDED: &str = include_str!("api-paths.txt");

    fn of(path: &str, objects: &[&str]) -> Result<Value, String> {
        let objects = objects.iter().map(|text| ephor_document::yaml_value(text).unwrap()).collect();
        let found = Offline { objects, ..Offline::default() }.answer(path);
        found.map_err(|error| {
            let text = error.to_string();
            text.strip_prefix(&format!("failed to GET resource with raw url: {path}: ")).unwrap().to_string()
        })
    }

    #[test]
    fn objects_that_are_not_there_are_named_as_the_reference_names_them() {
        let (mut wrong, mut count) = (Vec::new(), 0);
        for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
            let [what, case, text] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            let [version, kind, plural] = what.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let root = if version.contains('/') { "apis" } else { "api" };
            let other = format!("{{apiVersion: {version}, kind: {kind}, metadata: {{name: other}}}}");
            let objects: &[&str] = if case == "one" { &[&other] } else { &[] };
            count += 1;
            let said = of(&format!("/{root}/{version}/{plural}/x"), objects).unwrap_err();
            // Where an object is makes no difference to the text.
            let in_namespace =
                of(&format!("/{root}/{version}/namespaces/shop/{plural}/x"), objects).unwrap_err();
            if said != text || (plural != "namespaces" && in_namespace != text) {
                wrong.push(format!("{line}\n  {said}"));
            }
        }
        assert!(count > 130 && wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn a_path_that_ends_with_the_name_of_a_namespace_cannot_be_read_and_other_paths_neither() {
        let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}";
        for path in [
            "/api/v1/namespaces/shop",
            "/api/v1/namespaces/shop/",
            "/apis/apps/v1/namespaces/shop",
            "/api/v1/namespaces/shop?x=y",
            "/api/v1",
            "/version",
            "/",
        ] {
            let text = format!("failed to parse path: {}", path.strip_prefix('/').unwrap());
            assert_eq!(of(path, &[namespace]), Err(text), "{path}");
        }
        assert!(of("/api/v1/namespaces", &[namespace]).is_ok());
        // A server that was given the objects of a cluster answers as a cluster.
        let objects = vec![ephor_document::yaml_value(namespace).unwrap()];
        let server = Offline { objects, strict: true, ..Offline::default() };
        assert!(server.answer("/api/v1/namespaces/shop").is_ok());
    }

    #[test]
    fn a_question_mark_behind_a_name_is_a_part_of_it_and_behind_a_list_it_is_not() {
        let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}";
        let said = of("/api/v1/namespaces/shop/configmaps/c?x=y", &[map]).unwrap_err();
        assert_eq!(said, "failed to get resource v1/ConfigMap/c?x=y: configmaps \"c?x=y\" not found");
        let list = of("/api/v1/namespaces/shop/configmaps?limit=5", &[map]).unwrap();
        assert_eq!(list.get("items").and_then(Value::as_list).map_or(0, <[Value]>::len), 1);
    }
}
