//! Objects: shared maps that keep their keys in the order in which they were written.
//!
//! Kubernetes objects are small, so a lookup walks the entries; an object with more entries than
//! `INDEX_FROM` gets a hash index at its first lookup.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::view::View;
use super::{Str, Value};

/// Objects with more entries than this are looked up through a hash index.
const INDEX_FROM: usize = 24;

/// Room for entries that are added to a copy of a shared object.
const SPARE: usize = 4;

/// A shared object; see the module page.
#[derive(Clone, Debug, Default)]
pub struct Map(Arc<Entries>);

#[derive(Debug, Default)]
struct Entries {
    items: Vec<(Str, Value)>,
    index: OnceLock<HashMap<Str, usize>>,
    view: Option<Arc<View>>,
}

impl Clone for Entries {
    fn clone(&self) -> Self {
        Entries { items: self.items.clone(), index: OnceLock::new(), view: self.view.clone() }
    }
}

impl Map {
    /// The bytes of an object besides its entries. An index, which large objects get at their first
    /// lookup, is not in it.
    pub(super) const OWN: usize = super::footprint::shared(size_of::<Entries>());

    /// An empty object.
    pub fn new() -> Self {
        Map::default()
    }

    /// An object of entries whose keys are known to differ.
    pub fn from_unique(items: Vec<(Str, Value)>) -> Self {
        Map(Arc::new(Entries { items, index: OnceLock::new(), view: None }))
    }

    /// As [`Map::from_unique`], as a view of a typed object.
    pub fn viewed(items: Vec<(Str, Value)>, view: View) -> Self {
        Map(Arc::new(Entries { items, index: OnceLock::new(), view: Some(Arc::new(view)) }))
    }

    /// What it is a view of.
    pub fn view(&self) -> Option<&View> {
        self.0.view.as_deref()
    }

    /// Whether both are one object in memory.
    pub fn is_same(&self, other: &Map) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Where the entries are. Two objects that live have the same address when they are one object,
    /// shared.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.items.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.items.is_empty()
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.position(key).and_then(|i| self.0.items.get(i)).map(|(_, v)| v)
    }

    /// The stored key and the value under `key`.
    pub fn get_entry(&self, key: &str) -> Option<(&Str, &Value)> {
        self.position(key).and_then(|i| self.0.items.get(i)).map(|(k, v)| (k, v))
    }

    /// Whether `key` is present, also with a null value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    fn position(&self, key: &str) -> Option<usize> {
        let Entries { items, index, .. } = &*self.0;
        if items.len() <= INDEX_FROM {
            // Keys of the same length mostly differ in their first byte.
            let (len, first) = (key.len(), key.as_bytes().first());
            return items
                .iter()
                .position(|(k, _)| k.len() == len && k.as_bytes().first() == first && &**k == key);
        }
        let index =
            index.get_or_init(|| items.iter().enumerate().map(|(i, (k, _))| (k.clone(), i)).collect());
        index.get(key).copied()
    }

    /// The entries in written order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Str, &Value)> + Clone {
        self.0.items.iter().map(|(k, v)| (k, v))
    }

    /// The keys in written order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Str> {
        self.0.items.iter().map(|(k, _)| k)
    }

    /// The values in written order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.0.items.iter().map(|(_, v)| v)
    }

    /// The entries in ascending byte order of their keys.
    pub fn sorted(&self) -> Vec<(&Str, &Value)> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all
    }

    /// Sets `key`, in place when it exists and at the end when it is new; returns the former value.
    pub fn insert<K: AsRef<str> + Into<Str>>(&mut self, key: K, value: Value) -> Option<Value> {
        let at = self.position(key.as_ref());
        if at.is_none() && Arc::get_mut(&mut self.0).is_none() {
            // More than one member is added as a rule: copy once, with room for them.
            let mut items = Vec::with_capacity(self.len() + SPARE);
            items.extend_from_slice(&self.0.items);
            self.0 = Arc::new(Entries { items, index: OnceLock::new(), view: self.0.view.clone() });
        }
        let entries = Arc::make_mut(&mut self.0);
        match at.and_then(|i| entries.items.get_mut(i)) {
            Some(slot) => Some(std::mem::replace(&mut slot.1, value)),
            None => {
                let key = key.into();
                if let Some(index) = entries.index.get_mut() {
                    index.insert(key.clone(), entries.items.len());
                }
                entries.items.push((key, value));
                None
            }
        }
    }

    /// Removes `key`; the other entries keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.position(key)?;
        let entries = Arc::make_mut(&mut self.0);
        entries.index = OnceLock::new();
        Some(entries.items.remove(at).1)
    }

    /// The value under `key` for changing; copied first when the object is shared.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let at = self.position(key)?;
        Arc::make_mut(&mut self.0).items.get_mut(at).map(|(_, v)| v)
    }
}

impl FromIterator<(Str, Value)> for Map {
    /// Collects entries; a key that comes again replaces the former value in its place.
    fn from_iter<I: IntoIterator<Item = (Str, Value)>>(iter: I) -> Self {
        let iter = iter.into_iter();
        let mut items: Vec<(Str, Value)> = Vec::with_capacity(iter.size_hint().0);
        let mut seen: Option<HashMap<Str, usize>> = None;
        for (k, v) in iter {
            let at = match &seen {
                Some(index) => index.get(&k).copied(),
                None => items.iter().position(|(other, _)| *other == k),
            };
            match at.and_then(|i| items.get_mut(i)) {
                Some(slot) => slot.1 = v,
                None => {
                    if let Some(index) = &mut seen {
                        index.insert(k.clone(), items.len());
                    }
                    items.push((k, v));
                    if seen.is_none() && items.len() > INDEX_FROM {
                        seen = Some(items.iter().enumerate().map(|(i, (k, _))| (k.clone(), i)).collect());
                    }
                }
            }
        }
        Map::from_unique(items)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::print::json;

    /// Keys that often are the same.
    fn keys() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[ab]{0,3}|[a-z]{1,2}|é[xy]?", 0..40)
    }

    proptest! {
        #[test]
        fn a_map_finds_what_a_walk_over_its_entries_finds(all in keys(), removed in keys(), added in keys()) {
            let numbered = |keys: &[String]| -> Vec<(Str, Value)> {
                keys.iter().zip(0..).map(|(k, i)| (Str::from(&**k), Value::Int(i))).collect()
            };
            let mut map: Map = numbered(&all).into_iter().collect();
            for key in &removed {
                map.remove(key);
            }
            for (key, value) in numbered(&added) {
                map.insert(key, value);
            }
            let unique = Map::from_unique(map.iter().map(|(k, v)| (k.clone(), v.clone())).collect());
            for key in all.iter().chain(&removed).chain(&added) {
                let walked = map.iter().find(|(k, _)| &***k == key).map(|(_, v)| json(v));
                prop_assert_eq!(map.get(key).map(json), walked.clone());
                prop_assert_eq!(unique.get(key).map(json), walked);
            }
            let expected = |key: &String| {
                let at = |keys: &[String]| keys.iter().rposition(|k| k == key).map(|i| i as i64);
                at(&added).or_else(|| at(&all).filter(|_| !removed.contains(key)))
            };
            for key in all.iter().chain(&added) {
                let found = map.get(key).and_then(|v| if let Value::Int(i) = v { Some(*i) } else { None });
                prop_assert_eq!(found, expected(key));
            }
        }
    }
}
