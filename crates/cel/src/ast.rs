//! The syntax tree of CEL after macro expansion.
//!
//! Every node knows the place that messages point to: the operator of an operation, the opening
//! parenthesis of a call, the dot of a selection, the first character of everything else.

use ephor_value::{Str, Value};

/// A byte offset into the source.
pub type Place = u32;

/// A node and its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where messages about it point to.
    pub at: Place,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A literal.
    Const(Value),
    /// A name, with its leading dot if it has one.
    Ident(Str),
    /// A field of an operand; `test` checks whether it is there.
    Select {
        /// What it is read from.
        operand: Box<Node>,
        /// The field.
        field: Str,
        /// `has(operand.field)`.
        test: bool,
    },
    /// A call of a function or operator, with the receiver before the dot.
    Call {
        /// Name: `size`, `_+_`, `_[_]`.
        function: Str,
        /// The receiver.
        target: Option<Box<Node>>,
        /// The arguments without the receiver.
        args: Vec<Node>,
    },
    /// A list literal.
    List {
        /// Its items.
        items: Vec<Node>,
        /// Positions of the items that are optional (`[?x]`), ascending.
        optional: Vec<usize>,
    },
    /// A map literal.
    Map(Vec<Entry<Node>>),
    /// A message literal, `Type{field: value}`.
    Struct {
        /// The type's name as written.
        name: Str,
        /// Its fields.
        fields: Vec<Entry<Str>>,
    },
    /// A loop that a macro makes.
    Fold(Box<Fold>),
}

/// An entry of a map or message literal.
#[derive(Clone, Debug)]
pub struct Entry<K> {
    /// The colon.
    pub at: Place,
    /// The key, or the field's name.
    pub key: K,
    /// The value.
    pub value: Node,
    /// `?key: value`: left out when the value is none.
    pub optional: bool,
}

/// A loop over a range with an accumulator.
#[derive(Clone, Debug)]
pub struct Fold {
    /// What the macro was, which decides how the comprehension is evaluated and what it costs.
    pub shape: Shape,
    /// What is walked.
    pub range: Node,
    /// The variable for items, keys or positions.
    pub var: Str,
    /// The second variable, for items or values.
    pub var2: Option<Str>,
    /// The accumulator before the first round.
    pub init: Node,
    /// The comprehension continues while this is true.
    pub condition: Node,
    /// The accumulator after a round.
    pub step: Node,
    /// The value of the whole.
    pub result: Node,
}

/// The macro that a loop comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `all`
    All,
    /// `exists`
    Exists,
    /// `exists_one`, `existsOne`
    ExistsOne,
    /// `map`, `filter`, `transformList`
    List,
    /// `transformMap`
    Map,
    /// `transformMapEntry`
    Entries,
    /// A name for a value: the range is empty, the accumulator is the value.
    Bind,
}

/// The name of a loop's accumulator.
pub const ACCUMULATOR: &str = "__result__";

impl Node {
    /// A node.
    pub fn new(at: Place, kind: Kind) -> Node {
        Node { at, kind }
    }

    /// A literal.
    pub fn constant(at: Place, value: Value) -> Node {
        Node { at, kind: Kind::Const(value) }
    }

    /// A name.
    pub fn ident(at: Place, name: &str) -> Node {
        Node { at, kind: Kind::Ident(name.into()) }
    }

    /// A call without receiver.
    pub fn call(at: Place, function: &str, args: Vec<Node>) -> Node {
        Node { at, kind: Kind::Call { function: function.into(), target: None, args } }
    }

    /// A call with receiver.
    pub fn method(at: Place, function: &str, target: Node, args: Vec<Node>) -> Node {
        Node { at, kind: Kind::Call { function: function.into(), target: Some(Box::new(target)), args } }
    }

    /// Whether a name stands for a value somewhere in the tree.
    pub fn mentions(&self, name: &str) -> bool {
        let any = |nodes: &[Node]| nodes.iter().any(|n| n.mentions(name));
        match &self.kind {
            Kind::Const(_) => false,
            Kind::Ident(own) => own.trim_start_matches('.') == name,
            Kind::Select { operand, .. } => operand.mentions(name),
            Kind::Call { target, args, .. } => target.as_ref().is_some_and(|t| t.mentions(name)) || any(args),
            Kind::List { items, .. } => any(items),
            Kind::Map(entries) => entries.iter().any(|e| e.key.mentions(name) || e.value.mentions(name)),
            Kind::Struct { fields, .. } => fields.iter().any(|e| e.value.mentions(name)),
            Kind::Fold(fold) => [&fold.range, &fold.init, &fold.condition, &fold.step, &fold.result]
                .iter()
                .any(|n| n.mentions(name)),
        }
    }

    /// Whether the tree has more nodes than this.
    pub fn is_larger_than(&self, most: usize) -> bool {
        fn fits(node: &Node, left: &mut usize) -> bool {
            let Some(fewer) = left.checked_sub(1) else { return false };
            *left = fewer;
            let mut all = |nodes: &[Node]| nodes.iter().all(|n| fits(n, left));
            match &node.kind {
                Kind::Const(_) | Kind::Ident(_) => true,
                Kind::Select { operand, .. } => fits(operand, left),
                Kind::Call { target, args, .. } => all(args) && target.as_ref().is_none_or(|t| fits(t, left)),
                Kind::List { items, .. } => all(items),
                Kind::Map(entries) => entries.iter().all(|e| fits(&e.key, left) && fits(&e.value, left)),
                Kind::Struct { fields, .. } => fields.iter().all(|e| fits(&e.value, left)),
                Kind::Fold(f) => {
                    [&f.range, &f.init, &f.condition, &f.step, &f.result].iter().all(|n| fits(n, left))
                }
            }
        }
        let mut left = most;
        !fits(self, &mut left)
    }

    /// The name that the node is, if it is one.
    pub fn as_ident(&self) -> Option<&Str> {
        match &self.kind {
            Kind::Ident(name) => Some(name),
            _ => None,
        }
    }
}
