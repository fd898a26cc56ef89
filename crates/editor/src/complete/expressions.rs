//! Expressions in policies: fields of the objects that the policy is about, variables, functions.

use ephor_cel::library::{KyvernoKind, kyverno};
use ephor_functions::registry::Language;
use ephor_search::cel::Environment;
use ephor_value::{Map, Str, Value};

use super::item::{CompletionItem, CompletionKind};
use super::{cel, jmespath};
use crate::cursor::Cursor;
use crate::embedded::{Embedded, context_names, object_for, request, variable_names};
use crate::functions::function;
use crate::index::Index;
use crate::span::Span;

/// Characters of an expression that are read: what is before them has hardly any influence on the
/// word at the cursor, and every position of them is tried as a beginning.
const MAX_LENGTH: usize = 400;

/// What the expression at the cursor could get.
pub(super) fn complete(
    index: &Index,
    document: &Value,
    at: &Cursor,
    offset: usize,
    expression: &Embedded,
) -> Vec<CompletionItem> {
    let skipped = expression.before.chars().count().saturating_sub(MAX_LENGTH);
    let before: String = expression.before.chars().skip(skipped).collect();
    let object = object_for(index, document, &at.path);
    let (start, texts) = match expression.language {
        Language::Cel => of_cel(document, at, &before, object),
        Language::JmesPath => of_jmespath(document, at, &before, object),
    };
    let typed = before.len() - start.min(before.len());
    let span = Span { start: offset.saturating_sub(typed), end: offset };
    texts.into_iter().map(|text| item(expression.language, &text, span)).collect()
}

fn item(language: Language, text: &str, span: Span) -> CompletionItem {
    let Some(name) = text.strip_suffix('(') else {
        return CompletionItem::new(text, CompletionKind::Variable, span);
    };
    let info = function(language, name);
    CompletionItem {
        label: name.into(),
        detail: info.as_ref().and_then(|info| info.forms.first().cloned()),
        note: info.map(|info| info.markdown()),
        ..CompletionItem::new(text, CompletionKind::Function, span)
    }
}

fn of_cel(document: &Value, at: &Cursor, before: &str, object: Value) -> (usize, Vec<String>) {
    let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let start = before.rfind(|c| !is_word(c)).map_or(0, |at| at + 1);
    let word = before.get(start..).unwrap_or_default();
    let above = before.get(..start).unwrap_or_default();
    if above.ends_with("variables.") {
        let names = variable_names(document, &at.path);
        return (start, names.into_iter().filter(|name| name.starts_with(word)).collect());
    }
    let is_of_kyverno = document.text_at(&["apiVersion"]).starts_with("policies.kyverno.io/");
    let environment = if is_of_kyverno { Environment::Kyverno } else { Environment::Kubernetes };
    let mut named = Map::new();
    named.insert("request", request(&object, false));
    named.insert("oldObject", object.clone());
    named.insert("object", object);
    let data = environment.data(&Value::Map(named));
    let (start, mut out) = cel::candidates(before, environment, &data);
    if !above.ends_with(['.', '?']) {
        let kyverno = kyverno(KyvernoKind::Validating, false);
        let others = kyverno.variables.keys().filter(|_| is_of_kyverno).map(|name| name.to_string());
        let names = others.chain(["variables".into(), "params".into(), "authorizer".into()]);
        let mut names: Vec<String> = names
            .filter(|name| name.starts_with(word) && !out.contains(name) && !name.contains('.'))
            .collect();
        names.sort();
        names.dedup();
        names.append(&mut out);
        out = names;
    }
    (start, out)
}

fn of_jmespath(document: &Value, at: &Cursor, before: &str, object: Value) -> (usize, Vec<String>) {
    let mut root = Map::new();
    root.insert("request", request(&object, true));
    for name in context_names(document, &at.path) {
        let name = name.split('.').next().unwrap_or_default().to_string();
        root.insert(Str::from(name), Value::Map(Map::new()));
    }
    let is_in_loop = ephor_value::place::dotted(&at.path).contains("foreach");
    if is_in_loop {
        root.insert("element", first_item(&object));
        root.insert("elementIndex", Value::Int(0));
    }
    for name in ["serviceAccountName", "serviceAccountNamespace"] {
        root.insert(name, Value::from(""));
    }
    root.insert("images", Value::Map(Map::new()));
    jmespath::candidates(before, &Value::Map(root))
}

/// An element of a loop: most loops are about containers.
fn first_item(object: &Value) -> Value {
    let paths: [&[&str]; 3] = [
        &["spec", "containers"],
        &["spec", "template", "spec", "containers"],
        &["spec", "jobTemplate", "spec", "template", "spec", "containers"],
    ];
    let found = paths.iter().find_map(|path| object.at(path)?.as_list()?.first().cloned());
    found.unwrap_or_default()
}
