//! Large texts, which are read and checked on a thread of the caller.
//!
//! In: a text, and what its checks need. Out: its entry and the findings about its policies. Most
//! texts take a millisecond; a policy with thousands of rules takes seconds, in which requests
//! about other files have to be answered. Until it has been read, a text gives others what the one
//! before it gave.

use std::sync::Arc;

use ephor_inspect::lint::{Linter, Roles, Rules};
use ephor_value::release::Release;

use crate::cancel::Cancellation;
use crate::diagnostic::{Diagnostic, limited};
use crate::entry::Entry;
use crate::linted;
use crate::text::Text;

/// A text that is to be read.
pub struct Reading {
    pub(crate) name: Arc<str>,
    pub(crate) text: Text,
    pub(crate) release: Release,
    pub(crate) linter: Arc<Linter>,
    pub(crate) roles: Arc<Roles>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) token: Cancellation,
}

/// A text that was read.
#[derive(Clone, Debug)]
pub struct ReadText {
    pub(crate) text: Text,
    pub(crate) entry: Entry,
    pub(crate) linted: Vec<Diagnostic>,
}

impl Reading {
    /// The file.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Reads the text. It ends early when the text changes meanwhile.
    pub fn run(self) -> ReadText {
        let Reading { name, text, release, linter, roles, rules, token } = self;
        let entry = Entry::of(&name, &text, release);
        let mut found = Vec::new();
        if linted::is_checked(&entry, true) && !token.is_cancelled() {
            let is_over = || token.is_cancelled();
            found = linted::findings((&linter, &roles, &rules), &name, &text, &is_over);
        }
        ReadText { text, entry, linted: limited(found) }
    }
}
