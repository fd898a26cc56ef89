//! Public keys and what they signed: ECDSA on the NIST curves and RSA, both of SHA-256, and Ed25519.

use p521::ecdsa::signature::hazmat::PrehashVerifier;
use p521::pkcs8::spki::SubjectPublicKeyInfoRef;
use ring::signature::{ED25519, RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, UnparsedPublicKey};
use sha2::{Digest, Sha256};

use crate::functions::pem_block;

/// A public key.
pub enum PublicKey {
    /// On the curve P-256.
    P256(p256::ecdsa::VerifyingKey),
    /// On the curve P-384.
    P384(p384::ecdsa::VerifyingKey),
    /// On the curve P-521.
    P521(p521::ecdsa::VerifyingKey),
    /// The key as PKCS #1 has it.
    Rsa(Vec<u8>),
    /// The point.
    Ed25519(Vec<u8>),
}

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";

impl PublicKey {
    /// Reads a key in PEM. Text before it makes it the name of something else, as in the reference.
    pub fn parse(text: &str) -> Option<PublicKey> {
        let der = pem_block(text.starts_with(BEGIN).then_some(text)?, "PUBLIC KEY")?;
        PublicKey::of_der(&der).ok()
    }

    /// Reads a key.
    ///
    /// # Errors
    /// What is wrong with it, nearly as the reference says it.
    pub fn of_der(der: &[u8]) -> Result<PublicKey, &'static str> {
        const MALFORMED: &str = "asn1: structure error";
        const NO_CURVE: &str = "x509: unsupported elliptic curve";
        let info = SubjectPublicKeyInfoRef::try_from(der).map_err(|_| MALFORMED)?;
        let bits = info.subject_public_key.as_bytes().ok_or(MALFORMED)?;
        let point = "x509: failed to unmarshal elliptic curve point";
        match &*info.algorithm.oid.to_string() {
            "1.2.840.113549.1.1.1" => Ok(PublicKey::Rsa(bits.to_vec())),
            "1.3.101.112" if bits.len() == 32 => Ok(PublicKey::Ed25519(bits.to_vec())),
            "1.2.840.10045.2.1" => {
                match &*info.algorithm.parameters_oid().map_err(|_| MALFORMED)?.to_string() {
                    "1.2.840.10045.3.1.7" => p256::ecdsa::VerifyingKey::from_sec1_bytes(bits)
                        .map(PublicKey::P256)
                        .map_err(|_| point),
                    "1.3.132.0.34" => p384::ecdsa::VerifyingKey::from_sec1_bytes(bits)
                        .map(PublicKey::P384)
                        .map_err(|_| point),
                    "1.3.132.0.35" => p521::ecdsa::VerifyingKey::from_sec1_bytes(bits)
                        .map(PublicKey::P521)
                        .map_err(|_| point),
                    _ => Err(NO_CURVE),
                }
            }
            _ => Err("x509: unknown public key algorithm"),
        }
    }

    /// Verifies a signature.
    ///
    /// # Errors
    /// The reference's text.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), &'static str> {
        let by_ring = |algorithm, key: &[u8], text| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signature).map_err(|_| text)
        };
        match self {
            PublicKey::Rsa(key) => {
                let algorithm: &dyn ring::signature::VerificationAlgorithm =
                    &RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY;
                by_ring(algorithm, key, "crypto/rsa: verification error")
            }
            PublicKey::Ed25519(key) => by_ring(&ED25519, key, "failed to verify signature"),
            PublicKey::P256(key) => ecdsa(message, signature, |hash, der| {
                let signature = p256::ecdsa::Signature::from_der(der).ok()?;
                key.verify_prehash(hash, &signature).ok()
            }),
            PublicKey::P384(key) => ecdsa(message, signature, |hash, der| {
                let signature = p384::ecdsa::Signature::from_der(der).ok()?;
                key.verify_prehash(hash, &signature).ok()
            }),
            PublicKey::P521(key) => ecdsa(message, signature, |hash, der| {
                let signature = p521::ecdsa::Signature::from_der(der).ok()?;
                key.verify_prehash(hash, &signature).ok()
            }),
        }
    }
}

/// An elliptic curve signature is two numbers, in DER or side by side.
fn ecdsa(
    message: &[u8],
    signature: &[u8],
    verify: impl Fn(&[u8], &[u8]) -> Option<()>,
) -> Result<(), &'static str> {
    let hash = Sha256::digest(message);
    if is_pair(signature) {
        return verify(&hash, signature).ok_or("invalid signature when validating ASN.1 encoded signature");
    }
    let der = pair(signature).ok_or("ecdsa: Invalid IEEE_P1363 encoded bytes")?;
    verify(&hash, &der).ok_or("invalid signature when validating IEEE_P1363 encoded signature")
}

/// Whether bytes are a DER sequence of two numbers.
fn is_pair(bytes: &[u8]) -> bool {
    let numbers = element(0x30, bytes).filter(|(_, rest)| rest.is_empty()).map(|(inside, _)| inside);
    let second = numbers.and_then(|inside| element(2, inside)).and_then(|(_, rest)| element(2, rest));
    second.is_some_and(|(_, rest)| rest.is_empty())
}

/// The content of a DER element and what follows it. Signatures are shorter than 256 bytes.
fn element(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match bytes {
        [t, 0x81, length, rest @ ..] if *t == tag && *length >= 0x80 => (*length, rest),
        [t, length, rest @ ..] if *t == tag && *length < 0x80 => (*length, rest),
        _ => return None,
    };
    (length > 0).then_some(())?;
    rest.split_at_checked(length.into())
}

/// Two numbers side by side as a DER sequence.
fn pair(bytes: &[u8]) -> Option<Vec<u8>> {
    // No curve has longer numbers than 66 bytes.
    if bytes.is_empty() || bytes.len() > 132 || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let (r, s) = bytes.split_at(bytes.len() / 2);
    let mut inside = Vec::new();
    for number in [r, s] {
        let zeros = number.iter().take_while(|b| **b == 0).count().min(number.len() - 1);
        let number = number.get(zeros..)?;
        let sign = number.first().is_some_and(|b| *b >= 0x80);
        inside.extend([2, u8::try_from(number.len() + usize::from(sign)).ok()?]);
        inside.extend(sign.then_some(0));
        inside.extend(number);
    }
    let length = u8::try_from(inside.len()).ok()?;
    let mut der = vec![0x30];
    der.extend((length >= 0x80).then_some(0x81));
    der.push(length);
    der.extend(inside);
    Some(der)
}
