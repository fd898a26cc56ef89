//! Releases of Kubernetes.
//!
//! In: what a user or an API server says (`1.37`, `v1.37.2`, `1.37+`). Out: the release whose
//! recorded facts apply, and whether it is the one that was meant.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// A release of Kubernetes whose facts are recorded, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Release {
    /// 1.34, recorded from 1.34.4.
    #[serde(rename = "1.34")]
    V1_34,
    /// 1.35, recorded from 1.35.4.
    #[serde(rename = "1.35")]
    V1_35,
    /// 1.36, recorded from 1.36.3. The newest that is recorded in full.
    #[default]
    #[serde(rename = "1.36")]
    V1_36,
    /// 1.37, recorded from 1.37.2.
    #[serde(rename = "1.37")]
    V1_37,
    /// 1.38, as far as its CEL goes: recorded from 1.38.0-beta.0.
    #[serde(rename = "1.38")]
    V1_38,
}

/// The release that stands for a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseChoice {
    /// The release whose facts apply.
    pub release: Release,
    /// Whether it is the one that was meant; else it is the nearest one.
    pub exact: bool,
}

impl ReleaseChoice {
    /// What to say where the release is not the version that was meant.
    pub fn instead_of(self, version: &str) -> String {
        let known: Vec<&str> = Release::ALL.iter().map(|release| release.name()).collect();
        let known = known.join(", ");
        format!(
            "nothing is recorded of Kubernetes {version}; {} applies, the nearest of {known}",
            self.release
        )
    }
}

/// A text that is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no version of Kubernetes; hint: write it as `1.37`")]
pub struct ReleaseError(pub String);

impl Release {
    /// All of them, the oldest first.
    pub const ALL: [Release; 5] =
        [Release::V1_34, Release::V1_35, Release::V1_36, Release::V1_37, Release::V1_38];

    /// The name of the default.
    pub const DEFAULT_NAME: &str = Release::V1_36.name();

    /// Its name: `1.36`.
    pub const fn name(self) -> &'static str {
        match self {
            Release::V1_34 => "1.34",
            Release::V1_35 => "1.35",
            Release::V1_36 => "1.36",
            Release::V1_37 => "1.37",
            Release::V1_38 => "1.38",
        }
    }

    const fn minor(self) -> u32 {
        match self {
            Release::V1_34 => 34,
            Release::V1_35 => 35,
            Release::V1_36 => 36,
            Release::V1_37 => 37,
            Release::V1_38 => 38,
        }
    }

    /// The release for a version, `1.37`, `v1.37.2` or `1.37+` (as servers of some providers
    /// write it): the release itself, else the nearest one.
    ///
    /// # Errors
    /// The text is no version of Kubernetes.
    pub fn choose(text: &str) -> Result<ReleaseChoice, ReleaseError> {
        let error = || ReleaseError(text.into());
        let plain = text.strip_prefix('v').unwrap_or(text);
        let (major, rest) = plain.split_once('.').ok_or_else(error)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (minor, tail) = rest.split_at(end);
        let is_version = major == "1" && (tail.is_empty() || tail.starts_with(['.', '+', '-']));
        let minor: u32 = minor.parse().ok().filter(|_| is_version).ok_or_else(error)?;
        let nearest = Release::ALL.into_iter().min_by_key(|release| release.minor().abs_diff(minor));
        let release = nearest.unwrap_or_default();
        Ok(ReleaseChoice { release, exact: release.minor() == minor })
    }
}

/// A value for each release, built when it is first wanted.
#[derive(Debug)]
pub struct ByRelease<T>([OnceLock<T>; Release::ALL.len()]);

impl<T> ByRelease<T> {
    /// Without a value of any release.
    pub const fn new() -> ByRelease<T> {
        ByRelease([const { OnceLock::new() }; Release::ALL.len()])
    }

    /// That of a release.
    pub fn get(&self, release: Release, make: impl FnOnce() -> T) -> &T {
        self.0[release as usize].get_or_init(make)
    }
}

impl<T> Default for ByRelease<T> {
    fn default() -> ByRelease<T> {
        ByRelease::new()
    }
}

impl std::fmt::Display for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_people_and_servers_write_them() {
        for (text, release, exact) in [
            ("1.34+", Release::V1_34, true),
            ("1.35.4", Release::V1_35, true),
            ("1.36", Release::V1_36, true),
            ("v1.37.2", Release::V1_37, true),
            ("1.37+", Release::V1_37, true),
            ("v1.38.0-beta.0", Release::V1_38, true),
            ("1.33", Release::V1_34, false),
            ("1.41", Release::V1_38, false),
        ] {
            assert_eq!(Release::choose(text), Ok(ReleaseChoice { release, exact }), "{text}");
        }
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "1", "latest", "2.0", "1.x", "1.37x", "1.", "v"] {
            assert_eq!(Release::choose(text), Err(ReleaseError(text.into())), "{text}");
        }
    }
}
