//! A rule that is migrated, with what is known of its policy.
//!
//! In: a policy as it was written and lowered. Out: what conversions read of it: the document at a
//! path, the context of its expressions.

use ephor_api::autogen::{Selection, computed_rules, written_rules};
use ephor_ir::{Policy, Rule};
use ephor_value::Value;

use crate::model::migrated::{AutogenStrategy, Note, Options};
use crate::model::original::Original;
use crate::model::unique::add_new;

/// A rule, and what is known of its policy.
pub(crate) struct Source<'s> {
    pub original: &'s Original,
    pub policy: &'s Policy,
    /// The document with defaults.
    pub document: &'s Value,
    pub options: &'s Options,
    pub way: AutogenStrategy,
}

impl Source<'_> {
    /// A rule as it is written; a generated one as it is generated.
    pub fn written(&self, at: usize, rule: &Rule) -> Value {
        let found = match rule.generated {
            None => written_rules(&self.original.value).get(at).cloned(),
            Some(_) => {
                let all = computed_rules(self.document, Selection::All);
                all.into_iter().find(|one| one.text_at(&["name"]) == &*rule.name)
            }
        };
        found.unwrap_or_default()
    }

    /// Adds a note about a place, once.
    pub fn note(&self, path: &str, text: impl Into<String>, notes: &mut Vec<Note>) {
        add_new(notes, [Note { place: self.original.place(path), text: text.into() }]);
    }
}
