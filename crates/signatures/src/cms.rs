//! Signed data of the Cryptographic Message Syntax (CMS, RFC 5652) around timestamps.
//!
//! In: a `ContentInfo` in DER. Out: the content, the certificates that came with it, and its only
//! signer; [`Signer::verify`] says whether a certificate's key signed the content. The reading is
//! strict: DER only, every element in its place and nothing behind it; revocation lists are
//! refused, unsigned attributes are not read.

use crate::public_key::{self, Hash, PublicKey};
use ephor_x509::der::{Element, INTEGER, OCTET_STRING, OID, Reader, SEQUENCE, SET, oid};

use crate::chain::{self, Link};

/// `id-signedData`
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 2];
/// `id-ct-TSTInfo`, the type of the content of timestamps.
const TST_INFO: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 0x10, 1, 4];
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 3];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 4];
/// The attribute with the time of signing.
pub const SIGNING_TIME: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 5];
const NULL: u8 = 5;
/// The most certificates of a token.
const MAX_CERTIFICATES: usize = 20;

/// Why a signer has not signed, in the words of the library that cosign uses where it has some.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CmsError {
    /// The signed attributes are about other content.
    #[error("pkcs7: Message digest mismatch")]
    Digest,
    /// The signed attributes name another type of content.
    #[error("pkcs7: content type of the signed attributes is not the one of timestamps")]
    ContentType,
    /// The key of the certificate is not known.
    #[error("x509: unsupported public key")]
    UnknownKey,
    /// The key of the certificate is too short.
    #[error(transparent)]
    Certificate(#[from] chain::CertificateChainError),
    /// The algorithm is not one of the key.
    #[error("x509: signature algorithm and public key do not fit")]
    Algorithm,
    /// Content and attributes are signed with different hashes.
    #[error("pkcs7: digest and signature use different hashes")]
    Hashes,
    /// An RSA key has not signed.
    #[error(transparent)]
    Rsa(#[from] public_key::PublicKeyError),
    /// An Ed25519 key has not signed.
    #[error("x509: Ed25519 verification failure")]
    Edwards,
    /// A key on a curve has not signed.
    #[error("x509: ECDSA verification failure")]
    Ecdsa,
}

/// Signed data, as far as it was read; nothing of it is verified.
pub struct SignedData<'a> {
    /// What was signed.
    pub content: &'a [u8],
    /// The certificates that came with it.
    pub certificates: Vec<Link>,
    /// Its signer: timestamps have one signature only (RFC 3161, section 2.4.2).
    pub signer: Signer<'a>,
}

/// A signer (`SignerInfo`).
pub struct Signer<'a> {
    /// The signer's certificate, by issuer and serial number.
    issuer: &'a [u8],
    serial: &'a [u8],
    digest: Hash,
    signed_with: Algorithm,
    /// The attributes that were signed, with their tag.
    attributes: &'a [u8],
    values: Vec<(&'a [u8], Element<'a>)>,
    signature: &'a [u8],
}

/// How a signature was computed.
enum Algorithm {
    Ecdsa(Option<Hash>),
    Rsa(Option<Hash>),
    Ed25519,
}

/// The content of an object identifier that is well-formed: whole, minimal, with arcs of 31 bits at
/// most.
pub fn identifier<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let body = reader.tagged(OID)?.body;
    oid(body).is_ok().then_some(body)
}

/// The content of the object identifier in an algorithm's identifier; parameters are absent or
/// null.
pub fn algorithm<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let mut inside = reader.tagged(SEQUENCE)?.inside();
    let id = inside.tagged(OID)?.body;
    let null = inside.optional(NULL)?;
    (inside.is_empty() && null.is_none_or(|null| null.body.is_empty())).then_some(id)
}

/// The hash of an identifier's content; SHA-1 and shorter ones are unknown here.
pub fn hash(id: &[u8]) -> Option<Hash> {
    match id.strip_prefix(&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2])? {
        [1] => Some(Hash::Sha256),
        [2] => Some(Hash::Sha384),
        [3] => Some(Hash::Sha512),
        _ => None,
    }
}

fn signature_algorithm(id: &[u8]) -> Option<Algorithm> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const ECDSA_SHA2: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];
    const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
    const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
    let sha2 = |last: u8| [Hash::Sha256, Hash::Sha384, Hash::Sha512].get(usize::from(last)).copied();
    Some(match id {
        EC_PUBLIC_KEY => Algorithm::Ecdsa(None),
        ED25519 => Algorithm::Ed25519,
        _ => match (id.strip_prefix(RSA), id.strip_prefix(ECDSA_SHA2)) {
            (Some([1]), _) => Algorithm::Rsa(None),
            (Some([last @ 0x0b..=0x0d]), _) => Algorithm::Rsa(sha2(last - 0x0b)),
            (_, Some([last @ 2..=4])) => Algorithm::Ecdsa(sha2(last - 2)),
            _ => return None,
        },
    })
}

impl<'a> SignedData<'a> {
    /// Reads the signed data around a timestamp.
    pub fn read(bytes: &'a [u8]) -> Option<SignedData<'a>> {
        let mut all = Reader(bytes);
        let mut info = all.tagged(SEQUENCE)?.inside();
        let is_signed = info.tagged(OID)?.body == SIGNED_DATA;
        let mut wrapped = info.tagged(0xa0)?.inside();
        let mut data = wrapped.tagged(SEQUENCE)?.inside();
        if !is_signed || !all.is_empty() || !info.is_empty() || !wrapped.is_empty() {
            return None;
        }
        if data.tagged(INTEGER)?.body != [3] {
            return None;
        }
        let mut digests = Vec::new();
        let mut listed = data.tagged(SET)?.inside();
        while !listed.is_empty() {
            digests.push(algorithm(&mut listed)?);
        }
        let content = content(data.tagged(SEQUENCE)?.inside())?;
        let mut certificates = Vec::new();
        if let Some(all) = data.optional(0xa0)? {
            let mut all = all.inside();
            while !all.is_empty() {
                certificates.push(Link::of_der(all.any()?.raw).ok()?);
                (certificates.len() <= MAX_CERTIFICATES).then_some(())?;
            }
        }
        let mut signers = data.tagged(SET)?.inside();
        let signer = Signer::read(signers.tagged(SEQUENCE)?.inside(), &digests)?;
        let is_whole = data.is_empty() && signers.is_empty();
        is_whole.then_some(SignedData { content, certificates, signer })
    }
}

/// What was signed, of the type of timestamps.
fn content(mut info: Reader<'_>) -> Option<&[u8]> {
    let is_info = info.tagged(OID)?.body == TST_INFO;
    let mut wrapped = info.tagged(0xa0)?.inside();
    let content = wrapped.tagged(OCTET_STRING)?.body;
    (is_info && info.is_empty() && wrapped.is_empty()).then_some(content)
}

impl<'a> Signer<'a> {
    fn read(mut info: Reader<'a>, digests: &[&[u8]]) -> Option<Signer<'a>> {
        // 1: the signer's certificate is named by issuer and serial number.
        if info.tagged(INTEGER)?.body != [1] {
            return None;
        }
        let mut id = info.tagged(SEQUENCE)?.inside();
        let (issuer, serial) = (id.tagged(SEQUENCE)?.raw, id.tagged(INTEGER)?.body);
        let digest = algorithm(&mut info)?;
        if !id.is_empty() || !digests.contains(&digest) {
            return None;
        }
        let signed = info.tagged(0xa0)?;
        let (mut values, mut all, mut before) = (Vec::new(), signed.inside(), &[][..]);
        while !all.is_empty() {
            let attribute = all.tagged(SEQUENCE)?;
            // The elements of a set are in the order of their encodings.
            (before < attribute.raw).then_some(())?;
            before = attribute.raw;
            let mut attribute = attribute.inside();
            let id = identifier(&mut attribute)?;
            let set = attribute.tagged(SET)?;
            if !attribute.is_empty() || values.iter().any(|(known, _)| *known == id) {
                return None;
            }
            values.push((id, set));
        }
        let signed_with = signature_algorithm(algorithm(&mut info)?)?;
        let signature = info.tagged(OCTET_STRING)?.body;
        info.optional(0xa1)?;
        let digest = hash(digest)?;
        let attributes = signed.raw;
        let signer = Signer { issuer, serial, digest, signed_with, attributes, values, signature };
        info.is_empty().then_some(signer)
    }

    /// The only value of a signed attribute.
    pub fn attribute(&self, wanted: &[u8]) -> Option<Element<'a>> {
        let (_, set) = self.values.iter().find(|(id, _)| *id == wanted)?;
        let mut values = set.inside();
        let value = values.any()?;
        values.is_empty().then_some(value)
    }

    /// Whether it has a signed attribute.
    pub fn has(&self, wanted: &[u8]) -> bool {
        self.values.iter().any(|(id, _)| *id == wanted)
    }

    /// The certificate of the signer among some.
    pub fn certificate<'l>(&self, among: &'l [Link]) -> Option<&'l Link> {
        among.iter().find(|link| link.is(self.issuer, self.serial))
    }

    /// Whether the key of a certificate signed a content.
    ///
    /// # Errors
    /// It did not.
    pub fn verify(&self, content: &[u8], certificate: &Link) -> Result<(), CmsError> {
        let digest = self.attribute(MESSAGE_DIGEST).filter(|value| value.tag == OCTET_STRING);
        if digest.is_none_or(|value| value.body != self.digest.of(content)) {
            return Err(CmsError::Digest);
        }
        let kind = self.attribute(CONTENT_TYPE).filter(|value| value.tag == OID);
        if kind.is_none_or(|value| value.body != TST_INFO) {
            return Err(CmsError::ContentType);
        }
        let Ok(key) = &certificate.key else { return Err(CmsError::UnknownKey) };
        certificate.long_enough()?;
        let hash = match (&self.signed_with, key) {
            (Algorithm::Rsa(hash), PublicKey::Rsa(_)) => *hash,
            (Algorithm::Ecdsa(hash), PublicKey::P256(_) | PublicKey::P384(_) | PublicKey::P521(_)) => *hash,
            (Algorithm::Ed25519, PublicKey::Ed25519(_)) => None,
            _ => return Err(CmsError::Algorithm),
        };
        if hash.is_some_and(|hash| hash != self.digest) {
            return Err(CmsError::Hashes);
        }
        // The attributes are signed as a set.
        let signed = [&[SET][..], self.attributes.get(1..).unwrap_or_default()].concat();
        key.verify_der(self.digest, &signed, self.signature).map_err(|e| match key {
            PublicKey::Rsa(_) => CmsError::Rsa(e),
            PublicKey::Ed25519(_) => CmsError::Edwards,
            _ => CmsError::Ecdsa,
        })
    }
}
