//! Messages: constant ones, and expressions that fail only where external data are missing.
//!
//! In: the message of a rule. Out: a text, or an expression that puts what is read of the object
//! into the text; what is missing becomes an empty text. An element of a loop becomes the elements
//! that are in violation.

use ephor_ir::Template;
use ephor_ir::rule::Message;
use ephor_ir::template::Part;
use ephor_value::{Str, Value};

use super::rule::CheckLoop;
use super::scope::Scope;
use super::term::{Faults, Val, extreme};
use super::types::Ty;
use crate::cel::build;
use crate::cel::build::{
    binary, boolean, call, choose, constant_bool, empty_list, equals, method, name, not, or_value, over, text,
};
use crate::expressions::context::Target;
use crate::expressions::term::there;
use crate::expressions::translate::forms::{plain, present, truthy, ty_of};
use crate::expressions::translate::functions::arithmetic::unfailing;
use crate::expressions::translate::lists::{built, count, is_list, known};
use crate::expressions::translate::template::{json, nested, query};
use ephor_cel::ast::{Kind, Node};

/// A constant message, or what computes it.
type MessageText = (Option<Str>, Option<Node>);

/// The message of a validation.
/// What cannot be read is left out, and noted in the scope.
pub fn message(own: &Message, rule: &str, inside: Option<&CheckLoop>, scope: &mut Scope<'_>) -> MessageText {
    if own.text.is_empty() {
        return (Some(format!("validation error: rule {rule} failed").into()), None);
    }
    if let Template::Const(v) = &own.template {
        return (v.as_str().map(|s| Str::from(s.trim_end())), None);
    }
    let mut parts: Vec<Node> = Vec::new();
    let mut literal = String::new();
    for part in pieces(own) {
        match part {
            Part::Literal(s) => literal.push_str(&s),
            Part::Hole(hole) => {
                let found = match inside {
                    Some(inside) if mentions_element(&hole.text) => of_elements(&hole, inside, scope),
                    None if mentions_element(&hole.text) => None,
                    _ => of_value(&hole, scope),
                };
                let Some(node) = found else {
                    scope.left_out.push(hole.text.clone());
                    continue;
                };
                if let Kind::Const(Value::Str(s)) = &node.kind {
                    literal.push_str(s);
                    continue;
                }
                if !literal.is_empty() {
                    parts.push(text(&std::mem::take(&mut literal)));
                }
                parts.push(node);
            }
        }
    }
    let literal = literal.trim_end().to_string();
    if parts.is_empty() {
        return (Some(literal.into()), None);
    }
    if !literal.is_empty() {
        parts.push(text(&literal));
    }
    // A sum is a text where one of its first two parts is known to be one; else the first becomes
    // one.
    let is_text = |part: &Node| match &part.kind {
        Kind::Const(_) => true,
        Kind::Call { function, .. } => matches!(&**function, "string" | "join"),
        _ => false,
    };
    if !parts.iter().take(2).any(is_text)
        && let Some(first) = parts.first_mut()
    {
        *first = call("string", vec![first.clone()]);
    }
    let sum = parts.into_iter().reduce(|before, node| binary("+", before, node));
    (None, sum)
}

/// A message with others behind it.
pub fn with(message: &Message, others: &[Str]) -> Message {
    let own = std::iter::once(&message.text).filter(|text| !text.is_empty());
    let all: Vec<&str> = own.chain(others).map(|text| &**text).collect();
    let text = Str::from(all.join("; "));
    let template = ephor_lower::template::text(&text, &message.names);
    Message { text, template, ..message.clone() }
}

fn mentions_element(expression: &str) -> bool {
    expression.contains("element")
}

/// The message as literal pieces and variables.
fn pieces(own: &Message) -> Vec<Part> {
    match &own.template {
        Template::Text(text) => text.parts.to_vec(),
        Template::Whole(hole) => vec![Part::Hole(hole.query.clone())],
        _ => {
            let source = &own.text;
            let mut parts = Vec::new();
            let mut at = 0;
            for range in outer_variables(source) {
                parts.push(literal_of(source.get(at..range.start).unwrap_or_default()));
                let written = source.get(range.start + 2..range.end - 2).unwrap_or_default();
                parts.push(Part::Hole(ephor_lower::query::compile(written.trim(), &own.names)));
                at = range.end;
            }
            parts.push(literal_of(source.get(at..).unwrap_or_default()));
            parts
        }
    }
}

/// What stands for two braces that begin no variable.
const ESCAPED: &str = "\\{{";

fn literal_of(text: &str) -> Part {
    Part::Literal(text.replace(ESCAPED, "{{").into())
}

/// Where the variables of a text are, those with others in them as one.
pub fn outer_variables(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if depth == 0 && rest.starts_with(ESCAPED) {
            at += ESCAPED.len();
        } else if rest.starts_with("{{") {
            if depth == 0 {
                start = at;
            }
            depth += 1;
            at += 2;
        } else if rest.starts_with("}}") && depth > 0 {
            depth -= 1;
            at += 2;
            if depth == 0 {
                found.push(start..at);
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found
}

/// What is read, as a text that never fails.
fn of_value(hole: &ephor_ir::Query, scope: &mut Scope<'_>) -> Option<Node> {
    let shared = scope.shared.len();
    let found = match hole.text.contains("{{") {
        true => nested(&hole.text, scope).ok()?,
        false => query(hole, scope).ok()?,
    };
    let node = safe_text(&found, scope);
    if node.is_none() {
        scope.shared.truncate(shared);
    }
    node
}

/// Whether what a value fails for is external data alone: without them the old rule has no
/// message either.
fn is_readable(faults: &Faults) -> bool {
    let is_word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_outside = |path: &String| path.strip_prefix("variables.").is_some_and(is_word);
    faults.is_empty() || faults.iter().any(is_outside)
}

/// A value as a text that never fails, unless external data are missing.
fn safe_text(val: &Val, scope: &mut Scope<'_>) -> Option<Node> {
    let writes_json = scope.cx.target == Target::Kyverno;
    let as_string = |node: Node, ty: &Ty| match ty {
        Ty::List(item) if **item == Ty::Text => Some(method(node, "join", vec![text(", ")])),
        Ty::Object(_) | Ty::Map(_) | Ty::List(_) if writes_json => Some(json(node)),
        Ty::Object(_) | Ty::Map(_) | Ty::List(_) => None,
        Ty::Text => Some(node),
        _ => Some(call("string", vec![node])),
    };
    // Of a document any value may be read.
    if let Val::Node { node, ty: Ty::Any, faults } = val
        && writes_json
        && is_readable(faults)
    {
        let is_text = equals(call("type", vec![node.clone()]), name("string"));
        return Some(choose(is_text, call("string", vec![node.clone()]), json(node.clone())));
    }
    match val {
        // The text that it is for the old policy is not known.
        Val::Node { ty: Ty::Thousandths, .. } => None,
        Val::Node { node, ty, faults } if let Some((is_zero, quotient)) = unfailing(node, faults) => {
            Some(choose(is_zero.clone(), text(""), as_string(quotient.clone(), ty)?))
        }
        Val::Const(v @ (Value::List(_) | Value::Map(_))) => Some(text(&ephor_value::print::json(v))),
        Val::Const(v) => Some(text(&ephor_value::print::display(v))),
        Val::Path(path) if is_readable(&path.faults) => {
            // An object whose name is generated has none yet.
            let is_name = path.steps.len() == 2 && path.last() == Some("name");
            if is_name && path.is_required() {
                let mut path = path.clone();
                path.steps.iter_mut().skip(1).for_each(|step| step.required = false);
                return as_string(path.or(text("")), &path.ty);
            }
            if path.is_required() {
                return as_string(path.strict(), &path.ty);
            }
            // Where the target checks types, a number has no text for a default.
            let is_checked = scope.cx.target == Target::Kubernetes;
            if is_checked && matches!(path.ty, Ty::Int | Ty::Double | Ty::Bool) {
                let own = as_string(path.strict(), &path.ty)?;
                return Some(choose(path.present(), own, text("")));
            }
            if matches!(path.ty, Ty::Object(_) | Ty::Map(_)) {
                let own = as_string(path.strict(), &path.ty)?;
                return Some(choose(path.present(), own, text("")));
            }
            let default = match path.ty {
                Ty::List(_) => empty_list(),
                _ => text(""),
            };
            as_string(path.or(default), &path.ty)
        }
        Val::Node { node, ty, faults } if is_readable(faults) => as_string(node.clone(), ty),
        Val::Node { node, ty, faults } => {
            // Where all that it reads is there.
            Some(choose(build::all(there(faults)?), as_string(node.clone(), ty)?, text("")))
        }
        Val::Count(of) => {
            let (node, faults) = count(&of.clone().rescued(), scope).ok()?;
            is_readable(&faults).then(|| call("string", vec![node]))
        }
        Val::Optional { ty: Ty::Object(_) | Ty::Map(_), .. } => None,
        Val::Optional { .. } => match val.clone().rescued() {
            Val::Optional { node, ty, faults, .. } if is_readable(&faults) => {
                if let Some((is_some, value)) = extreme(&node) {
                    return Some(choose(is_some.clone(), as_string(value, &ty)?, text("")));
                }
                let default = match ty {
                    Ty::List(_) => empty_list(),
                    _ => text(""),
                };
                as_string(or_value(node, default), &ty)
            }
            _ => None,
        },
        Val::Or(sides) if is_list(&sides[0]) => {
            let Val::Const(default) = &sides[1] else { return None };
            let own = safe_text(&sides[0].clone().rescued(), scope)?;
            if default.is_empty() {
                return Some(own);
            }
            let there = truthy(&sides[0].clone().rescued(), scope).ok()?;
            let default = text(&ephor_value::print::display(default));
            is_readable(&there.faults).then(|| choose(there.node, own, default))
        }
        Val::Or(sides) => match &sides[1] {
            // Where the value is no text and its default is one, each is a text on its own.
            Val::Const(Value::Str(default))
                if !matches!(
                    ty_of(&sides[0]),
                    Ty::Text | Ty::Any | Ty::List(_) | Ty::Map(_) | Ty::Object(_)
                ) =>
            {
                let rescued = sides[0].clone().rescued();
                let there = present(&rescued, scope).ok()?;
                let own = safe_text(&known(&rescued), scope)?;
                is_readable(&there.faults).then(|| choose(there.node, own, text(default)))
            }
            Val::Const(_) => {
                let ty = ty_of(&sides[0]);
                let rescued = sides[0].clone().rescued();
                let (node, faults) = plain(&Val::Or(Box::new([rescued, sides[1].clone()])), scope).ok()?;
                if is_readable(&faults) { as_string(node, &ty) } else { None }
            }
            _ => None,
        },
        Val::Loop(_) | Val::Chain(_) | Val::Keys(..) => {
            let (node, faults) = built(&val.clone().rescued(), scope).ok()?;
            if is_readable(&faults) { as_string(node, &ty_of(val)) } else { None }
        }
        _ => None,
    }
}

/// What is read of the elements that are in violation, one after the other.
fn of_elements(hole: &ephor_ir::Query, inside: &CheckLoop, scope: &mut Scope<'_>) -> Option<Node> {
    let names = scope.names.clone();
    scope.names.insert("element".into(), inside.item.clone());
    scope.names.insert("element0".into(), inside.item.clone());
    let found = scope.in_loop(&inside.var, |scope| {
        let found = query(hole, scope).ok()?;
        safe_text(&found, scope)
    });
    scope.names = names;
    let node = found?;
    // What the test would fail for is in violation, too.
    let mut terms = there(&inside.test.faults)?;
    terms.push(inside.test.node.clone());
    let violating = match constant_bool(&inside.test.node) {
        Some(_) => boolean(true),
        None => not(build::all(terms)),
    };
    let retained = over(inside.list.clone(), "filter", &inside.var, violating);
    let mapped = over(retained, "map", &inside.var, node);
    Some(method(mapped, "join", vec![text(", ")]))
}
