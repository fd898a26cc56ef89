//! Places in the texts of policies.
//!
//! In: a path in the document of a policy. Out: file, line and column of what stands there, or of
//! the nearest part around it.

use ephor_document::locate::{self, Position};
use ephor_policies::load::LoadedPolicy;
use ephor_report::run::Place;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, follow, parse};

/// The place in a policy of a path in its document, or of the nearest part around it.
pub fn policy_place(loaded: &LoadedPolicy, path: &[PathPart]) -> Option<Place> {
    let locate = |path: &[PathPart], want_key: bool| match want_key {
        true => locate::locate_key(&loaded.text, &loaded.path_in_text(path)),
        false => locate::locate(&loaded.text, &loaded.path_in_text(path)),
    };
    let (written, of_name) = (as_written(&loaded.document, path), parse("metadata.name"));
    let found = [&written, &of_name].into_iter().find_map(|path| nearest(&loaded.document, path, locate));
    let found = found.map(|at| in_block(&loaded.text, at));
    Some(place(&loaded.source, loaded.line, &loaded.text, found))
}

/// Of a text in a block the first line that it has, instead of the `>-` above it.
fn in_block(text: &str, at: Position) -> Position {
    let mut lines = text.lines().enumerate().skip(at.line.saturating_sub(1));
    let is_head = lines.next().is_some_and(|(_, line)| {
        line.chars().nth(at.col.saturating_sub(1)).is_some_and(|first| matches!(first, '|' | '>'))
    });
    let first = lines.find(|(_, line)| is_head && !line.trim().is_empty());
    first.map_or(at, |(number, line)| Position {
        line: number + 1,
        col: line.chars().take_while(|c| c.is_whitespace()).count() + 1,
        len: line.trim().chars().count(),
    })
}

/// The path as the policy writes it: keys of patterns may have anchors, and one item of a pattern
/// stands for all of a list.
fn as_written(document: &Value, path: &[PathPart]) -> Path {
    let (mut at, mut out) = (document, Path::new());
    for part in path {
        let found = match (part, at) {
            (PathPart::Key(key), Value::Map(fields)) => {
                let anchored = || fields.iter().find(|(written, _)| inside_anchor(written) == Some(&**key));
                let entry = fields.get_entry(key).or_else(anchored);
                entry.map(|(written, below)| (PathPart::Key(written.clone()), below))
            }
            (PathPart::Index(index), Value::List(items)) => {
                let index = (*index).min(items.len().saturating_sub(1));
                items.get(index).map(|below| (PathPart::Index(index), below))
            }
            _ => None,
        };
        let Some((written, below)) = found else { break };
        out.push(written);
        at = below;
    }
    out
}

/// The key in an anchor such as `=(image)`.
fn inside_anchor(written: &str) -> Option<&str> {
    let (anchor, rest) = written.split_once('(')?;
    let is_anchor = matches!(anchor, "" | "=" | "^" | "+" | "X" | "<");
    rest.strip_suffix(')').filter(|_| is_anchor)
}

/// The place of a value, of its key when it is a collection, or of the nearest part around it that
/// the text has.
pub fn nearest(
    document: &Value,
    path: &[PathPart],
    locate: impl Fn(&[PathPart], bool) -> Option<Position>,
) -> Option<Position> {
    (1..=path.len()).rev().find_map(|n| {
        let part = path.get(..n)?;
        let (value, followed) = follow(document, part);
        let is_whole = n == path.len() && followed == n && !matches!(value, Value::Map(_) | Value::List(_));
        locate(part, !is_whole)
    })
}

/// A place in a file whose document begins at a line.
pub fn place(file: &str, first_line: usize, text: &str, at: Option<Position>) -> Place {
    let line = |n: usize| text.lines().nth(n.saturating_sub(1)).unwrap_or_default().to_string();
    match at {
        Some(at) => Place {
            file: file.into(),
            line: first_line + at.line.saturating_sub(1),
            column: at.col,
            length: at.len,
            text: line(at.line),
        },
        None => Place { file: file.into(), line: first_line, ..Place::default() },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_value::place::dotted;

    use super::*;

    #[test]
    fn a_text_in_a_block_is_shown_by_its_first_line() {
        let text = "a: >-\n\n  x > 1 &&\n    y\nb: '>'\nc: |\n";
        let of = |path: &str| {
            let at = in_block(text, locate::locate(text, &parse(path)).unwrap());
            (at.line, at.col, at.len)
        };
        assert_eq!((of("a"), of("b")), ((3, 3, 8), (5, 4, 3)));
        // An empty block has its head alone.
        assert_eq!(of("c").0, 6);
    }

    #[test]
    fn paths_of_patterns_are_those_of_keys_with_anchors_and_of_the_one_item() {
        let policy = "{pattern: {spec: {=(containers): [{<(image): 'x', name: y}], plain: 1}}}";
        let policy = ephor_document::yaml_value(policy).unwrap();
        let written = |path: &str| dotted(&as_written(&policy, &parse(path)));
        assert_eq!(written("pattern.spec.containers[3].name"), "pattern.spec.=(containers)[0].name");
        assert_eq!(written("pattern.spec.containers[0].image"), "pattern.spec.=(containers)[0].<(image)");
        assert_eq!(written("pattern.spec.plain.more"), "pattern.spec.plain");
    }
}
