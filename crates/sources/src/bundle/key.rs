//! The key that must have signed bundles, and the check that it has.
//!
//! In: the name of a public key (a file, or `env://VARIABLE`) and the digest of a bundle in its
//! repository. Out: nothing, or why the bundle counts as not signed. Both forms of `cosign sign
//! --key` count: a signature under the tag `sha256-….sig`, and a bundle that refers to the
//! artifact. Transparency logs are not searched, as for images with `ignoreTlog`. Semantics:
//! `docs/guides/bundles.md`, "Signatures".

use std::fs::File;
use std::io::Read;

use ephor_external::registry::{Manifest, Registry, Repository};
use ephor_signatures::bundle;
use ephor_signatures::cosign::{self, CheckOptions, RequiredSigner, Subject};
use ephor_signatures::public_key::{Hash, PublicKey};

use super::error::{BundleError, KeyProblem};

/// The largest file with a key.
const MAX_KEY: u64 = 64 * 1024;
/// What statements are about that `cosign sign` writes.
const SIGNATURE: &str = "https://sigstore.dev/cosign/sign/v1";

/// A public key by its name.
#[derive(Clone, Debug)]
pub struct BundleKey {
    name: String,
    key: PublicKey,
}

impl BundleKey {
    /// Reads the key of a name.
    ///
    /// # Errors
    /// There is no public key under the name.
    pub fn read(name: &str) -> Result<BundleKey, BundleError> {
        let wrong = |problem| BundleError::Key { name: name.into(), problem };
        let text = match name.split_once("://") {
            Some(("env", variable)) => std::env::var(variable).map_err(|_| wrong(KeyProblem::NoVariable))?,
            Some(_) => return Err(wrong(KeyProblem::Service)),
            None => {
                let mut bytes = Vec::new();
                let read = File::open(name).and_then(|file| file.take(MAX_KEY).read_to_end(&mut bytes));
                read.map_err(|cause| wrong(KeyProblem::Unread(cause)))?;
                String::from_utf8(bytes).map_err(|_| wrong(KeyProblem::NoKey))?
            }
        };
        let key = PublicKey::parse(text.trim_start()).ok_or_else(|| wrong(KeyProblem::NoKey))?;
        Ok(BundleKey { name: name.into(), key })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the owner of the key has signed an artifact.
    ///
    /// # Errors
    /// Why no signature counts, in the words of cosign.
    pub(super) fn verify(
        &self,
        registry: &dyn Registry,
        at: &Repository,
        manifest: &Manifest,
    ) -> Result<(), String> {
        let subject = Subject { registry, at, digest: &manifest.digest };
        let options = CheckOptions {
            by: RequiredSigner::Key(Box::new(self.key.clone())),
            hash: Hash::Sha256,
            logs: None,
            tsa: None,
            ct_logs: None,
            repository: None,
            tag_prefix: String::new(),
        };
        let refused = match cosign::signatures(&subject, &options) {
            Ok(found) if !found.is_empty() => return Ok(()),
            Ok(_) => "no signatures found".to_string(),
            Err(refused) => refused.text,
        };
        let bundles =
            bundle::fetch_untyped(&subject).map_err(|unread| format!("{refused}; {}", unread.text))?;
        let is_signature = |one: &bundle::Bundle| {
            // A statement about the artifact, such as the result of a scan, approves of nothing.
            let statement = one.statement(&self.key, Hash::Sha256, &manifest.digest);
            statement.is_some_and(|statement| statement.text_at(&["predicateType"]) == SIGNATURE)
        };
        if bundles.iter().any(is_signature) { Ok(()) } else { Err(refused) }
    }
}
