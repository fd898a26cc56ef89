//! Templates of generating policies: YAML documents with places `(( expression ))` to fill in.
//!
//! In: the text of a template. Out: drafts, or what is wrong with it in Kyverno 1.19.1's words. The
//! scanner counts parentheses and skips texts inside of a place; `\((` stands for itself.
//! Semantics: `docs/semantics/cel-policies.md`, "Templates".

use ephor_cel::CompileError;
use ephor_ir::expressions::Program;
use ephor_ir::generate::{Draft, Place, TextPart};
use ephor_value::quote::quote;
use ephor_value::{Str, Value};

type Compile<'c> = &'c dyn Fn(&str) -> Result<Program, CompileError>;

/// Why a template cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// It is no YAML; the words are those of the parser.
    #[error("failed to parse YAML: {0}")]
    Yaml(String),
    /// A document is no object.
    #[error("line {line}: document must be a mapping describing a resource")]
    Root { line: usize },
    /// There is no document.
    #[error("template must contain at least one YAML document")]
    Empty,
    /// A key has a place.
    #[error(
        "line {line}: placeholders are not supported in mapping keys; use a whole-value placeholder on the parent field instead"
    )]
    Key { line: usize },
    /// A place is not well-formed.
    #[error("line {line}: {cause}")]
    Placeholder {
        line: usize,
        #[source]
        cause: PlaceholderError,
    },
    /// The expression of a place does not compile.
    #[error("line {line}: invalid placeholder expression {}: {}", quote(.text), .cause.detail())]
    Expression {
        line: usize,
        text: Str,
        #[source]
        cause: CompileError,
    },
}

/// Why a place is not well-formed: the byte of the text at which it begins.
#[derive(Debug, thiserror::Error)]
pub enum PlaceholderError {
    /// A text inside of it does not end.
    #[error("unterminated string literal in placeholder starting at offset {0}")]
    Text(usize),
    /// It has no expression.
    #[error("empty placeholder at offset {0}")]
    Empty(usize),
    /// It closes a parenthesis that was not opened.
    #[error("unbalanced parenthesis in placeholder starting at offset {0}")]
    Parenthesis(usize),
    /// It does not end.
    #[error("unterminated placeholder starting at offset {0}: missing closing '))'")]
    Open(usize),
}

/// Reads a template; paths of values are only recorded when it `fills` them.
///
/// # Errors
/// It is no YAML, or a place is not well-formed.
pub fn documents(text: &str, fills: bool, compile: Compile<'_>) -> Result<Box<[Draft]>, TemplateError> {
    let failed = |e: ephor_document::LoadError| TemplateError::Yaml(e.problem.to_string());
    let mut out = Vec::new();
    for parsed in ephor_document::parse_new_stream("-", text).map_err(failed)? {
        let parsed = parsed.map_err(failed)?;
        if parsed.value.is_null() {
            continue;
        }
        let whole = parsed.value.as_str().is_some_and(|t| fills && t.trim().starts_with("(("));
        if parsed.value.as_map().is_none() && !whole {
            return Err(TemplateError::Root { line: parsed.line });
        }
        let lines = Lines { first: parsed.line, text: &parsed.text };
        out.push(if fills { draft(&parsed.value, &lines, compile)? } else { Draft::Ready(parsed.value) });
    }
    if out.is_empty() {
        return Err(TemplateError::Empty);
    }
    Ok(out.into())
}

/// Where texts stand.
struct Lines<'t> {
    first: usize,
    text: &'t str,
}

impl Lines<'_> {
    fn of(&self, text: &str) -> usize {
        let at = self.text.lines().position(|line| line.contains(text.trim()));
        self.first + at.unwrap_or(0)
    }
}

fn draft(v: &Value, lines: &Lines<'_>, compile: Compile<'_>) -> Result<Draft, TemplateError> {
    match v {
        Value::Str(text) => scalar(text, lines, compile),
        Value::List(items) => {
            let items: Vec<Draft> =
                items.iter().map(|i| draft(i, lines, compile)).collect::<Result<_, _>>()?;
            Ok(match items.iter().all(|d| matches!(d, Draft::Ready(_))) {
                true => Draft::Ready(v.clone()),
                false => Draft::List(items.into()),
            })
        }
        Value::Map(m) => {
            let mut entries = Vec::with_capacity(m.len());
            for (k, inner) in m.iter() {
                if k.contains("((") {
                    return Err(TemplateError::Key { line: lines.of(k) });
                }
                entries.push((k.clone(), draft(inner, lines, compile)?));
            }
            Ok(match entries.iter().all(|(_, d)| matches!(d, Draft::Ready(_))) {
                true => Draft::Ready(v.clone()),
                false => Draft::Map(entries.into()),
            })
        }
        other => Ok(Draft::Ready(other.clone())),
    }
}

fn scalar(text: &Str, lines: &Lines<'_>, compile: Compile<'_>) -> Result<Draft, TemplateError> {
    let found = parts(text).map_err(|cause| TemplateError::Placeholder { line: lines.of(text), cause })?;
    let place = |text: &str| {
        let wrong = |cause| TemplateError::Expression { line: lines.of(text), text: text.into(), cause };
        Ok::<Place, TemplateError>(Place { text: text.into(), program: compile(text).map_err(wrong)? })
    };
    match &found[..] {
        [] => Ok(Draft::Ready(Value::Str(text.clone()))),
        [Part::Literal(one)] => Ok(Draft::Ready(Value::from(&**one))),
        [Part::Place(one)] => Ok(Draft::Whole(place(one)?)),
        several => {
            let parts: Vec<TextPart> = several
                .iter()
                .map(|part| match part {
                    Part::Literal(text) => Ok(TextPart::Literal(Str::from(&**text))),
                    Part::Place(text) => place(text).map(TextPart::Place),
                })
                .collect::<Result<_, TemplateError>>()?;
            Ok(Draft::Text(parts.into()))
        }
    }
}

enum Part {
    Literal(String),
    Place(String),
}

/// Cuts a text into what stands for itself and what is to be filled in.
fn parts(text: &str) -> Result<Vec<Part>, PlaceholderError> {
    let mut out = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with("\\((") {
            literal.push_str("((");
            at += 3;
        } else if rest.starts_with("((") {
            let (inner, length) = place(rest, at)?;
            if !literal.is_empty() {
                out.push(Part::Literal(std::mem::take(&mut literal)));
            }
            out.push(Part::Place(inner));
            at += length;
        } else {
            literal.push(c);
            at += c.len_utf8();
        }
    }
    if !literal.is_empty() {
        out.push(Part::Literal(literal));
    }
    Ok(out)
}

/// The expression of the place that a text begins with, and the length of the place.
fn place(text: &str, offset: usize) -> Result<(String, usize), PlaceholderError> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (2usize, 0usize);
    while let Some(b) = bytes.get(at) {
        match b {
            b'"' | b'\'' => {
                at = text_end(bytes, at).ok_or(PlaceholderError::Text(offset))?;
                continue;
            }
            b'(' => depth += 1,
            b')' if depth > 0 => depth -= 1,
            b')' if bytes.get(at + 1) == Some(&b')') => {
                let inner = text.get(2..at).unwrap_or_default().trim();
                if inner.is_empty() {
                    return Err(PlaceholderError::Empty(offset));
                }
                return Ok((inner.to_string(), at + 2));
            }
            b')' => return Err(PlaceholderError::Parenthesis(offset)),
            _ => {}
        }
        at += 1;
    }
    Err(PlaceholderError::Open(offset))
}

/// The place after a text literal of an expression.
fn text_end(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes.get(start)?;
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b if b == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_ir::Expr;

    fn drafts(text: &str) -> Result<Box<[Draft]>, TemplateError> {
        documents(text, true, &|t| Ok(Ok(Expr::Const(Value::from(t)))))
    }

    #[test]
    fn a_scalar_that_is_one_place_keeps_the_kind_of_the_value() {
        let all = drafts("a: (( f(1) ))").unwrap();
        let Draft::Map(entries) = &all[0] else { panic!("no map") };
        assert!(matches!(&entries[0].1, Draft::Whole(p) if &*p.text == "f(1)"));
    }

    #[test]
    fn a_place_may_hold_parentheses_in_texts_and_an_escaped_one_is_none() {
        let all = drafts("a: x(( \")) (\" ))y\nb: \\((z))").unwrap();
        let Draft::Map(entries) = &all[0] else { panic!("no map") };
        assert!(matches!(&entries[0].1, Draft::Text(parts) if parts.len() == 3));
        assert!(matches!(&entries[1].1, Draft::Ready(v) if v.as_str() == Some("((z))")));
    }

    #[test]
    fn words_are_texts_but_true_and_false() {
        let all = drafts("{a: yes, b: on, c: true, d: 'no'}").unwrap();
        let Draft::Ready(v) = &all[0] else { panic!("places") };
        assert_eq!(ephor_value::print::json(v), r#"{"a":"yes","b":"on","c":true,"d":"no"}"#);
    }

    #[test]
    fn places_that_do_not_end_are_refused_with_their_offset() {
        assert_eq!(
            drafts("a: b(( x").unwrap_err().to_string(),
            "line 1: unterminated placeholder starting at offset 1: missing closing '))'"
        );
        assert_eq!(drafts("a: (( ))").unwrap_err().to_string(), "line 1: empty placeholder at offset 0");
    }
}
