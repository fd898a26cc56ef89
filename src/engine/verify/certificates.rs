//! Certificates of those who sign, and the chains that lead from them to roots that are trusted.
//!
//! In: PEM. Out: what is read of a certificate (key, names, who vouched for the identity, times), and whether a chain
//! leads to a root. Chains are built by `webpki`; a leaf counts at the moment when it was made, as signatures are
//! checked long after their certificates have run out.

use std::time::Duration;

use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::engine::public_key::PublicKey;
use crate::functions::pem_blocks;

/// What certificates of code signers are for.
const CODE_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 3];
/// Longest chains that policies may give.
const LONGEST: usize = 11;
/// Where certificates say who vouched for the identity of their owner, and from what.
const IDENTITY: &str = "1.3.6.1.4.1.57264.1.";

/// A certificate.
#[derive(Clone, Debug)]
pub struct Certificate {
    der: Vec<u8>,
    /// The public key.
    pub key: PublicKey,
    /// Whom it names: addresses, URIs, hosts.
    pub names: Vec<String>,
    /// Facts about the identity, by object identifier.
    pub facts: Vec<(String, String)>,
    /// The first second of its time.
    pub from: i64,
    /// The last second of its time.
    pub until: i64,
    is_root: bool,
}

impl Certificate {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_der(der: &[u8]) -> Result<Certificate, String> {
        const MALFORMED: &str = "x509: malformed certificate";
        let (rest, parsed) = X509Certificate::from_der(der).map_err(|_| MALFORMED)?;
        if !rest.is_empty() {
            return Err("x509: trailing data".into());
        }
        let key = PublicKey::of_der(parsed.public_key().raw)?;
        let mut facts = Vec::new();
        for extension in parsed.extensions() {
            let oid = extension.oid.to_id_string();
            if oid.starts_with(IDENTITY) {
                facts.push((oid, text_of(extension.value)));
            }
        }
        Ok(Certificate {
            key,
            names: names(&parsed),
            facts,
            from: parsed.validity().not_before.timestamp(),
            until: parsed.validity().not_after.timestamp(),
            is_root: parsed.subject().as_raw() == parsed.issuer().as_raw(),
            der: der.to_vec(),
        })
    }

    /// The certificate.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Reads all certificates of a text.
    ///
    /// # Errors
    /// What is wrong with the first one that cannot be read.
    pub fn all(pem: &str) -> Result<Vec<Certificate>, String> {
        pem_blocks(pem, "CERTIFICATE").iter().map(|der| Certificate::of_der(der)).collect()
    }

    /// A fact about the identity; empty when the certificate does not tell it.
    pub fn fact(&self, oid: &str) -> &str {
        self.facts.iter().find(|(known, _)| known == oid).map_or("", |(_, text)| text)
    }

    /// Whether a chain leads from it to one of the roots. Certificates among the roots that somebody else vouches
    /// for are links.
    ///
    /// # Errors
    /// The reference's text.
    pub fn chains_to(&self, roots: &[Certificate], links: &[Certificate]) -> Result<(), String> {
        const UNKNOWN: &str = "x509: certificate signed by unknown authority";
        let ders = |wanted: bool| -> Vec<CertificateDer<'_>> {
            let more = links.iter().filter(move |_| !wanted);
            let all = roots.iter().filter(move |c| c.is_root == wanted).chain(more);
            all.map(|c| CertificateDer::from(&*c.der)).collect()
        };
        let (trusted, links) = (ders(true), ders(false));
        let anchors: Vec<TrustAnchor<'_>> =
            trusted.iter().filter_map(|der| anchor_from_trusted_cert(der).ok()).collect();
        let der = CertificateDer::from(&*self.der);
        if trusted.contains(&der) {
            return Ok(());
        }
        let leaf = EndEntityCert::try_from(&der).map_err(|_| UNKNOWN)?;
        let made = UnixTime::since_unix_epoch(Duration::from_secs(self.from.max(0).unsigned_abs()));
        let usage = KeyUsage::required_if_present(CODE_SIGNING);
        leaf.verify_for_usage(webpki::ALL_VERIFICATION_ALGS, &anchors, &links, made, usage, None, None)
            .map(|_| ())
            .map_err(|e| match e {
                webpki::Error::RequiredEkuNotFoundContext(_) => {
                    "x509: certificate specifies an incompatible key usage".to_string()
                }
                webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. } => {
                    "x509: certificate has expired or is not yet valid".to_string()
                }
                _ => UNKNOWN.to_string(),
            })
    }
}

/// Reads a chain that a policy gives.
///
/// # Errors
/// It is too long or not well-formed.
pub fn chain(pem: &str) -> Result<Vec<Certificate>, String> {
    let all = Certificate::all(pem)?;
    if all.len() > LONGEST {
        return Err(format!("certificate chain too long ({}), maximum allowed is {LONGEST}", all.len()));
    }
    Ok(all)
}

fn names(parsed: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(found)) = parsed.subject_alternative_name() else { return Vec::new() };
    // In the order of kinds in which the reference tells them.
    let of = |pick: fn(&GeneralName<'_>) -> Option<String>| found.value.general_names.iter().filter_map(pick);
    let hosts = of(|n| match n {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    });
    let mails = of(|n| match n {
        GeneralName::RFC822Name(name) => Some((*name).to_owned()),
        _ => None,
    });
    let addresses = of(|n| match n {
        GeneralName::IPAddress([a, b, c, d]) => Some(format!("{a}.{b}.{c}.{d}")),
        _ => None,
    });
    let uris = of(|n| match n {
        GeneralName::URI(name) => Some((*name).to_owned()),
        _ => None,
    });
    hosts.chain(mails).chain(addresses).chain(uris).collect()
}

/// The text of a fact: bare, or a DER string in later certificates.
fn text_of(value: &[u8]) -> String {
    let bare = match value {
        [0x0c, length, rest @ ..] if usize::from(*length) == rest.len() => rest,
        _ => value,
    };
    String::from_utf8_lossy(bare).into_owned()
}
