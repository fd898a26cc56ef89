//! Labels and annotations: texts, and so no lists.
//!
//! In: an expression. Out: whether it reads a label or an annotation of the metadata of an object
//! or an item.

use ephor_analysis::tree::Tree;

use crate::lists::small_model::model::Items;

impl Items {
    /// Whether a value is a label or an annotation.
    pub(crate) fn is_text(&self, tree: &Tree) -> bool {
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
