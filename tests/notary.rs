//! Signatures of the Notary Project: keys, certificates and envelopes are generated when the tests
//! run. What the program says was compared with the reference program on the same kinds of
//! envelopes.
#![allow(clippy::expect_used)]

use crate::common::Files;
use crate::common::oci::Oci;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};

const JWS: &str = "application/jose+json";
const SCHEME: &str = "io.cncf.notary.signingScheme";
const TIME: &str = "io.cncf.notary.signingTime";
const EXPIRY: &str = "io.cncf.notary.expiry";

/// A party with a key and a certificate.
struct Party {
    params: CertificateParams,
    key: KeyPair,
    certificate: rcgen::Certificate,
}

fn params(name: &str, is_root: bool) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![match is_root {
        true => KeyUsagePurpose::KeyCertSign,
        false => KeyUsagePurpose::DigitalSignature,
    }];
    if is_root {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    params
}

fn root(name: &str) -> Party {
    let (params, key) = (params(name, true), KeyPair::generate().expect("a key"));
    let certificate = params.self_signed(&key).expect("a certificate");
    Party { params, key, certificate }
}

impl Party {
    fn issue(&self, params: CertificateParams) -> Party {
        let key = KeyPair::generate().expect("a key");
        let issuer = Issuer::from_params(&self.params, &self.key);
        let certificate = params.signed_by(&key, &issuer).expect("a certificate");
        Party { params, key, certificate }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &self.key.serialize_der(), &random);
        key.expect("a key").sign(&random, message).expect("a signature").as_ref().to_vec()
    }
}

/// An envelope about a manifest.
struct Envelope {
    claims: Value,
    payload: Value,
}

fn about(oci: &Oci, repository: &str, digest: &str) -> Envelope {
    let size = oci.size(repository, digest);
    Envelope {
        claims: json!({
            "alg": "ES256",
            "cty": "application/vnd.cncf.notary.payload.v1+json",
            "crit": [SCHEME],
            SCHEME: "notary.x509",
            TIME: "2026-01-01T00:00:00Z",
        }),
        payload: json!({"targetArtifact": {
            "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": size,
        }}),
    }
}

impl Envelope {
    fn by(&self, signer: &Party, chain: &[&Party]) -> Vec<u8> {
        let encoded = |v: &Value| BASE64_URL_SAFE_NO_PAD.encode(v.to_string());
        let (protected, payload) = (encoded(&self.claims), encoded(&self.payload));
        let signature = signer.sign(format!("{protected}.{payload}").as_bytes());
        let chain: Vec<String> = chain.iter().map(|p| BASE64_STANDARD.encode(p.certificate.der())).collect();
        json!({
            "payload": payload, "protected": protected, "header": {"x5c": chain},
            "signature": BASE64_URL_SAFE_NO_PAD.encode(signature),
        })
        .to_string()
        .into_bytes()
    }
}

/// An envelope in CBOR about a manifest.
fn cose(oci: &Oci, digest: &str, signer: &Party, chain: &[&Party], scheme: &str) -> Vec<u8> {
    use ciborium::Value as Cbor;
    let text = |text: &str| Cbor::Text(text.to_owned());
    let number = |n: i64| Cbor::Integer(n.into());
    let bytes = |value: &Cbor| {
        let mut out = Vec::new();
        ciborium::into_writer(value, &mut out).expect("CBOR");
        out
    };
    let protected = bytes(&Cbor::Map(vec![
        (number(1), number(-7)),
        (number(2), Cbor::Array(vec![text(SCHEME)])),
        (number(3), text("application/vnd.cncf.notary.payload.v1+json")),
        (text(SCHEME), text(scheme)),
        (text(TIME), Cbor::Tag(1, Box::new(number(1_767_225_600)))),
    ]));
    let payload = about(oci, "app", digest).payload.to_string().into_bytes();
    let part = |part: &[u8]| Cbor::Bytes(part.to_vec());
    let signed = Cbor::Array(vec![text("Signature1"), part(&protected), part(b""), part(&payload)]);
    let chain = chain.iter().map(|p| part(p.certificate.der())).collect();
    let other = Cbor::Map(vec![(number(33), Cbor::Array(chain))]);
    let signature = part(&signer.sign(&bytes(&signed)));
    bytes(&Cbor::Tag(18, Box::new(Cbor::Array(vec![part(&protected), other, part(&payload), signature]))))
}

fn policy(oci: &Oci, trusted: &Party, more: &str) -> String {
    let certificate = serde_json::to_string(&trusted.certificate.pem()).expect("text");
    let entries = format!("[{{entries: [{{certificates: {{cert: {certificate}}}}}]}}]");
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: false\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    verifyImages:\n    - type: Notary\n      imageReferences: ['{}/*']\n      failureAction: Enforce\n      mutateDigest: false\n      verifyDigest: false\n      required: false\n      attestors: {entries}\n{}",
        oci.host,
        more.replace("ENTRIES", &entries)
    )
}

/// Status and message of each result.
fn says(policy: &str, image: &str) -> String {
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, namespace: web}}\nspec: {{containers: [{{name: c, image: '{image}'}}]}}\n"
    );
    let args = ["apply", "p.yaml", "-r", "r.yaml", "--registry", "--detailed-results", "-p"];
    let ran = Files::new(&[("p.yaml", policy), ("r.yaml", &pod)]).run(&args);
    assert!(ran.ended_well(), "{}", ran.err);
    let at = ran.out.find("apiVersion: openreports").expect("a report");
    let report = ephor_document::yaml_value(&ran.out[at..]).expect("YAML");
    let results = report.get("results").and_then(ephor_value::Value::as_list).unwrap_or_default();
    let text = |r: &ephor_value::Value| format!("{}: {}", r.text_at(&["result"]), r.text_at(&["message"]));
    results.iter().map(text).collect::<Vec<_>>().join(" | ")
}

/// What is reported of an image whose only signature is this one, without the digests.
fn said_of(envelope: impl Fn(&Oci, &str) -> Vec<u8>, trusted: &Party) -> String {
    said_of_type(JWS, envelope, trusted)
}

fn said_of_type(kind: &str, envelope: impl Fn(&Oci, &str) -> Vec<u8>, trusted: &Party) -> String {
    let mut oci = Oci::start();
    let digest = oci.image("app", "1");
    let bytes = envelope(&oci, &digest);
    let own = oci.notarize("app", &digest, kind, &bytes);
    let text = says(&policy(&oci, trusted, ""), &oci.name("app", "1"));
    let before = format!(
        "fail: failed to verify image {0}/app:1: .attestors[0].entries[0]: failed to verify {0}/app@{digest}: signature verification failed\nfailed to verify signature with digest {own}, ",
        oci.host
    );
    text.strip_prefix(&before).unwrap_or(&text).to_owned()
}

#[test]
fn an_image_passes_when_a_trusted_certificate_issued_its_signer() {
    let mut oci = Oci::start();
    let (ca, stranger) = (root("ca"), root("stranger"));
    let leaf = ca.issue(params("leaf", false));
    let other = stranger.issue(params("other", false));
    for (tag, by_tag) in [("listed", false), ("tagged", true)] {
        let digest = oci.image("app", tag);
        let envelope = about(&oci, "app", &digest);
        // The first one is of a stranger.
        oci.notarize("app", &digest, JWS, &envelope.by(&other, &[&other, &stranger]));
        oci.notarize("app", &digest, JWS, &envelope.by(&leaf, &[&leaf, &ca]));
        if by_tag {
            oci.list_by_tag("app", &digest);
        }
        let image = oci.name("app", tag);
        assert_eq!(
            says(&policy(&oci, &ca, ""), &image),
            format!("pass: verified image signatures for {image}")
        );
        assert_eq!(
            says(&policy(&oci, &leaf, ""), &image),
            format!("pass: verified image signatures for {image}")
        );
    }
}

#[test]
fn an_image_without_signatures_fails() {
    let mut oci = Oci::start();
    let digest = oci.image("app", "1");
    let name = format!("{}/app@{digest}", oci.host);
    assert_eq!(
        says(&policy(&oci, &root("ca"), ""), &oci.name("app", "1")),
        format!(
            "fail: failed to verify image {}/app:1: .attestors[0].entries[0]: failed to verify {name}: no signature is associated with \"{name}\", make sure the artifact was signed successfully",
            oci.host
        )
    );
}

#[test]
fn signatures_of_others_and_about_others_do_not_count() {
    let (ca, stranger) = (root("ca"), root("stranger"));
    let leaf = ca.issue(params("leaf", false));
    let good = |oci: &Oci, digest: &str| about(oci, "app", digest).by(&leaf, &[&leaf, &ca]);
    assert_eq!(
        said_of(good, &stranger),
        "the signature's certificate chain does not contain any trusted certificate"
    );
    let wrong_key = |oci: &Oci, digest: &str| about(oci, "app", digest).by(&stranger, &[&leaf, &ca]);
    assert_eq!(said_of(wrong_key, &ca), "signature is invalid. Error: crypto/ecdsa: verification error");
    for (field, value) in
        [("digest", json!("sha256:00")), ("size", json!(1)), ("mediaType", json!("text/plain"))]
    {
        let other = |oci: &Oci, digest: &str| {
            let mut envelope = about(oci, "app", digest);
            envelope.payload["targetArtifact"][field] = value.clone();
            envelope.by(&leaf, &[&leaf, &ca])
        };
        assert_eq!(said_of(other, &ca), "content descriptor mismatch", "{field}");
    }
}

#[test]
fn claims_must_be_complete_critical_and_in_time() {
    let ca = root("ca");
    let leaf = ca.issue(params("leaf", false));
    let with = |claims: &[(&str, Value)]| {
        let changed = |oci: &Oci, digest: &str| {
            let mut envelope = about(oci, "app", digest);
            for (key, value) in claims {
                let map = envelope.claims.as_object_mut().expect("an object");
                match value {
                    Value::Null => map.remove(*key),
                    value => map.insert((*key).to_owned(), value.clone()),
                };
            }
            envelope.by(&leaf, &[&leaf, &ca])
        };
        said_of(changed, &ca)
    };
    let critical = ("crit", json!([SCHEME, EXPIRY]));
    assert_eq!(with(&[("crit", Value::Null)]), "missing \"crit\" header");
    assert_eq!(with(&[("crit", json!([SCHEME, "x"]))]), "\"x\" header is marked critical but not present");
    assert_eq!(with(&[(SCHEME, json!("other"))]), "unsupported SigningScheme: `other`");
    assert_eq!(with(&[(TIME, Value::Null)]), "signing-time not present");
    assert_eq!(with(&[("cty", json!("text/plain"))]), "payload content type \"text/plain\" not supported");
    assert_eq!(
        with(&[("alg", json!("none"))]),
        "signature is invalid. Error: signing method none is invalid"
    );
    assert_eq!(
        with(&[(EXPIRY, json!("2026-01-03T00:00:00Z"))]),
        "these required headers are not marked as critical: [io.cncf.notary.expiry]"
    );
    assert_eq!(
        with(&[(EXPIRY, json!("2026-01-03T00:00:00Z")), critical.clone()]),
        "digital signature has expired on \"Sat, 03 Jan 2026 00:00:00 +0000\""
    );
    assert_eq!(
        with(&[(EXPIRY, json!("2026-01-01T00:00:00Z")), critical.clone()]),
        "expiry cannot be equal or before the signing time"
    );
    assert!(with(&[(EXPIRY, json!("2999-01-01T00:00:00Z")), critical]).starts_with("pass: "));
}

#[test]
fn certificates_must_be_those_of_signers() {
    let ca = root("ca");
    let of = |change: fn(&mut CertificateParams)| {
        let mut params = params("x", false);
        change(&mut params);
        let leaf = ca.issue(params);
        said_of(|oci, digest| about(oci, "app", digest).by(&leaf, &[&leaf, &ca]), &ca)
    };
    let subject = "certificate-chain is invalid, certificate with subject \"CN=x\": ";
    assert_eq!(
        of(|p| p.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)),
        format!("{subject}if the basic constraints extension is present, the ca field must be set to false")
    );
    assert_eq!(of(|p| p.key_usages.clear()), format!("{subject}key usage extension must be present"));
    assert_eq!(
        of(|p| p.key_usages.push(KeyUsagePurpose::KeyEncipherment)),
        "certificate-chain is invalid, the certificate with subject \"CN=x\" is invalid. The key usage must be \"Digital Signature\" only, but found \"KeyEncipherment\""
    );
    assert_eq!(
        of(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]),
        format!("{subject}extended key usage must not contain ServerAuth eku")
    );
    assert_eq!(
        of(|p| p.not_after = rcgen::date_time_ymd(2026, 1, 2)),
        "verification time is after certificate \"CN=x\" validity period, it was expired at \"Fri, 02 Jan 2026 00:00:00 +0000\""
    );
    assert!(of(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning]).starts_with("pass: "));
}

#[test]
fn chains_must_lead_from_the_signer_to_a_root() {
    let (ca, stranger) = (root("ca"), root("stranger"));
    let leaf = ca.issue(params("leaf", false));
    let of = |chain: &[&Party]| said_of(|oci, digest| about(oci, "app", digest).by(&leaf, chain), &ca);
    assert_eq!(of(&[]), "certificate chain is not present");
    assert_eq!(
        of(&[&leaf]),
        "certificate-chain is invalid, invalid self-signed certificate. subject: \"CN=leaf\". Error: x509: ECDSA verification failure"
    );
    assert_eq!(
        of(&[&leaf, &stranger]),
        "certificate-chain is invalid, invalid certificates or certificate with subject \"CN=leaf\" is not issued by \"CN=stranger\". Error: x509: ECDSA verification failure"
    );
    assert_eq!(
        of(&[&leaf, &ca, &stranger]),
        "certificate-chain is invalid, intermediate certificate with subject \"CN=ca\" is self-signed. Certificate chain must not contain self-signed intermediate certificate"
    );
}

#[test]
fn bytes_that_are_no_envelope_are_reported() {
    let ca = root("ca");
    let of = |bytes: &'static [u8]| said_of(|_, _| bytes.to_vec(), &ca);
    let unread = "unable to parse the digital signature, error : ";
    assert_eq!(of(b""), format!("{unread}unexpected end of JSON input"));
    assert_eq!(of(b"hello"), format!("{unread}invalid character 'h' looking for beginning of value"));
    assert_eq!(
        of(b"[]"),
        format!("{unread}json: cannot unmarshal array into Go value of type jws.jwsEnvelope")
    );
    assert_eq!(of(b"{}"), "certificate chain is not present");
    assert_eq!(of(br#"{"header":{"x5c":["AAAA"]}}"#), "malformed leaf certificate");
}

#[test]
fn statements_count_when_they_are_signed_and_fit_the_conditions() {
    let ca = root("ca");
    let leaf = ca.issue(params("leaf", false));
    let of = |signed: bool, least: u32| {
        let mut oci = Oci::start();
        let digest = oci.image("app", "1");
        let own = about(&oci, "app", &digest).by(&leaf, &[&leaf, &ca]);
        oci.notarize("app", &digest, JWS, &own);
        let sbom = oci.refer("app", &digest, "sbom/example", r#"{"score":7}"#);
        if signed {
            let own = about(&oci, "app", &sbom).by(&leaf, &[&leaf, &ca]);
            oci.notarize("app", &sbom, JWS, &own);
        }
        let more = format!(
            "      attestations:\n      - type: sbom/example\n        attestors: ENTRIES\n        conditions: [{{all: [{{key: '{{{{ score }}}}', operator: GreaterThan, value: {least}, message: too low}}]}}]\n"
        );
        let text = says(&policy(&oci, &ca, &more), &oci.name("app", "1"));
        text.replace(&oci.host, "HOST").replace(&digest, "IMAGE").replace(&sbom, "SBOM")
    };
    assert_eq!(of(true, 5), "pass: verified image attestations for HOST/app@IMAGE");
    let failed = "fail: image attestations verification failed, verifiedCount: 0, requiredCount: 1, error: ";
    assert_eq!(
        of(true, 9),
        format!(
            "{failed}.attestations[0].attestors[0].entries[0]: attestation checks failed for HOST/app@IMAGE and predicate sbom/example: too low"
        )
    );
    assert_eq!(
        of(false, 5),
        format!(
            "{failed}no signature is associated with \"HOST/app@SBOM\", make sure the artifact was signed successfully"
        )
    );
}

#[test]
fn image_policies_count_the_attestors_of_notary() {
    let (ca, stranger) = (root("ca"), root("stranger"));
    let leaf = ca.issue(params("leaf", false));
    let of = |trusted: &Party, clock: &str| {
        let mut oci = Oci::start();
        let digest = oci.image("app", "1");
        let own = about(&oci, "app", &digest).by(&leaf, &[&leaf, &ca]);
        oci.notarize("app", &digest, JWS, &own);
        let text = |pem: &str| serde_json::to_string(pem).expect("text");
        let clock =
            if clock.is_empty() { String::new() } else { format!(", tsaCerts: {{value: {}}}", text(clock)) };
        let policy = format!(
            "apiVersion: policies.kyverno.io/v1\nkind: ImageValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  validationConfigurations: {{mutateDigest: false, verifyDigest: false, required: false}}\n  attestors: [{{name: team, notary: {{certs: {{value: {}}}{clock}}}}}]\n  validations: [{{expression: 'images.containers.all(i, verifyImageSignatures(i, [attestors.team]) == 1)', message: refused}}]\n",
            text(&trusted.certificate.pem())
        );
        says(&policy, &oci.name("app", "1"))
    };
    assert_eq!(of(&ca, ""), "pass: success");
    assert_eq!(of(&stranger, ""), "fail: refused");
    // Who wants timestamps gets none from this signature.
    assert_eq!(of(&ca, &stranger.certificate.pem()), "fail: refused");
}

#[test]
fn envelopes_may_be_cbor() {
    let (ca, stranger) = (root("ca"), root("stranger"));
    let leaf = ca.issue(params("leaf", false));
    let of = |signer: &Party, chain: &[&Party], scheme: &str| {
        said_of_type("application/cose", |oci, digest| cose(oci, digest, signer, chain, scheme), &ca)
    };
    assert!(of(&leaf, &[&leaf, &ca], "notary.x509").starts_with("pass: "));
    assert_eq!(
        of(&stranger, &[&leaf, &ca], "notary.x509"),
        "signature is invalid. Error: verification error"
    );
    assert_eq!(of(&leaf, &[], "notary.x509"), "certificate chain is not present");
    assert_eq!(of(&leaf, &[&leaf, &ca], "other"), "unsupported signingScheme: other");
    let cut = |oci: &Oci, digest: &str| {
        let mut bytes = cose(oci, digest, &leaf, &[&leaf, &ca], "notary.x509");
        bytes.truncate(bytes.len() - 3);
        bytes
    };
    assert_eq!(
        said_of_type("application/cose", cut, &ca),
        "unable to parse the digital signature, error : unexpected EOF"
    );
}
