//! What is known of the cluster that reviews come from.
//!
//! In: objects – namespaces, ConfigMaps, roles and their bindings, definitions of kinds, parameters, and
//! whatever rules ask for. Out: a [`Cluster`], the data of rules and expressions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::engine::admission::{Authority, Rbac, World as AdmissionWorld};
use crate::functions::CelLevel;
use crate::functions::world::{HttpCall, Place, World};
use crate::kubernetes::defaults::completed;
use crate::kubernetes::{Kinds, Types};
use crate::sources::context::Context;
use crate::sources::offline::Offline;
use crate::sources::registry::Registry;
use crate::sources::{Call, Sources};
use crate::value::{Str, Value};

use super::needs::Offers;

/// Roles as `namespace:name`, and cluster roles; sorted, each once.
pub type Roles = (Vec<String>, Vec<String>);

/// What is asked about a cluster besides data of rules.
pub trait Cluster: Sources + World {
    /// A namespace.
    fn namespace(&self, name: &str) -> Option<Value>;

    /// The roles that a user has in a namespace; `None` = the role bindings of the cluster are not known.
    fn roles(&self, user: &Value, namespace: &str) -> Option<Roles>;

    /// The kinds of the cluster.
    fn kinds(&self) -> Arc<Kinds>;

    /// What it knows of itself.
    fn offers(&self) -> Offers {
        Offers { registry: self.registry().is_some(), ..Offers::all() }
    }

    /// What Kubernetes' admission policies are told.
    fn admission(&self) -> Arc<AdmissionWorld>;
}

/// See the module page.
#[derive(Debug)]
pub struct Data {
    config_maps: HashMap<(Str, Str), Value>,
    bindings: Vec<Binding>,
    /// Whether there are no others.
    knows_all_bindings: bool,
    offline: Offline,
    context: Context,
    admission: Arc<AdmissionWorld>,
    kinds: Arc<Kinds>,
}

/// A RoleBinding or ClusterRoleBinding.
#[derive(Debug)]
struct Binding {
    /// The namespace of a RoleBinding.
    namespace: Option<Str>,
    /// Whether it binds a Role.
    binds_role: bool,
    role: String,
    subjects: Vec<Value>,
}

impl Default for Data {
    fn default() -> Data {
        Data::new(Vec::new())
    }
}

/// What is known of a cluster besides objects.
#[derive(Clone)]
pub struct Known {
    /// The kinds.
    pub kinds: Arc<Kinds>,
    /// Their fields.
    pub types: Arc<Types>,
    /// Who knows what users may do; `None` = the roles and bindings among the objects.
    pub authority: Option<Arc<dyn Authority>>,
    /// Who answers for registries of images; `None` = nobody may be asked.
    pub registry: Option<Arc<dyn Registry>>,
    /// Whether the role bindings among the objects are all that there are, be they none.
    pub all_bindings: bool,
}

impl Known {
    /// What definitions of kinds among objects tell.
    pub fn of(objects: &[Value], registry: Option<Arc<dyn Registry>>) -> Known {
        Known {
            kinds: Kinds::with(objects),
            types: Types::with(objects),
            authority: None,
            registry,
            all_bindings: false,
        }
    }
}

impl Data {
    /// Objects of which the definitions tell the kinds; no registry may be asked.
    pub fn new(objects: Vec<Value>) -> Data {
        let known = Known::of(&objects, None);
        Data::with(objects, known)
    }

    /// Sorts objects by what they are asked for.
    pub fn with(objects: Vec<Value>, known: Known) -> Data {
        let Known { kinds, types, authority, registry, all_bindings } = known;
        let objects: Vec<Value> = objects.iter().map(|o| with_defaults(o, &types)).collect();
        let of_kind = |kind: &'static str| objects.iter().filter(move |o| o.text_at(&["kind"]) == kind);
        let key = |o: &Value| {
            (Str::from(o.text_at(&["metadata", "namespace"])), Str::from(o.text_at(&["metadata", "name"])))
        };
        let namespaces: HashMap<Str, Value> = of_kind("Namespace").map(|o| (key(o).1, named(o))).collect();
        let globals = of_kind("GlobalContextEntry").cloned().collect();
        Data {
            config_maps: of_kind("ConfigMap").map(|o| (key(o), o.clone())).collect(),
            bindings: objects.iter().filter_map(binding).collect(),
            knows_all_bindings: all_bindings,
            offline: Offline {
                objects: objects.clone(),
                globals,
                types: Some(types.clone()),
                registry: registry.clone(),
                strict: true,
            },
            context: Context { registry, ..Context::default() },
            admission: Arc::new(AdmissionWorld {
                kinds: Some(kinds.clone()),
                types: Some(types),
                level: CelLevel::V26,
                namespaces,
                more_namespaces: true,
                rbac: Some(authority.unwrap_or_else(|| Arc::new(Rbac::new(&objects)))),
                objects,
            }),
            kinds,
        }
    }
}

/// A custom resource has the defaults of its schema, as an API server gives them to those who read it.
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

impl Data {
    /// The objects of a resource, in all namespaces.
    ///
    /// # Errors
    /// There is none at all: nobody gave them.
    fn of_resource(&self, at: &Place<'_>) -> Result<Vec<&Value>, String> {
        let (group, version) = at.api_version.split_once('/').unwrap_or(("", at.api_version));
        let is_of = |o: &&Value| {
            let plural = self.kinds.plural_of(group, version, o.text_at(&["kind"]));
            o.text_at(&["apiVersion"]) == at.api_version && plural == at.resource
        };
        let found: Vec<&Value> = self.admission.objects.iter().filter(is_of).collect();
        if found.is_empty() {
            let group = if group.is_empty() { String::new() } else { format!(".{group}") };
            return Err(format!(
                "there is no data of {}{group}: give it with --data, or --cluster",
                at.resource
            ));
        }
        Ok(found)
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

fn binding(o: &Value) -> Option<Binding> {
    let namespace = match o.text_at(&["kind"]) {
        "RoleBinding" => Some(Str::from(o.text_at(&["metadata", "namespace"]))),
        "ClusterRoleBinding" => None,
        _ => return None,
    };
    Some(Binding {
        namespace,
        binds_role: o.text_at(&["roleRef", "kind"]) == "Role",
        role: o.text_at(&["roleRef", "name"]).into(),
        subjects: o.get("subjects").and_then(Value::as_list).unwrap_or_default().to_vec(),
    })
}

impl Binding {
    fn names(&self, user: &str, groups: &[Value]) -> bool {
        self.subjects.iter().any(|s| {
            let name = s.text_at(&["name"]);
            match s.text_at(&["kind"]) {
                "ServiceAccount" => {
                    let own = s.text_at(&["namespace"]);
                    let namespace =
                        if own.is_empty() { self.namespace.as_deref().unwrap_or("") } else { own };
                    !namespace.is_empty()
                        && user
                            .strip_prefix("system:serviceaccount:")
                            .and_then(|rest| rest.split_once(':'))
                            .is_some_and(|parts| parts == (namespace, name))
                }
                "Group" => groups.iter().any(|g| g.as_str() == Some(name)),
                "User" => name == user,
                _ => false,
            }
        })
    }
}

impl Cluster for Data {
    fn namespace(&self, name: &str) -> Option<Value> {
        self.admission.namespaces.get(name).cloned()
    }

    fn roles(&self, user: &Value, namespace: &str) -> Option<Roles> {
        // Every cluster has bindings: none at all means that nobody gave them.
        if self.bindings.is_empty() && !self.knows_all_bindings {
            return None;
        }
        let (mut roles, mut cluster_roles) = (BTreeSet::new(), BTreeSet::new());
        let name = user.text_at(&["username"]);
        let groups = user.get("groups").and_then(Value::as_list).unwrap_or_default();
        for binding in self.bindings.iter().filter(|b| b.names(name, groups)) {
            match &binding.namespace {
                Some(own) if binding.binds_role => drop(roles.insert(format!("{own}:{}", binding.role))),
                // A RoleBinding grants a ClusterRole in its namespace only.
                Some(own) if **own != *namespace => {}
                _ => drop(cluster_roles.insert(binding.role.clone())),
            }
        }
        Some((roles.into_iter().collect(), cluster_roles.into_iter().collect()))
    }

    fn kinds(&self) -> Arc<Kinds> {
        self.kinds.clone()
    }

    fn offers(&self) -> Offers {
        Offers {
            namespaces: !self.admission.namespaces.is_empty(),
            roles: self.knows_all_bindings || !self.bindings.is_empty(),
            params: !self.admission.objects.is_empty(),
            config_maps: !self.config_maps.is_empty(),
            objects: !self.offline.objects().is_empty(),
            registry: self.registry().is_some(),
        }
    }

    fn admission(&self) -> Arc<AdmissionWorld> {
        self.admission.clone()
    }
}

impl Sources for Data {
    fn config_map(&self, namespace: &str, name: &str) -> Option<Result<Value, String>> {
        let found = self.config_maps.get(&(Str::from(namespace), Str::from(name)));
        Some(found.cloned().ok_or_else(|| format!("configmaps \"{name}\" not found")))
    }

    fn call(&self, call: &Call) -> Option<Result<Value, String>> {
        self.offline.call(call)
    }

    fn global(&self, entry: &str, projection: &str) -> Option<Result<Value, String>> {
        self.offline.global(entry, projection)
    }

    fn types(&self) -> Option<&Types> {
        self.offline.types()
    }

    fn admission_world(&self) -> Option<Arc<AdmissionWorld>> {
        Some(self.admission.clone())
    }

    fn objects(&self) -> &[Value] {
        self.offline.objects()
    }

    fn registry(&self) -> Option<&Arc<dyn Registry>> {
        self.offline.registry()
    }
}

impl World for Data {
    fn get(&self, at: &Place<'_>) -> Result<Value, String> {
        let found = self.of_resource(at)?.into_iter().find(|o| {
            o.text_at(&["metadata", "name"]) == at.name
                && o.text_at(&["metadata", "namespace"]) == at.namespace
        });
        Ok(found.cloned().unwrap_or_default())
    }

    fn list(&self, at: &Place<'_>) -> Result<Value, String> {
        let in_namespace =
            |o: &&Value| at.namespace.is_empty() || o.text_at(&["metadata", "namespace"]) == at.namespace;
        let items = self.of_resource(at)?.into_iter().filter(in_namespace).cloned().collect();
        Ok(Value::Map([(Str::from("items"), Value::list(items))].into_iter().collect()))
    }

    fn selects_by_labels(&self) -> bool {
        true
    }

    fn global(&self, name: &str, projection: &str) -> Result<Value, String> {
        match self.offline.global(name, projection) {
            Some(found) => found,
            None => Err("there is no source of global context entries".into()),
        }
    }

    fn asks_registries(&self) -> bool {
        self.context.asks_registries()
    }

    fn image(&self, reference: &str) -> Result<Value, String> {
        self.context.image(reference)
    }

    fn resource_of(&self, api_version: &str, kind: &str) -> Option<Result<[String; 3], String>> {
        self.context.resource_of(api_version, kind)
    }

    fn http(&self, call: &HttpCall<'_>) -> Result<Value, String> {
        self.context.http(call)
    }

    fn keys(&self, url: &str) -> Result<String, String> {
        self.context.keys(url)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::document::yaml_value;

    fn data(text: &str) -> Data {
        Data::new(yaml_value(text).unwrap().as_list().unwrap().to_vec())
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
