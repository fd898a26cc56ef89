//! The layout of CEL expressions in values of policies.
//!
//! In: a file. Out: edits of the values whose layout is another one. Only expressions in values of
//! several lines, or that are longer than a line, are laid out again; comments inside of an
//! expression would be lost, so an expression that has one stays. The tree of what is written is
//! the tree of what was there, else the value stays.

use ephor_cel::library::general;
use ephor_cel::syntax::lexer::{Tok, tokenize};
use ephor_cel::syntax::parse;
use ephor_document::written;
use ephor_functions::registry::Language;
use ephor_migrate::cel::{WIDTH, is_same, print};
use ephor_value::Value;
use ephor_value::place::{Path, PathPart};

use crate::embedded::language_of;
use crate::entry::Role;
use crate::index::Index;
use crate::span::{Span, TextEdit};

/// Columns that a laid out expression has at least, however deep it is indented.
const MIN_WIDTH: usize = 40;

/// The edits that lay out the expressions of a file, or those that touch a part of it.
pub fn format(index: &Index, name: &str, within: Option<Span>) -> Vec<TextEdit> {
    let Some(file) = index.file(name) else { return Vec::new() };
    let mut out = Vec::new();
    for part in file.latest.of_role(Role::Policy) {
        let mut found: Vec<Path> = Vec::new();
        expressions(&part.value, &mut Path::new(), &mut found);
        for path in found {
            let whole: Path = part.prefix.iter().chain(&path).cloned().collect();
            let Some(edit) = edit(&part.text, &whole) else { continue };
            let edit = TextEdit { span: edit.span.moved(part.document.start), text: edit.text };
            if within.is_none_or(|within| within.meets(edit.span)) {
                out.push(edit);
            }
        }
    }
    out.sort_by_key(|edit| edit.span);
    out
}

fn expressions(value: &Value, path: &mut Path, out: &mut Vec<Path>) {
    ephor_value::stack::deep(|| match value {
        Value::Str(_) if language_of(path) == Some(Language::Cel) => out.push(path.clone()),
        Value::List(items) => {
            for (i, item) in items.iter().enumerate() {
                path.push(PathPart::Index(i));
                expressions(item, path, out);
                path.pop();
            }
        }
        Value::Map(fields) => {
            for (key, item) in fields.iter() {
                path.push(PathPart::Key(key.clone()));
                expressions(item, path, out);
                path.pop();
            }
        }
        _ => {}
    });
}

/// The edit of the expression at a path of a document.
fn edit(text: &str, path: &[PathPart]) -> Option<TextEdit> {
    let scalar = written::scalar(text, path)?;
    let line_start = text.get(..scalar.range.start)?.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(line_start..scalar.range.start)?;
    let own = text.get(scalar.range.clone())?;
    let is_block = own.starts_with(['|', '>']);
    let key_column = line.len() - line.trim_start_matches([' ', '-']).len();
    let column = key_column + 2;
    let is_long = line.chars().count() + own.chars().count() > WIDTH;
    if !is_block && !own.contains('\n') && !is_long {
        return None;
    }
    let laid_out = layout(&scalar.value, WIDTH.saturating_sub(column).max(MIN_WIDTH))?;
    let indent = " ".repeat(column);
    let body: String = laid_out
        .lines()
        .map(|line| match line.is_empty() {
            true => "\n".to_string(),
            false => format!("{indent}{line}\n"),
        })
        .collect();
    // Strings of several lines would get the blanks of the block.
    if !laid_out.contains('\n') && !is_block {
        return None;
    }
    let ends_line = own.ends_with('\n');
    let written = format!("|-\n{}", if ends_line { body.as_str() } else { body.trim_end_matches('\n') });
    (written != own).then_some(TextEdit {
        span: Span { start: scalar.range.start, end: scalar.range.end },
        text: written,
    })
}

/// An expression in lines of a width; `None` where it does not parse or has comments.
pub fn layout(expression: &str, width: usize) -> Option<String> {
    let options = general("").syntax;
    let before = parse(expression, options).ok()?;
    if has_comment(expression) {
        return None;
    }
    let laid_out = print(&before, width);
    let after = parse(&laid_out, options).ok()?;
    is_same(&before, &after).then_some(laid_out)
}

/// Whether a text has `//` outside of its quotes.
fn has_comment(expression: &str) -> bool {
    let (tokens, _) = tokenize(expression);
    let tokens = tokens.iter().filter(|token| token.kind != Tok::Eof);
    let text: usize = tokens.map(|token| token.text.chars().filter(|c| !c.is_whitespace()).count()).sum();
    expression.chars().filter(|c| !c.is_whitespace()).count() != text
}

#[cfg(test)]
mod tests;
