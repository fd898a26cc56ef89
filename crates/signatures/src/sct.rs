//! Signed certificate timestamps (SCT, RFC 6962) that are embedded in certificates.
//!
//! In: a certificate, the key of its issuer, and the keys of certificate transparency logs. Out:
//! that every SCT in it is one of a known log about this certificate, or Kyverno's text of why not.
//! The reading is strict: nothing is left over in the list, in an SCT or in the certificate, and
//! each was signed while the certificate was valid. Logs are not queried.

use sha2::{Digest, Sha256};

use crate::certificates::{self, MALFORMED};
use crate::public_key::{self, Hash, PublicKey};
use ephor_x509::der::{BOOLEAN, OCTET_STRING, OID, Reader, SEQUENCE, element};

use crate::chain::Link;
use crate::log::LogKey;

/// The extension that holds the list: 1.3.6.1.4.1.11129.2.4.2.
const LIST: &[u8] = &[0x2b, 6, 1, 4, 1, 0xd6, 0x79, 2, 4, 2];
/// The algorithms of signatures in TLS: SHA-256, RSA and ECDSA.
const SHA256: u8 = 4;
const RSA: u8 = 1;
const ECDSA: u8 = 3;

/// Why the SCTs of a certificate do not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SctError {
    /// There are none.
    #[error("certificate does not include required embedded SCT and no detached SCT was set")]
    Missing,
    /// The certificate cannot be read.
    #[error(transparent)]
    Certificate(#[from] certificates::CertificateError),
    /// The list of them cannot be read.
    #[error("failed to parse certificate: NonFatalErrors: failed to tls.Unmarshal SCT list: tls: {0}; ")]
    List(#[from] ListError),
    /// Something follows the list.
    #[error("failed to parse certificate: NonFatalErrors: trailing data after ASN1-encoded SCT list; ")]
    Trailing,
    /// One is of a log that is not known.
    #[error(
        "ctfe public key not found for payload. Check your TUF root (see cosign initialize) or set a custom key with env var SIGSTORE_CT_LOG_PUBLIC_KEY_FILE"
    )]
    UnknownLog,
    /// One is of a version that is not known.
    #[error("error verifying embedded SCT: unknown SCT version {0}")]
    Version(u8),
    /// The log's key is of a kind that does not sign them.
    #[error("error verifying embedded SCT: unsupported public key type")]
    KeyType,
    /// The algorithm is not one of the log's key.
    #[error("error verifying embedded SCT: signature algorithm and public key do not fit")]
    Algorithm,
    /// The log's RSA key has not signed it.
    #[error("error verifying embedded SCT: failed to verify rsa signature: {0}")]
    Rsa(#[source] public_key::PublicKeyError),
    /// The log's key on a curve has not signed it.
    #[error("error verifying embedded SCT: failed to verify ECDSA signature")]
    Ecdsa,
    /// It was signed when the certificate was not valid.
    #[error("error verifying embedded SCT: its timestamp is outside of the certificate's validity")]
    Time,
}

/// Why a list of SCTs cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// It is cut.
    #[error("syntax error: SCTList: truncated slice")]
    Truncated,
    /// It is empty.
    #[error("structure error: SCTList: value 0 too small for minimum 1")]
    Empty,
}

/// Whether a certificate holds SCTs, and all are good.
///
/// # Errors
/// There are none, or one is not good.
pub fn verify(certificate: &[u8], issuer_key: &[u8], logs: &[LogKey]) -> Result<(), SctError> {
    let (plain, list) = parts(certificate).ok_or(MALFORMED)?;
    let own = Link::of_der(certificate)?;
    let list = list.ok_or(SctError::Missing)?;
    let mut whole = list;
    let mut rest = block(&mut whole).ok_or(ListError::Truncated)?;
    if !whole.is_empty() {
        return Err(SctError::Trailing);
    }
    if rest.is_empty() {
        return Err(ListError::Empty.into());
    }
    while !rest.is_empty() {
        let sct = block(&mut rest).and_then(Sct::read).ok_or(ListError::Truncated)?;
        let id: String = sct.log.iter().map(|b| format!("{b:02x}")).collect();
        let Some(log) = logs.iter().find(|log| log.is(&id)) else {
            return Err(SctError::UnknownLog);
        };
        if sct.version != 0 {
            return Err(SctError::Version(sct.version));
        }
        let mut signed = vec![0, 0];
        signed.extend(sct.time);
        signed.extend([0, 1]);
        signed.extend(Sha256::digest(issuer_key));
        let length = u32::try_from(plain.len()).map_err(|_| ListError::Truncated)?.to_be_bytes();
        signed.extend(length.get(1..).unwrap_or_default());
        signed.extend(&plain);
        let more = u16::try_from(sct.extensions.len()).map_err(|_| ListError::Truncated)?;
        signed.extend(more.to_be_bytes());
        signed.extend(sct.extensions);
        let algorithm = match log.key() {
            PublicKey::Rsa(_) => [SHA256, RSA],
            PublicKey::P256(_) | PublicKey::P384(_) | PublicKey::P521(_) => [SHA256, ECDSA],
            PublicKey::Ed25519(_) => return Err(SctError::KeyType),
        };
        if sct.algorithm != algorithm {
            return Err(SctError::Algorithm);
        }
        log.key().verify_der(Hash::Sha256, &signed, sct.signature).map_err(|e| match log.key() {
            PublicKey::Rsa(_) => SctError::Rsa(e),
            _ => SctError::Ecdsa,
        })?;
        let seconds = i64::try_from(u64::from_be_bytes(*sct.time) / 1000).unwrap_or(i64::MAX);
        if !(own.from..=own.until).contains(&seconds) {
            return Err(SctError::Time);
        }
    }
    Ok(())
}

/// Whether a certificate holds SCTs.
pub fn is_embedded(certificate: &[u8]) -> bool {
    parts(certificate).is_some_and(|(_, list)| list.is_some())
}

/// A signed certificate timestamp.
struct Sct<'a> {
    version: u8,
    log: &'a [u8],
    /// Milliseconds since 1970.
    time: &'a [u8; 8],
    extensions: &'a [u8],
    /// Hash and signature.
    algorithm: [u8; 2],
    signature: &'a [u8],
}

impl<'a> Sct<'a> {
    fn read(bytes: &'a [u8]) -> Option<Sct<'a>> {
        let (version, rest) = bytes.split_first()?;
        let (log, rest) = rest.split_at_checked(32)?;
        let (time, mut rest) = rest.split_first_chunk()?;
        let extensions = block(&mut rest)?;
        let (algorithm, mut rest) = rest.split_first_chunk()?;
        let signature = block(&mut rest)?;
        let sct = Sct { version: *version, log, time, extensions, algorithm: *algorithm, signature };
        rest.is_empty().then_some(sct)
    }
}

/// The next bytes behind a length of two bytes.
fn block<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_at_checked(2)?;
    let length = length.iter().fold(0, |n, b| n << 8 | usize::from(*b));
    let (inside, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(inside)
}

/// What logs sign of a certificate, which is all but its SCTs, and these.
fn parts(certificate: &[u8]) -> Option<(Vec<u8>, Option<&[u8]>)> {
    const EXTENSIONS: u8 = 0xa3;
    let mut whole = Reader(certificate);
    let tbs = whole.tagged(SEQUENCE)?.inside().tagged(SEQUENCE)?;
    let (mut rest, mut found) = (Vec::new(), None);
    let mut fields = tbs.inside();
    while !fields.is_empty() {
        let field = fields.any()?;
        if field.tag != EXTENSIONS {
            rest.extend(field.raw);
            continue;
        }
        let mut wrapped = field.inside();
        let mut extensions = wrapped.tagged(SEQUENCE)?.inside();
        let mut others = Vec::new();
        while !extensions.is_empty() {
            let extension = extensions.tagged(SEQUENCE)?;
            let mut inside = extension.inside();
            if inside.tagged(OID)?.body != LIST {
                others.extend(extension.raw);
                continue;
            }
            inside.optional(BOOLEAN)?;
            let mut value = Reader(inside.tagged(OCTET_STRING)?.body);
            let list = value.tagged(OCTET_STRING)?.body;
            if !value.is_empty() || !inside.is_empty() || found.replace(list).is_some() {
                return None;
            }
        }
        wrapped.is_empty().then_some(())?;
        rest.extend(element(EXTENSIONS, &element(SEQUENCE, &others)));
    }
    whole.is_empty().then(|| (element(SEQUENCE, &rest), found))
}

#[cfg(test)]
mod tests;
