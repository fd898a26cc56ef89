//! Variables and JMESPath queries of rules: syntax, functions, names, and fields that the kinds of
//! the rule do not have.
//!
//! In: a rule as it is written, with the types of its kinds. Out: findings at the character of the
//! text. The walk knows which texts are queries by themselves (`list` of loops, `jmesPath`) and
//! what each query begins with.
use ephor_value::place::{Path, PathPart};
use ephor_value::suggest::did_you_mean;
use ephor_value::variables::find_all_variables;
use ephor_value::{Map, Value};

use super::finding::Severity;
use super::jmespath;
use super::shape::{BUILT_IN, Names, Shape, Unknown, evaluate};
use super::subject::{Remedy, Spot, Subject, item, with};

/// Checks all texts below a value, `path` its place.
pub(super) fn check(subject: &mut Subject<'_>, value: &Value, path: &Path, names: &Names<'_>) {
    match value {
        Value::Str(text) => template(subject, text, path, names),
        Value::List(items) => {
            for (i, part) in items.iter().enumerate() {
                let at: Path = path.iter().cloned().chain([PathPart::Index(i)]).collect();
                check(subject, part, &at, names);
            }
        }
        Value::Map(fields) => {
            for (key, part) in fields.iter() {
                let at = with(path, key);
                match (&**key, part) {
                    ("foreach", Value::List(loops)) => {
                        for (i, entry) in loops.iter().enumerate() {
                            one_loop(subject, entry, &item(path, key, i), names);
                        }
                    }
                    ("context", Value::List(entries)) => {
                        for (i, entry) in entries.iter().enumerate() {
                            context(subject, entry, &item(path, key, i), names);
                        }
                    }
                    // What an attestation says has fields of its own.
                    ("attestations", _) => {
                        check(subject, part, &at, &Names { defined: None, ..names.clone() })
                    }
                    ("imageExtractors", _) => queries_below(subject, part, &at, names),
                    ("cel" | "celPreconditions" | "matchConditions", _) => {}
                    _ => check(subject, part, &at, names),
                }
            }
        }
        _ => {}
    }
}

/// A loop: its list, then everything in it with the element's type.
fn one_loop(subject: &mut Subject<'_>, entry: &Value, path: &Path, names: &Names<'_>) {
    let list = entry.text_at(&["list"]);
    let shape = match list.contains("{{") {
        true => {
            template(subject, list, &with(path, "list"), names);
            Shape::Any
        }
        false => query(subject, list, 0, &with(path, "list"), &Shape::Root, names),
    };
    let inside = Names { element: shape.items(), ..names.clone() };
    check(subject, &without(entry, "list"), path, &inside);
}

/// The type of the elements of a loop; nothing is reported.
pub(super) fn element(entry: &Value, names: &Names<'_>) -> Shape {
    let list = entry.text_at(&["list"]);
    match ephor_jmespath::parse(list.trim()) {
        Ok(ast) if !list.contains("{{") => evaluate(&ast, &Shape::Root, names, &mut Vec::new()).items(),
        _ => Shape::Any,
    }
}

fn context(subject: &mut Subject<'_>, entry: &Value, path: &Path, names: &Names<'_>) {
    for source in ["apiCall", "globalReference", "imageRegistry", "variable"] {
        let Some(part) = entry.get(source) else { continue };
        let at = with(path, source);
        // A query on a value, an answer or an image begins with that.
        let starts = match source {
            "variable" if part.get("value").is_none_or(Value::is_null) => Shape::Root,
            _ => Shape::Any,
        };
        let text = part.text_at(&["jmesPath"]);
        match text.contains("{{") {
            true => template(subject, text, &with(&at, "jmesPath"), names),
            false => {
                query(subject, text, 0, &with(&at, "jmesPath"), &starts, names);
            }
        }
        check(subject, &without(part, "jmesPath"), &at, names);
    }
    if let Some(map) = entry.get("configMap") {
        check(subject, map, &with(path, "configMap"), names);
    }
}

fn queries_below(subject: &mut Subject<'_>, value: &Value, path: &Path, names: &Names<'_>) {
    super::subject::each_text(value, &mut path.clone(), &mut |text, at| {
        if matches!(at.last(), Some(PathPart::Key(key)) if &**key == "jmesPath") {
            query(subject, text, 0, at, &Shape::Any, names);
        }
    });
}

fn without(value: &Value, name: &str) -> Value {
    let fields = value.as_map().cloned().unwrap_or_default();
    Value::Map(
        fields.iter().filter(|(k, _)| &***k != name).map(|(k, v)| (k.clone(), v.clone())).collect::<Map>(),
    )
}

/// A text with variables. One that holds another is put together at run time, and only the inner
/// one is checked.
fn template(subject: &mut Subject<'_>, text: &str, path: &Path, names: &Names<'_>) {
    let mut rest = text.to_string();
    let mut first = true;
    while rest.contains("{{") {
        let ranges = find_all_variables(&rest);
        if ranges.is_empty() {
            break;
        }
        for range in ranges {
            let Some(inner) = rest.get(range.start + 2..range.end - 2).map(str::to_string) else { return };
            let trimmed = inner.trim_start();
            let bare = trimmed.strip_prefix('-').unwrap_or(trimmed);
            let start = range.start + 2 + inner.len() - bare.len();
            let offset = text.get(..start).map_or(0, |s| s.chars().count());
            if first {
                query(subject, bare.trim_end(), offset, path, &Shape::Root, names);
            } else {
                around(subject, bare.trim_end(), offset, path, names);
            }
            rest.replace_range(range.clone(), &"_".repeat(range.len()));
        }
        first = false;
    }
    unclosed(subject, text, &rest, path);
}

/// A query that held variables, which are blanked out: what can be reported of the rest.
fn around(subject: &mut Subject<'_>, text: &str, offset: usize, path: &Path, names: &Names<'_>) {
    let Ok(ast) = ephor_jmespath::parse(text) else { return };
    let mut found = Vec::new();
    evaluate(&ast, &Shape::Root, names, &mut found);
    found.retain(|one| match one {
        Unknown::Function(name, _) | Unknown::Field(name, ..) => !name.contains("____"),
        Unknown::Variable(..) => false,
    });
    unknown(subject, text, offset, path, names, found);
}

fn unclosed(subject: &mut Subject<'_>, text: &str, rest: &str, path: &Path) {
    for (at, _) in rest.match_indices("{{") {
        let is_escaped = rest.get(..at).is_some_and(|before| before.ends_with('\\'));
        let is_open = rest.get(at..).is_some_and(|behind| !behind.contains("}}"));
        if !is_escaped && is_open {
            let offset = text.get(..at).map_or(0, |s| s.chars().count());
            let message = "`{{` is not closed by `}}`: the text is no variable";
            let remedy = closed(subject, text, at, path);
            subject.report(
                "unclosed-variable",
                Severity::Error,
                path,
                Spot::Inside(offset, 2),
                message,
                remedy,
            );
            return;
        }
    }
}

/// The fix of a variable that begins at a byte and ends with one brace, or not before the end of
/// the text.
fn closed(subject: &Subject<'_>, text: &str, at: usize, path: &Path) -> Remedy {
    let rest = text.get(at..).unwrap_or_default();
    let braces = rest.match_indices('}').collect::<Vec<_>>();
    let edits = match braces.as_slice() {
        [(brace, _)] if !rest.contains('{') || rest.matches('{').count() == 2 => {
            vec![(at + brace..at + brace + 1, "}}".to_string())]
        }
        [] if !rest.contains('\n') => {
            let end = text.trim_end().len();
            vec![(end..end, " }}".to_string())]
        }
        _ => return Remedy::default(),
    };
    let title = "close it with `}}`".to_string();
    let fix = subject.fix_inside(path, text, &edits, title.clone(), true);
    Remedy { help: Some(title), fixes: fix.into_iter().collect() }
}

/// A query at a character of the text at `path`, and the shape of its result.
fn query(
    subject: &mut Subject<'_>,
    text: &str,
    offset: usize,
    path: &Path,
    starts: &Shape,
    names: &Names<'_>,
) -> Shape {
    let expression = text.trim();
    if expression.is_empty() {
        return Shape::Any;
    }
    let blanks = text.chars().count() - text.trim_start().chars().count();
    let at = |byte: usize, length: usize| {
        let before = expression.get(..byte).unwrap_or(expression).chars().count();
        Spot::Inside(offset + blanks + before, length)
    };
    let ast = match ephor_jmespath::parse(expression) {
        Ok(ast) => ast,
        Err(error) => {
            let message = format!(
                "`{expression}` is no JMESPath expression: {}",
                error.text.trim_start_matches("SyntaxError: ")
            );
            let remedy = mended(subject, expression, offset + blanks, path);
            subject.report("jmespath-syntax", Severity::Error, path, at(error.offset, 1), message, remedy);
            return Shape::Any;
        }
    };
    let mut found = Vec::new();
    let shape = evaluate(&ast, starts, names, &mut found);
    let literals = jmespath::literals(&ast, expression);
    for literal in &literals {
        let length = literal.written.chars().count();
        let spot = at(literal.byte, length);
        let remedy = subject.instead(path, spot, Some(&literal.meant));
        let (id, message) = ("jmespath-literal", literal.message());
        subject.report(id, Severity::Warning, path, spot, message, remedy);
    }
    found.retain(|one| !literals.iter().any(|literal| literal.byte == one.byte()));
    unknown(subject, expression, offset + blanks, path, names, found);
    for (byte, length, message) in jmespath::arguments(&ast) {
        let spot = at(byte, length);
        subject.report("invalid-argument", Severity::Warning, path, spot, message, None);
    }
    shape
}

/// What was meant by a query that does not parse: keys that need quotes.
fn mended(subject: &Subject<'_>, expression: &str, offset: usize, path: &Path) -> Remedy {
    let Some(edits) = jmespath::quoted_keys(expression) else { return Remedy::default() };
    let Some((_, key)) = edits.first() else { return Remedy::default() };
    let title = format!("quote the key: `{key}`");
    let (Some(start), Some(end)) = (edits.first().map(|e| e.0.start), edits.last().map(|e| e.0.end)) else {
        return Remedy::default();
    };
    let mut new = String::new();
    let mut at = start;
    for (range, text) in &edits {
        new.push_str(expression.get(at..range.start).unwrap_or_default());
        new.push_str(text);
        at = range.end;
    }
    let chars = |byte: usize| expression.get(..byte).map_or(0, |text| text.chars().count());
    let spot = Spot::Inside(offset + chars(start), chars(end) - chars(start));
    let fix = subject.fix(path, spot, &new, title.clone(), true);
    Remedy { help: Some(title), fixes: fix.into_iter().collect() }
}

/// Reports what is not known in the query that begins at a character of the text at `path`.
fn unknown(
    subject: &mut Subject<'_>,
    expression: &str,
    offset: usize,
    path: &Path,
    names: &Names<'_>,
    found: Vec<Unknown>,
) {
    let at = |byte: usize, length: usize| {
        let before = expression.get(..byte).unwrap_or(expression).chars().count();
        Spot::Inside(offset + before, length)
    };
    for one in found {
        match one {
            Unknown::Function(name, byte) => {
                let all: Vec<&str> = ephor_functions::all().iter().map(|f| f.name).collect();
                let spot = at(byte, name.chars().count());
                let remedy = subject.meant(path, spot, did_you_mean(&name, &all));
                let message = format!("there is no JMESPath function `{name}`");
                subject.report("unknown-function", Severity::Error, path, spot, message, remedy);
            }
            Unknown::Variable(name, byte) => {
                let defined = names.defined.unwrap_or_default().iter().map(String::as_str);
                let all: Vec<&str> = BUILT_IN.into_iter().chain(defined).collect();
                let is_quoted = expression.get(byte..).is_some_and(|rest| rest.starts_with('"'));
                let length = name.chars().count() + if is_quoted { 2 } else { 0 };
                let spot = at(byte, length);
                let remedy = match is_quoted {
                    true => {
                        let text = format!("'{name}'");
                        let title = format!("a text is written as `{text}`");
                        let fix = subject.fix(path, spot, &text, title.clone(), true);
                        Remedy { help: Some(title), fixes: fix.into_iter().collect() }
                    }
                    false => subject.meant(path, spot, did_you_mean(&name, &all)),
                };
                let message = match is_quoted {
                    true => format!("`\"{name}\"` is the name of a variable that there is none of"),
                    false => format!("there is no variable `{name}` here"),
                };
                subject.report("unknown-variable", Severity::Warning, path, spot, message, remedy);
            }
            Unknown::Field(name, byte, meant) => {
                let message = format!("the schema of the kind has no field `{name}` here");
                let spot = at(byte, name.chars().count());
                let remedy = subject.meant(path, spot, meant.as_deref());
                subject.report("unknown-resource-field", Severity::Warning, path, spot, message, remedy);
            }
        }
    }
}
