//! What functions do with arguments that they take for something else, without a word.
//!
//! In: lines of functions. Out: each line once, in alphabetical order. A function says so only where the reference's result surprises:
//! `semver_compare` takes what is no version for 0.0.0 (Kyverno 1.19.1).

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// More lines are not stored.
const MOST: usize = 50;

/// The lines of a run.
#[derive(Debug, Default)]
pub struct Remarks(Mutex<BTreeSet<String>>);

impl Remarks {
    /// Adds a line, unless there are enough.
    pub(crate) fn add(&self, line: String) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MOST {
            all.insert(line);
        }
    }

    /// Takes the lines.
    pub fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
