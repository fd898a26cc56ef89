//! The data of rules from a cluster.
//!
//! In: a cluster, and the external data of the policies. Out: a [`Link`] that watches objects as
//! long as the server runs, and for each set of policies a [`FromCluster`] that answers. Objects of
//! files take precedence over those of the cluster. What is not watched is fetched when a rule
//! needs it. Semantics: `docs/reference/cluster.md`, "In the server".
//!
//! - `error`: why a global context entry has no data.

mod error;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use ephor_cluster::Failure;
use ephor_cluster::access::Access;
use ephor_cluster::cache::Cache;
use ephor_cluster::live::Live;
use ephor_cluster::{Choice, Cluster, connect};
use ephor_external::{
    Address, Answer, ApiError, ApiRequest, Authorizer, ExternalData, Found, LookupError, Reader, Roles,
    ServiceCall,
};
use ephor_kubernetes::{Kinds, Resource, Types};
use ephor_sources::objects::{ClusterFacts, Objects};
use ephor_sources::offline::projected;
use ephor_sources::registry::Registry;
use ephor_value::release::Release;
use ephor_value::{Str, Value, duration};

use crate::serve::kind_filter::KindFilter;
use error::EntryError;

/// How long a kind may take to be listed.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a global context entry without `refreshInterval` is fetched again.
const REFRESH: Duration = Duration::from_secs(600);
/// What is watched in any case: group, version and plural.
const WATCHED: [(&str, &str, &str); 5] = [
    ("", "v1", "namespaces"),
    ("", "v1", "configmaps"),
    ("rbac.authorization.k8s.io", "v1", "rolebindings"),
    ("rbac.authorization.k8s.io", "v1", "clusterrolebindings"),
    ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
];
/// The definitions of kinds: group and kind.
pub const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "CustomResourceDefinition");
const GLOBALS: (&str, &str) = ("kyverno.io", "GlobalContextEntry");
const BINDINGS: [(&str, &str); 2] =
    [("rbac.authorization.k8s.io", "RoleBinding"), ("rbac.authorization.k8s.io", "ClusterRoleBinding")];

/// The ConfigMaps of operators: namespace and name each.
#[derive(Clone, Debug)]
pub struct ConfigMaps {
    /// The settings.
    pub settings: (String, String),
    /// The settings of metrics.
    pub metrics: (String, String),
}

/// A cluster, and what is watched of it.
pub struct Link {
    /// The cluster.
    pub cluster: Arc<Cluster>,
    /// What is watched.
    pub cache: Arc<Cache>,
    /// Kinds that may not be watched, with the reason.
    unwatched: Mutex<HashMap<String, String>>,
    /// Notified when kinds or global context entries have changed, so that policies have to be read
    /// again.
    pub changed: Arc<Notify>,
    /// Notified when ConfigMaps have changed.
    pub configured: Arc<Notify>,
    /// Whether the kinds of the cluster have changed since they were fetched.
    renew: Arc<AtomicBool>,
    /// Whether policies have to be read again: a task that waits for a notice may end before it
    /// acts on it.
    outdated: Arc<AtomicBool>,
    /// The release of the API server.
    pub release: Release,
    /// The policies of the cluster that are served.
    stored: KindFilter,
    /// The ConfigMaps of operators.
    places: ConfigMaps,
    /// Their versions when they were last read.
    versions: Mutex<[Option<String>; 2]>,
    /// The fields of the kinds that the cluster defines, and how often the definitions had changed
    /// then.
    types: Mutex<Option<(u64, Arc<Types>)>>,
}

/// The release of a server; of one that does not say it the default.
fn served_release(cluster: &Cluster) -> Release {
    match cluster.release() {
        Ok(choice) => {
            if !choice.exact {
                tracing::warn!(kubernetes = %choice.release, "the nearest release to the API server's is used");
            }
            choice.release
        }
        Err(error) => {
            let kubernetes = Release::default();
            tracing::warn!(error = error.text, %kubernetes, "the API server does not say its version");
            kubernetes
        }
    }
}

impl Link {
    /// Connects, and begins to watch; also the policies that are served from there. `wanted`: the
    /// release to act as, instead of the server's own.
    ///
    /// # Errors
    /// There is no cluster, or discovery fails.
    pub fn open(
        choice: &Choice,
        places: &ConfigMaps,
        stored: Option<&KindFilter>,
        wanted: Option<Release>,
    ) -> Result<Link, Failure> {
        let cluster = Arc::new(connect(choice)?);
        let release = match wanted {
            Some(release) => release,
            None => served_release(&cluster),
        };
        let kinds = cluster.kinds()?;
        let changed = Arc::new(Notify::new());
        let renew = Arc::new(AtomicBool::new(false));
        let configured = Arc::new(Notify::new());
        let outdated = Arc::new(AtomicBool::new(false));
        let (notify, kinds_changed, maps) = (changed.clone(), renew.clone(), configured.clone());
        let has_changed = outdated.clone();
        let served = stored.cloned().unwrap_or_default();
        let cache = Cache::with_callback(Arc::new(move |group, kind| {
            if (group, kind) == ("", "ConfigMap") {
                maps.notify_one();
            }
            let is_definition = (group, kind) == DEFINITIONS;
            if is_definition {
                kinds_changed.store(true, Ordering::Release);
            }
            if is_definition || (group, kind) == GLOBALS || served.has(group, kind) {
                has_changed.store(true, Ordering::Release);
                notify.notify_one();
            }
        }));
        let link = Link {
            cluster,
            cache: Arc::new(cache),
            unwatched: Mutex::default(),
            changed,
            configured,
            renew,
            outdated,
            release,
            stored: stored.cloned().unwrap_or_default(),
            places: places.clone(),
            versions: Mutex::default(),
            types: Mutex::default(),
        };
        link.watch_all(&kinds);
        link.has_new_settings();
        Ok(link)
    }

    /// Begins to watch what is watched in any case, of the kinds that the cluster serves.
    fn watch_all(&self, kinds: &Kinds) {
        let in_any_case =
            WATCHED.iter().filter_map(|(group, version, plural)| kinds.resource(group, version, plural));
        let globals = kinds.named(GLOBALS.1).find(|r| *r.group == *GLOBALS.0);
        let policies = self.stored.resources(kinds);
        in_any_case.chain(globals).chain(policies).for_each(|resource| self.watch(resource));
    }

    /// Begins to watch a kind, if it may be watched.
    pub fn watch(&self, resource: &Resource) {
        let done = self.cache.add(&self.cluster, resource, PATIENCE);
        let name = format!("{}.{}", resource.plural, resource.group);
        let name = name.trim_end_matches('.').to_string();
        let mut unwatched = self.unwatched.lock().unwrap_or_else(PoisonError::into_inner);
        match done {
            Ok(()) => drop(unwatched.remove(&name)),
            Err(e) => drop(unwatched.insert(name, e.text)),
        }
    }

    /// The fields of the kinds that the cluster and these objects define. Those of the cluster
    /// alone are built once: a cluster has hundreds of definitions, and policies change more often
    /// than they do.
    fn types(&self, objects: &[Value]) -> Arc<Types> {
        let (group, kind) = DEFINITIONS;
        if objects.iter().any(|o| o.text_at(&["kind"]) == kind) {
            let mut definitions = self.cache.all(group, kind);
            definitions.extend(objects.iter().cloned());
            return Types::of_release_with(self.release, &definitions);
        }
        let changes = self.cache.changes(group, kind);
        let mut known = self.types.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((at, types)) if *at == changes => types.clone(),
            _ => {
                let types = Types::of_release_with(self.release, &self.cache.all(group, kind));
                known.insert((changes, types)).1.clone()
            }
        }
    }

    /// The ConfigMap of settings, if there is one.
    pub fn settings(&self) -> Option<Value> {
        self.config_map(&self.places.settings)
    }

    /// The one of metrics.
    pub fn metrics(&self) -> Option<Value> {
        self.config_map(&self.places.metrics)
    }

    fn config_map(&self, (namespace, name): &(String, String)) -> Option<Value> {
        if self.cache.has("", "ConfigMap") {
            return self.cache.get("", "ConfigMap", namespace, name);
        }
        self.cluster.get(&format!("/api/v1/namespaces/{namespace}/configmaps/{name}")).ok()
    }

    /// Whether one of them has changed since the last call.
    pub fn has_new_settings(&self) -> bool {
        let version =
            |map: Option<Value>| map.map(|m| m.text_at(&["metadata", "resourceVersion"]).to_string());
        let now = [version(self.settings()), version(self.metrics())];
        let mut known = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let are_new = std::mem::replace(&mut *known, now.clone()) != now;
        self.outdated.fetch_or(are_new, Ordering::AcqRel);
        are_new
    }

    /// Whether anything that policies are read from has changed since the last call.
    pub fn has_changed(&self) -> bool {
        self.has_new_settings();
        self.outdated.swap(false, Ordering::AcqRel)
    }

    /// What cannot be watched, a line each.
    pub fn problems(&self) -> Vec<String> {
        let unwatched = self.unwatched.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<String> =
            unwatched.iter().map(|(name, why)| format!("cluster: {name} cannot be watched: {why}")).collect();
        all.sort();
        all
    }
}

/// What is derived from watched objects, and how often these had changed then.
struct Derived {
    changes: u64,
    data: Arc<Objects>,
}

/// An answer of an `apiCall` of a global context entry, and when it was fetched.
type Answered = (Instant, Value);

/// See the module page.
pub struct FromCluster {
    link: Arc<Link>,
    live: Live,
    /// Objects of files.
    files: Arc<Objects>,
    objects: Vec<Value>,
    identities: HashSet<[String; 4]>,
    known: ClusterFacts,
    /// The kinds of parameters.
    params: Vec<(String, String)>,
    derived: ArcSwap<Derived>,
    globals: Mutex<HashMap<(String, String), (u64, Value)>>,
    answers: Mutex<HashMap<String, Answered>>,
}

/// Group, kind, namespace and name of an object.
fn identity(o: &Value) -> [String; 4] {
    let group = o.text_at(&["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
    [group, o.text_at(&["kind"]), o.text_at(&["metadata", "namespace"]), o.text_at(&["metadata", "name"])]
        .map(String::from)
}

impl FromCluster {
    /// The data for policies; objects of files take precedence. Also watches the kinds that the
    /// policies look up.
    pub fn new<'p>(
        link: Arc<Link>,
        objects: Vec<Value>,
        policies: impl Iterator<Item = &'p Value>,
        registry: Option<Arc<dyn Registry>>,
    ) -> FromCluster {
        if link.renew.swap(false, Ordering::AcqRel)
            && let Err(e) = link.cluster.renew_kinds()
        {
            tracing::warn!(error = e.text, "the kinds of the cluster are those known before");
        }
        let kinds = link.cluster.kinds().unwrap_or_else(|_| Kinds::of_release(link.release).clone());
        // Kinds of policies may be defined after the server has started.
        link.watch_all(&kinds);
        let types = link.types(&objects);
        let mut params: BTreeSet<(String, String)> = BTreeSet::new();
        for policy in policies {
            for kind in param_kinds(policy) {
                let api_version = kind.text_at(&["apiVersion"]);
                let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
                if let Some(resource) = kinds.kind(group, version, kind.text_at(&["kind"])) {
                    link.watch(resource);
                    params.insert((group.into(), resource.kind.to_string()));
                }
            }
        }
        let all_bindings = BINDINGS.iter().all(|(group, kind)| link.cache.has(group, kind));
        let known =
            ClusterFacts { kinds, types: types.clone(), registry, all_bindings, all_namespaces: false };
        let files = Arc::new(Objects::with(objects.clone(), known.clone()));
        let live = Live {
            cluster: link.cluster.clone(),
            cache: Some(link.cache.clone()),
            objects: Vec::new(),
            others: files.clone(),
            types: Some(types),
        };
        let nothing = Derived { changes: u64::MAX, data: files.clone() };
        let data = FromCluster {
            identities: objects.iter().map(identity).collect(),
            link,
            live,
            files,
            objects,
            known,
            params: params.into_iter().collect(),
            derived: ArcSwap::from_pointee(nothing),
            globals: Mutex::default(),
            answers: Mutex::default(),
        };
        let watched = |r: &Value| Some(data.resource_of_entry(r)?.clone());
        let needed: Vec<Resource> = data
            .entries()
            .iter()
            .filter_map(|e| e.at(&["spec", "kubernetesResource"]).and_then(watched))
            .collect();
        needed.iter().for_each(|resource| data.link.watch(resource));
        data
    }

    /// The kinds that are derived from.
    fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        let params = self.params.iter().map(|(group, kind)| (&**group, &**kind));
        std::iter::once(("", "Namespace")).chain(BINDINGS).chain(params)
    }

    /// What is derived from the watched objects as they are now.
    fn derived(&self) -> Arc<Objects> {
        let cache = &self.link.cache;
        let now = || self.sources().fold(0u64, |n, (group, kind)| n.wrapping_add(cache.changes(group, kind)));
        let changes = now();
        let current = self.derived.load();
        if current.changes == changes {
            return current.data.clone();
        }
        // Two threads may both do it; what is stored last is not older than its count.
        let mut objects: Vec<Value> = Vec::new();
        let all: BTreeSet<(&str, &str)> = self.sources().collect();
        for (group, kind) in all {
            let own = cache.all(group, kind);
            objects.extend(own.into_iter().filter(|o| !self.identities.contains(&identity(o))));
        }
        objects.extend(self.objects.iter().cloned());
        let data = Arc::new(Objects::with(objects, self.known.clone()));
        self.derived.store(Arc::new(Derived { changes, data: data.clone() }));
        data
    }

    /// Global entries of files and of the cluster.
    fn entries(&self) -> Vec<Value> {
        let own = self.objects.iter().filter(|o| o.text_at(&["kind"]) == GLOBALS.1).cloned();
        own.chain(self.link.cache.all(GLOBALS.0, GLOBALS.1)).collect()
    }

    fn entry(&self, name: &str) -> Option<Value> {
        let mut own = self.objects.iter().filter(|o| o.text_at(&["kind"]) == GLOBALS.1);
        own.find(|o| o.text_at(&["metadata", "name"]) == name)
            .cloned()
            .or_else(|| self.link.cache.get(GLOBALS.0, GLOBALS.1, "", name))
    }

    fn resource_of_entry(&self, r: &Value) -> Option<&Resource> {
        self.known.kinds.resource(r.text_at(&["group"]), r.text_at(&["version"]), r.text_at(&["resource"]))
    }

    /// The data of a global entry, or one of its projections.
    fn of_entry(&self, entry: &Value, projection: &str) -> Result<Value, EntryError> {
        let Some(r) = entry.at(&["spec", "kubernetesResource"]).filter(|r| !r.is_null()) else {
            return Ok(projected(entry, self.answer_of(entry)?, projection)?);
        };
        let namespace = r.text_at(&["namespace"]);
        let Some(resource) = self.resource_of_entry(r) else {
            let [group, version, plural] =
                ["group", "version", "resource"].map(|key| r.text_at(&[key]).into());
            return Err(EntryError::NotServed { group, version, plural });
        };
        let cache = &self.link.cache;
        if !cache.has(&resource.group, &resource.kind) {
            let items = self.link.cluster.list(resource, namespace)?;
            return Ok(projected(entry, Value::list(items), projection)?);
        }
        let changes = cache.changes(&resource.group, &resource.kind);
        let key = (entry.text_at(&["metadata", "name"]).to_string(), projection.to_string());
        let cached = self.globals.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some((_, value)) = cached.filter(|(of, _)| *of == changes) {
            return Ok(value);
        }
        let mut items = cache.all(&resource.group, &resource.kind);
        items.retain(|o| namespace.is_empty() || o.text_at(&["metadata", "namespace"]) == namespace);
        let value = projected(entry, Value::list(items), projection)?;
        let mut globals = self.globals.lock().unwrap_or_else(PoisonError::into_inner);
        globals.insert(key, (changes, value.clone()));
        Ok(value)
    }

    /// The answer of an entry's call, fetched again after its refresh interval.
    fn answer_of(&self, entry: &Value) -> Result<Value, EntryError> {
        let name = entry.text_at(&["metadata", "name"]).to_string();
        let call = entry.at(&["spec", "apiCall"]).ok_or(EntryError::NoData)?;
        let every = duration::parse_ok(call.text_at(&["refreshInterval"]));
        let every = every.and_then(|n| u64::try_from(n).ok()).map_or(REFRESH, Duration::from_nanos);
        let cached = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
        if let Some((_, answer)) = cached.filter(|(at, _)| at.elapsed() < every) {
            return Ok(answer);
        }
        let service = call.get("service");
        let text = |path: &[&str]| service.map_or("", |s| s.text_at(path));
        let body = (call.text_at(&["method"]) == "POST").then(|| body_of(call));
        let answer = match call.text_at(&["urlPath"]) {
            "" => self.live.service(&ServiceCall {
                answer: Answer::Json(Reader::Entry(&name)),
                url: text(&["url"]),
                body,
                headers: Vec::new(),
                ca_bundle: text(&["caBundle"]),
            }),
            path => {
                let request = ApiRequest { at: Address::Path { path, entry: &name }, body: body.as_ref() };
                self.live.api(&request).map(|answer| answer.map_err(Into::into))
            }
        };
        let answer = answer.ok_or(EntryError::NoData).and_then(|answer| answer.map_err(EntryError::Call));
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        match &answer {
            Ok(value) => answers.insert(name, (Instant::now(), value.clone())),
            Err(_) => answers.remove(&name),
        };
        answer
    }
}

/// The `paramKind`s of a policy: its own, and those of its `validate.cel` rules.
fn param_kinds(policy: &Value) -> impl Iterator<Item = &Value> {
    let rules = policy.at(&["spec", "rules"]).and_then(Value::as_list).unwrap_or_default();
    let of_rules = rules.iter().filter_map(|rule| rule.at(&["validate", "cel", "paramKind"]));
    policy.at(&["spec", "paramKind"]).into_iter().chain(of_rules).filter(|kind| !kind.is_null())
}

/// The data that a call sends.
fn body_of(call: &Value) -> Value {
    let data = call.get("data").and_then(Value::as_list).unwrap_or_default();
    let entries = data.iter().map(|d| (Str::from(d.text_at(&["key"])), d.get("value").cloned()));
    Value::Map(entries.map(|(k, v)| (k, v.unwrap_or_default())).collect())
}

impl ExternalData for FromCluster {
    fn inner(&self) -> Option<&dyn ExternalData> {
        Some(&self.live)
    }

    fn kinds(&self) -> Option<Result<Arc<Kinds>, LookupError>> {
        Some(Ok(self.known.kinds.clone()))
    }

    fn namespace(&self, name: &str) -> Option<Value> {
        let known = self.derived().namespace(name);
        // The watch may not have reported one that was just created.
        known.or_else(|| self.link.cluster.get(&format!("/api/v1/namespaces/{name}")).ok())
    }

    fn roles(&self, user: &Value, namespace: &str) -> Option<Roles> {
        let watched = BINDINGS.iter().all(|(group, kind)| self.link.cache.has(group, kind));
        if !watched && self.files.roles(user, namespace).is_none() {
            return None;
        }
        self.derived().roles(user, namespace)
    }

    fn authorizer(&self, user: &Value) -> Option<Arc<dyn Authorizer>> {
        Some(Arc::new(Access::of(self.link.cluster.clone(), user)))
    }

    fn parameters(&self, group: &str, kind: &str, namespace: &str) -> Option<Vec<Value>> {
        self.derived().parameters(group, kind, namespace)
    }

    fn config_map(&self, namespace: &str, name: &str) -> Found {
        match self.files.config_map(namespace, name) {
            Some(Ok(found)) => Some(Ok(found)),
            _ => self.live.config_map(namespace, name),
        }
    }

    fn api(&self, request: &ApiRequest<'_>) -> Found<ApiError> {
        // One object of a file; lists are the cluster's.
        let is_object = |v: &Value| match request.at {
            Address::Path { .. } => v.get("items").is_none(),
            Address::Objects(at) => !at.name.is_empty() && !v.is_null(),
        };
        if request.body.is_none()
            && !self.objects.is_empty()
            && let Some(Ok(found)) = self.files.api(request)
            && is_object(&found)
        {
            return Some(Ok(found));
        }
        match request.at {
            Address::Objects(at) if request.body.is_none() && !at.name.is_empty() => {
                let kind = match (at.api_version, at.resource) {
                    ("v1", "configmaps") => "ConfigMap",
                    ("v1", "namespaces") => "Namespace",
                    _ => return self.live.api(request),
                };
                let watched = self.link.cache.get("", kind, at.namespace, at.name);
                watched.map(Ok).or_else(|| self.live.api(request))
            }
            _ => self.live.api(request),
        }
    }

    fn global(&self, entry: &str, projection: &str, by: Reader<'_>) -> Found {
        match (self.entry(entry), by) {
            (Some(found), _) => Some(self.of_entry(&found, projection).map_err(Into::into)),
            (None, Reader::Expression) => None,
            (None, Reader::Entry(_)) => Some(Err(format!("failed to fetch entry key={entry}").into())),
        }
    }
}
