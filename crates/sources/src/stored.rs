//! Objects of a command without a cluster, found by version and kind.
//!
//! In: objects, in order, and paths of the Kubernetes API. Out: the positions of the objects of a
//! kind, and lists that were answered before: rules look up the same ones for every object
//! that they are evaluated on. The cache has a limit; beyond it a list is built again.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use ephor_value::Value;

/// Items that all cached lists may have together.
const MAX_ITEMS: usize = 100_000;

/// Version and kind of objects, and where they are.
#[derive(Debug)]
struct StoredKind {
    api_version: String,
    kind: String,
    positions: Vec<usize>,
}

/// See the module page. The objects must stay the same once something was looked up.
#[derive(Debug, Default)]
pub struct StoredObjects {
    kinds: OnceLock<Vec<StoredKind>>,
    lists: Mutex<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    by_path: HashMap<Box<str>, Value>,
    items: usize,
}

impl StoredObjects {
    /// The objects whose version is `api_version` and whose kind passes a test, in their order.
    pub(super) fn of<'o>(
        &self,
        objects: &'o [Value],
        api_version: &str,
        is_kind: impl Fn(&str) -> bool,
    ) -> Vec<&'o Value> {
        let kinds = self.kinds.get_or_init(|| kinds(objects));
        let fitting = kinds.iter().filter(|k| k.api_version == api_version && is_kind(&k.kind));
        let mut positions: Vec<usize> = fitting.flat_map(|k| &k.positions).copied().collect();
        positions.sort_unstable();
        positions.into_iter().filter_map(|at| objects.get(at)).collect()
    }

    /// The list that was answered to a path.
    pub(super) fn list(&self, path: &str) -> Option<Value> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).by_path.get(path).cloned()
    }

    /// Caches a list with this number of items.
    pub(super) fn cache(&self, path: &str, list: &Value, items: usize) {
        if items > MAX_ITEMS {
            return;
        }
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        // An empty list needs room as well.
        let needed = items + 1;
        if lists.items + needed > MAX_ITEMS {
            *lists = Lists::default();
        }
        lists.items += needed;
        lists.by_path.insert(path.into(), list.clone());
    }
}

fn kinds(objects: &[Value]) -> Vec<StoredKind> {
    let mut by_kind: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (at, object) in objects.iter().enumerate() {
        let key = (object.text_at(&["apiVersion"]), object.text_at(&["kind"]));
        by_kind.entry(key).or_default().push(at);
    }
    let stored = |((api_version, kind), positions): ((&str, &str), Vec<usize>)| StoredKind {
        api_version: api_version.into(),
        kind: kind.into(),
        positions,
    };
    by_kind.into_iter().map(stored).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn object(api_version: &str, kind: &str, name: &str) -> Value {
        let metadata = Value::map([("name", name.into())]);
        Value::map([("apiVersion", api_version.into()), ("kind", kind.into()), ("metadata", metadata)])
    }

    #[test]
    fn objects_of_several_kinds_come_in_their_order() {
        let objects = [
            ("v1", "Pod", "a"),
            ("v1", "Node", "b"),
            ("v2", "Pod", "c"),
            ("v1", "Pod", "d"),
            ("v1", "Node", "e"),
        ]
        .map(|(api_version, kind, name)| object(api_version, kind, name));
        let stored = StoredObjects::default();
        let names = |is_kind: &dyn Fn(&str) -> bool| -> String {
            stored.of(&objects, "v1", is_kind).into_iter().map(|o| o.text_at(&["metadata", "name"])).collect()
        };
        assert_eq!(names(&|kind| kind == "Pod"), "ad");
        assert_eq!(names(&|_| true), "abde");
        assert_eq!(names(&|_| false), "");
    }

    #[test]
    fn lists_are_cached_up_to_a_limit() {
        let stored = StoredObjects::default();
        let list = Value::list(vec![Value::Null]);
        stored.cache("/a", &list, 1);
        assert_eq!(stored.list("/a").unwrap().as_list().unwrap().len(), 1);
        stored.cache("/large", &list, MAX_ITEMS + 1);
        assert!(stored.list("/large").is_none() && stored.list("/a").is_some());
        for i in 0..3 * MAX_ITEMS / 1_000 {
            stored.cache(&format!("/{i}"), &list, 999);
        }
        let cached = stored.lists.lock().unwrap();
        assert!(cached.items <= MAX_ITEMS && cached.by_path.len() <= MAX_ITEMS / 1_000, "{}", cached.items);
    }
}
