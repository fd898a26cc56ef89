//! What is derived from a node and cached with it.
//!
//! In: the node. Out: what the first lookup computed. It counts for no comparison and is not
//! written; a copy finds its own.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

/// See the module page.
#[derive(Debug)]
pub struct Derived<T>(OnceLock<T>);

impl<T> Derived<T> {
    /// What follows, found the first time.
    pub fn get_or_find(&self, find: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(find)
    }
}

impl<T> From<T> for Derived<T> {
    fn from(known: T) -> Derived<T> {
        Derived(OnceLock::from(known))
    }
}

impl<T> Default for Derived<T> {
    fn default() -> Derived<T> {
        Derived(OnceLock::new())
    }
}

impl<T> Clone for Derived<T> {
    fn clone(&self) -> Derived<T> {
        Derived::default()
    }
}

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _: &Derived<T>) -> bool {
        true
    }
}

impl<T> Eq for Derived<T> {}

impl<T> Hash for Derived<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
