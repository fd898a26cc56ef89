//! Nodes of strict expressions: missing things are faults, every step counts its cost.
//!
//! A fault that a later part may ignore is retained as a value would be: `Decide` ignores the fault
//! of one side when the other decides, comprehensions continue after a fault, and what they do
//! meanwhile has its cost.

use serde::{Deserialize, Serialize};

use ephor_functions::Function;
use ephor_functions::registry::Dispatch;
pub use ephor_functions::registry::Known;
use ephor_value::{Map, Object, Str, Value};

use super::Expr;
use super::item_keys::ItemKeys;

/// Reads steps from a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Walk {
    /// Where to start.
    pub base: Expr,
    /// What is read, one after the other.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub steps: Box<[Step]>,
    /// Whether the walk itself has a cost in addition to its steps.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub has_cost: bool,
}

/// A step of a walk.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Step {
    /// A key or position that is known.
    Key {
        /// It.
        key: Value,
        /// A missing one ends the walk with none.
        #[serde(default, skip_serializing_if = "super::unset")]
        optional: bool,
    },
    /// A field of a mutation's message.
    Field(Str),
    /// A computed key or position.
    At {
        /// What computes it.
        index: Expr,
        /// A missing one ends the walk with none.
        #[serde(default, skip_serializing_if = "super::unset")]
        optional: bool,
    },
}

/// Whether the last step of a walk finds something.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Test {
    /// The walk up to the last step; it has no cost of its own.
    pub walk: Walk,
    /// The last step.
    pub key: Str,
}

/// A call with strict arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Invoke {
    /// The function.
    #[serde(with = "super::same::cel_row")]
    pub function: &'static Function,
    /// The arguments, the receiver first.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub args: Box<[Expr]>,
    /// What the checker knows, which decides about the charge.
    pub known: Known,
    /// What the arguments must be, where the checker chose one of several forms without knowing it.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub guards: Box<[Guard]>,
}

impl Invoke {
    /// Whether a fault of the receiver ends the call at once, at every level of the runtime.
    pub fn is_lazy(&self) -> bool {
        match self.function.dispatch {
            Dispatch::Receiver => true,
            Dispatch::ByOverload => !self.known.one_form,
            Dispatch::Operator => false,
        }
    }
}

/// What an argument must be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub enum Guard {
    /// Anything.
    Any,
    /// A value of this type.
    Kind(Str),
    /// A list of such items, as far as its first one shows.
    List(Box<Guard>),
}

super::nested::node!(Guard, 64);

impl Guard {
    /// Whether a value is what it must be.
    pub fn admits(&self, v: &Value) -> bool {
        match self {
            Guard::Any => true,
            Guard::Kind(name) => v.cel_type() == &**name,
            Guard::List(item) => v.as_list().is_some_and(|l| l.first().is_none_or(|v| item.admits(v))),
        }
    }
}

/// A constant that was computed beforehand and costs what computing it would.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Folded {
    /// The costs, one after the other.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub costs: Box<[u64]>,
    /// The value.
    pub value: Value,
}

/// A literal with computed parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Make {
    /// A list; positions of optional items.
    List(Box<[Expr]>, Box<[usize]>),
    /// A map: key, value, optional.
    Map(Box<[(Expr, Expr, bool)]>),
    /// A message: type, and field, value, optional.
    Struct(Str, Box<[(Str, Expr, bool)]>),
}

/// What a loop makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ComprehensionKind {
    /// Whether all items satisfy the body.
    All,
    /// Whether some item does.
    Exists,
    /// Whether exactly one does.
    One,
    /// The list of bodies.
    List,
    /// The map of keys to bodies.
    Map,
    /// The map of the entries that bodies are.
    Entries,
}

/// A loop over the items of a list or the keys of a map.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Comprehension {
    /// What it makes.
    pub kind: ComprehensionKind,
    /// What is walked.
    pub range: Expr,
    /// Whether it binds two values: position and item, or key and value.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub two: bool,
    /// Only items for which this is true.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub keep: Option<Expr>,
    /// What is computed for each.
    pub body: Expr,
    /// Whether a body that is computed builds a list of one item, which has its cost.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub wraps: bool,
    /// What the loop reads of its items.
    #[serde(skip)]
    pub item_keys: ItemKeys,
}

/// A map of entries; its kind is the plain one when all keys are texts.
pub fn map_of(entries: Vec<(Value, Value)>) -> Value {
    if entries.iter().all(|(k, _)| matches!(k, Value::Str(_))) {
        let plain = entries.into_iter().filter_map(|(k, v)| match k {
            Value::Str(k) => Some((k, v)),
            _ => None,
        });
        return Value::Map(plain.collect::<Map>());
    }
    let mut out: Vec<(Value, Value)> = Vec::with_capacity(entries.len());
    for (k, v) in entries {
        match out.iter_mut().find(|(known, _)| known.strict_eq(&k)) {
            Some(slot) => slot.1 = v,
            None => out.push((k, v)),
        }
    }
    Value::object(Object::Keyed(out))
}
