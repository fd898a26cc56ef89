//! Documents with variables and references → templates.
//!
//! References `$(…)` point into the document itself, so they are resolved here; variables become
//! queries. What the document's root is decides what a lone `@` and relative references mean: the
//! caller lowers each document that the language treats as one.

use std::sync::Arc;

use crate::ir::Template;
use crate::ir::template::{Hole, Part, Rounds, Text};
use crate::value::variables::{expression, find_variables};
use crate::value::{Map, Str, Value};

use super::query::compile;
use super::reference;

/// Documents nested deeper than this are not filled in.
const MAX_DEPTH: usize = 256;

/// Lowers a document. `names` are the bindings in scope.
pub fn document(v: &Value, names: &Arc<[Str]>) -> Template {
    let resolved;
    let v = if v.any_text(&|s| s.contains("$(")) {
        match reference::resolve(v) {
            Ok(v) => {
                resolved = v;
                &resolved
            }
            Err(text) => return Template::Fail(text.into()),
        }
    } else {
        v
    };
    let mut lowering = Lowering { names, path: Vec::new() };
    lowering.value(v)
}

/// Lowers a text; see [`document`].
pub fn text(s: &Str, names: &Arc<[Str]>) -> Template {
    document(&Value::Str(s.clone()), names)
}

struct Lowering<'n> {
    names: &'n Arc<[Str]>,
    path: Vec<String>,
}

impl Lowering<'_> {
    fn value(&mut self, v: &Value) -> Template {
        if self.path.len() > MAX_DEPTH {
            return Template::Fail("the document nests too deeply".into());
        }
        match v {
            Value::Str(s) => self.text(s),
            Value::List(l) => {
                let items: Vec<Template> =
                    l.iter().enumerate().map(|(i, v)| self.below(i.to_string(), |t| t.value(v))).collect();
                if items.iter().all(|t| t.as_const().is_some()) {
                    return Template::Const(
                        items.iter().filter_map(Template::as_const).cloned().collect::<Vec<_>>().into(),
                    );
                }
                Template::List(items.into())
            }
            Value::Map(m) => {
                let pairs: Vec<(Template, Template)> = m
                    .iter()
                    .map(|(k, v)| (self.text(k), self.below(k.replace('/', "\\/"), |t| t.value(v))))
                    .collect();
                let constant: Option<Map> = pairs
                    .iter()
                    .map(|(k, v)| match (k, v) {
                        (Template::Const(Value::Str(k)), Template::Const(v)) => Some((k.clone(), v.clone())),
                        _ => None,
                    })
                    .collect();
                match constant {
                    Some(m) => Template::Const(Value::Map(m)),
                    None => Template::Object(pairs.into()),
                }
            }
            other => Template::Const(other.clone()),
        }
    }

    fn below<T>(&mut self, step: String, f: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let result = f(self);
        self.path.pop();
        result
    }

    fn path_text(&self) -> Str {
        self.path.iter().flat_map(|step| ["/", step]).collect::<String>().into()
    }

    fn text(&self, s: &Str) -> Template {
        if !s.contains("{{") {
            return Template::Const(Value::Str(s.clone()));
        }
        let found = find_variables(s);
        if found.is_empty() {
            return Template::Const(Value::from(s.replace("\\{{", "{{")));
        }
        let current: Str = current_path(&self.path).into();
        let rounds = Rounds {
            source: s.clone(),
            path: self.path_text(),
            names: self.names.clone(),
            current: current.clone(),
        };
        let query = |variable: &str| match expression(variable) {
            e if e == "@" => compile(&current, self.names),
            e => compile(&e, self.names),
        };
        if let [only] = &found[..]
            && *only == (0..s.len())
            && simple(s)
        {
            return Template::Whole(Box::new(Hole { query: query(s), rounds }));
        }
        let mut parts = Vec::new();
        let mut at = 0;
        for range in &found {
            let (Some(literal), Some(variable)) = (s.get(at..range.start), s.get(range.clone())) else {
                return Template::Rounds(Box::new(rounds));
            };
            if !simple(variable) || literal.contains("{{") {
                return Template::Rounds(Box::new(rounds));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.into()));
            }
            parts.push(Part::Hole(query(variable)));
            at = range.end;
        }
        let rest = s.get(at..).unwrap_or_default();
        if rest.contains("{{") {
            return Template::Rounds(Box::new(rounds));
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.into()));
        }
        Template::Text(Box::new(Text { parts: parts.into(), rounds }))
    }
}

/// A variable that needs no second look: not nested and not shallow.
fn simple(variable: &str) -> bool {
    let inner = variable.get(2..variable.len().saturating_sub(2)).unwrap_or_default();
    !inner.contains("{{") && !inner.contains("}}") && !inner.trim_start().starts_with('-')
}

/// What a lone `@` at this path stands for: the same place in the request's object, without
/// everything up to a `foreach` and without the first two steps after it.
pub fn current_path(path: &[String]) -> String {
    let after = path.iter().position(|p| p == "foreach").map_or(0, |i| i + 1);
    let rest = path.get(after..).unwrap_or_default();
    let mut out = String::from("request.object");
    for step in rest.get(2..).unwrap_or_default() {
        if step.bytes().all(|b| b.is_ascii_digit()) {
            out.push_str(&format!("[{step}]"));
        } else if is_plain_name(step) {
            out.push('.');
            out.push_str(step);
        } else {
            out.push_str(&format!(".\"{step}\""));
        }
    }
    out
}

fn is_plain_name(step: &str) -> bool {
    let mut bytes = step.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_' || b == b'(')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b')')
}
