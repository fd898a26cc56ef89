//! For tests: certificate authorities, timestamps and SCTs built when the tests run, each with one
//! thing wrong as wanted.
#![allow(clippy::unwrap_used)]

use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, PublicKeyData as _, SigningKey as _, date_time_ymd,
};
use sha2::{Digest, Sha256};

use ephor_value::time::Time;
use ephor_x509::der::{OCTET_STRING as OCTETS, OID, Reader, SEQUENCE, element};

use crate::chain::Link;

/// The moment of what these tests sign: 2026-06-01T12:00:00Z.
pub const NOW: i64 = 1_780_315_200;

pub fn now() -> Time {
    Time::from_unix(NOW)
}

/// A party with a key and a certificate.
pub struct Party {
    pub params: CertificateParams,
    pub key: KeyPair,
    pub der: Vec<u8>,
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(2100, 1, 1);
    params
}

/// A certificate authority.
pub fn ca(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

/// A code signer.
pub fn signer(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
    params
}

/// A timestamp authority. Its extended key usage is critical, which the builder does not offer.
pub fn tsa(name: &str) -> CertificateParams {
    let mut params = signer(name);
    params.extended_key_usages.clear();
    params.custom_extensions = vec![extended_key_usage(&[8], true)];
    params
}

/// An extended key usage of purposes by the last number of their object identifiers.
pub fn extended_key_usage(purposes: &[u8], is_critical: bool) -> CustomExtension {
    let ids = purposes.iter().flat_map(|last| [6, 8, 0x2b, 6, 1, 5, 5, 7, 3, *last]).collect::<Vec<u8>>();
    extension(&[2, 5, 29, 37], &element(SEQUENCE, &ids), is_critical)
}

pub fn extension(oid: &[u64], content: &[u8], is_critical: bool) -> CustomExtension {
    let mut extension = CustomExtension::from_oid_content(oid, content.to_vec());
    extension.set_criticality(is_critical);
    extension
}

/// An unknown extension.
pub fn unknown(is_critical: bool) -> CustomExtension {
    extension(&[1, 2, 3, 4], &[5, 0], is_critical)
}

/// Changes parameters.
pub fn with(mut params: CertificateParams, change: impl Fn(&mut CertificateParams)) -> CertificateParams {
    change(&mut params);
    params
}

/// A root.
pub fn root(params: CertificateParams) -> Party {
    let key = KeyPair::generate().unwrap();
    let der = params.self_signed(&key).unwrap().der().to_vec();
    Party { params, key, der }
}

impl Party {
    pub fn issue(&self, params: CertificateParams) -> Party {
        self.issue_for(params, KeyPair::generate().unwrap())
    }

    pub fn issue_for(&self, params: CertificateParams, key: KeyPair) -> Party {
        let der =
            params.signed_by(&key, &Issuer::from_params(&self.params, &self.key)).unwrap().der().to_vec();
        Party { params, key, der }
    }

    /// Another certificate of the same key.
    pub fn key(&self) -> KeyPair {
        KeyPair::from_pem(&self.key.serialize_pem()).unwrap()
    }

    pub fn link(&self) -> Link {
        Link::of_der(&self.der).unwrap()
    }

    pub fn pem(&self) -> String {
        pem(&self.der)
    }

    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.key.sign(message).unwrap()
    }

    /// Its key as certificates hold keys.
    pub fn key_info(&self) -> Vec<u8> {
        self.link().key_info
    }
}

pub fn pem(der: &[u8]) -> String {
    use base64::prelude::{BASE64_STANDARD, Engine};
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", BASE64_STANDARD.encode(der))
}

/// A part of a timestamp, before it is put into the one around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Imprint,
    Info,
    ContentType,
    MessageDigest,
    SigningTime,
    SigningCertificate,
    Attributes,
    Signature,
    Signer,
    Signers,
    Digests,
    Content,
    Data,
    Token,
    Status,
    Response,
}

const SHA256: &[u8] = &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];
const ECDSA_SHA256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
const PKCS9: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9];

fn pkcs9(rest: &[u8]) -> Vec<u8> {
    element(OID, &[PKCS9, rest].concat())
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    element(SEQUENCE, &parts.concat())
}

/// How timestamps are built: `edit` gets each part's content and returns what stands there instead.
pub struct Stamp<'a> {
    pub signers: Vec<&'a Party>,
    pub certificates: Vec<&'a [u8]>,
    pub edit: Box<dyn Fn(Part, Vec<u8>) -> Vec<u8> + 'a>,
}

pub const MESSAGE: &[u8] = b"a signature";

impl<'a> Stamp<'a> {
    pub fn by(signer: &'a Party) -> Stamp<'a> {
        Stamp { signers: vec![signer], certificates: vec![&signer.der], edit: Box::new(|_, body| body) }
    }

    pub fn edited(signer: &'a Party, edit: impl Fn(Part, Vec<u8>) -> Vec<u8> + 'a) -> Stamp<'a> {
        Stamp { edit: Box::new(edit), ..Stamp::by(signer) }
    }

    /// What is stated.
    fn info(&self) -> Vec<u8> {
        let hashed = element(OCTETS, &Sha256::digest(MESSAGE));
        let imprint = (self.edit)(Part::Imprint, [sequence(&[SHA256]), hashed].concat());
        let info = [
            &[2, 1, 1, OID, 3, 0x2a, 3, 4][..],
            &element(SEQUENCE, &imprint),
            &[2, 2, 4, 0xd2],
            &element(0x18, b"20260601120000Z"),
        ];
        element(SEQUENCE, &(self.edit)(Part::Info, info.concat()))
    }

    fn signer(&self, signer: &Party, content: &[u8]) -> Vec<u8> {
        let edit = &self.edit;
        let attribute =
            |part, id: &[u8], value: Vec<u8>| sequence(&[&pkcs9(id), &element(0x31, &edit(part, value))]);
        let own = element(OCTETS, &Sha256::digest(&signer.der));
        let attributes = [
            attribute(Part::ContentType, &[3], pkcs9(&[0x10, 1, 4])),
            attribute(Part::SigningTime, &[5], element(0x17, b"260601120000Z")),
            attribute(Part::MessageDigest, &[4], element(OCTETS, &Sha256::digest(content))),
            attribute(
                Part::SigningCertificate,
                &[0x10, 2, 0x2f],
                sequence(&[&sequence(&[&sequence(&[&own])])]),
            ),
        ];
        let attributes = edit(Part::Attributes, attributes.concat());
        let signature = edit(Part::Signature, signer.sign(&element(0x31, &attributes)));
        let (issuer, serial) = issuer_and_serial(&signer.der);
        let info = [
            vec![2, 1, 1],
            sequence(&[&issuer, &serial]),
            sequence(&[SHA256]),
            element(0xa0, &attributes),
            sequence(&[ECDSA_SHA256]),
            element(OCTETS, &signature),
        ];
        element(SEQUENCE, &edit(Part::Signer, info.concat()))
    }

    pub fn token(&self) -> Vec<u8> {
        let edit = &self.edit;
        let info = self.info();
        let signers: Vec<u8> = self.signers.iter().flat_map(|signer| self.signer(signer, &info)).collect();
        let content = [pkcs9(&[0x10, 1, 4]), element(0xa0, &element(OCTETS, &info))].concat();
        let data = [
            vec![2, 1, 3],
            element(0x31, &edit(Part::Digests, sequence(&[SHA256]))),
            element(SEQUENCE, &edit(Part::Content, content)),
            element(0xa0, &self.certificates.concat()),
            element(0x31, &edit(Part::Signers, signers)),
        ];
        let data = element(SEQUENCE, &edit(Part::Data, data.concat()));
        let signed_data = element(OID, &[&PKCS9[..6], &[1, 7, 2]].concat());
        element(SEQUENCE, &edit(Part::Token, [signed_data, element(0xa0, &data)].concat()))
    }

    pub fn response(&self) -> Vec<u8> {
        let status = element(SEQUENCE, &(self.edit)(Part::Status, vec![2, 1, 0]));
        let body = (self.edit)(Part::Response, [status, self.token()].concat());
        element(SEQUENCE, &body)
    }
}

/// The elements of the issuer and the serial number of a certificate.
pub fn issuer_and_serial(der: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut tbs = Reader(der).any().unwrap().inside().any().unwrap().inside();
    let elements: Vec<&[u8]> = std::iter::from_fn(|| tbs.any()).map(|e| e.raw).collect();
    (elements[3].to_vec(), elements[1].to_vec())
}

/// A certificate transparency log.
pub struct Log {
    key: KeyPair,
}

impl Log {
    pub fn new() -> Log {
        Log { key: KeyPair::generate().unwrap() }
    }

    /// Its public key in DER.
    pub fn der(&self) -> Vec<u8> {
        self.key.subject_public_key_info()
    }

    /// Its SCT, in milliseconds, about what logs sign of a certificate.
    pub fn sct(&self, plain: &[u8], issuer_key: &[u8], at: i64) -> Vec<u8> {
        let length = u32::try_from(plain.len()).unwrap().to_be_bytes();
        let signed = [
            &[0, 0][..],
            &at.to_be_bytes(),
            &[0, 1],
            &Sha256::digest(issuer_key),
            &length[1..],
            plain,
            &[0, 0],
        ];
        let signature = block(&self.key.sign(&signed.concat()).unwrap());
        let id = Sha256::digest(self.der());
        [&[0][..], &id, &at.to_be_bytes(), &[0, 0], &[4, 3], &signature].concat()
    }
}

/// Bytes behind their length in two bytes.
pub fn block(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

/// A certificate with SCTs: `build` gets what logs sign of it and returns the content of the
/// extension.
pub fn with_scts(issuer: &Party, params: CertificateParams, build: impl Fn(&[u8]) -> Vec<u8>) -> Party {
    let params = with(params, |p| p.serial_number = Some(77.into()));
    let key = KeyPair::generate().unwrap();
    let again = KeyPair::from_pem(&key.serialize_pem()).unwrap();
    let plain = issuer.issue_for(params.clone(), key).der;
    let plain = Reader(&plain).any().unwrap().inside().any().unwrap().raw.to_vec();
    let list = extension(&[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2], &build(&plain), false);
    issuer.issue_for(with(params, |p| p.custom_extensions.push(list.clone())), again)
}

/// The extension's content around SCTs.
pub fn list(scts: &[Vec<u8>]) -> Vec<u8> {
    let all: Vec<u8> = scts.iter().flat_map(|sct| block(sct)).collect();
    element(OCTETS, &block(&all))
}

/// The text with each bit of it flipped in turn, by byte and bit.
pub fn flips(good: &[u8]) -> impl Iterator<Item = (usize, u8, Vec<u8>)> {
    (0..good.len() * 8).map(|n| {
        let (at, bit) = (n / 8, n % 8);
        let mut bytes = good.to_vec();
        bytes[at] ^= 1 << bit;
        (at, u8::try_from(bit).unwrap(), bytes)
    })
}

/// A signature as JOSE and COSE have it: two numbers side by side.
fn fixed(signer: &Party, message: &[u8]) -> Vec<u8> {
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
    let random = ring::rand::SystemRandom::new();
    let key = signer.key.serialize_der();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &random).unwrap();
    key.sign(&random, message).unwrap().as_ref().to_vec()
}

const SCHEME: &str = "io.cncf.notary.signingScheme";
const TIME: &str = "io.cncf.notary.signingTime";
const TIMESTAMP: &str = "io.cncf.notary.timestampSignature";
const PAYLOAD: &str = "application/vnd.cncf.notary.payload.v1+json";

/// What builds a timestamp of a signature.
pub type Stamper<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
/// Headers of COSE.
pub type Headers = Vec<(ciborium::Value, ciborium::Value)>;

/// An envelope of Notary in JSON; `change` gets the signed headers, `stamp` the signature.
pub fn jws(
    signer: &Party,
    chain: &[&[u8]],
    payload: &[u8],
    change: impl Fn(&mut serde_json::Map<String, serde_json::Value>),
    stamp: Option<Stamper<'_>>,
) -> Vec<u8> {
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine};
    let mut header = serde_json::json!({
        "alg": "ES256", "cty": PAYLOAD, "crit": [SCHEME], SCHEME: "notary.x509", TIME: "2026-06-01T12:00:00Z",
    });
    change(header.as_object_mut().unwrap());
    let encoded = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let (protected, payload) = (encoded(header.to_string().as_bytes()), encoded(payload));
    let signature = fixed(signer, format!("{protected}.{payload}").as_bytes());
    let chain: Vec<String> = chain.iter().map(|der| BASE64_STANDARD.encode(der)).collect();
    let mut header = serde_json::json!({"x5c": chain});
    if let Some(stamp) = stamp {
        header[TIMESTAMP] = BASE64_STANDARD.encode(stamp(&signature)).into();
    }
    let envelope = serde_json::json!({
        "payload": payload, "protected": protected, "header": header, "signature": encoded(&signature),
    });
    envelope.to_string().into_bytes()
}

/// An envelope of Notary in CBOR; `change` gets the signed and the other headers.
pub fn cose(
    signer: &Party,
    chain: &[&[u8]],
    payload: &[u8],
    change: impl Fn(&mut Headers, &mut Headers),
) -> Vec<u8> {
    use ciborium::Value as Cbor;
    let text = |text: &str| Cbor::Text(text.to_owned());
    let part = |part: &[u8]| Cbor::Bytes(part.to_vec());
    let bytes = |value: &Cbor| {
        let mut out = Vec::new();
        ciborium::into_writer(value, &mut out).unwrap();
        out
    };
    let mut signed = vec![
        (Cbor::from(1), Cbor::from(-7)),
        (Cbor::from(2), Cbor::Array(vec![text(SCHEME)])),
        (Cbor::from(3), text(PAYLOAD)),
        (text(SCHEME), text("notary.x509")),
        (text(TIME), Cbor::Tag(1, Box::new(Cbor::from(NOW)))),
    ];
    let mut other = vec![(Cbor::from(33), Cbor::Array(chain.iter().map(|der| part(der)).collect()))];
    change(&mut signed, &mut other);
    let signed = bytes(&Cbor::Map(signed));
    let message = Cbor::Array(vec![text("Signature1"), part(&signed), part(b""), part(payload)]);
    let signature = fixed(signer, &bytes(&message));
    let parts = vec![part(&signed), Cbor::Map(other), part(payload), part(&signature)];
    bytes(&Cbor::Tag(18, Box::new(Cbor::Array(parts))))
}
