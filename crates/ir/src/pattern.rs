//! Leaves of patterns: scalars and the little operator language of pattern strings, and what they
//! match.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use ephor_value::duration;
use ephor_value::number::{float_e, float_f6, parse_float, parse_int};
use ephor_value::quantity::Quantity;
use ephor_value::range::Range;
use ephor_value::wildcard::Wildcard;
use ephor_value::{Str, Value};

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
    /// Whether a value matches. Lists are the caller's business: inside of one nothing but scalars
    /// matches.
    pub fn matches(&self, value: &Value) -> bool {
        match (&self.source, value) {
            (Value::Bool(p), Value::Bool(v)) => p == v,
            (Value::Bool(_), _) => false,
            (Value::Int(p), v) => match v {
                Value::Int(v) => p == v,
                Value::Float(f) => f.fract() == 0.0 && *f as i64 == *p,
                Value::Str(s) => parse_int(s) == Some(*p),
                _ => false,
            },
            (Value::UInt(p), v) => match v {
                Value::UInt(v) => p == v,
                Value::Float(f) => *f == *p as f64,
                _ => false,
            },
            (Value::Float(p), v) => match v {
                Value::Int(i) => p.fract() == 0.0 && *p as i64 == *i,
                Value::Float(f) => p == f,
                Value::Str(s) => parse_float(s) == Some(*p),
                _ => false,
            },
            (Value::Null, v) => match v {
                Value::Null => true,
                Value::Str(s) => s.is_empty(),
                Value::Bool(b) => !b,
                Value::Int(i) => *i == 0,
                Value::UInt(u) => *u == 0,
                Value::Float(f) => *f == 0.0,
                _ => false,
            },
            (Value::Str(p), v) => {
                if let Value::Str(s) = v
                    && s == p
                {
                    return true;
                }
                self.any.iter().any(|all| all.iter().all(|t| satisfies(t, v)))
            }
            (Value::Map(_), Value::Map(_)) => true,
            _ => false,
        }
    }

    /// Whether a text is matched by the pattern for no other reason than that it is the pattern's
    /// own text.
    pub fn is_only_itself(&self) -> bool {
        let by_terms = self.any.iter().any(|all| all.iter().all(|t| satisfies(t, &self.source)));
        matches!(self.source, Value::Str(_)) && !by_terms
    }

    /// Compiles a scalar pattern.
    pub fn new(source: Value) -> Leaf {
        let any = match &source {
            Value::Str(s) => alternatives(s),
            _ => Box::default(),
        };
        Leaf { source, any }
    }
}

fn satisfies(t: &Term, v: &Value) -> bool {
    match t {
        Term::Compare(op, operand) => compare(*op, operand, v),
        Term::Range { low, high, negated: false } => {
            compare(TermOp::GreaterOrEqual, low, v) && compare(TermOp::LessOrEqual, high, v)
        }
        Term::Range { low, high, negated: true } => {
            compare(TermOp::Less, low, v) || compare(TermOp::Greater, high, v)
        }
    }
}

/// The value as text for durations and quantities.
fn measured<T>(v: &Value, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    match v {
        Value::Null => parse("0"),
        Value::Str(s) => parse(s),
        Value::Int(i) => parse(&i.to_string()),
        Value::UInt(u) => parse(&u.to_string()),
        Value::Float(f) => parse(&float_f6(*f)),
        _ => None,
    }
}

fn compare(op: TermOp, operand: &Operand, v: &Value) -> bool {
    if let Some(d) = operand.duration
        && let Some(found) = measured(v, duration::parse_ok)
    {
        return decide(op, found.cmp(&d));
    }
    if let Some(q) = &operand.quantity
        && let Some(found) = measured(v, Quantity::parse)
    {
        return decide(op, found.cmp(q));
    }
    let equal = |text: &str| operand.wildcard.matches(text);
    let matched = match (op, v) {
        (TermOp::Equal | TermOp::NotEqual, Value::Str(s)) => equal(s),
        (TermOp::Equal | TermOp::NotEqual, Value::Bool(b)) => equal(if *b { "true" } else { "false" }),
        (TermOp::Equal | TermOp::NotEqual, Value::Int(i)) => equal(&i.to_string()),
        (TermOp::Equal | TermOp::NotEqual, Value::UInt(u)) => equal(&u.to_string()),
        (TermOp::Equal | TermOp::NotEqual, Value::Float(f)) => equal(&float_e(*f)),
        _ => return false,
    };
    matched == (op == TermOp::Equal)
}

fn decide(op: TermOp, found: Ordering) -> bool {
    match op {
        TermOp::Equal => found == Ordering::Equal,
        TermOp::NotEqual => found != Ordering::Equal,
        TermOp::Greater => found == Ordering::Greater,
        TermOp::GreaterOrEqual => found != Ordering::Less,
        TermOp::Less => found == Ordering::Less,
        TermOp::LessOrEqual => found != Ordering::Greater,
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
