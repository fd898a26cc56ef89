//! Leaves of patterns (`>5`, `1Gi-2Gi`, wildcards, `|`) → tests of a value; conditions use them for
//! ranges.
//!
//! In: a leaf, and a value of a known type. Out: the test that says what the leaf says of values of
//! that type, and no more: a quantity is compared as one, a truth value never as text. Semantics:
//! `docs/semantics/patterns.md`, "Scalars".

use ephor_ir::pattern::{Leaf, Operand, Term, TermOp};
use ephor_value::Value;
use ephor_value::number::parse_int;
use ephor_value::quantity::Quantity;

use crate::cel::build::{
    all, any, binary, boolean, call, constant, equals, int, is, method, name, not, over, text,
};
use crate::expressions::translate::texts;
use crate::expressions::translate::variable_leaves::{has_variable, ordered};
use crate::expressions::types::Ty;
use ephor_cel::ast::Node;

/// Whether a value that is there matches.
pub fn test(leaf: &Leaf, value: &Node, ty: &Ty) -> Node {
    match (ty, &leaf.source) {
        (Ty::List(item), _) => {
            let inner = test(leaf, &name("item"), item);
            over(value.clone(), "all", "item", inner)
        }
        (Ty::Map(_) | Ty::Object(_), _) => boolean(false),
        (Ty::Bool, Value::Str(s)) if has_variable(s) => alternatives(leaf, value, ty),
        (Ty::Bool, _) => match [true, false].map(|b| leaf.matches(&Value::Bool(b))) {
            [true, true] => boolean(true),
            [false, false] => boolean(false),
            [is_true, _] => is(value.clone(), is_true),
        },
        (_, Value::Bool(b)) => match ty {
            Ty::Any => equals(value.clone(), boolean(*b)),
            _ => boolean(false),
        },
        (_, Value::Null) => empty(value, ty),
        (_, Value::Int(n)) => number(*n, value, ty),
        (_, Value::Float(f)) if f.fract() == 0.0 => number(*f as i64, value, ty),
        (Ty::Int | Ty::Double, Value::Float(f)) => equals(value.clone(), constant(Value::Float(*f))),
        (_, Value::Float(f)) => equals(value.clone(), text(&f.to_string())),
        (_, Value::Str(_)) => alternatives(leaf, value, ty),
        _ => boolean(false),
    }
}

fn empty(value: &Node, ty: &Ty) -> Node {
    let is = |constant: Node| equals(value.clone(), constant);
    match ty {
        Ty::Text | Ty::Quantity => is(text("")),
        Ty::Int | Ty::Double => is(int(0)),
        _ => any(vec![is(text("")), is(int(0)), is(boolean(false))]),
    }
}

fn number(n: i64, value: &Node, ty: &Ty) -> Node {
    match ty {
        Ty::Text | Ty::Quantity => equals(value.clone(), text(&n.to_string())),
        Ty::Int | Ty::Double => equals(value.clone(), int(n)),
        _ => any(vec![equals(value.clone(), int(n)), equals(value.clone(), text(&n.to_string()))]),
    }
}

/// A value as text.
pub fn as_text(value: &Node, ty: &Ty) -> Node {
    match ty {
        Ty::Text => value.clone(),
        _ => call("string", vec![value.clone()]),
    }
}

/// One of the alternatives of a string pattern; what compares whole texts becomes a list.
fn alternatives(leaf: &Leaf, value: &Node, ty: &Ty) -> Node {
    let plain = |term: &Term, wanted: TermOp| match term {
        Term::Compare(op, operand)
            if *op == wanted && is_text(operand, ty) && ordered(*op, operand, value, ty).is_none() =>
        {
            Some(operand.wildcard.pattern().to_string())
        }
        _ => None,
    };
    let mut words: Vec<String> = Vec::new();
    let mut others: Vec<Node> = Vec::new();
    for all_of in &leaf.any {
        match &**all_of {
            [one] if plain(one, TermOp::Equal).is_some() => words.extend(plain(one, TermOp::Equal)),
            terms => {
                let mut refused: Vec<String> = Vec::new();
                let mut rest: Vec<Node> = Vec::new();
                for term in terms {
                    match plain(term, TermOp::NotEqual) {
                        Some(word) => refused.push(word),
                        None => rest.push(one(term, value, ty)),
                    }
                }
                let refused: Vec<&str> = refused.iter().map(String::as_str).collect();
                if !refused.is_empty() {
                    rest.insert(0, not(words_of(value, ty, &refused, &[])));
                }
                others.push(all(rest));
            }
        }
    }
    let mut literal: Vec<&str> = Vec::new();
    if let (Ty::Any, Value::Str(own), true) = (ty, &leaf.source, leaf.is_only_itself()) {
        // The pattern as it stands matches, too, as a text; where a schema is known, it is no
        // value.
        literal.push(own);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut terms = Vec::new();
    if !words.is_empty() || !literal.is_empty() {
        terms.push(words_of(value, ty, &words, &literal));
    }
    terms.extend(others);
    any(terms)
}

/// Whether a value is one of some texts with wildcards.
pub fn words_of(value: &Node, ty: &Ty, words: &[&str], literal: &[&str]) -> Node {
    // Numbers are never equal to texts that are none.
    let has_wild = words.iter().any(|word| ephor_value::wildcard::has_wildcard(word));
    let is_other = matches!(ty, Ty::Any | Ty::IntOrText | Ty::Int | Ty::Double | Ty::Quantity);
    if is_other && words.contains(&"?*") {
        return match ty {
            Ty::Any | Ty::IntOrText => binary("!=", value.clone(), text("")),
            _ => boolean(true),
        };
    }
    let reads_as_other = |word: &str| parse_int(word).is_some() || matches!(word, "true" | "false");
    match is_other && (has_wild || words.iter().any(|word| reads_as_other(word))) {
        true => texts::matches_any(&as_text(value, ty), words, literal),
        false => texts::matches_any(value, words, literal),
    }
}

/// Whether an operand is compared as text with values of a type.
fn is_text(operand: &Operand, ty: &Ty) -> bool {
    match ty {
        Ty::Bool => true,
        _ => operand.quantity.is_none() && operand.duration.is_none(),
    }
}

fn one(term: &Term, value: &Node, ty: &Ty) -> Node {
    match term {
        Term::Compare(op, operand) => compare(*op, operand, value, ty),
        Term::Range { low, high, negated: false } => all(vec![
            compare(TermOp::GreaterOrEqual, low, value, ty),
            compare(TermOp::LessOrEqual, high, value, ty),
        ]),
        Term::Range { low, high, negated: true } => {
            any(vec![compare(TermOp::Less, low, value, ty), compare(TermOp::Greater, high, value, ty)])
        }
    }
}

fn compare(op: TermOp, operand: &Operand, value: &Node, ty: &Ty) -> Node {
    if let Some(found) = ordered(op, operand, value, ty) {
        return found;
    }
    let written = operand.wildcard.pattern();
    if let (Ty::Int, Some(n)) = (ty, parse_int(written)) {
        return binary(sign(op), value.clone(), int(n));
    }
    if let (Ty::Double, Some(n)) = (ty, ephor_value::number::parse_float(written)) {
        return binary(sign(op), value.clone(), constant(Value::Float(n)));
    }
    let as_text = as_text(value, ty);
    if op == TermOp::NotEqual {
        return match is_text(operand, ty) {
            true => not(words_of(value, ty, &[written], &[])),
            false => not(compare(TermOp::Equal, operand, value, ty)),
        };
    }
    let mut ways = Vec::new();
    if operand.duration.is_some() && !matches!(ty, Ty::Quantity | Ty::Int | Ty::Double) {
        let of = |node: Node| call("duration", vec![node]);
        ways.push(all(vec![
            method(as_text.clone(), "matches", vec![text(texts::DURATION)]),
            binary(sign(op), of(as_text.clone()), of(text(written))),
        ]));
    }
    if operand.quantity.is_some() {
        let measured = quantity_order(op, &as_text, written);
        let is_one = call("isQuantity", vec![as_text.clone()]);
        ways.push(match ty {
            Ty::Quantity | Ty::Int | Ty::Double => measured,
            _ => all(vec![is_one, measured]),
        });
    }
    if ways.is_empty() && op == TermOp::Equal {
        ways.push(words_of(value, ty, &[written], &[]));
    }
    any(ways)
}

/// How a quantity compares with another one.
pub fn quantity_order(op: TermOp, value: &Node, written: &str) -> Node {
    quantity_ordered(op, value, text(written))
}

/// How a quantity compares with the one of a text.
pub fn quantity_ordered(op: TermOp, value: &Node, other: Node) -> Node {
    let of = |node: Node| call("quantity", vec![node]);
    let (left, right) = (of(value.clone()), of(other));
    match op {
        TermOp::Greater => method(left, "isGreaterThan", vec![right]),
        TermOp::Less => method(left, "isLessThan", vec![right]),
        TermOp::GreaterOrEqual => not(method(left, "isLessThan", vec![right])),
        TermOp::LessOrEqual => not(method(left, "isGreaterThan", vec![right])),
        TermOp::Equal | TermOp::NotEqual => binary(sign(op), method(left, "compareTo", vec![right]), int(0)),
    }
}

/// The operator as CEL writes it.
pub fn sign(op: TermOp) -> &'static str {
    match op {
        TermOp::Equal => "==",
        TermOp::NotEqual => "!=",
        TermOp::Greater => ">",
        TermOp::GreaterOrEqual => ">=",
        TermOp::Less => "<",
        TermOp::LessOrEqual => "<=",
    }
}

/// A value of a type that the leaf accepts, or one that it does not, to stand for a missing one.
pub fn example(leaf: &Leaf, ty: &Ty, wanted: bool) -> Option<Node> {
    let fits = |v: &Value| leaf.matches(v) == wanted;
    let words = || -> Vec<String> {
        let operands = leaf.any.iter().flat_map(|all| all.iter()).flat_map(|term| match term {
            Term::Compare(_, operand) => vec![operand],
            Term::Range { low, high, .. } => vec![low, high],
        });
        operands.map(|operand| texts::literal(operand.wildcard.pattern())).collect()
    };
    let candidates: Vec<Value> = match ty {
        Ty::Bool => [false, true].map(Value::Bool).into(),
        Ty::Int => {
            let bounds = words().into_iter().filter_map(|w| parse_int(&w)).flat_map(|n| [n, n - 1, n + 1]);
            let own = leaf.source.as_int().into_iter();
            [0, 1].into_iter().chain(own).chain(bounds).map(Value::Int).collect()
        }
        Ty::Quantity => {
            let mut all: Vec<String> = vec!["0".into()];
            all.extend(words().into_iter().filter(|w| Quantity::parse(w).is_some()));
            all.into_iter().map(Value::from).collect()
        }
        Ty::Text | Ty::Any | Ty::IntOrText => {
            let mut all = vec![String::new()];
            let words = words();
            all.extend(words.iter().filter(|w| leaf.matches(&Value::from(w.as_str()))).cloned());
            all.extend(words.iter().cloned());
            all.push("none".into());
            all.extend(words.iter().map(|w| format!("not-{w}")));
            all.into_iter().map(Value::from).collect()
        }
        _ => Vec::new(),
    };
    candidates.into_iter().find(fits).map(constant)
}
