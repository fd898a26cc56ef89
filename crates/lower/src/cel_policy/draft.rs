//! Templates of generating policies: YAML documents with places `(( expression ))` to fill in.
//!
//! In: the text of a template. Out: drafts, or what is wrong with it in Kyverno 1.19.1's words. The scanner
//! counts parentheses and skips texts inside of a place; `\((` stands for itself. Semantics:
//! `docs/cel-policies.md`, "Templates".

use crate::document;
use crate::ir::expressions::Program;
use crate::ir::generate::{Draft, Place, TextPart};
use crate::value::quote::quote;
use crate::value::{Str, Value};

type Compile<'c> = &'c dyn Fn(&str) -> Result<Program, String>;

/// Reads a template; places are only looked for when it `fills` them.
///
/// # Errors
/// It is no YAML, or a place is not well-formed.
pub fn documents(text: &str, fills: bool, compile: Compile<'_>) -> Result<Box<[Draft]>, String> {
    let failed = |e: document::LoadError| format!("failed to parse YAML: {}", e.message);
    let mut out = Vec::new();
    for parsed in document::parse_new_stream("-", text).map_err(failed)? {
        let parsed = parsed.map_err(failed)?;
        if parsed.value.is_null() {
            continue;
        }
        let whole = parsed.value.as_str().is_some_and(|t| fills && t.trim().starts_with("(("));
        if parsed.value.as_map().is_none() && !whole {
            return Err(format!("line {}: document must be a mapping describing a resource", parsed.line));
        }
        let lines = Lines { first: parsed.line, text: &parsed.text };
        out.push(if fills { draft(&parsed.value, &lines, compile)? } else { Draft::Ready(parsed.value) });
    }
    if out.is_empty() {
        return Err("template must contain at least one YAML document".into());
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

fn draft(v: &Value, lines: &Lines<'_>, compile: Compile<'_>) -> Result<Draft, String> {
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
                    return Err(format!(
                        "line {}: placeholders are not supported in mapping keys; use a whole-value placeholder on the parent field instead",
                        lines.of(k)
                    ));
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

fn scalar(text: &Str, lines: &Lines<'_>, compile: Compile<'_>) -> Result<Draft, String> {
    let found = parts(text).map_err(|e| format!("line {}: {e}", lines.of(text)))?;
    let place = |text: &str| {
        let wrong = |e: String| {
            format!("line {}: invalid placeholder expression {}: {e}", lines.of(text), quote(text))
        };
        Ok::<Place, String>(Place { text: text.into(), program: compile(text).map_err(wrong)? })
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
                .collect::<Result<_, String>>()?;
            Ok(Draft::Text(parts.into()))
        }
    }
}

enum Part {
    Literal(String),
    Place(String),
}

/// Cuts a text into what stands for itself and what is to be filled in.
fn parts(text: &str) -> Result<Vec<Part>, String> {
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
fn place(text: &str, offset: usize) -> Result<(String, usize), String> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (2usize, 0usize);
    while let Some(b) = bytes.get(at) {
        match b {
            b'"' | b'\'' => {
                let unfinished =
                    || format!("unterminated string literal in placeholder starting at offset {offset}");
                at = text_end(bytes, at).ok_or_else(unfinished)?;
                continue;
            }
            b'(' => depth += 1,
            b')' if depth > 0 => depth -= 1,
            b')' if bytes.get(at + 1) == Some(&b')') => {
                let inner = text.get(2..at).unwrap_or_default().trim();
                if inner.is_empty() {
                    return Err(format!("empty placeholder at offset {offset}"));
                }
                return Ok((inner.to_string(), at + 2));
            }
            b')' => return Err(format!("unbalanced parenthesis in placeholder starting at offset {offset}")),
            _ => {}
        }
        at += 1;
    }
    Err(format!("unterminated placeholder starting at offset {offset}: missing closing '))'"))
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
    use crate::ir::Expr;

    fn drafts(text: &str) -> Result<Box<[Draft]>, String> {
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
        assert_eq!(crate::value::print::json(v), r#"{"a":"yes","b":"on","c":true,"d":"no"}"#);
    }

    #[test]
    fn places_that_do_not_end_are_refused_with_their_offset() {
        assert_eq!(
            drafts("a: b(( x").unwrap_err(),
            "line 1: unterminated placeholder starting at offset 1: missing closing '))'"
        );
        assert_eq!(drafts("a: (( ))").unwrap_err(), "line 1: empty placeholder at offset 0");
    }
}
