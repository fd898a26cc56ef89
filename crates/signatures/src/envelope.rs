//! What envelopes of signatures hold, whatever their format.

use crate::public_key::Hash;
use ephor_value::time::Time;

/// What an envelope holds.
pub struct Envelope {
    /// The certificates of its signer, leaf first.
    pub ders: Vec<Vec<u8>>,
    /// What was signed in addition to the payload.
    pub claims: Claims,
    /// The number of its algorithm.
    pub algorithm: u8,
    /// What was signed.
    pub payload: Vec<u8>,
    /// The signature itself.
    pub signature: Vec<u8>,
    /// A timestamp of it.
    pub timestamp: Option<Vec<u8>>,
}

/// What a signer has signed in addition to the payload.
pub struct Claims {
    /// The type of the payload.
    pub content_type: String,
    /// Whether the time of signing is from a trusted authority.
    pub authority: bool,
    /// When it was signed.
    pub signed: Option<Time>,
    /// Until when it counts.
    pub expiry: Option<Time>,
    /// Whether a plugin is to verify it.
    pub plugin: bool,
}

/// The number and hash of an algorithm by its name in JWS.
pub fn algorithm_named(name: &str) -> Option<(u8, Hash)> {
    Some(match name {
        "PS256" => (1, Hash::Sha256),
        "PS384" => (2, Hash::Sha384),
        "PS512" => (3, Hash::Sha512),
        "ES256" => (4, Hash::Sha256),
        "ES384" => (5, Hash::Sha384),
        "ES512" => (6, Hash::Sha512),
        _ => return None,
    })
}
