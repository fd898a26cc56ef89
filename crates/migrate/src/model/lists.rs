//! Policies in lists: `kind: List`, `ClusterPolicyList` and the like, one document that holds
//! several.
//!
//! In: a document. Out: its objects, each as a document of its own with its text as it is written,
//! comments too, and the line of the file on which it begins. A text that does not give the object
//! again, as in lists in braces, is written anew, and all its places are the line of the list.

use ephor_document::write::{Style, to_string};
use ephor_document::{Duplicates, yaml};
use ephor_value::Value;

/// Lists in lists deeper than this stay as they are.
const MAX_DEPTH: usize = 8;

/// An object of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// The line on which it begins.
    pub line: usize,
    /// Its text.
    pub text: String,
}

/// The objects of a document that is a list; none where it is no list.
pub fn items(text: &str, line: usize) -> Option<Vec<ListedObject>> {
    items_below(text, line, 0)
}

fn items_below(text: &str, line: usize, depth: usize) -> Option<Vec<ListedObject>> {
    let document = yaml::parse(text, Duplicates::LastWins).ok()?;
    let is_list = document.text_at(&["kind"]).ends_with("List") && depth < MAX_DEPTH;
    let all = document.get("items").filter(|_| is_list)?.as_list()?;
    let written = written(text).filter(|own| own.len() == all.len());
    let mut out = Vec::new();
    for (at, object) in all.iter().enumerate() {
        let own = written.as_ref().and_then(|own| own.get(at)).filter(|(_, text)| says(text, object));
        let item = match own {
            Some((before, text)) => ListedObject { line: line + before, text: text.clone() },
            None => ListedObject { line, text: to_string(object, Style::Object) },
        };
        match items_below(&item.text, item.line, depth + 1) {
            Some(inner) => out.extend(inner),
            None => out.push(item),
        }
    }
    Some(out)
}

/// A list of objects, each in the text of a document.
pub fn list_of(texts: impl Iterator<Item = String>) -> String {
    let mut out = String::from("apiVersion: v1\nkind: List\nitems:\n");
    for text in texts {
        let mut is_first = true;
        for line in text.lines() {
            let is_begin = is_first && !line.trim().is_empty();
            let before = if is_begin { "- " } else { "  " };
            is_first &= !is_begin;
            out.push_str(format!("{before}{line}").trim_end());
            out.push('\n');
        }
    }
    out
}

/// Whether a text is the object.
fn says(text: &str, object: &Value) -> bool {
    yaml::parse(text, Duplicates::LastWins).is_ok_and(|found| found == *object)
}

/// The items of the list under `items:`, as they are written: how many lines stand before each, and
/// its text without the indentation of the list.
fn written(text: &str) -> Option<Vec<(usize, String)>> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = lines.iter().position(|line| line.trim_end() == "items:")? + 1;
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let is_blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let body = lines.get(first..)?;
    let column = depth(body.iter().find(|line| !is_blank(line))?);
    let begins = |line: &str| depth(line) == column && line.trim_start().starts_with("- ");
    let mut out: Vec<(usize, String)> = Vec::new();
    for (at, line) in body.iter().enumerate() {
        if begins(line) {
            let inner = line.get(column + 1..).unwrap_or_default();
            let inner = inner.get(1..).unwrap_or_default();
            out.push((first + at, inner.to_string()));
            continue;
        }
        if !is_blank(line) && depth(line) <= column {
            break;
        }
        if let Some((_, text)) = out.last_mut() {
            let own = line.get((column + 2).min(depth(line))..).unwrap_or(line);
            text.push_str(own);
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn items_have_their_own_texts_comments_and_lines() {
        let text = "apiVersion: v1\nkind: List\nitems:\n# the first\n- kind: A # here\n  spec:\n    a: |\n      - no item\n\n      end\n-   kind: B\n    spec: {b: 1}\n";
        let all = items(text, 10).unwrap();
        assert_eq!(all[0].line, 14);
        assert_eq!(all[0].text, "kind: A # here\nspec:\n  a: |\n    - no item\n\n    end\n");
        assert!(all[1].text.contains("kind: B") && all[1].text.contains("b: 1"), "{}", all[1].text);
        let indented = "kind: List\nitems:\n  - kind: A\n    b: 1\n  - kind: B\nmetadata: {}\n";
        let all = items(indented, 1).unwrap();
        assert_eq!(all[0], ListedObject { line: 3, text: "kind: A\nb: 1\n".into() });
        assert_eq!(all[1], ListedObject { line: 5, text: "kind: B\n".into() });
    }

    #[test]
    fn lists_in_braces_and_lists_in_lists_are_taken_apart_too() {
        let braces = "{kind: List, items: [{kind: A, b: 1}, {kind: B}]}";
        let all = items(braces, 3).unwrap();
        assert_eq!((all.len(), all[1].line), (2, 3));
        assert_eq!(all[1].text, "kind: B\n");
        let nested = "kind: List\nitems:\n- kind: PodList\n  items:\n  - kind: A\n- kind: B\n";
        let kinds: Vec<(usize, String)> =
            items(nested, 1).unwrap().into_iter().map(|i| (i.line, i.text)).collect();
        assert_eq!(kinds, [(5, "kind: A\n".to_string()), (6, "kind: B\n".to_string())]);
    }

    #[test]
    fn a_list_that_is_put_together_has_the_same_items() {
        let text = "kind: List\nitems:\n- # why\n  kind: A\n  b: |\n    x\n\n    y\n- kind: B\n";
        let all = items(text, 1).unwrap();
        let again = list_of(all.iter().map(|item| item.text.clone()));
        let texts = |all: Vec<ListedObject>| all.into_iter().map(|item| item.text).collect::<Vec<_>>();
        assert_eq!(texts(items(&again, 1).unwrap()), texts(all), "{again}");
    }

    #[test]
    fn a_document_that_is_no_list_has_no_items() {
        assert_eq!(items("kind: Pod\nitems: []\n", 1), None);
        assert_eq!(items("kind: List\n", 1), None);
    }
}
