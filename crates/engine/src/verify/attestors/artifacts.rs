//! Artifacts that refer to the image: signatures and statements of the Notary Project, and Sigstore
//! bundles.
//!
//! In: an entry of attestors. Out: the image's digest and what was stated, or why the entry does
//! not verify it, in the words of Kyverno for `verifyImages`.

use ephor_external::registry::{Cause, Failure, Manifest, Registry, Repository, place};
use ephor_signatures::public_key::{Hash, PublicKey};
use ephor_value::{Str, Value};

use super::Verifier;
use ephor_external::registry::OFFLINE;
use ephor_signatures::bundle::{self, Bundle};
use ephor_signatures::cosign::{Subject, VerificationError};
use ephor_signatures::notary::{self, Artifact};
use ephor_signatures::options::{self, Refusal};

impl Verifier<'_> {
    /// Whether a signer whom an entry trusts has signed the image as Notary does; its digest.
    pub(super) fn notarized(
        &self,
        registry: &dyn Registry,
        kind: Option<&str>,
        entry: &Value,
    ) -> Result<String, Refusal> {
        let store = options::store(kind, entry).map_err(Refusal::read)?;
        let (at, manifest) = self.top(registry).map_err(|f| Refusal {
            network: f.cause == Cause::Network,
            text: format!("failed to parse image reference: {}: {}", self.image, notary::head_error(f)),
        })?;
        let artifact = Artifact { registry, at: &at, manifest: &manifest };
        store.verify(&artifact).map_err(|r| Refusal {
            network: r.network,
            text: format!("failed to verify {at}@{}: {}", manifest.digest, r.text),
        })?;
        Ok(manifest.digest)
    }

    /// Where the image is stored, and its manifest.
    pub(super) fn top(&self, registry: &dyn Registry) -> Result<(Repository, Manifest), Failure> {
        let (at, by) = place(&self.image).map_err(Failure::from)?;
        let manifest = registry.manifest(&at, &by)?;
        Ok((at, manifest))
    }

    /// The digest of the image, and what was stated about it as Notary does.
    pub(super) fn notarized_statements(
        &self,
        registry: &dyn Registry,
        by: Option<&str>,
        entry: &Value,
        kind: &str,
    ) -> Result<(String, Vec<Value>), Refusal> {
        let store = options::store(by, entry).map_err(Refusal::read)?;
        let (at, manifest) = self.top(registry).map_err(|f| Refusal::from(VerificationError::from(f)))?;
        let all = store.statements(&Artifact { registry, at: &at, manifest: &manifest }, kind)?;
        if all.is_empty() {
            let image = &self.image;
            return Err(Refusal::read(format!(
                "no matching attestations found for image {image} with type {kind}"
            )));
        }
        let stated = |predicate: Value| {
            let fields = [("predicateType", Value::from(kind)), ("predicate", predicate)];
            Value::Map(fields.into_iter().map(|(k, v)| (Str::from(k), v)).collect())
        };
        Ok((manifest.digest, all.into_iter().map(stated).collect()))
    }

    /// The bundles about the image, the key that must have signed them with its hash, and the
    /// image's manifest.
    pub(super) fn bundled(
        &self,
        registry: &dyn Registry,
        by: Option<&str>,
        entry: &Value,
    ) -> Result<(Vec<Bundle>, PublicKey, Hash, Manifest), Refusal> {
        let image = &self.image;
        let failed = |network, text: String| Refusal {
            network,
            text: format!("failed to fetch bundles: {image}: {text}"),
        };
        let top = self.top(registry);
        let (at, manifest) = top.map_err(|f| failed(f.cause == Cause::Network, notary::head_error(f)))?;
        let subject = Subject { registry, at: &at, digest: &manifest.digest };
        let bundles = bundle::fetch(&subject).map_err(|r| failed(r.network, r.text))?;
        let untrusted = |e: &str| format!("failed to get trusted material: {image}: {e}");
        match options::bundle_key(by, entry).map_err(|e| Refusal::read(untrusted(&e.to_string())))? {
            Some((key, hash)) => Ok((bundles, key, hash, manifest)),
            None => Err(Refusal::read(untrusted(&format!("initializing tuf: {OFFLINE}")))),
        }
    }
}
