//! Checks of literals: items of one type, well-formed durations, times, patterns and formats.
//!
//! In: a checked tree. Out: the issues of its literals, where the environment has such checks.

use super::ast::{Place, Shape};
use super::check::{Typed, TypedKind};
use super::env::Env;
use super::issue::Issue;
use ephor_functions::cel::convert::is_timestamp;
use ephor_functions::cel::format::{ArgumentError, Clause, clause, refusal};
use ephor_functions::cel::operation;
use ephor_functions::registry::Operation;
use ephor_functions::{CelLevel, regex};
use ephor_value::time::is_in_calendar;
use ephor_value::{Value, duration};

/// The issues of literals.
pub fn issues(typed: &Typed, env: &Env) -> Vec<Issue> {
    let mut out = Vec::new();
    if env.strict_literals || env.strict_arguments {
        walk(typed, env, false, &mut out);
    }
    out
}

fn walk(t: &Typed, env: &Env, in_format: bool, out: &mut Vec<Issue>) {
    match &t.kind {
        TypedKind::Const(_) | TypedKind::Variable(_) | TypedKind::TypeName(..) => {}
        TypedKind::Select { operand, .. } => walk(operand, env, in_format, out),
        TypedKind::Call { function, args, member, .. } => {
            if env.strict_arguments {
                arguments(t.at, function, args, (*member, env.level), out);
            }
            let formats = operation(function) == Some(Operation::Format) && *member;
            for (i, arg) in args.iter().enumerate() {
                walk(arg, env, in_format || formats && i > 0, out);
            }
        }
        TypedKind::List { items, optional } => {
            if env.strict_literals && !in_format {
                let types = items.iter().enumerate().map(|(i, item)| (item, optional.contains(&i)));
                let before = out.len();
                of_one_type(types, out);
                // The first item of another type is enough.
                out.truncate(before + 1);
            }
            items.iter().for_each(|i| walk(i, env, in_format, out));
        }
        TypedKind::Map(entries) => {
            if env.strict_literals && !in_format {
                of_one_type(entries.iter().map(|e| (&e.key, false)), out);
                of_one_type(entries.iter().map(|e| (&e.value, e.optional)), out);
            }
            for e in entries {
                walk(&e.key, env, in_format, out);
                walk(&e.value, env, in_format, out);
            }
        }
        TypedKind::Struct { fields, .. } => fields.iter().for_each(|f| walk(&f.value, env, in_format, out)),
        TypedKind::Fold(fold) => {
            // The value of a bound name stands for the step as well.
            let step = (fold.shape != Shape::Bind).then_some(&fold.step);
            for part in [Some(&fold.range), Some(&fold.init), step, Some(&fold.result)].into_iter().flatten()
            {
                walk(part, env, in_format, out);
            }
        }
    }
}

/// Every item has the type of the first.
fn of_one_type<'t>(items: impl Iterator<Item = (&'t Typed, bool)>, out: &mut Vec<Issue>) {
    let mut first = None;
    for (item, optional) in items {
        let own = match item.ty.as_optional() {
            Some(inner) if optional => inner,
            _ => &item.ty,
        };
        match first {
            None => first = Some(own),
            Some(first) if first == own => {}
            Some(first) => {
                let text = format!("expected type '{first}' but found '{}'", own);
                out.push(Issue::new(item.at, text));
            }
        }
    }
}

fn text_of(t: &Typed) -> Option<&str> {
    match &t.kind {
        TypedKind::Const(Value::Str(s)) => Some(s),
        _ => None,
    }
}

fn arguments(
    at: Place,
    function: &str,
    args: &[Typed],
    (member, level): (bool, CelLevel),
    out: &mut Vec<Issue>,
) {
    let call = at;
    let text = |at: usize| args.get(at).and_then(|a| Some((a.at, text_of(a)?)));
    match operation(function) {
        Some(Operation::Duration) => {
            let bad = match args.first().map(|a| (a.at, &a.kind)) {
                Some((at, TypedKind::Const(Value::Str(s)))) => duration::parse_ok(s).is_none().then_some(at),
                Some((at, TypedKind::Const(Value::Int(_) | Value::Null))) => Some(at),
                _ => None,
            };
            out.extend(bad.map(|at| Issue::new(at, "invalid duration argument")));
        }
        Some(Operation::Timestamp) => {
            let bad = match args.first().map(|a| (a.at, &a.kind)) {
                Some((at, TypedKind::Const(Value::Str(s)))) => (!is_timestamp(s, level)).then_some(at),
                Some((at, TypedKind::Const(Value::Int(n)))) => (!is_in_calendar((*n).into())).then_some(at),
                Some((at, TypedKind::Const(Value::Null))) => Some(at),
                _ => None,
            };
            out.extend(bad.map(|at| Issue::new(at, "invalid timestamp argument")));
        }
        // The first argument besides the receiver: of the function it is the text.
        Some(Operation::Matches) => {
            if let Some((at, _)) = text(usize::from(member)).filter(|(_, s)| regex::compiled(s).is_err()) {
                out.push(Issue::new(at, "invalid matches argument"));
            }
        }
        Some(Operation::Format) => format(call, args, out),
        _ => {}
    }
}

/// The first part of a literal list or map that no clause writes, and why.
fn refused_inside(clause: &Clause, t: &Typed) -> Option<(Place, ArgumentError)> {
    let part = |t: &Typed| {
        let name = t.ty.formal();
        let bare = name.split('(').next().unwrap_or_default();
        let text = if bare == "dyn" { None } else { refusal(clause, bare) };
        text.map(|text| (t.at, text)).or_else(|| refused_inside(clause, t))
    };
    match &t.kind {
        TypedKind::List { items, .. } => items.iter().find_map(part),
        TypedKind::Map(entries) => entries.iter().find_map(|e| part(&e.key).or_else(|| part(&e.value))),
        _ => None,
    }
}

/// A literal format: its clauses, and the literal list of its arguments.
fn format(at_call: Place, args: &[Typed], out: &mut Vec<Issue>) {
    let (Some(pattern), Some(list)) = (args.first(), args.get(1)) else { return };
    let (Some(text), TypedKind::List { items, .. }) = (text_of(pattern), &list.kind) else { return };
    let mut at = 0;
    let mut used = 0;
    while let Some(step) = text.get(at..).and_then(|rest| rest.find('%')) {
        at += step + 1;
        let rest = text.get(at..).unwrap_or_default();
        if rest.is_empty() {
            return out.push(Issue::new(at_call, "unexpected end of string"));
        }
        if rest.starts_with('%') {
            at += 1;
            continue;
        }
        let Some(item) = items.get(used) else {
            return out.push(Issue::new(at_call, format!("index {used} out of range")));
        };
        used += 1;
        match clause(rest) {
            Err(e) => {
                return out.push(Issue::new(at_call, format!("could not parse formatting clause: {e}")));
            }
            Ok((len, clause)) => {
                at += len;
                let name = item.ty.formal();
                let bare = name.split('(').next().unwrap_or_default();
                // A text may write a double that no literal writes.
                let fits = bare == "dyn" || bare == "string" && clause.takes_doubles();
                let refused = if fits { None } else { refusal(&clause, bare).map(|text| (item.at, text)) };
                if let Some((at, text)) = refused.or_else(|| refused_inside(&clause, item)) {
                    return out.push(Issue::new(at, format!("error during formatting: {text}")));
                }
            }
        }
    }
    if used < items.len() {
        let text =
            format!("too many arguments supplied to string.format (expected {used}, got {})", items.len());
        out.push(Issue::new(at_call, text));
    }
}
