//! What an attestor requires: keys, certificates, logs and repositories are read in the order in
//! which Kyverno reads them; the first that cannot be read is the error.
//!
//! - `error`: what an attestor names that cannot be read, in Kyverno's words

mod error;

use crate::public_key::{Hash, PublicKey};
use ephor_external::registry::place;
use ephor_value::Value;
use ephor_value::bytes::decode_base64;
use ephor_x509::{pem_block, pem_holds};

use crate::certificates::{self, Certificate};
use crate::cosign::{CheckOptions, Identity, RequiredSigner, VerificationError};
use crate::log::LogKey;
use crate::notary::{Store, StoreError};
use crate::sct;
use crate::timestamp::TsaTrust;
use ephor_external::registry::OFFLINE;

pub use error::{ChainError, KeyError, OptionsError};

/// Why an attestor does not verify an image.
pub struct Refusal {
    /// The message.
    pub text: String,
    /// Whether the network that it needs is missing.
    pub network: bool,
}

impl Refusal {
    /// A refusal because of what was read.
    pub fn read(why: impl ToString) -> Refusal {
        Refusal { text: why.to_string(), network: false }
    }

    /// A refusal because the network is missing.
    pub fn network(why: impl ToString) -> Refusal {
        Refusal { text: why.to_string(), network: true }
    }
}

impl From<VerificationError> for Refusal {
    fn from(refused: VerificationError) -> Refusal {
        Refusal { text: refused.text, network: refused.network }
    }
}

const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----";

/// The refusal of an attestor of Notary without a registry; `stated`: for statements.
pub fn notary(kind: Option<&str>, entry: &Value, image: &str, stated: bool) -> Refusal {
    if stated {
        return Refusal::network(OFFLINE);
    }
    let cert = kind.map_or("", |k| entry.text_at(&[k, "cert"]));
    if !cert.is_empty() && !holds_certificate(cert.trim_start()) {
        return Refusal::read(StoreError::NotPem);
    }
    Refusal::network(format!("failed to parse image reference: {image}: {OFFLINE}"))
}

/// Whom an entry trusts: its certificate and chain alike.
///
/// # Errors
/// What cannot be read.
pub fn store(kind: Option<&str>, entry: &Value) -> Result<Store, StoreError> {
    let text = |key: &str| kind.map_or("", |k| entry.text_at(&[k, key]));
    Store::read(&format!("{}{}", text("cert"), text("certChain")))
}

/// What an entry of attestors requires as `cosign` reads it; `None` where a service would have to
/// be called.
///
/// # Errors
/// What cannot be read.
pub fn requirements(
    kind: Option<&str>,
    entry: &Value,
    repository: &str,
    image: &str,
) -> Result<Option<Requirements>, OptionsError> {
    let by = kind.and_then(|k| entry.get(k)).cloned().unwrap_or_default();
    let text = |path: &[&str]| by.text_at(path).to_owned();
    let algorithm = text(&["signatureAlgorithm"]);
    let hash = match Hash::named(&algorithm) {
        Some(hash) => hash,
        None if kind == Some("keys") => return Err(OptionsError::Algorithm(algorithm.into())),
        None => Hash::default(),
    };
    let signer = match kind {
        Some("keys") => key(&by)?.map(|key| RequiredSigner::Key(Box::new(key))),
        Some("certificates") => Some(certificates(&text(&["cert"]), &text(&["certChain"]))?),
        _ => match &*text(&["roots"]) {
            "" => return Err(OptionsError::FetchedRoots),
            roots => Some(RequiredSigner::Roots(pool(roots).ok_or(OptionsError::Roots)?)),
        },
    };
    let on = |path: &[&str]| by.at(path).and_then(Value::as_bool) == Some(true);
    let mut logs = None;
    if !on(&["rekor", "ignoreTlog"]) {
        logs = Some(log(&text(&["rekor", "pubkey"]), "Rekor", "rekor")?);
    }
    let mut ct_logs = None;
    if !on(&["ctlog", "ignoreSCT"]) {
        ct_logs = Some(log(&text(&["ctlog", "pubkey"]), "CTLogs", "transparency log")?);
    }
    let own = entry.text_at(&["repository"]);
    let repository = if own.is_empty() { repository } else { own };
    if let Some(path) = bad_path(repository) {
        return Err(OptionsError::Repository {
            name: repository.into(),
            path: path.into(),
            letters: LETTERS,
        });
    }
    let tsa = match &*text(&["ctlog", "tsaCertChain"]) {
        "" => None,
        pem => Some(TsaTrust::read(pem)?),
    };
    let (path, _) = image.split_once('@').unwrap_or((image, ""));
    let path = path.split_once('/').map_or("", |(_, path)| path);
    let path = path.rsplit_once(':').map_or(path, |(path, _)| path);
    if path.len() < 2 {
        return Err(OptionsError::Image(image.into()));
    }
    let repository = match repository {
        "" => None,
        name => Some(place(name).map_err(|error| OptionsError::Place(error.to_string().into()))?.0),
    };
    let Some(signer) = signer else { return Ok(None) };
    Ok(Some(Requirements {
        identity: Identity {
            issuer: text(&["issuer"]),
            issuer_pattern: text(&["issuerRegExp"]),
            subject: text(&["subject"]),
            subject_pattern: text(&["subjectRegExp"]),
        },
        facts: by.get("additionalExtensions").cloned().unwrap_or_default(),
        options: CheckOptions { by: signer, hash, logs, tsa, ct_logs, repository, tag_prefix: String::new() },
    }))
}

/// What a signature and its signer must have.
pub struct Requirements {
    /// Of the signature.
    pub options: CheckOptions,
    /// Whom the certificate must name.
    pub identity: Identity,
    /// The facts that the certificate must have.
    pub facts: Value,
}

/// The certificates of a text, if it begins with one.
fn pool(pem: &str) -> Option<Vec<Certificate>> {
    holds_certificate(pem).then(|| Certificate::all(pem).ok())?
}

/// The key that bundles must be signed with, and the hash; `None` where a public service would have
/// to be called for its roots.
///
/// # Errors
/// The key cannot be read.
pub fn bundle_key(kind: Option<&str>, entry: &Value) -> Result<Option<(PublicKey, Hash)>, OptionsError> {
    let Some(by) = entry.get("keys").filter(|_| kind == Some("keys")) else { return Ok(None) };
    let on = |path: &[&str]| by.at(path).and_then(Value::as_bool) == Some(true);
    if !on(&["rekor", "ignoreTlog"]) || !on(&["ctlog", "ignoreSCT"]) {
        return Ok(None);
    }
    let name = key_name(by);
    let key = load(&name).map_err(OptionsError::BundleKey)?;
    let hash = Hash::named(by.text_at(&["signatureAlgorithm"])).unwrap_or_default();
    Ok(key.map(|key| (key, hash)))
}

fn key(by: &Value) -> Result<Option<PublicKey>, OptionsError> {
    let name = key_name(by);
    // A key that is given itself is not named.
    load(&name).map_err(|cause| match name.starts_with(PUBLIC) {
        true => OptionsError::Key(cause),
        false => OptionsError::NamedKey { name: name.as_str().into(), cause },
    })
}

/// What names a key: itself, or where it is stored.
fn key_name(by: &Value) -> String {
    let secret = |key: &str| by.text_at(&["secret", key]);
    match (by.text_at(&["publicKeys"]), by.get("secret")) {
        ("", Some(_)) => format!("k8s://{}/{}", secret("namespace"), secret("name")),
        ("", None) => by.text_at(&["kms"]).to_owned(),
        (text, _) => text.trim_start().to_owned(),
    }
}

/// Reads a key by its name.
fn load(key: &str) -> Result<Option<PublicKey>, KeyError> {
    if key.starts_with(PUBLIC) {
        let der = pem_block(key, "PUBLIC KEY").ok_or(KeyError::NotPem)?;
        return Ok(Some(PublicKey::of_der(&der)?));
    }
    match key.split_once("://") {
        // Files that policies name are not read.
        None => Err(KeyError::File(key.into())),
        Some(("k8s", _)) => Err(KeyError::NoCluster),
        Some((scheme @ ("awskms" | "azurekms" | "gcpkms" | "hashivault"), rest)) => service(scheme, rest),
        Some(("http" | "https", _)) => Ok(None),
        // The environment of the program is not read for policies.
        Some(("env", name)) => Err(KeyError::Environment(name.into())),
        Some(("gitlab", _)) => Err(KeyError::GitLab),
        Some((scheme, _)) => Err(KeyError::Scheme(scheme.into())),
    }
}

/// The key of a key service, none of which is called: its name is checked, as Kyverno does it
/// without network.
fn service(scheme: &str, rest: &str) -> Result<Option<PublicKey>, KeyError> {
    let form = |form| Err(KeyError::ServiceForm { scheme: scheme.into(), form });
    let steps: Vec<&str> = rest.split('/').collect();
    match (scheme, &*steps) {
        ("hashivault", _) => Err(KeyError::Vault),
        ("gcpkms", ["projects", _, "locations", _, "keyRings", _, "cryptoKeys", _, ..]) => {
            Err(KeyError::GoogleCredentials)
        }
        ("gcpkms", _) => form(
            "projects/[PROJECT_ID]/locations/[LOCATION]/keyRings/[KEY_RING]/cryptoKeys/[KEY]/cryptoKeyVersions/[VERSION]",
        ),
        ("azurekms", [_, _] | [_, _, _]) => Ok(None),
        ("azurekms", _) => form("[VAULT_NAME][VAULT_URL]/[KEY_NAME]/[VERSION (optional)]"),
        (_, [_, "alias", _, ..]) => Ok(None),
        (_, [_, id]) if id.split('-').count() == 5 => Ok(None),
        (_, [_, arn, ..]) if arn.starts_with("arn:") => Ok(None),
        _ => form("[ENDPOINT]/[ID/ALIAS/ARN] (endpoint optional)"),
    }
}

fn certificates(cert: &str, chain: &str) -> Result<RequiredSigner, OptionsError> {
    if cert.is_empty() {
        return match (chain, pool(chain)) {
            (_, Some(roots)) => Ok(RequiredSigner::Roots(roots)),
            ("", None) => Ok(RequiredSigner::Roots(Vec::new())),
            _ => Err(OptionsError::Certificates),
        };
    }
    let signer = certificate(cert).map_err(|cause| OptionsError::Certificate { text: cert.into(), cause })?;
    match chain {
        "" => Ok(RequiredSigner::Key(Box::new(signer.key))),
        // The keys of logs are read later, so that no chain is good enough, as in Kyverno.
        chain if holds_certificate(chain) => {
            let roots = Certificate::all(chain)?;
            Err(OptionsError::Chain(match signer.chains_to(&roots, &[]) {
                Err(cause) => ChainError::NoPath(cause),
                Ok(_) if sct::is_embedded(signer.der()) => ChainError::NoLogKeys,
                Ok(_) => ChainError::NoTimestamps(sct::SctError::Missing),
            }))
        }
        _ => Err(OptionsError::ChainNotPem),
    }
}

/// A certificate in PEM, or in base64 of PEM.
///
/// # Errors
/// What is wrong with it.
pub fn certificate(text: &str) -> Result<Certificate, certificates::CertificateError> {
    let plain = match decode_base64(text.as_bytes()) {
        Ok(bytes) if !holds_certificate(text) => String::from_utf8(bytes).unwrap_or_default(),
        _ => text.to_owned(),
    };
    let der = pem_block(&plain, "CERTIFICATE").ok_or(certificates::CertificateError::NotPem)?;
    Certificate::of_der(&der)
}

/// Reads the key of a log; without one the log's own would have to be fetched.
fn log(key: &str, title: &'static str, name: &'static str) -> Result<Vec<LogKey>, OptionsError> {
    match key {
        "" => Err(OptionsError::FetchedLogKey(title)),
        key => {
            let der = pem_block(key, "PUBLIC KEY").ok_or(OptionsError::LogKey { title, name })?;
            Ok(LogKey::of_der(&der).into_iter().collect())
        }
    }
}

fn holds_certificate(text: &str) -> bool {
    pem_holds(text, "CERTIFICATE")
}

/// The letters of repositories.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789_-./";

/// The part of a repository's name that has other letters.
fn bad_path(name: &str) -> Option<&str> {
    let path = match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => path,
        _ => name,
    };
    if name.is_empty() || path.chars().all(|c| LETTERS.contains(c)) {
        return None;
    }
    Some(path)
}
