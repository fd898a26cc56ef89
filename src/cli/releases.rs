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
        eprintln!("warning: {}", choice.instead_of(text));
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

/// Reads a flag with the releases of two sides, or one of both.
///
/// # Errors
/// A text is no version, or there are more than two.
pub fn parse_pair(text: &str) -> Result<[Release; 2], ReleaseError> {
    match text.split(',').map(str::trim).collect::<Vec<_>>()[..] {
        [one] => parse(one).map(|release| [release; 2]),
        [old, new] => Ok([parse(old)?, parse(new)?]),
        _ => Err(ReleaseError(text.into())),
    }
}
