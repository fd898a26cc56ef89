#![allow(clippy::unwrap_used)]

use ciborium::Value as Cbor;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, NameConstraints,
    SanType, date_time_ymd,
};

use super::{Store, cose, jws, whole};
use crate::fixtures::{
    self as make, Headers, Part, Party, Stamp, Stamper, ca, flips, root, signer, tsa, unknown, with,
};
use ephor_external::registry::Manifest;
use ephor_x509::der::element;
use ephor_x509::pem_blocks;
use sha2::{Digest, Sha256};

const JWS: &str = "application/jose+json";
const COSE: &str = "application/cose";
const KIND: &str = "application/vnd.oci.image.manifest.v1+json";

/// The manifest that the envelopes are about.
fn manifest() -> Manifest {
    Manifest { digest: "sha256:11".into(), media_type: KIND.into(), bytes: vec![b' '; 7] }
}

const PAYLOAD: &[u8] =
    br#"{"targetArtifact":{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:11","size":7}}"#;

/// A signer below an intermediate of a root.
struct Fixture {
    root: Party,
    middle: Party,
    leaf: Party,
}

fn fixture() -> Fixture {
    changed(|_| (), |_| (), |_| ())
}

fn changed(
    top: impl Fn(&mut CertificateParams),
    intermediate: impl Fn(&mut CertificateParams),
    leaf: impl Fn(&mut CertificateParams),
) -> Fixture {
    let root = root(with(ca("root"), top));
    let middle = root.issue(with(ca("middle"), intermediate));
    let leaf = middle.issue(with(signer("leaf"), leaf));
    Fixture { root, middle, leaf }
}

impl Fixture {
    fn chain(&self) -> [&[u8]; 3] {
        [&self.leaf.der, &self.middle.der, &self.root.der]
    }

    fn jws(&self) -> Vec<u8> {
        make::jws(&self.leaf, &self.chain(), PAYLOAD, |_| (), None)
    }

    fn cose(&self) -> Vec<u8> {
        make::cose(&self.leaf, &self.chain(), PAYLOAD, |_, _| ())
    }

    fn says(&self, kind: &str, envelope: &[u8]) -> Result<(), String> {
        Store::read(&self.root.pem()).unwrap().fits(envelope, kind, &manifest()).map_err(|e| e.to_string())
    }

    /// The same for both kinds of envelopes.
    fn verdict(&self) -> Result<(), String> {
        let both = [self.says(JWS, &self.jws()), self.says(COSE, &self.cose())];
        assert_eq!(both[0], both[1]);
        both[0].clone()
    }
}

#[test]
fn a_chain_over_an_intermediate_to_a_trusted_root_counts() {
    assert_eq!(fixture().verdict(), Ok(()));
}

#[test]
fn all_members_of_a_chain_are_held_to_the_rules_of_paths() {
    let none = |_: &mut CertificateParams| ();
    let refused = |fixture: Fixture, why: &str| {
        let found = fixture.verdict().unwrap_err();
        assert!(found.contains(why), "{found}");
    };
    let critical = |p: &mut CertificateParams| p.custom_extensions.push(unknown(true));
    refused(changed(critical, none, none), "unhandled critical extension");
    refused(changed(none, critical, none), "unhandled critical extension");
    refused(changed(none, none, critical), "unhandled critical extension");
    let server =
        |p: &mut CertificateParams| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    refused(changed(server, none, none), "incompatible key usage");
    refused(changed(none, server, none), "incompatible key usage");
    refused(changed(none, none, server), "must not contain ServerAuth eku");
    let timestamps =
        |p: &mut CertificateParams| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::TimeStamping];
    refused(changed(none, none, timestamps), "must not contain Timestamping eku");
    let short = |p: &mut CertificateParams| p.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    refused(changed(short, none, none), "path length");
    assert_eq!(changed(none, short, none).verdict(), Ok(()));
    let within = |p: &mut CertificateParams| {
        let permitted_subtrees = vec![GeneralSubtree::DnsName("example.com".into())];
        p.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() });
    };
    let named = |name: &'static str| {
        move |p: &mut CertificateParams| {
            p.subject_alt_names = vec![SanType::DnsName(name.try_into().unwrap())]
        }
    };
    assert_eq!(changed(none, within, named("a.example.com")).verdict(), Ok(()));
    refused(changed(none, within, named("a.example.org")), "not authorized to sign for this name");
    refused(changed(within, none, named("a.example.org")), "not authorized to sign for this name");
    let gone = |p: &mut CertificateParams| p.not_after = date_time_ymd(2026, 2, 1);
    refused(changed(gone, none, none), "validity period");
    refused(changed(none, gone, none), "validity period");
    refused(changed(none, none, gone), "validity period");
}

#[test]
fn roles_are_not_swapped() {
    let Fixture { root, middle, leaf } = fixture();
    let by = |signer: &Party, chain: &[&[u8]]| {
        let bytes = make::jws(signer, chain, PAYLOAD, |_| (), None);
        Store::read(&root.pem()).unwrap().fits(&bytes, JWS, &manifest()).map_err(|e| e.to_string())
    };
    assert_eq!(by(&leaf, &[&leaf.der, &middle.der, &root.der]), Ok(()));
    assert!(by(&middle, &[&middle.der, &root.der]).unwrap_err().contains("ca field must be set to false"));
    assert!(by(&root, &[&root.der]).unwrap_err().contains("ca field must be set to false"));
    let clock = middle.issue(tsa("tsa"));
    assert!(by(&clock, &[&clock.der, &middle.der, &root.der]).unwrap_err().contains("Timestamping eku"));
    let below = leaf.issue(signer("below"));
    assert!(by(&below, &[&below.der, &leaf.der, &middle.der, &root.der]).is_err());
    // The signer is the first, in order up to the root.
    assert!(by(&leaf, &[&middle.der, &leaf.der, &root.der]).is_err());
    assert!(by(&leaf, &[&leaf.der, &root.der]).is_err());
}

#[test]
fn chains_with_sha_1_and_short_keys_are_refused() {
    let of = |text: &str| {
        let ders = pem_blocks(text, "CERTIFICATE");
        let links: Vec<_> =
            [&ders[0], &ders[2]].iter().map(|der| super::Link::of_der(der).unwrap()).collect();
        super::chain::fits(&links, super::Leaf::Signer)
            .and_then(|()| super::chain::verify(&links, &ephor_value::time::Time::from_unix(2_000_000_000)))
    };
    assert_eq!(of(include_str!("../samples/p521.pem")), Ok(()));
    assert_eq!(of(include_str!("../samples/rsa2048.pem")), Ok(()));
    assert!(of(include_str!("../samples/sha1.pem")).is_err());
    assert!(
        of(include_str!("../samples/rsa1024.pem"))
            .unwrap_err()
            .to_string()
            .contains("1024 bits is not supported")
    );
}

/// What of an envelope counts: its certificates, payload, signature and claims.
fn counts(kind: &str, bytes: &[u8]) -> (Vec<Vec<u8>>, Vec<u8>, Vec<u8>, i128) {
    let envelope = if kind == JWS { jws::read(bytes).unwrap() } else { cose::read(bytes).unwrap() };
    whole(&envelope).unwrap();
    let signed = envelope.claims.signed.map_or(0, |at| at.unix_nanos());
    (envelope.ders, envelope.payload, envelope.signature, signed)
}

#[test]
fn no_bit_of_an_envelope_may_change_what_is_signed() {
    let fixture = fixture();
    for (kind, good) in [(JWS, fixture.jws()), (COSE, fixture.cose())] {
        assert_eq!(fixture.says(kind, &good), Ok(()));
        let whole = counts(kind, &good);
        let mut passed = Vec::new();
        for (at, bit, bytes) in flips(&good) {
            if fixture.says(kind, &bytes).is_ok() {
                // The last characters of base64 have bits that say nothing, in certificates only.
                assert_eq!(counts(kind, &bytes), whole, "{kind}, byte {at}, bit {bit}");
                passed.push(at);
            }
        }
        assert!(passed.len() < 20 && (kind == JWS || passed.is_empty()), "{kind}: {passed:?}");
        for cut in 0..good.len() {
            assert!(fixture.says(kind, &good[..cut]).is_err(), "{kind}, {cut} bytes");
        }
        assert!(fixture.says(kind, &[&good[..], b"0"].concat()).is_err());
    }
}

#[test]
fn critical_headers_are_understood() {
    let fixture = fixture();
    let own = |name: &'static str| {
        let json = make::jws(
            &fixture.leaf,
            &fixture.chain(),
            PAYLOAD,
            |header| {
                header.insert(name.into(), "x".into());
                header["crit"].as_array_mut().unwrap().push(name.into());
            },
            None,
        );
        let cbor = make::cose(&fixture.leaf, &fixture.chain(), PAYLOAD, |signed, _| {
            signed.push((Cbor::from(name), Cbor::from("x")));
            signed[1].1.as_array_mut().unwrap().push(Cbor::from(name));
        });
        [fixture.says(JWS, &json), fixture.says(COSE, &cbor)]
    };
    for found in own("example.com/must") {
        assert_eq!(
            found,
            Err("\"example.com/must\" header is marked critical but not understood".to_owned())
        );
    }
    assert!(own("io.cncf.notary.verificationPlugin").iter().all(Result::is_err));
    // Headers that are never critical, and one that is so twice.
    for name in ["alg", "cty", "io.cncf.notary.signingTime", "io.cncf.notary.signingScheme"] {
        let json = make::jws(
            &fixture.leaf,
            &fixture.chain(),
            PAYLOAD,
            |header| header["crit"].as_array_mut().unwrap().push(name.into()),
            None,
        );
        let text = format!("\"{name}\" header is marked critical but not present");
        assert_eq!(fixture.says(JWS, &json), Err(text));
    }
}

#[test]
fn labels_of_cbor_occur_once_and_nothing_follows() {
    let fixture = fixture();
    let of = |change: &dyn Fn(&mut Headers, &mut Headers)| {
        fixture.says(COSE, &make::cose(&fixture.leaf, &fixture.chain(), PAYLOAD, change))
    };
    let chain = || Cbor::Array(vec![Cbor::Bytes(fixture.root.der.clone())]);
    assert_eq!(of(&|_, other| other.push((Cbor::from(4), Cbor::Bytes(vec![1])))), Ok(()));
    assert!(
        of(&|_, other| other.push((Cbor::from(33), chain())))
            .unwrap_err()
            .ends_with("unprotected header: cbor: found duplicate map key \"33\" at map element index 1")
    );
    assert!(
        of(&|signed, _| signed.push((Cbor::from(3), Cbor::from("x"))))
            .unwrap_err()
            .ends_with("protected header: cbor: found duplicate map key \"3\" at map element index 5")
    );
    assert!(of(&|_, other| other[0].1.as_array_mut().unwrap().push(Cbor::Null)).is_err());
}

#[test]
fn a_timestamp_covers_the_signature_and_the_validity_of_its_signer() {
    let clock_root = root(ca("tsa root"));
    let clock = clock_root.issue(tsa("tsa"));
    let of = |leaf: fn(&mut CertificateParams), stamped: bool| {
        let fixture = changed(|_| (), |_| (), leaf);
        let stamp = |signature: &[u8]| {
            let hashed = element(4, &Sha256::digest(signature));
            Stamp::edited(&clock, move |part, body| match part {
                // The hash is the end of the imprint.
                Part::Imprint => [&body[..body.len() - hashed.len()], &hashed].concat(),
                _ => body,
            })
            .token()
        };
        let other = |_: &[u8]| Stamp::by(&clock).token();
        let stamp: Stamper<'_> = if stamped { &stamp } else { &other };
        let bytes = make::jws(&fixture.leaf, &fixture.chain(), PAYLOAD, |_| (), Some(stamp));
        let store = Store::read(&fixture.root.pem()).unwrap().with_tsa(&clock_root.pem()).unwrap();
        store.fits(&bytes, JWS, &manifest()).map_err(|e| e.to_string())
    };
    assert_eq!(of(|_| (), true), Ok(()));
    assert_eq!(of(|_| (), false), Err("hashed messages don't match".into()));
    // Valid then, expired now; and the other way round.
    assert_eq!(of(|p| p.not_after = date_time_ymd(2026, 6, 2), true), Ok(()));
    assert!(
        of(|p| p.not_after = date_time_ymd(2026, 5, 1), true).unwrap_err().contains("timestamp is after")
    );
    assert!(
        of(|p| p.not_before = date_time_ymd(2026, 6, 2), true).unwrap_err().contains("timestamp is before")
    );
}
