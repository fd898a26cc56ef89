//! Certificates of signers, and the paths that lead from them to roots that are trusted.
//!
//! In: PEM. Out: what is read of a certificate (key, names, who verified the identity, validity),
//! and whether a path leads to a root (`super::path`); a leaf counts at the moment when it was
//! issued, as signatures are verified long after their certificates have run out.

use std::net::IpAddr;

use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::public_key::{self, PublicKey};
use ephor_value::time::Time;
use ephor_x509::der::{Reader, UTF8_STRING};
use ephor_x509::{self, check_certificate, pem_blocks};

use crate::chain::Link;
use crate::path::{self, NoPath, Purpose};

/// Longest chains that policies may give.
const MAX_CHAIN: usize = 11;
/// Where certificates say who verified the identity of their owner, and from what.
const IDENTITY: &str = "1.3.6.1.4.1.57264.1.";

/// Why a certificate or a chain cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// A text without PEM.
    #[error("error during PEM decoding")]
    NotPem,
    /// A certificate that is not encoded as Go reads it.
    #[error(transparent)]
    Encoding(#[from] ephor_x509::CertificateError),
    /// A certificate whose key cannot be read.
    #[error(transparent)]
    Key(#[from] public_key::PublicKeyError),
    /// A chain of this many certificates.
    #[error("certificate chain too long ({0}), maximum allowed is {most}", most = MAX_CHAIN)]
    TooLong(usize),
    /// A certificate without a path to a root.
    #[error(transparent)]
    NoPath(#[from] NoPath),
}

/// What Go reads of a certificate is well-formed, and something else in it is not.
pub const MALFORMED: CertificateError =
    CertificateError::Encoding(ephor_x509::CertificateError::Malformed("certificate"));

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
    pub fn of_der(der: &[u8]) -> Result<Certificate, CertificateError> {
        // The reader takes more than Go does.
        check_certificate(der)?;
        let (_, parsed) = X509Certificate::from_der(der).map_err(|_| MALFORMED)?;
        let key = PublicKey::of_der(parsed.public_key().raw)?;
        // Extensions that are there twice are an error.
        parsed.extensions_map().map_err(|_| MALFORMED)?;
        let mut facts = Vec::new();
        for extension in parsed.extensions() {
            let oid = extension.oid.to_id_string();
            if oid.starts_with(IDENTITY) {
                facts.push((oid, text_of(extension.value)));
            }
        }
        Ok(Certificate {
            key,
            names: names(&parsed).ok_or(MALFORMED)?,
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
    pub fn all(pem: &str) -> Result<Vec<Certificate>, CertificateError> {
        pem_blocks(pem, "CERTIFICATE").iter().map(|der| Certificate::of_der(der)).collect()
    }

    /// A fact about the identity; empty when the certificate does not have it.
    pub fn fact(&self, oid: &str) -> &str {
        self.facts.iter().find(|(known, _)| known == oid).map_or("", |(_, text)| text)
    }

    /// The path from it to one of the roots, leaf first. Certificates among the roots that another
    /// authority issued are intermediates.
    ///
    /// # Errors
    /// There is none, in the words of Go.
    pub fn chains_to(
        &self,
        roots: &[Certificate],
        intermediates: &[Certificate],
    ) -> Result<Vec<Link>, CertificateError> {
        let (roots, others): (Vec<&Certificate>, Vec<_>) = roots.iter().partition(|c| c.is_root);
        let roots: Vec<&[u8]> = roots.iter().map(|c| c.der()).collect();
        let others: Vec<&[u8]> = others.into_iter().chain(intermediates).map(Certificate::der).collect();
        let leaf = Link::of_der(&self.der)?;
        // Signatures are verified long after their certificates have run out.
        let issued = Time::from_unix(self.from);
        path::find(&leaf, &others, &roots, Purpose::CodeSigning, &issued)
            .map_err(|error| NoPath::from(error).into())
    }
}

/// Reads a chain that a policy gives.
///
/// # Errors
/// It is too long or not well-formed.
pub fn chain(pem: &str) -> Result<Vec<Certificate>, CertificateError> {
    let all = Certificate::all(pem)?;
    if all.len() > MAX_CHAIN {
        return Err(CertificateError::TooLong(all.len()));
    }
    Ok(all)
}

/// The alternative names of the subject, by kind in the order in which Kyverno lists them; `None` =
/// they are malformed.
fn names(parsed: &X509Certificate<'_>) -> Option<Vec<String>> {
    /// The name of a user by Fulcio: 1.3.6.1.4.1.57264.1.7.
    const USER: &str = "1.3.6.1.4.1.57264.1.7";
    let Some(found) = parsed.subject_alternative_name().ok()? else { return Some(Vec::new()) };
    let mut kinds: [Vec<String>; 5] = Default::default();
    let [hosts, mails, addresses, uris, users] = &mut kinds;
    for name in &found.value.general_names {
        match name {
            GeneralName::DNSName(name) => hosts.push((*name).to_owned()),
            GeneralName::RFC822Name(name) => mails.push((*name).to_owned()),
            GeneralName::URI(name) => uris.push((*name).to_owned()),
            GeneralName::IPAddress(bytes) => {
                let four = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
                let address = four.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
                addresses.push(address.ok()?.to_string());
            }
            GeneralName::OtherName(kind, value) if kind.to_id_string() == USER => {
                let mut text = Reader(value);
                let text = text.tagged(0xa0).filter(|_| text.is_empty()).map(|e| e.body);
                users.push(text_of(text?));
            }
            GeneralName::Invalid(..) => return None,
            // Kinds that name no identity.
            _ => {}
        }
    }
    Some(kinds.concat())
}

/// The text of a fact: bare, or a DER string in later certificates.
fn text_of(value: &[u8]) -> String {
    let mut all = Reader(value);
    let bare = all.tagged(UTF8_STRING).filter(|_| all.is_empty()).map_or(value, |text| text.body);
    String::from_utf8_lossy(bare).into_owned()
}

#[cfg(test)]
mod tests {
    use super::text_of;
    use ephor_x509::der::{UTF8_STRING, element};

    #[test]
    fn a_fact_is_a_bare_text_or_one_in_der_of_any_length() {
        assert_eq!(text_of(b"push"), "push");
        for length in [0, 127, 128, 300] {
            let text = "a".repeat(length);
            assert_eq!(text_of(&element(UTF8_STRING, text.as_bytes())), text);
        }
        // What follows the text makes it a bare one.
        assert_eq!(text_of(b"\x0c\x01ab"), "\x0c\x01ab");
    }
}
