//! Expression nodes.
//!
//! An expression reads the *root* (the request's data) and the values of enclosing binders, and
//! yields a value or a fault. What a fault means is never decided here: nodes absorb or forward it,
//! the rule has the last word.

use serde::{Deserialize, Serialize};

use ephor_functions::registry::Operation;
use ephor_functions::{Function, Higher};
use ephor_value::{Str, Value};

pub use super::strict::{
    Comprehension, ComprehensionKind, Folded, Guard, Invoke, Known, Make, Step, Test, Walk,
};

/// What reading a key does when the base is no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Missing {
    /// The result is null.
    Null,
    /// The result is a fault.
    Fault,
}

/// Which faults of an operand a node absorbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Faults {
    /// A missing key counts as null.
    MissingAsNull,
    /// Every fault counts as null.
    AllAsNull,
}

/// Comparison operators of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cmp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// What a projection walks over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Over {
    /// The items of a list; anything else gives null.
    Items,
    /// The values of an object in ascending key order, after as many runs on null as there are
    /// entries (Kyverno 1.19.1's behaviour); anything else gives null.
    Values,
}

/// An expression node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields, remote = "Self")]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// The root: everything the request's rules can read.
    Root,
    /// The value of an enclosing binder; 0 is the innermost.
    Local(u32),
    /// Keys read one after the other; one that an object does not have is a fault.
    Path {
        /// Where to start.
        base: Box<Expr>,
        /// The keys, at least one.
        #[serde(default, skip_serializing_if = "super::unset")]
        keys: Box<[Str]>,
        /// What reading from anything but an object gives.
        scalar: Missing,
    },
    /// An item of a list, from the end when negative; null when there is none or no list.
    Index {
        /// The list.
        base: Box<Expr>,
        /// Its position.
        index: i64,
    },
    /// A part of a list; null when there is no list.
    Slice {
        /// The list.
        base: Box<Expr>,
        /// Start, stop and step; a step of zero is a fault.
        bounds: [Option<i64>; 3],
    },
    /// Binds a value for the body.
    Let {
        /// The value.
        value: Box<Expr>,
        /// What sees it as `Local(0)`.
        body: Box<Expr>,
    },
    /// Turns faults into null.
    Rescue {
        /// What may fail.
        expr: Box<Expr>,
        /// Which faults.
        faults: Faults,
    },
    /// Negation. True is everything but null, false, the empty string, list and object.
    Not(Box<Expr>),
    /// The first side when it is true, else the second.
    Or(Box<[Expr; 2]>),
    /// The first side when it is false, else the second.
    And(Box<[Expr; 2]>),
    /// A comparison: number kinds stay apart, ordering of anything but two doubles is null.
    Compare {
        /// The operator.
        op: Cmp,
        /// Both sides.
        sides: Box<[Expr; 2]>,
    },
    /// Runs the body for each item and keeps what is neither null nor missing.
    Project {
        /// What is walked.
        over: Over,
        /// Where the items come from.
        source: Box<Expr>,
        /// Keep only items for which this is true.
        #[serde(default, skip_serializing_if = "super::unset")]
        keep: Option<Box<Expr>>,
        /// The result for an item, which it reads as `Local(0)`; `None` keeps the item.
        #[serde(default, skip_serializing_if = "super::unset")]
        body: Option<Box<Expr>>,
    },
    /// Takes lists inside a list apart, one level; null when there is no list.
    Flatten(Box<Expr>),
    /// A list of values.
    List(Box<[Expr]>),
    /// An object; the last of equal keys wins.
    Object(Box<[(Str, Expr)]>),
    /// Null when the subject is null, else the second expression.
    UnlessNull(Box<[Expr; 2]>),
    /// A function of evaluated arguments.
    Call {
        /// The function.
        #[serde(with = "super::same::jmespath_row")]
        function: &'static Function,
        /// The arguments.
        #[serde(default, skip_serializing_if = "super::unset")]
        args: Box<[Expr]>,
    },
    /// A function that runs an expression for each item of a list.
    Higher {
        /// Which.
        kind: Higher,
        /// The function, for its argument check.
        #[serde(with = "super::same::jmespath_row")]
        function: &'static Function,
        /// The arguments; the expression is an [`Expr::Lambda`].
        #[serde(default, skip_serializing_if = "super::unset")]
        args: Box<[Expr]>,
    },
    /// An expression as an argument.
    Lambda {
        /// What sees the item as `Local(0)`.
        body: Box<Expr>,
        /// How type errors show it.
        text: Str,
    },
    /// Strict: reads steps from a value.
    Walk(Box<Walk>),
    /// Strict: whether a walk's last step finds something.
    Test(Box<Test>),
    /// Strict: the second part when the first is true, else the third.
    Cond(Box<[Expr; 3]>),
    /// Strict: whether both (`all`) or one of the sides are true. A fault of one side is ignored
    /// when the other side decides.
    Decide {
        /// Both, or one of them.
        #[serde(default, skip_serializing_if = "super::unset")]
        all: bool,
        /// Both sides.
        sides: Box<[Expr; 2]>,
    },
    /// Strict: the n-th value under a name, computed when it is first read.
    Variable(u32),
    /// Strict: a constant that costs something.
    Folded(Box<Folded>),
    /// Strict: a call.
    Invoke(Box<Invoke>),
    /// Strict: whether a value is one of some scalars.
    OneOf {
        /// The value.
        value: Box<Expr>,
        /// The scalars.
        #[serde(default, skip_serializing_if = "super::unset")]
        set: Box<[Value]>,
    },
    /// Strict: a literal.
    Make(Box<Make>),
    /// Strict: a loop.
    Comprehension(Box<Comprehension>),
    /// Strict: binds a value, or its fault, for the body.
    Bind(Box<[Expr; 2]>),
    /// Strict: an optional value, or else another one; `unwrap` gives what is inside.
    OrElse {
        /// Both.
        sides: Box<[Expr; 2]>,
        /// Whether the content of the first is wanted.
        #[serde(default, skip_serializing_if = "super::unset")]
        unwrap: bool,
        /// Whether it is a call: both sides are evaluated, and a value that is not optional stands
        /// for itself.
        #[serde(default, skip_serializing_if = "super::unset")]
        eager: bool,
    },
    /// Evaluates an expression that gives the same each time, and keeps its value or fault in a
    /// cell: whenever it is read again, it costs what evaluating it would. All nodes of a cell hold
    /// the same expression.
    Once {
        /// The cell of the innermost [`Expr::Cells`].
        cell: u32,
        /// The expression, which reads no locals that are bound outside of it.
        expr: Box<Expr>,
    },
    /// Has cells for the [`Expr::Once`] of the body.
    Cells {
        /// How many.
        count: u32,
        /// The body.
        body: Box<Expr>,
    },
    /// Evaluates the arguments, then fails with the text.
    Fail {
        /// Evaluated first, for the faults they may give.
        #[serde(default, skip_serializing_if = "super::unset")]
        args: Box<[Expr]>,
        /// Why it fails.
        text: Str,
    },
}

super::nested::node!(Expr, 1024);

impl Expr {
    /// The function that a node calls, if it calls one.
    pub fn called(&self) -> Option<&'static Function> {
        match self {
            Expr::Call { function, .. } | Expr::Higher { function, .. } => Some(function),
            Expr::Invoke(invoke) => Some(invoke.function),
            Expr::Const(_)
            | Expr::Folded(_)
            | Expr::Root
            | Expr::Local(_)
            | Expr::Variable(_)
            | Expr::Path { .. }
            | Expr::Index { .. }
            | Expr::Slice { .. }
            | Expr::Walk(_)
            | Expr::Test(_)
            | Expr::Let { .. }
            | Expr::Bind(_)
            | Expr::Rescue { .. }
            | Expr::Not(_)
            | Expr::Or(_)
            | Expr::And(_)
            | Expr::Decide { .. }
            | Expr::Cond(_)
            | Expr::OrElse { .. }
            | Expr::UnlessNull(_)
            | Expr::Compare { .. }
            | Expr::OneOf { .. }
            | Expr::Project { .. }
            | Expr::Flatten(_)
            | Expr::Comprehension(_)
            | Expr::List(_)
            | Expr::Object(_)
            | Expr::Make(_)
            | Expr::Lambda { .. }
            | Expr::Once { .. }
            | Expr::Cells { .. }
            | Expr::Fail { .. } => None,
        }
    }

    /// An expression without steps around it that read nothing.
    pub fn unwrapped(&self) -> &Expr {
        match self {
            Expr::Walk(walk) if walk.steps.is_empty() => walk.base.unwrapped(),
            expr => expr,
        }
    }

    /// The variable of the data that a node reads, and the keys below it.
    pub fn of_root(&self) -> Option<(&Str, &[Str])> {
        match self {
            Expr::Path { base, keys, .. } if matches!(**base, Expr::Root) => keys.split_first(),
            _ => None,
        }
    }

    /// What a function of CEL is to analyses, and its arguments, if a node calls one.
    pub fn invoked(&self) -> Option<(Operation, &[Expr])> {
        match self {
            Expr::Invoke(invoke) => Some((invoke.function.operation, &invoke.args)),
            _ => None,
        }
    }

    /// The same of a function of JMESPath.
    pub fn applied(&self) -> Option<(Operation, &[Expr])> {
        match self {
            Expr::Call { function, args } => Some((function.operation, args)),
            _ => None,
        }
    }

    /// The value of a constant, also of one that was computed beforehand.
    pub fn constant(&self) -> Option<&Value> {
        match self {
            Expr::Const(value) => Some(value),
            Expr::Folded(folded) => Some(&folded.value),
            _ => None,
        }
    }

    /// A fault with this text.
    pub fn fail(text: impl Into<Str>) -> Expr {
        Expr::Fail { args: Box::default(), text: text.into() }
    }

    /// Reads `key` of `base`; a path that is extended stays one node.
    pub fn get(base: Expr, key: Str, scalar: Missing) -> Expr {
        match base {
            Expr::Path { base, keys, scalar: same } if same == scalar => {
                let mut keys = keys.into_vec();
                keys.push(key);
                Expr::Path { base, keys: keys.into(), scalar }
            }
            base => Expr::Path { base: Box::new(base), keys: Box::new([key]), scalar },
        }
    }

    /// Absorbs faults of `expr`, unless it cannot fail that way.
    pub fn rescue(expr: Expr, faults: Faults) -> Expr {
        match expr {
            Expr::Const(_) | Expr::Local(_) | Expr::Root => expr,
            expr => Expr::Rescue { expr: Box::new(expr), faults },
        }
    }
}
