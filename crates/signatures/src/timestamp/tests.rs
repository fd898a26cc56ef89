#![allow(clippy::unwrap_used)]

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, date_time_ymd};
use sha2::{Digest, Sha256};

use super::{TsaRoots, TsaTrust};
use crate::fixtures::{
    MESSAGE, NOW, Part, Party, Stamp, ca, extended_key_usage, flips, issuer_and_serial, pem, root, signer,
    tsa, unknown, with,
};
use ephor_value::time::Time;
use ephor_x509::der::{OID, element};
use ephor_x509::pem_blocks;

const SAMPLES: [&str; 4] = [
    include_str!("../samples/rsa2048.pem"),
    include_str!("../samples/p521.pem"),
    include_str!("../samples/sigstore.pem"),
    include_str!("../samples/rsa1024.pem"),
];

/// An authority below a root.
struct Fixture {
    root: Party,
    tsa: Party,
}

fn fixture() -> Fixture {
    changed(|_| ())
}

/// The authority's certificate is changed.
fn changed(change: impl Fn(&mut CertificateParams)) -> Fixture {
    let root = root(ca("tsa root"));
    let tsa = root.issue(with(tsa("tsa"), change));
    Fixture { root, tsa }
}

impl Fixture {
    /// What `cosign` finds in a response when the root is trusted.
    fn says(&self, response: &[u8]) -> Result<i64, String> {
        moment(&self.root.pem(), response)
    }

    /// The same of a response that is built in another way.
    fn edited(&self, edit: impl Fn(Part, Vec<u8>) -> Vec<u8>) -> Result<i64, String> {
        self.says(&Stamp::edited(&self.tsa, edit).response())
    }

    /// What Notary finds in a token.
    fn notary(&self, edit: impl Fn(Part, Vec<u8>) -> Vec<u8>) -> Result<i64, String> {
        notary(&self.root.pem(), &Stamp::edited(&self.tsa, edit).token())
    }
}

fn moment(chain: &str, response: &[u8]) -> Result<i64, String> {
    let trust = TsaTrust::read(chain).map_err(|e| e.to_string())?;
    trust.moment(response, MESSAGE).map_err(|e| e.to_string())
}

fn notary(roots: &str, token: &[u8]) -> Result<i64, String> {
    let roots = TsaRoots::read(roots).map_err(|e| e.to_string())?;
    let [from, until] = roots.moments(token, MESSAGE).map_err(|e| e.to_string())?;
    assert_eq!(from.unix_nanos(), until.unix_nanos());
    i64::try_from(from.unix_nanos() / 1_000_000_000).map_err(|e| e.to_string())
}

fn good() -> Result<i64, String> {
    Ok(NOW)
}

/// The certificates of a sample and its responses.
fn sample(text: &str, kind: &str) -> (String, Vec<u8>) {
    let certificates = pem_blocks(text, "CERTIFICATE");
    // Samples have other certificates before the authority and its root.
    let chain: Vec<String> = certificates.iter().rev().take(2).map(|der| pem(der)).collect();
    (chain.concat(), pem_blocks(text, kind)[0].clone())
}

#[test]
fn a_timestamp_has_the_moment_of_its_signature() {
    let Fixture { root, tsa } = &fixture();
    let response = Stamp::by(tsa).response();
    assert_eq!(moment(&format!("{}{}", tsa.pem(), root.pem()), &response), good());
    assert_eq!(moment(&root.pem(), &response), good());
    assert_eq!(notary(&root.pem(), &Stamp::by(tsa).token()), good());
    // The trusted chain has the certificate that the token lacks.
    let bare = Stamp { certificates: Vec::new(), ..Stamp::by(tsa) };
    assert_eq!(moment(&format!("{}{}", tsa.pem(), root.pem()), &bare.response()), good());
    assert!(moment(&root.pem(), &bare.response()).unwrap_err().ends_with("No certificate for signer"));
    assert!(notary(&root.pem(), &bare.token()).is_err());
}

#[test]
fn timestamps_of_other_programs_are_read() {
    let of = |at: usize, kind: &str| {
        let (chain, response) = sample(SAMPLES[at], kind);
        moment(&chain, &response)
    };
    // OpenSSL with RSA and P-521; the library of sigstore's authority.
    assert!(of(0, "TIMESTAMP").is_ok_and(|at| at > NOW));
    assert!(of(1, "TIMESTAMP").is_ok_and(|at| at > NOW));
    assert_eq!(of(2, "TIMESTAMP"), good());
    // RSA with 1,024 bits, hashes of SHA-1.
    assert!(of(3, "TIMESTAMP").unwrap_err().contains("rsa key size 1024 bits is not supported"));
    assert!(of(0, "SHA1 IMPRINT").unwrap_err().starts_with("weak hash algorithm"));
    assert!(of(0, "SHA1 DIGEST").unwrap_err().contains("asn1: structure error"));
}

#[test]
fn intermediates_come_from_the_token_or_the_trusted_chain() {
    let top = root(ca("root"));
    let middle = top.issue(with(ca("middle"), |p| {
        p.extended_key_usages = vec![ExtendedKeyUsagePurpose::TimeStamping];
    }));
    let tsa = middle.issue(tsa("tsa"));
    let response = Stamp::by(&tsa).response();
    assert!(moment(&top.pem(), &response).unwrap_err().ends_with("certificate signed by unknown authority"));
    assert_eq!(moment(&format!("{}{}", middle.pem(), top.pem()), &response), good());
    let whole = Stamp { certificates: vec![&tsa.der, &middle.der], ..Stamp::by(&tsa) };
    assert_eq!(moment(&top.pem(), &whole.response()), good());
    assert_eq!(notary(&top.pem(), &whole.token()), good());
}

#[test]
fn a_timestamp_about_something_else_or_of_another_authority_does_not_count() {
    let Fixture { root: own, tsa } = &fixture();
    let response = Stamp::by(tsa).response();
    let trust = TsaTrust::read(&own.pem()).unwrap();
    assert_eq!(trust.moment(&response, b"another"), Err(super::TimestampError::OtherMessage));
    assert!(
        moment(&root(ca("tsa root")).pem(), &response).unwrap_err().contains("signed by unknown authority")
    );
    assert_eq!(
        moment(&tsa.pem(), &response),
        Err("no TSA root certificate(s) provided to verify timestamp".into())
    );
    // Another certificate of the same authority is not the one that is trusted.
    let other = own.issue(self::tsa("tsa"));
    assert_eq!(
        moment(&format!("{}{}", other.pem(), own.pem()), &response),
        Err("certificate embedded in the TSR does not match the provided TSA certificate".into())
    );
    assert_eq!(
        moment("junk", b""),
        Err("error splitting tsa certificates: error during PEM decoding".into())
    );
    assert_eq!(
        moment(&format!("{}{}", tsa.pem(), tsa.pem()), b""),
        Err("certificate chain must contain at most one TSA certificate".into())
    );
    let short = |_: Part, body: Vec<u8>| body;
    assert!(notary(&root(ca("tsa root")).pem(), &Stamp::edited(tsa, short).token()).is_err());
}

#[test]
fn no_bit_of_a_timestamp_may_change() {
    let fixture = fixture();
    for (chain, root) in
        [(fixture.root.pem(), true), (format!("{}{}", fixture.tsa.pem(), fixture.root.pem()), false)]
    {
        let response = Stamp::by(&fixture.tsa).response();
        assert_eq!(moment(&chain, &response), good());
        for (at, bit, bytes) in flips(&response) {
            assert!(moment(&chain, &bytes).is_err(), "byte {at}, bit {bit}, root only {root}");
        }
        for cut in 0..response.len() {
            assert!(moment(&chain, &response[..cut]).is_err(), "{cut} bytes");
        }
    }
    let token = Stamp::by(&fixture.tsa).token();
    for (at, bit, bytes) in flips(&token) {
        assert!(notary(&fixture.root.pem(), &bytes).is_err(), "byte {at}, bit {bit}");
    }
}

#[test]
fn nothing_is_left_over_anywhere() {
    use Part::*;
    let fixture = fixture();
    let all = [
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
    ];
    for part in all {
        let more = |own, body: Vec<u8>| if own == part { [&body[..], &[5, 0]].concat() } else { body };
        assert!(fixture.edited(more).is_err(), "{part:?}");
        if !matches!(part, Status | Response) {
            assert!(fixture.notary(more).is_err(), "{part:?}");
        }
    }
    let longer = [&Stamp::by(&fixture.tsa).response()[..], &[5, 0]].concat();
    assert!(fixture.says(&longer).is_err());
    let token = [&Stamp::by(&fixture.tsa).token()[..], &[5, 0]].concat();
    assert!(notary(&fixture.root.pem(), &token).is_err());
    let certificate = [&fixture.tsa.der[..], &[5, 0]].concat();
    let stamp = Stamp { certificates: vec![&certificate], ..Stamp::by(&fixture.tsa) };
    assert!(fixture.says(&stamp.response()).is_err());
}

#[test]
fn a_token_has_one_signer() {
    let Fixture { root, tsa } = &fixture();
    let of = |signers: Vec<&Party>, change: usize| {
        let certificates = signers.iter().map(|signer| &*signer.der).collect();
        let edit = |part, mut body: Vec<u8>| {
            // The signature is at the end of each.
            if part == Part::Signers && change > 0 {
                let first = ephor_x509::der::Reader(&body).any().unwrap().raw.len();
                let end = if change == 1 { first } else { body.len() };
                body[end - 1] ^= 1;
            }
            body
        };
        let stamp = Stamp { signers, certificates, edit: Box::new(edit) };
        let (one, two) = (moment(&root.pem(), &stamp.response()), notary(&root.pem(), &stamp.token()));
        assert_eq!(one.is_ok(), two.is_ok());
        one
    };
    let second = root.issue(self::tsa("second"));
    let code = root.issue(signer("code"));
    let stranger = self::root(ca("stranger")).issue(self::tsa("stranger"));
    assert_eq!(of(vec![tsa], 0), good());
    assert!(of(vec![tsa], 1).unwrap_err().contains("ECDSA verification failure"));
    // Another one, whether it is good, bad, of another kind or unknown.
    for other in [&second, &code, &stranger, tsa] {
        for change in 0..3 {
            assert!(of(vec![tsa, other], change).is_err());
            assert!(of(vec![other, tsa], change).is_err());
        }
    }
    assert!(of(Vec::new(), 0).is_err());
}

#[test]
fn what_is_signed_is_the_content_of_this_type_and_names_the_certificate() {
    let fixture = fixture();
    let refused = |edit: &dyn Fn(Part, Vec<u8>) -> Vec<u8>, why: &str| {
        let found = fixture.edited(edit).unwrap_err();
        assert!(found.contains(why), "{found}");
        assert!(fixture.notary(edit).is_err(), "{why}");
    };
    let data = element(OID, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 1]);
    let own_type = element(OID, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 0x10, 1, 4]);
    let replaced = |body: Vec<u8>| [&data[..], &body[own_type.len()..]].concat();
    refused(&|part, body| if part == Part::Content { replaced(body) } else { body }, "structure error");
    refused(&|part, body| if part == Part::ContentType { data.clone() } else { body }, "content type");
    let other = element(4, &Sha256::digest(b"other"));
    refused(
        &|part, body| if part == Part::MessageDigest { other.clone() } else { body },
        "Message digest mismatch",
    );
    let old = element(0x17, b"250601120000Z");
    refused(
        &|part, body| if part == Part::SigningTime { old.clone() } else { body },
        "outside of certificate validity",
    );
    let names = |der: &[u8], more: &[u8]| {
        let id = element(0x30, &[&element(4, &Sha256::digest(der))[..], more].concat());
        element(0x30, &element(0x30, &id))
    };
    let stranger = names(&fixture.root.der, &[]);
    refused(
        &|part, body| if part == Part::SigningCertificate { stranger.clone() } else { body },
        "does not name its signer's certificate",
    );
    // With issuer and serial number these must be right too.
    let with_serial = |serial: Option<&[u8]>| {
        let (issuer, own) = issuer_and_serial(&fixture.tsa.der);
        let serial = serial.unwrap_or(&own);
        let issuer = element(0x30, &element(0xa4, &issuer));
        let named = names(&fixture.tsa.der, &element(0x30, &[&issuer[..], serial].concat()));
        fixture.edited(move |part, body| if part == Part::SigningCertificate { named.clone() } else { body })
    };
    assert_eq!(with_serial(None), good());
    assert!(with_serial(Some(&[2, 1, 7])).is_err());
    // Each signed attribute is needed, once.
    let attributes = |keep: &dyn Fn(usize) -> usize| {
        fixture.edited(|part, body| match part {
            Part::Attributes => {
                let all: Vec<&[u8]> = ephor_x509::der::Reader(&body).map(|e| e.raw).collect();
                all.iter().enumerate().flat_map(|(i, one)| one.repeat(keep(i))).collect()
            }
            _ => body,
        })
    };
    for at in 0..4 {
        let missing = attributes(&|i| usize::from(i != at));
        // The time of signing is one that need not be written.
        assert_eq!(missing.is_ok(), at == 1, "{at}: {missing:?}");
        assert!(attributes(&|i| if i == at { 2 } else { 1 }).is_err(), "{at}");
    }
}

#[test]
fn extensions_of_the_statement_that_are_critical_are_refused() {
    let fixture = fixture();
    let with = |critical: &[u8]| {
        let extension = [&[6, 3, 0x2a, 3, 4][..], critical, &[4, 2, 5, 0]].concat();
        let extensions = element(0xa1, &element(0x30, &extension));
        fixture.edited(move |part, body| match part {
            Part::Info => [&body[..], &extensions].concat(),
            _ => body,
        })
    };
    assert_eq!(with(&[]), good());
    assert!(with(&[1, 1, 0xff]).is_err());
}

#[test]
fn the_request_was_granted_as_it_was() {
    let fixture = fixture();
    let with = |status: u8| {
        fixture.edited(move |part, body| if part == Part::Status { vec![2, 1, status] } else { body })
    };
    assert_eq!(with(0), good());
    assert!(with(1).unwrap_err().contains("the request is granted with modifications"));
    for status in 2..7 {
        assert!(with(status).unwrap_err().contains("the request is rejected"), "{status}");
    }
}

#[test]
fn object_identifiers_and_sets_are_in_their_only_form() {
    let fixture = fixture();
    // The policy: 1.2.3.4, cut off, with a leading zero, with a number of more than 31 bits.
    for (id, is_good) in [
        (&[0x2a, 3, 4][..], true),
        (&[0x2a, 3, 0x84], false),
        (&[0x2a, 0x80, 3], false),
        (&[0x2a, 0x88, 0x80, 0x80, 0x80, 0], false),
        (&[], false),
    ] {
        let policy = element(OID, id);
        let found = fixture.edited(|part, body| match part {
            Part::Info => [&body[..3], &policy, &body[8..]].concat(),
            _ => body,
        });
        assert_eq!(found.is_ok(), is_good, "{id:?}: {found:?}");
    }
    let found = fixture.edited(|part, body| match part {
        Part::Attributes => {
            let mut all: Vec<&[u8]> = ephor_x509::der::Reader(&body).map(|e| e.raw).collect();
            all.swap(0, 1);
            all.concat()
        }
        _ => body,
    });
    assert!(found.is_err());
}

#[test]
fn the_accuracy_of_the_moment_is_reported() {
    let fixture = fixture();
    let with = |accuracy: &[u8]| {
        let token = Stamp::edited(&fixture.tsa, |part, body| match part {
            Part::Info => [&body[..], &element(0x30, accuracy)].concat(),
            _ => body,
        });
        let roots = TsaRoots::read(&fixture.root.pem()).unwrap();
        let moments = roots.moments(&token.token(), MESSAGE).map_err(|e| e.to_string())?;
        let now = Time::from_unix(NOW).unix_nanos();
        Ok::<_, String>(moments.map(|at| (at.unix_nanos() - now) / 1000))
    };
    assert_eq!(with(&[2, 1, 3, 0x80, 1, 7, 0x81, 1, 9]), Ok([-3_007_009, 3_007_009]));
    assert_eq!(with(&[]), Ok([0, 0]));
    for wrong in [&[0x80, 1, 0][..], &[0x80, 2, 3, 0xe8], &[2, 1, 0xff], &[0x81, 1, 1, 0x80, 1, 1], &[5, 0]] {
        assert!(with(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn only_the_certificate_of_a_timestamp_authority_signs_timestamps() {
    let of = |params: CertificateParams| {
        let root = root(ca("tsa root"));
        let tsa = root.issue(params);
        let fixture = Fixture { root, tsa };
        let (one, two) = (fixture.edited(|_, body| body), fixture.notary(|_, body| body));
        assert_eq!(one.is_ok(), two.is_ok(), "{one:?} {two:?}");
        one
    };
    let usage = |purposes: &'static [u8], critical: bool| {
        of(with(signer("tsa"), |p| {
            p.extended_key_usages.clear();
            p.custom_extensions = vec![extended_key_usage(purposes, critical)];
        }))
    };
    assert_eq!(usage(&[8], true), good());
    assert!(usage(&[8], false).unwrap_err().contains("must set EKU to critical"));
    assert!(usage(&[8, 3], true).unwrap_err().contains("expected only one"));
    assert!(usage(&[3], true).unwrap_err().contains("timestamping set"));
    assert!(of(signer("code")).is_err());
    assert!(of(with(tsa("tsa"), |p| p.is_ca = IsCa::Ca(BasicConstraints::Unconstrained))).is_err());
    assert!(of(with(tsa("tsa"), |p| p.custom_extensions.push(unknown(true)))).is_err());
    assert_eq!(of(with(tsa("tsa"), |p| p.custom_extensions.push(unknown(false)))), good());
    // A root does not sign timestamps itself.
    let own = root(with(ca("root"), |p| p.custom_extensions = vec![extended_key_usage(&[8], true)]));
    assert!(moment(&own.pem(), &Stamp::by(&own).response()).is_err());
}

#[test]
fn certificates_are_valid_at_the_moment_of_the_timestamp() {
    let before = |p: &mut CertificateParams| p.not_after = date_time_ymd(2026, 5, 31);
    let after = |p: &mut CertificateParams| p.not_before = date_time_ymd(2026, 6, 2);
    assert!(changed(before).edited(|_, body| body).is_err());
    assert!(changed(after).edited(|_, body| body).is_err());
    assert!(changed(before).notary(|_, body| body).is_err());
    // Expired now, valid then.
    let then = |p: &mut CertificateParams| p.not_after = date_time_ymd(2026, 6, 2);
    assert_eq!(changed(then).edited(|_, body| body), good());
    assert_eq!(changed(then).notary(|_, body| body), good());
    for change in [before, after] {
        let root = root(with(ca("tsa root"), change));
        let tsa = root.issue(tsa("tsa"));
        let fixture = Fixture { root, tsa };
        assert!(fixture.edited(|_, body| body).unwrap_err().contains("has expired or is not yet valid"));
        assert!(fixture.notary(|_, body| body).is_err());
    }
}

#[test]
fn intermediates_allow_timestamps() {
    let below = |change: fn(&mut CertificateParams)| {
        let top = root(ca("root"));
        let middle = top.issue(with(ca("middle"), change));
        let tsa = middle.issue(tsa("tsa"));
        let stamp = Stamp { certificates: vec![&tsa.der, &middle.der], ..Stamp::by(&tsa) };
        let found = moment(&format!("{}{}", middle.pem(), top.pem()), &stamp.response());
        assert_eq!(found.is_ok(), notary(&top.pem(), &stamp.token()).is_ok(), "{found:?}");
        found
    };
    assert_eq!(below(|_| ()), good());
    assert!(
        below(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning])
            .unwrap_err()
            .contains("incompatible key usage")
    );
    assert!(below(|p| p.custom_extensions.push(unknown(true))).unwrap_err().contains("critical extension"));
    assert!(below(|p| p.not_after = date_time_ymd(2026, 5, 31)).unwrap_err().contains("has expired"));
}

#[test]
fn roots_of_timestamp_authorities_are_roots() {
    let Fixture { root, tsa } = fixture();
    assert!(TsaRoots::read(&root.pem()).is_ok());
    assert!(TsaRoots::read(&tsa.pem()).is_err());
    assert!(TsaRoots::read("junk").is_err());
}
