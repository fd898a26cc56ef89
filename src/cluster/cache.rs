//! Objects that are kept up to date by watching them.
//!
//! In: a cluster and the resources to watch. Out: the objects as they are now. A watch that breaks is
//! taken up again, with growing pauses; what was known stays.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt, watcher};

use crate::document::json::from_serde;
use crate::kubernetes::Resource;
use crate::value::Value;

use super::{Cluster, Failure, api_version};

/// Watched objects by group and kind.
pub struct Cache {
    stores: HashMap<(String, String), (ApiResource, Store<DynamicObject>)>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.stores.keys()).finish()
    }
}

impl Cache {
    /// Begins to watch resources, everywhere. Returns when all have been listed once.
    ///
    /// # Errors
    /// A list is not complete in time.
    pub fn watch(cluster: &Cluster, resources: &[Resource], patience: Duration) -> Result<Cache, Failure> {
        let mut cache = Cache { stores: HashMap::new(), tasks: Vec::new() };
        for r in resources {
            let resource = ApiResource {
                group: r.group.to_string(),
                version: r.version.to_string(),
                api_version: api_version(r),
                kind: r.kind.to_string(),
                plural: r.plural.to_string(),
            };
            let writer = reflector::store::Writer::<DynamicObject>::new(resource.clone());
            let store = writer.as_reader();
            let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &resource);
            let events = watcher(api, watcher::Config::default()).default_backoff();
            let stream = reflector::reflector(writer, events);
            cache.tasks.push(cluster.runtime.spawn(stream.for_each(|_| std::future::ready(()))));
            cache.stores.insert((r.group.to_string(), r.kind.to_string()), (resource, store));
        }
        cluster
            .runtime
            .block_on(async {
                let all = async {
                    for (_, store) in cache.stores.values() {
                        let _ = store.wait_until_ready().await;
                    }
                };
                tokio::time::timeout(patience, all).await
            })
            .map_err(|_| Failure::other("the objects to watch were not listed in time"))?;
        Ok(cache)
    }

    /// Whether objects of a kind are watched.
    pub fn has(&self, group: &str, kind: &str) -> bool {
        self.stores.contains_key(&(group.to_string(), kind.to_string()))
    }

    /// An object.
    pub fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        let (resource, store) = self.stores.get(&(group.to_string(), kind.to_string()))?;
        let mut key = ObjectRef::new_with(name, resource.clone());
        if !namespace.is_empty() {
            key = key.within(namespace);
        }
        store.get(&key).map(|object| value(&object, resource))
    }

    /// All objects of a kind, by namespace and name.
    pub fn all(&self, group: &str, kind: &str) -> Vec<Value> {
        let Some((resource, store)) = self.stores.get(&(group.to_string(), kind.to_string())) else {
            return Vec::new();
        };
        let mut objects: Vec<Arc<DynamicObject>> = store.state();
        objects.sort_by(|a, b| {
            (&a.metadata.namespace, &a.metadata.name).cmp(&(&b.metadata.namespace, &b.metadata.name))
        });
        objects.iter().map(|object| value(object, resource)).collect()
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// An object as rules see it.
fn value(object: &DynamicObject, resource: &ApiResource) -> Value {
    let found = serde_json::to_value(object).map(from_serde).unwrap_or_default();
    super::named(&found, &resource.api_version, &resource.kind)
}
