//! What exists, as generate rules look it up.
//!
//! In: what identifies objects. Out: the objects. A run without a cluster knows the object of the
//! request and those that it was given ([`PresentObjects`]); a controller looks in the cluster.

use ephor_external::LookupError;
use ephor_value::Value;

/// What identifies an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'k> {
    /// Group and version.
    pub api_version: &'k str,
    /// The kind under which it is stored.
    pub kind: &'k str,
    /// Its namespace, empty for objects of the cluster.
    pub namespace: &'k str,
    /// Its name.
    pub name: &'k str,
}

impl<'k> Key<'k> {
    /// The key of an object.
    pub fn of(object: &'k Value) -> Key<'k> {
        Key {
            api_version: object.text_at(&["apiVersion"]),
            kind: object.text_at(&["kind"]),
            namespace: object.text_at(&["metadata", "namespace"]),
            name: object.text_at(&["metadata", "name"]),
        }
    }
}

/// What exists.
pub trait Present {
    /// Whether only objects that do not exist are wanted; else who takes them decides what becomes
    /// of those that do.
    fn only_new(&self) -> bool;

    /// An object.
    ///
    /// # Errors
    /// The lookup failed; an object that does not exist is `None`.
    fn get(&self, at: &Key<'_>) -> Result<Option<Value>, LookupError>;

    /// The objects of a kind in a namespace.
    ///
    /// # Errors
    /// The lookup failed.
    fn of_kind(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, LookupError>;
}

/// The object of the request and those that can be copied.
pub(super) struct PresentObjects<'g> {
    pub trigger: &'g Value,
    pub sources: &'g [Value],
}

impl PresentObjects<'_> {
    fn all(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(self.trigger).chain(self.sources)
    }
}

impl Present for PresentObjects<'_> {
    fn only_new(&self) -> bool {
        true
    }

    fn get(&self, at: &Key<'_>) -> Result<Option<Value>, LookupError> {
        Ok(self.all().find(|o| Key::of(o) == *at).cloned())
    }

    fn of_kind(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, LookupError> {
        let fits = |o: &&Value| {
            let key = Key::of(o);
            key.api_version == api_version && key.kind == kind && key.namespace == namespace
        };
        Ok(self.all().filter(fits).cloned().collect())
    }
}
