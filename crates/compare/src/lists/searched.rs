//! Lists of texts in which operators look for another text.
//!
//! In: a rule. Out: the names of its entries that are such lists: a label, an annotation or the
//! name of each item of a list. What `AnyIn` and its like say of a text and such a list is that an
//! item has this text, or that none has. One item is enough for that, the one that the operator
//! needs (`items`): the projection that makes the list of the items needs no other. Where anything
//! else reads the entry, or the key may be a list itself, of which each item may need one of its
//! own, this is not so.

use std::sync::Arc;

use ephor_ir::check::Check;
use ephor_ir::condition::Operator;
use ephor_ir::expr::Over;
use ephor_ir::rule::{Binding, BindingSource, Body, QuerySource};
use ephor_ir::{Condition, Expr, Rule, Template};
use ephor_value::Str;

/// The entries of a rule that are texts of the items of a list, and each of which only operators
/// read that look for another text in it: what they say needs one item.
pub(crate) fn searched(rule: &Rule) -> Vec<Str> {
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
