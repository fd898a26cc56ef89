//! Lists: a shared, immutable run of values.

use std::ops::Deref;
use std::sync::Arc;

use super::{Str, Value, stack};

/// A shared list. It dereferences to a slice of its items.
///
/// A list may be *opaque*: JMESPath's `items()` returns an array of a type of its own that most
/// array functions refuse (Kyverno 1.19.1's behaviour). Every projection of it is an ordinary list.
///
/// With the feature `declared-lists`, a list may be without order, as schemas declare it: CEL
/// compares and adds such lists by their items.
#[derive(Clone, Debug)]
pub struct List {
    items: Arc<Items>,
    opaque: bool,
}

#[derive(Clone, Debug)]
struct Items {
    values: Vec<Value>,
    is_view: bool,
    #[cfg(feature = "declared-lists")]
    declared: Option<Arc<Declared>>,
}

/// What a schema says of a list.
#[derive(Debug)]
struct Declared {
    order: Order,
    reader: Arc<dyn ItemReader>,
}

/// What items are declared to be: it reads those that are added to them.
pub trait ItemReader: Send + Sync + std::fmt::Debug {
    /// An item as it is declared; what does not fit is a value that fails when it is read.
    fn read(&self, item: &Value) -> Value;
}

/// How the items of a list are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By their positions.
    #[default]
    Positions,
    /// By their values.
    Values,
    /// By the values of these members.
    Members(Box<[Str]>),
}

fn plain(values: Vec<Value>) -> Arc<Items> {
    Arc::new(Items {
        values,
        is_view: false,
        #[cfg(feature = "declared-lists")]
        declared: None,
    })
}

impl List {
    /// The bytes of a list besides its items.
    pub(super) const OWN: usize = super::footprint::shared(size_of::<Items>());

    /// A list that array functions do not take for an array.
    pub fn opaque(items: Vec<Value>) -> Self {
        List { items: plain(items), opaque: true }
    }

    /// Whether this is the opaque kind.
    pub fn is_opaque(&self) -> bool {
        self.opaque
    }

    /// Where the items are. Two lists that live have the same address when they are one list,
    /// shared.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.items).addr()
    }

    /// Other items in a list of the same kind.
    pub fn with_items(&self, values: Vec<Value>) -> List {
        let items = Items {
            values,
            is_view: false,
            #[cfg(feature = "declared-lists")]
            declared: self.items.declared.clone(),
        };
        List { items: Arc::new(items), opaque: self.opaque }
    }

    /// A list whose items are declared.
    #[cfg(feature = "declared-lists")]
    pub fn declared(values: Vec<Value>, order: Order, reader: Arc<dyn ItemReader>) -> List {
        let declared = Some(Arc::new(Declared { order, reader }));
        List { items: Arc::new(Items { values, is_view: false, declared }), opaque: false }
    }

    /// A list of a typed object.
    pub fn viewed(values: Vec<Value>) -> List {
        let items = Items {
            values,
            is_view: true,
            #[cfg(feature = "declared-lists")]
            declared: None,
        };
        List { items: Arc::new(items), opaque: false }
    }

    /// Whether it is a list of a typed object.
    pub fn is_view(&self) -> bool {
        self.items.is_view
    }

    /// Whether its items are declared.
    pub fn is_declared(&self) -> bool {
        self.declaration().is_some()
    }

    /// An item as it is when it is added.
    pub fn read(&self, item: &Value) -> Value {
        self.declaration().map_or_else(|| item.clone(), |declared| declared.reader.read(item))
    }

    /// How its items are known.
    pub fn order(&self) -> &Order {
        self.declaration().map_or(&Order::Positions, |declared| &declared.order)
    }

    #[cfg(feature = "declared-lists")]
    fn declaration(&self) -> Option<&Declared> {
        self.items.declared.as_deref()
    }

    #[cfg(not(feature = "declared-lists"))]
    fn declaration(&self) -> Option<&Declared> {
        None
    }

    /// The items for changing; copied first when they are shared.
    pub fn make_mut(&mut self) -> &mut Vec<Value> {
        &mut Arc::make_mut(&mut self.items).values
    }
}

impl Value {
    /// The value with ordinary lists in place of opaque ones.
    pub fn with_plain_lists(&self) -> Value {
        match self {
            Value::List(l) if self.holds_opaque() => {
                stack::deep(|| Value::list(l.iter().map(Value::with_plain_lists).collect()))
            }
            Value::Map(m) if self.holds_opaque() => {
                stack::deep(|| Value::Map(m.iter().map(|(k, v)| (k.clone(), v.with_plain_lists())).collect()))
            }
            other => other.clone(),
        }
    }

    fn holds_opaque(&self) -> bool {
        match self {
            Value::List(l) => l.is_opaque() || stack::deep(|| l.iter().any(Value::holds_opaque)),
            Value::Map(m) => stack::deep(|| m.values().any(Value::holds_opaque)),
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
        &self.items.values
    }
}

impl From<Vec<Value>> for List {
    fn from(items: Vec<Value>) -> Self {
        List { items: plain(items), opaque: false }
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
        self.items.values.iter()
    }
}
