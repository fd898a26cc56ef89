//! What of a rule is known only at run time, because it is put together from the results of
//! variables.
//!
//! In: a rule. Out: its nodes whose meaning depends on data, with the path where each is written: a
//! proof about a rule assumes that these stay as they are. How they are lowered at run time is
//! [`ephor_ir::late::Late`].

use ephor_ir::Rule;

use super::tree::{Node, Tree};

/// Why a node has no meaning before a request is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Open {
    /// The result of a variable may hold variables, which are then resolved (`Template::Whole`).
    Result,
    /// A result inside of a text may hold variables (`Template::Text`).
    Text,
    /// A text whose variables nest, touch or are escaped is resolved in rounds
    /// (`Template::Rounds`).
    Rounds,
    /// The text of a query holds variables (`QuerySource::Dynamic`).
    Query,
    /// A pattern, or several, is lowered once it is filled in (`Overlay::Dynamic`,
    /// `Overlays::Dynamic`).
    Pattern,
    /// A document to be merged is lowered once it is filled in (`Merge::Dynamic`).
    Merge,
    /// A JSON patch is decoded once it is filled in (`Json::Dynamic`).
    JsonPatch,
    /// Keys of a pattern hold wildcards, which are found in each object (`MapShape::expand`).
    Keys,
}

/// A node that is known only at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// Why.
    pub open: Open,
    /// The path of the nearest piece around it that has one.
    pub origin: String,
    /// Its text, where it is one.
    pub text: String,
}

/// The nodes of a rule that are known only at run time, in the order in which they stand in it.
pub fn of_rule(rule: &Rule) -> Vec<Assumption> {
    let mut found = Vec::new();
    // A rule that cannot be written has no nodes but such as have a meaning: constants are what
    // cannot be written.
    Tree::of(rule).iter().for_each(|tree| walk(tree, "", &mut found));
    found
}

fn walk(tree: &Tree, origin: &str, found: &mut Vec<Assumption>) {
    match tree {
        // Objects are parts of constants.
        Tree::None | Tree::Scalar(_) | Tree::Text(_) | Tree::Map(_) => {}
        Tree::List(items) => items.iter().for_each(|item| walk(item, origin, found)),
        Tree::Node(node) => {
            let own = node.fields.iter().filter_map(|(_, field)| field.as_node());
            let own = own.filter(|field| field.kind == "Origin").find_map(|field| field.text("path"));
            let origin = own.unwrap_or(origin);
            if let Some(open) = open(node) {
                found.push(Assumption { open, origin: origin.into(), text: source(node) });
            }
            node.fields.iter().for_each(|(_, field)| walk(field, origin, found));
        }
    }
}

fn open(node: &Node) -> Option<Open> {
    Some(match (node.kind, node.variant) {
        ("Template", "whole") => Open::Result,
        ("Template", "text") => Open::Text,
        ("Template", "rounds") => Open::Rounds,
        ("QuerySource", "dynamic") => Open::Query,
        ("Overlay" | "Overlays", "dynamic") => Open::Pattern,
        ("Merge", "dynamic") => Open::Merge,
        ("Json", "dynamic") => Open::JsonPatch,
        ("MapShape", _) if node.get("expand").is_some() => Open::Keys,
        _ => return None,
    })
}

/// The text of a template, which stands in it or in its `rounds`.
fn source(node: &Node) -> String {
    let inner = node.get("").and_then(Tree::as_node);
    let rounds = inner.and_then(|n| n.get("rounds")).and_then(Tree::as_node).or(inner);
    rounds.and_then(|n| n.text("source")).unwrap_or_default().into()
}
