//! Public keys and what they signed: ECDSA on the NIST curves and RSA, both of a hash of the SHA-2
//! family, and Ed25519.

use p521::ecdsa::signature::hazmat::PrehashVerifier;
use p521::pkcs8::spki::SubjectPublicKeyInfoRef;
use ring::signature::{
    ED25519, RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
    RSA_PKCS1_2048_8192_SHA384, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    UnparsedPublicKey, VerificationAlgorithm,
};
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use ephor_x509::der::{INTEGER, Reader, SEQUENCE, element, unsigned};
use ephor_x509::pem_block;

/// What is signed instead of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hash {
    /// SHA-224
    Sha224,
    /// SHA-256
    #[default]
    Sha256,
    /// SHA-384
    Sha384,
    /// SHA-512
    Sha512,
}

impl Hash {
    /// The hash of a name; none given is SHA-256.
    pub fn named(name: &str) -> Option<Hash> {
        Some(match name {
            "" | "sha256" => Hash::Sha256,
            "sha224" => Hash::Sha224,
            "sha384" => Hash::Sha384,
            "sha512" => Hash::Sha512,
            _ => return None,
        })
    }

    /// The hash of a message.
    pub fn of(self, message: &[u8]) -> Vec<u8> {
        match self {
            Hash::Sha224 => Sha224::digest(message).to_vec(),
            Hash::Sha256 => Sha256::digest(message).to_vec(),
            Hash::Sha384 => Sha384::digest(message).to_vec(),
            Hash::Sha512 => Sha512::digest(message).to_vec(),
        }
    }
}

/// Why a key cannot be read or has not signed, nearly in Kyverno's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublicKeyError {
    /// A key that is not encoded as it must be.
    #[error("asn1: structure error")]
    Malformed,
    /// A key on a curve that is not known.
    #[error("x509: unsupported elliptic curve")]
    UnknownCurve,
    /// A point of Ed25519 of another length.
    #[error("x509: wrong Ed25519 public key size")]
    EdwardsSize,
    /// A key of a kind that is not known.
    #[error("x509: unknown public key algorithm")]
    UnknownAlgorithm,
    /// A point that is not on the curve.
    #[error("x509: failed to unmarshal elliptic curve point")]
    NoPoint,
    /// The RSA key has not computed the signature.
    #[error("crypto/rsa: verification error")]
    Rsa,
    /// The key has not computed the signature.
    #[error("failed to verify signature")]
    Edwards,
    /// The key has not computed the pair of numbers in DER, or they are not in DER.
    #[error("invalid signature when validating ASN.1 encoded signature")]
    Pair,
    /// Bytes that are no pair of numbers.
    #[error("ecdsa: Invalid IEEE_P1363 encoded bytes")]
    Encoding,
    /// The key has not computed the pair of numbers that stand side by side.
    #[error("invalid signature when validating IEEE_P1363 encoded signature")]
    Bare,
    /// The key has not computed the signature in the form of JOSE.
    #[error("crypto/ecdsa: verification error")]
    Jose,
    /// A key of a kind that does not sign so.
    #[error("key is of invalid type")]
    KeyType,
}

/// A public key.
#[derive(Clone, Debug)]
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
    /// Reads a key in PEM. Text before it makes it the name of something else, as in Kyverno.
    pub fn parse(text: &str) -> Option<PublicKey> {
        let der = pem_block(text.starts_with(BEGIN).then_some(text)?, "PUBLIC KEY")?;
        PublicKey::of_der(&der).ok()
    }

    /// Reads a key.
    ///
    /// # Errors
    /// What is wrong with it, nearly as Kyverno says it.
    pub fn of_der(der: &[u8]) -> Result<PublicKey, PublicKeyError> {
        let info = SubjectPublicKeyInfoRef::try_from(der).map_err(|_| PublicKeyError::Malformed)?;
        let bits = info.subject_public_key.as_bytes().ok_or(PublicKeyError::Malformed)?;
        match &*info.algorithm.oid.to_string() {
            "1.2.840.113549.1.1.1" => Ok(PublicKey::Rsa(bits.to_vec())),
            "1.3.101.112" if bits.len() == 32 => Ok(PublicKey::Ed25519(bits.to_vec())),
            "1.2.840.10045.2.1" => {
                match &*info.algorithm.parameters_oid().map_err(|_| PublicKeyError::Malformed)?.to_string() {
                    "1.2.840.10045.3.1.7" => PublicKey::on_p256(bits),
                    "1.3.132.0.34" => PublicKey::on_p384(bits),
                    "1.3.132.0.35" => PublicKey::on_p521(bits),
                    _ => Err(PublicKeyError::UnknownCurve),
                }
            }
            "1.3.101.112" => Err(PublicKeyError::EdwardsSize),
            _ => Err(PublicKeyError::UnknownAlgorithm),
        }
    }

    /// Reads a point on the curve P-256.
    ///
    /// # Errors
    /// It is none.
    pub fn on_p256(point: &[u8]) -> Result<PublicKey, PublicKeyError> {
        p256::ecdsa::VerifyingKey::from_sec1_bytes(point)
            .map(PublicKey::P256)
            .map_err(|_| PublicKeyError::NoPoint)
    }

    /// Reads a point on the curve P-384.
    ///
    /// # Errors
    /// It is none.
    pub fn on_p384(point: &[u8]) -> Result<PublicKey, PublicKeyError> {
        p384::ecdsa::VerifyingKey::from_sec1_bytes(point)
            .map(PublicKey::P384)
            .map_err(|_| PublicKeyError::NoPoint)
    }

    /// Reads a point on the curve P-521.
    ///
    /// # Errors
    /// It is none.
    pub fn on_p521(point: &[u8]) -> Result<PublicKey, PublicKeyError> {
        p521::ecdsa::VerifyingKey::from_sec1_bytes(point)
            .map(PublicKey::P521)
            .map_err(|_| PublicKeyError::NoPoint)
    }

    /// Verifies a signature of the SHA-256 of a message.
    ///
    /// # Errors
    /// It is another's, or not encoded as it must be.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), PublicKeyError> {
        self.verify_hash(Hash::Sha256, message, signature)
    }

    /// Verifies a signature of a hash of a message.
    ///
    /// # Errors
    /// It is another's, or not encoded as it must be.
    pub fn verify_hash(&self, of: Hash, message: &[u8], signature: &[u8]) -> Result<(), PublicKeyError> {
        let by_ring = |algorithm, key: &[u8], error| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signature).map_err(|_| error)
        };
        match self {
            PublicKey::Rsa(key) => {
                const REFUSED: PublicKeyError = PublicKeyError::Rsa;
                let algorithm: &dyn VerificationAlgorithm = match of {
                    Hash::Sha224 => return Err(REFUSED),
                    Hash::Sha256 => &RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
                    Hash::Sha384 => &RSA_PKCS1_2048_8192_SHA384,
                    Hash::Sha512 => &RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
                };
                by_ring(algorithm, key, REFUSED)
            }
            PublicKey::Ed25519(key) => by_ring(&ED25519, key, PublicKeyError::Edwards),
            PublicKey::P256(_) | PublicKey::P384(_) | PublicKey::P521(_) => {
                self.verify_curve(&of.of(message), signature)
            }
        }
    }

    /// Verifies a signature in the form of X.509 and CMS: one of an elliptic curve must be DER.
    ///
    /// # Errors
    /// It is another's, or not encoded as it must be.
    pub fn verify_der(&self, of: Hash, message: &[u8], signature: &[u8]) -> Result<(), PublicKeyError> {
        let is_curve = matches!(self, PublicKey::P256(_) | PublicKey::P384(_) | PublicKey::P521(_));
        if is_curve && !is_pair(signature) {
            return Err(PublicKeyError::Pair);
        }
        self.verify_hash(of, message, signature)
    }

    /// Verifies a signature in the form of JOSE and COSE: two numbers side by side, each as long as
    /// the curve's, or RSA with PSS padding and a salt as long as the hash.
    ///
    /// # Errors
    /// It is another's, or not encoded as it must be.
    pub fn verify_jose(&self, of: Hash, message: &[u8], signature: &[u8]) -> Result<(), PublicKeyError> {
        const REFUSED: PublicKeyError = PublicKeyError::Jose;
        let (length, own) = match self {
            PublicKey::P256(_) => (64, Hash::Sha256),
            PublicKey::P384(_) => (96, Hash::Sha384),
            PublicKey::P521(_) => (132, Hash::Sha512),
            PublicKey::Rsa(key) => {
                let algorithm = match of {
                    Hash::Sha224 | Hash::Sha256 => &RSA_PSS_2048_8192_SHA256,
                    Hash::Sha384 => &RSA_PSS_2048_8192_SHA384,
                    Hash::Sha512 => &RSA_PSS_2048_8192_SHA512,
                };
                let verified = UnparsedPublicKey::new(algorithm, key).verify(message, signature);
                return verified.map_err(|_| PublicKeyError::Rsa);
            }
            PublicKey::Ed25519(_) => return Err(PublicKeyError::KeyType),
        };
        if signature.len() != length || of != own {
            return Err(REFUSED);
        }
        let der = pair(signature).ok_or(REFUSED)?;
        self.verify_curve(&of.of(message), &der).map_err(|_| REFUSED)
    }

    /// Verifies a signature by a key on a curve.
    fn verify_curve(&self, hash: &[u8], signature: &[u8]) -> Result<(), PublicKeyError> {
        match self {
            PublicKey::P256(key) => ecdsa(hash, signature, |hash, der| {
                let signature = p256::ecdsa::Signature::from_der(der).ok()?;
                key.verify_prehash(hash, &signature).ok()
            }),
            PublicKey::P384(key) => ecdsa(hash, signature, |hash, der| {
                let signature = p384::ecdsa::Signature::from_der(der).ok()?;
                key.verify_prehash(hash, &signature).ok()
            }),
            PublicKey::P521(key) => ecdsa(hash, signature, |hash, der| {
                let signature = p521::ecdsa::Signature::from_der(der).ok()?;
                key.verify_prehash(hash, &signature).ok()
            }),
            PublicKey::Rsa(_) | PublicKey::Ed25519(_) => Err(PublicKeyError::Edwards),
        }
    }
}

/// An elliptic curve signature is two numbers, in DER or side by side.
fn ecdsa(
    hash: &[u8],
    signature: &[u8],
    verify: impl Fn(&[u8], &[u8]) -> Option<()>,
) -> Result<(), PublicKeyError> {
    if is_pair(signature) {
        return verify(hash, signature).ok_or(PublicKeyError::Pair);
    }
    let der = pair(signature).ok_or(PublicKeyError::Encoding)?;
    verify(hash, &der).ok_or(PublicKeyError::Bare)
}

/// Whether bytes are a DER sequence of two numbers.
fn is_pair(bytes: &[u8]) -> bool {
    let is = || {
        let mut whole = Reader(bytes);
        let mut numbers = whole.tagged(SEQUENCE)?.inside();
        let are_numbers =
            [numbers.tagged(INTEGER)?, numbers.tagged(INTEGER)?].iter().all(|n| !n.body.is_empty());
        Some(are_numbers && numbers.is_empty() && whole.is_empty())
    };
    is() == Some(true)
}

/// Two numbers side by side as a DER sequence.
fn pair(bytes: &[u8]) -> Option<Vec<u8>> {
    // No curve has longer numbers than 66 bytes.
    if bytes.is_empty() || bytes.len() > 132 || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let (r, s) = bytes.split_at(bytes.len() / 2);
    Some(element(SEQUENCE, &[unsigned(r), unsigned(s)].concat()))
}
