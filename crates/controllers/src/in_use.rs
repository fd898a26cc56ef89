//! The policies in use, as controllers see them.
//!
//! In: what the server has loaded. Out: the stored objects, the settings and the engine at a
//! moment. A controller takes them once for each piece of work, so that it never mixes two states.

use std::sync::Arc;

use ephor_ir::policy::Cleanup;
use ephor_policies::Engine;
use ephor_value::Value;

use ephor_admission::admit::Gate;
use ephor_admission::settings::Settings;

/// An object of a policy kind that is stored in the cluster.
#[derive(Clone, Debug)]
pub struct StoredPolicy {
    /// As it is stored, with its status.
    pub document: Value,
    /// Why it cannot be used.
    pub problem: Option<String>,
}

impl StoredPolicy {
    /// Its kind, namespace and name.
    pub fn key(&self) -> PolicyKey {
        PolicyKey::of(&self.document)
    }

    /// Whether it has this key: as a comparison with [`StoredPolicy::key`], without building one.
    pub fn is(&self, key: &PolicyKey) -> bool {
        let at = |path: &[&str]| self.document.text_at(path);
        let group = at(&["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
        at(&["metadata", "name"]) == key.name
            && at(&["metadata", "namespace"]) == key.namespace
            && at(&["kind"]) == key.kind
            && group == key.group
    }

    /// Whether it deletes objects on a schedule.
    pub fn is_scheduled(&self) -> bool {
        let kind = self.document.text_at(&["kind"]);
        kind.ends_with("CleanupPolicy") || kind.ends_with("DeletingPolicy")
    }

    /// What is wrong with it, in a line that names it.
    pub fn described(&self) -> Option<String> {
        Some(format!("{}: {}", self.key(), self.problem.as_ref()?))
    }
}

/// What a policy of the cluster is found by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyKey {
    /// Its group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace, empty for those of the cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl PolicyKey {
    /// The key of an object.
    pub fn of(document: &Value) -> PolicyKey {
        let at = |path: &[&str]| document.text_at(path).to_string();
        let group = at(&["apiVersion"]).split_once('/').map(|(group, _)| group.to_string());
        PolicyKey {
            group: group.unwrap_or_default(),
            kind: at(&["kind"]),
            namespace: at(&["metadata", "namespace"]),
            name: at(&["metadata", "name"]),
        }
    }
}

impl std::fmt::Display for PolicyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &*self.namespace {
            "" => write!(f, "{} {}", self.kind, self.name),
            namespace => write!(f, "{} {namespace}/{}", self.kind, self.name),
        }
    }
}

/// What decides at a moment.
pub trait InUse: Send + Sync {
    /// The policies of the cluster, usable or not.
    fn stored(&self) -> &[StoredPolicy];

    /// The exceptions that count, of both groups.
    fn exceptions(&self) -> &[Value];

    /// The cleanup policies that can be used.
    fn cleanups(&self) -> &[Cleanup];

    /// What operators set.
    fn settings(&self) -> Option<&Settings>;

    /// The gate with the policies that can be used.
    fn gate(&self) -> &Gate;

    /// Its engine.
    fn engine(&self) -> &Engine {
        self.gate().engine()
    }
}

/// Gives what is in use now.
pub type Source = Arc<dyn Fn() -> Arc<dyn InUse> + Send + Sync>;

/// What of an object decides: not its status, nor who wrote it.
pub fn content(document: &Value) -> Value {
    let mut members = document.as_map().cloned().unwrap_or_default();
    members.remove("status");
    let mut metadata = members.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    for key in ["managedFields", "resourceVersion", "generation"] {
        metadata.remove(key);
    }
    members.insert("metadata", Value::Map(metadata));
    Value::Map(members)
}
