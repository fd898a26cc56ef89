//! Lists: a shared, immutable run of values.

use std::ops::Deref;
use std::sync::Arc;

use super::Value;

/// A shared list. It dereferences to a slice of its items.
///
/// A list may be *opaque*: JMESPath's `items()` returns an array of a type of its own that most
/// array functions refuse (the reference's behaviour). Every projection of it is an ordinary list.
#[derive(Clone, Debug)]
pub struct List {
    items: Arc<Vec<Value>>,
    opaque: bool,
}

impl List {
    /// A list that array functions do not take for an array.
    pub fn opaque(items: Vec<Value>) -> Self {
        List { items: Arc::new(items), opaque: true }
    }

    /// Whether this is the opaque kind.
    pub fn is_opaque(&self) -> bool {
        self.opaque
    }

    /// Where the items are. Two lists that live have the same address when they are one list, shared.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.items).addr()
    }

    /// Other items in a list of the same kind.
    pub fn with_items(&self, items: Vec<Value>) -> List {
        List { items: Arc::new(items), opaque: self.opaque }
    }

    /// The items for changing; copied first when they are shared.
    pub fn make_mut(&mut self) -> &mut Vec<Value> {
        Arc::make_mut(&mut self.items)
    }
}

impl Value {
    /// The value with ordinary lists in place of opaque ones.
    pub fn with_plain_lists(&self) -> Value {
        match self {
            Value::List(l) if self.holds_opaque() => {
                Value::list(l.iter().map(Value::with_plain_lists).collect())
            }
            Value::Map(m) if self.holds_opaque() => {
                Value::Map(m.iter().map(|(k, v)| (k.clone(), v.with_plain_lists())).collect())
            }
            other => other.clone(),
        }
    }

    fn holds_opaque(&self) -> bool {
        match self {
            Value::List(l) => l.is_opaque() || l.iter().any(Value::holds_opaque),
            Value::Map(m) => m.values().any(Value::holds_opaque),
            _ => false,
        }
    }
}

impl Default for List {
    fn default() -> Self {
        List::from(Vec::new())
    }
}

impl Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

impl From<Vec<Value>> for List {
    fn from(items: Vec<Value>) -> Self {
        List { items: Arc::new(items), opaque: false }
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(iter: I) -> Self {
        List::from(iter.into_iter().collect::<Vec<_>>())
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}
