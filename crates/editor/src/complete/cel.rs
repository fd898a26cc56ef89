//! Completion of CEL expressions at the cursor.
//!
//! After a dot these are the keys of the expression before it, evaluated on the document; of a
//! variable of a comprehension, the keys of any object. Elsewhere they are variables. Functions
//! follow where a word has begun, behind a dot only those that no key begins like.

use std::collections::BTreeSet;

use ephor_functions::registry::{self, Language};
use ephor_search::cel::{CelExpression, Environment};
use ephor_search::meant::{all_keys, keys};
use ephor_value::Value;

/// Candidates offered at most: what a terminal shows in a list. With a smaller number names of long
/// documents are not offered; a larger one scrolls.
const MAX_CANDIDATES: usize = 200;

const MACROS: [&str; 6] = ["all", "exists", "exists_one", "filter", "has", "map"];

/// Where the word at the end of `text` begins, and what it could become.
pub fn candidates(text: &str, environment: Environment, data: &Value) -> (usize, Vec<String>) {
    let word = text.rsplit(|c: char| !is_word(c)).next().unwrap_or_default();
    let start = text.len() - word.len();
    let before = text.get(..start).unwrap_or_default();
    let mut found = BTreeSet::new();
    match before.strip_suffix('.').or_else(|| before.strip_suffix(".?")) {
        Some(path) => match subject(path, environment, data) {
            Some(value) => keys(&value, &mut found),
            None => all_keys(data, &mut found),
        },
        None => keys(data, &mut found),
    }
    let is_name = |key: &String| key.chars().all(is_word) && !key.starts_with(|c: char| c.is_ascii_digit());
    found.retain(|key| key.starts_with(word) && is_name(key));
    let mut out: Vec<String> = found.into_iter().collect();
    if !word.is_empty() && (out.is_empty() || !before.ends_with(['.', '?'])) {
        let functions = registry::all().filter(|f| f.language == Language::Cel).map(|f| f.name);
        let names: BTreeSet<&str> = functions.chain(MACROS).filter(|name| name.starts_with(word)).collect();
        out.extend(names.into_iter().map(|name| format!("{name}(")));
    }
    out.truncate(MAX_CANDIDATES);
    (start, out)
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// The value of the longest expression at the end of `text` that has keys.
fn subject(text: &str, environment: Environment, data: &Value) -> Option<Value> {
    let mut inside = false;
    for (at, c) in text.char_indices() {
        // An expression does not begin in the middle of a word.
        let begins = !(inside && is_word(c));
        inside = is_word(c);
        let rest = text.get(at..).filter(|_| begins && c != '.').unwrap_or_default();
        let value =
            CelExpression::compile(rest, environment, data).ok().and_then(|e| e.evaluate(data).value.ok());
        match value {
            Some(value @ Value::Map(_)) => return Some(value),
            // A list has functions, no keys.
            Some(Value::List(_)) => return Some(Value::Null),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(text: &str) -> Vec<String> {
        let document = ephor_search::document(
            "metadata: {name: web, labels: {app.kubernetes.io/name: x, team: a}}\nspec: {containers: [{image: a, imagePullPolicy: b}]}",
        );
        let environment = Environment::Kubernetes;
        candidates(text, environment, &environment.data(&document.unwrap())).1
    }

    #[test]
    fn a_word_becomes_a_variable_or_a_function() {
        assert_eq!(offered("obj"), ["object"]);
        assert_eq!(offered("object.spec.containers.exi"), ["exists(", "exists_one("]);
    }

    #[test]
    fn after_a_dot_stand_the_keys_of_the_object() {
        assert_eq!(offered("object.spec.cont"), ["containers"]);
        assert_eq!(offered("object.metadata."), ["labels", "name"]);
        assert_eq!(offered("size(object.metadata.n"), ["name"]);
        assert_eq!(offered("object.spec.containers[0].image"), ["image", "imagePullPolicy"]);
        assert_eq!(offered("object.metadata.labels."), ["team"], "other keys are written in brackets");
    }

    #[test]
    fn a_variable_of_a_comprehension_has_the_keys_of_any_object() {
        assert_eq!(offered("object.spec.containers.all(c, c.imageP"), ["imagePullPolicy"]);
    }

    #[test]
    fn text_that_is_no_expression_offers_nothing_and_does_no_harm() {
        assert!(offered("'é.zz").is_empty());
    }
}
