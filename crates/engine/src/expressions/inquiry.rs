//! What expressions of an ImageValidatingPolicy may look up: signatures, attestations, registry data.
//!
//! In: the names of images and attestors. Out: counts and data, and a record of which images were checked. An attestor
//! that does not verify an image, for whatever reason, is not counted; a registry that does not answer is a fault. Semantics:
//! `docs/cel-policies.md`, "Images".

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::document::decode_json;
use crate::external::facts;
use crate::external::registry::OFFLINE;
use crate::external::registry::{Registry, Repository, place};
use crate::external::{ExternalData, ImageVerifier};
use crate::functions::CelLevel;
use crate::functions::Context;
#[cfg(feature = "signatures")]
use crate::functions::cel::image_verification::name_of;
use crate::ir::expressions::POLICIES;
use crate::ir::image_validation::{Attestation, ImageValidation, Reference};
#[cfg(feature = "signatures")]
use crate::signatures::cosign::{Subject, VerificationError};
#[cfg(feature = "signatures")]
use crate::signatures::notary::{Artifact, Store};
#[cfg(feature = "signatures")]
use crate::signatures::trust::{self, Trust};
use crate::value::{Map, Str, Value};

use super::Scope;

/// The largest artifact that states something.
const LARGEST_ARTIFACT: u64 = 10 * 1024 * 1024;
/// How many artifacts may refer to an image.
const MOST_REFERRERS: usize = 50;

/// An attestor, or why it cannot be used: a fault of its expressions ends evaluation.
pub type AttestorValue = Result<Value, String>;

/// See the module page.
pub struct Inquiry {
    inner: Option<Arc<dyn ExternalData>>,
    registry: Option<Arc<dyn Registry>>,
    checks: Arc<Result<ImageValidation, Str>>,
    #[cfg_attr(not(feature = "signatures"), expect(dead_code))]
    attestors: BTreeMap<String, AttestorValue>,
    /// The images that were checked, and whether an attestor verified them.
    verified: Mutex<BTreeMap<String, bool>>,
    /// Statements that were verified, by image and name.
    stated: Mutex<BTreeMap<(String, String), Value>>,
}

impl Inquiry {
    /// Calls nothing yet.
    pub fn new(
        inner: Option<Arc<dyn ExternalData>>,
        registry: Option<Arc<dyn Registry>>,
        checks: Arc<Result<ImageValidation, Str>>,
        attestors: BTreeMap<String, AttestorValue>,
    ) -> Inquiry {
        Inquiry { inner, registry, checks, attestors, verified: Mutex::default(), stated: Mutex::default() }
    }

    /// The images that were checked, and whether an attestor verified them.
    pub fn verified(&self) -> BTreeMap<String, bool> {
        self.verified.lock().map(|m| m.clone()).unwrap_or_default()
    }

    fn registry(&self) -> Result<&dyn Registry, String> {
        self.registry.as_deref().ok_or_else(|| OFFLINE.to_owned())
    }

    /// Reads what a registry knows of an image.
    ///
    /// # Errors
    /// The registry's failure.
    pub fn fetch(&self, image: &str) -> Result<Value, String> {
        place(image)?;
        facts::for_expressions(self.registry()?, image).map_err(|f| f.text)
    }

    fn attestation(&self, name: &str) -> Result<&Attestation, String> {
        let all = self.checks.as_ref().as_ref().map(|c| &*c.attestations).unwrap_or_default();
        let found = all.iter().find(|a| *a.name == *name);
        found.ok_or_else(|| format!("attestation not found in policy: {name}"))
    }

    /// Counts the attestors for which something holds.
    #[cfg(feature = "signatures")]
    fn counted(
        &self,
        image: &str,
        attestors: &[Value],
        holds: impl Fn(&Subject<'_>, &Value) -> Result<bool, String>,
    ) -> Result<i64, String> {
        if !matches(&self.checks, image)? {
            return Ok(0);
        }
        let failed = |e: String| format!("failed to get imagedata: {e}");
        let (at, digest) = self.subject(image).map_err(failed)?;
        let registry = self.registry().map_err(failed)?;
        let subject = Subject { registry, at: &at, digest: &digest };
        let mut count = 0;
        for attestor in attestors {
            let name = name_of(attestor);
            let known = match self.attestors.get(name) {
                Some(known) => known.as_ref().map_err(Clone::clone)?,
                None => return Err(format!("attestor not found in policy: {name}")),
            };
            if holds(&subject, known)? {
                count += 1;
            }
        }
        if !attestors.is_empty()
            && let Ok(mut verified) = self.verified.lock()
        {
            *verified.entry(image.to_owned()).or_default() |= count > 0;
        }
        Ok(count)
    }

    #[cfg(feature = "signatures")]
    /// Runs a check with the manifest of an image and the trust store of a Notary attestor; `None` where either cannot
    /// be read, or the check fails.
    fn notarized<T>(
        &self,
        subject: &Subject<'_>,
        attestor: &Value,
        check: impl Fn(&Store, &Artifact<'_>) -> Result<T, VerificationError>,
    ) -> Option<T> {
        let store = Store::read(attestor.text_at(&["notary", "certs", "value"])).ok()?;
        let store = store.with_tsa(attestor.text_at(&["notary", "tsaCerts", "value"])).ok()?;
        let manifest = subject.registry.manifest(subject.at, subject.digest).ok()?;
        let artifact = Artifact { registry: subject.registry, at: subject.at, manifest: &manifest };
        check(&store, &artifact).ok()
    }

    fn subject(&self, image: &str) -> Result<(Repository, String), String> {
        let (at, by) = place(image)?;
        let manifest = self.registry()?.manifest(&at, &by).map_err(|f| f.text)?;
        Ok((at, manifest.digest))
    }

    /// The content of the artifact of a type that refers to an image.
    fn artifact(&self, image: &str, attestation: &Attestation) -> Result<Value, String> {
        let (at, digest) = self.subject(image)?;
        let registry = self.registry()?;
        let referrers = registry.referrers(&at, &digest).map_err(|f| f.text)?;
        if referrers.len() > MOST_REFERRERS {
            return Err(format!(
                "too many referrers: {}, at most {MOST_REFERRERS} are read",
                referrers.len()
            ));
        }
        let kind = &*attestation.kind;
        let own = referrers.iter().find(|r| r.text_at(&["artifactType"]) == kind);
        let own = own.ok_or_else(|| format!("artifact of type {kind} not found"))?;
        let manifest = registry.manifest(&at, own.text_at(&["digest"])).map_err(|f| f.text)?;
        let manifest = manifest.read().map_err(|f| f.text)?;
        let [layer] = manifest.get("layers").and_then(Value::as_list).unwrap_or_default() else {
            return Err("invalid referrer descriptor, must have only one layer".into());
        };
        let bytes = registry.blob(&at, layer.text_at(&["digest"]), LARGEST_ARTIFACT).map_err(|f| f.text)?;
        let decoded = decode_json(&String::from_utf8_lossy(&bytes));
        decoded.map_err(|_| format!("failed to unmarshal json for attestation {}", attestation.name))
    }
}

/// Whether a policy is about an image.
///
/// # Errors
/// An expression fails.
pub fn matches(checks: &Result<ImageValidation, Str>, image: &str) -> Result<bool, String> {
    let Ok(checks) = checks else { return Ok(false) };
    if checks.references.is_empty() {
        return Ok(true);
    }
    let root: Map = [(Str::from("ref"), Value::from(image))].into_iter().collect();
    let root = Value::Map(root);
    let functions = Context { cel_level: CelLevel::V30, ..Context::default() };
    for reference in &checks.references {
        let fits = match reference {
            Reference::Pattern(pattern) => pattern.0.is_match(image),
            Reference::Expression(program) => {
                let scope = Scope::new(&root, &functions, &POLICIES);
                scope.is_true(program).map_err(|failure| failure.alone())?
            }
        };
        if fits {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(feature = "signatures")]
fn is_notary(attestor: &Value) -> bool {
    attestor.get("notary").is_some_and(|v| !v.is_null())
}

impl ImageVerifier for Inquiry {
    #[cfg(feature = "signatures")]
    fn signatures(&self, image: &str, attestors: &[Value]) -> Result<i64, String> {
        self.counted(image, attestors, |subject, attestor| {
            if is_notary(attestor) {
                return Ok(self.notarized(subject, attestor, Store::verify).is_some());
            }
            Ok(trust::read(attestor).is_ok_and(|trust: Trust| trust.signatures(subject).is_ok()))
        })
    }

    #[cfg(feature = "signatures")]
    fn statements(&self, image: &str, statement: &str, attestors: &[Value]) -> Result<i64, String> {
        let attestation = self.attestation(statement)?;
        self.counted(image, attestors, |subject, attestor| {
            if attestation.refers {
                let any =
                    |store: &Store, artifact: &Artifact<'_>| store.has_signed(artifact, &attestation.kind);
                let any = is_notary(attestor).then(|| self.notarized(subject, attestor, any)).flatten();
                return Ok(any == Some(true));
            }
            if is_notary(attestor) {
                return Err("notary verifier only supports oci 1.1 referrers as attestations".into());
            }
            let Ok(trust) = trust::read(attestor) else { return Ok(false) };
            let Ok(all) = trust.statements(subject, &attestation.kind) else { return Ok(false) };
            if let (Some(first), Ok(mut stated)) = (all.into_iter().next(), self.stated.lock()) {
                stated.insert((image.to_owned(), statement.to_owned()), first);
            }
            Ok(true)
        })
    }

    #[cfg(not(feature = "signatures"))]
    fn signatures(&self, _: &str, _: &[Value]) -> Result<i64, String> {
        Err(crate::unverified::UNVERIFIED.into())
    }

    #[cfg(not(feature = "signatures"))]
    fn statements(&self, _: &str, _: &str, _: &[Value]) -> Result<i64, String> {
        Err(crate::unverified::UNVERIFIED.into())
    }

    fn data(&self, image: &str) -> Result<Value, String> {
        self.fetch(image).map_err(|e| format!("failed to get imagedata: {e}"))
    }

    fn payload(&self, image: &str, statement: &str) -> Result<Value, String> {
        let attestation = self.attestation(statement)?;
        let failed = |e: String| format!("failed to get payload: {e}");
        if attestation.refers {
            return self.artifact(image, attestation).map_err(failed);
        }
        let stated = self.stated.lock().ok();
        let known = stated.and_then(|m| m.get(&(image.to_owned(), statement.to_owned())).cloned());
        known.ok_or_else(|| {
            failed("intoto attestation payload cannot be fetch before verifying intoto attestation".into())
        })
    }
}

impl ExternalData for Inquiry {
    fn inner(&self) -> Option<&dyn ExternalData> {
        self.inner.as_deref()
    }

    fn image_verifier(&self) -> Option<&dyn ImageVerifier> {
        Some(self)
    }
}
