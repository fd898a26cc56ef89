//! Completion of expressions at the cursor.
//!
//! After a dot these are the keys of the expression before it, evaluated on the document; of a
//! list, the keys of its items. Elsewhere they are functions and the keys of the document; where
//! none of these begins as the word does, the keys of any object in it.

use std::collections::BTreeSet;

use ephor_search::Expression;
use ephor_search::meant::{all_keys, keys};
use ephor_value::Value;

/// Candidates offered at most: what a terminal shows in a list. With a smaller number names of long
/// documents are not offered; a larger one scrolls.
const MAX_CANDIDATES: usize = 200;

/// Where the word at the end of `text` begins, and what it could become.
pub fn candidates(text: &str, document: &Value) -> (usize, Vec<String>) {
    let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let word = text.rsplit(|c| !is_word(c)).next().unwrap_or_default();
    let start = text.len() - word.len();
    let before = text.strip_suffix(word).unwrap_or(text);
    let mut found = BTreeSet::new();
    if let Some(path) = before.strip_suffix('.') {
        match subject(path, document) {
            Some(value) => keys(&value, &mut found),
            None => all_keys(document, &mut found),
        }
        found.retain(|k| k.starts_with(word));
    } else {
        keys(document, &mut found);
        found.retain(|k| k.starts_with(word));
        if found.is_empty() || before.contains(['?', '{', '&', '|']) {
            all_keys(document, &mut found);
            found.retain(|k| k.starts_with(word));
        }
    }
    let mut out: Vec<String> = found.into_iter().map(written).collect();
    if !before.ends_with('.') && !word.is_empty() {
        let names = ephor_functions::all().iter().map(|f| f.name).filter(|name| name.starts_with(word));
        out.extend(names.map(|name| format!("{name}(")));
    }
    out.truncate(MAX_CANDIDATES);
    (start, out)
}

/// The value of the longest expression at the end of `text` that has keys.
fn subject(text: &str, document: &Value) -> Option<Value> {
    let starts = text.char_indices().map(|(at, _)| at);
    let mut after_word = false;
    for at in starts {
        let rest = text.get(at..).unwrap_or_default();
        let inside = after_word;
        after_word = rest.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric());
        // An expression does not begin in the middle of a word.
        if inside && after_word {
            continue;
        }
        let value = Expression::compile(rest).and_then(|e| e.search(document));
        if let Ok(value @ (Value::Map(_) | Value::List(_))) = value {
            return Some(value);
        }
    }
    None
}

/// A key as expressions write it.
fn written(key: String) -> String {
    let plain = key.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    if plain && !key.starts_with(|c: char| c.is_ascii_digit()) && !key.is_empty() {
        return key;
    }
    ephor_value::print::json(&Value::from(key))
}

#[cfg(test)]
mod tests {
    use super::candidates;

    fn offered(text: &str) -> Vec<String> {
        let document = ephor_search::read(
            "metadata: {name: web, labels: {app.kubernetes.io/name: x}}\nspec: {containers: [{image: a}, {name: b, imagePullPolicy: c}]}",
        );
        candidates(text, &document.unwrap()).1
    }

    #[test]
    fn a_word_becomes_a_key_of_the_document_or_a_function() {
        assert_eq!(offered("me"), ["metadata", "merge("]);
        assert_eq!(offered("length(sp"), ["spec", "split("]);
    }

    #[test]
    fn after_a_dot_stand_the_keys_of_what_is_before_it() {
        assert_eq!(offered("metadata."), ["labels", "name"]);
        assert_eq!(offered("metadata.n"), ["name"]);
        assert_eq!(offered("length(metadata.n"), ["name"]);
        assert_eq!(offered("spec.containers[0]."), ["image"]);
        assert_eq!(offered("spec.containers[*].image"), ["image", "imagePullPolicy"]);
    }

    #[test]
    fn keys_that_are_no_names_are_quoted() {
        assert_eq!(offered("metadata.labels."), ["\"app.kubernetes.io/name\""]);
    }

    #[test]
    fn inside_a_filter_keys_of_inner_objects_are_offered() {
        assert_eq!(offered("spec.containers[?ima"), ["image", "imagePullPolicy", "image_normalize("]);
    }

    #[test]
    fn text_that_is_no_expression_offers_nothing_and_does_no_harm() {
        assert!(offered("'é.zz").is_empty());
        assert!(offered("zzz.").len() > 3, "any key when nothing is known");
    }
}
