//! Numbers, amounts and truth values of patterns that are compared with variables.
//!
//! In: an operand of a pattern that is a variable, and a value that is no text. Out: first a
//! comparison that stands for the one that is meant, as the variable has only a mark; then the
//! comparison itself, by the types of both: numbers as numbers, amounts as amounts. What a variable
//! brings in is a number or an amount, or nothing that can be compared. Semantics:
//! `docs/semantics/patterns.md`, "Scalars".

use ephor_ir::pattern::{Operand, TermOp};

use crate::cel::build::{all, binary, call, int, method, text};
use crate::expressions::translate::leaf::{as_text, quantity_ordered, sign};
use crate::expressions::types::Ty;
use ephor_cel::ast::Node;

/// What stands before and after the number of a variable.
pub const MARK: char = '\u{1}';

/// The call that stands for a comparison: what is written, the operator, the type of the value, the
/// value.
pub const ORDER: &str = "\u{1}order";

/// The mark of a variable.
pub fn marked(at: usize) -> String {
    format!("{MARK}{at}{MARK}")
}

/// Whether a text of a pattern has a variable.
pub fn has_variable(text: &str) -> bool {
    text.contains(MARK)
}

/// Whether a text of a pattern is a variable and nothing else.
pub fn is_marked(text: &str) -> bool {
    text.starts_with(MARK) && text.ends_with(MARK) && text.matches(MARK).count() == 2
}

/// A variable of a pattern.
pub struct PatternVariable {
    /// Its text.
    pub text: Node,
    /// Its value.
    pub node: Node,
    /// Its type.
    pub ty: Ty,
}

const OPERATORS: [TermOp; 6] = [
    TermOp::Equal,
    TermOp::NotEqual,
    TermOp::Greater,
    TermOp::GreaterOrEqual,
    TermOp::Less,
    TermOp::LessOrEqual,
];

const TYPES: [(&str, Ty); 7] = [
    ("int", Ty::Int),
    ("double", Ty::Double),
    ("quantity", Ty::Quantity),
    ("bool", Ty::Bool),
    ("either", Ty::IntOrText),
    ("text", Ty::Text),
    ("any", Ty::Any),
];

/// What stands for a comparison with a variable, where texts are not what is compared.
pub fn ordered(op: TermOp, operand: &Operand, value: &Node, ty: &Ty) -> Option<Node> {
    let written = operand.wildcard.pattern();
    let is_equality = matches!(op, TermOp::Equal | TermOp::NotEqual);
    if !has_variable(written) || (is_equality && *ty == Ty::Text) {
        return None;
    }
    let (name, _) = TYPES.iter().find(|(_, known)| known == ty)?;
    Some(call(ORDER, vec![text(written), text(sign(op)), text(name), value.clone()]))
}

/// The comparison that is meant; `None`: the variable cannot be compared so.
pub fn placed([written, op, ty]: [&str; 3], value: &Node, variables: &[PatternVariable]) -> Option<Node> {
    let op = OPERATORS.into_iter().find(|known| sign(*known) == op)?;
    let (_, ty) = TYPES.iter().find(|(name, _)| *name == ty)?;
    let is_equality = matches!(op, TermOp::Equal | TermOp::NotEqual);
    if !is_marked(written) {
        // Of a text with a variable in it only other texts are known.
        let is_text = is_equality && matches!(ty, Ty::Any | Ty::IntOrText);
        return is_text.then(|| binary(sign(op), value.clone(), text(written)));
    }
    let variable = variables.get(written.trim_matches(MARK).parse::<usize>().ok()?)?;
    let is_number = |ty: &Ty| matches!(ty, Ty::Int | Ty::Double);
    if is_number(ty) && is_number(&variable.ty) || *ty == Ty::Bool && variable.ty == Ty::Bool && is_equality {
        return Some(binary(sign(op), value.clone(), variable.node.clone()));
    }
    if is_equality && *ty == Ty::Any && variable.ty == Ty::Text {
        // What is no text equals none.
        return Some(binary(sign(op), value.clone(), variable.text.clone()));
    }
    if is_equality && *ty != Ty::Quantity {
        return Some(binary(sign(op), as_text(value, ty), variable.text.clone()));
    }
    let is_amount = |ty: &Ty| is_number(ty) || *ty == Ty::Quantity;
    if !is_amount(ty) && !is_amount(&variable.ty) && *ty != Ty::IntOrText {
        return None;
    }
    let own = call("string", vec![value.clone()]);
    if is_equality {
        // An amount may be written in several ways.
        let [left, right] = [own, variable.text.clone()].map(|node| call("quantity", vec![node]));
        return Some(binary(sign(op), method(left, "compareTo", vec![right]), int(0)));
    }
    let is_one = |ty: &Ty, node: &Node| (!is_amount(ty)).then(|| call("isQuantity", vec![node.clone()]));
    let guards = [is_one(ty, &own), is_one(&variable.ty, &variable.text)];
    let measured = quantity_ordered(op, &own, variable.text.clone());
    Some(all(guards.into_iter().flatten().chain([measured]).collect()))
}
