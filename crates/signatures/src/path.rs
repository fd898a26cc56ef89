//! Certificate paths: from a signer's certificate over intermediates to a trust anchor.
//!
//! In: certificates, what the signer's key is used for, and the moment that counts. Out: a path,
//! leaf first, or why there is none. `rustls-webpki` builds and decides (RFC 5280: signatures, CA
//! bits, path lengths, name constraints, critical extensions, extended key usage and validity of
//! every member, all candidates). It takes a trust anchor as a name and a key only and does not
//! read key usage, so that each candidate path is then held to what Go's `x509.Certificate.Verify`,
//! which cosign and Notary use, wants of roots and issuers. Where the two differ the stricter one
//! wins (`docs/semantics/images.md`, "Certificates").

use std::cell::RefCell;
use std::time::Duration;

use rustls_pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, SignatureVerificationAlgorithm, TrustAnchor,
    UnixTime, alg_id,
};
use webpki::{
    EndEntityCert, Error, ExtendedKeyUsageValidator, KeyPurposeId, KeyPurposeIdIter, VerifiedPath,
    anchor_from_trusted_cert,
};

use crate::public_key::{Hash, PublicKey};
use ephor_value::time::Time;

use crate::chain::Link;

/// What the key of a leaf is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Signing artifacts.
    CodeSigning,
    /// Signing timestamps.
    TimeStamping,
}

/// `anyExtendedKeyUsage`
const ANY: KeyPurposeId<'static> = KeyPurposeId::new(&[0x55, 0x1d, 0x25, 0]);

impl Purpose {
    /// The object identifier of its extended key usage.
    fn id(self) -> KeyPurposeId<'static> {
        KeyPurposeId::new(match self {
            Purpose::CodeSigning => &[0x2b, 6, 1, 5, 5, 7, 3, 3],
            Purpose::TimeStamping => &[0x2b, 6, 1, 5, 5, 7, 3, 8],
        })
    }
}

impl ExtendedKeyUsageValidator for Purpose {
    fn validate(&self, purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), Error> {
        let (mut is_empty, mut fits) = (true, false);
        for purpose in purposes {
            let purpose = purpose?;
            is_empty = false;
            fits |= purpose == self.id() || purpose == ANY;
        }
        if is_empty || fits { Ok(()) } else { Err(Error::EmptyEkuExtension) }
    }
}

/// ECDSA with the curves and hashes that `ring` does not combine and Go does.
#[derive(Debug)]
struct Ecdsa {
    curve: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
    hash: Hash,
}

impl SignatureVerificationAlgorithm for Ecdsa {
    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key = match self.curve {
            alg_id::ECDSA_P256 => PublicKey::on_p256(key),
            alg_id::ECDSA_P384 => PublicKey::on_p384(key),
            _ => PublicKey::on_p521(key),
        };
        let key = key.map_err(|_| InvalidSignature)?;
        key.verify_der(self.hash, message, signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.curve
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

const fn ecdsa(curve: AlgorithmIdentifier, signature: AlgorithmIdentifier, hash: Hash) -> Ecdsa {
    Ecdsa { curve, signature, hash }
}

static MORE: [Ecdsa; 5] = [
    ecdsa(alg_id::ECDSA_P256, alg_id::ECDSA_SHA512, Hash::Sha512),
    ecdsa(alg_id::ECDSA_P384, alg_id::ECDSA_SHA512, Hash::Sha512),
    ecdsa(alg_id::ECDSA_P521, alg_id::ECDSA_SHA256, Hash::Sha256),
    ecdsa(alg_id::ECDSA_P521, alg_id::ECDSA_SHA384, Hash::Sha384),
    ecdsa(alg_id::ECDSA_P521, alg_id::ECDSA_SHA512, Hash::Sha512),
];

/// Finds a path from a leaf to one of the roots, all members valid at a moment.
///
/// # Errors
/// What is wrong with the most promising candidate.
pub fn find(
    leaf: &Link,
    intermediates: &[&[u8]],
    roots: &[&[u8]],
    purpose: Purpose,
    at: &Time,
) -> Result<Vec<Link>, Error> {
    // Leaves must name their purpose or none: "any" is for authorities.
    if !leaf.names_purpose(purpose) {
        return Err(Error::EmptyEkuExtension);
    }
    if roots.contains(&&*leaf.der) {
        let path = vec![leaf.clone()];
        return holds(&path, purpose, at).map(|()| path);
    }
    let seconds = u64::try_from(at.unix_nanos().div_euclid(1_000_000_000)).map_err(|_| Error::BadDerTime)?;
    let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let ders = |all: &[&[u8]]| all.iter().map(|der| CertificateDer::from(der.to_vec())).collect::<Vec<_>>();
    let (intermediates, roots) = (issued(intermediates, roots)?, ders(roots));
    let (roots, anchors): (Vec<&CertificateDer<'_>>, Vec<TrustAnchor<'_>>) =
        roots.iter().filter_map(|der| Some((der, anchor_from_trusted_cert(der).ok()?))).unzip();
    let algorithms: Vec<&dyn SignatureVerificationAlgorithm> = webpki::ALL_VERIFICATION_ALGS
        .iter()
        .copied()
        .chain(MORE.iter().map(|own| -> &dyn SignatureVerificationAlgorithm { own }))
        .collect();
    let found = RefCell::new(Vec::new());
    let verify = |candidate: &VerifiedPath<'_>| {
        let anchor = anchors.iter().position(|anchor| std::ptr::eq(anchor, candidate.anchor()));
        let root = anchor.and_then(|at| roots.get(at)).ok_or(Error::UnknownIssuer)?;
        let mut path = vec![leaf.clone()];
        for der in candidate.intermediate_certificates().map(webpki::Cert::der) {
            path.push(Link::of_der(&der).map_err(|_| Error::BadDer)?);
        }
        path.push(Link::of_der(root).map_err(|_| Error::BadDer)?);
        holds(&path, purpose, at)?;
        found.replace(path);
        Ok(())
    };
    let der = CertificateDer::from(&*leaf.der);
    let end = EndEntityCert::try_from(&der)?;
    end.verify_for_usage(&algorithms, &anchors, &intermediates, time, purpose, None, Some(&verify))?;
    let path = found.into_inner();
    // `webpki` has not returned a path that was not held to the rules.
    if path.is_empty() { Err(Error::UnknownIssuer) } else { Ok(path) }
}

/// The most intermediates that are read, and of these the most whose signatures only `webpki`
/// verifies.
const MAX_INTERMEDIATES: usize = 50;
const MAX_UNVERIFIED: usize = 4;

/// The intermediates that a root, or one of them that a root issued, has signed. Others are part of
/// no path, and many of one name would make the search for one long.
fn issued(intermediates: &[&[u8]], roots: &[&[u8]]) -> Result<Vec<CertificateDer<'static>>, Error> {
    if intermediates.len() > MAX_INTERMEDIATES {
        return Err(Error::MaximumPathBuildCallsExceeded);
    }
    let links = |all: &[&[u8]]| all.iter().filter_map(|der| Link::of_der(der).ok()).collect::<Vec<_>>();
    let (mut issuers, mut others) = (links(roots), links(intermediates));
    let (mut found, mut unverified) = (Vec::new(), 0);
    while !issuers.is_empty() {
        let is_next = |link: &Link| issuers.iter().any(|issuer| link.may_be_from(issuer));
        let (next, rest): (Vec<Link>, Vec<Link>) = others.into_iter().partition(is_next);
        unverified += next.iter().filter(|link| link.has_pss_signature()).count();
        found.extend(next.iter().map(|link| CertificateDer::from(link.der.clone())));
        (issuers, others) = (next, rest);
    }
    if unverified > MAX_UNVERIFIED { Err(Error::MaximumPathBuildCallsExceeded) } else { Ok(found) }
}

/// What roots and issuers are held to beyond the checks of `webpki`.
fn holds(path: &[Link], purpose: Purpose, at: &Time) -> Result<(), Error> {
    for link in path {
        link.is_valid_at(at)?;
        if link.has_unknown_critical {
            return Err(Error::UnsupportedCriticalExtension);
        }
        if !link.allows(purpose) {
            return Err(Error::EmptyEkuExtension);
        }
    }
    let issuers = path.iter().skip(1).enumerate();
    for (intermediates, issuer) in issuers {
        issuer.may_issue(intermediates)?;
    }
    Ok(())
}

/// Why there is no path, in the words of Go's `crypto/x509` where it has words for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPath {
    /// A key is not for what it is used for.
    #[error("x509: certificate specifies an incompatible key usage")]
    Usage,
    /// A member is not valid at the moment.
    #[error("x509: certificate has expired or is not yet valid")]
    Expired,
    /// An issuer has more certificates below than it allows.
    #[error("x509: too many intermediates for path length constraint")]
    PathLength,
    /// An issuer may not issue for the name.
    #[error("x509: a root or intermediate certificate is not authorized to sign for this name")]
    Name,
    /// A member has a critical extension that is not understood.
    #[error("x509: unhandled critical extension")]
    CriticalExtension,
    /// The leaf is an issuer.
    #[error("x509: certificate of an authority is used as the one of a signer")]
    LeafIsIssuer,
    /// No root is at the end, or whatever else is wrong.
    #[error("x509: certificate signed by unknown authority")]
    UnknownAuthority,
}

impl From<Error> for NoPath {
    fn from(error: Error) -> NoPath {
        match error {
            Error::EmptyEkuExtension | Error::RequiredEkuNotFoundContext(_) => NoPath::Usage,
            Error::CertExpired { .. } | Error::CertNotValidYet { .. } => NoPath::Expired,
            Error::PathLenConstraintViolated => NoPath::PathLength,
            Error::NameConstraintViolation => NoPath::Name,
            Error::UnsupportedCriticalExtension => NoPath::CriticalExtension,
            Error::CaUsedAsEndEntity => NoPath::LeafIsIssuer,
            _ => NoPath::UnknownAuthority,
        }
    }
}

#[cfg(test)]
mod tests;
