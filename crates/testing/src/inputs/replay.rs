//! The objects of an audit log of `ephor serve --audit-log-objects`, so that policies can be run on
//! what was admitted.
//!
//! In: the text of a file. Out: the last state of each object in it, each at its line; nothing when
//! the file is no audit log.

use std::collections::HashMap;

use ephor_document::{self, Document, ResourceOptions, json};
use ephor_value::Value;

use crate::inputs::identity::own_identity;

/// What stands before and behind the object: keys of a line are sorted, and no value before it is
/// an object.
const BEFORE: &str = ",\"object\":";
const BEHIND: &str = ",\"operation\":";

/// The objects of an audit log.
pub fn objects(name: &str, text: &str, options: ResourceOptions) -> Vec<Document> {
    let mut all: Vec<Document> = Vec::new();
    let mut positions: HashMap<[String; 4], usize> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        let Some(padded) = object(line) else { continue };
        for found in ephor_document::resources(name, &padded, options).into_iter().flatten() {
            let document = Document { line: number + 1, text: padded.as_str().into(), ..found };
            let at = *positions.entry(own_identity(&document.value)).or_insert(all.len());
            match all.get_mut(at) {
                Some(earlier) => *earlier = document,
                None => all.push(document),
            }
        }
    }
    all
}

/// Whether the first line of a text is that of an audit log.
pub fn is_audit_log(text: &str) -> bool {
    let first = text.lines().next().filter(|line| line.starts_with('{') && line.contains("\"stage\":"));
    let first = first.and_then(|line| json::parse(line).ok());
    first.is_some_and(|line| ["time", "stage", "path"].iter().all(|key| !line.text_at(&[key]).is_empty()))
}

/// The object of a line, behind as many blanks as characters stand before it, so that columns are
/// those of the line.
fn object(line: &str) -> Option<String> {
    let start = line.find(BEFORE)? + BEFORE.len();
    let (before, rest) = (line.get(..start)?, line.get(start..)?);
    // The key behind the object may be one inside of it, too.
    let mut ends = rest.match_indices(BEHIND).filter_map(|(at, _)| rest.get(..at));
    let own = ends.find(|own| matches!(json::parse(own), Ok(Value::Map(_))))?;
    Some(format!("{}{own}", " ".repeat(before.chars().count())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: ResourceOptions = ResourceOptions { float_numbers: true };

    #[test]
    fn the_last_state_of_each_object_stands_at_its_line() {
        let line = |name: &str, label: &str| {
            format!(
                "{{\"allowed\":true,\"name\":\"\\\"ä\",\"object\":{{\"apiVersion\":\"v1\",\"data\":{{\"a\":\"b\",\"operation\":\"c\"}},\"kind\":\"ConfigMap\",\"metadata\":{{\"labels\":{{\"l\":\"{label}\"}},\"name\":\"{name}\"}}}},\"operation\":\"CREATE\",\"path\":\"/validate\",\"stage\":\"answer\",\"time\":\"t\"}}\n"
            )
        };
        let without = "{\"name\":\"a\",\"path\":\"/validate\",\"stage\":\"audit\",\"time\":\"t\"}\n";
        let text = [line("a", "1"), without.into(), line("b", "2"), line("a", "3"), "{\"cut".into()].concat();
        let found = objects("audit.jsonl", &text, OPTIONS);
        assert!(is_audit_log(&text));
        let seen: Vec<(usize, &str, &str)> = found
            .iter()
            .map(|d| {
                (
                    d.line,
                    d.value.text_at(&["metadata", "name"]),
                    d.value.text_at(&["metadata", "labels", "l"]),
                )
            })
            .collect();
        assert_eq!(seen, [(4, "a", "3"), (3, "b", "2")]);
        let column = |text: &str| text.split("{\"apiVersion").next().map(|before| before.chars().count());
        assert_eq!(found.first().and_then(|d| column(&d.text)), column(&line("a", "3")));
        assert!(!is_audit_log("apiVersion: v1\nkind: ConfigMap\n"));
    }
}
