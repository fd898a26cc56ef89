//! Differences from recordings that are known, each with its cause.
//!
//! In: a file like `conformance/failing.toml`. Out: the cause of a case of a suite.

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::path::Path;

use ephor_value::release::Release;
use serde::Deserialize;

/// Where the repository lists them.
pub const FILE: &str = "conformance/failing.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    cause: Vec<Cause>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cause {
    suite: String,
    /// The release whose recordings they are; without it the cases are those of the default one,
    /// or of suites that no release changes.
    kubernetes: Option<String>,
    why: String,
    cases: Vec<String>,
}

/// Cases that differ, with the cause, by release and suite. The folder that a suite is in makes no
/// difference.
#[derive(Default)]
pub struct Known {
    causes: BTreeMap<(Release, String), BTreeMap<String, String>>,
}

impl Known {
    /// Reads a list.
    ///
    /// # Errors
    /// It cannot be read, a cause is empty, a release has no name, or a case is listed twice.
    pub fn read(file: &Path) -> Result<Known> {
        let wrong = |why: String| Error::other(format!("{}: {why}", file.display()));
        let list: File = toml::from_str(&std::fs::read_to_string(file)?).map_err(|e| wrong(e.to_string()))?;
        let mut known = Known::default();
        for Cause { suite, kubernetes, why, cases } in list.cause {
            if why.trim().is_empty() {
                return Err(wrong(format!("{suite}: a cause without an explanation")));
            }
            let named = |name: String| {
                let found = Release::ALL.into_iter().find(|release| release.name() == name);
                found.ok_or_else(|| wrong(format!("{suite}: nothing is recorded of Kubernetes {name}")))
            };
            let release = kubernetes.map_or(Ok(Release::default()), named)?;
            let of_suite = known.causes.entry((release, suite)).or_default();
            for case in cases {
                if of_suite.insert(case.clone(), why.clone()).is_some() {
                    return Err(wrong(format!("{case} is listed twice")));
                }
            }
        }
        Ok(known)
    }

    /// Why a case differs from the recordings of a release, where that is known.
    pub fn cause(&self, release: Release, suite: &str, case: &str) -> Option<&str> {
        self.causes.get(&(release, suite.to_string()))?.get(case).map(|why| &**why)
    }

    /// The suites with their cases, by release.
    pub fn suites(&self) -> impl Iterator<Item = (Release, &str, Vec<&str>)> {
        let of = self.causes.iter();
        of.map(|((release, suite), cases)| (*release, &**suite, cases.keys().map(|case| &**case).collect()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(text: &str) -> Result<Known> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), text)?;
        Known::read(file.path())
    }

    #[test]
    fn a_case_has_the_cause_under_which_it_is_listed() {
        let known = read("[[cause]]\nsuite = 's'\nwhy = 'w'\ncases = ['a', 'b']\n").unwrap();
        let cause = |suite, case| known.cause(Release::default(), suite, case);
        assert_eq!(cause("s", "b"), Some("w"));
        assert_eq!(cause("s", "c"), None);
        assert_eq!(cause("t", "a"), None);
    }

    #[test]
    fn a_cause_that_names_a_release_is_of_its_recordings_alone() {
        let of = |version: &str| format!("[[cause]]\nsuite = 's'\n{version}why = 'w'\ncases = ['a']\n");
        let of_default = read(&of("")).unwrap();
        let of_later = read(&of("kubernetes = '1.37'\n")).unwrap();
        for (release, is_default) in [(Release::V1_36, true), (Release::V1_37, false)] {
            assert_eq!(of_default.cause(release, "s", "a").is_some(), is_default, "{release}");
            assert_eq!(of_later.cause(release, "s", "a").is_none(), is_default, "{release}");
        }
        let both = read(&(of("") + &of("kubernetes = '1.37'\n"))).unwrap();
        let listed: Vec<_> = both.suites().map(|(release, suite, _)| (release, suite)).collect();
        assert_eq!(listed, [(Release::V1_36, "s"), (Release::V1_37, "s")]);
    }

    #[test]
    fn a_list_with_an_empty_cause_a_case_twice_an_unknown_key_or_release_is_refused() {
        for text in [
            "[[cause]]\nsuite = 's'\nwhy = ' '\ncases = ['a']\n",
            "[[cause]]\nsuite = 's'\nwhy = 'w'\ncases = ['a', 'a']\n",
            "[[cause]]\nsuite = 's'\nwhy = 'w'\nwhole = true\ncases = ['a']\n",
            "[[cause]]\nsuite = 's'\nkubernetes = '1.9'\nwhy = 'w'\ncases = ['a']\n",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
