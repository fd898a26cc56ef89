//! Certificates of signers, and the paths that lead from them to roots that are trusted.
//!
//! In: PEM. Out: what is read of a certificate (key, names, who verified the identity, validity), and whether a path
//! leads to a root ([`super::path`]); a leaf counts at the moment when it was issued, as signatures are verified long
//! after their certificates have run out.

use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::engine::public_key::PublicKey;
use crate::functions::pem_blocks;
use crate::value::time::Time;

use super::chain::Link;
use super::path::{self, Purpose};

/// Longest chains that policies may give.
const LONGEST: usize = 11;
/// Where certificates say who verified the identity of their owner, and from what.
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

    /// The path from it to one of the roots, leaf first. Certificates among the roots that somebody else issued are
    /// intermediates.
    ///
    /// # Errors
    /// There is none, in the words of Go.
    pub fn chains_to(
        &self,
        roots: &[Certificate],
        intermediates: &[Certificate],
    ) -> Result<Vec<Link>, String> {
        let (roots, others): (Vec<&Certificate>, Vec<_>) = roots.iter().partition(|c| c.is_root);
        let roots: Vec<&[u8]> = roots.iter().map(|c| c.der()).collect();
        let others: Vec<&[u8]> = others.into_iter().chain(intermediates).map(Certificate::der).collect();
        let leaf = Link::of_der(&self.der)?;
        // Signatures are verified long after their certificates have run out.
        let issued = Time::from_unix(self.from);
        path::find(&leaf, &others, &roots, Purpose::CodeSigning, &issued).map_err(|e| path::text(&e))
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
