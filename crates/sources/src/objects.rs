//! Objects in place of a cluster: the external data of a server that is given files.
//!
//! In: objects – namespaces, ConfigMaps, roles and their bindings, definitions of kinds,
//! parameters, and whatever else policies read. Out: [external data](ephor_external).

use std::collections::HashMap;
use std::sync::Arc;

use ephor_external::{
    Address, ApiError, ApiRequest, Authorizer, ExternalData, Found, LookupError, Offers, Place, Reader, Roles,
};
use ephor_kubernetes::defaults::completed;
use ephor_kubernetes::{Kinds, Types};
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use super::context::Context;
use super::offline::Offline;
use super::registry::Registry;
use super::rights::Rbac;

/// See the module page.
#[derive(Debug)]
pub struct Objects {
    config_maps: HashMap<(Str, Str), Value>,
    namespaces: HashMap<Str, Value>,
    knows_all_namespaces: bool,
    knows_all_bindings: bool,
    rights: Arc<Rbac>,
    offline: Offline,
    kinds: Arc<Kinds>,
}

impl Default for Objects {
    fn default() -> Objects {
        Objects::new(Vec::new())
    }
}

/// A resource of which there is no object at all: none were given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no data of {0}: give it with --data, or --cluster")]
pub struct NoData(Box<str>);

/// What is known of a cluster besides objects.
#[derive(Clone)]
pub struct ClusterFacts {
    /// The kinds.
    pub kinds: Arc<Kinds>,
    /// Their fields.
    pub types: Arc<Types>,
    /// The registries of images, if any may be read.
    pub registry: Option<Arc<dyn Registry>>,
    /// Whether the role bindings among the objects are all that there are, be they none.
    pub all_bindings: bool,
    /// Whether the namespaces among the objects are all that there are.
    pub all_namespaces: bool,
}

impl ClusterFacts {
    /// The kinds and types that CustomResourceDefinitions among objects define.
    pub fn of(objects: &[Value], registry: Option<Arc<dyn Registry>>) -> ClusterFacts {
        ClusterFacts::of_release(Release::default(), objects, registry)
    }

    /// As [`ClusterFacts::of`], for a release of the API server.
    pub fn of_release(
        release: Release,
        objects: &[Value],
        registry: Option<Arc<dyn Registry>>,
    ) -> ClusterFacts {
        ClusterFacts {
            kinds: Kinds::of_release_with(release, objects),
            types: Types::of_release_with(release, objects),
            registry,
            all_bindings: false,
            all_namespaces: false,
        }
    }
}

impl Objects {
    /// Objects, with the kinds that their CustomResourceDefinitions define; without a registry.
    pub fn new(objects: Vec<Value>) -> Objects {
        let known = ClusterFacts::of(&objects, None);
        Objects::with(objects, known)
    }

    /// Sorts objects by how they are looked up.
    pub fn with(objects: Vec<Value>, known: ClusterFacts) -> Objects {
        let ClusterFacts { kinds, types, registry, all_bindings, all_namespaces } = known;
        let objects: Vec<Value> = objects.iter().map(|o| with_defaults(o, &types)).collect();
        let of_kind = |kind: &'static str| objects.iter().filter(move |o| o.text_at(&["kind"]) == kind);
        let key = |o: &Value| {
            (Str::from(o.text_at(&["metadata", "namespace"])), Str::from(o.text_at(&["metadata", "name"])))
        };
        Objects {
            config_maps: of_kind("ConfigMap").map(|o| (key(o), o.clone())).collect(),
            namespaces: of_kind("Namespace").map(|o| (key(o).1, named(o))).collect(),
            knows_all_namespaces: all_namespaces,
            knows_all_bindings: all_bindings,
            rights: Arc::new(Rbac::new(&objects)),
            offline: Offline {
                retained: None,
                globals: of_kind("GlobalContextEntry").cloned().collect(),
                stored: Default::default(),
                objects,
                context: Some(Context::default()),
                types: Some(types),
                registry,
                strict: true,
            },
            kinds,
        }
    }
}

/// A custom resource has the defaults of its schema, as an API server gives them to those who read
/// it.
fn with_defaults(object: &Value, types: &Types) -> Value {
    let Some((group, version)) = object.text_at(&["apiVersion"]).split_once('/') else {
        return object.clone();
    };
    let kind = [group.into(), version.into(), object.text_at(&["kind"]).into()];
    match types.of_kind(&kind).filter(|def| def.custom) {
        Some(def) => completed(object, def, types),
        None => object.clone(),
    }
}

impl Objects {
    /// An object, which may be null, or the list of a resource.
    ///
    /// # Errors
    /// There is no object of the resource at all: none were given.
    fn find(&self, at: &Place<'_>) -> Result<Value, NoData> {
        let (group, version) = at.api_version.split_once('/').unwrap_or(("", at.api_version));
        let is_of = |o: &&Value| {
            let plural = self.kinds.plural_of(group, version, o.text_at(&["kind"]));
            o.text_at(&["apiVersion"]) == at.api_version && plural == at.resource
        };
        let mut found = self.offline.objects.iter().filter(is_of).peekable();
        if found.peek().is_none() {
            let group = if group.is_empty() { String::new() } else { format!(".{group}") };
            return Err(NoData(format!("{}{group}", at.resource).into()));
        }
        let namespace = |o: &Value| o.text_at(&["metadata", "namespace"]) == at.namespace;
        if !at.name.is_empty() {
            let mut named = found.filter(|o| o.text_at(&["metadata", "name"]) == at.name && namespace(o));
            return Ok(named.next().cloned().unwrap_or_default());
        }
        let items = found.filter(|o| at.namespace.is_empty() || namespace(o)).cloned().collect();
        Ok(Value::Map([(Str::from("items"), Value::list(items))].into_iter().collect()))
    }
}

/// A namespace has the label with its name, whatever the file says.
fn named(namespace: &Value) -> Value {
    let name = namespace.text_at(&["metadata", "name"]);
    let mut object = namespace.as_map().cloned().unwrap_or_default();
    let mut metadata = object.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    let mut labels = metadata.get("labels").and_then(Value::as_map).cloned().unwrap_or_default();
    if !labels.contains_key("kubernetes.io/metadata.name") {
        labels.insert("kubernetes.io/metadata.name", name.into());
    }
    metadata.insert("labels", Value::Map(labels));
    object.insert("metadata", Value::Map(metadata));
    Value::Map(object)
}

impl ExternalData for Objects {
    fn inner(&self) -> Option<&dyn ExternalData> {
        Some(&self.offline)
    }

    fn kinds(&self) -> Option<Result<Arc<Kinds>, LookupError>> {
        Some(Ok(self.kinds.clone()))
    }

    fn namespace(&self, name: &str) -> Option<Value> {
        self.namespaces.get(name).cloned()
    }

    fn knows_all_namespaces(&self) -> bool {
        self.knows_all_namespaces
    }

    fn roles(&self, user: &Value, namespace: &str) -> Option<Roles> {
        // Every cluster has bindings: none at all means that none were given.
        let is_known = self.knows_all_bindings || !self.rights.is_empty();
        is_known.then(|| self.rights.roles(user, namespace))
    }

    fn authorizer(&self, user: &Value) -> Option<Arc<dyn Authorizer>> {
        Some(self.rights.clone().of(user))
    }

    fn parameters(&self, group: &str, kind: &str, namespace: &str) -> Option<Vec<Value>> {
        let is_wanted = |o: &&Value| {
            let own_group = o.text_at(&["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
            own_group == group
                && o.text_at(&["kind"]) == kind
                && o.text_at(&["metadata", "namespace"]) == namespace
        };
        Some(self.offline.objects.iter().filter(is_wanted).cloned().collect())
    }

    fn offers(&self) -> Offers {
        Offers {
            namespaces: !self.namespaces.is_empty(),
            roles: self.knows_all_bindings || !self.rights.is_empty(),
            params: !self.offline.objects.is_empty(),
            config_maps: !self.config_maps.is_empty(),
            objects: !self.offline.objects.is_empty(),
            registry: self.registry().is_some(),
        }
    }

    fn config_map(&self, namespace: &str, name: &str) -> Found {
        let found = self.config_maps.get(&(Str::from(namespace), Str::from(name)));
        Some(found.cloned().ok_or_else(|| format!("configmaps \"{name}\" not found").into()))
    }

    fn api(&self, request: &ApiRequest<'_>) -> Found<ApiError> {
        let Address::Objects(at) = request.at else { return self.offline.api(request) };
        if request.body.is_some() {
            return None;
        }
        Some(self.find(at).map_err(|error| ApiError::from(error.to_string())))
    }

    fn selects_by_labels(&self) -> bool {
        true
    }

    fn global(&self, entry: &str, projection: &str, by: Reader<'_>) -> Found {
        let found = self.offline.global(entry, projection, Reader::Entry(entry));
        match by {
            Reader::Expression => {
                Some(found.unwrap_or_else(|| Err("there is no source of global context entries".into())))
            }
            Reader::Entry(_) => found,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_document::yaml_value;

    fn data(text: &str) -> Objects {
        Objects::new(yaml_value(text).unwrap().as_list().unwrap().to_vec())
    }

    #[test]
    fn roles_come_from_bindings_of_the_user_the_group_and_the_service_account() {
        let data = data(
            r"
- {kind: RoleBinding, metadata: {name: a, namespace: shop}, roleRef: {kind: Role, name: reader}, subjects: [{kind: User, name: anna}]}
- {kind: RoleBinding, metadata: {name: b, namespace: shop}, roleRef: {kind: ClusterRole, name: edit}, subjects: [{kind: Group, name: devs}]}
- {kind: RoleBinding, metadata: {name: c, namespace: shop}, roleRef: {kind: Role, name: job}, subjects: [{kind: ServiceAccount, name: bot}]}
- {kind: ClusterRoleBinding, metadata: {name: d}, roleRef: {kind: ClusterRole, name: admin}, subjects: [{kind: User, name: anna}]}
- {kind: ClusterRoleBinding, metadata: {name: e}, roleRef: {kind: ClusterRole, name: never}, subjects: [{kind: ServiceAccount, name: bot}]}
",
        );
        let user = |text: &str| yaml_value(text).unwrap();
        let anna = user("{username: anna, groups: [devs]}");
        assert_eq!(
            data.roles(&anna, "shop"),
            Some((vec!["shop:reader".into()], vec!["admin".into(), "edit".into()]))
        );
        assert_eq!(data.roles(&anna, "other"), Some((vec!["shop:reader".into()], vec!["admin".into()])));
        let bot = user("{username: 'system:serviceaccount:shop:bot'}");
        assert_eq!(data.roles(&bot, "other"), Some((vec!["shop:job".into()], vec![])));
    }

    #[test]
    fn without_any_binding_roles_are_not_known() {
        let anna = yaml_value("{username: anna}").unwrap();
        assert_eq!(data("[{kind: Namespace, metadata: {name: shop}}]").roles(&anna, "shop"), None);
    }

    #[test]
    fn namespaces_have_the_label_with_their_name() {
        let data = data("[{kind: Namespace, metadata: {name: shop, labels: {a: b}}}]");
        let labels = data.namespace("shop").unwrap().at(&["metadata", "labels"]).cloned().unwrap();
        assert_eq!(labels.text_at(&["kubernetes.io/metadata.name"]), "shop");
        assert_eq!(labels.text_at(&["a"]), "b");
    }
}
