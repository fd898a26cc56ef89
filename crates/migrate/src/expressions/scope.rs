//! What a conversion knows and collects: types, names of loops, shared expressions, refusals.

use std::collections::BTreeMap;

use ephor_analysis::tree::Tree;
use ephor_ir::{Origin, Rule};
use ephor_value::Str;
use ephor_value::names::is_word_of_expressions;

use super::term::Val;
use super::types::Ty;
use crate::cel::build::{name, select};
use crate::cel::is_same;
use crate::expressions::context::{Context, Target};
use crate::expressions::refusal::{Refusal, Result};
use crate::model::names::numbered;
use ephor_cel::ast::Node;

/// A shared expression.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Its name.
    pub name: Str,
    /// The expression.
    pub node: Node,
    /// It stays under its name though it is short.
    pub keep: bool,
}

/// The state of a conversion.
pub struct Scope<'c> {
    /// What is known of the requests.
    pub cx: &'c Context,
    /// The type of the object.
    pub object: Ty,
    /// Where the piece that is converted is written.
    pub place: Origin,
    /// Names of loops around it.
    pub loops: Vec<Str>,
    /// Values by name: of `element`, and of the rule's context.
    pub names: BTreeMap<Str, Val>,
    /// Shared expressions in the order of their declaration.
    pub shared: Vec<Shared>,
    /// How deep templates and bindings nest.
    pub depth: usize,
    /// Inner variables of texts whose variables nest.
    pub inner: Vec<Val>,
    /// What queries of context entries are about, where that is not the rule's data.
    pub data: Option<Val>,
    /// The context entries in scope.
    pub bindings: Vec<std::sync::Arc<ephor_ir::rule::Binding>>,
    /// Whether the value with a default that is compared may be the text `*`.
    pub wild: bool,
    /// Variables of messages that are left out.
    pub left_out: Vec<Str>,
    /// Context entries whose default covers data that cannot be read.
    pub unanswered: Vec<Origin>,
    /// Whether what a pattern does not apply to does not match it.
    pub is_exact: bool,
    /// The rule.
    rule: &'c Rule,
}

/// Rules that nest deeper are refused.
pub const MAX_DEPTH: usize = 128;

impl<'c> Scope<'c> {
    /// At the start of a rule.
    pub fn new(cx: &'c Context, rule: &'c Rule) -> Scope<'c> {
        Scope {
            cx,
            wild: false,
            // What is sent to connect has no metadata.
            object: match cx.kinds.is_empty() && cx.operations.iter().any(|o| **o == *"CONNECT") {
                true => Ty::Any,
                false => Ty::of_kinds(&cx.kinds, &cx.types),
            },
            place: rule.origin.clone(),
            loops: Vec::new(),
            names: BTreeMap::new(),
            shared: Vec::new(),
            depth: 0,
            inner: Vec::new(),
            data: None,
            bindings: Vec::new(),
            left_out: Vec::new(),
            unanswered: Vec::new(),
            is_exact: false,
            rule,
        }
    }

    /// Converts something inside of a loop.
    pub fn in_loop<T>(&mut self, var: &Str, convert: impl FnOnce(&mut Scope<'c>) -> T) -> T {
        self.loops.push(var.clone());
        let found = convert(self);
        self.loops.pop();
        found
    }

    /// Converts something that is written at a place.
    pub fn at<T>(&mut self, place: &Origin, convert: impl FnOnce(&mut Scope<'c>) -> T) -> T {
        let outside = std::mem::replace(&mut self.place, place.clone());
        let found = convert(self);
        self.place = outside;
        found
    }

    /// Converts queries about other data than the rule's.
    pub fn about<T>(&mut self, data: Option<Val>, convert: impl FnOnce(&mut Scope<'c>) -> T) -> T {
        let outside = std::mem::replace(&mut self.data, data);
        let found = convert(self);
        self.data = outside;
        found
    }

    /// Converts a comparison of a value that may be the text `*`, or may not.
    pub fn with_wild<T>(&mut self, wild: bool, convert: impl FnOnce(&mut Scope<'c>) -> T) -> T {
        let outside = std::mem::replace(&mut self.wild, wild);
        let found = convert(self);
        self.wild = outside;
        found
    }

    /// Whether lists that are walked one after the other stay in their order: positions are read.
    pub fn is_in_order(&self) -> bool {
        Tree::of(self.rule).is_some_and(|rule| rule.any_text(&|text| text.contains("elementIndex")))
    }

    /// A refusal at the place of the piece.
    pub fn refuse(&self, construct: impl Into<Str>, nearest: impl Into<Str>) -> Refusal {
        Refusal::new(construct, self.place.clone(), nearest)
    }

    /// Refuses what needs Kyverno's libraries where these are not to be used.
    ///
    /// # Errors
    /// The target has none.
    pub fn needs_kyverno(&self, construct: &str) -> Result<()> {
        match self.cx.target {
            Target::Kyverno => Ok(()),
            Target::Kubernetes => {
                Err(self.refuse(construct, "migrate it to a ValidatingPolicy of Kyverno (`--to vpol`)"))
            }
        }
    }

    /// A name for the items of a list, from the name of the list.
    pub fn item_name(&self, list: Option<&str>) -> Str {
        let of = |list: &str| match list {
            "containers" | "initContainers" | "ephemeralContainers" | "allContainers" => {
                "container".to_string()
            }
            "env" | "envFrom" | "command" | "args" | "add" | "drop" => match list {
                "command" | "args" => "arg".to_string(),
                "add" | "drop" => "capability".to_string(),
                other => other.to_string(),
            },
            other => match (other.strip_suffix("ies"), other.strip_suffix("sses"), other.strip_suffix('s')) {
                (Some(stem), ..) => format!("{stem}y"),
                (_, Some(stem), _) => format!("{stem}ss"),
                (_, _, Some(stem)) if stem.len() > 1 => stem.to_string(),
                _ => "item".to_string(),
            },
        };
        let wanted: String =
            list.filter(|l| l.chars().all(|c| c.is_ascii_alphabetic())).map_or("item".into(), of);
        self.unused(if is_taken(&wanted) { "item" } else { &wanted })
    }

    /// A name that no loop around has.
    pub fn unused(&self, wanted: &str) -> Str {
        let taken = |name: &str| self.loops.iter().any(|own| **own == *name) || is_taken(name);
        numbered(wanted, "", taken).into()
    }

    /// An expression under a name of its own, as others read it.
    pub fn share(&mut self, wanted: &str, node: Node, keep: bool) -> Node {
        let known = self.shared.iter_mut().find(|shared| is_same(&shared.node, &node));
        let own = match known {
            Some(shared) => {
                shared.keep |= keep;
                shared.name.clone()
            }
            None => {
                let is_taken = |name: &str| self.shared.iter().any(|shared| *shared.name == *name);
                let own: Str = numbered(wanted, "", is_taken).into();
                self.shared.push(Shared { name: own.clone(), node, keep });
                own
            }
        };
        select(name("variables"), &own)
    }
}

/// Names that expressions have already.
const KNOWN: [&str; 16] = [
    "object",
    "oldObject",
    "request",
    "variables",
    "params",
    "namespaceObject",
    "resource",
    "http",
    "image",
    "json",
    "yaml",
    "images",
    "cel",
    "math",
    "time",
    "user",
];

/// Whether a variable cannot have a name.
fn is_taken(name: &str) -> bool {
    KNOWN.contains(&name) || is_word_of_expressions(name)
}
