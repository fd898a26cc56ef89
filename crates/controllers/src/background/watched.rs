//! What is known of generated objects and of the objects that they are copies of.
//!
//! In: changes of the kinds that synchronised policies generate. Out: tasks for those whose work is
//! to be done again.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use ephor_cluster::changes::Change;

use super::apply;
use super::apply::{PREFIX, SOURCE_UID};
use crate::background::task::{Generated, Task};
use crate::queue::Queue;

/// What is known of generated objects and of the objects that they are copies of.
#[derive(Default)]
pub(super) struct Watched {
    pub state: Mutex<WatchedVersions>,
}

#[derive(Default)]
pub(super) struct WatchedVersions {
    /// The versions that are as they should be, by identifier.
    pub settled: HashMap<String, String>,
    /// What was generated of a source, by its identifier.
    pub copies: HashMap<String, HashSet<Generated>>,
    /// The versions of objects that may be sources, by identifier.
    pub versions: HashMap<String, String>,
}

/// What a generated object was generated for, if a GeneratingPolicy did.
pub(super) fn generated(change: &Change) -> Option<Generated> {
    let label = |key: &str| change.labels.get(&format!("{PREFIX}{key}"));
    if label("rule-name").is_some() {
        return None;
    }
    let trigger = apply::trigger_by(&|key| label(key).cloned().unwrap_or_default());
    let policy = label("policy-name").filter(|name| !name.is_empty())?;
    Some(Generated { policy: policy.clone(), namespace: change.namespace.clone(), trigger })
}

impl Watched {
    /// Takes a change, and adds the work that follows.
    pub fn take(&self, change: &Change, queue: &Queue<Task>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(generated) = generated(change) {
            if let Some(source) = change.labels.get(SOURCE_UID) {
                state.copies.entry(source.clone()).or_default().insert(generated.clone());
            }
            let is_settled = state.settled.get(&change.uid) == Some(&change.version);
            if change.is_gone {
                state.settled.remove(&change.uid);
            }
            if change.is_gone || !is_settled {
                queue.add(Task::Sync(generated));
            }
        }
        if change.is_gone {
            state.versions.remove(&change.uid);
            if state.copies.remove(&change.uid).is_some() {
                queue.add(Task::SourceGone(
                    change.api_version.clone(),
                    change.kind.clone(),
                    change.uid.clone(),
                ));
            }
            return;
        }
        let before = state.versions.insert(change.uid.clone(), change.version.clone());
        if before.is_some_and(|before| before != change.version) {
            let copies = state.copies.get(&change.uid).into_iter().flatten();
            copies.for_each(|copy| queue.add(Task::Sync(copy.clone())));
        }
    }
}
