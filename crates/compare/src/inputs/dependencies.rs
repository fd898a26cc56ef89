//! External data that a policy reads, by name: what a proof is relative to.
//!
//! In: a policy. Out: for each entry of its context, and each function that depends on more than
//! its arguments, where the data comes from.

use std::collections::BTreeSet;

use ephor_analysis::tree::{Node, Tree};
use ephor_functions::registry::{Dependency, Language, Meaning, find};
use ephor_ir::Policy;

/// The external data that the rules of a policy read.
pub(crate) fn external(policy: &Policy) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let Some(tree) = Tree::of(policy) {
        walk(&tree, &mut found);
    }
    found
}

fn walk(tree: &Tree, found: &mut BTreeSet<String>) {
    match tree {
        Tree::None | Tree::Scalar(_) | Tree::Text(_) => {}
        Tree::List(items) => items.iter().for_each(|item| walk(item, found)),
        Tree::Map(entries) => entries.iter().for_each(|(_, value)| walk(value, found)),
        Tree::Node(node) => {
            found.extend(of_node(node));
            node.fields.iter().for_each(|(_, value)| walk(value, found));
        }
    }
}

fn of_node(node: &Node) -> Option<String> {
    let raw = |key: &str| node.get("raw").and_then(|raw| text_under(raw, key));
    match (node.kind, node.variant) {
        ("BindingSource", "configMap") => {
            let namespace = raw("namespace").map_or(String::new(), |namespace| format!("{namespace}/"));
            Some(format!("ConfigMap {namespace}{}", raw("name")?))
        }
        ("BindingSource", "apiCall") => Some(match raw("urlPath").or_else(|| raw("url")) {
            Some(path) => format!("API call {path}"),
            None => "an API call".into(),
        }),
        ("BindingSource", "global") => {
            Some(format!("global context entry {}", node.text("name").unwrap_or_default()))
        }
        ("BindingSource", "image") => Some("image registries".into()),
        ("Constraints" | "Bound", _) => node.get("paramKind").map(|_| "parameters".into()),
        ("Expr", "call") | ("Invoke", _) => {
            let name = node.text("function")?;
            if let Some(library) = library(node) {
                return Some(library.into());
            }
            let rows = [Language::JmesPath, Language::Cel].map(|language| find(language, name));
            rows.into_iter().flatten().find_map(|function| match function.meaning {
                Meaning::DependsOn(dependency) => named(dependency).map(Into::into),
                _ => None,
            })
        }
        _ => None,
    }
}

/// What a call reads by the library that it is one of.
fn library(node: &Node) -> Option<&'static str> {
    fn is_read(tree: &Tree, name: &str) -> bool {
        match tree {
            Tree::Text(text) => text == name,
            Tree::List(items) => items.iter().any(|item| is_read(item, name)),
            Tree::Node(node) => node.fields.iter().any(|(_, part)| is_read(part, name)),
            _ => false,
        }
    }
    const LIBRARIES: [(&str, &str); 3] = [
        ("resource", "objects of the cluster"),
        ("http", "services"),
        ("globalContext", "global context entries"),
    ];
    let is_lookup = matches!(node.text("function"), Some("get" | "Get" | "list" | "List" | "post" | "Post"));
    let Some(Tree::List(args)) = node.get("args").filter(|_| is_lookup) else { return None };
    let receiver = args.first()?;
    LIBRARIES.iter().find(|(name, _)| is_read(receiver, name)).map(|(_, what)| *what)
}

fn named(dependency: Dependency) -> Option<&'static str> {
    Some(match dependency {
        Dependency::Clock => "the clock",
        Dependency::Chance => "chance",
        Dependency::Cluster => "objects of the cluster",
        Dependency::Services => "services",
        Dependency::Registry => "image registries",
        Dependency::Settings | Dependency::Receiver => return None,
    })
}

/// The first text under a key.
fn text_under(tree: &Tree, key: &str) -> Option<String> {
    match tree {
        Tree::Map(entries) => {
            let own = entries.iter().find(|(name, _)| name == key).and_then(|(_, value)| value.as_text());
            own.map(Into::into).or_else(|| entries.iter().find_map(|(_, value)| text_under(value, key)))
        }
        Tree::List(items) => items.iter().find_map(|item| text_under(item, key)),
        Tree::Node(node) => node.fields.iter().find_map(|(_, value)| text_under(value, key)),
        _ => None,
    }
}
