//! Files as an artifact: a manifest and the blobs that it names.
//!
//! In: files with their names in the bundle. Out: an [`Artifact`], the same bytes for the same
//! files: layers are in the order of names, and nothing says when or where it was built. Types and
//! annotations are those of `kyverno oci push`, whose counterpart reads these layers; the title of
//! each is what ORAS and gator write it to. Semantics: `docs/guides/bundles.md`, "Format".

use std::collections::BTreeMap;

use ephor_document::{Duplicates, parse_stream};
use ephor_value::Value;
use ephor_value::print::json;

use super::error::{BundleError, PushProblem};
use super::fetched::{MAX_FILES, MAX_TOTAL};
use super::names::{checked, is_policy_file};
use super::reference::BundleReference;
use crate::registry::client::sha256;
use crate::registry::credentials::Keys;
use crate::registry::upload::Upload;

/// The type of manifests.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The type of the configuration, which is that of the artifact.
pub const CONFIG: &str = "application/vnd.cncf.kyverno.config.v1+json";
/// The type of layers with policies.
pub const POLICY_LAYER: &str = "application/vnd.cncf.kyverno.policy.layer.v1+yaml";
/// The annotation with the name of a layer's policy.
pub const POLICY_NAME: &str = "io.kyverno.image.name";
/// The annotation with the kind of a layer's policy.
const POLICY_KIND: &str = "io.kyverno.image.kind";
/// The annotation with the apiVersion of a layer's policy.
const POLICY_API_VERSION: &str = "io.kyverno.image.apiVersion";
/// The annotation with the name of a layer's file.
pub const TITLE: &str = "org.opencontainers.image.title";

/// What is pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The manifest.
    pub manifest: Vec<u8>,
    /// Its digest.
    pub digest: String,
    /// The configuration and the layers.
    blobs: Vec<Vec<u8>>,
    /// How many files it has.
    pub files: usize,
}

impl Artifact {
    /// Builds it of files with their names.
    ///
    /// # Errors
    /// There is none, too much of them, or a name that no bundle may have.
    pub fn of(files: Vec<(String, Vec<u8>)>) -> Result<Artifact, BundleError> {
        let mut sorted: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut total = 0_u64;
        for (name, bytes) in files {
            let wrong = |problem| BundleError::Pushed { name: name.clone(), problem };
            let own = checked(&name).map_err(|problem| wrong(PushProblem::Name(problem)))?;
            if !is_policy_file(&own) {
                return Err(wrong(PushProblem::Kind));
            }
            readable(&own, &bytes).map_err(wrong)?;
            total = total.saturating_add(bytes.len() as u64);
            if total > MAX_TOTAL {
                return Err(wrong(PushProblem::TooLarge(MAX_TOTAL)));
            }
            if sorted.len() >= MAX_FILES {
                return Err(wrong(PushProblem::TooMany(MAX_FILES)));
            }
            if sorted.insert(own, bytes).is_some() {
                return Err(wrong(PushProblem::Twice));
            }
        }
        if sorted.is_empty() {
            return Err(BundleError::NothingToPush);
        }
        let config = b"{}".to_vec();
        let layers = sorted.iter().map(|(name, bytes)| layer(name, bytes)).collect();
        let manifest = json(&Value::map([
            ("schemaVersion", Value::from(2)),
            ("mediaType", MANIFEST.into()),
            ("config", descriptor(CONFIG, &config)),
            ("layers", Value::list(layers)),
        ]))
        .into_bytes();
        let files = sorted.len();
        let blobs = std::iter::once(config).chain(sorted.into_values()).collect();
        Ok(Artifact { digest: sha256(&manifest), manifest, blobs, files })
    }

    /// Stores it under the tag of a reference, or under its digest alone where that is what the
    /// reference has.
    ///
    /// # Errors
    /// The registry does not take it.
    pub fn push(&self, reference: &BundleReference) -> Result<(), BundleError> {
        let refused = |cause| BundleError::Registry { reference: reference.to_string(), cause };
        let upload = Upload::open(&reference.at, &Keys::default()).map_err(refused)?;
        for blob in &self.blobs {
            upload.blob(blob).map_err(refused)?;
        }
        let by = reference.tag.as_deref().unwrap_or(&self.digest);
        upload.manifest(by, MANIFEST, &self.manifest).map_err(refused)
    }
}

/// Whether a file is text and all its documents can be read.
fn readable(name: &str, bytes: &[u8]) -> Result<(), PushProblem> {
    let text = std::str::from_utf8(bytes).map_err(PushProblem::Text)?;
    let documents = parse_stream(name, text, Duplicates::LastWins)?;
    Ok(documents.into_iter().try_for_each(|document| document.map(|_| ()))?)
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    Value::map([
        ("mediaType", media_type.into()),
        ("digest", sha256(bytes).into()),
        ("size", Value::from(size)),
    ])
}

fn layer(name: &str, bytes: &[u8]) -> Value {
    let mut annotations = vec![(TITLE, name.to_owned())];
    annotations.extend(of_policy(name, bytes));
    annotations.sort();
    let annotations = annotations.into_iter().map(|(key, text)| (key.into(), Value::from(text)));
    descriptor(POLICY_LAYER, bytes).with("annotations", Value::Map(annotations.collect()))
}

/// Kind and name of the first document that has both.
fn of_policy(name: &str, bytes: &[u8]) -> Vec<(&'static str, String)> {
    let text = String::from_utf8_lossy(bytes);
    let documents = parse_stream(name, &text, Duplicates::LastWins).unwrap_or_default();
    let annotations = |value: &Value| {
        let text = |path: &[&str]| value.text_at(path).to_owned();
        let all = [
            (POLICY_API_VERSION, text(&["apiVersion"])),
            (POLICY_KIND, text(&["kind"])),
            (POLICY_NAME, text(&["metadata", "name"])),
        ];
        all.iter().all(|(_, text)| !text.is_empty()).then(|| all.to_vec())
    };
    documents.into_iter().flatten().find_map(|document| annotations(&document.value)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn files(names: &[&str]) -> Vec<(String, Vec<u8>)> {
        names.iter().map(|name| ((*name).to_string(), format!("a: {name}\n").into_bytes())).collect()
    }

    #[test]
    fn the_same_files_are_the_same_artifact_in_any_order() {
        let one = Artifact::of(files(&["a.yaml", "b/c.yaml"])).unwrap();
        let other = Artifact::of(files(&["b/c.yaml", "./a.yaml"]));
        assert_ne!(Some(&one.digest), other.ok().map(|other| other.digest).as_ref(), "the text differs");
        let other = Artifact::of(files(&["b/c.yaml", "a.yaml"])).unwrap();
        assert_eq!(one, other);
        assert_eq!(one.digest, sha256(&one.manifest));
        assert_eq!(one.files, 2);
    }

    #[test]
    fn what_no_bundle_may_hold_is_not_pushed() {
        for (names, why) in [
            (&["../a.yaml"][..], "it leads out of the folder"),
            (&["a.txt"], "it is no .yaml, .yml or .json file"),
            (&["a.yaml", "./a.yaml"], "two files have this name"),
            (&[], "there is no policy file to push"),
        ] {
            let refused = Artifact::of(files(names));
            assert!(refused.is_err_and(|error| error.to_string().contains(why)), "{names:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_pushed() {
        for (bytes, why) in
            [(&b"a: 1\n---\na: [\n"[..], "`a.yaml`: the document in line 3"), (b"\xff", "utf-8")]
        {
            let refused = Artifact::of(vec![("a.yaml".into(), bytes.to_vec())]);
            assert!(refused.is_err_and(|error| error.to_string().contains(why)), "{why}");
        }
    }
}
