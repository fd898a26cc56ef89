//! What an attestor is asked with: keys, certificates, logs and repositories are read in the order in
//! which the reference reads them; the first that cannot be read ends the asking.

use crate::functions::encode::decode_base64;
use crate::functions::{pem_block, pem_holds, x509_decode_certificate};
use crate::value::Value;

use super::OFFLINE;

/// Why an attestor does not vouch.
pub struct Refusal {
    /// What is said.
    pub text: String,
    /// Whether nobody could be asked.
    pub network: bool,
}

impl Refusal {
    fn read(text: impl Into<String>) -> Refusal {
        Refusal { text: text.into(), network: false }
    }

    /// A refusal because nobody could be asked.
    pub fn network(text: impl Into<String>) -> Refusal {
        Refusal { text: text.into(), network: true }
    }
}

const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----";
const NOT_PEM: &str = "error during PEM decoding";
const NO_POOL: &str = "error creating root cert pool";
const NO_CLUSTER: &str = "new for config: error creating REST client config in-cluster: unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined";

/// Asks as `cosign` does.
pub fn cosign(kind: Option<&str>, entry: &Value, repository: &str, image: &str) -> Refusal {
    match unread(kind, entry, repository, image) {
        Err(why) => Refusal::read(why),
        Ok(()) => Refusal::network(OFFLINE),
    }
}

/// Asks as Notary does; `stated`: for statements.
pub fn notary(kind: Option<&str>, entry: &Value, image: &str, stated: bool) -> Refusal {
    if stated {
        return Refusal::network(OFFLINE);
    }
    let cert = kind.map_or("", |k| entry.text_at(&[k, "cert"]));
    if !cert.is_empty() && !holds_certificate(cert.trim_start()) {
        return Refusal::read(format!("failed to parse certificates: {NOT_PEM}"));
    }
    Refusal::network(format!("failed to parse image reference: {image}: {OFFLINE}"))
}

fn unread(kind: Option<&str>, entry: &Value, repository: &str, image: &str) -> Result<(), String> {
    let by = kind.and_then(|k| entry.get(k)).cloned().unwrap_or_default();
    let text = |path: &[&str]| by.text_at(path).to_owned();
    match kind {
        Some("keys") => key(&by)?,
        Some("certificates") => certificates(&text(&["cert"]), &text(&["certChain"]))?,
        _ => match &*text(&["roots"]) {
            "" => return Err(format!("failed to get roots from fulcio: {OFFLINE}")),
            roots if !holds_certificate(roots) => {
                return Err(format!("failed to load Root certificates: {NO_POOL}"));
            }
            _ => {}
        },
    }
    let on = |path: &[&str]| by.at(path).and_then(Value::as_bool) == Some(true);
    if !on(&["rekor", "ignoreTlog"]) {
        log(&text(&["rekor", "pubkey"]), "Rekor", "rekor")?;
    }
    if !on(&["ctlog", "ignoreSCT"]) {
        log(&text(&["ctlog", "pubkey"]), "CTLogs", "transparency log")?;
    }
    let own = entry.text_at(&["repository"]);
    let repository = if own.is_empty() { repository } else { own };
    if let Some(why) = bad_repository(repository) {
        return Err(format!("failed to parse signature repository {repository}: {why}"));
    }
    let stamped = text(&["ctlog", "tsaCertChain"]);
    if !stamped.is_empty() && !holds_certificate(&stamped) {
        return Err(format!("error splitting tsa certificates: {NOT_PEM}"));
    }
    let (path, _) = image.split_once('@').unwrap_or((image, ""));
    let path = path.split_once('/').map_or("", |(_, path)| path);
    let path = path.rsplit_once(':').map_or(path, |(path, _)| path);
    if path.len() < 2 {
        return Err(format!("failed to parse image {image}"));
    }
    Ok(())
}

fn key(by: &Value) -> Result<(), String> {
    let secret = |key: &str| by.text_at(&["secret", key]);
    let key = match (by.text_at(&["publicKeys"]), by.get("secret")) {
        ("", Some(_)) => format!("k8s://{}/{}", secret("namespace"), secret("name")),
        ("", None) => by.text_at(&["kms"]).to_owned(),
        (text, _) => text.trim_start().to_owned(),
    };
    let failed = |why: &str| Err(format!("failed to load public key from {key}: {why}"));
    if key.starts_with(PUBLIC) {
        let pem = |why: &str| Err(format!("failed to load public key from PEM: pem to public key: {why}"));
        let Some(der) = pem_block(&key, "PUBLIC KEY") else { return pem("PEM decoding failed") };
        return match crate::engine::public_key::PublicKey::of_der(&der) {
            Ok(_) => Ok(()),
            Err(why) => pem(why),
        };
    }
    match key.split_once("://") {
        // Files that policies name are not read.
        None => failed(&format!("open {key}: no such file or directory")),
        Some(("k8s", _)) => failed(NO_CLUSTER),
        Some(("awskms", _)) => Ok(()),
        Some(("azurekms" | "gcpkms" | "hashivault", _)) => failed(OFFLINE),
        Some((scheme, _)) => failed(&format!("loading URL: unrecognized scheme: {scheme}://")),
    }
}

fn certificates(cert: &str, chain: &str) -> Result<(), String> {
    if !cert.is_empty() {
        let plain = match decode_base64(cert.as_bytes()) {
            Ok(bytes) if !holds_certificate(cert) => String::from_utf8(bytes).unwrap_or_default(),
            _ => cert.to_owned(),
        };
        let failed = |why: &str| {
            format!(
                "failed to load certificate from {cert}: failed to unmarshal certificate from PEM format: {why}"
            )
        };
        if !holds_certificate(&plain) {
            return Err(failed(NOT_PEM));
        }
        if !x509_decode_certificate(&plain) {
            return Err(failed("x509: malformed certificate"));
        }
    }
    match (cert, chain) {
        (_, "") => Ok(()),
        ("", chain) if holds_certificate(chain) => Ok(()),
        ("", _) => Err(format!("failed to load certificates: {NO_POOL}")),
        (_, chain) if holds_certificate(chain) => Err("failed to load validate certificate chain: certificate does not include required embedded SCT and no detached SCT was set".into()),
        _ => Err(format!("failed to load certificate chain: {NOT_PEM}")),
    }
}

/// Reads the key of a log; without one the log's own are asked for.
fn log(key: &str, title: &str, name: &str) -> Result<(), String> {
    match key {
        "" => Err(format!("failed to load {title} public keys: {OFFLINE}")),
        key if pem_holds(key, "PUBLIC KEY") => Ok(()),
        _ => Err(format!(
            "failed to load {title} public keys: failed to get {name} public keys: PEM decoding failed"
        )),
    }
}

fn holds_certificate(text: &str) -> bool {
    pem_holds(text, "CERTIFICATE")
}

/// What is wrong with the name of a repository.
fn bad_repository(name: &str) -> Option<String> {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789_-./";
    let path = match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => path,
        _ => name,
    };
    if name.is_empty() || path.chars().all(|c| LETTERS.contains(c)) {
        return None;
    }
    Some(format!("repository can only contain the characters `{LETTERS}`: {path}"))
}
