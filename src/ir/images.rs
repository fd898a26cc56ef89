//! What rules want of the images of an object.

use crate::value::wildcard::Wildcard;
use crate::value::{Str, Value};

use super::{Conditions, Template};

/// The images that a rule checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImageChecks {
    /// Checks, each of the images that its patterns name.
    pub entries: Box<[ImageCheck]>,
    /// Where objects of other kinds than pods and their controllers have images: by kind, a list of
    /// `path`, `value`, `name`, `key`.
    pub extractors: Value,
    /// Who must have signed the images of each check, and with which statements: below `verifyImages`,
    /// a list of `type`, `repository`, `annotations`, `attestors`, `attestations`, `message`, `credentials`.
    pub evidence: Template,
}

/// A check of images.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImageCheck {
    /// The images, as written in full.
    pub references: Box<[Wildcard]>,
    /// Images among them that are let pass.
    pub skipped: Box<[Wildcard]>,
    /// Whether there is such evidence.
    pub attested: bool,
    /// References without digest get one.
    pub mutate_digest: bool,
    /// References must have a digest.
    pub verify_digest: bool,
    /// Images must have been verified when the object came in.
    pub required: bool,
    /// What the statements of each attestation must say.
    pub claims: Box<[Claim]>,
    /// What all statements together must not say.
    pub deny: Option<Conditions>,
}

/// What statements must say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Under which name conditions find the first of them; empty = none.
    pub name: Str,
    /// The conditions, each of which must hold.
    pub blocks: Box<[Conditions]>,
    /// All of them, to be filled in at once.
    pub text: Template,
}

impl ImageChecks {
    /// Whether something can be checked without asking a registry.
    pub fn checks_alone(&self) -> bool {
        self.entries.iter().any(|e| e.verify_digest || e.required)
    }
}
