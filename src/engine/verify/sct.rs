//! Signed promises of certificate logs (RFC 6962) that certificates hold.
//!
//! In: a certificate, who issued it, and the keys of logs. Out: that every promise in it is one of a known log about this
//! certificate, or the reference's text of why not. Logs are not asked.

use sha2::{Digest, Sha256};

use crate::engine::public_key::PublicKey;
use crate::functions::der::{BOOLEAN, OCTET_STRING, OID, Reader, SEQUENCE, oid};

use super::log::LogKey;

/// The extension that holds promises.
const PROMISES: &[u64] = &[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];

/// What is told of a certificate without promises.
pub const MISSING: &str = "certificate does not include required embedded SCT and no detached SCT was set";

/// Whether a certificate holds promises, and all are good.
///
/// # Errors
/// The reference's text.
pub fn verify(certificate: &[u8], issuer_key: &[u8], logs: &[LogKey]) -> Result<(), String> {
    let (plain, promises) = parts(certificate).ok_or("x509: malformed certificate")?;
    let list = promises.ok_or(MISSING)?;
    let unread = |e: &str| {
        format!("failed to parse certificate: NonFatalErrors: failed to tls.Unmarshal SCT list: tls: {e}; ")
    };
    let truncated = || unread("syntax error: SCTList: truncated slice");
    let mut rest = block(&mut &*list).ok_or_else(truncated)?;
    if rest.is_empty() {
        return Err(unread("structure error: SCTList: value 0 too small for minimum 1"));
    }
    while !rest.is_empty() {
        let promise = block(&mut rest).ok_or_else(truncated)?;
        let promise = Promise::read(promise).ok_or_else(truncated)?;
        let id: String = promise.log.iter().map(|b| format!("{b:02x}")).collect();
        let Some(log) = logs.iter().find(|log| log.is(&id)) else {
            return Err("ctfe public key not found for payload. Check your TUF root (see cosign initialize) or set a custom key with env var SIGSTORE_CT_LOG_PUBLIC_KEY_FILE".into());
        };
        if promise.version != 0 {
            return Err(format!("error verifying embedded SCT: unknown SCT version {}", promise.version));
        }
        let mut signed = vec![0, 0];
        signed.extend(promise.time);
        signed.extend([0, 1]);
        signed.extend(Sha256::digest(issuer_key));
        let length = u32::try_from(plain.len()).map_err(|_| truncated())?.to_be_bytes();
        signed.extend(length.get(1..).unwrap_or_default());
        signed.extend(&plain);
        let more = u16::try_from(promise.extensions.len()).map_err(|_| truncated())?;
        signed.extend(more.to_be_bytes());
        signed.extend(promise.extensions);
        log.key().verify(&signed, promise.signature).map_err(|e| match log.key() {
            PublicKey::Rsa(_) => format!("error verifying embedded SCT: failed to verify rsa signature: {e}"),
            _ => "error verifying embedded SCT: failed to verify ECDSA signature".to_owned(),
        })?;
    }
    Ok(())
}

/// Whether a certificate holds promises.
pub fn is_promised(certificate: &[u8]) -> bool {
    parts(certificate).is_some_and(|(_, promises)| promises.is_some())
}

/// What a log has signed.
struct Promise<'a> {
    version: u8,
    log: &'a [u8],
    time: &'a [u8],
    extensions: &'a [u8],
    signature: &'a [u8],
}

impl<'a> Promise<'a> {
    fn read(bytes: &'a [u8]) -> Option<Promise<'a>> {
        let (version, rest) = bytes.split_first()?;
        let (log, rest) = rest.split_at_checked(32)?;
        let (time, mut rest) = rest.split_at_checked(8)?;
        let extensions = block(&mut rest)?;
        let (_, mut rest) = rest.split_at_checked(2)?;
        let signature = block(&mut rest)?;
        rest.is_empty().then_some(Promise { version: *version, log, time, extensions, signature })
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

/// What is signed of a certificate without its promises, and these.
fn parts(certificate: &[u8]) -> Option<(Vec<u8>, Option<&[u8]>)> {
    let tbs = Reader(certificate).tagged(SEQUENCE)?.inside().tagged(SEQUENCE)?;
    let (mut kept, mut found) = (Vec::new(), None);
    let mut fields = tbs.inside();
    while let Some(field) = fields.any() {
        if field.tag != 0xa3 {
            kept.extend(field.raw);
            continue;
        }
        let mut extensions = field.inside().tagged(SEQUENCE)?.inside();
        let mut others = Vec::new();
        while let Some(extension) = extensions.any() {
            let mut inside = extension.inside();
            if oid(inside.tagged(OID)?.body)? == PROMISES {
                inside.optional(BOOLEAN)?;
                found = Some(Reader(inside.tagged(OCTET_STRING)?.body).tagged(OCTET_STRING)?.body);
            } else {
                others.extend(extension.raw);
            }
        }
        kept.extend(element(0xa3, &element(SEQUENCE, &others)));
    }
    Some((element(SEQUENCE, &kept), found))
}

/// An element of DER.
fn element(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let bytes = body.len().to_be_bytes();
    let digits = bytes.get(bytes.iter().take_while(|b| **b == 0).count()..).unwrap_or_default();
    match u8::try_from(body.len()) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            out.push(0x80 | u8::try_from(digits.len()).unwrap_or_default());
            out.extend(digits);
        }
    }
    out.extend(body);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{MISSING, verify};
    use crate::engine::verify::log::LogKey;
    use crate::functions::encode::decode_base64;

    // Made for this test; their keys were thrown away.
    const PROMISED: &str = "MIIBtTCCAVygAwIBAgIBTTAKBggqhkjOPQQDAjANMQswCQYDVQQDDAJjYTAgFw0yNjAxMDEwMDAwMDBaGA8yMTAwMDEwMTAwMDAw\
     MFowETEPMA0GA1UEAwwGc2lnbmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE9MWKsVGUXhPeXX60pCeSIqdXEYiX9vJiS+e2\
     /Sn1lNPT55PLkZ93gNmeMjsk2omFBKmuNjtl0tuw7lJCL15NxKOBpjCBozATBgNVHSUEDDAKBggrBgEFBQcDAzCBiwYKKwYBBAHW\
     eQIEAgR9BHsAeQB3AOQSYvzQH60GhsWlB2rDX13gAoY+LuJbB5eb9gyqsx8gAAABm3baqAAAAAQDAEgwRgIhAMmw8swVXPWNWVOV\
     X0jE9Gy7WnYPMieTx1g/MzuM6QO1AiEA8lxot+/4WwU0q5GnKxnywcgwl84kG6TU+PAqbxfzRVIwCgYIKoZIzj0EAwIDRwAwRAIg\
     WnlUsKZawu+RUW22Y4tucDh9i5mktt1mzbT9jHm8pLACIFjDRfgDAIErEMMs0Y6cmxdMNFrEWG5JIu3pXQ9OrsHJ";
    const PLAIN: &str = "MIIBJTCBzKADAgECAgFNMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMMAmNhMCAXDTI2MDEwMTAwMDAwMFoYDzIxMDAwMTAxMDAwMDAw\
     WjARMQ8wDQYDVQQDDAZzaWduZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAT0xYqxUZReE95dfrSkJ5Iip1cRiJf28mJL57b9\
     KfWU09Pnk8uRn3eA2Z4yOyTaiYUEqa42O2XS27DuUkIvXk3EoxcwFTATBgNVHSUEDDAKBggrBgEFBQcDAzAKBggqhkjOPQQDAgNI\
     ADBFAiAgk1Rv0JTcEFD2Z8EmuSEljs08KQ5XaMvuosgQm48bgwIhAIMLmHHe3Aupim0BNyX8Kl545oRFjRxAkiCAMe2SX/xa";
    const ISSUER: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAERYvYB9eIKymEjkFs5QjKVkwTKYCVydo0bzc8Yqll7bImwRcH1kPGHxm028PL7Qen\
     aU4co7oDx0b65N99mcn6Lg==";
    const LOG: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEuZd5gTaPDxIoUDODLjDLwEYP1A453cs6iuEY5q89roejU6JMd9E+RS90E/ZHBNlq\
     S/TiX57hU7lfNtqLoRxoPQ==";
    const OTHER: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE/ses2xIUdskNs4zuxqczF1lLsZ2ALycPwI0QTDJLwK7w1P0ry44qEgmBpwgu3aan\
     y+PzK90UWzeBHoPOVFc6Dw==";

    fn said(certificate: &[u8], issuer: &str, log: &str) -> Result<(), String> {
        let bytes = |text: &str| decode_base64(text.as_bytes()).unwrap();
        verify(certificate, &bytes(issuer), &[LogKey::of_der(&bytes(log)).unwrap()])
    }

    fn bytes(text: &str) -> Vec<u8> {
        decode_base64(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_promise_counts_for_its_certificate_issuer_and_log() {
        assert_eq!(said(&bytes(PROMISED), ISSUER, LOG), Ok(()));
        assert_eq!(said(&bytes(PLAIN), ISSUER, LOG), Err(MISSING.into()));
        assert!(said(&bytes(PROMISED), ISSUER, OTHER).unwrap_err().starts_with("ctfe public key not found"));
        assert_eq!(
            said(&bytes(PROMISED), OTHER, LOG),
            Err("error verifying embedded SCT: failed to verify ECDSA signature".into())
        );
    }

    #[test]
    fn no_part_of_a_certificate_counts() {
        let good = bytes(PROMISED);
        for at in 0..good.len() {
            assert!(said(&good[..at], ISSUER, LOG).is_err(), "{at} bytes");
        }
    }
}
