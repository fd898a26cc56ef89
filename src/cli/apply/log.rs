//! What `apply` says in addition to its results: warnings and notices, and what they are summed up
//! to.
//!
//! In: lines in the order in which they come up. Out: standard error, where files without policies
//! or resources, and deprecations, are one line each; everything that a report shows of the run's
//! inputs. Notices that Kyverno prints to standard output go there for Kyverno's outputs only.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ephor_report::run::Note;

use super::output_options::OutputOptions;
use crate::cli::console::{self, print, warn};

/// How many files without policies or resources are named before they are only counted, with
/// Kyverno's outputs. A choice: more lines would hide the results; the count says that there are
/// more.
const MAX_NAMED: usize = 3;

/// The messages of a run.
pub(in crate::cli) struct Log {
    is_own: bool,
    quiet: bool,
    verbose: bool,
    notes: Mutex<Vec<Note>>,
    broken: AtomicUsize,
}

impl Log {
    pub(in crate::cli) fn new(options: &OutputOptions) -> Log {
        Log {
            is_own: options.is_own(),
            quiet: options.quiet,
            verbose: options.verbose,
            notes: Mutex::default(),
            broken: AtomicUsize::default(),
        }
    }

    /// Whether all of what is summed up is listed.
    pub(super) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// A warning.
    pub(super) fn warn(&self, text: &str) {
        if !self.quiet {
            warn(text);
        }
    }

    /// A warning about a policy or a resource that is not used, which `--strict` takes for an
    /// error.
    pub(super) fn unused(&self, text: &str) {
        self.warn(text);
        self.note(text);
    }

    /// A file or document that cannot be read, which does not end the run: it is named whatever is
    /// printed else, and the run fails.
    pub(super) fn broken(&self, text: &str) {
        console::error(&format!("error: {text}\n"));
        self.broken.fetch_add(1, Ordering::Relaxed);
        self.note(text);
    }

    /// How many files or documents cannot be read.
    pub(super) fn broken_count(&self) -> usize {
        self.broken.load(Ordering::Relaxed)
    }

    /// The same, of what is printed elsewhere.
    pub(super) fn note(&self, text: &str) {
        self.notes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Note { text: text.to_string(), is_error: true });
    }

    /// Warnings in their order; those about files of other kinds are
    /// counted when there are many.
    pub(super) fn left_out(&self, lines: &[(String, Use)], what: &str) {
        let others = lines.iter().filter(|(_, usage)| *usage == Use::Foreign).count();
        let is_counted = !self.verbose && others > if self.is_own { 0 } else { MAX_NAMED };
        for (text, usage) in lines {
            match usage {
                Use::Missing => self.unused(text),
                Use::Foreign if is_counted => {}
                Use::Foreign | Use::Notice => self.warn(text),
                Use::Help if self.quiet => {}
                Use::Help => console::error(&format!("help: {text}\n")),
            }
        }
        match others {
            _ if !is_counted => {}
            1 => self.warn(&format!("1 file or document without {what} is left out (-v 1 shows it)")),
            n => self.warn(&format!("{n} files or documents without {what} are left out (-v 1 lists them)")),
        }
    }

    /// What Kyverno prints to standard output.
    pub(super) fn notice(&self, text: &str) {
        match (self.is_own, self.quiet) {
            (false, _) => print(text),
            (true, false) => console::error(text),
            (true, true) => {}
        }
    }

    /// Deprecation warnings: Kyverno's lines, or one line in place of all. That line does not count
    /// policies that are `migrated`: there is nothing to do about them.
    pub(super) fn deprecations(&self, lines: &[&String], migrated: usize) {
        if !self.is_own || self.verbose {
            return lines.iter().for_each(|line| self.notice(&format!("{line}\n")));
        }
        match lines.len().saturating_sub(migrated) {
            0 => {}
            1 => self.warn("1 policy or exception uses a deprecated kind (-v 1 shows it)"),
            n => self.warn(&format!("{n} policies or exceptions use deprecated kinds (-v 1 lists them)")),
        }
    }

    /// What was not used.
    pub(in crate::cli) fn notes(&self) -> Vec<Note> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a line about a source means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Something is missing that the user meant.
    Missing,
    /// It is of another kind than the files that are read.
    Foreign,
    /// It is worth knowing.
    Notice,
    /// It says more about the line before.
    Help,
}
