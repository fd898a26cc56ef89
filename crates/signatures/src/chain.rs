//! Chains of certificates as the Notary Project wants them: what keys, extensions and order must
//! be.
//!
//! In: certificates in DER, leaf first. Out: their public facts, or what is wrong with the first
//! that is not as it must be, in the words and the order of Kyverno. Semantics: the Notary
//! Project's signature specification, "Certificate Requirements"; `docs/semantics/images.md`, "Notary".
//!
//! - `error`: what is wrong with a certificate or a chain, in Kyverno's words

mod error;

use std::time::Duration;

use rustls_pki_types::UnixTime;
use x509_parser::prelude::{FromDer, KeyUsage, ParsedExtension, X509Certificate};
use x509_parser::public_key::PublicKey as Parsed;

use crate::certificates::{self, MALFORMED};
use crate::public_key::{self, Hash, PublicKey};
use ephor_value::quote::quote;
use ephor_value::time::Time;
use ephor_x509::{self, check_certificate};

use crate::path::{self, NoPath, Purpose};
use crate::print::{self, mail_date};

pub use error::{CertificateChainError, NotCovered, NotSigned, NotTsa, Rule};

/// A certificate of a chain.
#[derive(Clone, Debug)]
pub struct Link {
    /// The certificate.
    pub der: Vec<u8>,
    /// Whom it names, quoted.
    subject: String,
    /// Its key, when it is of a known kind.
    pub key: Result<PublicKey, public_key::PublicKeyError>,
    /// The bits of an RSA modulus, else of a curve; 0 = neither.
    bits: usize,
    /// The first second of its time.
    pub from: i64,
    /// The last second of its time.
    pub until: i64,
    /// Whether it may sign certificates; `None` = it does not say.
    ca: Option<bool>,
    path_length: Option<u32>,
    /// Bits of the use of its key and whether this is critical.
    usage: Option<(u16, bool)>,
    purposes: Purposes,
    /// Whether an extension is critical that is not understood here.
    pub has_unknown_critical: bool,
    /// Whether it names where its revocation is published.
    pub revocable: bool,
    issuer_name: Vec<u8>,
    subject_name: Vec<u8>,
    serial: Vec<u8>,
    /// Its key as certificates hold keys.
    pub key_info: Vec<u8>,
    signed: Vec<u8>,
    signature: Vec<u8>,
    algorithm: String,
}

/// What a certificate says that its key is for.
#[derive(Clone, Debug, Default)]
struct Purposes {
    given: bool,
    critical: bool,
    named: Vec<&'static str>,
    code_signing: bool,
    any: bool,
    others: bool,
}

/// What a leaf is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// Signing artifacts.
    Signer,
    /// Signing timestamps, as a timestamp authority (TSA).
    Tsa,
}

const TIMESTAMPING: &str = "Timestamping";
/// Names of the uses of a key, by bit.
const USES: [&str; 9] = [
    "DigitalSignature",
    "ContentCommitment",
    "KeyEncipherment",
    "DataEncipherment",
    "KeyAgreement",
    "CertSign",
    "CRLSign",
    "EncipherOnly",
    "DecipherOnly",
];
const CERT_SIGN: u16 = 1 << 5;
/// The extensions that are understood: key usage, alternative names, basic constraints, name
/// constraints, revocation lists, extended key usage.
const UNDERSTOOD: [&str; 6] = ["2.5.29.15", "2.5.29.17", "2.5.29.19", "2.5.29.30", "2.5.29.31", "2.5.29.37"];

impl Link {
    /// Reads a certificate.
    ///
    /// # Errors
    /// It is not well-formed.
    pub fn of_der(der: &[u8]) -> Result<Link, certificates::CertificateError> {
        // The reader takes more than Go does.
        check_certificate(der)?;
        let (_, parsed) = X509Certificate::from_der(der).map_err(|_| MALFORMED)?;
        if parsed.signature_value.unused_bits != 0 {
            return Err(ephor_x509::CertificateError::Malformed("signature").into());
        }
        let key = PublicKey::of_der(parsed.public_key().raw);
        // A key of an unknown kind verifies nothing; a malformed one of a known kind makes the
        // certificate unreadable.
        if let Err(why) = key
            && why != public_key::PublicKeyError::UnknownAlgorithm
        {
            return Err(why.into());
        }
        let bits = match parsed.public_key().parsed() {
            Ok(Parsed::RSA(key)) => key.key_size(),
            Ok(Parsed::EC(point)) => point.key_size(),
            _ => 0,
        };
        let (mut ca, mut path_length, mut usage, mut revocable) = (None, None, None, false);
        let (mut purposes, mut has_unknown_critical) = (Purposes::default(), false);
        // Extensions that are there twice are an error.
        parsed.extensions_map().map_err(|_| MALFORMED)?;
        for extension in parsed.extensions() {
            let oid = extension.oid.to_id_string();
            has_unknown_critical |= extension.critical && !UNDERSTOOD.contains(&&*oid);
            match extension.parsed_extension() {
                // What restricts a certificate must be readable.
                ParsedExtension::ParseError { .. } if UNDERSTOOD.contains(&&*oid) => {
                    return Err(MALFORMED);
                }
                ParsedExtension::BasicConstraints(c) => {
                    ca = Some(c.ca);
                    path_length = c.path_len_constraint;
                }
                ParsedExtension::KeyUsage(KeyUsage { flags }) => usage = Some((*flags, extension.critical)),
                ParsedExtension::ExtendedKeyUsage(e) => {
                    let known = [
                        (e.server_auth, "ServerAuth"),
                        (e.client_auth, "ClientAuth"),
                        (e.email_protection, "EmailProtection"),
                        (e.time_stamping, TIMESTAMPING),
                        (e.ocsp_signing, "OCSPSigning"),
                    ];
                    purposes.given = true;
                    purposes.critical = extension.critical;
                    purposes.named = known.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect();
                    purposes.code_signing = e.code_signing;
                    purposes.any = e.any;
                    purposes.others = e.any || e.code_signing || !e.other.is_empty();
                }
                ParsedExtension::CRLDistributionPoints(_) => revocable = true,
                ParsedExtension::AuthorityInfoAccess(access) => {
                    let ocsp = |oid: &str| oid == "1.3.6.1.5.5.7.48.1";
                    revocable |= access.iter().any(|a| ocsp(&a.access_method.to_id_string()));
                }
                _ => {}
            }
        }
        Ok(Link {
            subject: quote(&print::subject(&parsed)),
            key,
            bits,
            from: parsed.validity().not_before.timestamp(),
            until: parsed.validity().not_after.timestamp(),
            ca,
            path_length,
            usage,
            purposes,
            revocable,
            has_unknown_critical,
            issuer_name: parsed.issuer().as_raw().to_vec(),
            subject_name: parsed.subject().as_raw().to_vec(),
            serial: parsed.raw_serial().to_vec(),
            key_info: parsed.public_key().raw.to_vec(),
            signed: parsed.tbs_certificate.as_ref().to_vec(),
            signature: parsed.signature_value.data.to_vec(),
            algorithm: parsed.signature_algorithm.oid().to_id_string(),
            der: der.to_vec(),
        })
    }

    /// Whether the certificate is signed with a key.
    fn signed_with(&self, key: &Result<PublicKey, public_key::PublicKeyError>) -> Result<(), NotSigned> {
        let Ok(key) = key else {
            return Err(NotSigned::UnknownAlgorithm);
        };
        let (family, hash) = match &*self.algorithm {
            "1.2.840.113549.1.1.5" => return Err(NotSigned::InsecureAlgorithm),
            "1.2.840.113549.1.1.11" => ("RSA", Hash::Sha256),
            "1.2.840.113549.1.1.12" => ("RSA", Hash::Sha384),
            "1.2.840.113549.1.1.13" => ("RSA", Hash::Sha512),
            "1.2.840.10045.4.3.2" => ("ECDSA", Hash::Sha256),
            "1.2.840.10045.4.3.3" => ("ECDSA", Hash::Sha384),
            "1.2.840.10045.4.3.4" => ("ECDSA", Hash::Sha512),
            "1.3.101.112" => ("Ed25519", Hash::Sha512),
            _ => return Err(NotSigned::UnknownAlgorithm),
        };
        let (own, go) = match key {
            PublicKey::Rsa(_) => ("RSA", "*rsa.PublicKey"),
            PublicKey::Ed25519(_) => ("Ed25519", "ed25519.PublicKey"),
            _ => ("ECDSA", "*ecdsa.PublicKey"),
        };
        if own != family {
            return Err(NotSigned::OtherKey { family, found: go });
        }
        key.verify_der(hash, &self.signed, &self.signature).map_err(|_| match family {
            "RSA" => NotSigned::Rsa,
            other => NotSigned::Other(other),
        })
    }

    /// Whether another certificate's key signed this one and may sign certificates.
    fn issued_by(&self, issuer: &Link) -> Result<(), NotSigned> {
        if issuer.ca != Some(true) || issuer.usage.is_some_and(|(bits, _)| bits & CERT_SIGN == 0) {
            return Err(NotSigned::CannotSign);
        }
        self.signed_with(&issuer.key)
    }

    /// Whether its signature is RSA with PSS padding, which is not verified here.
    pub fn has_pss_signature(&self) -> bool {
        self.algorithm == "1.2.840.113549.1.1.10"
    }

    /// Whether another certificate issued this one, as far as its signature can be verified here.
    pub fn may_be_from(&self, issuer: &Link) -> bool {
        self.issuer_name == issuer.subject_name
            && (self.has_pss_signature() || self.issued_by(issuer).is_ok())
    }

    fn is_own_issuer(&self) -> bool {
        self.issuer_name == self.subject_name && self.issued_by(self).is_ok()
    }

    /// Whether it is the one of a certificate authority.
    pub fn is_issuer(&self) -> bool {
        self.ca == Some(true)
    }

    /// Whether its issuer is its subject.
    pub fn is_self_issued(&self) -> bool {
        self.issuer_name == self.subject_name
    }

    /// Whether it is the one of an issuer with a serial number.
    pub fn is(&self, issuer: &[u8], serial: &[u8]) -> bool {
        self.issuer_name == issuer && self.serial == serial
    }

    /// Whether it is the certificate of a timestamp authority: its key is for timestamps and
    /// nothing else.
    ///
    /// # Errors
    /// Why not, in the words of `cosign`.
    pub fn is_tsa(&self) -> Result<(), NotTsa> {
        if self.is_issuer() {
            return Err(NotTsa::Issuer);
        }
        let Purposes { critical, named, others, .. } = &self.purposes;
        if !critical {
            return Err(NotTsa::NotCritical);
        }
        let count = named.len() + usize::from(*others);
        if count != 1 {
            return Err(NotTsa::Purposes(count));
        }
        match **named == [TIMESTAMPING] {
            true => Ok(()),
            false => Err(NotTsa::OtherPurpose),
        }
    }

    /// Whether its key may be used for a purpose: it has no extended key usage, or this one, or
    /// any.
    pub fn allows(&self, purpose: Purpose) -> bool {
        self.names_purpose(purpose) || self.purposes.any
    }

    /// Whether it has no extended key usage, or one that names a purpose.
    pub fn names_purpose(&self, purpose: Purpose) -> bool {
        let Purposes { given, code_signing, named, .. } = &self.purposes;
        !given
            || match purpose {
                Purpose::CodeSigning => *code_signing,
                Purpose::TimeStamping => named.contains(&TIMESTAMPING),
            }
    }

    /// Whether a moment is within its validity.
    ///
    /// # Errors
    /// It is before or after.
    pub fn is_valid_at(&self, at: &Time) -> Result<(), webpki::Error> {
        let unix =
            |seconds: i64| UnixTime::since_unix_epoch(Duration::from_secs(seconds.max(0).unsigned_abs()));
        let time = unix(i64::try_from(at.unix_nanos().div_euclid(1_000_000_000)).unwrap_or(i64::MAX));
        if at.unix_nanos() < Time::from_unix(self.from).unix_nanos() {
            return Err(webpki::Error::CertNotValidYet { time, not_before: unix(self.from) });
        }
        if at.unix_nanos() > Time::from_unix(self.until).unix_nanos() {
            return Err(webpki::Error::CertExpired { time, not_after: unix(self.until) });
        }
        Ok(())
    }

    /// Whether it may issue a certificate with some intermediates below itself.
    ///
    /// # Errors
    /// It is no authority's, its key may not sign certificates, or the path is too long.
    pub fn may_issue(&self, intermediates: usize) -> Result<(), webpki::Error> {
        if self.ca != Some(true) || self.usage.is_some_and(|(bits, _)| bits & CERT_SIGN == 0) {
            return Err(webpki::Error::EndEntityUsedAsCa);
        }
        match self.path_length.is_some_and(|most| u64::from(most) < intermediates as u64) {
            true => Err(webpki::Error::PathLenConstraintViolated),
            false => Ok(()),
        }
    }

    /// Whether a moment is in its time.
    ///
    /// # Errors
    /// It is before or after.
    pub fn covers(&self, moment: &Time, what: &'static str) -> Result<(), NotCovered> {
        let (from, until) = (Time::from_unix(self.from), Time::from_unix(self.until));
        let shown = |time: &Time| quote(&mail_date(time)).into();
        if moment.unix_nanos() < from.unix_nanos() {
            return Err(NotCovered::Before {
                what,
                subject: self.subject.as_str().into(),
                from: shown(&from),
            });
        }
        if moment.unix_nanos() > until.unix_nanos() {
            return Err(NotCovered::After {
                what,
                subject: self.subject.as_str().into(),
                until: shown(&until),
            });
        }
        Ok(())
    }

    /// Whom it names, quoted.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The number of the algorithm with which its key signs, in the order RSA-PSS and ECDSA by
    /// size; 0 = none.
    pub fn algorithm(&self) -> u8 {
        match (&self.key, self.bits) {
            (Ok(PublicKey::Rsa(_)), 2048) => 1,
            (Ok(PublicKey::Rsa(_)), 3072) => 2,
            (Ok(PublicKey::Rsa(_)), 4096) => 3,
            (Ok(PublicKey::P256(_)), _) => 4,
            (Ok(PublicKey::P384(_)), _) => 5,
            (Ok(PublicKey::P521(_)), _) => 6,
            _ => 0,
        }
    }

    /// That it does not follow a rule.
    fn breaks(&self, rule: Rule) -> CertificateChainError {
        CertificateChainError::Rule { subject: self.subject.as_str().into(), rule }
    }

    fn key_usage(&self) -> Result<u16, Rule> {
        match self.usage {
            None => Err(Rule::NoUsage),
            Some((_, false)) => Err(Rule::UsageNotCritical),
            Some((bits, true)) => Ok(bits),
        }
    }

    fn fits_leaf(&self, leaf: Leaf) -> Result<(), CertificateChainError> {
        let wrong = |rule: Rule| Err(self.breaks(rule));
        if self.ca == Some(true) {
            return wrong(Rule::LeafIsIssuer);
        }
        let usage = self.key_usage().map_err(|rule| self.breaks(rule))?;
        if usage & 1 == 0 {
            return Err(CertificateChainError::NotForSignatures(self.subject.as_str().into()));
        }
        let more = USES.iter().enumerate().skip(2).filter(|(bit, _)| usage >> bit & 1 == 1);
        let more: Vec<String> = more.map(|(_, name)| quote(name)).collect();
        if !more.is_empty() {
            let subject = self.subject.as_str().into();
            return Err(CertificateChainError::MoreThanSignatures { subject, more: more.join(", ").into() });
        }
        let Purposes { given, critical, named, others, .. } = &self.purposes;
        match leaf {
            Leaf::Signer => {
                if let Some(name) = named.first() {
                    return wrong(Rule::OtherPurpose(name));
                }
            }
            Leaf::Tsa if !given || *others || **named != [TIMESTAMPING] => {
                return wrong(Rule::NotForTimestamps);
            }
            Leaf::Tsa if !critical => return wrong(Rule::PurposeNotCritical),
            Leaf::Tsa => {}
        }
        match &self.key {
            Ok(PublicKey::Ed25519(_)) | Err(_) => wrong(Rule::KeyType),
            _ => self.long_enough(),
        }
    }

    /// Whether its key is not too short.
    ///
    /// # Errors
    /// It is.
    pub fn long_enough(&self) -> Result<(), CertificateChainError> {
        match (&self.key, self.bits) {
            (Ok(PublicKey::Rsa(_)), bits) if bits < 2048 => Err(self.breaks(Rule::ShortKey(bits))),
            _ => Ok(()),
        }
    }

    fn fits_issuer(&self, below: u32) -> Result<(), Rule> {
        if self.ca != Some(true) {
            return Err(Rule::NotIssuer);
        }
        if let Some(most) = self.path_length.filter(|most| *most < below) {
            return Err(Rule::PathLength { below, most });
        }
        if self.key_usage()? & CERT_SIGN == 0 {
            return Err(Rule::NoCertSign);
        }
        Ok(())
    }
}

/// Whether a chain is as it must be, leaf first and root last.
///
/// # Errors
/// The first thing that is wrong.
pub fn fits(chain: &[Link], leaf: Leaf) -> Result<(), CertificateChainError> {
    let Some((first, rest)) = chain.split_first() else {
        return Err(CertificateChainError::Empty);
    };
    if rest.is_empty() {
        let subject = || first.subject.as_str().into();
        first
            .signed_with(&first.key)
            .map_err(|cause| CertificateChainError::SelfSigned { subject: subject(), cause })?;
        return first.fits_leaf(leaf);
    }
    for (i, link) in chain.iter().enumerate() {
        let subject = || link.subject.as_str().into();
        match chain.get(i + 1) {
            None => link
                .issued_by(link)
                .map_err(|cause| CertificateChainError::Root { subject: subject(), cause })?,
            Some(issuer) => {
                if link.is_own_issuer() {
                    let place = if i == 0 { "leaf" } else { "intermediate" };
                    return Err(CertificateChainError::EarlyRoot { place, subject: subject() });
                }
                let named = || issuer.subject.as_str().into();
                link.issued_by(issuer).map_err(|cause| CertificateChainError::NotSigned {
                    subject: subject(),
                    issuer: named(),
                    cause,
                })?;
                if link.issuer_name != issuer.subject_name {
                    return Err(CertificateChainError::OtherIssuer { subject: subject(), issuer: named() });
                }
            }
        }
        match i.checked_sub(1) {
            None => link.fits_leaf(leaf)?,
            Some(below) => {
                let fits = link.fits_issuer(u32::try_from(below).unwrap_or(u32::MAX));
                fits.map_err(|rule| link.breaks(rule))?;
            }
        }
    }
    Ok(())
}

/// Whether a chain that [`fits`] is a path at a moment by the rules of all paths too: name
/// constraints, critical extensions, extended key usage and path lengths of every member.
///
/// # Errors
/// What is wrong with it.
pub fn verify(chain: &[Link], at: &Time) -> Result<(), CertificateChainError> {
    let (Some(leaf), Some(root)) = (chain.first(), chain.last()) else {
        return Err(CertificateChainError::Empty);
    };
    let intermediates: Vec<&[u8]> =
        chain.iter().skip(1).take(chain.len().saturating_sub(2)).map(|link| &*link.der).collect();
    path::find(leaf, &intermediates, &[&*root.der], Purpose::CodeSigning, at)
        .map(|_| ())
        .map_err(|error| NoPath::from(error).into())
}
