//! A dry substitution: every reference and variable of a document is resolved against nothing.
//!
//! In: a document and what variables it may use. Out: the first that cannot be. A variable that is
//! allowed counts as null. Semantics: section 5.3 of the policy object specification; 4.1, 4.2 and
//! 4.4 of the specification of conditions and variables.

use ephor_value::place::{Path, PathPart};
use ephor_value::variables::{expression, find_references, find_variables};
use ephor_value::{Value, wildcard};

use super::subject::Cause;

/// What a document may use.
pub struct Allowed<'a> {
    /// The alternatives of the regular expression that an expression must match somewhere; the
    /// last, a function call, is understood apart.
    pub words: &'static [&'static str],
    /// Wildcard patterns for whole expressions, contributed by context entries.
    pub patterns: &'a [String],
    /// The parser of expressions.
    pub parse: fn(&str) -> Result<(), Cause>,
}

/// The alternative for function calls.
const CALL: &str = r"([a-z_0-9]+\()[^{}]";

impl Allowed<'_> {
    fn regex(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| word.replace('.', r"\.")).collect();
        format!("{}|{CALL}", words.join("|"))
    }

    fn check(&self, query: &str) -> Result<(), Unresolvable> {
        let query = query.replace('"', "");
        let is_allowed = self.words.iter().any(|word| query.contains(word))
            || has_call(&query)
            || self.patterns.iter().any(|pattern| wildcard::matches(pattern, &query));
        if is_allowed {
            return Ok(());
        }
        let patterns = self.patterns.join(" ");
        Err(Unresolvable::NotAllowed {
            query: query.into(),
            regex: self.regex().into(),
            patterns: patterns.into(),
        })
    }
}

/// Whether a word character, an opening bracket and a character other than braces follow each
/// other.
fn has_call(query: &str) -> bool {
    query.match_indices('(').any(|(at, _)| {
        let before = query.get(..at).and_then(|head| head.chars().next_back());
        let after = query.get(at + 1..).and_then(|tail| tail.chars().next());
        before.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && after.is_some_and(|c| !matches!(c, '{' | '}'))
    })
}

/// Why a reference or a variable cannot be resolved; places have the form `/validate/message`.
#[derive(Debug, thiserror::Error)]
pub enum Unresolvable {
    /// The variable is not one that the document may use.
    #[error("variable {query} must match regex \"{regex}\" or patterns [{patterns}]")]
    NotAllowed { query: Box<str>, regex: Box<str>, patterns: Box<str> },
    /// The variable, at this place, has no expression.
    #[error("failed to resolve  at path {0}: invalid query (nil)")]
    NoQuery(Box<str>),
    /// The variable is no expression.
    #[error("failed to resolve {query} at path {place}: invalid JMESPath query {query}: {cause}")]
    Query {
        query: Box<str>,
        place: Box<str>,
        #[source]
        cause: Cause,
    },
    /// The operator of the reference does not go with what it refers to.
    #[error(
        "failed to resolve {reference} at path {place}: incorrect expression: operator {operator} does not \
         match with value {value}"
    )]
    Operator { reference: Box<str>, place: Box<str>, operator: &'static str, value: Box<str> },
    /// The reference refers to nothing.
    #[error("got nil resolved variable {reference} at path {place}: <nil>")]
    Nil { reference: Box<str>, place: Box<str> },
    /// The reference refers to something that is no text.
    #[error("NotResolvedReferenceErr,reference {reference} not resolved at path {place}")]
    NoText { reference: Box<str>, place: Box<str> },
}

/// A failed resolution and its place in the document.
pub type Failure = (Unresolvable, Path);

/// Resolves all references, then all variables of `document`.
pub fn resolve(document: &Value, allowed: &Allowed<'_>) -> Result<(), Failure> {
    each_text(document, &mut |text, path| references(document, text, path))?;
    each_text(document, &mut |text, path| variables(text, path, allowed))
}

/// Calls `visit` with every string and every key (at the place of its object).
pub fn each_text<E>(document: &Value, visit: &mut dyn FnMut(&str, &Path) -> Result<(), E>) -> Result<(), E> {
    walk(document, &mut Path::new(), visit)
}

fn walk<E>(
    value: &Value,
    path: &mut Path,
    visit: &mut dyn FnMut(&str, &Path) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        Value::Str(text) => visit(text, path)?,
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(PathPart::Index(index));
                walk(item, path, visit)?;
                path.pop();
            }
        }
        Value::Map(fields) => {
            for (key, item) in fields.iter() {
                visit(key, path)?;
                path.push(PathPart::Key(key.clone()));
                walk(item, path, visit)?;
                path.pop();
            }
        }
        _ => {}
    }
    Ok(())
}

/// A place in the form `/validate/message`; a slash in a key is escaped.
pub fn slashed(path: &[PathPart]) -> String {
    let parts = path.iter().map(|part| match part {
        PathPart::Key(key) => format!("/{}", key.replace('/', r"\/")),
        PathPart::Index(index) => format!("/{index}"),
    });
    parts.collect()
}

fn variables(text: &str, path: &Path, allowed: &Allowed<'_>) -> Result<(), Failure> {
    if !text.contains("{{") {
        return Ok(());
    }
    let mut text = text.to_owned();
    loop {
        let found: Vec<String> = find_variables(&text)
            .into_iter()
            .filter_map(|range| text.get(range).map(str::to_owned))
            .collect();
        let Some(last) = found.last() else { return Ok(()) };
        let is_last_round = expression(last).starts_with('-');
        for variable in &found {
            let query = expression(variable);
            let query = query.strip_prefix('-').unwrap_or(&query).trim();
            resolve_one(query, path, allowed).map_err(|cause| (cause, path.clone()))?;
            text = text.replacen(variable.as_str(), "null", 1);
        }
        if is_last_round {
            return Ok(());
        }
    }
}

fn resolve_one(query: &str, path: &Path, allowed: &Allowed<'_>) -> Result<(), Unresolvable> {
    let place = || slashed(path).into();
    if query == "@" {
        return Ok(());
    }
    if query.is_empty() {
        return Err(Unresolvable::NoQuery(place()));
    }
    (allowed.parse)(query).map_err(|cause| Unresolvable::Query {
        query: query.into(),
        place: place(),
        cause,
    })?;
    allowed.check(query)
}

fn references(document: &Value, text: &str, path: &Path) -> Result<(), Failure> {
    if !text.contains("$(") {
        return Ok(());
    }
    for range in find_references(text) {
        let Some(reference) = text.get(range) else { continue };
        reference_resolves(document, reference, path).map_err(|cause| (cause, path.clone()))?;
    }
    Ok(())
}

fn reference_resolves(document: &Value, reference: &str, path: &Path) -> Result<(), Unresolvable> {
    let inner = reference.strip_prefix("$(").and_then(|r| r.strip_suffix(')')).unwrap_or(reference);
    let operator = [">=", "<=", ">", "<", "!"].into_iter().find(|op| inner.starts_with(op)).unwrap_or("");
    let target = inner.get(operator.len()..).unwrap_or("");
    let place = slashed(path);
    let steps = if target.starts_with('/') { cleaned("", target) } else { cleaned(&place, target) };
    let unfit = |value: &str| {
        let (reference, place, value) = (reference.into(), place.as_str().into(), value.into());
        Err(Unresolvable::Operator { reference, place, operator, value })
    };
    match leaf(document, &steps).filter(|_| !target.is_empty()) {
        Some(Value::Str(_)) => Ok(()),
        None | Some(Value::Null | Value::Map(_) | Value::List(_)) => {
            if operator.is_empty() || target.is_empty() {
                return Err(Unresolvable::Nil { reference: reference.into(), place: place.into() });
            }
            unfit("<nil>")
        }
        Some(_) if operator.is_empty() => {
            Err(Unresolvable::NoText { reference: reference.into(), place: place.into() })
        }
        Some(Value::Bool(b)) => unfit(&b.to_string()),
        Some(_) => Ok(()),
    }
}

/// The steps of `target` behind `base`, with `.` and `..` resolved.
fn cleaned(base: &str, target: &str) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    for step in base.split('/').chain(target.split('/')) {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step.to_owned()),
        }
    }
    steps
}

/// The value at `steps`; the anchors of the document's keys do not count.
fn leaf<'v>(document: &'v Value, steps: &[String]) -> Option<&'v Value> {
    steps.iter().try_fold(document, |at, step| match at {
        Value::List(items) => step.parse().ok().and_then(|index: usize| items.get(index)),
        Value::Map(fields) => {
            fields.iter().find(|(key, _)| without_anchor(key) == step.as_str()).map(|(_, value)| value)
        }
        _ => None,
    })
}

/// The key inside an anchor, or the key itself.
fn without_anchor(key: &str) -> &str {
    let inner = key.strip_prefix(['+', '<', '=', 'X', '^']).unwrap_or(key);
    match inner.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) if !inner.is_empty() => inner,
        _ => key,
    }
}
