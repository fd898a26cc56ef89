//! Views of typed objects: data that CEL sees as values of Go types.
//!
//! From Kubernetes 1.37 on, conditions see objects of built-in kinds as structures of their types.
//! Such a value reads as the tree that it is encoded as, but a structure, list or map of it meets
//! other values in ways of its own (measured with k8s.io/apiserver 0.37.2 and cel-go 0.29.2):
//!
//! - equality with a scalar, and with a value that is no list or no map, has no overload; with null
//!   it is false; two structures are equal by what they mean, a structure and a map of an
//!   expression by their encoded fields
//! - a list is equal to one with equal items, whatever has no overload; in a structure a field
//!   without an overload is an error
//! - a key of a map or structure must be a text, an index of a list an integer
//! - it has no form as a value of a JSON patch

use std::sync::Arc;

use super::{Map, Value, budget, stack};

/// The Go type of a structure.
pub trait StructType: Send + Sync + std::fmt::Debug {
    /// Its name as messages show it: `v1.Container`.
    fn name(&self) -> &str;

    /// Whether two structures of the type mean the same: quantities by their amounts.
    fn equal(&self, a: &Map, b: &Map) -> bool;
}

/// What a map is a view of.
#[derive(Clone, Debug)]
pub enum View {
    /// A map of Go.
    Map,
    /// A structure.
    Struct(Arc<dyn StructType>),
}

impl Value {
    /// Whether it is a view of a typed object or of a part of it, scalars aside.
    pub fn is_view(&self) -> bool {
        match self {
            Value::Map(m) => m.view().is_some(),
            Value::List(l) => l.is_view(),
            _ => false,
        }
    }

    /// What equality says of a view and another value; `None` = both are compared as trees.
    pub(super) fn view_equal(&self, other: &Value) -> Option<ViewEquality> {
        if !self.is_view() {
            return None;
        }
        match (self, other) {
            (_, Value::Null) => Some(ViewEquality::Known(false)),
            (Value::List(a), Value::List(b)) => {
                let same = |(v, w): (&Value, &Value)| v.cel_equal(w) == Some(true);
                let is_equal = a.len() == b.len() && has_steps(a.len()) && a.iter().zip(b.iter()).all(same);
                Some(ViewEquality::Known(is_equal))
            }
            (Value::Map(a), Value::Map(b)) => match (a.view(), b.view()) {
                (Some(View::Struct(own)), Some(View::Struct(its))) => {
                    Some(ViewEquality::Known(own.name() == its.name() && own.equal(a, b)))
                }
                _ => Some(by_fields(a, b)),
            },
            (Value::Map(_), Value::Object(o)) if matches!(**o, super::Object::Keyed(_)) => None,
            _ => Some(ViewEquality::NoOverload),
        }
    }
}

/// Whether a view has the fields of a map; without an overload for one of them it has none.
fn by_fields(view: &Map, other: &Map) -> ViewEquality {
    if view.len() != other.len() || !has_steps(view.len()) {
        return ViewEquality::Known(false);
    }
    for (key, v) in view.iter() {
        match other.get(key).map(|w| stack::deep(|| v.cel_equal(w))) {
            Some(Some(true)) => {}
            Some(None) => return ViewEquality::NoOverload,
            Some(Some(false)) | None => return ViewEquality::Known(false),
        }
    }
    ViewEquality::Known(true)
}

fn has_steps(count: usize) -> bool {
    budget::steps(count).is_ok()
}

/// What equality says of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewEquality {
    /// The answer.
    Known(bool),
    /// There is none.
    NoOverload,
}
