//! Rules as texts without what no verdict depends on.
//!
//! In: a node of the IR, printed by `ephor_analysis::tree`. Out: its text, with names of variables
//! as `normal::alpha` numbers them.

use std::fmt::Write;

use ephor_analysis::tree::{Node, Tree};

use crate::normal::alpha::{AlphaNames, is_left_out};

/// The text of a part, with the names that it has.
pub(crate) fn written(tree: &Tree) -> String {
    let names = AlphaNames::default();
    let mut writer =
        CanonicalPrinter { text: String::new(), names, named: false, looks: false, reads_operation: false };
    writer.tree(tree);
    writer.text
}

/// Fields of nodes on which no verdict depends.
pub(crate) const UNREAD: [(&str, &str); 16] = [
    ("Policy", "api"),
    ("Policy", "shortName"),
    ("Policy", "annotations"),
    ("Policy", "reported"),
    ("Policy", "background"),
    ("Policy", "report"),
    ("Policy", "byKind"),
    ("Policy", "ruleCount"),
    ("Policy", "ruleNames"),
    ("Rule", "generated"),
    ("Rule", "properties"),
    ("Validation", "reason"),
    ("Validation", "message"),
    ("Validation", "messageProgram"),
    ("Source", "text"),
    ("Query", "text"),
];

/// Keys under which requests have their kind.
pub(crate) const ENVIRONMENT: [&str; 12] = [
    "kind",
    "requestKind",
    "resource",
    "requestResource",
    "subResource",
    "subresource",
    "requestSubResource",
    "apiVersion",
    "group",
    "version",
    "options",
    "dryRun",
];

pub(crate) struct CanonicalPrinter {
    pub(crate) text: String,
    pub(crate) names: AlphaNames,
    pub(crate) named: bool,
    pub(crate) looks: bool,
    pub(crate) reads_operation: bool,
}

impl CanonicalPrinter {
    pub(crate) fn tree(&mut self, tree: &Tree) {
        match tree {
            Tree::None => self.text.push('-'),
            Tree::Scalar(text) => {
                let _ = write!(self.text, "{text}");
            }
            Tree::Text(text) => {
                let is_variable = text.contains("{{") || text.contains("request.");
                let has = |wanted: &str| {
                    let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                    text == wanted || (is_variable && words.any(|word| word == wanted))
                };
                self.reads_operation |= has("operation");
                self.looks |= ENVIRONMENT.iter().any(|word| has(word));
                let text = self.names.without(text);
                let _ = write!(self.text, "{text:?}");
            }
            Tree::List(items) => self.all('[', ']', items.iter().map(|item| ("", item))),
            Tree::Map(entries) => {
                self.text.push('{');
                for (key, value) in entries {
                    let _ = write!(self.text, "{key:?}:");
                    self.tree(value);
                    self.text.push(',');
                }
                self.text.push('}');
            }
            Tree::Node(node) => self.node(node),
        }
    }

    fn all<'t>(&mut self, open: char, close: char, parts: impl Iterator<Item = (&'static str, &'t Tree)>) {
        self.text.push(open);
        for (name, part) in parts {
            let _ = write!(self.text, "{name}:");
            self.tree(part);
            self.text.push(',');
        }
        self.text.push(close);
    }

    fn node(&mut self, node: &Node) {
        let fields: Vec<_> =
            node.fields.iter().filter(|(name, _)| !is_left_out(node, name, self.named)).collect();
        let _ = write!(self.text, "{}.{}", node.kind, node.variant);
        self.all('(', ')', fields.into_iter().map(|(name, part)| (*name, part)));
    }
}
