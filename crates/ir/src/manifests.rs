//! What rules want of the signature of an object's manifest.

use serde::{Deserialize, Serialize};

use ephor_value::wildcard::Wildcard;
use ephor_value::{Map, Str};

/// Who must have signed the manifest that an object was created from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifests {
    /// All of these must be content.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub attestors: Box<[AttestorSet]>,
    /// What the names of the annotations with manifest and signatures start with.
    pub domain: Str,
    /// Fields in which object and manifest may differ.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub ignored: Box<[Ignored]>,
    /// An image that has the manifest, instead of the object's annotations.
    pub repository: Str,
}

/// Attestors of which some must have signed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttestorSet {
    /// How many.
    pub required: usize,
    /// The attestors.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub entries: Box<[ManifestAttestor]>,
}

/// An attestor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Attestor")]
pub struct ManifestAttestor {
    /// What verifies the signature.
    pub proof: Proof,
    /// Annotations that the object must have.
    pub annotations: Map,
    /// An image that has the manifest.
    pub repository: Str,
}

/// What verifies the signature of an attestor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields, remote = "Self")]
pub enum Proof {
    /// A public key, or what names one.
    Key(Str),
    /// A key that a cluster or a key service has.
    KeyElsewhere,
    /// A certificate; whether the attestor's own is given, in addition to those that signed it.
    Certificate {
        /// See above.
        #[serde(default, skip_serializing_if = "super::unset")]
        own: bool,
    },
    /// A certificate that a transparency log has.
    Keyless,
    /// Other attestors.
    Nested(AttestorSet),
    /// Something that is none of these, and why.
    Unreadable(Str),
}

super::nested::node!(Proof, 64);

/// Fields of some objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ignored {
    /// The objects; none = all.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub objects: Box<[Objects]>,
    /// Regular expressions with `*` for any text, searched for in the fields' paths.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub fields: Box<[Str]>,
}

/// Objects by what they are. A field that is absent is ignored.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Objects {
    /// The group; empty for the core group.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub group: Option<Wildcard>,
    /// The version.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub version: Option<Wildcard>,
    /// The kind.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub kind: Option<Wildcard>,
    /// The name.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub name: Option<Wildcard>,
    /// The namespace.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub namespace: Option<Wildcard>,
}

const END: &str = "-----END PUBLIC KEY-----";

/// The public keys of a text with several; none where there are not several.
pub fn public_keys(text: &str) -> Vec<&str> {
    let blocks: Vec<&str> = text.split_inclusive(END).filter(|b| b.ends_with(END)).collect();
    if blocks.len() < 2 { Vec::new() } else { blocks }
}
