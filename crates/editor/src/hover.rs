//! What is known of the text at the cursor: a field, a function, a value.

use ephor_functions::registry::Language;
use ephor_search::Expression;
use ephor_search::cel::{CelExpression, Environment};
use ephor_value::place::PathPart;
use ephor_value::{Map, Str, Value};

use crate::complete::detail;
use crate::cursor::cursor;
use crate::embedded::{request, variables};
use crate::fields::{field, without_anchor};
use crate::functions::function;
use crate::index::Index;
use crate::readable::readable;
use crate::samples::sample_for;
use crate::span::Span;
use crate::target::{Here, expression_at, here};

/// Characters of a value that are shown at most: a hint is a few lines.
const MAX_LENGTH: usize = 600;

/// What an editor shows at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// The text that it is about.
    pub span: Span,
    /// Markdown.
    pub text: String,
}

/// What is known of the text at a byte of a file.
pub fn hover(index: &Index, name: &str, offset: usize) -> Option<Hover> {
    let in_expression = here(index, name, offset).and_then(|here| of_expression(index, name, &here));
    in_expression.or_else(|| of_field(index, name, offset))
}

/// The field whose key, or scalar value, the cursor is at.
fn of_field(index: &Index, name: &str, offset: usize) -> Option<Hover> {
    let file = index.file(name)?;
    let at = cursor(file.text.as_str(), offset);
    let document = readable(&file.text, at.document, offset);
    let line = file.text.line_span(file.text.line_of(offset));
    let (path, span) = match &at.value {
        Some(value) => (at.path.clone(), Span { start: value.start, end: at.word.end.max(value.start) }),
        None => {
            let rest = file.text.slice(Span { start: at.word.start, end: line.end });
            let key = rest.split(':').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
            let path = at.path.iter().cloned().chain([PathPart::Key(key.into())]).collect();
            (path, Span::of(at.word.start, key.len()))
        }
    };
    let found = field(index, &document, &path)?;
    let last = match path.last() {
        Some(PathPart::Key(key)) => without_anchor(key).to_string(),
        _ => return None,
    };
    let mut text = format!("**{last}**: {}", detail(&found));
    if let Some(note) = found.note {
        text.push_str(&format!("\n\n{note}"));
    }
    if !found.choices.is_empty() {
        let all: Vec<String> = found.choices.iter().map(|choice| format!("`{choice}`")).collect();
        text.push_str(&format!("\n\nOne of {}.", all.join(", ")));
    }
    Some(Hover { span, text })
}

/// The function or variable at the cursor, and the value of its expression on a sample.
fn of_expression(index: &Index, name: &str, here: &Here<'_>) -> Option<Hover> {
    let (language, expression) = expression_at(here)?;
    let word = here.file.text.slice(here.word);
    let rest = here.file.text.as_str().get(here.word.end..).unwrap_or_default();
    let before = here.file.text.as_str().get(..here.word.start).unwrap_or_default();
    let mut parts = Vec::new();
    if rest.starts_with('(') {
        // Functions of a library have its name before them: `sets.contains`.
        let library = before
            .strip_suffix('.')
            .map(|before| before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default());
        let full = library.map(|library| format!("{library}.{word}"));
        let found = full.and_then(|full| function(language, &full)).or_else(|| function(language, word));
        parts.extend(found.map(|found| found.markdown()));
    } else if before.ends_with("variables.") {
        let all = variables(&here.part.value, &here.path);
        let found = all.iter().find(|(_, entry)| entry.text_at(&["name"]) == word);
        parts.extend(found.map(|(_, entry)| format!("```\n{}\n```", entry.text_at(&["expression"]))));
    }
    if let Some((sample, file)) = sample_for(index, name, here.part) {
        let result = evaluated(here, language, &expression, sample);
        parts.extend(result.map(|text| format!("On {file}:\n```\n{text}\n```")));
    }
    let text = parts.join("\n\n---\n");
    (!text.is_empty()).then_some(Hover { span: here.word, text })
}

/// The value of an expression on an object; `None` where it reads what is not known here.
fn evaluated(here: &Here<'_>, language: Language, expression: &str, object: &Value) -> Option<String> {
    let text = match language {
        Language::Cel => {
            let is_of_kyverno = here.part.value.text_at(&["apiVersion"]).starts_with("policies.kyverno.io/");
            let environment = if is_of_kyverno { Environment::Kyverno } else { Environment::Kubernetes };
            let named: Map =
                [(Str::from("object"), object.clone()), ("request".into(), request(object, false))]
                    .into_iter()
                    .collect();
            let data = environment.data(&Value::Map(named));
            let compiled = CelExpression::compile(expression, environment, &data).ok()?;
            compiled.evaluate(&data).to_text().ok()?
        }
        Language::JmesPath => {
            let root: Map = [(Str::from("request"), request(object, true))].into_iter().collect();
            let value = Expression::compile(expression).ok()?.search(&Value::Map(root)).ok()?;
            ephor_value::print::json(&value)
        }
    };
    Some(match text.char_indices().nth(MAX_LENGTH) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    })
}
