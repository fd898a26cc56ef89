#![allow(clippy::unwrap_used)]

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, KeyPair,
    KeyUsagePurpose, NameConstraints, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SanType, date_time_ymd,
};

use super::{NoPath, Purpose, find};
use crate::chain::Link;
use crate::fixtures::{NOW, Party, ca, extension, flips, now, root, signer, tsa, unknown, with};
use ephor_value::time::Time;
use ephor_x509::pem_blocks;

const EXPIRED: &str = "x509: certificate has expired or is not yet valid";
const USAGE: &str = "x509: certificate specifies an incompatible key usage";
const UNKNOWN: &str = "x509: certificate signed by unknown authority";
const CRITICAL: &str = "x509: unhandled critical extension";
const TOO_LONG: &str = "x509: too many intermediates for path length constraint";
const NAME: &str = "x509: a root or intermediate certificate is not authorized to sign for this name";

/// How many certificates the path for a code signer has, or why there is none.
fn code(leaf: &Party, links: &[&Party], roots: &[&Party]) -> Result<usize, String> {
    path(&leaf.der, links, roots, Purpose::CodeSigning)
}

fn path(leaf: &[u8], links: &[&Party], roots: &[&Party], purpose: Purpose) -> Result<usize, String> {
    let ders = |all: &[&Party]| all.iter().map(|party| party.der.clone()).collect::<Vec<_>>();
    raw(leaf, &ders(links), &ders(roots), purpose, &now())
}

fn raw(
    leaf: &[u8],
    links: &[Vec<u8>],
    roots: &[Vec<u8>],
    purpose: Purpose,
    at: &Time,
) -> Result<usize, String> {
    let slices = |all: &[Vec<u8>]| all.iter().map(|der| der.clone().leak() as &[u8]).collect::<Vec<_>>();
    let leaf = Link::of_der(leaf).map_err(|e| e.to_string())?;
    let found = find(&leaf, &slices(links), &slices(roots), purpose, at);
    found.map(|path| path.len()).map_err(|e| NoPath::from(e).to_string())
}

fn refused(why: &str) -> Result<usize, String> {
    Err(why.to_owned())
}

/// What becomes of a chain of three of which each member is changed: intermediate, then root, then
/// leaf.
fn each(change: impl Fn(&mut CertificateParams)) -> [Result<usize, String>; 3] {
    let top = root(ca("root"));
    let middle = top.issue(with(ca("middle"), &change));
    let intermediate = code(&middle.issue(signer("leaf")), &[&middle], &[&top]);
    let changed = root(with(ca("root"), &change));
    let middle = changed.issue(ca("middle"));
    let at_root = code(&middle.issue(signer("leaf")), &[&middle], &[&changed]);
    let middle = top.issue(ca("middle"));
    let leaf = code(&middle.issue(with(signer("leaf"), &change)), &[&middle], &[&top]);
    [intermediate, at_root, leaf]
}

#[test]
fn a_path_leads_over_intermediates_to_a_root() {
    let top = root(ca("root"));
    let first = top.issue(ca("first"));
    let second = first.issue(ca("second"));
    let leaf = second.issue(signer("leaf"));
    assert_eq!(code(&leaf, &[&first, &second], &[&top]), Ok(4));
    assert_eq!(code(&leaf, &[&second, &first], &[&top]), Ok(4));
    assert_eq!(code(&leaf, &[&second], &[&top]), refused(UNKNOWN));
    assert_eq!(code(&leaf, &[&first, &second], &[&root(ca("root"))]), refused(UNKNOWN));
    assert_eq!(code(&leaf, &[&first, &second], &[]), refused(UNKNOWN));
}

#[test]
fn keys_of_all_families_issue_certificates() {
    for algorithm in [&PKCS_ECDSA_P384_SHA384, &PKCS_ED25519] {
        let top = root(ca("root"));
        let middle = top.issue_for(ca("middle"), KeyPair::generate_for(algorithm).unwrap());
        assert_eq!(code(&middle.issue(signer("leaf")), &[&middle], &[&top]), Ok(3));
    }
    let sample = |text: &str| {
        let ders = pem_blocks(text, "CERTIFICATE");
        let at = Time::from_unix(2_000_000_000);
        raw(&ders[0], &[], &ders[2..], Purpose::CodeSigning, &at)
    };
    assert_eq!(sample(include_str!("../samples/p521.pem")), Ok(2));
    assert_eq!(sample(include_str!("../samples/rsa2048.pem")), Ok(2));
    // Authorities with keys of 1,024 bits and signatures of SHA-1.
    assert_eq!(sample(include_str!("../samples/rsa1024.pem")), refused(UNKNOWN));
    assert_eq!(sample(include_str!("../samples/sha1.pem")), refused(UNKNOWN));
}

#[test]
fn every_member_is_valid_at_the_moment_that_counts() {
    let early = |p: &mut CertificateParams| p.not_after = date_time_ymd(2026, 5, 31);
    let late = |p: &mut CertificateParams| p.not_before = date_time_ymd(2026, 6, 2);
    assert_eq!(each(early), [(); 3].map(|()| refused(EXPIRED)));
    assert_eq!(each(late), [(); 3].map(|()| refused(EXPIRED)));
    // The first and the last second count.
    let top = root(with(ca("root"), |p| {
        p.not_before = date_time_ymd(2026, 6, 1);
        p.not_after = date_time_ymd(2026, 6, 2);
    }));
    let leaf = top.issue(signer("leaf"));
    let at = |nanos: i128| {
        let at = Time::from_unix_nanos(nanos);
        raw(&leaf.der, &[], std::slice::from_ref(&top.der), Purpose::CodeSigning, &at)
    };
    let midnight = (i128::from(NOW) - 12 * 3600) * 1_000_000_000;
    let day = 24 * 3600 * 1_000_000_000;
    assert_eq!(at(midnight), Ok(2));
    assert_eq!(at(midnight - 1), refused(EXPIRED));
    assert_eq!(at(midnight + day), Ok(2));
    assert_eq!(at(midnight + day + 1), refused(EXPIRED));
}

#[test]
fn unknown_critical_extensions_are_refused() {
    assert_eq!(each(|p| p.custom_extensions.push(unknown(true))), [(); 3].map(|()| refused(CRITICAL)));
    assert_eq!(each(|p| p.custom_extensions.push(unknown(false))), [(); 3].map(|()| Ok(3)));
}

#[test]
fn the_extended_key_usage_of_every_member_allows_the_purpose() {
    use ExtendedKeyUsagePurpose::{Any, CodeSigning, ServerAuth, TimeStamping};
    let only = |usages: &'static [ExtendedKeyUsagePurpose]| {
        each(|p: &mut CertificateParams| p.extended_key_usages = usages.to_vec())
    };
    assert_eq!(only(&[ServerAuth]), [(); 3].map(|()| refused(USAGE)));
    assert_eq!(only(&[TimeStamping, ServerAuth]), [(); 3].map(|()| refused(USAGE)));
    assert_eq!(only(&[ServerAuth, CodeSigning]), [(); 3].map(|()| Ok(3)));
    assert_eq!(only(&[]), [(); 3].map(|()| Ok(3)));
    // Any purpose is one that authorities may have.
    assert_eq!(only(&[Any]), [Ok(3), Ok(3), refused(USAGE)]);
    // One that is not readable allows nothing.
    let broken = each(|p| {
        p.extended_key_usages.clear();
        p.custom_extensions.push(extension(&[2, 5, 29, 37], &[0x30, 2, 6, 9], false));
    });
    assert!(broken.iter().all(Result::is_err), "{broken:?}");
}

#[test]
fn roles_are_not_swapped() {
    let top = root(ca("root"));
    let middle = top.issue(ca("middle"));
    let (leaf, clock) = (middle.issue(signer("leaf")), middle.issue(tsa("tsa")));
    let is = |of: &Party, purpose| path(&of.der, &[&middle], &[&top], purpose);
    assert_eq!(is(&leaf, Purpose::CodeSigning), Ok(3));
    assert_eq!(is(&clock, Purpose::TimeStamping), Ok(3));
    assert_eq!(is(&leaf, Purpose::TimeStamping), refused(USAGE));
    assert_eq!(is(&clock, Purpose::CodeSigning), refused(USAGE));
    // An authority signs no artifacts, and a signer issues no certificates.
    assert!(is(&middle, Purpose::CodeSigning).is_err());
    assert_eq!(code(&leaf.issue(signer("below")), &[&middle, &leaf], &[&top]), refused(UNKNOWN));
    let own = root(signer("own"));
    assert_eq!(code(&own.issue(signer("below")), &[], &[&own]), refused(UNKNOWN));
}

#[test]
fn only_keys_for_certificates_issue_certificates() {
    let change = |p: &mut CertificateParams| {
        if p.key_usages == [KeyUsagePurpose::KeyCertSign] {
            p.key_usages = vec![KeyUsagePurpose::CrlSign];
        }
    };
    assert_eq!(each(change), [refused(UNKNOWN), refused(UNKNOWN), Ok(3)]);
}

#[test]
fn path_lengths_are_enforced() {
    let most = |n| with(ca("root"), move |p| p.is_ca = IsCa::Ca(BasicConstraints::Constrained(n)));
    let chain = |top: CertificateParams, middle: CertificateParams| {
        let top = root(top);
        let first = top.issue(middle);
        let second = first.issue(ca("second"));
        code(&second.issue(signer("leaf")), &[&first, &second], &[&top])
    };
    assert_eq!(chain(most(2), ca("first")), Ok(4));
    assert_eq!(chain(most(1), ca("first")), refused(TOO_LONG));
    assert_eq!(
        chain(ca("root"), with(most(1), |p| p.distinguished_name = ca("first").distinguished_name)),
        Ok(4)
    );
    assert_eq!(
        chain(ca("root"), with(most(0), |p| p.distinguished_name = ca("first").distinguished_name)),
        refused(TOO_LONG)
    );
}

#[test]
fn name_constraints_are_enforced() {
    let within = |permitted: &[GeneralSubtree], excluded: &[GeneralSubtree]| {
        let constraints =
            NameConstraints { permitted_subtrees: permitted.to_vec(), excluded_subtrees: excluded.to_vec() };
        let change = move |p: &mut CertificateParams| match p.is_ca {
            IsCa::Ca(_) => p.name_constraints = Some(constraints.clone()),
            _ => p.subject_alt_names = vec![SanType::DnsName("build.example.com".try_into().unwrap())],
        };
        // Its own names, below an intermediate and below a root with constraints.
        let top = root(ca("root"));
        let middle = top.issue(with(ca("middle"), &change));
        let first = code(&middle.issue(with(signer("leaf"), &change)), &[&middle], &[&top]);
        let top = root(with(ca("root"), &change));
        [first, code(&top.issue(with(signer("leaf"), &change)), &[], &[&top])]
    };
    let dns = |name: &str| GeneralSubtree::DnsName(name.into());
    assert_eq!(within(&[dns("example.com")], &[]), [Ok(3), Ok(2)]);
    assert_eq!(within(&[dns("example.org")], &[]), [refused(NAME), refused(NAME)]);
    assert_eq!(within(&[], &[dns("example.com")]), [refused(NAME), refused(NAME)]);
}

#[test]
fn renewed_and_cross_signed_authorities_are_tried_in_turn() {
    let (old, new) = (root(ca("old")), root(ca("new")));
    // The same authority: expired, issued by an unknown authority, renewed.
    let expired = old.issue(with(ca("middle"), |p| p.not_after = date_time_ymd(2026, 2, 1)));
    let stranger = root(ca("stranger")).issue_for(ca("middle"), expired.key());
    let renewed = new.issue_for(ca("middle"), expired.key());
    let leaf = renewed.issue(signer("leaf"));
    for order in
        [[&expired, &stranger, &renewed], [&renewed, &expired, &stranger], [&stranger, &renewed, &expired]]
    {
        assert_eq!(code(&leaf, &order, &[&old, &new]), Ok(3));
    }
    assert_eq!(code(&leaf, &[&expired, &stranger], &[&old, &new]), refused(EXPIRED));
    // The same root: expired, and renewed with its key.
    let gone = root(with(ca("root"), |p| p.not_after = date_time_ymd(2026, 2, 1)));
    let key = gone.key();
    let der = ca("root").self_signed(&key).unwrap().der().to_vec();
    let renewed = Party { params: ca("root"), key, der };
    let leaf = gone.issue(signer("leaf"));
    assert_eq!(code(&leaf, &[], &[&gone, &renewed]), Ok(2));
    assert_eq!(code(&leaf, &[], &[&gone]), refused(EXPIRED));
}

#[test]
fn many_authorities_of_one_name_do_not_make_the_search_long() {
    let top = root(ca("root"));
    // Any of them may be the issuer of any other by its name, in very many orders.
    let crowd: Vec<Party> = (0..40).map(|_| root(ca("same"))).collect();
    let leaf = root(ca("same")).issue(signer("leaf"));
    let links: Vec<&[u8]> = crowd.iter().map(|party| &*party.der).collect();
    let found = find(&leaf.link(), &links, &[&top.der], Purpose::CodeSigning, &now());
    assert_eq!(found.map(|path| path.len()), Err(webpki::Error::UnknownIssuer));
    // The one that the root issued is found among them.
    let own = top.issue(ca("same"));
    let leaf = own.issue(signer("leaf"));
    let links: Vec<&[u8]> = links.into_iter().chain([&*own.der]).collect();
    let found = find(&leaf.link(), &links, &[&top.der], Purpose::CodeSigning, &now());
    assert_eq!(found.map(|path| path.len()), Ok(3));
    let links = links.repeat(2);
    assert!(find(&leaf.link(), &links, &[&top.der], Purpose::CodeSigning, &now()).is_err());
}

#[test]
fn authorities_sign_with_pss_padding_too() {
    let ders = pem_blocks(include_str!("../samples/pss.pem"), "CERTIFICATE");
    let at = Time::from_unix(2_000_000_000);
    let path = raw(&ders[0], &ders[1..2], &ders[2..], Purpose::CodeSigning, &at);
    assert_eq!(path, Ok(3));
    let path = raw(&ders[0], &vec![ders[1].clone(); 5], &ders[2..], Purpose::CodeSigning, &at);
    assert_eq!(path, refused(UNKNOWN));
}

#[test]
fn a_leaf_that_is_itself_trusted_is_held_to_the_same_rules() {
    let own = |change: fn(&mut CertificateParams)| {
        let own = root(with(signer("own"), change));
        code(&own, &[], &[&own])
    };
    assert_eq!(own(|_| ()), Ok(1));
    assert_eq!(own(|p| p.not_after = date_time_ymd(2026, 2, 1)), refused(EXPIRED));
    assert_eq!(own(|p| p.custom_extensions.push(unknown(true))), refused(CRITICAL));
    assert_eq!(own(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]), refused(USAGE));
}

#[test]
fn no_bit_of_a_certificate_may_change() {
    let top = root(ca("root"));
    let middle = top.issue(ca("middle"));
    let leaf = middle.issue(signer("leaf"));
    let path = |leaf: &[u8], middle: &[u8]| {
        raw(leaf, &[middle.to_vec()], std::slice::from_ref(&top.der), Purpose::CodeSigning, &now())
    };
    assert_eq!(path(&leaf.der, &middle.der), Ok(3));
    for (at, bit, changed) in flips(&leaf.der) {
        assert!(path(&changed, &middle.der).is_err(), "leaf, byte {at}, bit {bit}");
    }
    for (at, bit, changed) in flips(&middle.der) {
        assert!(path(&leaf.der, &changed).is_err(), "intermediate, byte {at}, bit {bit}");
    }
    for cut in 0..leaf.der.len() {
        assert!(path(&leaf.der[..cut], &middle.der).is_err(), "{cut} bytes");
    }
    let longer = [&leaf.der[..], &[0]].concat();
    assert_eq!(path(&longer, &middle.der), refused("x509: trailing data"));
}
