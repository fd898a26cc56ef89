//! Leaves of patterns: scalars and the little operator language of pattern strings.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::value::duration;
use crate::value::quantity::Quantity;
use crate::value::range::Range;
use crate::value::wildcard::Wildcard;
use crate::value::{Str, Value};

/// A scalar pattern.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Value", into = "Value")]
pub struct Leaf {
    /// As written.
    pub source: Value,
    /// The alternatives of a string pattern, compiled; empty for other kinds.
    pub any: Box<[Box<[Term]>]>,
}

impl From<Value> for Leaf {
    fn from(source: Value) -> Leaf {
        Leaf::new(source)
    }
}

impl From<Leaf> for Value {
    fn from(leaf: Leaf) -> Value {
        leaf.source
    }
}

/// The alternatives follow from the source.
impl PartialEq for Leaf {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Leaf {}

impl Hash for Leaf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
    }
}

/// One comparison of a string pattern.
#[derive(Clone, Debug)]
pub enum Term {
    /// A comparison with an operand.
    Compare(TermOp, Operand),
    /// Between two bounds, or outside of them.
    Range {
        /// Lower bound.
        low: Operand,
        /// Upper bound.
        high: Operand,
        /// Outside.
        negated: bool,
    },
}

/// Operators of pattern strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TermOp {
    /// No operator: equal, with wildcards.
    Equal,
    /// `!`
    NotEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
}

/// What a value is compared with.
#[derive(Clone, Debug)]
pub struct Operand {
    /// As a wildcard pattern.
    pub wildcard: Wildcard,
    /// As a duration in nanoseconds.
    pub duration: Option<i64>,
    /// As a quantity.
    pub quantity: Option<Quantity>,
}

impl Operand {
    fn new(text: &str) -> Operand {
        Operand {
            wildcard: Wildcard::new(text),
            duration: duration::parse_ok(text),
            quantity: Quantity::parse(text),
        }
    }
}

impl Leaf {
    /// Compiles a scalar pattern.
    pub fn new(source: Value) -> Leaf {
        let any = match &source {
            Value::Str(s) => alternatives(s),
            _ => Box::default(),
        };
        Leaf { source, any }
    }
}

fn alternatives(s: &Str) -> Box<[Box<[Term]>]> {
    s.split('|')
        .map(|alt| alt.trim_matches(' ').split('&').map(|t| term(t.trim_matches(' '))).collect())
        .collect()
}

fn term(text: &str) -> Term {
    const PREFIXES: [(&str, TermOp); 5] = [
        (">=", TermOp::GreaterOrEqual),
        ("<=", TermOp::LessOrEqual),
        (">", TermOp::Greater),
        ("<", TermOp::Less),
        ("!", TermOp::NotEqual),
    ];
    if text.len() >= 2 {
        for (prefix, op) in PREFIXES {
            if let Some(rest) = text.strip_prefix(prefix) {
                return Term::Compare(op, Operand::new(rest.trim()));
            }
        }
        if let Some(Range { left, right, negated }) = Range::parse(text) {
            return Term::Range { low: Operand::new(&left), high: Operand::new(&right), negated };
        }
    }
    Term::Compare(TermOp::Equal, Operand::new(text.trim()))
}
