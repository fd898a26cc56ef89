//! What a run was: when, of which commit, with which policies.
//!
//! In: what a command knows of it. Out: [`About`], which pages for audits show and shards hand on.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hex::hex;

/// See the module page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct About {
    /// When it began, in UTC as RFC 3339; empty when that is not known.
    pub time: String,
    /// The commit of the repository that it ran in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// The policies that were loaded, in their order.
    pub controls: Vec<Control>,
}

/// A commit of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Commit {
    /// Its digest.
    pub id: String,
    /// The branch or tag; empty when none is checked out.
    pub branch: String,
    /// Whether files that it knows were changed since.
    pub is_changed: bool,
}

/// A policy that was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Control {
    /// Its kind.
    pub kind: String,
    /// `name`, or `namespace/name`.
    pub name: String,
    /// `policies.kyverno.io/title`.
    pub title: String,
    /// `policies.kyverno.io/category`.
    pub category: String,
    /// `policies.kyverno.io/severity`.
    pub severity: String,
    /// `policies.kyverno.io/version`, or the label `app.kubernetes.io/version`.
    pub version: String,
    /// The first digits of the digest of its document.
    pub digest: String,
    /// What of standards it is, as `ephor.dev/standards` lists it: `CIS 5.2.1, NSA`.
    pub standards: Vec<String>,
}

/// How many digits of a digest are shown.
const DIGITS: usize = 12;

impl Control {
    /// The digest of a document.
    pub fn digest_of(document: &str) -> String {
        hex(Sha256::digest(document.as_bytes()).iter().take(DIGITS / 2))
    }
}
