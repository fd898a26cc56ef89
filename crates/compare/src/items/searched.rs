//! Lists from outside in which operators look for a text, and texts of metadata.
//!
//! In: a rule. Out: its entries that are texts of the items of a list, such as names, and that only operators read which look for another text: what these say
//! needs one item. And whether an expression reads a label or an annotation, which is no list.

use std::sync::Arc;

use super::Items;
use crate::analysis::tree::Tree;
use crate::ir::check::Check;
use crate::ir::condition::Operator;
use crate::ir::expr::Over;
use crate::ir::rule::{Binding, BindingSource, Body, QuerySource};
use crate::ir::{Condition, Expr, Rule, Template};
use crate::value::Str;

impl Items {
    /// Whether a value is a label or an annotation.
    pub(super) fn is_text(&self, tree: &Tree) -> bool {
        let Tree::Node(node) = tree else { return false };
        if node.variant == "variable" {
            let at = node.fields.iter().find_map(|(_, at)| match at {
                Tree::Scalar(at) => at.parse::<usize>().ok(),
                _ => None,
            });
            return at.and_then(|at| self.texts.get(at)).is_some_and(|is_text| *is_text);
        }
        match &*last_keys(tree) {
            // Nothing but this is read of a variable.
            [] => {
                let is_plain = ["keys", "steps"].iter().all(|name| node.get(name).is_none_or(is_empty));
                let base = node.get("base").or_else(|| node.get(""));
                matches!(node.kind, "Expr" | "Walk")
                    && is_plain
                    && base.is_some_and(|base| self.is_text(base))
            }
            keys => matches!(keys, [.., "metadata", "labels" | "annotations", _]),
        }
    }
}

/// The entries of a rule that are texts of the items of a list, and each of which only operators read that look for another text in it:
/// what they say needs one item.
pub(super) fn searched(rule: &Rule) -> Vec<Str> {
    let Body::Validate { check: Check::Deny(conditions), .. } = &rule.body else { return Vec::new() };
    let is_searched = |binding: &&Arc<Binding>| {
        let name = &binding.name;
        let all = rule.admit.iter().chain([conditions]);
        let mut all = all.flat_map(|of| of.all.iter().chain(of.any.as_deref().into_iter().flatten()));
        let mut others = rule.bindings.iter().filter(|other| !Arc::ptr_eq(other, binding));
        are_texts(&binding.source)
            && all.all(|one| {
                is_search(one, name) || ![&one.key, &one.value].into_iter().any(|side| names(side, name))
            })
            && others.all(|other| other.name != *name && !format!("{:?}", other.source).contains(&**name))
    };
    rule.bindings.iter().filter(is_searched).map(|one| one.name.clone()).collect()
}

/// Whether what an entry loads are texts of the items of a list.
fn are_texts(source: &BindingSource) -> bool {
    let BindingSource::Given { query, shown, default: None, .. } = source else { return false };
    let ready = match query {
        Some(QuerySource::Ready(query)) => Some(query),
        _ => None,
    };
    let expr = shown.as_ref().or(ready).and_then(|query| query.expr.as_ref().ok());
    matches!(expr, Some(Expr::Project { over: Over::Items, body: Some(body), .. }) if is_text_at(body, &Expr::Local(0)))
}

/// Whether a value is a text that each object has in its metadata, by a path.
fn is_text_at(expr: &Expr, of: &Expr) -> bool {
    match expr {
        Expr::Rescue { expr, .. } => is_text_at(expr, of),
        Expr::Or(sides) => {
            is_text_at(&sides[0], of) && sides[1].constant().is_some_and(|other| other.as_str().is_some())
        }
        Expr::Path { base, keys, .. } => {
            let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
            let is_text = matches!(&*keys, [.., "metadata", "labels" | "annotations", _])
                || matches!(&*keys, [.., "metadata", "name" | "namespace"]);
            **base == *of && is_text
        }
        _ => false,
    }
}

/// Whether a condition looks for a text in the entry of a name.
fn is_search(condition: &Condition, name: &Str) -> bool {
    use Operator::{AllIn, AllNotIn, AnyIn, AnyNotIn};
    let is_entry = |side: &Template| match side {
        Template::Whole(hole) => match &hole.query.expr {
            Ok(Expr::Path { base, keys, .. }) => {
                matches!(**base, Expr::Root) && matches!(&**keys, [own] if own == name)
            }
            _ => false,
        },
        _ => false,
    };
    let is_text = match &condition.key {
        Template::Const(key) => key.as_str().is_some(),
        Template::Whole(hole) => hole.query.expr.as_ref().is_ok_and(|expr| is_text_at(expr, &Expr::Root)),
        _ => false,
    };
    matches!(condition.operator, Some(AnyIn | AllIn | AnyNotIn | AllNotIn))
        && is_text
        && !names(&condition.key, name)
        && is_entry(&condition.value)
}

/// Whether a template may read the entry of a name.
fn names(template: &Template, name: &str) -> bool {
    match template {
        Template::Whole(hole) => format!("{:?}", hole.query).contains(name),
        Template::Text(text) => text.rounds.source.contains(name),
        Template::Rounds(rounds) => rounds.source.contains(name),
        other => format!("{other:?}").contains(name),
    }
}

fn is_empty(tree: &Tree) -> bool {
    matches!(tree, Tree::List(items) if items.is_empty())
}

/// The keys that a value is read by, the last ones at least.
fn last_keys(tree: &Tree) -> Vec<&str> {
    let Tree::Node(node) = tree else { return Vec::new() };
    if let (Some(inner), 1) = (node.get(""), node.fields.len()) {
        return last_keys(inner);
    }
    let base = node.get("base").map(last_keys).unwrap_or_default();
    let own: Option<Vec<&str>> = match (node.get("keys"), node.get("steps")) {
        (Some(Tree::List(keys)), _) => keys.iter().map(Tree::as_text).collect(),
        (_, Some(Tree::List(steps))) => {
            steps.iter().map(|step| step.as_node().and_then(|step| step.text("key"))).collect()
        }
        _ => Some(Vec::new()),
    };
    // What is read in another way hides what is before it.
    own.map_or_else(Vec::new, |own| base.into_iter().chain(own).collect())
}
