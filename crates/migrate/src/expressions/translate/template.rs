//! Templates: values with variables in them.
//!
//! In: a template of the IR. Out: its value. Texts that are resolved in rounds are read from the
//! inside: an inner variable that stands in quotation marks, or as a key, becomes a value of its
//! own. Semantics: `docs/semantics/variables.md`, "Variables".

use std::sync::Arc;

use ephor_ir::Template;
use ephor_ir::template::{Part, Query, Rounds};
use ephor_value::variables::{expression, find_variables};
use ephor_value::{Str, Value};

use crate::cel::build::{binary, call, method, name, text};
use crate::expressions::context::Target;
use crate::expressions::refusal::Result;
use crate::expressions::scope::{MAX_DEPTH, Scope};
use crate::expressions::term::{Faults, Val};
use crate::expressions::translate::forms::{plain, ty_of};
use crate::expressions::translate::template;
use crate::expressions::translate::values::value;
use crate::expressions::types::Ty;
use ephor_cel::ast::Node;

/// The name of an inner variable in the text around it.
pub const INNER: &str = "inner variable ";
/// The same where it is a key.
pub const INNER_KEY: &str = "inner key ";

/// The value of a template.
pub fn template(own: &Template, scope: &mut Scope<'_>) -> Result<Val> {
    match own {
        Template::Const(v) => Ok(Val::Const(v.clone())),
        Template::Whole(hole) => query(&hole.query, scope),
        Template::Text(text) => {
            let mut parts = Vec::new();
            for part in text.parts.iter() {
                parts.push(match part {
                    Part::Literal(s) => Val::Const(Value::Str(s.clone())),
                    Part::Hole(own) => query(own, scope)?,
                });
            }
            concatenated(&parts, scope)
        }
        Template::Rounds(rounds) => in_rounds(rounds, scope),
        Template::List(items) => {
            let items: Result<Vec<Val>> = items.iter().map(|t| template(t, scope)).collect();
            Ok(Val::Tuple(items?))
        }
        Template::Object(pairs) => {
            let mut all = Vec::new();
            for (key, own) in pairs.iter() {
                let Template::Const(Value::Str(key)) = key else {
                    return Err(scope.refuse("a variable in a key", "write the key"));
                };
                all.push((key.clone(), template(own, scope)?));
            }
            Ok(Val::Record(all))
        }
        Template::Fail(why) => Err(scope.refuse(format!("a reference that fails ({why})"), "correct it")),
    }
}

/// The value of a query.
pub fn query(own: &Query, scope: &mut Scope<'_>) -> Result<Val> {
    match &own.expr {
        Ok(expr) => value(expr, &mut Vec::new(), scope),
        Err(why) => Err(scope.refuse(format!("an expression that is none ({why})"), "correct it")),
    }
}

/// Texts one after the other; what is no text is written as JSON.
fn concatenated(parts: &[Val], scope: &mut Scope<'_>) -> Result<Val> {
    if let [one] = parts
        && ty_of(one) == Ty::Text
    {
        return Ok(one.clone());
    }
    let mut sum: Option<Node> = None;
    let mut faults = Faults::new();
    for part in parts {
        let (node, more) = as_text(part, scope)?;
        faults.extend(more);
        sum = Some(match sum {
            None => node,
            Some(before) => binary("+", before, node),
        });
    }
    Ok(Val::Node { node: sum.unwrap_or_else(|| text("")), ty: Ty::Text, faults })
}

/// A value as it stands in a text.
pub fn as_text(val: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    if let Val::Const(v) = val {
        return Ok((text(&ephor_value::print::display(v)), Faults::new()));
    }
    let ty = ty_of(val);
    let (node, faults) = plain(val, scope)?;
    let node = match &ty {
        Ty::Text => node,
        // `string` writes a million as `1e+06`.
        Ty::Double if scope.cx.target == Target::Kyverno => json(node),
        Ty::Quantity | Ty::Duration | Ty::Int | Ty::Double | Ty::Bool | Ty::IntOrText | Ty::Any => {
            call("string", vec![node])
        }
        Ty::List(_) | Ty::Map(_) | Ty::Object(_) if scope.cx.target == Target::Kyverno => json(node),
        Ty::List(item) if **item == Ty::Text => {
            let joined = method(node, "join", vec![text("\",\"")]);
            binary("+", binary("+", text("[\""), joined), text("\"]"))
        }
        _ => return Err(scope.refuse("an object in a text", "name its fields")),
    };
    Ok((node, faults))
}

/// A value as JSON.
pub fn json(node: Node) -> Node {
    method(name("json"), "marshal", vec![node])
}

/// A text whose variables nest.
fn in_rounds(rounds: &Rounds, scope: &mut Scope<'_>) -> Result<Val> {
    scope.depth += 1;
    if scope.depth > MAX_DEPTH {
        return Err(scope.refuse("variables that nest so deeply", "split the text"));
    }
    let found = resolved(&rounds.source, &rounds.names, scope);
    scope.depth -= 1;
    found
}

/// The value of an expression with variables in it.
pub fn nested(source: &str, scope: &mut Scope<'_>) -> Result<Val> {
    resolved(&format!("{{{{{source}}}}}"), &Arc::from([]), scope)
}

/// The value of a query on data, or on the rule's own, whose text holds variables of the rule.
pub fn resolved_in(
    source: &str,
    names: &Arc<[Str]>,
    data: Option<Val>,
    scope: &mut Scope<'_>,
) -> Result<Val> {
    let mut text = source.to_string();
    for _ in 0..16 {
        let found = find_variables(&text);
        let Some(first) = found.first().cloned() else { break };
        text = with_inner(&text, first, names, scope)?;
    }
    let own = ephor_lower::query::plain(&text, names);
    scope.about(data, |scope| template::query(&own, scope))
}

/// The text with one variable under a name of its own.
fn with_inner(
    text: &str,
    at: std::ops::Range<usize>,
    names: &Arc<[Str]>,
    scope: &mut Scope<'_>,
) -> Result<String> {
    let written = text.get(at.clone()).unwrap_or_default();
    let query = ephor_lower::query::compile(&expression(written), names);
    let inner = template::query(&query, scope)?;
    let number = scope.inner.len();
    scope.inner.push(inner);
    let (head, tail) = (text.get(..at.start).unwrap_or_default(), text.get(at.end..).unwrap_or_default());
    put(head, tail, number).ok_or_else(|| {
        scope.refuse("a variable inside of another one", "read it under a name of the context first")
    })
}

fn resolved(source: &str, names: &Arc<[Str]>, scope: &mut Scope<'_>) -> Result<Val> {
    let mut text = source.to_string();
    for _ in 0..16 {
        let found = find_variables(&text);
        if let Some(whole) = found.iter().find(|one| **one == (0..text.len())) {
            let written = text.get(whole.clone()).unwrap_or_default().to_string();
            let query = ephor_lower::query::compile(&expression(&written), names);
            return template::query(&query, scope);
        }
        // Variables that stand in no other one are parts of the text.
        let is_inside = |one: &&std::ops::Range<usize>| {
            let before = text.get(..one.start).unwrap_or_default();
            before.matches("{{").count() > before.matches("}}").count()
        };
        let Some(first) = found.iter().find(is_inside).cloned() else { break };
        text = with_inner(&text, first, names, scope)?;
    }
    // Text around variables that do not nest.
    let own = ephor_lower::template::text(&Str::from(text.as_str()), names);
    match own {
        Template::Rounds(_) => Err(scope.refuse("variables that touch or are escaped", "separate them")),
        other => template(&other, scope),
    }
}

/// The text with an inner variable under its name: in quotation marks it is a value, behind a dot
/// in quotation marks a key.
fn put(head: &str, tail: &str, number: usize) -> Option<String> {
    let quoted = |quote: char| head.ends_with(quote) && tail.starts_with(quote);
    if quoted('"') && head.trim_end_matches('"').ends_with('.') {
        return Some(format!(
            "{}\"{INNER_KEY}{number}\"{}",
            head.strip_suffix('"')?,
            tail.strip_prefix('"')?
        ));
    }
    // A key without them is a word.
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '{' | '"');
    if head.ends_with('.') && !head.ends_with("..") && !tail.starts_with(is_word) {
        return Some(format!("{head}\"{INNER_KEY}{number}\"{tail}"));
    }
    if quoted('\'') {
        return Some(format!("{}\"{INNER}{number}\"{}", head.strip_suffix('\'')?, tail.strip_prefix('\'')?));
    }
    if quoted('`') {
        return Some(format!("{}\"{INNER}{number}\"{}", head.strip_suffix('`')?, tail.strip_prefix('`')?));
    }
    // A part of a text in quotation marks.
    let open = head.rfind('\'')?;
    let inside = head.get(open + 1..)?;
    let opens = head.matches('\'').count() % 2 == 1;
    let close = tail.find('\'')?;
    let rest = tail.get(..close)?;
    if !opens {
        // The variable is a value as it stands.
        return None;
    }
    let quote = |s: &str| if s.is_empty() { String::new() } else { format!("'{s}'") };
    let parts: Vec<String> = [quote(inside), format!("\"{INNER}{number}\""), quote(rest)]
        .into_iter()
        .filter(|s| !s.is_empty())
        .collect();
    Some(format!("{}join('', [{}]){}", head.get(..open)?, parts.join(", "), tail.get(close + 1..)?))
}
