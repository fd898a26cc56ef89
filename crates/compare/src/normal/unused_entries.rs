//! Entries of the context that nothing reads.
//!
//! In: a rule that checks what decides about the changes of another one. Out: the rule without the
//! entries that it does not read: they are loaded when something does.

use std::sync::Arc;

use ephor_analysis::tree::{Node, Tree};
use ephor_ir::rule::{Binding, BindingSource};
use ephor_ir::{Rule, Template};
use ephor_value::Value;

/// A rule with a constant for each entry that nothing else in it reads: their positions stay.
pub(crate) fn without_unread(rule: Arc<Rule>) -> Arc<Rule> {
    let mut bindings = rule.bindings.to_vec();
    for at in 0..bindings.len() {
        let Some(name) = bindings.get(at).map(|binding| binding.name.clone()) else { continue };
        let others: Vec<_> = bindings.iter().filter(|binding| binding.name != name).cloned().collect();
        let is_only = others.len() + 1 == bindings.len();
        let other = Rule { bindings: others.into(), ..(*rule).clone() };
        let is_read = Tree::of(&other).is_none_or(|tree| reads(&tree, &name));
        if let Some(binding) = bindings.get_mut(at).filter(|_| is_only && !is_read) {
            let source = BindingSource::Variable {
                value: Some(Template::Const(Value::Null)),
                query: None,
                default: None,
                raw: Value::Null,
            };
            *binding = Arc::new(Binding { source, ..(**binding).clone() });
        }
    }
    Arc::new(Rule { bindings: bindings.into(), ..(*rule).clone() })
}

/// Whether something reads an entry, or may do so: texts that are put together may name any.
fn reads(tree: &Tree, name: &str) -> bool {
    match tree {
        Tree::None | Tree::Scalar(_) | Tree::Text(_) => false,
        Tree::List(items) => items.iter().any(|item| reads(item, name)),
        Tree::Map(entries) => entries.iter().any(|(_, value)| reads(value, name)),
        Tree::Node(node) => node_reads(node, name),
    }
}

fn node_reads(node: &Node, name: &str) -> bool {
    let is = |tree: &Tree, variant: &str| tree.as_node().is_some_and(|node| node.variant == variant);
    let below = |skipped: &[&str]| {
        let mut all = node.fields.iter().filter(|(field, _)| !skipped.contains(field));
        all.any(|(_, value)| reads(value, name))
    };
    match (node.kind, node.variant) {
        ("Expr", "root") | ("Template", "text" | "rounds") => true,
        ("Expr", "path") if node.get("base").is_some_and(|base| is(base, "root")) => {
            let first = match node.get("keys") {
                Some(Tree::List(keys)) => keys.first().and_then(Tree::as_text),
                _ => None,
            };
            first.is_none_or(|first| *first == *name)
        }
        _ => below(&["rounds", "message", "raw"]),
    }
}
