//! Filling in templates.
//!
//! In: a template and a rule's data. Out: the document with every variable replaced, or the text of
//! the first failure. A text whose results bring in new variables is resolved in rounds until none
//! is left. The semantics' source is `docs/variables.md`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use crate::functions::unforeseen;
use crate::ir::template::{Hole, Part, Rounds, Text};
use crate::ir::{Query, Template};
use crate::value::print::json;
use crate::value::variables::{expression, find_variables};
use crate::value::{Map, Str, Value};

use super::data::{Data, Trouble};

/// A text that has not come to rest after this many rounds feeds on itself.
const MAX_ROUNDS: usize = 64;

/// What can make another expression of the text around it.
const BREAKING: [char; 7] = ['{', '}', '\'', '"', '`', '\\', '$'];

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

    /// What a template stands for, where that need not be put together; `None` = [`Data::fill`] does that.
    ///
    /// # Errors
    /// As [`Data::fill`].
    pub fn seen<'t>(&'t mut self, template: &'t Template) -> Result<Option<Cow<'t, Value>>, String> {
        match template {
            Template::Const(v) => Ok(Some(Cow::Borrowed(v))),
            Template::Whole(hole) => {
                let deleting = self.world.deleting;
                let found = self.look(&hole.query);
                let found = found.map_err(|t| unresolved(&hole.query, deleting, &hole.rounds.path, &t))?;
                Ok((!brings_variables(&found)).then_some(found))
            }
            _ => Ok(None),
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
        self.query(query).map_err(|trouble| unresolved(query, self.world.deleting, path, &trouble))
    }

    fn whole(&mut self, hole: &Hole) -> Result<Value, String> {
        let value = self.resolve(&hole.query, &hole.rounds.path)?;
        match brings_variables(&value) {
            true => self.revisit(&value, &hole.rounds, &hole.rounds.path, 1),
            false => Ok(value),
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
            unforeseen::note();
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
            Value::Str(s) if s.contains("{{") => {
                unforeseen::note();
                self.rounds(rounds, s, path, depth + 1)
            }
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
        unforeseen::note();
        match self.rounds(rounds, k, path, depth + 1)? {
            Value::Str(s) => Ok(Some(s)),
            Value::Null => Ok(None),
            _ => Err(format!("expected string after substituting variables in key \"{k}\"")),
        }
    }

    fn rounds(&mut self, rounds: &Rounds, source: &str, path: &str, depth: usize) -> Result<Value, String> {
        let mut text = Cow::Borrowed(source);
        for _ in 0..MAX_ROUNDS {
            let round = round(rounds, &text);
            let Some(last) = round.last() else {
                return Ok(Value::from(text.replace("\\{{", "{{")));
            };
            let before = text.clone();
            for Found { at, behind, expr, shallow, query } in round.iter() {
                let Some(variable) = before.get(at.clone()) else { continue };
                let current;
                let query = match query {
                    Some(query) => query,
                    None => {
                        current = (rounds.compile)(&rounds.current, &rounds.names);
                        &current
                    }
                };
                let value = self.resolve(query, path)?;
                if before == variable {
                    return match &value {
                        Value::List(_) | Value::Map(_) => self.revisit(&value, rounds, path, depth + 1),
                        _ => Ok(value),
                    };
                }
                let mut embedded = String::new();
                push(&mut embedded, &value);
                if embedded.contains(BREAKING) {
                    unforeseen::note();
                }
                if *shallow {
                    embedded = embedded.replace("{{", "\\{{");
                }
                text = match behind {
                    _ if round.len() == 1 => {
                        let (head, tail) = (before.get(..at.start), before.get(at.end..));
                        [head.unwrap_or_default(), &*embedded, tail.unwrap_or_default()].concat()
                    }
                    // The character before belongs to what is replaced, so an escaped twin is left alone.
                    Some(c) => text.replacen(&format!("{c}{variable}"), &format!("{c}{embedded}"), 1),
                    None => text.replacen(variable, &embedded, 1),
                }
                .into();
                if text.len() > MAX_TEXT {
                    return Err(format!("failed to resolve {expr} at path {path}: the text grows too large"));
                }
            }
            if last.shallow {
                return Ok(Value::from(text.replace("\\{{", "{{")));
            }
        }
        Err(format!("failed to resolve variables at path {path}: they lead back to themselves"))
    }
}

/// A variable of a text that is resolved in rounds.
struct Found {
    /// Where it is, braces included.
    at: Range<usize>,
    /// The character before it.
    behind: Option<char>,
    /// Its expression.
    expr: String,
    /// Its result is not looked through for variables.
    shallow: bool,
    /// What to run; `None` = what a lone `@` stands for.
    query: Option<Query>,
}

fn found(rounds: &Rounds, text: &str) -> Arc<[Found]> {
    let one = |at: Range<usize>| {
        let whole = expression(text.get(at.clone()).unwrap_or_default());
        let (shallow, expr) = match whole.strip_prefix('-') {
            Some(rest) => (true, rest.trim().to_string()),
            None => (false, whole),
        };
        let behind = text.get(..at.start).and_then(|s| s.chars().next_back());
        let query = (expr != "@").then(|| (rounds.compile)(&expr, &rounds.names));
        Found { at, behind, expr, shallow, query }
    };
    find_variables(text).into_iter().map(one).collect()
}

/// What was found in texts, by the address of the names in scope; the names are kept, so that their
/// address stays theirs.
type Texts = HashMap<usize, (Arc<[Str]>, HashMap<Box<str>, Arc<[Found]>>)>;

thread_local! {
    /// Texts that are put together at run time: the same ones come again and again.
    static TEXTS: RefCell<Texts> = RefCell::default();
}

/// How many of them are kept for the same names, and for how many names.
const MAX_TEXTS: usize = 1024;

/// The variables of a text.
fn round(rounds: &Rounds, text: &str) -> Arc<[Found]> {
    let names = Arc::as_ptr(&rounds.names).cast::<u8>() as usize;
    let known = TEXTS.with_borrow(|all| all.get(&names)?.1.get(text).cloned());
    if let Some(known) = known {
        return known;
    }
    let new = found(rounds, text);
    TEXTS.with_borrow_mut(|all| {
        if all.len() >= MAX_TEXTS {
            all.clear();
        }
        let (_, texts) = all.entry(names).or_insert_with(|| (rounds.names.clone(), HashMap::new()));
        if texts.len() >= MAX_TEXTS {
            texts.clear();
        }
        texts.insert(text.into(), new.clone());
    });
    new
}

fn unresolved(query: &Query, deleting: bool, path: &str, trouble: &Trouble) -> String {
    let shown = match &query.on_delete {
        Some(other) if deleting => &other.text,
        _ => &query.text,
    };
    format!("failed to resolve {shown} at path {path}: {trouble}")
}

/// Whether data that replaced a variable has variables inside.
fn brings_variables(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_)) && value.any_text(&holds_braces)
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
