//! Requests: an object, the former one, who sends it, and the namespace that it is in.
//!
//! In: an environment and a [`Case`]. Out: the request as policies see it.

use std::sync::Arc;

use ephor_analysis::reads::{NAME_OF_NAMESPACE, Reads, Step, Tree};
use ephor_engine::request::{Parts, UserParts, namespace_of_labels};
use ephor_engine::{Profile, Request};
use ephor_kubernetes::Types;
use ephor_value::{Map, Str, Value};

use super::atoms::Deciding;
use super::copied::World;
use super::domain::Domain;
use super::environment::Environment;
use super::outside::FUNCTIONS;
use super::predicates::Predicates;
use super::tested::Tested;
use super::users::{Needed, Wanted, users};
use super::words::Words;

/// The objects of a request, and what surrounds them.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The object; the one that goes away in deletions.
    pub object: Value,
    /// The former object of an update; `None` = a copy.
    pub old: Option<Value>,
    /// Who sends it, and where it is.
    pub around: Arc<Surroundings>,
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
pub struct Surroundings {
    /// Who sends it.
    pub user: UserParts,
    /// Labels and annotations of the namespace.
    pub namespace: [Map; 2],
    /// The objects that rules copy.
    pub(crate) world: World,
}

impl Default for Surroundings {
    fn default() -> Surroundings {
        let info = Value::map([
            ("username", Value::from("developer")),
            ("groups", Value::list(vec![Value::from("system:authenticated")])),
        ]);
        Surroundings::new(UserParts { info, ..UserParts::default() }, Default::default())
    }
}

impl Surroundings {
    /// Who sends a request, with labels and annotations of the namespace.
    pub fn new(user: UserParts, namespace: [Map; 2]) -> Surroundings {
        Surroundings { user, namespace, world: World::default() }
    }

    /// Whether they are those of every other request.
    pub fn is_usual(&self) -> bool {
        let usual = Surroundings::default();
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

/// More combinations of users and namespaces are not looked at.
const MOST: usize = 400;

/// The users and namespaces of each class that rules can distinguish, and why they may not be all.
pub(crate) fn surroundings(
    environment: &Environment,
    reads: &Reads,
    tested: &Predicates,
    words: &Words,
    needed: Needed<'_>,
    deciding: &mut Option<Deciding>,
) -> (Vec<Arc<Surroundings>>, Option<String>) {
    let usual = Surroundings::default();
    let of_atoms =
        deciding.as_ref().map(|deciding| [true, false].map(|are_users| deciding.tested(are_users)));
    let [of_users, of_namespaces] = match &of_atoms {
        Some([of_users, of_namespaces]) => [of_users, of_namespaces],
        None => [tested; 2],
    };
    let (mut users, mut open) = match reads.user {
        true => users(&Wanted { by_expression: reads.by_expression, tested: of_users, words, needed }),
        false => (vec![usual.user.clone()], None),
    };
    let mut namespaces = match environment.resource.namespaced {
        true => namespaces(reads, of_namespaces, words, &mut open),
        false => vec![usual.namespace.clone()],
    };
    if let Some(deciding) = deciding {
        let of_user = |user: &UserParts| Surroundings { user: user.clone(), ..Surroundings::default() };
        let of_namespace =
            |own: &[Map; 2]| Surroundings { namespace: own.clone(), ..Surroundings::default() };
        users = deciding.surroundings(users, of_user, true);
        namespaces = deciding.surroundings(namespaces, of_namespace, false);
    }
    let mut all = Vec::new();
    for namespace in &namespaces {
        for user in &users {
            if all.len() >= MOST {
                open.get_or_insert_with(|| "too many combinations of users and namespaces".into());
                return (all, open);
            }
            all.push(Arc::new(Surroundings::new(user.clone(), namespace.clone())));
        }
    }
    (all, open)
}

/// Labels and annotations of a namespace of each class.
fn namespaces(reads: &Reads, tested: &Predicates, words: &Words, open: &mut Option<String>) -> Vec<[Map; 2]> {
    let mut tree = reads.namespace.clone();
    // Selectors look for their texts alone.
    let mut fields = match tree == Tree::default() {
        true => Tested::default(),
        false => Tested::anywhere(tested),
    };
    // The name is known: it is a field of the object.
    for (label, texts) in tested.namespace_labels.iter().filter(|(label, _)| *label != NAME_OF_NAMESPACE) {
        let steps = ["metadata", "labels", label].map(|key| Step::Key(key.into()));
        tree.add(&steps, true);
        texts.iter().for_each(|text| fields.add_written(&steps, &Value::from(&**text)));
    }
    if tree == Tree::default() {
        return vec![Default::default()];
    }
    let of_metadata = tree.get("metadata");
    let is_known = |key: &str| matches!(key, "labels" | "annotations" | "name");
    let is_all = tree.whole || of_metadata.is_some_and(|m| m.whole || m.names);
    if is_all || !tree.keys.iter().all(|(key, _)| matches!(&**key, "metadata" | "apiVersion" | "kind")) {
        open.get_or_insert_with(|| "the namespace as an object".into());
    }
    let mut wanted = Tree::default();
    let known = of_metadata.into_iter().flat_map(|m| &m.keys).filter(|(key, _)| is_known(key));
    let keys = known.filter(|(key, _)| &**key != "name").cloned().collect();
    wanted.keys = vec![("metadata".into(), Tree { keys, ..Tree::default() })];
    let Some(environment) = Environment::of_namespaces() else { return vec![Default::default()] };
    let mut domain = Domain::new((Types::built_in(), words), (tested, &fields), &environment, 1, MOST);
    let found = domain.objects(&environment, &wanted, false);
    *open = open.take().or(domain.open);
    let part = |object: &Value, key: &str| {
        object.at(&["metadata", key]).and_then(Value::as_map).cloned().unwrap_or_default()
    };
    found.iter().map(|object| [part(object, "labels"), part(object, "annotations")]).collect()
}
