//! Templates: variables whose result is constant become part of the text.
//!
//! A variable that needs data to be loaded stays: loading may fail, and later reads see its result.

use super::passes::expression;
use crate::binding::QuerySource;
use crate::late::Late;
use crate::template::{Part, Text};
use crate::{Expr, Query, Template};
use ephor_value::print::json;
use ephor_value::{Str, Value};

/// Optimises the expressions of a query.
pub fn query(q: Query) -> Query {
    Query { expr: q.expr.map(expression), on_delete: q.on_delete.map(|other| Box::new(query(*other))), ..q }
}

/// The result of a query that is the same for every request.
fn constant(q: &Query) -> Option<&Value> {
    let Query { expr: Ok(Expr::Const(v)), needs, on_delete: None, .. } = q else { return None };
    needs.is_empty().then_some(v)
}

/// Optimises a template.
pub fn template(t: Template) -> Template {
    match t {
        Template::Const(_) | Template::Rounds(_) | Template::Fail(_) => t,
        Template::Whole(mut hole) => {
            hole.query = query(hole.query);
            match constant(&hole.query) {
                // Variables inside of the result are filled in as well.
                Some(Value::List(_) | Value::Map(_)) | None => Template::Whole(hole),
                Some(v) => Template::Const(v.clone()),
            }
        }
        Template::Text(text) => self::text(*text),
        Template::List(items) => Template::list(items.into_vec().into_iter().map(template).collect()),
        Template::Object(pairs) => {
            Template::object(pairs.into_vec().into_iter().map(|(k, v)| (key(k), template(v))).collect())
        }
    }
}

/// A key stays as it is unless it becomes a string: what else it may become is a matter of messages
/// that show how it was written.
fn key(t: Template) -> Template {
    match template(t.clone()) {
        Template::Const(v) if v.as_str().is_none() => t,
        other => other,
    }
}

fn text(text: Text) -> Template {
    let mut parts: Vec<Part> = Vec::with_capacity(text.parts.len());
    for part in text.parts.into_vec() {
        let part = match part {
            Part::Hole(q) => {
                let q = query(q);
                match constant(&q) {
                    Some(Value::Str(s)) => Part::Literal(s.clone()),
                    Some(v) => Part::Literal(json(v).into()),
                    None => Part::Hole(q),
                }
            }
            literal => literal,
        };
        match (parts.last_mut(), part) {
            (Some(Part::Literal(before)), Part::Literal(s)) => *before = Str::from(format!("{before}{s}")),
            (_, part) => parts.push(part),
        }
    }
    match &parts[..] {
        // A result that brings in variables is resolved in rounds.
        [Part::Literal(s)] if !s.contains("{{") => Template::Const(Value::Str(s.clone())),
        _ => Template::Text(Box::new(Text { parts: parts.into(), rounds: text.rounds })),
    }
}

/// Optimises a query whose text may hold variables.
pub fn source(q: QuerySource, late: &dyn Late) -> QuerySource {
    match q {
        QuerySource::Ready(q) => QuerySource::Ready(query(q)),
        QuerySource::Dynamic { text, names } => match template(text) {
            Template::Const(Value::Str(s)) => QuerySource::Ready(query(late.plain_query(&s, &names))),
            text => QuerySource::Dynamic { text, names },
        },
    }
}
