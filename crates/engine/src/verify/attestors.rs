//! Verifies the signatures of an image: sets of attestors that must reach their counts, and
//! statements that they must have signed.
//!
//! Keys and certificates are read first ([`ephor_signatures::options`]); without a registry the
//! verification ends there.
//!
//! - `artifacts`: artifacts that refer to the image: signatures and statements of the Notary
//!   Project, and Sigstore bundles
//! - `error`: why attestors do not verify an image

mod artifacts;
mod error;

use crate::condition;
use crate::data::Data;
use ephor_external::registry::{Cause, Manifest, Registry, place};
use ephor_ir::images::{Claim, ImageCheck};
use ephor_ir::manifests::public_keys;
use ephor_value::{Map, Str, Value};

use super::verification::ImageVerification;
use crate::outcome::Status;
use ephor_external::registry::OFFLINE;
use ephor_signatures::cosign::{self, SignedPayload, Subject, VerificationError};
use ephor_signatures::options::{self, Refusal, Requirements};
use error::{AttestorEntryError, ClaimError, IdentityError, StatementError, TooFewStatements};

/// Verifies the signatures of an image.
pub fn verify(
    entry: &ImageCheck,
    filled: &Value,
    image: &str,
    registry: Option<&dyn Registry>,
    rule: &str,
    data: &mut Data<'_>,
) -> ImageVerification {
    let list = |key: &str| filled.get(key).and_then(Value::as_list).unwrap_or_default();
    let mut how = Verifier {
        kind: filled.text_at(&["type"]),
        repository: filled.text_at(&["repository"]),
        annotations: filled.get("annotations").cloned().unwrap_or_default(),
        image: image.to_owned(),
        registry,
    };
    let answer_of =
        |status, text, digest: &Option<String>| ImageVerification { status, text, digest: digest.clone() };
    let mut answer = answer_of(Status::Error, "invalid response: nil".into(), &None);
    for (i, set) in list("attestors").iter().enumerate() {
        match how.verify(set, &format!(".attestors[{i}]")) {
            Ok(digest) => {
                let text = format!("verified image signatures for {image}");
                answer = answer_of(Status::Pass, text, &digest);
            }
            Err(refusals) => {
                let network = refusals.first().is_some_and(|r| r.network);
                let status = if network { Status::Error } else { Status::Fail };
                let all: Vec<&str> = refusals.iter().map(|r| &*r.text).collect();
                return answer_of(
                    status,
                    format!("failed to verify image {image}: {}", all.join("; ")),
                    &None,
                );
            }
        }
    }
    let attestations = list("attestations");
    if attestations.is_empty() {
        return answer;
    }
    let digest = answer.digest.clone().or_else(|| {
        let registry = registry.filter(|_| matches!(how.kind, "Notary" | "SigstoreBundle"))?;
        how.top(registry).ok().map(|(_, manifest)| manifest.digest)
    });
    // From here on messages name the image by its digest, once it is known.
    if let (Some(digest), Ok((at, _))) = (&digest, place(image)) {
        let own = image.rsplit_once(':').map_or(image, |(name, _)| name);
        let name = if image.contains('@') { at.to_string() } else { own.to_owned() };
        if !image.contains('@') {
            how.image = format!("{name}@{digest}");
        }
    }
    let snapshot = data.snapshot();
    let mut found = digest.clone();
    for (i, attestation) in attestations.iter().enumerate() {
        let named = ["type", "predicateType"].map(|k| attestation.text_at(&[k]));
        let Some(kind) = named.into_iter().find(|t| !t.is_empty()) else {
            data.reset(&snapshot);
            return answer_of(Status::Fail, format!(".attestations[{i}]: missing type"), &digest);
        };
        let claim = entry.claims.get(i);
        match how.stated(attestation, kind, i, claim, data) {
            Ok(digest) => found = found.or(digest),
            Err(error) => {
                data.reset(&snapshot);
                return answer_of(Status::Fail, error.to_string(), &digest);
            }
        }
    }
    let answer = match &entry.deny {
        None => answer_of(Status::Pass, format!("verified image attestations for {}", how.image), &found),
        Some(deny) => match condition::evaluate(deny, data) {
            Err(e) => answer_of(Status::Error, format!("failed to check deny conditions: {e}"), &found),
            Ok(verdict) if verdict.holds => {
                let parts = [filled.text_at(&["message"]), &verdict.message];
                let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
                let text = match &*parts {
                    [] => "validation error: imageVerify  failed".to_owned(),
                    parts => format!("validation in verifyImages failed: {}", parts.join("; ")),
                };
                answer_of(Status::Fail, text, &found)
            }
            Ok(_) => {
                answer_of(Status::Pass, format!("verifyImages validation is passed in {rule} rule"), &found)
            }
        },
    };
    data.reset(&snapshot);
    answer
}

/// The message when no bundle is as it must be.
const NO_BUNDLE: &str = "sigstore bundle verification failed: no matching signatures found";

/// How an image is verified.
struct Verifier<'h> {
    kind: &'h str,
    repository: &'h str,
    annotations: Value,
    image: String,
    registry: Option<&'h dyn Registry>,
}

/// The digest that was verified; or why not as many entries verify it as are needed.
type Verified = Result<Option<String>, Vec<Refusal>>;

impl Verifier<'_> {
    /// Whether as many entries of a set verify the image as must.
    fn verify(&self, set: &Value, path: &str) -> Verified {
        let entries = set.get("entries").and_then(Value::as_list).unwrap_or_default();
        let entries: Vec<Value> = entries.iter().flat_map(expanded).collect();
        let (required, mut count) = (required(set, entries.len()), 0);
        let mut refusals = Vec::new();
        for (j, entry) in entries.iter().enumerate() {
            let path = format!("{path}.entries[{j}]");
            if let Some(nested) = entry.get("attestor").filter(|v| !v.is_null()) {
                match self.verify(nested, &format!("{path}.attestor")) {
                    Ok(digest) => {
                        count += 1;
                        if count >= required {
                            return Ok(digest);
                        }
                    }
                    Err(inner) => refusals.extend(inner),
                }
                continue;
            }
            let kind = kind_of(entry);
            match self.signed(kind, entry) {
                Ok(digest) => {
                    count += 1;
                    if count >= required {
                        return Ok(digest);
                    }
                }
                Err(Refusal { text, network }) => {
                    let suffix =
                        kind.filter(|_| self.kind != "Notary").map_or(String::new(), |k| format!(".{k}"));
                    refusals.push(Refusal { text: format!("{path}{suffix}: {text}"), network });
                }
            }
        }
        Err(refusals)
    }

    /// Whether an entry has signed the image; its digest.
    fn signed(&self, kind: Option<&str>, entry: &Value) -> Result<Option<String>, Refusal> {
        if let ("Notary", Some(registry)) = (self.kind, self.registry) {
            return self.notarized(registry, kind, entry).map(Some);
        }
        if let ("SigstoreBundle", Some(registry)) = (self.kind, self.registry) {
            let (bundles, key, hash, manifest) = self.bundled(registry, kind, entry)?;
            let Manifest { digest, bytes, .. } = manifest;
            return match bundles.iter().any(|b| b.verify(&key, hash, &bytes, &digest)) {
                true => Ok(Some(digest)),
                false => Err(Refusal::read(NO_BUNDLE)),
            };
        }
        let (wanted, registry) = self.requirements(kind, entry, false)?;
        let annotations = match entry.get("annotations").filter(|v| !v.is_null()) {
            Some(own) => own,
            None => &self.annotations,
        };
        let (at, by) = place(&self.image).map_err(|e| Refusal::read(e.to_string()))?;
        let digest = match registry.manifest(&at, &by) {
            Ok(manifest) => manifest.digest,
            Err(f) if f.cause == Cause::Missing => {
                return Err(Refusal::read(format!("image tag not found: {f}")));
            }
            Err(f) => return Err(VerificationError::from(f).into()),
        };
        let subject = Subject { registry, at: &at, digest: &digest };
        let all = cosign::signatures(&subject, &wanted.options)?;
        identified(&all, &wanted).map_err(|error| Refusal::read(error.to_string()))?;
        if !annotations_fit(&all, annotations) {
            return Err(Refusal::read("no signature matched the required annotations"));
        }
        let claimed =
            all.first().map(|s| s.payload.text_at(&["critical", "image", "docker-manifest-digest"]));
        Ok(claimed.map(str::to_owned))
    }

    /// What an entry requires and the registry that has it, where there is one.
    fn requirements(
        &self,
        kind: Option<&str>,
        entry: &Value,
        stated: bool,
    ) -> Result<(Requirements, &dyn Registry), Refusal> {
        match self.kind {
            "Notary" => Err(options::notary(kind, entry, &self.image, stated)),
            "SigstoreBundle" => {
                Err(Refusal::network(format!("failed to fetch bundles: {}: {OFFLINE}", self.image)))
            }
            _ => {
                let wanted = options::requirements(kind, entry, self.repository, &self.image)
                    .map_err(Refusal::read)?;
                match (wanted, self.registry) {
                    (Some(wanted), Some(registry)) => Ok((wanted, registry)),
                    _ => Err(Refusal::network(OFFLINE)),
                }
            }
        }
    }

    /// Whether the statements that an attestation wants are there and as they must be; the image's
    /// digest.
    fn stated(
        &self,
        attestation: &Value,
        kind: &str,
        at: usize,
        claim: Option<&Claim>,
        data: &mut Data<'_>,
    ) -> Result<Option<String>, TooFewStatements> {
        let no_entry = [Value::default()];
        let sets = attestation.get("attestors").and_then(Value::as_list).unwrap_or_default();
        let sets = if sets.is_empty() { &no_entry[..] } else { sets };
        let mut found = None;
        for (j, set) in sets.iter().enumerate() {
            let entries = set.get("entries").and_then(Value::as_list).unwrap_or(&no_entry);
            let required = required(set, entries.len());
            let (mut count, mut errors) = (0, Vec::new());
            for entry in entries {
                // Nested attestors are not looked into here, as in Kyverno.
                let by = kind_of(entry);
                let (digest, all) = match self.statements(by, entry, kind) {
                    Ok(found) => found,
                    Err(refusal) => {
                        errors.push(AttestorEntryError::Refused(refusal.text));
                        continue;
                    }
                };
                match self.fits(&all, kind, claim, data) {
                    Ok(()) => {
                        count += 1;
                        found = Some(digest);
                    }
                    Err(cause) => {
                        let by = by.filter(|_| self.kind != "Notary");
                        let by = by.map_or(String::new(), |k| format!(".{k}"));
                        let path = format!(".attestations[{at}].attestors[{j}].entries[{at}]{by}");
                        errors.push(AttestorEntryError::Statement { path, cause });
                    }
                }
                if count >= required {
                    break;
                }
            }
            if count < required {
                return Err(TooFewStatements { verified: count, required, entries: errors });
            }
        }
        Ok(found)
    }

    /// The digest of the image, and the statements of an entry about it.
    fn statements(
        &self,
        by: Option<&str>,
        entry: &Value,
        kind: &str,
    ) -> Result<(String, Vec<Value>), Refusal> {
        if let ("Notary", Some(registry)) = (self.kind, self.registry) {
            return self.notarized_statements(registry, by, entry, kind);
        }
        if let ("SigstoreBundle", Some(registry)) = (self.kind, self.registry) {
            let (bundles, key, hash, manifest) = self.bundled(registry, by, entry)?;
            let stated = bundles.iter().filter_map(|b| b.statement(&key, hash, &manifest.digest));
            let all: Vec<Value> = stated.filter(|s| s.text_at(&["predicateType"]) == kind).collect();
            return match all.is_empty() {
                true => Err(Refusal::read(NO_BUNDLE)),
                false => Ok((manifest.digest, all)),
            };
        }
        let (wanted, registry) = self.requirements(by, entry, true)?;
        let (at, by) = place(&self.image).map_err(|e| Refusal::read(e.to_string()))?;
        let digest = registry.manifest(&at, &by).map_err(VerificationError::from)?.digest;
        let all = cosign::statements(&Subject { registry, at: &at, digest: &digest }, &wanted.options)?;
        identified(&all, &wanted).map_err(|error| Refusal::read(error.to_string()))?;
        Ok((digest, all.into_iter().map(|s| read_data(s.payload)).collect()))
    }

    /// Whether all statements of a type are as they must be.
    fn fits(
        &self,
        all: &[Value],
        kind: &str,
        claim: Option<&Claim>,
        data: &mut Data<'_>,
    ) -> Result<(), StatementError> {
        let predicates = || all.iter().filter_map(|s| s.get("predicate").filter(|p| p.as_map().is_some()));
        if let (Some(claim), Some(first)) = (claim, predicates().next())
            && !claim.name.is_empty()
        {
            data.set(&claim.name, first.clone());
        }
        let own: Vec<&Value> = all.iter().filter(|s| s.text_at(&["predicateType"]) == kind).collect();
        if own.is_empty() {
            return Err(StatementError::NotFound(kind.into()));
        }
        let Some(claim) = claim.filter(|c| !c.blocks.is_empty()) else { return Ok(()) };
        for statement in own {
            let snapshot = data.snapshot();
            let predicate = statement.get("predicate").and_then(Value::as_map);
            for (key, value) in predicate.into_iter().flat_map(Map::iter) {
                data.set(key, value.clone());
            }
            let verdict = holds(claim, data);
            data.reset(&snapshot);
            data.release(snapshot);
            match verdict {
                Err(error) => return Err(StatementError::Claim(error)),
                Ok(None) => {}
                Ok(Some(message)) => {
                    let (image, kind) = (self.image.as_str().into(), kind.into());
                    return Err(StatementError::Violated { image, kind, message });
                }
            }
        }
        Ok(())
    }
}

/// The message of the first block of conditions that does not hold.
fn holds(claim: &Claim, data: &mut Data<'_>) -> Result<Option<String>, ClaimError> {
    data.fill(&claim.text).map_err(ClaimError::Fill)?;
    for block in &claim.blocks {
        let verdict = condition::evaluate(block, data).map_err(ClaimError::Condition)?;
        if !verdict.holds {
            return Ok(Some(verdict.message));
        }
    }
    Ok(None)
}

/// Whether one of the certificates names the required identity, where there is one.
fn identified(all: &[SignedPayload], wanted: &Requirements) -> Result<(), IdentityError> {
    let no_facts = wanted.facts.as_map().is_none_or(Map::is_empty);
    if wanted.identity.is_empty() && no_facts {
        return Ok(());
    }
    let mut wrong = Vec::new();
    for signed in all {
        let Some(certificate) = &signed.certificate else { return Err(IdentityError::NoCertificate) };
        let fits = wanted.identity.fits(certificate).map_err(|e| e.to_string());
        let facts = || cosign::facts_fit(&wanted.facts, certificate).map_err(|e| e.to_string());
        match fits.and_then(|()| facts()) {
            Ok(()) => return Ok(()),
            Err(mismatch) => wrong.push(mismatch.to_string()),
        }
    }
    Err(IdentityError::Others(wrong))
}

/// Whether one payload has all required annotations.
fn annotations_fit(all: &[SignedPayload], required: &Value) -> bool {
    let Some(required) = required.as_map().filter(|m| !m.is_empty()) else { return true };
    all.iter().any(|signed| {
        let found = signed.payload.get("optional");
        required.iter().all(|(key, wanted)| found.and_then(|f| f.get(key)).is_some_and(|t| t.cel_eq(wanted)))
    })
}

/// Statements of `cosign` itself have data that is JSON in a text.
fn read_data(statement: Value) -> Value {
    let Some(text) = statement.at(&["predicate", "Data"]).and_then(Value::as_str) else { return statement };
    let Ok(data @ Value::Map(_)) = ephor_document::decode_json(text) else { return statement };
    let mut whole = statement.as_map().cloned().unwrap_or_default();
    let mut predicate = whole.get("predicate").and_then(Value::as_map).cloned().unwrap_or_default();
    predicate.insert("Data", data);
    whole.insert(Str::from("predicate"), Value::Map(predicate));
    Value::Map(whole)
}

/// How many entries must verify the image: the count, else all.
fn required(set: &Value, entries: usize) -> usize {
    let count = match set.get("count") {
        Some(Value::Int(n)) => usize::try_from(*n).unwrap_or(0),
        Some(Value::Float(f)) if *f >= 1.0 => *f as usize,
        _ => 0,
    };
    if count > 0 { count } else { entries }
}

fn kind_of(entry: &Value) -> Option<&'static str> {
    ["keys", "certificates", "keyless"].into_iter().find(|k| entry.get(k).is_some())
}

/// An entry with several public keys is one entry a key.
fn expanded(entry: &Value) -> Vec<Value> {
    let blocks = public_keys(entry.text_at(&["keys", "publicKeys"]));
    if blocks.is_empty() {
        return vec![entry.clone()];
    }
    let with_key = |block: &&str| {
        let mut entry = entry.clone();
        if let Value::Map(fields) = &mut entry
            && let Some(Value::Map(keys)) = fields.get_mut("keys")
        {
            keys.insert("publicKeys", Value::from(*block));
        }
        entry
    };
    blocks.iter().map(with_key).collect()
}
