//! Expressions: `node[parameters](operands)`, or the operands under the node when that is too long.
//!
//! Keys are read with the separator that says what reading from anything but an object gives: `.` null,
//! `!.` a fault. A key that an object does not have is a fault.

use super::{Node, quoted};
use crate::functions::Higher;
use crate::ir::Expr;
use crate::ir::expr::{Cmp, Faults, Loop, LoopKind, Make, Missing, Over, Step, Walk};
use crate::value::Value;

/// An expression.
pub fn expression(expr: &Expr) -> Node {
    let Form { head, operands, postfix } = form(expr);
    let below: Vec<Node> = operands
        .into_iter()
        .map(|(label, e)| {
            let node = expression(e);
            if label.is_empty() { node } else { node.labelled(label) }
        })
        .collect();
    let parts: Option<Vec<&str>> = below.iter().map(|n| n.inline.as_deref()).collect();
    // Longer texts are never shown on one line, so they need not be put together.
    let inline =
        parts.filter(|p| p.iter().map(|s| s.len()).sum::<usize>() <= 4 * super::WIDTH).map(|parts| {
            match (postfix, &parts[..]) {
                (true, [base]) => format!("{base}{head}"),
                (_, []) => head.clone(),
                _ => format!("{head}({})", parts.join(", ")),
            }
        });
    let head = if postfix { format!("{head} of") } else { head };
    Node { head, inline, place: None, below }
}

/// How a node is written.
struct Form<'e> {
    head: String,
    operands: Vec<(&'static str, &'e Expr)>,
    /// The head is written behind its only operand.
    postfix: bool,
}

fn plain<'e>(head: impl Into<String>, operands: impl IntoIterator<Item = &'e Expr>) -> Form<'e> {
    let operands = operands.into_iter().map(|e| ("", e)).collect();
    Form { head: head.into(), operands, postfix: false }
}

fn postfix(head: String, base: &Expr) -> Form<'_> {
    Form { head, operands: vec![("", base)], postfix: true }
}

fn form(expr: &Expr) -> Form<'_> {
    match expr {
        Expr::Const(v) => plain(literal(v), []),
        Expr::Root => plain("root", []),
        Expr::Local(n) => plain(format!("local{n}"), []),
        Expr::Path { base, keys, scalar } => {
            let text = keys.iter().flat_map(|k| [separator(*scalar).to_string(), key(k)]).collect();
            postfix(text, base)
        }
        Expr::Index { base, index } => postfix(format!("[{index}]"), base),
        Expr::Slice { base, bounds } => {
            let bounds = bounds.map(|b| b.map(|n| n.to_string()).unwrap_or_default());
            postfix(format!("[{}]", bounds.join(":")), base)
        }
        Expr::Let { value, body } => {
            Form { head: "let".into(), operands: vec![("", value), ("in", body)], postfix: false }
        }
        Expr::Rescue { expr, faults } => plain(format!("rescue[{}]", fault_set(*faults)), [&**expr]),
        Expr::Not(operand) => plain("not", [&**operand]),
        Expr::Or(sides) => plain("or", &**sides),
        Expr::And(sides) => plain("and", &**sides),
        Expr::Compare { op, sides } => plain(operator(*op), &**sides),
        Expr::Project { over, source, keep, body } => {
            let over = match over {
                Over::Items => "items",
                Over::Values => "values",
            };
            let mut operands = vec![("", &**source)];
            operands.extend(keep.as_deref().map(|e| ("keep", e)));
            operands.extend(body.as_deref().map(|e| ("body", e)));
            Form { head: format!("project[{over}]"), operands, postfix: false }
        }
        Expr::Flatten(e) => plain("flatten", [&**e]),
        Expr::List(items) if items.is_empty() => plain("list()", []),
        Expr::List(items) => plain("list", &**items),
        Expr::Object(pairs) => {
            let keys: Vec<String> = pairs.iter().map(|(k, _)| key(k)).collect();
            plain(format!("object[{}]", keys.join(", ")), pairs.iter().map(|(_, e)| e))
        }
        Expr::UnlessNull(pair) => plain("unless-null", &**pair),
        Expr::Call { function, args } => plain(format!("call[{}]", function.name), &**args),
        Expr::Higher { kind, args, .. } => {
            let name = match kind {
                Higher::Map => "map",
                Higher::SortBy => "sort_by",
                Higher::MaxBy => "max_by",
                Higher::MinBy => "min_by",
            };
            plain(format!("higher[{name}]"), &**args)
        }
        Expr::Lambda { body, text } => plain(format!("lambda[{}]", quoted(text)), [&**body]),
        Expr::Walk(walk) => {
            let mut operands = vec![("", &walk.base)];
            let head = format!("walk[{}]", steps(walk, &mut operands));
            Form { head, operands, postfix: false }
        }
        Expr::Test(test) => {
            let mut operands = vec![("", &test.walk.base)];
            let head = format!("has[{}{}]", steps(&test.walk, &mut operands), key(&test.key));
            Form { head, operands, postfix: false }
        }
        Expr::Cond(parts) => plain("cond", &**parts),
        Expr::Decide { all, sides } => plain(if *all { "decide[all]" } else { "decide[any]" }, &**sides),
        Expr::Charged(charged) => {
            let charges: Vec<String> = charged.charges.iter().map(u64::to_string).collect();
            plain(format!("charged[{}: {}]", charges.join(", "), literal(&charged.value)), [])
        }
        Expr::Invoke(invoke) => plain(format!("invoke[{}]", invoke.function.name), &*invoke.args),
        Expr::OneOf { value, set } => {
            let shown: Vec<String> = set.iter().map(literal).collect();
            plain(format!("one-of[{}]", shown.join(", ")), [&**value])
        }
        Expr::Make(make) => made(make),
        Expr::Loop(l) => looped(l),
        Expr::Lazy(n) => plain(format!("lazy{n}"), []),
        Expr::Bind(parts) => plain("bind", &**parts),
        Expr::OrElse { sides, unwrap, eager } => {
            let name = match (unwrap, eager) {
                (false, _) => "or-else",
                (true, false) => "or-else[value]",
                (true, true) => "or-else[value,eager]",
            };
            plain(name, &**sides)
        }
        Expr::Once { cell, expr } => plain(format!("once[{cell}]"), [&**expr]),
        Expr::Cells { count, body } => plain(format!("cells[{count}]"), [&**body]),
        Expr::Fail { args, text } => plain(format!("fail[{}]", quoted(text)), &**args),
    }
}

fn separator(scalar: Missing) -> &'static str {
    match scalar {
        Missing::Null => ".",
        Missing::Fault => "!.",
    }
}

fn key(k: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if !k.is_empty() && k.bytes().all(plain) { k.to_string() } else { quoted(k) }
}

fn fault_set(faults: Faults) -> &'static str {
    match faults {
        Faults::MissingAsNull => "missing",
        Faults::AllAsNull => "all",
    }
}

fn operator(op: Cmp) -> &'static str {
    match op {
        Cmp::Eq => "eq",
        Cmp::Ne => "ne",
        Cmp::Lt => "lt",
        Cmp::Le => "le",
        Cmp::Gt => "gt",
        Cmp::Ge => "ge",
    }
}

/// A constant as JSON in which number kinds stay apart: `1`, `1u`, `1.0`.
pub fn literal(v: &Value) -> String {
    match v {
        Value::UInt(u) => format!("{u}u"),
        Value::Float(f) if f.fract() == 0.0 && f.is_finite() && f.abs() < 1e15 => format!("{f:.1}"),
        Value::Float(f) => format!("{f:?}"),
        Value::List(l) => {
            let items: Vec<String> = l.iter().map(literal).collect();
            let tag = if l.is_opaque() { "opaque" } else { "" };
            format!("{tag}[{}]", items.join(","))
        }
        Value::Map(m) => {
            let entries: Vec<String> =
                m.iter().map(|(k, v)| format!("{}:{}", quoted(k), literal(v))).collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Str(s) => quoted(s),
        other => crate::value::print::json(other),
    }
}

fn made(make: &Make) -> Form<'_> {
    match make {
        Make::List(items, _) => plain("make[list]", items.iter()),
        Make::Map(entries) => plain("make[map]", entries.iter().flat_map(|(k, v, _)| [k, v])),
        Make::Struct(name, fields) => {
            let names: Vec<&str> = fields.iter().map(|(f, ..)| &**f).collect();
            plain(format!("make[{name}: {}]", names.join(", ")), fields.iter().map(|(_, v, _)| v))
        }
    }
}

fn looped(l: &Loop) -> Form<'_> {
    let kind = match l.kind {
        LoopKind::All => "all",
        LoopKind::Exists => "exists",
        LoopKind::One => "one",
        LoopKind::List => "list",
        LoopKind::Map => "map",
        LoopKind::Entries => "entries",
    };
    let mut operands = vec![("", &l.range)];
    operands.extend(l.keep.as_ref().map(|k| ("keep", k)));
    operands.push(("body", &l.body));
    let two = if l.two { ", two" } else { "" };
    Form { head: format!("loop[{kind}{two}]"), operands, postfix: false }
}

/// The steps of a walk; computed ones become operands.
fn steps<'e>(walk: &'e Walk, operands: &mut Vec<(&'static str, &'e Expr)>) -> String {
    let mut out = String::new();
    for step in &walk.steps {
        match step {
            Step::Key { key: Value::Str(k), optional } => {
                out.push_str(if *optional { ".?" } else { "." });
                out.push_str(&key(k));
            }
            Step::Key { key, optional } => {
                out.push_str(if *optional { "[?" } else { "[" });
                out.push_str(&literal(key));
                out.push(']');
            }
            Step::Field(name) => {
                out.push('.');
                out.push_str(&key(name));
            }
            Step::At { index, optional } => {
                out.push_str(if *optional { "[?_]" } else { "[_]" });
                operands.push(("at", index));
            }
        }
    }
    out
}
