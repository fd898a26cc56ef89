//! Optional parts of an apply configuration: they are left out where all of the object is.
//!
//! In: an object, as an expression, whose optional parts are there unless a test holds, and a test
//! that does not hold where the object is evaluated. Out: the object with these parts as they are.

use crate::cel::build::{on, operands};
use crate::cel::print;
use ephor_cel::ast::{Entry, Kind, Node};

/// An expression without a test that does not hold; as it is where it cannot be read.
pub fn without_test(text: &str, test: &str) -> String {
    let syntax = ephor_cel::library::general("").syntax;
    let parsed = |text: &str| ephor_cel::syntax::parse(text, syntax).ok();
    match (parsed(text), parsed(test)) {
        (Some(node), Some(test)) => print(&of(node, &print(&test, usize::MAX)), usize::MAX),
        _ => text.into(),
    }
}

fn of(node: Node, test: &str) -> Node {
    let kind = match node.kind {
        Kind::Struct { name, fields } => {
            Kind::Struct { name, fields: fields.into_iter().map(|entry| entry_of(entry, test)).collect() }
        }
        Kind::Map(entries) => Kind::Map(entries.into_iter().map(|entry| entry_of(entry, test)).collect()),
        other => other,
    };
    Node::new(node.at, kind)
}

fn entry_of<K>(entry: Entry<K>, test: &str) -> Entry<K> {
    let value = match entry.optional.then(|| value_where_not(&entry.value, test)).flatten() {
        Some(value) => return Entry { value: of(value, test), optional: false, ..entry },
        None => of(entry.value, test),
    };
    Entry { value, ..entry }
}

/// The value of `test ? optional.none() : optional.of(value)`.
fn value_where_not(node: &Node, test: &str) -> Option<Node> {
    let [condition, _, other] = operands(node, "_?_:_")? else { return None };
    let (_, [value]) = on(other, "of")? else { return None };
    (print(condition, usize::MAX) == test).then(|| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_tested_again() {
        let text = "A{?b: has(x.y) ? optional.none() : optional.of({'c': 1}), ?d: has(x.z) ? optional.none() : optional.of(2)}";
        assert_eq!(
            without_test(text, "has(x.y)"),
            "A{b: {'c': 1}, ?d: has(x.z) ? optional.none() : optional.of(2)}"
        );
    }
}
