//! What a file has: policies with their rules, validations and variables, and objects.

use std::sync::Arc;

use ephor_value::Value;
use ephor_value::place::{Path, PathPart, parse};

use crate::entry::{Part, Role};
use crate::index::Index;
use crate::places::{key_span, value_span};
use crate::span::{Location, Span};

/// What a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A policy, an exception or a binding.
    Policy,
    /// A rule.
    Rule,
    /// A condition or an expression that is validated.
    Validation,
    /// A variable.
    Variable,
    /// A test.
    Test,
    /// An object.
    Object,
}

/// A part of a file with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it is in words: the kind of an object, the body of a rule.
    pub detail: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The whole part.
    pub span: Span,
    /// Its name in the text.
    pub name_span: Span,
    /// What it has.
    pub children: Vec<Symbol>,
}

/// Symbols of one list at most; a policy has some.
const MAX_ITEMS: usize = 200;

/// Symbols of a workspace that a search gives at most.
const MAX_FOUND: usize = 200;

/// The symbols of a file.
pub fn symbols(index: &Index, name: &str) -> Vec<Symbol> {
    let parts = index.file(name).map_or(&[][..], |file| &file.latest.parts);
    parts.iter().filter(|part| !matches!(part.role, Role::Other | Role::Values)).map(of_part).collect()
}

/// The policies, rules, tests and objects of all files whose names have a text, in any case.
pub fn workspace_symbols(index: &Index, wanted: &str) -> Vec<(Location, Symbol)> {
    let wanted = wanted.to_lowercase();
    let mut out = Vec::new();
    for (file, state) in index.files() {
        for part in state.good.parts.iter().filter(|part| part.role != Role::Other) {
            let whole = of_part(part);
            let own: Vec<Symbol> =
                whole.children.iter().filter(|c| c.kind == SymbolKind::Rule).cloned().collect();
            for symbol in [whole].into_iter().chain(own) {
                if symbol.name.to_lowercase().contains(&wanted) && out.len() < MAX_FOUND {
                    out.push((Location { file: Arc::clone(file), span: symbol.name_span }, symbol));
                }
            }
        }
    }
    out
}

fn of_part(part: &Part) -> Symbol {
    let kind = match part.role {
        Role::Policy => SymbolKind::Policy,
        Role::Test => SymbolKind::Test,
        _ => SymbolKind::Object,
    };
    let name_span = [parse("metadata.name"), parse("kind")].iter().find_map(|path| value_at(part, path));
    let whole = match part.prefix.is_empty() {
        true => {
            Some(Span { start: part.document.start, end: part.document.start + part.text.trim_end().len() })
        }
        false => key_span(&part.text, &part.prefix).map(|span| span.moved(part.document.start)),
    };
    let span = whole.unwrap_or(part.document);
    let name_span = name_span.unwrap_or(Span::at(span.start));
    let span = Span { start: span.start.min(name_span.start), end: span.end.max(name_span.end) };
    let children = if part.role == Role::Policy { children(part, span) } else { Vec::new() };
    let name = if part.name().is_empty() { part.kind() } else { part.name() };
    Symbol { name: name.into(), detail: part.kind().into(), kind, span, name_span, children }
}

fn value_at(part: &Part, path: &[PathPart]) -> Option<Span> {
    let whole: Path = part.prefix.iter().chain(path).cloned().collect();
    Some(value_span(&part.text, &whole)?.moved(part.document.start))
}

/// Lists of a policy, what their items are, and the fields of which the first that is there names
/// an item.
const LISTS: [(&str, SymbolKind, &[&str]); 7] = [
    ("spec.matchConditions", SymbolKind::Validation, &["name"]),
    ("spec.variables", SymbolKind::Variable, &["name"]),
    ("spec.validations", SymbolKind::Validation, &["message", "expression"]),
    ("spec.mutations", SymbolKind::Validation, &["patchType"]),
    ("spec.generate", SymbolKind::Validation, &["expression"]),
    ("spec.conditions", SymbolKind::Validation, &["name", "expression"]),
    ("spec.rules", SymbolKind::Rule, &["name"]),
];

const BODIES: [&str; 4] = ["validate", "mutate", "generate", "verifyImages"];

fn children(part: &Part, within: Span) -> Vec<Symbol> {
    let mut out: Vec<Symbol> = Vec::new();
    for (list, kind, names) in LISTS {
        let keys: Vec<&str> = list.split('.').collect();
        let items = part.value.at(&keys).and_then(Value::as_list).unwrap_or_default();
        for (i, item) in items.iter().enumerate().take(MAX_ITEMS) {
            let path = parse(&format!("{list}[{i}]"));
            let Some(start) = value_at(part, &path) else { continue };
            let named = names.iter().find_map(|name| {
                let text = item.get(name)?.as_str()?;
                let below: Path = path.iter().cloned().chain([PathPart::Key((*name).into())]).collect();
                Some((first_line(text), value_at(part, &below)?))
            });
            let (name, name_span) = named.unwrap_or((format!("{i}"), start));
            let body = BODIES.iter().find(|body| item.get(body).is_some());
            out.push(Symbol {
                name,
                detail: body.map_or_else(String::new, |body| (*body).into()),
                kind,
                span: Span { start: start.start.min(name_span.start), end: start.end.max(name_span.end) },
                name_span,
                children: Vec::new(),
            });
        }
    }
    out.sort_by_key(|symbol| symbol.span.start);
    // An item ends where the next one begins.
    let starts: Vec<usize> = out.iter().map(|symbol| symbol.span.start).skip(1).chain([within.end]).collect();
    for (symbol, end) in out.iter_mut().zip(starts) {
        symbol.span.end = end.max(symbol.span.end).min(within.end.max(symbol.span.end));
    }
    out
}

/// The beginning of a text, for a list of symbols.
fn first_line(text: &str) -> String {
    const MAX: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line.to_string(),
    }
}

#[cfg(test)]
mod tests;
