//! What functions do with arguments that they take for something else, without a word.
//!
//! In: lines of functions. Out: each line once, in alphabetical order. A function says so only
//! where the reference's result surprises: `semver_compare` takes what is no version for 0.0.0
//! (Kyverno 1.19.1).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// More lines are not stored. A reader of a log learns nothing new from more; a policy with more
/// faults of the kind is mended in two steps.
const MAX_REMARKS: usize = 50;

/// The lines of a run.
#[derive(Debug, Default)]
pub struct Remarks {
    lines: Mutex<BTreeSet<String>>,
    is_any: AtomicBool,
}

impl Remarks {
    /// Adds a line, unless there are enough.
    pub(crate) fn add(&self, line: String) {
        let mut all = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_any.store(true, Ordering::Relaxed);
        all.insert(line);
        // The first ones in their order, whichever thread came first.
        if all.len() > MAX_REMARKS {
            all.pop_last();
        }
    }

    /// Takes the lines.
    pub fn take(&self) -> BTreeSet<String> {
        // Nothing is locked where there is nothing, which is nearly always.
        if !self.is_any.swap(false, Ordering::Relaxed) {
            return BTreeSet::new();
        }
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
