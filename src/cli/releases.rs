//! `--kubernetes VERSION`: the release whose API server's behaviour applies.

use ephor_value::release::{Release, ReleaseError};

/// The default of the flag: the newest release that is recorded in full.
pub const DEFAULT: &str = Release::DEFAULT_NAME;

/// Reads the flag. For a version without recorded facts the nearest one applies, and standard
/// error says so.
///
/// # Errors
/// The text is no version.
pub fn parse(text: &str) -> Result<Release, ReleaseError> {
    let choice = Release::choose(text)?;
    if !choice.exact {
        let known: Vec<&str> = Release::ALL.iter().map(|release| release.name()).collect();
        eprintln!(
            "warning: nothing is recorded of Kubernetes {text}; {} applies, the nearest of {}",
            choice.release,
            known.join(", ")
        );
    }
    Ok(choice.release)
}
