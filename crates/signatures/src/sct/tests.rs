#![allow(clippy::unwrap_used)]

use super::{SctError, verify};
use crate::fixtures::{Log, Party, ca, extension, flips, list, now, root, signer, with, with_scts};
use crate::log::LogKey;
use crate::path::{Purpose, find};
use ephor_value::bytes::decode_base64;
use ephor_x509::der::Reader;

const TIME: i64 = 1_780_315_200_000;

/// A certificate of an issuer, with SCTs that are built of what logs sign.
struct Fixture {
    issuer: Party,
    log: Log,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture { issuer: root(ca("ca")), log: Log::new() }
    }

    fn leaf(&self, build: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
        with_scts(&self.issuer, signer("leaf"), build).der
    }

    fn sct(&self, plain: &[u8], at: i64) -> Vec<u8> {
        self.log.sct(plain, &self.issuer.key_info(), at)
    }

    fn says(&self, certificate: &[u8]) -> Result<(), SctError> {
        verify(certificate, &self.issuer.key_info(), &[LogKey::of_der(&self.log.der()).unwrap()])
    }

    /// The verdict on a certificate with one changed SCT.
    fn changed(&self, change: impl Fn(Vec<u8>) -> Vec<u8>) -> Result<(), SctError> {
        self.says(&self.leaf(|plain| list(&[change(self.sct(plain, TIME))])))
    }
}

#[test]
fn an_sct_counts_for_its_certificate_issuer_and_log() {
    let own = Fixture::new();
    let good = own.leaf(|plain| list(&[own.sct(plain, TIME)]));
    assert_eq!(own.says(&good), Ok(()));
    assert_eq!(own.says(&own.issuer.issue(signer("leaf")).der), Err(SctError::Missing));
    let other = Fixture::new();
    assert!(other.says(&good).unwrap_err().to_string().starts_with("ctfe public key not found"));
    let logs = [LogKey::of_der(&own.log.der()).unwrap()];
    let failed = Err(SctError::Ecdsa);
    assert_eq!(verify(&good, &other.issuer.key_info(), &logs), failed);
    assert_eq!(own.says(&own.leaf(|_| list(&[own.sct(b"another", TIME)]))), failed);
}

#[test]
fn every_sct_of_a_certificate_is_verified() {
    let own = Fixture::new();
    let other = Log::new();
    let two = |second: &dyn Fn(&[u8]) -> Vec<u8>| {
        let scts = |plain: &[u8]| list(&[own.sct(plain, TIME), second(plain)]);
        own.says(&own.leaf(scts))
    };
    assert_eq!(two(&|plain| own.sct(plain, TIME + 1)), Ok(()));
    assert!(two(&|_| own.sct(b"another", TIME)).is_err());
    assert!(two(&|plain| other.sct(plain, &own.issuer.key_info(), TIME)).is_err());
    assert!(two(&|_| Vec::new()).is_err());
}

#[test]
fn nothing_is_left_over_in_a_list() {
    let own = Fixture::new();
    let of = |build: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let leaf = own.leaf(|plain| build(list(&[own.sct(plain, TIME)])));
        own.says(&leaf)
    };
    assert_eq!(of(&|list| list), Ok(()));
    // Behind the list, behind its wrapping, within an SCT.
    assert!(
        of(&|mut list| {
            list[1] += 1;
            list.push(0);
            list
        })
        .unwrap_err()
        .to_string()
        .contains("trailing data")
    );
    assert!(of(&|list| [&list[..], &[0]].concat()).is_err());
    assert!(own.changed(|sct| [&sct[..], &[0]].concat()).is_err());
    assert!(own.says(&own.leaf(|_| list(&[]))).is_err());
    // A second list is none.
    let twice = with(signer("leaf"), |p| {
        p.custom_extensions = vec![extension(&[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2], &[4, 2, 0, 0], false)];
    });
    let twice = with_scts(&own.issuer, twice, |plain| list(&[own.sct(plain, TIME)]));
    assert!(own.says(&twice.der).is_err());
}

#[test]
fn scts_are_signed_while_the_certificate_is_valid() {
    let own = Fixture::new();
    let at = |time: i64| own.says(&own.leaf(|plain| list(&[own.sct(plain, time)])));
    let (from, until) = (1_767_225_600_000, 4_102_444_800_000);
    assert_eq!(at(from), Ok(()));
    assert_eq!(at(until), Ok(()));
    for time in [0, from - 1, until + 1000, -1] {
        assert_eq!(at(time), Err(SctError::Time), "{time}");
    }
}

#[test]
fn the_signature_of_an_sct_is_of_the_kind_of_its_key() {
    let own = Fixture::new();
    // Version, log, time and extensions stand before the two bytes of the algorithm.
    let at = 1 + 32 + 8 + 2;
    for algorithm in [[4, 1], [2, 3], [5, 3], [0, 0]] {
        let found = own.changed(|mut sct| {
            sct[at..at + 2].copy_from_slice(&algorithm);
            sct
        });
        assert!(found.is_err(), "{algorithm:?}");
    }
    assert!(
        own.changed(|mut sct| {
            sct[0] = 1;
            sct
        })
        .unwrap_err()
        .to_string()
        .contains("unknown SCT version 1")
    );
}

#[test]
fn no_bit_of_a_certificate_with_scts_may_change() {
    let own = Fixture::new();
    let good = own.leaf(|plain| list(&[own.sct(plain, TIME)]));
    // The issuer's signature is what covers the rest: the path is verified first, as where
    // signatures are checked.
    let whole = |der: &[u8]| {
        let leaf = crate::chain::Link::of_der(der).map_err(|e| e.to_string())?;
        let path = find(&leaf, &[], &[&own.issuer.der], Purpose::CodeSigning, &now());
        path.map_err(|e| e.to_string())?;
        own.says(der).map_err(|e| e.to_string())
    };
    assert_eq!(whole(&good), Ok(()));
    for (at, bit, changed) in flips(&good) {
        assert!(whole(&changed).is_err(), "byte {at}, bit {bit}");
    }
    for cut in 0..good.len() {
        assert!(own.says(&good[..cut]).is_err(), "{cut} bytes");
    }
    // What the log signed is covered by its own signature, even where the issuer's is not checked.
    let tbs = Reader(&good).any().unwrap().inside().any().unwrap().raw.len();
    for (at, bit, changed) in flips(&good).filter(|(at, ..)| (4..4 + tbs).contains(at)) {
        assert!(own.says(&changed).is_err(), "byte {at}, bit {bit}");
    }
}

#[test]
fn certificates_of_other_programs_are_read() {
    // Made once; the keys were thrown away.
    const EMBEDDED: &str = "MIIBtTCCAVygAwIBAgIBTTAKBggqhkjOPQQDAjANMQswCQYDVQQDDAJjYTAgFw0yNjAxMDEwMDAwMDBaGA8yMTAwMDEwMTAwMDAw\
     MFowETEPMA0GA1UEAwwGc2lnbmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE9MWKsVGUXhPeXX60pCeSIqdXEYiX9vJiS+e2\
     /Sn1lNPT55PLkZ93gNmeMjsk2omFBKmuNjtl0tuw7lJCL15NxKOBpjCBozATBgNVHSUEDDAKBggrBgEFBQcDAzCBiwYKKwYBBAHW\
     eQIEAgR9BHsAeQB3AOQSYvzQH60GhsWlB2rDX13gAoY+LuJbB5eb9gyqsx8gAAABm3baqAAAAAQDAEgwRgIhAMmw8swVXPWNWVOV\
     X0jE9Gy7WnYPMieTx1g/MzuM6QO1AiEA8lxot+/4WwU0q5GnKxnywcgwl84kG6TU+PAqbxfzRVIwCgYIKoZIzj0EAwIDRwAwRAIg\
     WnlUsKZawu+RUW22Y4tucDh9i5mktt1mzbT9jHm8pLACIFjDRfgDAIErEMMs0Y6cmxdMNFrEWG5JIu3pXQ9OrsHJ";
    const ISSUER: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAERYvYB9eIKymEjkFs5QjKVkwTKYCVydo0bzc8Yqll7bImwRcH1kPGHxm028PL7Qen\
     aU4co7oDx0b65N99mcn6Lg==";
    const LOG: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEuZd5gTaPDxIoUDODLjDLwEYP1A453cs6iuEY5q89roejU6JMd9E+RS90E/ZHBNlq\
     S/TiX57hU7lfNtqLoRxoPQ==";
    let bytes = |text: &str| decode_base64(text.as_bytes()).unwrap();
    let logs = [LogKey::of_der(&bytes(LOG)).unwrap()];
    assert_eq!(verify(&bytes(EMBEDDED), &bytes(ISSUER), &logs), Ok(()));
}
