//! Certificates that this program issues: an authority, and pairs for servers that it signs.
//!
//! In: keys, names, the present moment. Out: PEM. An authority is valid for 365 days, a pair for
//! 150; both are renewed 15 days before they expire.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, Error, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// How long an authority is valid.
pub const AUTHORITY: Duration = DAY.saturating_mul(365);
/// How long a pair is valid.
pub const PAIR: Duration = DAY.saturating_mul(150);
/// Both are renewed so long before they expire.
pub const RENEW: Duration = DAY.saturating_mul(15);
/// Certificates are valid from so long ago on: clocks of clients may be late.
const BEFORE: Duration = Duration::from_secs(3600);

/// A certificate with its key, both as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// The certificates, the server's own first.
    pub certificate: String,
    /// The key.
    pub key: String,
}

impl std::fmt::Debug for Pem {
    // Keys are in no log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pem").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// The certificate of an authority with a key, as PEM.
///
/// # Errors
/// The key cannot sign.
pub fn authority(key: &KeyPair, now: SystemTime) -> Result<String, Error> {
    let mut params = authority_params()?;
    limit(&mut params, now, now.checked_add(AUTHORITY));
    Ok(params.self_signed(key)?.pem())
}

/// A new pair for some names, signed with the key of an authority; it is valid until `until` at
/// most.
///
/// # Errors
/// A name is none.
pub fn pair(
    authority: &KeyPair,
    names: &[String],
    now: SystemTime,
    until: Option<SystemTime>,
) -> Result<Pem, Error> {
    let issuer = Issuer::new(authority_params()?, authority);
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names.to_vec())?;
    let name = names.first().cloned().unwrap_or_default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let after = now.checked_add(PAIR);
    limit(&mut params, now, until.into_iter().chain(after).min());
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Pem { certificate: certificate.pem(), key: key.serialize_pem() })
}

fn authority_params() -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name.push(DnType::CommonName, "ephor");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn limit(params: &mut CertificateParams, now: SystemTime, until: Option<SystemTime>) {
    params.not_before = now.checked_sub(BEFORE).unwrap_or(now).into();
    params.not_after = until.unwrap_or(now).into();
}
