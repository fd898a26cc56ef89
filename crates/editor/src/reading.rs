//! Large texts, which are read and checked on a thread of the caller.
//!
//! In: a text, and what its checks need. Out: its entry and the findings about its policies. Most
//! texts take a millisecond; a policy with thousands of rules takes seconds, in which requests about
//! other files have to be answered. Until it has been read, a text gives others what the one before
//! it gave.

use std::sync::Arc;

use ephor_inspect::lint::{Linter, Roles, Rules};
use ephor_value::release::Release;

use crate::cancel::Cancellation;
use crate::check::lint;
use crate::diagnostic::{Diagnostic, limited};
use crate::entry::Entry;
use crate::text::Text;

/// Bytes from which on a text is large. A policy of this size has hundreds of rules.
const LARGE: usize = 64 << 10;

/// Bytes of a text that is read at most: that of a file on the disk. Files that people write are
/// far smaller; of larger ones nothing is shown.
pub const MAX_TEXT: usize = 2 << 20;

/// Whether a text is read on another thread when it is edited.
pub(crate) fn is_large(text: &Text) -> bool {
    text.as_str().len() >= LARGE
}

/// Whether a text is not read at all.
pub(crate) fn is_too_large(text: &Text) -> bool {
    text.as_str().len() > MAX_TEXT
}

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
        let mut linted = Vec::new();
        if lint::is_checked(&entry, true) && !token.is_cancelled() {
            let is_over = || token.is_cancelled();
            linted = lint::findings((&linter, &roles, &rules), &name, &text, &is_over);
        }
        ReadText { text, entry, linted: limited(linted) }
    }
}
