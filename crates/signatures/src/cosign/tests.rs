#![allow(clippy::unwrap_used)]

use base64::prelude::{BASE64_STANDARD, Engine};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, SanType};
use sha2::{Digest, Sha256};

use super::{CheckOptions, Identity, NO_ROOT, RequiredSigner, one, statement};
use crate::certificates::Certificate;
use crate::fixtures::{
    Log, Part, Party, Stamp, ca, extension, flips, list, pem, root, signer, tsa, with, with_scts,
};
use crate::log::{LogKey, SignedContent};
use crate::public_key::{Hash, PublicKey};
use crate::timestamp::TsaTrust;
use ephor_document::decode_json;
use ephor_value::Value;
use ephor_x509::der::element;

const DIGEST: &str = "sha256:11";

/// A DSSE envelope about the digest, in JSON.
fn envelope(signer: &Party) -> Vec<u8> {
    let payload = r#"{"subject":[{"name":"a","digest":{"sha256":"11"}}],"predicateType":"t"}"#;
    let kind = "application/vnd.in-toto+json";
    let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
    serde_json::json!({
        "payloadType": kind, "payload": BASE64_STANDARD.encode(payload),
        "signatures": [{"sig": BASE64_STANDARD.encode(signer.sign(signed.as_bytes()))}],
    })
    .to_string()
    .into_bytes()
}

#[test]
fn no_bit_of_an_envelope_may_change_its_statement() {
    let party = root(signer("a"));
    let key = PublicKey::of_der(&party.key_info()).unwrap();
    let read = |bytes: &[u8]| {
        let value = crate::content::json(bytes)?;
        statement(&value, &key, Hash::Sha256, DIGEST)
    };
    let good = envelope(&party);
    let whole = read(&good).unwrap();
    let mut passed = Vec::new();
    for (at, bit, bytes) in flips(&good) {
        if let Ok(changed) = read(&bytes) {
            // Bits of the last character of base64 that say nothing.
            assert!(changed.json_eq(&whole), "byte {at}, bit {bit}");
            passed.push(at);
        }
    }
    assert!(passed.len() < 10, "{passed:?}");
    for cut in 0..good.len() {
        assert!(read(&good[..cut]).is_err(), "{cut} bytes");
    }
    let other = PublicKey::of_der(&root(signer("b")).key_info()).unwrap();
    let value = decode_json(&String::from_utf8_lossy(&good)).unwrap();
    assert!(statement(&value, &other, Hash::Sha256, DIGEST).is_err());
    assert!(statement(&value, &key, Hash::Sha256, "sha256:22").is_err());
}

/// A layer with a signature of a payload by the owner of a certificate, and with more annotations.
fn layer(signer: &Party, chain: &[&Party], more: &[(&str, String)]) -> Value {
    let chain: String = chain.iter().map(|party| pem(&party.der)).collect();
    let mut annotations = serde_json::json!({
        "dev.sigstore.cosign/certificate": signer.pem(), "dev.sigstore.cosign/chain": chain,
    });
    more.iter().for_each(|(key, text)| annotations[*key] = text.clone().into());
    decode_json(&serde_json::json!({"annotations": annotations}).to_string()).unwrap()
}

fn options(root: &Party) -> CheckOptions {
    CheckOptions {
        by: RequiredSigner::Roots(Certificate::all(&root.pem()).unwrap()),
        hash: Hash::Sha256,
        logs: None,
        tsa: None,
        ct_logs: None,
        repository: None,
        tag_prefix: String::new(),
    }
}

/// Whether a signature by a certificate counts.
fn says(layer: &Value, options: &CheckOptions, signature: &[u8]) -> Result<(), String> {
    let mark = BASE64_STANDARD.encode(signature);
    let about = SignedContent { payload: b"{}", signature: &mark };
    let read = |key: &PublicKey| {
        key.verify_hash(Hash::Sha256, b"{}", signature)?;
        Ok(Value::Null)
    };
    one(layer, options, &about, read).map(|_| ()).map_err(|refused| refused.text)
}

#[test]
fn certificates_that_come_with_signatures_are_those_of_code_signers() {
    let top = root(ca("root"));
    let of = |params: CertificateParams, middle: CertificateParams| {
        let middle = top.issue(middle);
        let leaf = middle.issue(params);
        says(&layer(&leaf, &[&middle], &[]), &options(&top), &leaf.sign(b"{}"))
    };
    let failed = |why: &str| Err(format!("cert verification failed: {why}. {NO_ROOT}"));
    const USAGE: &str = "x509: certificate specifies an incompatible key usage";
    assert_eq!(of(signer("leaf"), ca("middle")), Ok(()));
    assert_eq!(of(tsa("leaf"), ca("middle")), failed(USAGE));
    let usage =
        |p: &mut CertificateParams| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::TimeStamping];
    assert_eq!(of(signer("leaf"), with(ca("middle"), usage)), failed(USAGE));
    let is_ca = |p: &mut CertificateParams| p.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    assert!(of(with(signer("leaf"), is_ca), ca("middle")).is_err());
    assert!(of(signer("leaf"), signer("middle")).is_err());
    // The signature of another key.
    let leaf = top.issue(signer("leaf"));
    assert!(says(&layer(&leaf, &[], &[]), &options(&top), &top.sign(b"{}")).is_err());
}

#[test]
fn the_sct_is_about_the_issuer_of_the_path() {
    let (top, log) = (root(ca("root")), Log::new());
    let issuer = top.issue(ca("issuer"));
    let stranger = root(ca("stranger"));
    let options = CheckOptions { ct_logs: LogKey::of_der(&log.der()).map(|log| vec![log]), ..options(&top) };
    let by = |issuer_key: &[u8]| {
        let leaf = with_scts(&issuer, signer("leaf"), |plain| {
            list(&[log.sct(plain, issuer_key, 1_780_315_200_000)])
        });
        says(&layer(&leaf, &[&issuer], &[]), &options, &leaf.sign(b"{}"))
    };
    assert_eq!(by(&issuer.key_info()), Ok(()));
    assert!(by(&stranger.key_info()).unwrap_err().contains("failed to verify ECDSA signature"));
    let bare = issuer.issue(signer("leaf"));
    let found = says(&layer(&bare, &[&issuer], &[]), &options, &bare.sign(b"{}"));
    assert!(found.unwrap_err().contains("does not include required embedded SCT"));
}

#[test]
fn a_timestamp_says_when_a_certificate_signed() {
    let (top, clocks) = (root(ca("root")), root(ca("tsa root")));
    let clock = clocks.issue(tsa("tsa"));
    let options = CheckOptions { tsa: Some(TsaTrust::read(&clocks.pem()).unwrap()), ..options(&top) };
    let of = |change: fn(&mut CertificateParams), about_it: bool| {
        let leaf = top.issue(with(signer("leaf"), change));
        let signature = leaf.sign(b"{}");
        let hashed = element(4, &Sha256::digest(if about_it { &signature } else { &b"other"[..] }));
        let response = Stamp::edited(&clock, |part, body| match part {
            Part::Imprint => [&body[..body.len() - hashed.len()], &hashed].concat(),
            _ => body,
        });
        let bundle =
            serde_json::json!({"SignedRFC3161Timestamp": BASE64_STANDARD.encode(response.response())});
        let more = [("dev.sigstore.cosign/rfc3161timestamp", bundle.to_string())];
        says(&layer(&leaf, &[], &more), &options, &signature)
    };
    assert_eq!(of(|_| (), true), Ok(()));
    assert!(of(|_| (), false).unwrap_err().contains("hashed messages don't match"));
    // Expired now, valid then.
    assert_eq!(of(|p| p.not_after = rcgen::date_time_ymd(2026, 6, 2), true), Ok(()));
    assert!(
        of(|p| p.not_after = rcgen::date_time_ymd(2026, 5, 1), true).unwrap_err().contains("expired before")
    );
    assert!(
        of(|p| p.not_before = rcgen::date_time_ymd(2026, 6, 2), true).unwrap_err().contains("issued after")
    );
}

#[test]
fn a_certificate_names_its_identity() {
    let subject = |wanted: &str, params: CertificateParams| {
        let identity = Identity { subject: wanted.into(), ..Identity::default() };
        identity.fits(&Certificate::of_der(&root(params).der).unwrap())
    };
    let mail = |p: &mut CertificateParams| {
        p.subject_alt_names = vec![SanType::Rfc822Name("dev@example.com".try_into().unwrap())];
    };
    assert_eq!(subject("dev@example.com", with(signer("a"), mail)), Ok(()));
    assert!(subject("ops@example.com", with(signer("a"), mail)).is_err());
    let address = |p: &mut CertificateParams| {
        p.subject_alt_names = vec![SanType::IpAddress("2001:db8::1".parse().unwrap())];
    };
    assert_eq!(subject("2001:db8::1", with(signer("a"), address)), Ok(()));
    assert!(subject("dev@example.com", with(signer("a"), address)).is_err());
    // One without names has an empty identity.
    assert!(subject("dev@example.com", signer("a")).is_err());
    assert_eq!(subject("*", signer("a")), Ok(()));
    // The name of a user, as Fulcio writes it.
    let name = element(0xa0, &element(0x0c, b"dev!example.com"));
    let other = [&[6, 10, 0x2b, 6, 1, 4, 1, 0x83, 0xbf, 0x30, 1, 7][..], &name].concat();
    let user = |p: &mut CertificateParams| {
        p.custom_extensions.push(extension(&[2, 5, 29, 17], &element(0x30, &element(0xa0, &other)), false));
    };
    assert_eq!(subject("dev!example.com", with(signer("a"), user)), Ok(()));
    assert!(subject("ops!example.com", with(signer("a"), user)).is_err());
}
