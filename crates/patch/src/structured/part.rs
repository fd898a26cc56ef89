//! Parts of a change, and how messages show them.
//!
//! In: what an expression or a document says. Out: a [`Part`], which the merge walks; texts as Go
//! prints its values (`%v` and `%#v`).

use ephor_value::print::{display, go_syntax};
use ephor_value::{Str, Value, stack};

/// A part of a change.
#[derive(Clone, Debug)]
pub enum Part {
    /// A value without parts.
    Scalar(Value),
    /// Fields in the order in which they are written.
    Fields(Vec<(Str, Part)>),
    /// Items.
    Items(Vec<Part>),
    /// Something that cannot be a part.
    Opaque(Box<Opaque>),
}

/// Something that cannot be a part, as messages show it.
#[derive(Clone, Debug)]
pub struct Opaque {
    /// The value in the expression.
    pub value: Value,
    /// As `%v` prints it.
    pub shown: String,
    /// As `%#v` prints it.
    pub go: String,
    /// Its type in Go.
    pub native: &'static str,
}

impl Part {
    /// A value with all that is in it.
    pub fn whole(value: &Value) -> Part {
        match value {
            Value::Map(map) => stack::deep(|| {
                Part::Fields(map.iter().map(|(key, value)| (key.clone(), Part::whole(value))).collect())
            }),
            Value::List(items) => stack::deep(|| Part::Items(items.iter().map(Part::whole).collect())),
            other => Part::Scalar(other.clone()),
        }
    }

    pub(super) fn value(&self) -> Value {
        match self {
            Part::Scalar(v) => v.clone(),
            Part::Fields(fields) => {
                stack::deep(|| Value::Map(fields.iter().map(|(k, v)| (k.clone(), v.value())).collect()))
            }
            Part::Items(items) => stack::deep(|| Value::list(items.iter().map(Part::value).collect())),
            Part::Opaque(_) => Value::Null,
        }
    }

    /// Whether there is nothing.
    pub(super) fn is_null(&self) -> bool {
        matches!(self, Part::Scalar(Value::Null))
    }

    /// As messages show it.
    pub(super) fn describe(&self) -> String {
        format!("&{{{}}}", self.shown())
    }

    fn shown(&self) -> String {
        stack::deep(|| match self {
            Part::Opaque(opaque) => opaque.shown.clone(),
            Part::Items(items) => {
                let items: Vec<String> = items.iter().map(Part::shown).collect();
                format!("[{}]", items.join(" "))
            }
            Part::Fields(_) => {
                let fields: Vec<String> =
                    self.sorted().iter().map(|(key, part)| format!("{key}:{}", part.shown())).collect();
                format!("map[{}]", fields.join(" "))
            }
            Part::Scalar(value) => display(value),
        })
    }

    /// As messages show it where a text is expected.
    pub(super) fn go_value(&self) -> String {
        format!("&value.valueUnstructured{{Value:{}}}", self.go())
    }

    fn go(&self) -> String {
        stack::deep(|| match self {
            Part::Opaque(opaque) => opaque.go.clone(),
            Part::Items(items) if items.is_empty() => "[]interface {}(nil)".into(),
            Part::Items(items) => {
                let items: Vec<String> = items.iter().map(Part::go).collect();
                format!("[]interface {{}}{{{}}}", items.join(", "))
            }
            Part::Fields(_) => {
                let fields = self.sorted();
                let fields = fields
                    .iter()
                    .map(|(key, part)| format!("{}:{}", ephor_value::quote::quote(key), part.go()));
                format!("map[string]interface {{}}{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
            Part::Scalar(value) => go_syntax(value),
        })
    }

    fn sorted(&self) -> Vec<&(Str, Part)> {
        let Part::Fields(fields) = self else { return Vec::new() };
        let mut sorted: Vec<&(Str, Part)> = fields.iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        sorted
    }

    pub(super) fn native_type(&self) -> &'static str {
        match self {
            Part::Opaque(opaque) => opaque.native,
            Part::Scalar(Value::Str(_)) => "string",
            Part::Scalar(Value::Bool(_)) => "bool",
            Part::Scalar(Value::Int(_)) => "int64",
            Part::Scalar(Value::Float(_)) => "float64",
            Part::Fields(_) => "map[string]interface {}",
            Part::Items(_) => "[]interface {}",
            Part::Scalar(_) => "interface {}",
        }
    }

    pub(super) fn field(&self, key: &str) -> Option<&Part> {
        match self {
            Part::Fields(fields) => fields.iter().find(|(k, _)| **k == *key).map(|(_, v)| v),
            _ => None,
        }
    }
}
