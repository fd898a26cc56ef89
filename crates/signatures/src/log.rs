//! Entries of transparency logs that come with signatures.
//!
//! In: the bundle of a signature: what the log recorded, and the log's own signature of that. Out:
//! the moment of the entry, when the log's key is known, the log signed it, and it is about the
//! signature. Logs are not queried.

use sha2::{Digest, Sha256};

use crate::content;
use crate::public_key::{self, Hash, PublicKey};
use ephor_value::Value;
use ephor_value::bytes::decode_base64;

/// The key of a log.
#[derive(Clone, Debug)]
pub struct LogKey {
    key: PublicKey,
    id: String,
}

impl LogKey {
    /// Reads a key in DER.
    pub fn of_der(der: &[u8]) -> Option<LogKey> {
        Some(LogKey { key: PublicKey::of_der(der).ok()?, id: hex(der) })
    }

    /// Whether a text is the hash of the key.
    pub fn is(&self, id: &str) -> bool {
        self.id == id
    }

    /// The key itself.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }
}

/// What an entry must be about.
pub struct SignedContent<'a> {
    /// What was signed.
    pub payload: &'a [u8],
    /// The signature in base64; empty where it is a part of the payload.
    pub signature: &'a str,
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// Why an entry does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogEntryError {
    /// What was recorded is no base64.
    #[error("decoding base64 body")]
    Body,
    /// What was recorded is no JSON.
    #[error(transparent)]
    Entry(#[from] content::ContentError),
    /// What was recorded holds no good signature.
    #[error("failed to extract signature from bundle: {0}")]
    Recorded(#[from] RecordError),
    /// Another signature was recorded.
    #[error("signature in bundle does not match signature being verified")]
    OtherSignature,
    /// A field that is no number.
    #[error("verifying bundle: {0} is no number")]
    Number(&'static str),
    /// The key of the log is not known.
    #[error("verifying bundle: rekor log public key not found for payload")]
    UnknownLog,
    /// The log's signature is no base64.
    #[error("verifying bundle: decoding SET")]
    Timestamp,
    /// The log has not signed the entry.
    #[error("unable to verify SET")]
    Signature,
    /// The entry is about something else.
    #[error("matching bundle to payload: %!w(<nil>)")]
    OtherPayload,
}

/// Why what was recorded holds no good signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// No key.
    #[error("invalid public key: failure decoding PEM")]
    Key,
    /// A signature that is no base64.
    #[error("illegal base64 data")]
    Base64,
    /// A signature that the key has not computed.
    #[error("verifying signature: {0}")]
    Signature(#[from] public_key::PublicKeyError),
    /// An entry of a kind that is not known.
    #[error("unsupported type: {0}")]
    Kind(Box<str>),
}

/// The moment of the entry in Unix seconds.
///
/// # Errors
/// It does not count.
pub fn moment(bundle: &Value, about: &SignedContent<'_>, keys: &[LogKey]) -> Result<i64, LogEntryError> {
    let body = bundle.text_at(&["Payload", "body"]);
    let decoded = decode_base64(body.as_bytes()).map_err(|_| LogEntryError::Body)?;
    let entry = content::json(&decoded)?;
    let (recorded, hashed) = recorded(&entry, about.payload)?;
    if !about.signature.is_empty() && !recorded.is_empty() && recorded != about.signature {
        return Err(LogEntryError::OtherSignature);
    }
    let whole = |key: &'static str| match bundle.at(&["Payload", key]) {
        Some(Value::Float(f)) if f.abs() < 9e15 && f.fract() == 0.0 => Ok(*f as i64),
        Some(Value::Int(i)) => Ok(*i),
        _ => Err(LogEntryError::Number(key)),
    };
    let (time, index) = (whole("integratedTime")?, whole("logIndex")?);
    let id = bundle.text_at(&["Payload", "logID"]);
    let Some(log) = keys.iter().find(|k| k.id == id) else {
        return Err(LogEntryError::UnknownLog);
    };
    // The canonical form: keys in order, no space.
    let quoted = |text: &str| ephor_value::print::json(&Value::from(text));
    let signed = format!(
        "{{\"body\":{},\"integratedTime\":{time},\"logID\":{},\"logIndex\":{index}}}",
        quoted(body),
        quoted(id)
    );
    let timestamp = decode_base64(bundle.text_at(&["SignedEntryTimestamp"]).as_bytes());
    let timestamp = timestamp.map_err(|_| LogEntryError::Timestamp)?;
    log.key.verify_der(Hash::Sha256, signed.as_bytes(), &timestamp).map_err(|_| LogEntryError::Signature)?;
    if hashed != hex(about.payload) {
        return Err(LogEntryError::OtherPayload);
    }
    Ok(time)
}

/// The signature that an entry records, in base64 and empty where there is none, and the hash of
/// what was signed.
fn recorded(entry: &Value, payload: &[u8]) -> Result<(String, String), RecordError> {
    let text = |path: &[&str]| entry.text_at(path).to_owned();
    match entry.text_at(&["kind"]) {
        "hashedrekord" => {
            let hash = text(&["spec", "data", "hash", "value"]);
            let signature = text(&["spec", "signature", "content"]);
            let key = decode_base64(entry.text_at(&["spec", "signature", "publicKey", "content"]).as_bytes());
            let key = key.ok().and_then(|pem| key_of(&String::from_utf8_lossy(&pem)));
            let key = key.ok_or(RecordError::Key)?;
            let bytes = decode_base64(signature.as_bytes()).map_err(|_| RecordError::Base64)?;
            // A log takes no entry whose signature is not right.
            if hash != hex(payload) {
                return Err(public_key::PublicKeyError::Pair.into());
            }
            key.verify(payload, &bytes)?;
            Ok((signature, hash))
        }
        "intoto" => Ok((String::new(), text(&["spec", "content", "hash", "value"]))),
        "dsse" => Ok((String::new(), text(&["spec", "envelopeHash", "value"]))),
        kind => Err(RecordError::Kind(kind.into())),
    }
}

/// The key in PEM, or of a certificate in PEM.
fn key_of(pem: &str) -> Option<PublicKey> {
    if let Some(der) = ephor_x509::pem_block(pem, "PUBLIC KEY") {
        return PublicKey::of_der(&der).ok();
    }
    super::certificates::Certificate::all(pem).ok()?.into_iter().next().map(|c| c.key)
}
