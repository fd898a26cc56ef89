//! Filling in templates.
//!
//! In: a template and a rule's data. Out: the document with every variable replaced, or the first
//! error. A text whose results bring in new variables is resolved in rounds until none
//! is left. A variable whose value holds the variable itself would never end: it is an error, and
//! so is what exceeds the bounds of `Expansion`; the rule ends with it, whatever else absorbs
//! failures of variables. The semantics' source is `docs/semantics/variables.md`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use ephor_functions::untracked;
use ephor_ir::late::Late;
use ephor_ir::template::{Hole, Part, Rounds, Text};
use ephor_ir::{Query, Template};
use ephor_value::print::json;
use ephor_value::variables::{expression, find_all_variables, find_variables};
use ephor_value::{Map, Str, Value, budget, stack};

use super::data::Data;
use super::error::{FillError, QueryError, UnresolvedVariable, VariableError};

/// A text that still has variables after this many rounds is self-referential. A policy that needs
/// more gets an error.
const MAX_ROUNDS: usize = 64;

/// Substitutions in one rule of variables that data brought in.
const MAX_SUBSTITUTIONS: u32 = 100_000;

/// Bytes that are copied in one rule while variables are substituted in rounds.
const MAX_COPIED: usize = 256 << 20;

/// What can make another expression of the text around it.
const BREAKING: [char; 7] = ['{', '}', '\'', '"', '`', '\\', '$'];

/// A text that grows beyond this while variables are put in is refused, as is one for which more is
/// copied.
const MAX_TEXT: usize = 64 << 20;

/// What stands for the expression where several variables have no end together.
const VARIABLES: &str = "variables";

/// What the variables of one rule have expanded to so far.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    /// The expressions whose values are being searched for variables, outermost first.
    open: Vec<Str>,
    /// Substitutions of variables that data brought in.
    brought: u32,
    /// Bytes copied in rounds.
    copied: usize,
}

impl Expansion {
    /// One more substitution into a text of this many bytes. `brought`: by data.
    fn substitute(&mut self, bytes: usize, brought: bool) -> bool {
        self.brought = self.brought.saturating_add(u32::from(brought));
        self.copied = self.copied.saturating_add(bytes);
        self.brought <= MAX_SUBSTITUTIONS && self.copied <= MAX_COPIED
    }
}

impl Data<'_> {
    /// Fills in a template.
    ///
    /// # Errors
    /// A variable has no value, or a key is no string.
    pub fn fill(&mut self, template: &Template) -> Result<Value, FillError> {
        match template {
            Template::Const(v) => Ok(v.clone()),
            Template::Whole(hole) => self.whole(hole),
            Template::Text(text) => self.text(text),
            Template::Rounds(rounds) => self.rounds(rounds, &rounds.source, &rounds.path, 0),
            Template::Fail(text) => Err(FillError::Broken(text.clone())),
            Template::List(items) => {
                let filled: Result<Vec<Value>, FillError> = items.iter().map(|t| self.fill(t)).collect();
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

    /// The value of a template where it can be borrowed; `None` = [`Data::fill`] builds it.
    ///
    /// # Errors
    /// As [`Data::fill`].
    pub fn fill_borrowed<'t>(
        &'t mut self,
        template: &'t Template,
    ) -> Result<Option<Cow<'t, Value>>, FillError> {
        match template {
            Template::Const(v) => Ok(Some(Cow::Borrowed(v))),
            Template::Whole(hole) => {
                let deleting = self.world.deleting;
                let found = self.look(&hole.query);
                let found = found.map_err(|e| unresolved(&hole.query, deleting, &hole.rounds.path, e))?;
                Ok((!brings_variables(&found)).then_some(found))
            }
            _ => Ok(None),
        }
    }

    /// A key must become a string; null leaves it as it was.
    fn key(&mut self, key: &Template) -> Result<Str, FillError> {
        let source = || match key {
            Template::Whole(hole) => hole.rounds.source.clone(),
            Template::Text(text) => text.rounds.source.clone(),
            Template::Rounds(rounds) => rounds.source.clone(),
            _ => Str::default(),
        };
        match self.fill(key)? {
            Value::Str(s) => Ok(s),
            Value::Null => Ok(source()),
            _ => Err(FillError::Key(source())),
        }
    }

    fn resolve(&mut self, query: &Query, path: &str) -> Result<Value, FillError> {
        self.query(query).map_err(|error| unresolved(query, self.world.deleting, path, error))
    }

    fn whole(&mut self, hole: &Hole) -> Result<Value, FillError> {
        let value = self.resolve(&hole.query, &hole.rounds.path)?;
        match brings_variables(&value) {
            true => self.expand(&hole.query.text, &value, &hole.rounds, &hole.rounds.path, 1),
            false => Ok(value),
        }
    }

    /// Fills in the variables inside of the value of an expression.
    fn expand(
        &mut self,
        expr: &Str,
        value: &Value,
        rounds: &Rounds,
        path: &str,
        depth: usize,
    ) -> Result<Value, FillError> {
        self.expansion.open.push(expr.clone());
        let filled = self.revisit(value, rounds, path, depth);
        self.expansion.open.pop();
        filled
    }

    fn text(&mut self, text: &Text) -> Result<Value, FillError> {
        let mut out = String::new();
        for part in &text.parts {
            match part {
                Part::Literal(s) => out.push_str(s),
                Part::Hole(query) => {
                    let v = self.resolve(query, &text.rounds.path)?;
                    let before = out.len();
                    push(&mut out, &v);
                    let made = out.len() - before;
                    let fits = budget::take(made).and_then(|()| budget::steps(made >> 8));
                    fits.map_err(|fault| {
                        failed(&query.text, &text.rounds.path, VariableError::Budget(fault))
                    })?;
                    if out.len() > MAX_TEXT {
                        return Err(self.endless(&query.text, &text.rounds.path, VariableError::TooLarge));
                    }
                }
            }
        }
        if holds_braces(&out) {
            untracked::note();
            return self.rounds(&text.rounds, &text.rounds.source, &text.rounds.path, 0);
        }
        Ok(Value::from(out))
    }

    /// Variables inside of data that replaced a variable are filled in too.
    fn revisit(&mut self, v: &Value, rounds: &Rounds, path: &str, depth: usize) -> Result<Value, FillError> {
        if depth > MAX_ROUNDS {
            return Err(self.endless(&VARIABLES.into(), path, VariableError::OneAnother));
        }
        // Each level keeps its path.
        let within = budget::step().and_then(|()| budget::take(path.len()));
        within.map_err(|fault| failed(&VARIABLES.into(), path, VariableError::Budget(fault)))?;
        match v {
            Value::Str(s) if s.contains("{{") => {
                untracked::note();
                self.rounds(rounds, s, path, depth + 1)
            }
            Value::List(l) => {
                let mut items = Vec::with_capacity(l.len());
                for (i, v) in l.iter().enumerate() {
                    let below = format!("{path}/{i}");
                    items.push(stack::deep(|| self.revisit(v, rounds, &below, depth))?);
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
                    entries.push((key, stack::deep(|| self.revisit(v, rounds, &below, depth))?));
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
    ) -> Result<Option<Str>, FillError> {
        if !k.contains("{{") {
            return Ok(None);
        }
        untracked::note();
        match self.rounds(rounds, k, path, depth + 1)? {
            Value::Str(s) => Ok(Some(s)),
            Value::Null => Ok(None),
            _ => Err(FillError::Key(k.clone())),
        }
    }

    fn rounds(
        &mut self,
        rounds: &Rounds,
        source: &str,
        path: &str,
        depth: usize,
    ) -> Result<Value, FillError> {
        let mut text = Cow::Borrowed(source);
        // The expressions whose values hold them.
        let mut own: Vec<Str> = Vec::new();
        let mut copied = 0usize;
        for nth in 0..MAX_ROUNDS {
            let Some(round) = round(rounds, &text, self.world.late) else {
                return Err(self.endless(&VARIABLES.into(), path, VariableError::TooMany));
            };
            let Some(last) = round.last() else {
                return Ok(Value::from(text.replace("\\{{", "{{")));
            };
            let before = text.clone();
            for FoundVariable { at, behind, expr, shallow, query } in round.iter() {
                let Some(variable) = before.get(at.clone()) else { continue };
                let current;
                let query = match query {
                    Some(query) => query,
                    None => {
                        current = self.world.late.query(&rounds.current, &rounds.names);
                        &current
                    }
                };
                let is_open = own.contains(expr) || self.expansion.open.contains(expr);
                if is_open && !shallow {
                    return Err(self.endless(expr, path, VariableError::Itself));
                }
                copied = copied.saturating_add(text.len());
                if !self.expansion.substitute(text.len(), nth + depth > 0) || copied > MAX_TEXT {
                    return Err(self.endless(expr, path, VariableError::TooMuch));
                }
                budget::steps(1 + (text.len() >> 8))
                    .map_err(|fault| failed(expr, path, VariableError::Budget(fault)))?;
                let value = self.resolve(query, path)?;
                if before == variable {
                    return match &value {
                        Value::List(_) | Value::Map(_) if *shallow => {
                            self.revisit(&value, rounds, path, depth + 1)
                        }
                        Value::List(_) | Value::Map(_) => self.expand(expr, &value, rounds, path, depth + 1),
                        _ => Ok(value),
                    };
                }
                let mut embedded = String::new();
                push(&mut embedded, &value);
                if embedded.contains(BREAKING) {
                    untracked::note();
                }
                if *shallow {
                    embedded = embedded.replace("{{", "\\{{");
                } else if holds(&embedded, expr) {
                    own.push(expr.clone());
                }
                text = match behind {
                    _ if round.len() == 1 => {
                        let (head, tail) = (before.get(..at.start), before.get(at.end..));
                        [head.unwrap_or_default(), &*embedded, tail.unwrap_or_default()].concat()
                    }
                    // The character before belongs to what is replaced, so an escaped twin is left
                    // alone.
                    Some(c) => text.replacen(&format!("{c}{variable}"), &format!("{c}{embedded}"), 1),
                    None => text.replacen(variable, &embedded, 1),
                }
                .into();
                if text.len() > MAX_TEXT {
                    return Err(self.endless(expr, path, VariableError::TooMuch));
                }
            }
            if last.shallow {
                return Ok(Value::from(text.replace("\\{{", "{{")));
            }
        }
        Err(self.endless(&VARIABLES.into(), path, VariableError::OneAnother))
    }

    /// The failure of variables that have no end, which ends the rule.
    fn endless(&self, expr: &Str, path: &str, cause: VariableError) -> FillError {
        let error = failed(expr, path, cause);
        budget::refuse(&error.to_string());
        error
    }
}

/// Whether a text has the variable of this expression.
fn holds(text: &str, expr: &str) -> bool {
    holds_braces(text)
        && find_all_variables(text).into_iter().any(|at| {
            let variable = text.get(at).unwrap_or_default();
            // Most variables are another one, which is seen without putting the expression
            // together.
            variable.contains(expr) && expression(variable) == expr
        })
}

/// A variable of a text that is resolved in rounds.
struct FoundVariable {
    /// Where it is, braces included.
    at: Range<usize>,
    /// The character before it.
    behind: Option<char>,
    /// Its expression.
    expr: Str,
    /// Its result is not looked through for variables.
    shallow: bool,
    /// What to run; `None` = what a lone `@` stands for.
    query: Option<Query>,
}

fn found(rounds: &Rounds, text: &str, late: &dyn Late) -> Option<Arc<[FoundVariable]>> {
    let one = |at: Range<usize>| {
        let whole = expression(text.get(at.clone()).unwrap_or_default());
        let (shallow, expr) = match whole.strip_prefix('-') {
            Some(rest) => (true, rest.trim().to_string()),
            None => (false, whole),
        };
        let behind = text.get(..at.start).and_then(|s| s.chars().next_back());
        let query = (expr != "@").then(|| late.query(&expr, &rounds.names));
        FoundVariable { at, behind, expr: expr.into(), shallow, query }
    };
    let variables = find_variables(text);
    (variables.len() <= MAX_VARIABLES).then(|| variables.into_iter().map(one).collect())
}

/// The variables of texts.
type ByText = HashMap<Box<str>, Arc<[FoundVariable]>>;

/// What was found in texts, by the address of the names in scope; the names are retained, so that
/// no other ones get their address.
#[derive(Default)]
struct Texts {
    all: HashMap<usize, (Arc<[Str]>, ByText)>,
    /// What they weigh together, roughly in bytes.
    weight: usize,
}

impl Texts {
    fn get(&self, names: usize, text: &str) -> Option<Arc<[FoundVariable]>> {
        self.all.get(&names)?.1.get(text).cloned()
    }

    /// Data may be in these texts: all of them together are limited, however many policies and
    /// requests there are.
    fn insert(&mut self, names: usize, rounds: &Rounds, text: &str, found: &Arc<[FoundVariable]>) {
        let weight = 256 + text.len() + found.len() * QUERY_WEIGHT;
        if weight > MAX_WEIGHT / 16 {
            return;
        }
        if self.weight + weight > MAX_WEIGHT {
            *self = Texts::default();
        }
        self.weight += weight;
        let (_, texts) = self.all.entry(names).or_insert_with(|| (rounds.names.clone(), HashMap::new()));
        texts.insert(text.into(), found.clone());
    }
}

thread_local! {
    /// Texts that are put together at run time: the same ones come again and again.
    static TEXTS: RefCell<Texts> = RefCell::default();
}

/// What the texts that a thread keeps may weigh. Beyond it the cache begins anew, which costs one
/// parse a text.
const MAX_WEIGHT: usize = 16 << 20;

/// What a compiled variable weighs, roughly in bytes.
const QUERY_WEIGHT: usize = 2 << 10;

/// Longer texts are not cached. They hardly come a second time.
const MAX_CACHED: usize = 16 << 10;

/// Variables that a text may have at once.
const MAX_VARIABLES: usize = 10_000;

/// The variables of a text; `None` = too many.
fn round(rounds: &Rounds, text: &str, late: &dyn Late) -> Option<Arc<[FoundVariable]>> {
    if text.len() > MAX_CACHED {
        return found(rounds, text, late);
    }
    let names = Arc::as_ptr(&rounds.names).cast::<u8>() as usize;
    let known = TEXTS.with_borrow(|texts| texts.get(names, text));
    if known.is_some() {
        return known;
    }
    let new = found(rounds, text, late)?;
    TEXTS.with_borrow_mut(|texts| texts.insert(names, rounds, text, &new));
    Some(new)
}

fn unresolved(query: &Query, deleting: bool, path: &str, error: QueryError) -> FillError {
    let shown = match &query.on_delete {
        Some(other) if deleting => &other.text,
        _ => &query.text,
    };
    failed(shown, path, VariableError::Query(error))
}

fn failed(expression: &Str, path: &str, cause: VariableError) -> FillError {
    let (expression, path) = (expression.clone(), path.into());
    FillError::Variable(Box::new(UnresolvedVariable { expression, path, cause }))
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
        v => out.push_str(&two_digits(json(v))),
    }
}

/// JSON whose exponents below zero have two digits, as in texts of Kyverno: `1e-07`.
fn two_digits(text: String) -> String {
    if !text.contains("e-") {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 1);
    let (mut in_string, mut escaped, mut rest) = (false, false, text.chars().peekable());
    while let Some(c) = rest.next() {
        out.push(c);
        in_string ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        // Outside of strings only numbers have a dash behind an `e`.
        if c == '-' && !in_string && out.ends_with("e-") {
            let digit = rest.next();
            out.push_str(if rest.peek().is_some_and(char::is_ascii_digit) { "" } else { "0" });
            out.extend(digit);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_ir::late::Late;
    use ephor_ir::matcher::Selector;
    use ephor_ir::mutate::Layer;
    use ephor_ir::shape::Pattern;
    use ephor_ir::template::{Needs, Template};

    /// Takes every text for a query that cannot be parsed.
    #[derive(Debug)]
    struct Unparsed;

    impl Late for Unparsed {
        fn query(&self, text: &str, names: &[Str]) -> Query {
            self.plain_query(text, names)
        }
        fn plain_query(&self, text: &str, _: &[Str]) -> Query {
            let (text, expr, needs) = (text.into(), Err("no language".into()), Needs::default());
            Query { sorts: false, text, expr, needs, on_delete: None }
        }
        fn text(&self, text: &Str, _: &[Str]) -> Template {
            Template::Const(Value::Str(text.clone()))
        }
        fn document(&self, document: &Value, _: &[Str]) -> Template {
            Template::Const(document.clone())
        }
        fn pattern(&self, _: &Value) -> Option<Pattern> {
            None
        }
        fn layer(&self, _: &Value) -> Option<Layer> {
            None
        }
        fn selector(&self, _: &Value) -> Option<Selector> {
            None
        }
    }

    #[test]
    fn exponents_in_texts_have_two_digits() {
        let json = r#"{"e-1":"1e-7\"e-1","n":[1e-7,-1.5e-9,2e-10,1e+21]}"#;
        assert_eq!(two_digits(json.into()), r#"{"e-1":"1e-7\"e-1","n":[1e-07,-1.5e-09,2e-10,1e+21]}"#);
        assert_eq!(two_digits("1e-7".into()), "1e-07");
    }

    #[test]
    fn cached_texts_weigh_no_more_than_their_limit() {
        let names: Arc<[Str]> = Arc::from([]);
        let rounds = Rounds { source: "".into(), path: "".into(), names, current: "".into() };
        let round = |rounds: &Rounds, text: &str| super::round(rounds, text, &Unparsed);
        for n in 0..2_000 {
            let text = format!("{n}{}", " {{a}}".repeat(100));
            assert_eq!(round(&rounds, &text).map(|found| found.len()), Some(100));
        }
        assert!(round(&rounds, &" {{a}}".repeat(2_000)).is_some());
        TEXTS.with_borrow(|texts| {
            let weight: usize =
                texts.all.values().flat_map(|(_, t)| t.values()).map(|f| f.len() * QUERY_WEIGHT).sum();
            assert!(weight > 0 && weight <= MAX_WEIGHT, "{weight}");
        });
    }
}
