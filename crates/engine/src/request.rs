//! Requests: what the rules decide about.
//!
//! - `changed`: a request whose object was changed by a rule
//! - `root`: the root of variables: `request` and values that were put in

use ephor_kubernetes::kinds::guessed_plural as plural;
use ephor_kubernetes::{kind_object, resource_object};
use ephor_matching::{Target, User};
use ephor_value::{Map, Str, Value};
use std::sync::Arc;

use super::Profile;
use super::data::merge_at;
use super::images::Images;
use super::shared::SharedResults;
use super::view::request::{Absent, root};

mod changed;
mod root;

pub use root::Root;

/// A request, with everything that rules read of it prepared once.
#[derive(Debug)]
pub struct Request {
    /// The new object, null when the request deletes it. Patterns read it.
    pub object: Value,
    /// The former object, null when there is none.
    pub old_object: Value,
    /// What the request is about.
    pub target: Target,
    /// The root of variables: `request` and injected values.
    pub root: Root,
    /// The root from the second matching rule of a policy on, where it differs.
    pub later_root: Option<Root>,
    /// The image references of the object.
    pub images: Images,
    /// The object as the Pod Security checks see it.
    pub pod: super::pod_security::seen::Cache,
    /// What expressions see that know only objects and the request; built when the first rule needs
    /// it.
    pub strict_root: std::sync::OnceLock<Value>,
    /// The same for CEL policies.
    pub review_root: std::sync::OnceLock<Value>,
    /// The request as expressions see it, where no API server has sent it; built when the first
    /// rule needs it.
    pub seen: std::sync::OnceLock<Map>,
    /// The same for policies of Kubernetes outside of a cluster.
    pub offline: super::view::offline::OfflineViews,
    /// What rules of many policies compute of the object.
    pub shared: SharedResults,
    /// What functions may know of the world.
    pub functions: ephor_functions::Context,
    /// Whether results carry what only reports show.
    pub details: bool,
    /// Whether variables see every number as a double, also those of a changed object.
    pub doubles: bool,
    /// Whether the former object is a copy of the object, because nothing is known of it.
    pub unchanged: bool,
    /// The namespace that the object is, or is in; null = it is not known.
    pub namespace: Value,
    /// The request as an API server sent it, without its objects; `None` = there was no server.
    pub sent: Option<Map>,
    /// What expressions see as `request`, where another request is the cause of this one.
    pub cause: Option<Value>,
}

/// The data of a request cannot be built: Kyverno's command line knows no objects of a `CONNECT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("JMESPath query failed: Unknown key \"oldObject\" in path")]
pub struct NoObjects;

/// The parts of a request.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The object; the one that goes away when the operation is `DELETE`.
    pub object: Value,
    /// The former object of an `UPDATE`; `None` = a copy of the object.
    pub old_object: Option<Value>,
    /// `CREATE` when empty.
    pub operation: Str,
    /// Subresource of the request.
    pub subresource: Str,
    /// The user as `request.userInfo` shows it, and the roles; `None` = nothing is known.
    pub user: Option<UserParts>,
    /// The namespace that the object is, or is in; null = it is not known.
    pub namespace: Value,
    /// Values to put into the data: path and value. Those below `request.object` change the object.
    pub values: Vec<(Vec<Str>, Value)>,
    /// A dry run.
    pub dry_run: bool,
    /// Whether results carry what only reports show.
    pub details: bool,
    /// The request as an API server sent it; what it says of its objects is not evaluated.
    pub sent: Option<Map>,
}

/// Who makes a request.
#[derive(Clone, Debug, Default)]
pub struct UserParts {
    /// `username`, `groups` and the like, as given.
    pub info: Value,
    /// Roles as `namespace:name`.
    pub roles: Vec<String>,
    /// Cluster roles.
    pub cluster_roles: Vec<String>,
}

/// User information leaves out what is empty.
fn without_empty(info: &Value) -> Value {
    let entries = info.as_map().into_iter().flat_map(Map::iter);
    Value::Map(entries.filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k.clone(), v.clone())).collect())
}

fn strings(items: &[String]) -> Value {
    items.iter().map(|s| Value::from(&**s)).collect::<Vec<_>>().into()
}

impl Request {
    /// Makes a request of its parts.
    ///
    /// # Errors
    /// See [`NoObjects`].
    pub fn new(
        parts: Parts,
        profile: Profile,
        functions: &ephor_functions::Context,
    ) -> Result<Request, NoObjects> {
        if profile.bare_request && &*parts.operation == "CONNECT" {
            return Err(NoObjects);
        }
        let operation: Str =
            if parts.operation.is_empty() { "CREATE".into() } else { parts.operation.clone() };
        let deleting = &*operation == "DELETE";
        let given = parts.object;
        let unchanged = &*operation == "UPDATE" && parts.old_object.is_none();
        let (object, old_object) = match &*operation {
            "DELETE" => (Value::Null, parts.old_object.unwrap_or_else(|| given.clone())),
            "UPDATE" => (given.clone(), parts.old_object.unwrap_or_else(|| given.clone())),
            _ => (given.clone(), parts.old_object.unwrap_or_default()),
        };
        let mut request = match &parts.sent {
            Some(sent) => whole(sent, &object, &old_object),
            None if profile.bare_request => bare(&object, &old_object, &operation),
            None => full(&object, &old_object, &given, &operation, &parts.subresource, parts.dry_run),
        };
        if let Some(user) = &parts.user {
            if parts.sent.is_none() {
                request.insert("userInfo", without_empty(&user.info));
            }
            if !user.roles.is_empty() {
                request.insert("roles", strings(&user.roles));
            }
            if !user.cluster_roles.is_empty() {
                request.insert("clusterRoles", strings(&user.cluster_roles));
            }
            if parts.dry_run {
                request.insert("synchronize", Value::Bool(true));
            }
        }
        let mut root = Map::new();
        root.insert("request", Value::Map(request));
        if let Some(user) = &parts.user {
            let (ns, name) = service_account(user.info.text_at(&["username"]));
            root.insert("serviceAccountName", Value::from(name));
            root.insert("serviceAccountNamespace", Value::from(ns));
        }
        let mut root = Value::Map(root);
        let changes_object = |path: &[Str]| matches!(path, [a, b, ..] if &**a == "request" && matches!(&**b, "object" | "oldObject"));
        let changed = parts.values.iter().any(|(path, _)| changes_object(path));
        let valued = !parts.values.is_empty();
        for (path, value) in parts.values {
            merge_at(&mut root, &path, value);
        }
        let (mut object, mut old_object) = (object, old_object);
        if changed {
            let part = |key: &str| root.at(&["request", key]).cloned().unwrap_or_default();
            object = part("object");
            old_object = part("oldObject");
        }
        let shown = if deleting { &old_object } else { &object };
        let mut target = Target::of(shown);
        target.operation =
            root.at(&["request", "operation"]).and_then(Value::as_str).unwrap_or(&operation).into();
        target.subresource = parts.subresource;
        let labels = parts.namespace.at(&["metadata", "labels"]).and_then(Value::as_map);
        target.namespace_labels = labels.cloned().unwrap_or_default();
        target.namespace_known = !parts.namespace.is_null();
        if !deleting && !old_object.is_null() {
            target.old_labels = Some(Target::of(&old_object).labels);
        }
        target.user = parts.user.map(|u| Arc::new(user(&u)));
        // An object that is deleted shows no images (Kyverno reads the new object alone).
        let images = Images::of(object.clone(), functions);
        let doubles = !profile.float_resources || valued;
        let later_root = profile.integers_after_first_rule.then(|| Root::later(root.clone()));
        let root = Root::new(root, doubles);
        let functions = functions.clone();
        let details = parts.details;
        Ok(Request {
            object,
            old_object,
            target,
            root,
            later_root,
            images,
            pod: Default::default(),
            strict_root: Default::default(),
            review_root: Default::default(),
            seen: Default::default(),
            offline: Default::default(),
            shared: Default::default(),
            functions,
            details,
            doubles,
            unchanged,
            namespace: parts.namespace,
            sent: parts.sent.map(without_objects),
            cause: None,
        })
    }

    /// The new object, or the former one where there is none.
    pub fn object_or_old(&self) -> &Value {
        if self.object.is_null() { &self.old_object } else { &self.object }
    }

    /// Whether an API server sent it as a dry run; rules see more of such a request than was sent.
    pub fn is_dry_run(&self) -> bool {
        self.sent.as_ref().and_then(|sent| sent.get("dryRun")).and_then(Value::as_bool) == Some(true)
    }

    /// The request with another one as its cause: expressions see that one as `request`.
    #[must_use]
    pub fn caused_by(self, other: &Request) -> Request {
        let seen = root(other, Absent::Empty);
        Request { cause: seen.get("request").cloned(), ..self }
    }

    /// Whether the request deletes the object.
    pub fn deleting(&self) -> bool {
        &*self.target.operation == "DELETE"
    }

    /// The request as if the former object were created now, to separate old violations from new
    /// ones. No user is known to it.
    pub fn former(&self) -> Request {
        let mut root = self.root.get().clone();
        if let Value::Map(m) = &mut root
            && let Some(Value::Map(r)) = m.get_mut("request")
        {
            // Put in the place of the object it has its integers, where objects that are put in
            // have them.
            r.insert(
                "object",
                match &self.later_root {
                    Some(_) => self.old_object.clone(),
                    None => self.old_object.with_float_numbers(),
                },
            );
            r.remove("oldObject");
            r.insert("operation", Value::from("CREATE"));
        }
        let mut target = Target::of(&self.old_object);
        target.operation = "CREATE".into();
        target.namespace_labels = self.target.namespace_labels.clone();
        target.namespace_known = self.target.namespace_known;
        target.unknown = self.target.unknown;
        target.user = Some(Arc::new(User::default()));
        // Kyverno keeps the images of the new object.
        Request {
            old_object: Value::Null,
            target,
            root: Root::of(root),
            later_root: None,
            unchanged: false,
            ..self.on(self.old_object.clone())
        }
    }
}

/// `request` as the command line builds it. A deleted object gives no namespace.
fn bare(object: &Value, old: &Value, operation: &str) -> Map {
    let mut m = Map::new();
    if !object.is_null() {
        m.insert("object", object.clone());
    }
    if !old.is_null() {
        m.insert("oldObject", old.clone());
    }
    m.insert("namespace", Value::from(object.text_at(&["metadata", "namespace"])));
    m.insert("operation", Value::from(operation));
    m
}

fn without_objects(mut sent: Map) -> Map {
    sent.remove("object");
    sent.remove("oldObject");
    sent
}

/// `request` as an API server sent it, with objects as rules see them.
fn whole(sent: &Map, object: &Value, old: &Value) -> Map {
    let mut m = sent.clone();
    m.insert("object", object.clone());
    m.insert("oldObject", old.clone());
    m
}

/// `request` as an API server would send it.
fn full(
    object: &Value,
    old: &Value,
    given: &Value,
    operation: &str,
    subresource: &str,
    dry_run: bool,
) -> Map {
    let target = Target::of(given);
    let kind = kind_object([&*target.group, &*target.version, &*target.kind]);
    let resource = resource_object([&*target.group, &*target.version, &*plural(&target.kind)]);
    let mut m = Map::new();
    m.insert("uid", Value::from("00000000-0000-0000-0000-000000000001"));
    m.insert("kind", kind);
    m.insert("resource", resource);
    if !subresource.is_empty() {
        m.insert("subResource", Value::from(subresource));
    }
    if !target.name.is_empty() {
        m.insert("name", Value::Str(target.name));
    }
    if !target.namespace.is_empty() {
        m.insert("namespace", Value::Str(target.namespace));
    }
    m.insert("operation", Value::from(operation));
    m.insert("userInfo", Value::Map(Map::new()));
    m.insert("object", object.clone());
    m.insert("oldObject", old.clone());
    m.insert("dryRun", Value::Bool(dry_run));
    m.insert("options", Value::Null);
    m
}

/// The plural of a kind with its group, as errors of an API server name it.
pub fn resource_name(api_version: &str, kind: &str) -> String {
    let plural = plural(kind);
    match api_version.split_once('/') {
        Some((group, _)) => format!("{plural}.{group}"),
        None => plural,
    }
}

fn user(parts: &UserParts) -> User {
    let groups = parts.info.get("groups").and_then(Value::as_list).unwrap_or_default();
    User {
        name: parts.info.text_at(&["username"]).into(),
        groups: groups.iter().filter_map(|g| g.as_str().map(String::from)).collect(),
        roles: parts.roles.clone(),
        cluster_roles: parts.cluster_roles.clone(),
    }
}

/// Namespace and name of a service account, cut out of the user name without reading its prefix
/// (Kyverno's behaviour).
fn service_account(username: &str) -> (String, String) {
    let rest: String = username.get("system:serviceaccount:".len()..).unwrap_or_default().into();
    match rest.split_once(':') {
        Some((ns, name)) => (ns.into(), name.split(':').next().unwrap_or_default().into()),
        None => (String::new(), String::new()),
    }
}

/// A namespace of which the labels are known.
pub fn namespace_of_labels(name: &str, labels: Map) -> Value {
    let map = |entries: Vec<(&str, Value)>| {
        Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), v)).collect())
    };
    let mut metadata = vec![("name", Value::from(name))];
    if !labels.is_empty() {
        metadata.push(("labels", Value::Map(labels)));
    }
    map(vec![
        ("apiVersion", Value::from("v1")),
        ("kind", Value::from("Namespace")),
        ("metadata", map(metadata)),
        ("spec", map(vec![])),
        ("status", map(vec![])),
    ])
}
