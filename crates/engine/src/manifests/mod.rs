//! Rules that verify the signatures of the manifest from which an object was created.
//!
//! In: what a rule wants and a request. The object's annotations hold the manifest ([`message`])
//! and signatures of it ([`super::public_key`]); the object may differ from the manifest only in
//! some fields ([`difference`]). Out: a verdict with Kyverno's text. Nothing is fetched over the
//! network: what needs one ends as Kyverno ends without. `docs/semantics/images.md` says which keys are
//! accepted.
//!
//! - `difference`: how an object differs from its manifest: the fields with other values, those
//!   left out that the API server, controllers and the signing itself set

mod difference;

use ephor_ir::Origin;
use ephor_ir::manifests::{AttestorSet, ManifestAttestor, Manifests, Proof};
use ephor_value::bytes::decode_base64;
use ephor_value::{Map, Value};

use super::Request;
use super::outcome::Status;
use super::trace;
use difference::Fields;
use ephor_external::registry::OFFLINE;
use ephor_signatures::message;
use ephor_signatures::public_key::PublicKey;

/// Why an attestor does not verify a manifest.
enum Refusal {
    /// There is nothing to verify, or it signed something else.
    Fail(String),
    /// It could not be verified.
    Error(String),
}

/// Why a signature is not that of an attestor.
#[derive(Debug, thiserror::Error)]
enum TrialError {
    /// It comes with a bundle, for which the transparency log would be needed.
    #[error("failed to create cosign check options: failed to get rekor pubkeys: {OFFLINE}")]
    Bundle,
    /// It comes with a certificate, for which the transparency log would be needed.
    #[error(
        "cosign.VerifyBlobCmd.Exec() returned an error: setting up clients and keys: getting rekor public keys: {OFFLINE}"
    )]
    Certificate,
    /// It is empty.
    #[error("cosign.VerifyBlobCmd.Exec() returned an error: missing flag '--signature'")]
    NoSignature,
    /// It is not that of the key; the words are those of the verification.
    #[error("cosign.VerifyBlobCmd.Exec() returned an error: {0}")]
    Key(Box<str>),
    /// The attestor is a certificate without an identity.
    #[error(
        "cosign.VerifyBlobCmd.Exec() returned an error: --certificate-identity or --certificate-identity-regexp is required for verification in keyless mode"
    )]
    NoIdentity,
    /// The attestor has nothing to verify with.
    #[error(
        "cosign.VerifyBlobCmd.Exec() returned an error: provide a key with --key or --sk, a certificate to verify against with --certificate, or a bundle with --bundle"
    )]
    NoKey,
}

/// Checks the signatures of an object's manifest.
pub fn check(wanted: &Manifests, request: &Request, origin: &Origin) -> (Status, String) {
    let error = |e: &str| (Status::Error, format!("error occurred during manifest verification: {e}"));
    match request.root.get().at(&["request", "dryRun"]) {
        Some(Value::Bool(true)) => return (Status::Pass, "allowed because of DryRun request".into()),
        Some(Value::Bool(false) | Value::Null) | None => {}
        Some(other) => {
            return error(&format!(
                "failed to unmarshal a request from requestByte: json: cannot unmarshal {} into Go struct field AdmissionRequest.dryRun of type bool",
                other.json_type()
            ));
        }
    }
    let object = &request.object;
    let (annotations, fields) = (annotations(object), Fields::of(wanted, object));
    let case = Case { wanted, object, annotations, fields, origin };
    let mut verified = Vec::new();
    for (i, set) in wanted.attestors.iter().enumerate() {
        match case.set(set, &format!(".attestors[{i}]")) {
            Ok(text) => verified.push(text),
            Err(refusal) => {
                let (Refusal::Fail(text) | Refusal::Error(text)) = &refusal;
                trace::emit_part(origin, text, case.signed());
                return match &refusal {
                    Refusal::Fail(text) => (Status::Fail, text.clone()),
                    Refusal::Error(text) => error(text),
                };
            }
        }
    }
    (Status::Pass, format!("verified manifest signatures; {}", verified.join(",")))
}

/// The annotations of an object; none where one of them is not a text, as in Kyverno.
fn annotations(object: &Value) -> Map {
    let all = object.at(&["metadata", "annotations"]).and_then(Value::as_map);
    all.filter(|m| m.values().all(|v| v.as_str().is_some())).cloned().unwrap_or_default()
}

/// An object whose manifest is checked.
struct Case<'c> {
    wanted: &'c Manifests,
    object: &'c Value,
    annotations: Map,
    origin: &'c Origin,
    fields: Fields,
}

impl Case<'_> {
    /// The part of the object that holds its manifest, or would.
    fn signed(&self) -> Option<&Value> {
        let metadata = self.object.get("metadata")?;
        let Some(annotations) = metadata.get("annotations") else { return Some(metadata) };
        Some(annotations.get(&format!("{}/message", self.wanted.domain)).unwrap_or(annotations))
    }

    fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.get(&format!("{}/{name}", self.wanted.domain)).and_then(Value::as_str)
    }

    /// Verifies with the attestors of a set until enough of them have signed.
    fn set(&self, set: &AttestorSet, path: &str) -> Result<String, Refusal> {
        let (mut verified, mut failed, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let AttestorSet { required, entries } = set;
        for (i, attestor) in entries.iter().enumerate() {
            match self.attestor(attestor, &format!("{path}.entries[{i}]")) {
                Ok(text) => verified.push(text),
                Err(Refusal::Fail(text)) => failed.push(text),
                Err(Refusal::Error(text)) => errors.push(text),
            }
            if verified.len() >= *required {
                let count = verified.len();
                let texts = verified.join(",");
                return Ok(format!(
                    "manifest verification succeeded; verifiedCount {count}; requiredCount {required}; message {texts}"
                ));
            }
        }
        if !errors.is_empty() {
            return Err(Refusal::Error(errors.join("; ")));
        }
        Err(Refusal::Fail(format!(
            "manifest verification failed; verifiedCount {}; requiredCount {required}; message {}",
            verified.len(),
            failed.join(",")
        )))
    }

    fn attestor(&self, attestor: &ManifestAttestor, path: &str) -> Result<String, Refusal> {
        let kind = match &attestor.proof {
            Proof::Unreadable(why) => {
                let text = format!("failed to unmarshal nested attestor {path}: {why}");
                // It is a fault of the policy.
                trace::emit_part(self.origin, &text, None);
                return Err(Refusal::Error(text));
            }
            Proof::Nested(set) => {
                let path = format!("{path}.attestor");
                return self.set(set, &path).map_err(|refusal| match refusal {
                    Refusal::Error(e) => Refusal::Error(format!("failed to verify signature; {path}: {e}")),
                    failed => failed,
                });
            }
            Proof::Key(_) | Proof::KeyElsewhere => "keys",
            Proof::Certificate { .. } => "certificates",
            Proof::Keyless => "keyless",
        };
        for (name, wanted) in attestor.annotations.iter() {
            let [have, wanted] =
                [self.annotations.get(name), Some(wanted)].map(|v| v.and_then(Value::as_str).unwrap_or(""));
            if have != wanted {
                let text = format!(
                    "annotations mismatch: {have} does not match expected value {wanted} for key {name}"
                );
                let all = self.object.at(&["metadata", "annotations"]);
                trace::emit_part(self.origin, &text, all.map(|all| all.get(name).unwrap_or(all)));
                return Err(Refusal::Error(text));
            }
        }
        let differences = self.verified(attestor).map_err(|refusal| match refusal {
            Refusal::Fail(e) => Refusal::Fail(format!("{path}.{kind}: {e}")),
            Refusal::Error(e) => Refusal::Error(format!("{path}.{kind}: {e}")),
        })?;
        match differences {
            None => Ok("singed by a valid signer: ".into()),
            Some(found) => {
                Err(Refusal::Fail(format!("{path}.{kind}: failed to verify signature. diff found; {found}")))
            }
        }
    }

    /// Finds the manifest and verifies its signatures; how the object differs from it.
    fn verified(&self, attestor: &ManifestAttestor) -> Result<Option<String>, Refusal> {
        let blob =
            self.message(attestor).map_err(|e| e.prefixed("YAML manifest not found for this resource"))?;
        let manifest = message::manifest(&blob, self.object)
            .map_err(|e| Refusal::from(e).prefixed("YAML manifest not found for this resource"))?;
        let differences = self.fields.differences(&manifest, self.object);
        self.signatures(&attestor.proof, &blob).map_err(|e| e.prefixed("failed to verify signature"))?;
        Ok(differences)
    }

    /// The bytes that were signed.
    fn message(&self, attestor: &ManifestAttestor) -> Result<Vec<u8>, Refusal> {
        let repositories = [&*attestor.repository, &*self.wanted.repository];
        let named = self.annotation("resourceBundleRef");
        if let Some(image) = named.or(repositories.into_iter().find(|r| !r.is_empty())) {
            return Err(Refusal::Error(format!("failed to get YAMLs in the image: {image}: {OFFLINE}")));
        }
        let text = self.annotation("message").ok_or(Refusal::Fail("message not found".into()))?;
        message::blob(text).map_err(Refusal::from)
    }

    /// Whether one of the signatures is that of the attestor.
    fn signatures(&self, proof: &Proof, blob: &[u8]) -> Result<(), Refusal> {
        let numbered = (1..).map_while(|i| self.annotation(&format!("signature_{i}")));
        let first = self.annotation("signature").ok_or(Refusal::Fail("signature not found".into()))?;
        let texts: Vec<&str> = std::iter::once(first).chain(numbered).collect();
        let key = match proof {
            Proof::Key(text) => Some(PublicKey::parse(text).ok_or(Refusal::Error(
                "failed to judge signature type from public key configuration".into(),
            ))?),
            _ => None,
        };
        let mut trials = Vec::new();
        for (i, text) in texts.iter().enumerate() {
            let who = match proof {
                Proof::Key(_) => "[publickey 1/1]",
                Proof::Keyless => "[signer 1/1]",
                _ => "[]",
            };
            match self.trial(proof, key.as_ref(), text, blob) {
                Ok(()) => return Ok(()),
                Err(e) => {
                    trials.push(Value::from(format!(
                        "{who} [signature {}/{}] error: {e}",
                        i + 1,
                        texts.len()
                    )));
                }
            }
        }
        Err(Refusal::Error(format!(
            "verification failed for {} signature. all trials: {}",
            texts.len(),
            ephor_value::print::json(&Value::list(trials))
        )))
    }

    fn trial(
        &self,
        proof: &Proof,
        key: Option<&PublicKey>,
        signature: &str,
        blob: &[u8],
    ) -> Result<(), TrialError> {
        if self.annotation("bundle").is_some() {
            return Err(TrialError::Bundle);
        }
        if self.annotation("certificate").is_some() {
            return Err(TrialError::Certificate);
        }
        if signature.is_empty() {
            return Err(TrialError::NoSignature);
        }
        match (key, proof) {
            // A signature that is not base64 is taken as it is.
            (Some(key), _) => {
                let bytes = decode_base64(signature.as_bytes()).unwrap_or_else(|_| signature.into());
                key.verify(blob, &bytes).map_err(|e| TrialError::Key(e.to_string().into()))
            }
            (None, Proof::Certificate { own: true }) => Err(TrialError::NoIdentity),
            (None, _) => Err(TrialError::NoKey),
        }
    }
}

impl Refusal {
    fn prefixed(self, prefix: &str) -> Refusal {
        match self {
            Refusal::Fail(e) => Refusal::Fail(format!("{prefix}: {e}")),
            Refusal::Error(e) => Refusal::Error(format!("{prefix}: {e}")),
        }
    }
}

impl From<message::Unread> for Refusal {
    fn from(why: message::Unread) -> Refusal {
        match why {
            message::Unread::Absent => Refusal::Fail(why.to_string()),
            _ => Refusal::Error(why.to_string()),
        }
    }
}
