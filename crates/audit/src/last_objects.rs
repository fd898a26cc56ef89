//! The last known objects of a log, within a limit of memory.
//!
//! In: objects as they were stored, as text. Out: the last one of a name. Where the limit is
//! reached, those that were not touched for longest are dropped.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The name of an object: group, resource, namespace, name.
pub type ObjectKey = (Box<str>, Box<str>, Box<str>, Box<str>);

/// See the module page.
#[derive(Debug)]
pub struct LastObjects {
    limit: usize,
    bytes: usize,
    clock: u64,
    objects: HashMap<ObjectKey, (u64, Arc<str>)>,
    order: BTreeMap<u64, ObjectKey>,
    dropped: u64,
}

impl LastObjects {
    /// At most this many bytes of text.
    pub fn new(limit: usize) -> LastObjects {
        LastObjects { limit, bytes: 0, clock: 0, objects: HashMap::new(), order: BTreeMap::new(), dropped: 0 }
    }

    /// The last known object of a name.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<str>> {
        self.objects.get(key).map(|(_, text)| text.clone())
    }

    /// An object is now this.
    pub fn put(&mut self, key: ObjectKey, text: Arc<str>) {
        self.remove(&key);
        if text.len() > self.limit {
            self.dropped += 1;
            return;
        }
        self.bytes += text.len();
        self.clock += 1;
        self.order.insert(self.clock, key.clone());
        self.objects.insert(key, (self.clock, text));
        while self.bytes > self.limit {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            if let Some((_, text)) = self.objects.remove(&oldest) {
                self.bytes -= text.len();
                self.dropped += 1;
            }
        }
    }

    /// An object is gone.
    pub fn remove(&mut self, key: &ObjectKey) {
        if let Some((at, text)) = self.objects.remove(key) {
            self.order.remove(&at);
            self.bytes -= text.len();
        }
    }

    /// How many were dropped for the limit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        ("".into(), "pods".into(), "web".into(), name.into())
    }

    #[test]
    fn the_object_that_was_not_touched_for_longest_makes_room() {
        let mut last = LastObjects::new(10);
        last.put(key("a"), "1234".into());
        last.put(key("b"), "1234".into());
        last.put(key("a"), "4321".into());
        last.put(key("c"), "1234".into());
        let text = |name| last.get(&key(name)).map(|text| text.to_string());
        assert_eq!((text("a"), text("b"), text("c")), (Some("4321".into()), None, Some("1234".into())));
        assert_eq!(last.dropped(), 1);
    }

    #[test]
    fn what_is_larger_than_the_limit_is_not_stored() {
        let mut last = LastObjects::new(3);
        last.put(key("a"), "1234".into());
        assert!(last.get(&key("a")).is_none());
        assert_eq!((last.bytes, last.dropped()), (0, 1));
    }
}
