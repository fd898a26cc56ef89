//! Names of context entries, on which no verdict depends.
//!
//! In: the tree of a policy. Out: [`AlphaNames`]: for each context entry whose name means nothing
//! else wherever it is written, a word that is the same whatever the name is. A name is left as it
//! is where it may be a field as well, or a part of a text.

use std::collections::BTreeMap;

use ephor_analysis::reads::GIVEN;
use ephor_analysis::tree::{Node, Tree};

use crate::normal::print::UNREAD;

/// The words for names.
#[derive(Default)]
pub(crate) struct AlphaNames(BTreeMap<String, String>);

impl AlphaNames {
    /// Those of a policy; `named`: exceptions exist, which name policies and rules.
    pub fn of(tree: &Tree, named: bool) -> AlphaNames {
        let mut found = Vec::new();
        declared(tree, &mut found);
        let is_free = |name: &&String| {
            !name.is_empty()
                && name.chars().all(is_word)
                && !GIVEN.contains(&name.as_str())
                && !name.starts_with("element")
                && found.iter().filter(|other| other == name).count() == 1
        };
        let words = found.iter().enumerate().filter(|(_, name)| is_free(name));
        let words = words.filter(|(_, name)| is_name_alone(tree, name, (NamePosition::Other, named)));
        AlphaNames(words.map(|(at, name)| (name.clone(), format!("\u{1}{at}\u{1}"))).collect())
    }

    /// A text with the words for the names in it.
    pub fn without(&self, text: &str) -> String {
        let all = self.0.iter().filter(|(name, _)| text.contains(name.as_str()));
        all.fold(text.to_string(), |text, (name, word)| text.replace(name, word))
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Where a part of a tree stands.
#[derive(Clone, Copy, PartialEq)]
enum NamePosition {
    /// It is a name, or a list of names.
    Names,
    /// It is the first key that is read of the data of a rule.
    First,
    /// It is a query on other data.
    Elsewhere,
    Other,
}

fn declared(tree: &Tree, out: &mut Vec<String>) {
    match tree {
        Tree::None | Tree::Scalar(_) | Tree::Text(_) => {}
        Tree::List(items) => items.iter().for_each(|item| declared(item, out)),
        Tree::Map(entries) => entries.iter().for_each(|(_, value)| declared(value, out)),
        Tree::Node(node) => {
            if node.kind == "Binding" {
                out.extend(node.text("name").map(Into::into));
            }
            node.fields.iter().for_each(|(_, value)| declared(value, out));
        }
    }
}

/// Whether a name is nothing but the name of the entry wherever it is written.
fn is_name_alone(tree: &Tree, name: &str, (place, named): (NamePosition, bool)) -> bool {
    match tree {
        Tree::None | Tree::Scalar(_) => true,
        Tree::Text(text) if text == name => matches!(place, NamePosition::Names | NamePosition::First),
        Tree::Text(text) => is_read(text, name),
        Tree::List(items) if place == NamePosition::First => {
            let place = |at: usize| if at == 0 { NamePosition::First } else { NamePosition::Other };
            items.iter().enumerate().all(|(at, item)| is_name_alone(item, name, (place(at), named)))
        }
        Tree::List(items) => items.iter().all(|item| is_name_alone(item, name, (place, named))),
        Tree::Map(entries) => entries.iter().all(|(key, value)| {
            !key.contains(name) && is_name_alone(value, name, (NamePosition::Other, named))
        }),
        Tree::Node(node) => node.fields.iter().all(|(field, value)| {
            crate::normal::alpha::is_left_out(node, field, named)
                || is_name_alone(value, name, (place_of(node, field, place), named))
        }),
    }
}

fn place_of(node: &Node, field: &str, place: NamePosition) -> NamePosition {
    let is_root = || matches!(node.get("base"), Some(Tree::Node(base)) if (base.kind, base.variant) == ("Expr", "root"));
    match (node.kind, field) {
        ("Binding", "name") | (_, "names") => NamePosition::Names,
        // One without a value is on the data of the rule.
        ("BindingSource", "query") if node.variant != "variable" || node.get("value").is_some() => {
            NamePosition::Elsewhere
        }
        _ if place == NamePosition::Elsewhere => NamePosition::Elsewhere,
        ("Expr", "keys") if node.variant == "path" && is_root() => NamePosition::First,
        _ => NamePosition::Other,
    }
}

/// Whether a text has a name only where a variable in it reads what has this name.
fn is_read(text: &str, name: &str) -> bool {
    text.match_indices(name).all(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + name.len()..).unwrap_or_default();
        let start = before.rfind("{{").filter(|start| before.rfind("}}").is_none_or(|end| end < *start));
        let within = start.and_then(|start| before.get(start..)).unwrap_or_default();
        let is_in_variable = !within.is_empty()
            && ['\'', '"', '`'].iter().all(|quote| within.matches(*quote).count() % 2 == 0);
        let is_start = before.ends_with(['{', ' ', '(', '[', ',', '|', '&', '!']);
        is_in_variable
            && is_start
            && !after.starts_with(|c: char| is_word(c) || matches!(c, '-' | ':' | '\'' | '"'))
    })
}

/// Whether no verdict depends on a field; `named`: whether exceptions exist, which name policies
/// and rules.
pub(crate) fn is_left_out(node: &Node, field: &str, named: bool) -> bool {
    field == "origin"
        || UNREAD.contains(&(node.kind, field))
        || (field == "name" && !named && matches!(node.kind, "Policy" | "Rule"))
}
