//! Changes of objects, without the objects.
//!
//! In: resources to watch. Out: a call for each object that changes or goes, with its metadata
//! alone. An object that went while a watch was broken is noticed when it is listed again. What is
//! held of an object is its name, its version and its labels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, PartialObjectMeta};
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, watcher};

use crate::cache::Pauses;
use crate::client::{Cluster, api_resource, stored};
use crate::failure::Failure;
use ephor_kubernetes::Resource;

/// An object that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace, empty for objects of the cluster.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Identifier.
    pub uid: String,
    /// Version.
    pub version: String,
    /// Labels.
    pub labels: HashMap<String, String>,
    /// Whether it is gone.
    pub is_gone: bool,
}

/// The callback for changes.
pub type OnEach = Arc<dyn Fn(&Change) + Send + Sync>;

/// Watched resources; the watches end when this is dropped.
pub struct Changes {
    on_each: OnEach,
    tasks: Mutex<HashMap<(String, String), tokio::task::JoinHandle<()>>>,
}

impl Changes {
    /// Watches nothing yet.
    pub fn new(on_each: OnEach) -> Changes {
        Changes { on_each, tasks: Mutex::default() }
    }

    /// Stops watching all but some groups and kinds.
    pub fn retain(&self, wanted: impl Fn(&str, &str) -> bool) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|(group, kind), task| {
            let is_wanted = wanted(group, kind);
            if !is_wanted {
                task.abort();
            }
            is_wanted
        });
    }

    /// Begins to watch a resource, unless it is watched; all its objects come first.
    ///
    /// # Errors
    /// The client has ended.
    pub fn watch(&self, cluster: &Cluster, r: &Resource) -> Result<(), Failure> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (r.group.to_string(), r.kind.to_string());
        if tasks.contains_key(&key) {
            return Ok(());
        }
        let resource = api_resource(r);
        let api: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(cluster.client.clone(), &stored(&resource, cluster.names));
        let mut seen = Seen { resource, on_each: self.on_each.clone(), known: HashMap::new(), listed: None };
        let events = watcher(api, Config::default()).backoff(Pauses::default());
        let task = cluster.spawn(events.for_each(move |event| {
            if let Ok(event) = event {
                seen.take(event);
            }
            std::future::ready(())
        }))?;
        tasks.insert(key, task);
        Ok(())
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let tasks = self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner);
        tasks.values().for_each(tokio::task::JoinHandle::abort);
    }
}

/// The objects of a resource, by their identifiers.
struct Seen {
    resource: ApiResource,
    on_each: OnEach,
    known: HashMap<String, Change>,
    /// Those of a list that is not complete yet.
    listed: Option<HashMap<String, Change>>,
}

impl Seen {
    fn change(&self, object: &PartialObjectMeta<DynamicObject>, is_gone: bool) -> Change {
        let meta = &object.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Change {
            api_version: self.resource.api_version.clone(),
            kind: self.resource.kind.clone(),
            namespace: text(&meta.namespace),
            name: text(&meta.name),
            uid: text(&meta.uid),
            version: text(&meta.resource_version),
            labels: meta.labels.clone().into_iter().flatten().collect(),
            is_gone,
        }
    }

    fn take(&mut self, event: Event<PartialObjectMeta<DynamicObject>>) {
        match event {
            Event::Init => self.listed = Some(HashMap::new()),
            Event::InitApply(object) => {
                let change = self.change(&object, false);
                self.note(change.clone());
                self.listed.get_or_insert_default().insert(change.uid.clone(), change);
            }
            Event::InitDone => {
                let listed = self.listed.take().unwrap_or_default();
                let gone = std::mem::replace(&mut self.known, listed);
                for (uid, change) in gone {
                    if !self.known.contains_key(&uid) {
                        (self.on_each)(&Change { is_gone: true, ..change });
                    }
                }
            }
            Event::Apply(object) => {
                let change = self.change(&object, false);
                self.note(change.clone());
                self.known.insert(change.uid.clone(), change);
            }
            Event::Delete(object) => {
                let change = self.change(&object, true);
                self.known.remove(&change.uid);
                (self.on_each)(&change);
            }
        }
    }

    /// Says that an object has changed, if it has.
    fn note(&self, change: Change) {
        if self.known.get(&change.uid).is_none_or(|known| known.version != change.version) {
            (self.on_each)(&change);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn object(uid: &str, version: &str) -> PartialObjectMeta<DynamicObject> {
        let text = format!(
            r#"{{"metadata": {{"name": "n{uid}", "uid": "{uid}", "resourceVersion": "{version}"}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn an_object_that_went_while_the_watch_was_broken_is_noticed_and_one_that_stayed_is_not() {
        let (send, receive) = std::sync::mpsc::channel();
        let on_each: OnEach = Arc::new(move |change: &Change| {
            send.send((change.uid.clone(), change.version.clone(), change.is_gone)).unwrap();
        });
        let resource = ApiResource {
            group: String::new(),
            version: "v1".into(),
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
        };
        let mut seen = Seen { resource, on_each, known: HashMap::new(), listed: None };
        for event in [
            Event::Init,
            Event::InitApply(object("a", "1")),
            Event::InitApply(object("b", "2")),
            Event::InitDone,
        ] {
            seen.take(event);
        }
        for event in
            [Event::Init, Event::InitApply(object("a", "1")), Event::InitDone, Event::Apply(object("a", "3"))]
        {
            seen.take(event);
        }
        seen.take(Event::Delete(object("a", "4")));
        let all: Vec<_> = receive.try_iter().collect();
        let of = |uid: &str, version: &str, is_gone| (uid.to_string(), version.to_string(), is_gone);
        let wanted = [
            of("a", "1", false),
            of("b", "2", false),
            of("b", "2", true),
            of("a", "3", false),
            of("a", "4", true),
        ];
        assert_eq!(all, wanted);
    }
}
