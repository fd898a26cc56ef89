//! Filling in templates.
//!
//! In: a template and a rule's data. Out: the document with every variable replaced, or the text of
//! the first failure. A text whose results bring in new variables is resolved in rounds until none
//! is left. The semantics' source is `docs/variables.md`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::ir::template::{Hole, Part, Rounds, Text};
use crate::ir::{Query, Template};
use crate::value::print::json;
use crate::value::variables::{expression_at, find_variables};
use crate::value::{Map, Str, Value};

use super::data::Data;

/// A text that has not come to rest after this many rounds feeds on itself.
const MAX_ROUNDS: usize = 64;

/// A text that grows beyond this while variables are put in is refused.
const MAX_TEXT: usize = 64 << 20;

impl Data<'_> {
    /// Fills in a template.
    ///
    /// # Errors
    /// `failed to resolve EXPR at path PATH: CAUSE` and the like.
    pub fn fill(&mut self, template: &Template) -> Result<Value, String> {
        match template {
            Template::Const(v) => Ok(v.clone()),
            Template::Whole(hole) => self.whole(hole),
            Template::Text(text) => self.text(text),
            Template::Rounds(rounds) => self.rounds(rounds, &rounds.source, &rounds.path, 0),
            Template::Fail(text) => Err(text.to_string()),
            Template::List(items) => {
                let filled: Result<Vec<Value>, String> = items.iter().map(|t| self.fill(t)).collect();
                Ok(Value::list(filled?))
            }
            Template::Object(pairs) => {
                let mut entries = Vec::with_capacity(pairs.len());
                for (key, value) in pairs {
                    let key = match key {
                        Template::Const(Value::Str(k)) => k.clone(),
                        key => self.key(key)?,
                    };
                    entries.push((key, self.fill(value)?));
                }
                Ok(Value::Map(entries.into_iter().collect::<Map>()))
            }
        }
    }

    /// A key must become a string; null leaves it as it was.
    fn key(&mut self, key: &Template) -> Result<Str, String> {
        let source = match key {
            Template::Whole(hole) => hole.rounds.source.to_string(),
            Template::Text(text) => text.rounds.source.to_string(),
            Template::Rounds(rounds) => rounds.source.to_string(),
            _ => String::new(),
        };
        match self.fill(key)? {
            Value::Str(s) => Ok(s),
            Value::Null => Ok(source.into()),
            _ => Err(format!("expected string after substituting variables in key \"{source}\"")),
        }
    }

    fn resolve(&mut self, query: &Query, path: &str) -> Result<Value, String> {
        self.query(query).map_err(|trouble| {
            let shown = match &query.on_delete {
                Some(other) if self.world.deleting => &other.text,
                _ => &query.text,
            };
            format!("failed to resolve {shown} at path {path}: {trouble}")
        })
    }

    fn whole(&mut self, hole: &Hole) -> Result<Value, String> {
        let value = self.resolve(&hole.query, &hole.rounds.path)?;
        match &value {
            Value::List(_) | Value::Map(_) if value.any_text(&holds_braces) => {
                self.revisit(&value, &hole.rounds, &hole.rounds.path, 1)
            }
            _ => Ok(value),
        }
    }

    fn text(&mut self, text: &Text) -> Result<Value, String> {
        let mut out = String::new();
        for part in &text.parts {
            match part {
                Part::Literal(s) => out.push_str(s),
                Part::Hole(query) => {
                    let v = self.resolve(query, &text.rounds.path)?;
                    push(&mut out, &v);
                }
            }
        }
        if holds_braces(&out) {
            return self.rounds(&text.rounds, &text.rounds.source, &text.rounds.path, 0);
        }
        Ok(Value::from(out))
    }

    /// Variables inside of data that replaced a variable are filled in too.
    fn revisit(&mut self, v: &Value, rounds: &Rounds, path: &str, depth: usize) -> Result<Value, String> {
        if depth > MAX_ROUNDS {
            return Err(format!("failed to resolve variables at path {path}: they lead back to themselves"));
        }
        match v {
            Value::Str(s) if s.contains("{{") => self.rounds(rounds, s, path, depth + 1),
            Value::List(l) => {
                let mut items = Vec::with_capacity(l.len());
                for (i, v) in l.iter().enumerate() {
                    items.push(self.revisit(v, rounds, &format!("{path}/{i}"), depth)?);
                }
                Ok(Value::list(items))
            }
            Value::Map(m) => {
                let mut entries = Vec::with_capacity(m.len());
                for (k, v) in m.iter() {
                    let key = match self.rounds_key(k, rounds, path, depth)? {
                        Some(key) => key,
                        None => k.clone(),
                    };
                    let below = format!("{path}/{}", k.replace('/', "\\/"));
                    entries.push((key, self.revisit(v, rounds, &below, depth)?));
                }
                Ok(Value::Map(entries.into_iter().collect::<Map>()))
            }
            other => Ok(other.clone()),
        }
    }

    fn rounds_key(
        &mut self,
        k: &Str,
        rounds: &Rounds,
        path: &str,
        depth: usize,
    ) -> Result<Option<Str>, String> {
        if !k.contains("{{") {
            return Ok(None);
        }
        match self.rounds(rounds, k, path, depth + 1)? {
            Value::Str(s) => Ok(Some(s)),
            Value::Null => Ok(None),
            _ => Err(format!("expected string after substituting variables in key \"{k}\"")),
        }
    }

    fn rounds(&mut self, rounds: &Rounds, source: &str, path: &str, depth: usize) -> Result<Value, String> {
        let mut text = source.to_string();
        for _ in 0..MAX_ROUNDS {
            let before = text.clone();
            let found = find_variables(&before);
            let mut shallow = false;
            if found.is_empty() {
                return Ok(Value::from(text.replace("\\{{", "{{")));
            }
            for range in found {
                let prefix = before.get(..range.start).and_then(|s| s.chars().next_back());
                let Some(variable) = before.get(range.clone()) else { continue };
                let mut expr = expression_at(&before, range);
                shallow = false;
                if let Some(rest) = expr.strip_prefix('-') {
                    shallow = true;
                    expr = rest.trim().to_string();
                }
                let query = compiled(rounds, if expr == "@" { &rounds.current } else { &expr });
                let value = self.resolve(&query, path)?;
                if before == variable {
                    return match &value {
                        Value::List(_) | Value::Map(_) => self.revisit(&value, rounds, path, depth + 1),
                        _ => Ok(value),
                    };
                }
                let mut embedded = String::new();
                push(&mut embedded, &value);
                if shallow {
                    embedded = embedded.replace("{{", "\\{{");
                }
                // The character before belongs to what is replaced, so an escaped twin is left alone.
                text = match prefix {
                    Some(c) => text.replacen(&format!("{c}{variable}"), &format!("{c}{embedded}"), 1),
                    None => text.replacen(variable, &embedded, 1),
                };
                if text.len() > MAX_TEXT {
                    return Err(format!("failed to resolve {expr} at path {path}: the text grows too large"));
                }
            }
            if shallow {
                return Ok(Value::from(text.replace("\\{{", "{{")));
            }
        }
        Err(format!("failed to resolve variables at path {path}: they lead back to themselves"))
    }
}

/// Queries by the address of the names they were made for and the text.
type Compiled = HashMap<(usize, String), (Arc<[Str]>, Arc<Query>)>;

thread_local! {
    /// Queries of texts that are put together at run time: the same ones come again and again.
    static COMPILED: RefCell<Compiled> = RefCell::default();
}

/// How many of them are kept.
const MAX_COMPILED: usize = 1024;

/// The query of a text. The names it was made for are kept with it, so that their address stays
/// theirs.
fn compiled(rounds: &Rounds, text: &str) -> Arc<Query> {
    let key = (Arc::as_ptr(&rounds.names).cast::<u8>() as usize, text.to_string());
    COMPILED.with_borrow_mut(|known| {
        if let Some((_, query)) = known.get(&key) {
            return query.clone();
        }
        let query = Arc::new((rounds.compile)(text, &rounds.names));
        if known.len() >= MAX_COMPILED {
            known.clear();
        }
        known.insert(key, (rounds.names.clone(), query.clone()));
        query
    })
}

/// Whether a text holds `{{`; most texts have no brace at all.
fn holds_braces(text: &str) -> bool {
    memchr::memchr(b'{', text.as_bytes()).is_some() && text.contains("{{")
}

/// A result inside of a text: strings raw, everything else as JSON.
fn push(out: &mut String, v: &Value) {
    match v {
        Value::Str(s) => out.push_str(s),
        v => out.push_str(&json(v)),
    }
}
