//! `--kubernetes VERSION`: the release whose API server's behaviour applies.

use ephor_cluster::Cluster;
use ephor_value::release::{Release, ReleaseError};

use crate::cli::console;

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
        console::warn(&choice.instead_of(text));
    }
    Ok(choice.release)
}

/// The release of a cluster's API server. Where there are no facts of it the nearest one applies,
/// the default where the server does not say its version; standard error says so.
pub fn of_cluster(cluster: &Cluster) -> Release {
    match cluster.release() {
        Ok(choice) => {
            if !choice.exact {
                console::warn(&format!(
                    "nothing is recorded of the API server's version; {} applies, the nearest",
                    choice.release
                ));
            }
            choice.release
        }
        Err(error) => {
            let release = Release::default();
            console::warn(&format!("the API server does not say its version; {release} applies: {error}"));
            release
        }
    }
}

/// Why a flag names no two releases.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// A part is no version.
    #[error(transparent)]
    Version(#[from] ReleaseError),
    /// A comma has no version in front of it, or none behind it.
    #[error("a version is missing; hint: write two as `1.36,1.37`, or one alone")]
    Missing,
    /// There are more than two.
    #[error("{0} versions; hint: write two, `1.36,1.37`: before and after")]
    TooMany(usize),
}

/// Reads a flag with the releases of two sides, or one of both.
///
/// # Errors
/// A text is no version or is missing, or there are more than two.
pub fn parse_pair(text: &str) -> Result<[Release; 2], PairError> {
    match text.split(',').map(str::trim).collect::<Vec<_>>()[..] {
        [one] => Ok([parse(one)?; 2]),
        [old, new] if old.is_empty() || new.is_empty() => Err(PairError::Missing),
        [old, new] => Ok([parse(old)?, parse(new)?]),
        ref more => Err(PairError::TooMany(more.len())),
    }
}
