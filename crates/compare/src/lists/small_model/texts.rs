//! Labels and annotations: texts, and so no lists.
//!
//! In: an expression. Out: whether it reads a label or an annotation of the metadata of an object
//! or an item.

use ephor_ir::Expr;
use ephor_ir::strict::Walk;

use crate::lists::small_model::model::{Items, key_of};

impl Items {
    /// Whether a value is a label or an annotation.
    pub(crate) fn is_text(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Variable(at) => self.texts.get(*at as usize).is_some_and(|is_text| *is_text),
            Expr::Not(base) | Expr::Flatten(base) | Expr::Index { base, .. } | Expr::Slice { base, .. } => {
                self.is_text(base)
            }
            // Nothing but this is read of a variable.
            Expr::Walk(walk) if walk.steps.is_empty() => self.is_text(&walk.base),
            expr => matches!(&*last_keys(expr), [.., "metadata", "labels" | "annotations", _]),
        }
    }
}

/// The keys that a value is read by, the last ones at least.
fn last_keys(expr: &Expr) -> Vec<&str> {
    let (base, own): (&Expr, Option<Vec<&str>>) = match expr {
        Expr::Path { base, keys, .. } => (base, Some(keys.iter().map(|key| &**key).collect())),
        Expr::Walk(walk) => {
            let Walk { base, steps, .. } = &**walk;
            (base, steps.iter().map(key_of).collect())
        }
        Expr::Not(base) | Expr::Flatten(base) | Expr::Index { base, .. } | Expr::Slice { base, .. } => {
            (base, Some(Vec::new()))
        }
        _ => return Vec::new(),
    };
    // What is read in another way hides what is before it.
    own.map_or_else(Vec::new, |own| last_keys(base).into_iter().chain(own).collect())
}
