//! Watched objects: a cache that a watch updates.
//!
//! In: a cluster and the resources to watch; more of them may come later. Out: the objects as they
//! are now. A watch that breaks is restarted with backoff; what was known stays.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{DefaultBackoff, Event};
use kube::runtime::{WatchStreamExt, watcher};

use ephor_document::json::from_serde;
use ephor_kubernetes::Resource;
use ephor_kubernetes::groups::PolicyNames;
use ephor_value::Value;

use crate::client::{Cluster, api_resource, named, path_of, stored};
use crate::failure::Failure;

/// The pauses before a watch that breaks is restarted: those of Kubernetes' clients, which grow to
/// 30 s, but 5 s at most, so that changes are in force soon after an API server is back.
#[derive(Default)]
pub(crate) struct Pauses(DefaultBackoff);

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.0.next().map(|pause| pause.min(Duration::from_secs(5)))
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        self.0.reset();
    }
}

/// The watched objects of a kind.
struct Watched {
    resource: ApiResource,
    names: PolicyNames,
    store: Store<DynamicObject>,
    /// How often something has changed.
    changes: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The callback for changes of watched objects, with group and kind.
pub type OnChange = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Watched objects by group and kind.
#[derive(Default)]
pub struct Cache {
    kinds: RwLock<HashMap<(String, String), Watched>>,
    on_change: Option<OnChange>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(kinds.keys()).finish()
    }
}

impl Cache {
    /// Watches nothing yet; `on_change` is called for every change.
    pub fn with_callback(on_change: OnChange) -> Cache {
        Cache { on_change: Some(on_change), ..Cache::default() }
    }

    /// Begins to watch resources, everywhere. Returns when all have been listed once.
    ///
    /// # Errors
    /// A list is not complete in time, or may not be read.
    pub fn watch(cluster: &Cluster, resources: &[Resource], patience: Duration) -> Result<Cache, Failure> {
        let cache = Cache::default();
        resources.iter().try_for_each(|r| cache.add(cluster, r, patience))?;
        Ok(cache)
    }

    /// Begins to watch one more resource. Returns when it has been listed once.
    ///
    /// # Errors
    /// The list is not complete in time, or may not be read.
    pub fn add(&self, cluster: &Cluster, r: &Resource, patience: Duration) -> Result<(), Failure> {
        if self.has(&r.group, &r.kind) {
            return Ok(());
        }
        // A watch retries for ever, so a missing permission shows only here.
        cluster.get(&format!("{}?limit=1", path_of(r, "", "")))?;
        let resource = api_resource(r);
        let writer = reflector::store::Writer::<DynamicObject>::new(resource.clone());
        let store = writer.as_reader();
        let api: Api<DynamicObject> =
            Api::all_with(cluster.client.clone(), &stored(&resource, cluster.names));
        let events = watcher(api, watcher::Config::default()).backoff(Pauses::default());
        let changes = Arc::new(AtomicU64::new(0));
        let (count, on_change, kind) = (changes.clone(), self.on_change.clone(), resource.clone());
        let listed = store.clone();
        let mut seen: Option<u64> = None;
        let stream = reflector::reflector(writer, events).for_each(move |event| {
            let is_change = match event {
                Ok(Event::Apply(_) | Event::Delete(_)) => {
                    seen = None;
                    true
                }
                // A list that is repeated because a watch broke often has nothing new.
                Ok(Event::InitDone) => {
                    let now = fingerprint(&listed);
                    seen.replace(now) != Some(now)
                }
                _ => false,
            };
            if is_change {
                count.fetch_add(1, Ordering::Release);
                if let Some(on_change) = &on_change {
                    on_change(&kind.group, &kind.kind);
                }
            }
            std::future::ready(())
        });
        let task = cluster.spawn(stream)?;
        let first = store.clone();
        let listed = cluster.wait(async move {
            tokio::time::timeout(patience, async { first.wait_until_ready().await.is_ok() }).await
        })?;
        let key = (r.group.to_string(), r.kind.to_string());
        let watched = Watched { resource, names: cluster.names, store, changes, task };
        if !matches!(listed, Ok(true)) {
            return Err(Failure::other(format!("the {} to watch were not listed in time", r.plural)));
        }
        self.kinds.write().unwrap_or_else(PoisonError::into_inner).insert(key, watched);
        Ok(())
    }

    fn of<T>(&self, group: &str, kind: &str, read: impl FnOnce(&Watched) -> T) -> Option<T> {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        kinds.get(&(group.to_string(), kind.to_string())).map(read)
    }

    /// Whether objects of a kind are watched.
    pub fn has(&self, group: &str, kind: &str) -> bool {
        self.of(group, kind, |_| ()).is_some()
    }

    /// How often objects of a kind have changed.
    pub fn changes(&self, group: &str, kind: &str) -> u64 {
        self.of(group, kind, |w| w.changes.load(Ordering::Acquire)).unwrap_or(0)
    }

    /// An object.
    pub fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        self.of(group, kind, |watched| {
            let mut key = ObjectRef::new_with(name, watched.resource.clone());
            if !namespace.is_empty() {
                key = key.within(namespace);
            }
            watched.store.get(&key).map(|object| value(&object, &watched.resource, watched.names))
        })?
    }

    /// The names of all objects of a kind in a namespace, sorted. Costs much less than the objects.
    pub fn names(&self, group: &str, kind: &str, namespace: &str) -> Vec<String> {
        let names = |watched: &Watched| {
            let objects = watched.store.state();
            let inside = objects.iter().filter(|o| o.metadata.namespace.as_deref() == Some(namespace));
            let mut names: Vec<String> = inside.filter_map(|o| o.metadata.name.clone()).collect();
            names.sort_unstable();
            names
        };
        self.of(group, kind, names).unwrap_or_default()
    }

    /// All objects of a kind, by namespace and name.
    pub fn all(&self, group: &str, kind: &str) -> Vec<Value> {
        let sorted = |watched: &Watched| {
            let mut objects: Vec<Arc<DynamicObject>> = watched.store.state();
            objects.sort_by(|a, b| {
                (&a.metadata.namespace, &a.metadata.name).cmp(&(&b.metadata.namespace, &b.metadata.name))
            });
            objects.iter().map(|object| value(object, &watched.resource, watched.names)).collect()
        };
        self.of(group, kind, sorted).unwrap_or_default()
    }
}

/// A hash of a list, whatever its order.
fn fingerprint(store: &Store<DynamicObject>) -> u64 {
    let one = |o: &Arc<DynamicObject>| {
        let mut hasher = DefaultHasher::new();
        (&o.metadata.uid, &o.metadata.resource_version).hash(&mut hasher);
        hasher.finish()
    };
    store.state().iter().fold(0, |all, o| all.wrapping_add(one(o)))
}

/// An object as rules see it.
pub(crate) fn value(object: &DynamicObject, resource: &ApiResource, names: PolicyNames) -> Value {
    let found = serde_json::to_value(object).map(from_serde).unwrap_or_default();
    let found = if names == PolicyNames::Own { PolicyNames::Kyverno.of_object(&found) } else { found };
    named(&found, &resource.api_version, &resource.kind)
}
