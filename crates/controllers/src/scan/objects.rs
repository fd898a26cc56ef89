//! The objects that are scanned, as far as they are known.
//!
//! In: what a watch shows of objects. Out: which of them are new or have changed in what policies
//! read. Of each object its name, a hash of its content and when it was scanned are in memory,
//! never the object.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ephor_cluster::api_version;
use ephor_kubernetes::Resource;
use ephor_value::{Map, Str, Value};

use crate::shards::assigned::Assigned;

/// What identifies an object.
pub type Uid = Arc<str>;

/// What is known of an object.
#[derive(Clone, Debug)]
pub struct ScannedObject {
    /// Its resource.
    pub resource: Arc<Resource>,
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// See [`content`].
    pub content: u64,
    /// The last scan.
    pub scan: Option<Scan>,
    /// Whether something else that policies read has changed since then.
    pub outdated: bool,
    /// The list or the watch that has shown it last.
    round: u64,
}

impl ScannedObject {
    /// The shard that it belongs to.
    pub fn shard(&self, assigned: &Assigned) -> u32 {
        shard_of(assigned, &self.resource, &self.namespace, &self.name)
    }
}

/// The shard of an object.
pub fn shard_of(assigned: &Assigned, resource: &Resource, namespace: &str, name: &str) -> u32 {
    assigned.shard_of(&[&api_version(resource), namespace, &resource.kind, name])
}

/// A scan of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The content of the object then.
    pub content: u64,
    /// The policies then.
    pub policies: u64,
    /// What violations there were, and when events were last written for them.
    pub noted: (u64, Instant),
    /// When it was.
    pub at: Instant,
}

/// See the module page.
#[derive(Debug, Default)]
pub struct Objects {
    known: Mutex<HashMap<Uid, ScannedObject>>,
}

impl Objects {
    fn known(&self) -> MutexGuard<'_, HashMap<Uid, ScannedObject>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of an object that a list or watch shows; its identity if it has to be scanned.
    pub fn see(&self, resource: &Arc<Resource>, object: &Value, round: u64) -> Option<Uid> {
        let at = |key: &str| object.text_at(&["metadata", key]);
        let uid: Uid = at("uid").into();
        let content = content(object);
        let mut all = self.known();
        if let Some(known) = all.get_mut(&uid) {
            // What a list shows that has ended in between says nothing new.
            known.round = known.round.max(round);
            let is_changed = known.content != content;
            known.content = content;
            return is_changed.then_some(uid);
        }
        let (namespace, name) = (at("namespace").into(), at("name").into());
        let known = ScannedObject {
            resource: resource.clone(),
            namespace,
            name,
            content,
            scan: None,
            outdated: false,
            round,
        };
        all.insert(uid.clone(), known);
        Some(uid)
    }

    /// What is known of an object.
    pub fn get(&self, uid: &str) -> Option<ScannedObject> {
        self.known().get(uid).cloned()
    }

    /// Notes a scan, unless the object is gone.
    pub fn scanned(&self, uid: &str, scan: Scan) {
        if let Some(known) = self.known().get_mut(uid) {
            known.scan = Some(scan);
            known.outdated = false;
        }
    }

    /// Removes an object.
    pub fn remove(&self, uid: &str) {
        self.known().remove(uid);
    }

    /// Removes the objects of a resource that a complete list did not show. Rounds of all lists
    /// count up.
    pub fn remove_before(&self, resource: &Arc<Resource>, round: u64) {
        self.known().retain(|_, known| !Arc::ptr_eq(&known.resource, resource) || known.round >= round);
    }

    /// Removes all objects but some.
    pub fn retain(&self, is_followed: impl Fn(&ScannedObject) -> bool) {
        self.known().retain(|_, known| is_followed(known));
    }

    /// The namespaces with objects.
    pub fn namespaces(&self) -> HashSet<Str> {
        let all = self.known();
        all.values().map(|known| &known.namespace).filter(|name| !name.is_empty()).cloned().collect()
    }

    /// Has the objects in some namespaces scanned again; which these are.
    pub fn outdate(&self, namespaces: &HashSet<Str>) -> Vec<Uid> {
        let mut all = self.known();
        let own = all.iter_mut().filter(|(_, known)| namespaces.contains(&known.namespace));
        let outdate = |(uid, known): (&Uid, &mut ScannedObject)| {
            known.outdated = true;
            uid.clone()
        };
        own.map(outdate).collect()
    }

    /// The objects of a resource.
    pub fn of(&self, resource: &Resource) -> Vec<Uid> {
        let is_of = |known: &ScannedObject| {
            known.resource.group == resource.group && known.resource.kind == resource.kind
        };
        self.known().iter().filter(|(_, known)| is_of(known)).map(|(uid, _)| uid.clone()).collect()
    }
}

/// A hash of what policies read in an object: not its status, the node it runs on, or who wrote
/// it.
pub fn content(object: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    for key in ["labels", "annotations"] {
        object.at(&["metadata", key]).unwrap_or(&Value::Null).hash(&mut hasher);
    }
    let mut members: Map = object.as_map().cloned().unwrap_or_default();
    ["metadata", "status", "scale"].iter().for_each(|key| drop(members.remove(key)));
    if let Some(Value::Map(spec)) = members.get("spec").filter(|spec| spec.get("nodeName").is_some()) {
        let mut spec = spec.clone();
        spec.remove("nodeName");
        members.insert("spec", Value::Map(spec));
    }
    Value::Map(members).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;
    use ephor_kubernetes::Kinds;

    use super::*;

    fn pod(uid: &str, label: &str, node: &str) -> Value {
        yaml_value(&format!(
            "{{kind: Pod, metadata: {{uid: {uid}, name: {uid}, resourceVersion: '{node}', labels: {{a: {label}}}}}, spec: {{nodeName: '{node}', x: y}}, status: {{phase: '{node}'}}}}"
        ))
        .unwrap()
    }

    fn pods() -> Arc<Resource> {
        Arc::new(Kinds::built_in().resource("", "v1", "pods").unwrap().clone())
    }

    #[test]
    fn an_object_is_scanned_when_it_is_new_and_when_its_content_changes() {
        let (objects, pods) = (Objects::default(), pods());
        assert!(objects.see(&pods, &pod("u", "x", "1"), 0).is_some());
        assert_eq!(objects.see(&pods, &pod("u", "x", "2"), 0), None, "it runs on another node");
        assert!(objects.see(&pods, &pod("u", "y", "2"), 0).is_some());
        objects.remove("u");
        assert!(objects.get("u").is_none());
    }

    #[test]
    fn objects_that_a_complete_list_does_not_show_are_removed() {
        let (objects, pods) = (Objects::default(), pods());
        objects.see(&pods, &pod("a", "x", "1"), 1);
        objects.see(&pods, &pod("b", "x", "1"), 1);
        objects.see(&pods, &pod("b", "x", "1"), 2);
        objects.remove_before(&pods, 2);
        assert_eq!(objects.of(&pods), [Uid::from("b")]);
        objects.retain(|_| false);
        assert!(objects.of(&pods).is_empty());
    }
}
