//! Differences from recordings that are known, each with its cause.
//!
//! In: a file like `conformance/failing.toml`. Out: the cause of a case of a suite.

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::path::Path;

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
    why: String,
    cases: Vec<String>,
}

/// Cases that differ, with the cause, by suite.
#[derive(Default)]
pub struct Known {
    causes: BTreeMap<String, BTreeMap<String, String>>,
}

impl Known {
    /// Reads a list.
    ///
    /// # Errors
    /// It cannot be read, a cause is empty, or a case is listed twice.
    pub fn read(file: &Path) -> Result<Known> {
        let wrong = |why: String| Error::other(format!("{}: {why}", file.display()));
        let list: File = toml::from_str(&std::fs::read_to_string(file)?).map_err(|e| wrong(e.to_string()))?;
        let mut known = Known::default();
        for Cause { suite, why, cases } in list.cause {
            if why.trim().is_empty() {
                return Err(wrong(format!("{suite}: a cause without an explanation")));
            }
            let of_suite = known.causes.entry(suite).or_default();
            for case in cases {
                if of_suite.insert(case.clone(), why.clone()).is_some() {
                    return Err(wrong(format!("{case} is listed twice")));
                }
            }
        }
        Ok(known)
    }

    /// Why a case differs, where that is known.
    pub fn cause(&self, suite: &str, case: &str) -> Option<&str> {
        self.causes.get(suite)?.get(case).map(|why| &**why)
    }

    /// The suites with their cases.
    pub fn suites(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.causes.iter().map(|(suite, cases)| (&**suite, cases.keys().map(|case| &**case).collect()))
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
        assert_eq!(known.cause("s", "b"), Some("w"));
        assert_eq!(known.cause("s", "c"), None);
        assert_eq!(known.cause("t", "a"), None);
    }

    #[test]
    fn a_list_with_an_empty_cause_a_case_twice_or_an_unknown_key_is_refused() {
        for text in [
            "[[cause]]\nsuite = 's'\nwhy = ' '\ncases = ['a']\n",
            "[[cause]]\nsuite = 's'\nwhy = 'w'\ncases = ['a', 'a']\n",
            "[[cause]]\nsuite = 's'\nwhy = 'w'\nwhole = true\ncases = ['a']\n",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
