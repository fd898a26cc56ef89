//! Functions of times, which are texts in JMESPath.
//!
//! In: the arguments of a function. Out: its value. Texts are written with the offset that they
//! were read with, timestamps in UTC: what is computed of a time is written where this one is known
//! to be UTC. Semantics: `docs/expressions/functions.md`.

use ephor_value::Value;

use crate::cel::build::{all, binary, call, getter, is_name, method, name, on, operands, text};
use crate::cel::print;
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{Faults, Test, Val, together};
use crate::expressions::translate::functions::strict;
use crate::expressions::translate::template::as_text;
use crate::expressions::types::Ty;
use ephor_cel::ast::Node;

/// The value of a function of times.
pub(crate) fn of_times(own: &str, args: &[Val], scope: &mut Scope<'_>) -> Result<Val> {
    match (own, args) {
        ("time_now_utc" | "time_now", _) => {
            scope.needs_kyverno("the current time")?;
            // As text it has whole seconds.
            let second = call("duration", vec![text("1s")]);
            Ok(written(method(name("time"), "truncate", vec![now(), second]), Faults::new()))
        }
        ("time_after" | "time_before", [a, b]) => {
            let sign = if own == "time_after" { ">" } else { "<" };
            let (a, b, faults) = together(time(a, scope)?, time(b, scope)?);
            Ok(Val::of_test(Test { node: binary(sign, a, b), faults }))
        }
        ("time_between", [at, from, to]) => {
            let (at, from, mut faults) = together(time(at, scope)?, time(from, scope)?);
            let (to, more) = time(to, scope)?;
            faults.extend(more);
            let inside = vec![binary(">", at.clone(), from), binary("<", at, to)];
            Ok(Val::of_test(Test { node: all(inside), faults }))
        }
        ("time_since", [Val::Const(Value::Str(layout)), from, to]) if layout.is_empty() => {
            scope.needs_kyverno("the current time")?;
            match to {
                Val::Const(Value::Str(to)) if to.is_empty() => {
                    let (from, faults) = time(from, scope)?;
                    Ok(Val::Node { node: binary("-", now(), from), ty: Ty::Duration, faults })
                }
                to => difference(from, to, scope),
            }
        }
        ("time_diff", [from, to]) => difference(from, to, scope),
        ("time_utc", [of]) if is_utc(of) => Ok(of.clone()),
        ("time_add", [of, by]) if is_utc(of) => {
            let (of, by, faults) = together(instant(of, scope)?, as_text(&strict(by), scope)?);
            Ok(written(binary("+", of, call("duration", vec![by])), faults))
        }
        ("time_to_cron", [of]) if is_utc(of) => {
            scope.needs_kyverno("function time_to_cron")?;
            let (of, faults) = instant(of, scope)?;
            Ok(Val::Node { node: method(name("time"), "toCron", vec![of]), ty: Ty::Text, faults })
        }
        ("time_utc" | "time_add" | "time_to_cron", _) => {
            let why = format!("function {own} of a time that may be in another time zone");
            Err(scope.refuse(why, "use the current time, or when the object was created"))
        }
        _ => Err(scope.refuse(format!("function {own}"), "use a function that CEL has")),
    }
}

fn now() -> Node {
    getter(name("time"), "now")
}

/// A timestamp as text.
fn written(timestamp: Node, faults: Faults) -> Val {
    Val::Node { node: call("string", vec![timestamp]), ty: Ty::Text, faults }
}

/// How much later the second time is.
fn difference(from: &Val, to: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let (from, to, faults) = together(time(from, scope)?, time(to, scope)?);
    Ok(Val::Node { node: binary("-", to, from), ty: Ty::Duration, faults })
}

/// The current time as text.
const NOW: &str = "string(time.truncate(time.now(), duration('1s')))";

/// A time of RFC 3339; the current one as it is.
fn time(val: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    match val {
        Val::Node { node, faults, .. } if print(node, usize::MAX) == NOW => Ok((now(), faults.clone())),
        other => instant(other, scope),
    }
}

/// A time of RFC 3339 with whole seconds.
fn instant(val: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    if let Val::Node { node, faults, .. } = val
        && let Some(timestamp) = timestamp_in(node)
    {
        return Ok((timestamp.clone(), faults.clone()));
    }
    let (node, faults) = as_text(&strict(val), scope)?;
    Ok((call("timestamp", vec![node]), faults))
}

/// The timestamp that a text was written of.
fn timestamp_in(node: &Node) -> Option<&Node> {
    let [inner] = operands(node, "string")? else { return None };
    let is_truncated = || on(inner, "truncate").is_some_and(|(target, _)| is_name(target, "time"));
    let is_moved =
        || matches!(operands(inner, "_+_"), Some([_, span]) if operands(span, "duration").is_some());
    (is_truncated() || is_moved()).then_some(inner)
}

/// Whether a time is known to be written in UTC.
fn is_utc(val: &Val) -> bool {
    match val {
        Val::Path(path) => matches!(path.last(), Some("creationTimestamp" | "deletionTimestamp")),
        Val::Node { node, .. } => timestamp_in(node).is_some(),
        Val::Const(Value::Str(text)) => text.ends_with('Z') && !text.contains('.'),
        _ => false,
    }
}
