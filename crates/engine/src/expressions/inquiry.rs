//! What expressions of an ImageValidatingPolicy may look up: signatures, attestations, registry
//! data.
//!
//! In: the names of images and attestors. Out: counts and data, and a record of which images were
//! checked. An attestor that does not verify an image, for whatever reason, is not counted; a
//! registry that does not answer is a fault. Semantics: `docs/semantics/cel-policies.md`, "Images".

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ephor_document::decode_json;
use ephor_external::facts;
use ephor_external::registry::{OFFLINE, Registry, Repository, place};
use ephor_external::{ExternalData, ImageVerifier, LookupError};
use ephor_functions::CelLevel;
use ephor_functions::Context;
#[cfg(feature = "signatures")]
use ephor_functions::cel::image_verification::name_of;
use ephor_ir::expressions::POLICIES;
use ephor_ir::image_validation::{Attestation, ImageValidation, Reference};
#[cfg(feature = "signatures")]
use ephor_signatures::cosign::{Subject, VerificationError};
#[cfg(feature = "signatures")]
use ephor_signatures::notary::{Artifact, Store};
#[cfg(feature = "signatures")]
use ephor_signatures::trust::{self, Trust};
use ephor_value::{Map, Str, Value};

use super::{AttestorError, Failure, Scope};

/// The largest artifact that states something. A larger one is an error of the rule.
const MAX_ARTIFACT: u64 = 10 * 1024 * 1024;
/// How many artifacts may refer to an image. Each is a request to the registry; an image with more
/// is an error of the rule.
const MAX_REFERRERS: usize = 50;

/// Why a question about an image has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InquiryError {
    /// No registry may be read.
    #[error("{OFFLINE}")]
    Offline,
    /// The image is no reference, or the registry does not have what it was called for; the words
    /// are those of the registry.
    #[error("{0}")]
    Registry(Box<str>),
    /// The image cannot be read.
    #[error("failed to get imagedata: {0}")]
    Data(#[source] Box<InquiryError>),
    /// The expressions that say which images the policy is about have no value.
    #[error(transparent)]
    Reference(Failure),
    /// The policy does not have the attestor.
    #[error("attestor not found in policy: {0}")]
    NoAttestor(Box<str>),
    /// The attestor cannot be used.
    #[error(transparent)]
    Attestor(AttestorError),
    /// The policy does not have the attestation.
    #[error("attestation not found in policy: {0}")]
    NoAttestation(Box<str>),
    /// The attestation is one that Notary does not sign.
    #[error("notary verifier only supports oci 1.1 referrers as attestations")]
    NotaryStatement,
    /// What the attestation states cannot be read.
    #[error("failed to get payload: {0}")]
    Payload(#[source] Box<InquiryError>),
    /// The attestation has not been verified.
    #[error(
        "failed to get payload: intoto attestation payload cannot be fetch before verifying intoto attestation"
    )]
    NotVerified,
    /// This many artifacts refer to the image.
    #[error("too many referrers: {0}, at most {MAX_REFERRERS} are read")]
    TooManyReferrers(usize),
    /// No artifact of this type refers to the image.
    #[error("artifact of type {0} not found")]
    NoArtifact(Box<str>),
    /// The artifact does not have one layer.
    #[error("invalid referrer descriptor, must have only one layer")]
    Layers,
    /// What the artifact states, for this attestation, is no JSON.
    #[error("failed to unmarshal json for attestation {0}")]
    NoJson(Str),
    /// Nothing can be verified.
    #[cfg(not(feature = "signatures"))]
    #[error("{}", crate::unverified::UNVERIFIED)]
    Unverified,
}

impl InquiryError {
    fn words(error: impl std::fmt::Display) -> InquiryError {
        InquiryError::Registry(error.to_string().into())
    }

    fn data(error: InquiryError) -> InquiryError {
        InquiryError::Data(Box::new(error))
    }
}

/// An attestor, or why it cannot be used: a fault of its expressions ends evaluation.
pub type AttestorValue = Result<Value, AttestorError>;

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

    fn registry(&self) -> Result<&dyn Registry, InquiryError> {
        self.registry.as_deref().ok_or(InquiryError::Offline)
    }

    /// Reads what a registry knows of an image.
    ///
    /// # Errors
    /// The registry's failure.
    pub fn fetch(&self, image: &str) -> Result<Value, InquiryError> {
        place(image).map_err(InquiryError::words)?;
        facts::for_expressions(self.registry()?, image).map_err(InquiryError::words)
    }

    fn attestation(&self, name: &str) -> Result<&Attestation, InquiryError> {
        let all = self.checks.as_ref().as_ref().map(|c| &*c.attestations).unwrap_or_default();
        let found = all.iter().find(|a| *a.name == *name);
        found.ok_or_else(|| InquiryError::NoAttestation(name.into()))
    }

    /// Counts the attestors for which something holds.
    #[cfg(feature = "signatures")]
    fn counted(
        &self,
        image: &str,
        attestors: &[Value],
        holds: impl Fn(&Subject<'_>, &Value) -> Result<bool, InquiryError>,
    ) -> Result<i64, InquiryError> {
        if !matches(&self.checks, image).map_err(InquiryError::Reference)? {
            return Ok(0);
        }
        let (at, digest) = self.subject(image).map_err(InquiryError::data)?;
        let registry = self.registry().map_err(InquiryError::data)?;
        let subject = Subject { registry, at: &at, digest: &digest };
        let mut count = 0;
        for attestor in attestors {
            let name = name_of(attestor);
            let known = match self.attestors.get(name) {
                Some(Ok(known)) => known,
                Some(Err(error)) => return Err(InquiryError::Attestor(error.clone())),
                None => return Err(InquiryError::NoAttestor(name.into())),
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
    /// Runs a check with the manifest of an image and the trust store of a Notary attestor; `None`
    /// where either cannot be read, or the check fails.
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

    fn subject(&self, image: &str) -> Result<(Repository, String), InquiryError> {
        let (at, by) = place(image).map_err(InquiryError::words)?;
        let manifest = self.registry()?.manifest(&at, &by).map_err(InquiryError::words)?;
        Ok((at, manifest.digest))
    }

    /// What an attestation states about an image.
    fn stated(&self, image: &str, statement: &str) -> Result<Value, InquiryError> {
        let attestation = self.attestation(statement)?;
        if attestation.refers {
            let found = self.artifact(image, attestation);
            return found.map_err(|error| InquiryError::Payload(Box::new(error)));
        }
        let stated = self.stated.lock().ok();
        let known = stated.and_then(|m| m.get(&(image.to_owned(), statement.to_owned())).cloned());
        known.ok_or(InquiryError::NotVerified)
    }

    /// The content of the artifact of a type that refers to an image.
    fn artifact(&self, image: &str, attestation: &Attestation) -> Result<Value, InquiryError> {
        let (at, digest) = self.subject(image)?;
        let registry = self.registry()?;
        let referrers = registry.referrers(&at, &digest).map_err(InquiryError::words)?;
        if referrers.len() > MAX_REFERRERS {
            return Err(InquiryError::TooManyReferrers(referrers.len()));
        }
        let kind = &*attestation.kind;
        let own = referrers.iter().find(|r| r.text_at(&["artifactType"]) == kind);
        let own = own.ok_or_else(|| InquiryError::NoArtifact(kind.into()))?;
        let manifest = registry.manifest(&at, own.text_at(&["digest"])).map_err(InquiryError::words)?;
        let manifest = manifest.read().map_err(InquiryError::words)?;
        let [layer] = manifest.get("layers").and_then(Value::as_list).unwrap_or_default() else {
            return Err(InquiryError::Layers);
        };
        let bytes =
            registry.blob(&at, layer.text_at(&["digest"]), MAX_ARTIFACT).map_err(InquiryError::words)?;
        let decoded = decode_json(&String::from_utf8_lossy(&bytes));
        decoded.map_err(|_| InquiryError::NoJson(attestation.name.clone()))
    }
}

/// Whether a policy is about an image.
///
/// # Errors
/// An expression fails.
pub fn matches(checks: &Result<ImageValidation, Str>, image: &str) -> Result<bool, Failure> {
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
                scope.is_true(program)?
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

#[cfg(feature = "signatures")]
impl Inquiry {
    fn signed(&self, image: &str, attestors: &[Value]) -> Result<i64, InquiryError> {
        self.counted(image, attestors, |subject, attestor| {
            if is_notary(attestor) {
                return Ok(self.notarized(subject, attestor, Store::verify).is_some());
            }
            Ok(trust::read(attestor).is_ok_and(|trust: Trust| trust.signatures(subject).is_ok()))
        })
    }

    fn attested(&self, image: &str, statement: &str, attestors: &[Value]) -> Result<i64, InquiryError> {
        let attestation = self.attestation(statement)?;
        self.counted(image, attestors, |subject, attestor| {
            if attestation.refers {
                let any =
                    |store: &Store, artifact: &Artifact<'_>| store.has_signed(artifact, &attestation.kind);
                let any = is_notary(attestor).then(|| self.notarized(subject, attestor, any)).flatten();
                return Ok(any == Some(true));
            }
            if is_notary(attestor) {
                return Err(InquiryError::NotaryStatement);
            }
            let Ok(trust) = trust::read(attestor) else { return Ok(false) };
            let Ok(all) = trust.statements(subject, &attestation.kind) else { return Ok(false) };
            if let (Some(first), Ok(mut stated)) = (all.into_iter().next(), self.stated.lock()) {
                stated.insert((image.to_owned(), statement.to_owned()), first);
            }
            Ok(true)
        })
    }
}

#[cfg(not(feature = "signatures"))]
impl Inquiry {
    fn signed(&self, _: &str, _: &[Value]) -> Result<i64, InquiryError> {
        Err(InquiryError::Unverified)
    }

    fn attested(&self, _: &str, _: &str, _: &[Value]) -> Result<i64, InquiryError> {
        Err(InquiryError::Unverified)
    }
}

impl ImageVerifier for Inquiry {
    fn signatures(&self, image: &str, attestors: &[Value]) -> Result<i64, LookupError> {
        self.signed(image, attestors).map_err(Into::into)
    }

    fn statements(&self, image: &str, statement: &str, attestors: &[Value]) -> Result<i64, LookupError> {
        self.attested(image, statement, attestors).map_err(Into::into)
    }

    fn data(&self, image: &str) -> Result<Value, LookupError> {
        self.fetch(image).map_err(|error| InquiryError::data(error).into())
    }

    fn payload(&self, image: &str, statement: &str) -> Result<Value, LookupError> {
        self.stated(image, statement).map_err(Into::into)
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
