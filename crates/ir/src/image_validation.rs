//! Validations of images: which images, who may have signed them, what may be attested, and the
//! expressions that decide.
//!
//! In: ImageValidatingPolicies. Out: run by `engine::expressions::images`. Semantics:
//! `docs/semantics/cel-policies.md`, "Images".

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use regex::Regex;

use ephor_value::{Str, Value};

use super::expressions::{Program, Validation};

/// Validations of images, with what they may look up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageValidation {
    /// The credentials for registries.
    pub credentials: Value,
    /// The images that it is about; empty = all.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub references: Box<[Reference]>,
    /// Lists of images besides those of containers.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub extractors: Box<[(Str, Program)]>,
    /// Who may have signed.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub attestors: Box<[Attestor]>,
    /// What may be stated, by name.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub attestations: Box<[Attestation]>,
    /// Images must have a digest.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub verify_digest: bool,
    /// The signatures of every image must have been verified, by this policy or by another one.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub required: bool,
    /// The validations, in order.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub validations: Box<[Validation]>,
}

/// Images that a policy is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reference {
    /// Those that a pattern matches.
    Pattern(ImagePattern),
    /// Those for which an expression is true.
    Expression(Program),
}

/// A regular expression that images match; the text is all there is to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImagePattern(pub Regex);

impl TryFrom<String> for ImagePattern {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Regex::new(&text).map(ImagePattern)
    }
}

impl From<ImagePattern> for String {
    fn from(pattern: ImagePattern) -> String {
        pattern.0.as_str().into()
    }
}

impl PartialEq for ImagePattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for ImagePattern {}

impl Hash for ImagePattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_str().hash(state);
    }
}

/// Who may have signed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attestor {
    /// Under this name.
    pub name: Str,
    /// As written.
    pub written: Value,
    /// Parts of it that expressions give: where, and the expression.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub computed: Box<[(Box<[Str]>, Program)]>,
}

/// What may be stated about images.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attestation {
    /// Under this name.
    pub name: Str,
    /// Of this type.
    pub kind: Str,
    /// It is an artifact that refers to the image, not a signed statement.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub refers: bool,
}
