//! What rules want of the images of an object.

use serde::{Deserialize, Serialize};

use ephor_value::wildcard::Wildcard;
use ephor_value::{Str, Value};

use super::{Conditions, Template};

/// The images that a rule checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageChecks {
    /// Checks, each of the images that its patterns name.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub entries: Box<[ImageCheck]>,
    /// Where objects of other kinds than pods and their controllers have images: by kind, a list of
    /// `path`, `value`, `name`, `key`.
    pub extractors: Value,
    /// Who must have signed the images of each check, and with which statements: below
    /// `verifyImages`, a list of `type`, `repository`, `annotations`, `attestors`, `attestations`,
    /// `message`, `credentials`.
    pub verification: Template,
}

/// A check of images.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageCheck {
    /// The images, as written in full.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub references: Box<[Wildcard]>,
    /// Images among them that are exempt.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub skipped: Box<[Wildcard]>,
    /// Whether the check has attestors or attestations.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub attested: bool,
    /// References without digest get one.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub mutate_digest: bool,
    /// References must have a digest.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub verify_digest: bool,
    /// Images must have been verified when the object came in.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub required: bool,
    /// What the statements of each attestation must say.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub claims: Box<[Claim]>,
    /// What all statements together must not say.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub deny: Option<Conditions>,
}

/// What statements must say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claim {
    /// Under which name conditions find the first of them; empty = none.
    pub name: Str,
    /// The conditions, each of which must hold.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub blocks: Box<[Conditions]>,
    /// All of them, to be filled in at once.
    pub text: Template,
}

impl ImageChecks {
    /// Whether something can be checked without a request to a registry.
    pub fn checks_alone(&self) -> bool {
        self.entries.iter().any(|e| e.verify_digest || e.required)
    }
}
