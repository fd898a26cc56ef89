//! The objects of an audit log of `ephor serve --audit-log-objects`, so that policies can be run on what was admitted.
//!
//! In: the text of a file. Out: the last state of each object in it, each at its line; nothing when the file is no audit log.

use std::collections::HashMap;

use crate::document::{self, Document, ResourceOptions, json};
use crate::value::Value;

use super::resources::identity;

/// What stands before the object in a line, which ends with it (`ephor_server::serve::audit`).
const BEFORE: &str = ",\"object\":";

/// The objects of an audit log, or `None` for any other file.
pub fn objects(name: &str, text: &str, options: ResourceOptions) -> Option<Vec<Document>> {
    if !is_audit_log(text) {
        return None;
    }
    let mut all: Vec<Document> = Vec::new();
    let mut positions: HashMap<[String; 4], usize> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        let Some(padded) = object(line) else { continue };
        for found in document::resources(name, &padded, options).into_iter().flatten() {
            let document = Document { line: number + 1, text: padded.as_str().into(), ..found };
            match positions.get(&identity(&document.value)).and_then(|at| all.get_mut(*at)) {
                Some(earlier) => *earlier = document,
                None => {
                    positions.insert(identity(&document.value), all.len());
                    all.push(document);
                }
            }
        }
    }
    Some(all)
}

/// Whether the first line is that of an audit log.
fn is_audit_log(text: &str) -> bool {
    let first = text.lines().next().filter(|line| line.starts_with("{\"time\":"));
    let first = first.and_then(|line| json::parse(line).ok());
    first.is_some_and(|line| ["time", "stage", "path"].iter().all(|key| !line.text_at(&[key]).is_empty()))
}

/// The object of a line, behind as many blanks as characters stand before it, so that columns are those of the line.
fn object(line: &str) -> Option<String> {
    let whole = line.strip_suffix('}')?;
    // The last key of the line, not one of the same name in what stands before it.
    let starts = whole.match_indices(BEFORE).map(|(at, _)| at + BEFORE.len());
    let mut parts = starts.filter_map(|at| Some((whole.get(..at)?, whole.get(at..)?)));
    let (before, own) = parts.find(|(_, own)| matches!(json::parse(own), Ok(Value::Map(_))))?;
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
                "{{\"time\":\"t\",\"stage\":\"answer\",\"path\":\"/validate\",\"patch\":[{{\"value\":{{\"a\":1,\"object\":{{}}}}}}],\"object\":{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"{name}\",\"labels\":{{\"l\":\"{label}\"}}}}}}}}\n"
            )
        };
        let without = "{\"time\":\"t\",\"stage\":\"audit\",\"path\":\"/validate\"}\n";
        let text = [line("a", "1"), without.into(), line("b", "2"), line("a", "3"), "{\"cut".into()].concat();
        let found = objects("audit.jsonl", &text, OPTIONS).unwrap_or_default();
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
        assert_eq!(
            found.first().map(|d| d.text.find("{\"apiVersion")),
            Some(line("a", "3").find("{\"apiVersion"))
        );
        assert_eq!(objects("r.yaml", "apiVersion: v1\nkind: ConfigMap\n", OPTIONS).map(|d| d.len()), None);
    }
}
