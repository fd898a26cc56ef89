//! Prints syntax trees of CEL as text.
//!
//! In: a tree. Out: its text. Each node has a rank, that of its operator; a part whose rank is too
//! low for its place stands in parentheses. Chains of `&&` and `||` are written without them where
//! the parser would build the same tree.

use std::fmt::Write;

use ephor_value::Value;

use super::build::{is_field, operands};
use super::contract::{contract, is_negative, written};
use super::layout::{Doc, render};
use super::macros::variables;
use ephor_cel::ast::{Kind, Node};

/// The width of expressions in policies.
pub const WIDTH: usize = 100;

/// Ranks, lowest first: what may stand where.
const TERNARY: u8 = 1;
const OR: u8 = 2;
const AND: u8 = 3;
const RELATION: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const UNARY: u8 = 7;
const MEMBER: u8 = 8;

/// The text of a tree in lines of a width.
pub fn print(node: &Node, width: usize) -> String {
    render(&doc(&contract(node), TERNARY), width)
}

/// Whether two trees are one expression: they have one text.
pub fn is_same(one: &Node, other: &Node) -> bool {
    print(one, usize::MAX) == print(other, usize::MAX)
}

/// The operator of a call with two operands, and its rank.
fn infix(function: &str) -> Option<(&str, u8)> {
    let rank = match function {
        "@in" => return Some(("in", RELATION)),
        "_&&_" => AND,
        "_||_" => OR,
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" => RELATION,
        "_+_" | "_-_" => SUM,
        "_*_" | "_/_" | "_%_" => PRODUCT,
        _ => return None,
    };
    Some((function.trim_matches('_'), rank))
}

fn rank(node: &Node) -> u8 {
    match &node.kind {
        Kind::Call { function, target: None, args } => match (&**function, args.len()) {
            ("_?_:_", 3) => TERNARY,
            ("!_" | "-_", 1) => UNARY,
            (function, 2) => infix(function).map_or(MEMBER, |(_, rank)| rank),
            _ => MEMBER,
        },
        // Its sign is no part of what a dot follows.
        Kind::Const(value) if is_negative(value) => UNARY,
        _ => MEMBER,
    }
}

/// A node where nothing below `least` may stand.
fn doc(node: &Node, least: u8) -> Doc {
    let inner = plain(node);
    if rank(node) >= least {
        return inner;
    }
    Doc::group(vec![Doc::text("("), Doc::nest(2, vec![inner]), Doc::text(")")])
}

fn plain(node: &Node) -> Doc {
    match &node.kind {
        Kind::Const(value) => Doc::text(literal(value)),
        Kind::Ident(name) => Doc::text(&**name),
        Kind::Select { operand, field, test } => {
            let field = format!(".{}", quoted_field(field));
            match test {
                false => Doc::Concat(vec![target(operand), Doc::text(field)]),
                true => Doc::Concat(vec![Doc::text("has("), target(operand), Doc::text(field + ")")]),
            }
        }
        Kind::Call { function, target, args } => call(node, function, target.as_deref(), args),
        Kind::List { items, optional } => {
            let item = |(i, item): (usize, &Node)| {
                let mark = if optional.contains(&i) { "?" } else { "" };
                Doc::Concat(vec![Doc::text(mark), doc(item, TERNARY)])
            };
            filled("[", items.iter().enumerate().map(item).collect(), "]")
        }
        Kind::Map(entries) => {
            let entry = |e: &ephor_cel::ast::Entry<Node>| {
                let mark = if e.optional { "?" } else { "" };
                let key = doc(&e.key, TERNARY);
                Doc::Concat(vec![Doc::text(mark), key, Doc::text(": "), doc(&e.value, TERNARY)])
            };
            bracketed("{", entries.iter().map(entry).collect(), "}")
        }
        Kind::Struct { name, fields } => {
            let field = |e: &ephor_cel::ast::Entry<ephor_value::Str>| {
                let mark = if e.optional { "?" } else { "" };
                let key = format!("{mark}{}: ", quoted_field(&e.key));
                Doc::Concat(vec![Doc::text(key), doc(&e.value, TERNARY)])
            };
            bracketed(&format!("{name}{{"), fields.iter().map(field).collect(), "}")
        }
        // Every loop that the parser builds is a macro's.
        Kind::Fold(fold) => doc(&fold.result, TERNARY),
    }
}

/// What stands before a dot or a bracket: a number would take the dot.
fn target(node: &Node) -> Doc {
    match &node.kind {
        Kind::Const(Value::Int(_) | Value::UInt(_) | Value::Float(_)) => {
            Doc::Concat(vec![Doc::text("("), plain(node), Doc::text(")")])
        }
        _ => doc(node, MEMBER),
    }
}

fn call(node: &Node, function: &str, receiver: Option<&Node>, args: &[Node]) -> Doc {
    if let Some(receiver) = receiver {
        return member(receiver, function, args);
    }
    match (function, args) {
        ("_?_:_", [condition, then, other]) => {
            let branches = vec![
                Doc::Line(" "),
                Doc::text("? "),
                Doc::nest(2, vec![doc(then, OR)]),
                Doc::Line(" "),
                Doc::text(": "),
                Doc::nest(2, vec![doc(other, TERNARY)]),
            ];
            Doc::group(vec![doc(condition, OR), Doc::nest(2, branches)])
        }
        ("!_" | "-_", [operand]) => {
            // A sign before a number would become a part of it, and signs before signs cancel out.
            let least = match &operand.kind {
                Kind::Const(Value::Int(_) | Value::Float(_)) => UNARY + 2,
                _ => MEMBER,
            };
            Doc::Concat(vec![Doc::text(function.trim_end_matches('_')), doc(operand, least)])
        }
        ("_?._", [operand, field]) => match &field.kind {
            Kind::Const(Value::Str(field)) => {
                Doc::Concat(vec![target(operand), Doc::text(format!(".?{}", quoted_field(field)))])
            }
            _ => indexed(operand, "[?", field),
        },
        ("_[_]", [operand, index]) => indexed(operand, "[", index),
        ("_[?_]", [operand, index]) => indexed(operand, "[?", index),
        // Kyverno takes `orValue` for a macro, whose receiver is an argument.
        ("orValue", [receiver, default]) => member(receiver, "orValue", std::slice::from_ref(default)),
        ("_&&_" | "_||_", [_, _]) => chain(node, function),
        (_, [left, right]) if infix(function).is_some() => {
            let (operator, rank) = infix(function).unwrap_or(("", MEMBER));
            Doc::group(vec![
                doc(left, rank),
                Doc::text(format!(" {operator}")),
                Doc::nest(2, vec![Doc::Line(" "), doc(right, rank + 1)]),
            ])
        }
        _ => arguments(Doc::text(written(function).unwrap_or(function)), function, args),
    }
}

fn indexed(operand: &Node, open: &str, index: &Node) -> Doc {
    Doc::Concat(vec![target(operand), Doc::text(open), doc(index, TERNARY), Doc::text("]")])
}

fn member(receiver: &Node, function: &str, args: &[Node]) -> Doc {
    let head = Doc::Concat(vec![target(receiver), Doc::text(format!(".{function}"))]);
    arguments(head, function, args)
}

fn arguments(head: Doc, function: &str, args: &[Node]) -> Doc {
    match args {
        [] => Doc::Concat(vec![head, Doc::text("()")]),
        // A loop over its variable and the statement about it: the name stays in the line.
        [var, rest @ ..] if variables(function, args) > 0 && var.as_ident().is_some() => {
            let mut parts = Vec::new();
            for arg in rest {
                parts.extend([Doc::text(","), Doc::Line(" "), doc(arg, TERNARY)]);
            }
            let body = vec![plain(var), Doc::nest(2, parts), Doc::text(")")];
            Doc::Concat(vec![head, Doc::text("("), Doc::group(body)])
        }
        // A lone literal goes where the line is broken before it.
        [only] if matches!(only.kind, Kind::List { .. } | Kind::Map(_) | Kind::Const(_)) => {
            Doc::Concat(vec![head, Doc::text("("), plain(only), Doc::text(")")])
        }
        args if args.iter().all(is_atom) => {
            let args = args.iter().map(|arg| doc(arg, TERNARY)).collect();
            Doc::Concat(vec![head, filled("(", args, ")")])
        }
        args => {
            let args = args.iter().map(|arg| doc(arg, TERNARY)).collect();
            Doc::Concat(vec![head, bracketed("(", args, ")")])
        }
    }
}

/// Whether a node is a literal, a name, or a path.
fn is_atom(node: &Node) -> bool {
    match &node.kind {
        Kind::Const(_) | Kind::Ident(_) => true,
        Kind::Select { operand, .. } => is_atom(operand),
        _ => false,
    }
}

/// Parts between brackets, in one line or one in each.
fn bracketed(open: &str, parts: Vec<Doc>, close: &str) -> Doc {
    let mut inner = Vec::new();
    let last = parts.len().saturating_sub(1);
    for (i, part) in parts.into_iter().enumerate() {
        inner.push(Doc::Line(if i == 0 { "" } else { " " }));
        inner.push(part);
        if i < last {
            inner.push(Doc::text(","));
        }
    }
    Doc::group(vec![Doc::text(open), Doc::nest(2, inner), Doc::text(close)])
}

/// Parts between brackets, as many in a line as fit.
fn filled(open: &str, parts: Vec<Doc>, close: &str) -> Doc {
    let mut inner = Vec::new();
    let last = parts.len().saturating_sub(1);
    for (i, part) in parts.into_iter().enumerate() {
        let comma = Doc::text(if i < last { "," } else { "" });
        match i {
            0 => inner.extend([part, comma]),
            _ => inner.push(Doc::group(vec![Doc::Line(" "), part, comma])),
        }
    }
    Doc::Concat(vec![Doc::text(open), Doc::nest(2, inner), Doc::text(close)])
}

/// A chain of `&&` or `||`: its terms side by side where the parser builds the same tree of them,
/// else both sides as terms.
fn chain(node: &Node, function: &str) -> Doc {
    let mut terms = Vec::new();
    leaves(node, function, &mut terms);
    if !is_balanced(node, function, terms.len()) {
        terms = operands(node, function).unwrap_or_default().iter().collect();
    }
    let (operator, rank) = infix(function).unwrap_or(("", OR));
    let mut parts = Vec::new();
    let last = terms.len().saturating_sub(1);
    for (i, term) in terms.into_iter().enumerate() {
        if i > 0 {
            parts.push(Doc::Line(" "));
        }
        parts.push(doc(term, rank + 1));
        if i < last {
            parts.push(Doc::text(format!(" {operator}")));
        }
    }
    Doc::group(parts)
}

fn leaves<'n>(node: &'n Node, function: &str, out: &mut Vec<&'n Node>) {
    match operands(node, function) {
        Some(args @ [_, _]) => args.iter().for_each(|arg| leaves(arg, function, out)),
        _ => out.push(node),
    }
}

/// Whether the parser builds this tree of this many terms.
fn is_balanced(node: &Node, function: &str, terms: usize) -> bool {
    let left = (terms.saturating_sub(1)) / 2 + 1;
    match operands(node, function) {
        Some([a, b]) => {
            terms >= 2 && is_balanced(a, function, left) && is_balanced(b, function, terms - left)
        }
        _ => terms == 1,
    }
}

fn quoted_field(field: &str) -> String {
    if is_field(field) { field.into() } else { format!("`{field}`") }
}

/// A literal as it is written.
fn literal(value: &Value) -> String {
    match value {
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => format!("{n}u"),
        Value::Float(f) => {
            let text = format!("{f:?}");
            if text.contains(['.', 'e']) { text } else { format!("{text}.0") }
        }
        Value::Str(s) => string(s),
        Value::Bytes(bytes) => {
            let mut out = String::from("b'");
            for byte in bytes.iter() {
                match byte {
                    b'\'' | b'\\' => out.extend(['\\', char::from(*byte)]),
                    0x20..0x7f => out.push(char::from(*byte)),
                    _ => {
                        let _ = write!(out, "\\x{byte:02x}");
                    }
                }
            }
            out + "'"
        }
        _ => "null".into(),
    }
}

/// A text in quotation marks that it does not hold; without escapes where it has backslashes and
/// nothing else that needs them.
fn string(s: &str) -> String {
    let quote = if s.contains('\'') && !s.contains('"') { '"' } else { '\'' };
    let needs_escapes = s.chars().any(|c| c.is_control() || c == quote);
    if s.contains('\\') && !needs_escapes {
        return format!("r{quote}{s}{quote}");
    }
    let mut out = String::from(quote);
    for c in s.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}
