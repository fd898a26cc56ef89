//! The IR as text that people read.
//!
//! In: a rule or a part of one. Out: a [`Node`] tree, laid out as indented lines. The text is stable
//! and names every node with its parameters (`docs/ir.md`), so that two pieces of IR print alike when
//! they mean alike: passes of the optimiser are tested by it, `ephor explain` shows it. A line ends
//! in `# PLACE` where the piece is known to stand in the policy document; the caller says how a
//! place is shown.

mod admission;
mod check;
mod condition;
mod constraints;
mod expr;
mod expressions;
mod generate;
mod matcher;
mod mutate;
mod rule;
mod shape;
mod template;

pub use expr::{expression, literal};

use super::{Conditions, Rule, Template};
use crate::value::place::{Path, PathPart, dotted};

/// Expressions that fit into this many columns stay on one line.
const WIDTH: usize = 96;

/// A printed piece: a line, and what stands indented under it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The line.
    pub head: String,
    /// The same piece on one line, where it has such a form.
    pub inline: Option<String>,
    /// Where it stands in the policy document.
    pub place: Option<Path>,
    /// What it consists of.
    pub below: Vec<Node>,
}

impl Node {
    fn new(head: impl Into<String>) -> Node {
        Node { head: head.into(), ..Node::default() }
    }

    fn with(mut self, below: impl IntoIterator<Item = Node>) -> Node {
        self.below.extend(below);
        self
    }

    fn at(mut self, place: Path) -> Node {
        self.place = Some(place);
        self
    }

    /// The piece under a name: on the same line when it is short.
    fn labelled(mut self, label: &str) -> Node {
        self.head = format!("{label}: {}", self.head);
        self.inline = self.inline.map(|text| format!("{label}: {text}"));
        self
    }

    fn write(&self, depth: usize, show: &dyn Fn(&[PathPart]) -> String, out: &mut String) {
        let inline = self.inline.as_ref().filter(|text| depth * 2 + text.chars().count() <= WIDTH);
        out.push_str(&"  ".repeat(depth));
        out.push_str(inline.unwrap_or(&self.head));
        if let Some(place) = &self.place {
            out.push_str("  # ");
            out.push_str(&show(place));
        }
        out.push('\n');
        if inline.is_none() {
            for node in &self.below {
                node.write(depth + 1, show, out);
            }
        }
    }

    /// The node on one line; of a long one without its operands.
    pub fn short(self) -> String {
        let cut = |head| format!("{head}(…)");
        self.inline.filter(|text| text.chars().count() <= WIDTH).unwrap_or_else(|| cut(self.head))
    }

    /// The lines, with places as `show` writes them.
    pub fn text(&self, show: &dyn Fn(&[PathPart]) -> String) -> String {
        let mut out = String::new();
        self.write(0, show, &mut out);
        out
    }
}

/// Lines with places as paths.
impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(&|place| dotted(place)))
    }
}

/// A rule with everything it holds.
pub fn rule(rule: &Rule) -> Node {
    rule::rule(rule)
}

/// Conditions under a name.
pub fn conditions(name: &str, conditions: &Conditions) -> Node {
    condition::conditions(name, conditions)
}

/// A template.
pub fn template(t: &Template) -> Node {
    template::template(t)
}

/// A text in quotes, on one line.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests;
