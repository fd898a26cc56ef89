//! What is wrong with keys and signatures, in the words of the library that Kyverno 1.19.1 reads
//! them with.

use ephor_value::quote::quote;

/// Why a text is no set of keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// Read as one key, it is none.
    #[error("failed to parse sole key: jwk.ParseKey: {0}")]
    Sole(#[from] KeyError),
    /// Its keys are no list; what they are, as Kyverno shows it.
    #[error("failed to unmarshal JWK set: failed to decode \"keys\": expected '[' but got {0}")]
    NoList(Box<str>),
    /// One of its keys is none.
    #[error("failed to unmarshal JWK set: failed to decode key #{at} in \"keys\": jwk.ParseKey: {cause}")]
    Key {
        /// Which one.
        at: usize,
        /// Why.
        #[source]
        cause: KeyError,
    },
}

/// Why a value is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It has no kind.
    #[error("jwk.Parse: failed to probe data: probe: failed to unmarshal data: {0}")]
    Probe(#[from] ProbeError),
    /// It is of a kind that is not known.
    #[error("invalid key type from JSON ({0})")]
    Kind(Box<str>),
    /// A field is not as it must be.
    #[error(
        "failed to unmarshal JSON into key ({key}): failed to unmarshal JSON into key ({key}): failed to decode value for key {field}: {cause}"
    )]
    Field {
        /// Go's type of the key.
        key: Box<str>,
        /// The field.
        field: Box<str>,
        /// What is wrong with it.
        #[source]
        cause: FieldError,
    },
    /// A field is missing.
    #[error(
        "failed to unmarshal JSON into key ({key}): failed to unmarshal JSON into key ({key}): required field {field} is missing"
    )]
    Missing {
        /// Go's type of the key.
        key: Box<str>,
        /// The field.
        field: &'static str,
    },
    /// Its fields make no key.
    #[error("jwk.Parse: key validation failed: key validation failed: {0}")]
    Invalid(#[from] InvalidKey),
}

/// Why the kind of a key cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// There is nothing.
    #[error("EOF")]
    Empty,
    /// The JSON ends too early.
    #[error("unexpected EOF")]
    Truncated,
    /// It is no JSON, in the words of its decoder.
    #[error("{0}")]
    Json(Box<str>),
    /// It is no object but this.
    #[error("json: cannot unmarshal {0} into Go value of type {probed}", probed = PROBED)]
    NoObject(&'static str),
    /// The kind is no text but this.
    #[error("json: cannot unmarshal {0} into Go struct field .kty of type string")]
    NoText(&'static str),
}

/// What is wrong with a field of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// It is no text but this.
    #[error("error reading next value: json: cannot unmarshal {0} into Go value of type string")]
    NoText(&'static str),
    /// It is an algorithm that is not known.
    #[error("invalid key value: {}: invalid key algorithm", quote(.0))]
    Algorithm(Box<str>),
    /// It is a curve that is not known.
    #[error("unknown EllipticCurveAlgorithm: {}", quote(.0))]
    Curve(Box<str>),
    /// It is no base64.
    #[error("expected base64 encoded []byte (string)")]
    Base64,
}

/// Why fields make no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    /// The point is not on the curve.
    #[error("jwk.ECDSAPublicKey: invalid ECDSA public key: {0} point not on curve")]
    Point(&'static str),
    /// The point of Ed25519 has another length.
    #[error("jwk.OKPPublicKey: ed25519: wrong public key size")]
    EdwardsSize,
    /// The secret is empty.
    #[error("jwk.SymmetricKey: missing \"k\" field")]
    Secret,
}

/// Why a set has no key for a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// The token names none, and there are several.
    #[error(
        "failed to find matching key: no key ID (\"kid\") specified in token but multiple keys available in key set"
    )]
    Unnamed,
    /// The token names none, and there is none.
    #[error("failed to get key at index 0 (empty JWKS?)")]
    Empty,
    /// The token names one that is not there.
    #[error("failed to find key with key ID {} in key set", quote(.0))]
    Absent(Box<str>),
    /// The key is for something else.
    #[error(
        "key with kid {} is marked use={}, not usable for signature verification (expected \"sig\")",
        quote(.name),
        quote(.usage)
    )]
    Usage {
        /// The name of the key.
        name: Box<str>,
        /// What it is for.
        usage: Box<str>,
    },
    /// The key names an algorithm that does not sign.
    #[error("invalid signature algorithm {}", quote(.0))]
    Algorithm(Box<str>),
    /// The token names an algorithm that is none of the key.
    #[error("algorithm in the message does not match any of the inferred algorithms")]
    NoMatch,
}

/// Why a key has not signed a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// An algorithm that is not known.
    #[error("jwsbb.Verify: dsig algorithm {} not registered", quote(.0))]
    Algorithm(Box<str>),
    /// A key of another kind than the algorithm's.
    #[error("jwsbb.Verify: invalid key type {key}. {needed} is required: {cause}")]
    KeyType {
        /// Go's type of the key.
        key: Box<str>,
        /// Go's type of the algorithm's keys.
        needed: &'static str,
        /// Why the one is not the other.
        #[source]
        cause: ConversionError,
    },
    /// A signature that the RSA key has not computed.
    #[error("crypto/rsa: verification error")]
    Rsa,
    /// A signature that the key on a curve has not computed.
    #[error("invalid ECDSA signature")]
    Ecdsa,
    /// A signature of another length than the curve's.
    #[error("dsig.VerifyECDSA: failed to unpack ECDSA signature: invalid signature length for curve \"{0}\"")]
    Length(&'static str),
    /// A signature that the Ed25519 key has not computed.
    #[error("invalid EdDSA signature")]
    Edwards,
    /// A signature that was not computed with the secret.
    #[error("invalid HMAC signature")]
    Hmac,
}

/// Why a key is not of Go's type that an algorithm needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    /// It is no secret; Go's type of it.
    #[error(
        "keyconv: failed to produce []byte from {0}: jwk.Export: no suitable exporter found for key type '{0}'"
    )]
    Secret(Box<str>),
    /// It is no key of Ed25519.
    #[error("failed to retrieve ed25519.PublicKey out of crypto.PublicKey")]
    Edwards,
    /// It is no key of a package.
    #[error(
        "keyconv: expected {package}.PublicKey/{package}.PrivateKey or *{package}.PublicKey/*{package}.PrivateKey, got {found}"
    )]
    Package {
        /// The package.
        package: &'static str,
        /// Go's type of what the key holds.
        found: &'static str,
    },
}

/// What the reference reads first, as it prints it.
const PROBED: &str = r#"struct { Kty string "json:\"kty\""; D json.RawMessage "json:\"d,omitempty\"" }"#;
