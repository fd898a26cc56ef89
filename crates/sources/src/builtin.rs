//! Policies that the program holds: `builtin://NAME`.
//!
//! In: an argument. Out: texts of policies, from the library that the program chose
//! ([`configure`]); a program without one has none. The library itself is above this crate, so that
//! a changed policy builds the program anew and nothing else.

use std::sync::OnceLock;

use crate::files::SourceText;

/// What such an argument begins with.
const SCHEME: &str = "builtin://";

/// What reads the texts that a name means.
pub type Library = fn(&str) -> Result<Vec<SourceText>, Box<dyn std::error::Error + Send + Sync>>;

static LIBRARY: OnceLock<Library> = OnceLock::new();

/// Chooses the library of the process; the first choice counts.
pub fn configure(library: Library) {
    let _ = LIBRARY.set(library);
}

/// Whether an argument means a part of the library and not a file.
pub fn means_library(argument: &str) -> bool {
    argument.starts_with(SCHEME)
}

/// The texts that an argument means.
///
/// # Errors
/// There is no such name, or no library.
pub(crate) fn read(argument: &str) -> Result<Vec<SourceText>, Box<dyn std::error::Error + Send + Sync>> {
    match LIBRARY.get() {
        Some(library) => library(argument),
        None => Err("this program holds no policies".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_the_library_by_its_scheme_alone() {
        assert!(means_library("builtin://pss-baseline"));
        assert!(!means_library("builtin/pss-baseline") && !means_library("oci://builtin/a:1"));
    }

    #[test]
    fn a_program_without_a_library_says_so() {
        assert!(read("builtin://all").unwrap_err().to_string().contains("holds no policies"));
    }
}
