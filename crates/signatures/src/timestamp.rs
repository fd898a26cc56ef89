//! Timestamps of signatures: tokens of RFC 3161 in signed data of CMS ([`super::cms`]).
//!
//! In: a token and the certificates of the timestamp authorities (TSA) that are trusted. Out: the
//! moment, when the token is about the signature, its only signer is such an authority, and nothing
//! is left over anywhere. Certificate paths are those of [`super::path`], at the moment of the
//! token. `cosign` and Notary have rules of their own: [`TsaTrust`] and [`TsaRoots`]. Semantics:
//! RFC 3161 and 5816, and what `timestamp-authority` and `tspclient-go` check beyond them
//! (`docs/semantics/images.md`). Nothing is fetched.
//!
//! - `error`: why a timestamp does not count, in the words of `cosign` and Notary where they have
//!   words for it

mod error;

use sha1::Digest;

use crate::public_key::Hash;
use ephor_value::time::Time;
use ephor_x509::der::{BIT_STRING, BOOLEAN, INTEGER, OCTET_STRING, Reader, SEQUENCE, flag, small};
use ephor_x509::pem_all;

use crate::chain::{self, Leaf, Link};
use crate::cms::{self, SignedData, Signer};
use crate::path::{self, NoPath, Purpose};

pub use error::{SigningTime, TimestampError, TimestampSyntaxError, TrustError};

/// The attribute that names the signer's certificate by a SHA-1 hash (RFC 2634).
const SIGNING_CERTIFICATE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 0x10, 2, 0x0c];
/// The same with a hash of the SHA-2 family (RFC 5035).
const SIGNING_CERTIFICATE_V2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 0x10, 2, 0x2f];
const GENERALIZED_TIME: u8 = 0x18;

/// What an authority states (`TSTInfo`).
struct Info<'a> {
    /// The moment.
    at: Time,
    /// How far it may be off, in nanoseconds.
    accuracy: i64,
    /// The hash of what it is about.
    imprint: (Option<Hash>, &'a [u8]),
}

/// `20060102150405Z`, with a fraction that does not end with a zero.
fn moment(body: &[u8]) -> Option<Time> {
    let text = std::str::from_utf8(body).ok()?.strip_suffix('Z')?;
    let (seconds, fraction) = match text.split_once('.') {
        Some((seconds, fraction)) if !fraction.is_empty() && !fraction.ends_with('0') => (seconds, fraction),
        Some(_) => return None,
        None => (text, ""),
    };
    if seconds.len() != 14 || !seconds.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| seconds.get(from..to).unwrap_or_default();
    let dot = if fraction.is_empty() { "" } else { "." };
    let text = format!(
        "{}-{}-{}T{}:{}:{}{dot}{fraction}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14)
    );
    Time::parse_rfc3339(&text).ok()
}

/// Seconds, milliseconds and microseconds as nanoseconds.
fn accuracy(mut parts: Reader<'_>) -> Option<i64> {
    let mut sum = 0i64;
    for (tag, unit) in [(INTEGER, 1_000_000_000i64), (0x80, 1_000_000), (0x81, 1_000)] {
        let Some(part) = parts.optional(tag)? else { continue };
        let number = small(part.body)?;
        if tag != INTEGER && !(1..=999).contains(&number) {
            return None;
        }
        sum = sum.checked_add(number.checked_mul(unit)?)?;
    }
    parts.is_empty().then_some(sum)
}

impl<'a> Info<'a> {
    fn read(content: &'a [u8]) -> Option<Info<'a>> {
        let mut all = Reader(content);
        let mut info = all.tagged(SEQUENCE)?.inside();
        if info.tagged(INTEGER)?.body != [1] || !all.is_empty() {
            return None;
        }
        cms::identifier(&mut info)?;
        let mut imprint = info.tagged(SEQUENCE)?.inside();
        let hash = cms::hash(cms::algorithm(&mut imprint)?);
        let hashed = imprint.tagged(OCTET_STRING)?.body;
        imprint.is_empty().then_some(())?;
        info.tagged(INTEGER)?;
        let at = moment(info.tagged(GENERALIZED_TIME)?.body)?;
        let accuracy = info.optional(SEQUENCE)?.map_or(Some(0), |e| accuracy(e.inside()))?;
        if let Some(ordering) = info.optional(BOOLEAN)? {
            flag(ordering.body).ok()?;
        }
        info.optional(INTEGER)?;
        info.optional(0xa0)?;
        if let Some(extensions) = info.optional(0xa1)? {
            let mut extensions = extensions.inside();
            while !extensions.is_empty() {
                let mut extension = extensions.tagged(SEQUENCE)?.inside();
                cms::identifier(&mut extension)?;
                // Nothing critical is understood.
                if extension.optional(BOOLEAN)?.is_some_and(|critical| critical.body != [0]) {
                    return None;
                }
                extension.tagged(OCTET_STRING)?;
                extension.is_empty().then_some(())?;
            }
        }
        info.is_empty().then_some(Info { at, accuracy, imprint: (hash, hashed) })
    }

    /// Whether it is about a message.
    fn is_about(&self, message: &[u8]) -> Result<(), TimestampError> {
        let (Some(hash), found) = self.imprint else {
            return Err(TimestampError::WeakHash);
        };
        match hash.of(message) == found {
            true => Ok(()),
            false => Err(TimestampError::OtherMessage),
        }
    }
}

/// A token, as far as it was read; nothing of it is verified.
struct Token<'a> {
    data: SignedData<'a>,
    info: Info<'a>,
}

impl<'a> Token<'a> {
    fn read(bytes: &'a [u8]) -> Option<Token<'a>> {
        let data = SignedData::read(bytes)?;
        let info = Info::read(data.content)?;
        Some(Token { data, info })
    }
}

/// When a signer says that it signed; `None` = it does not say.
fn signing_time(signer: &Signer<'_>) -> Result<Option<Time>, SigningTime> {
    const UTC_TIME: u8 = 0x17;
    if !signer.has(cms::SIGNING_TIME) {
        return Ok(None);
    }
    let read = || {
        let time = signer.attribute(cms::SIGNING_TIME)?;
        match time.tag {
            UTC_TIME => {
                let text = std::str::from_utf8(time.body).ok()?;
                let century = if text < "50" { "20" } else { "19" };
                moment(format!("{century}{text}").as_bytes())
            }
            GENERALIZED_TIME => moment(time.body),
            _ => None,
        }
    };
    read().map(Some).ok_or(SigningTime::Malformed)
}

/// Whether a signed attribute names the certificate of the signer by its hash, and none names
/// another; `sha1`: whether the older attribute will do.
fn names_certificate(signer: &Signer<'_>, certificate: &Link, sha1: bool) -> bool {
    let named = |attribute: &[u8], is_second: bool| {
        let mut whole = signer.attribute(attribute).filter(|value| value.tag == SEQUENCE)?.inside();
        let mut ids = whole.tagged(SEQUENCE)?.inside();
        let mut first = ids.tagged(SEQUENCE)?.inside();
        while !ids.is_empty() {
            ids.tagged(SEQUENCE)?;
        }
        whole.optional(SEQUENCE)?;
        whole.is_empty().then_some(())?;
        let hash = match is_second {
            false => sha1::Sha1::digest(&certificate.der).to_vec(),
            true => match first.peek() {
                Some(SEQUENCE) => cms::hash(cms::algorithm(&mut first)?)?.of(&certificate.der),
                _ => Hash::Sha256.of(&certificate.der),
            },
        };
        let mut fits = first.tagged(OCTET_STRING)?.body == hash;
        if let Some(issuer) = first.optional(SEQUENCE)? {
            let mut issuer = issuer.inside();
            let names = issuer.tagged(SEQUENCE)?.inside().tagged(0xa4)?.body;
            fits &= certificate.is(names, issuer.tagged(INTEGER)?.body) && issuer.is_empty();
        }
        Some(fits && first.is_empty())
    };
    let one = |attribute, is_second| signer.has(attribute).then(|| named(attribute, is_second) == Some(true));
    match (one(SIGNING_CERTIFICATE, false), one(SIGNING_CERTIFICATE_V2, true)) {
        (Some(false), _) | (_, Some(false)) | (None, None) => false,
        (Some(true), None) => sha1,
        (_, Some(true)) => true,
    }
}

/// The certificates of timestamp authorities as `cosign` reads them: a chain.
#[derive(Clone, Debug, Default)]
pub struct TsaTrust {
    leaves: Vec<Link>,
    intermediates: Vec<Link>,
    roots: Vec<Link>,
}

impl TsaTrust {
    /// Reads a chain.
    ///
    /// # Errors
    /// A certificate cannot be read, or there are several leaves.
    pub fn read(pem: &str) -> Result<TsaTrust, TrustError> {
        let ders = pem_all(pem).ok_or(TrustError::NotPem)?;
        let mut trust = TsaTrust::default();
        for der in &ders {
            let link = Link::of_der(der).map_err(TrustError::Member)?;
            let of = match (link.is_issuer(), link.is_self_issued()) {
                (false, _) => &mut trust.leaves,
                (true, false) => &mut trust.intermediates,
                (true, true) => &mut trust.roots,
            };
            of.push(link);
        }
        match trust.leaves.len() {
            0 | 1 => Ok(trust),
            _ => Err(TrustError::Leaves),
        }
    }

    /// The moment, in Unix seconds, of a response of an authority about a message.
    ///
    /// # Errors
    /// It does not count.
    pub fn moment(&self, response: &[u8], message: &[u8]) -> Result<i64, TimestampError> {
        if response.is_empty() {
            return Err(TimestampSyntaxError::Empty.into());
        }
        let (status, token) = parts(response).ok_or(TimestampSyntaxError::Malformed)?;
        match status {
            [0] => {}
            [1] => return Err(TimestampSyntaxError::Modified.into()),
            _ => return Err(TimestampSyntaxError::Rejected.into()),
        }
        let token = token.and_then(Token::read).ok_or(TimestampSyntaxError::Malformed)?;
        if self.roots.is_empty() {
            return Err(TimestampError::NoRoots);
        }
        // The certificate of the trusted chain stands for those of the token where it has none.
        let embedded = &token.data.certificates;
        let certificates = if embedded.is_empty() { &self.leaves } else { embedded };
        let signer = &token.data.signer;
        let certificate = signer.certificate(certificates);
        let certificate = certificate.ok_or(TimestampSyntaxError::NoCertificate)?;
        signer.verify(token.data.content, certificate).map_err(TimestampSyntaxError::from)?;
        within_validity(signer, certificate).map_err(TimestampSyntaxError::from)?;
        self.check(&token, certificate)?;
        token.info.is_about(message)?;
        Ok(i64::try_from(token.info.at.unix_nanos().div_euclid(1_000_000_000)).unwrap_or(i64::MAX))
    }

    /// Whether a signer's certificate is the one of an authority that is trusted.
    fn check(&self, token: &Token<'_>, certificate: &Link) -> Result<(), TimestampError> {
        if self.leaves.first().is_some_and(|own| own.der != certificate.der) {
            return Err(TimestampError::OtherCertificate);
        }
        certificate.is_tsa()?;
        if !names_certificate(&token.data.signer, certificate, true) {
            return Err(TimestampError::Unnamed);
        }
        let others = self.intermediates.iter().chain(&token.data.certificates);
        let intermediates: Vec<&[u8]> = others.map(|link| &*link.der).collect();
        let roots: Vec<&[u8]> = self.roots.iter().map(|link| &*link.der).collect();
        path::find(certificate, &intermediates, &roots, Purpose::TimeStamping, &token.info.at)
            .map(|_| ())
            .map_err(|error| TimestampError::Path(NoPath::from(error)))
    }
}

/// The status of a response, and the token in it.
fn parts(response: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let mut whole = Reader(response);
    let mut parts = whole.tagged(SEQUENCE)?.inside();
    let mut status = parts.tagged(SEQUENCE)?.inside();
    let number = status.tagged(INTEGER)?.body;
    status.optional(SEQUENCE)?;
    status.optional(BIT_STRING)?;
    let token = if parts.is_empty() { None } else { Some(parts.any()?.raw) };
    let is_whole = whole.is_empty() && parts.is_empty() && status.is_empty();
    is_whole.then_some((number, token))
}

/// Whether a signer says that it signed when its certificate was valid, where it says when.
fn within_validity(signer: &Signer<'_>, certificate: &Link) -> Result<(), SigningTime> {
    let Some(time) = signing_time(signer)? else { return Ok(()) };
    let text = |t: &Time| format!("\"{}\"", t.rfc3339_nano()).into();
    certificate.is_valid_at(&time).map_err(|_| SigningTime::OutsideValidity {
        at: text(&time),
        from: text(&Time::from_unix(certificate.from)),
        until: text(&Time::from_unix(certificate.until)),
    })
}

/// The certificates of timestamp authorities as Notary reads them: roots.
pub struct TsaRoots {
    roots: Vec<Link>,
}

impl TsaRoots {
    /// Reads roots.
    ///
    /// # Errors
    /// One is no certificate of a root.
    pub fn read(pem: &str) -> Result<TsaRoots, TrustError> {
        let ders = pem_all(pem).ok_or(TrustError::RootsNotPem)?;
        let roots: Vec<Link> = ders.iter().map(|der| Link::of_der(der)).collect::<Result<_, _>>()?;
        match roots.iter().all(|root| root.is_issuer() && root.is_self_issued()) {
            true => Ok(TsaRoots { roots }),
            false => Err(TrustError::NotRoot),
        }
    }

    /// The moments between which a signature was created, as a token about it says.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn moments(&self, token: &[u8], signature: &[u8]) -> Result<[Time; 2], TimestampError> {
        let token = Token::read(token).ok_or(TimestampError::MalformedToken)?;
        let signer = &token.data.signer;
        let certificate = signer.certificate(&token.data.certificates);
        let certificate = certificate.ok_or(TimestampError::NoCertificate)?;
        signer.verify(token.data.content, certificate)?;
        within_validity(signer, certificate)?;
        if !names_certificate(signer, certificate, false) {
            return Err(TimestampError::UnnamedToken);
        }
        self.check(&token, certificate)?;
        token.info.is_about(signature)?;
        let Info { at, accuracy, .. } = token.info;
        Ok([at.plus(accuracy.saturating_neg()), at.plus(accuracy)])
    }

    /// Whether a signer's certificate is the one of an authority that is trusted.
    fn check(&self, token: &Token<'_>, certificate: &Link) -> Result<(), TimestampError> {
        let intermediates: Vec<&[u8]> = token.data.certificates.iter().map(|link| &*link.der).collect();
        let roots: Vec<&[u8]> = self.roots.iter().map(|link| &*link.der).collect();
        let path = path::find(certificate, &intermediates, &roots, Purpose::TimeStamping, &token.info.at)
            .map_err(|error| TimestampError::TokenPath(NoPath::from(error)))?;
        chain::fits(&path, Leaf::Tsa)?;
        match path.iter().rev().skip(1).any(|link| link.revocable) {
            true => Err(TimestampError::Revocation),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
