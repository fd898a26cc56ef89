//! Timestamps of signatures: tokens of RFC 3161 in signed data of CMS.
//!
//! In: a token and the certificates that are trusted to tell the time. Out: the moment, when the token is about the
//! signature and signed by somebody who is trusted. `cosign` and Notary trust by rules of their own: [`Clocks`] and
//! [`Towers`]. Nobody is asked.

use crate::engine::public_key::Hash;
use crate::functions::der::{INTEGER, OCTET_STRING, OID, Reader, SEQUENCE, SET, oid};
use crate::functions::pem_all;
use crate::value::time::Time;

use super::chain::{self, Leaf, Link};

const SIGNED_DATA: &[u64] = &[1, 2, 840, 113549, 1, 7, 2];
const TOKEN_INFO: &[u64] = &[1, 2, 840, 113549, 1, 9, 16, 1, 4];
const CONTENT_TYPE: &[u64] = &[1, 2, 840, 113549, 1, 9, 3];
const DIGEST: &[u64] = &[1, 2, 840, 113549, 1, 9, 4];
const SIGNING_TIME: &[u64] = &[1, 2, 840, 113549, 1, 9, 5];
const SIGNER: &[u64] = &[1, 2, 840, 113549, 1, 9, 16, 2, 47];
/// The longest chain and the most certificates of a token.
const MOST: usize = 20;

/// A token, as far as it was read; nothing of it is verified.
struct Token<'a> {
    /// What was signed.
    content: &'a [u8],
    certificates: Vec<Link>,
    /// Who signed, by issuer and serial number.
    issuer: &'a [u8],
    serial: &'a [u8],
    /// The hash of the content and of the signed attributes.
    hash: Hash,
    /// Attributes that were signed instead of the content.
    attributes: Option<&'a [u8]>,
    signature: &'a [u8],
    /// The moment.
    at: Time,
    /// How far it may be off, in nanoseconds.
    slack: i64,
    /// What it is about: a hash.
    about: (Option<Hash>, &'a [u8]),
}

const MALFORMED: &str = "asn1: structure error";

/// The hash of an algorithm.
fn hash_of(identifier: &[u64]) -> Option<Hash> {
    Some(match identifier {
        [2, 16, 840, 1, 101, 3, 4, 2, 1] | [1, 2, 840, 10045, 4, 3, 2] | [1, 2, 840, 113549, 1, 1, 11] => {
            Hash::Sha256
        }
        [2, 16, 840, 1, 101, 3, 4, 2, 2] | [1, 2, 840, 10045, 4, 3, 3] | [1, 2, 840, 113549, 1, 1, 12] => {
            Hash::Sha384
        }
        [2, 16, 840, 1, 101, 3, 4, 2, 3] | [1, 2, 840, 10045, 4, 3, 4] | [1, 2, 840, 113549, 1, 1, 13] => {
            Hash::Sha512
        }
        _ => return None,
    })
}

/// The algorithm of an identifier with parameters.
fn algorithm(reader: &mut Reader<'_>) -> Option<Vec<u64>> {
    oid(reader.tagged(SEQUENCE)?.inside().tagged(OID)?.body)
}

/// `20060102150405Z`, with a fraction.
fn moment(body: &[u8]) -> Option<Time> {
    let text = std::str::from_utf8(body).ok()?.strip_suffix('Z')?;
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    if clock.len() != 14 || !clock.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| clock.get(from..to).unwrap_or_default();
    let dot = if fraction.is_empty() { "" } else { "." };
    let text = format!(
        "{}-{}-{}T{}:{}:{}{dot}{fraction}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14)
    );
    Time::parse_rfc3339(&text).ok()
}

impl<'a> Token<'a> {
    fn read(bytes: &'a [u8]) -> Option<Token<'a>> {
        let mut whole = Reader(bytes).tagged(SEQUENCE)?.inside();
        if oid(whole.tagged(OID)?.body)? != SIGNED_DATA {
            return None;
        }
        let mut data = whole.tagged(0xa0)?.inside().tagged(SEQUENCE)?.inside();
        data.tagged(INTEGER)?;
        data.tagged(SET)?;
        let mut inner = data.tagged(SEQUENCE)?.inside();
        if oid(inner.tagged(OID)?.body)? != TOKEN_INFO {
            return None;
        }
        let content = inner.tagged(0xa0)?.inside().tagged(OCTET_STRING)?.body;
        let mut certificates = Vec::new();
        if let Some(all) = data.optional(0xa0)? {
            let mut all = all.inside();
            while let Some(one) = all.any() {
                certificates.push(Link::of_der(one.raw).ok()?);
                (certificates.len() <= MOST).then_some(())?;
            }
        }
        data.optional(0xa1)?;
        let mut signer = data.tagged(SET)?.inside().tagged(SEQUENCE)?.inside();
        signer.tagged(INTEGER)?;
        let mut who = signer.tagged(SEQUENCE)?.inside();
        let (issuer, serial) = (who.tagged(SEQUENCE)?.raw, who.tagged(INTEGER)?.body);
        let hash = hash_of(&algorithm(&mut signer)?);
        let attributes = signer.optional(0xa0)?.map(|e| e.raw);
        let signed_by = hash_of(&algorithm(&mut signer)?);
        let signature = signer.tagged(OCTET_STRING)?.body;
        // Algorithms of signatures may name the hash too.
        let hash = signed_by.or(hash)?;
        let mut info = Reader(content).tagged(SEQUENCE)?.inside();
        info.tagged(INTEGER)?;
        info.tagged(OID)?;
        let mut about = info.tagged(SEQUENCE)?.inside();
        let about = (hash_of(&algorithm(&mut about)?), about.tagged(OCTET_STRING)?.body);
        info.tagged(INTEGER)?;
        let at = moment(info.tagged(0x18)?.body)?;
        let slack = info.optional(SEQUENCE)?.map_or(Some(0), |e| slack(e.inside()))?;
        Some(Token { content, certificates, issuer, serial, hash, attributes, signature, at, slack, about })
    }

    /// The content of a signed attribute.
    fn attribute(&self, wanted: &[u64]) -> Option<&'a [u8]> {
        let mut all = Reader(Reader(self.attributes?).any()?.body);
        while let Some(one) = all.any() {
            let mut one = one.inside();
            if oid(one.tagged(OID)?.body)? == wanted {
                return Some(one.tagged(SET)?.body);
            }
        }
        None
    }

    /// The certificate of who signed, among the token's own and others.
    fn signer<'l>(&'l self, others: &'l [Link]) -> Option<&'l Link> {
        self.certificates.iter().chain(others).find(|l| l.is(self.issuer, self.serial))
    }

    /// Whether the owner of a certificate has signed it.
    fn is_signed_by(&self, signer: &Link) -> Result<(), String> {
        let Ok(key) = &signer.key else { return Err(MALFORMED.into()) };
        let message = match self.attributes {
            None => self.content.to_vec(),
            // The attributes are signed as a set.
            Some(attributes) => {
                let hash = self.attribute(DIGEST).and_then(|set| Reader(set).tagged(OCTET_STRING));
                if hash.is_none_or(|hash| hash.body != self.hash.of(self.content)) {
                    return Err("pkcs7: Message digest mismatch".into());
                }
                let kind = self.attribute(CONTENT_TYPE).and_then(|set| oid(Reader(set).tagged(OID)?.body));
                if kind.is_none_or(|kind| kind != TOKEN_INFO) {
                    return Err(MALFORMED.into());
                }
                let rest = attributes.get(1..).unwrap_or_default();
                [&[SET][..], rest].concat()
            }
        };
        key.verify_hash(self.hash, &message, self.signature).map_err(|e| match key {
            crate::engine::public_key::PublicKey::Rsa(_) => e.to_owned(),
            _ => "x509: ECDSA verification failure".to_owned(),
        })
    }

    /// Whether it is about a message.
    fn is_about(&self, message: &[u8]) -> Result<(), String> {
        let (Some(hash), found) = self.about else {
            return Err("weak hash algorithm: must be SHA-256, SHA-384, or SHA-512".into());
        };
        match hash.of(message) == found {
            true => Ok(()),
            false => Err("hashed messages don't match".into()),
        }
    }

    /// When the signer says that it signed.
    fn told_time(&self) -> Option<Time> {
        let time = Reader(self.attribute(SIGNING_TIME)?).any()?;
        match time.tag {
            0x17 => {
                let text = std::str::from_utf8(time.body).ok()?;
                let century = if text < "50" { "20" } else { "19" };
                moment(format!("{century}{text}").as_bytes())
            }
            _ => moment(time.body),
        }
    }
}

/// Seconds, milliseconds and microseconds as nanoseconds.
fn slack(mut parts: Reader<'_>) -> Option<i64> {
    let mut sum = 0i64;
    for (tag, unit) in [(INTEGER, 1_000_000_000i64), (0x80, 1_000_000), (0x81, 1_000)] {
        let number = parts.optional(tag)?.map_or(Some(0), |e| crate::functions::der::small(e.body))?;
        sum = sum.checked_add(number.checked_mul(unit)?)?;
    }
    Some(sum)
}

/// The certificates from one to a root, when they sign each other and are in their time.
fn path(leaf: &Link, links: &[Link], roots: &[Link], at: &Time) -> Option<Vec<Link>> {
    let mut path = vec![leaf.clone()];
    while path.len() < MOST {
        let last = path.last()?;
        last.covers(at, "").ok()?;
        if roots.iter().any(|root| root.der == last.der) {
            return Some(path);
        }
        let vouches = |link: &&Link| last.is_from(link) && !path.iter().any(|known| known.der == link.der);
        let next = roots.iter().chain(links).find(vouches)?.clone();
        path.push(next);
    }
    None
}

/// Who is trusted to tell the time, as `cosign` reads it: a chain of certificates.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    leaves: Vec<Link>,
    links: Vec<Link>,
    roots: Vec<Link>,
}

impl Clocks {
    /// Reads a chain.
    ///
    /// # Errors
    /// The reference's text.
    pub fn read(pem: &str) -> Result<Clocks, String> {
        let failed = |e: &str| format!("error splitting tsa certificates: {e}");
        let ders = pem_all(pem).ok_or_else(|| failed("error during PEM decoding"))?;
        let mut clocks = Clocks::default();
        for der in &ders {
            let link = Link::of_der(der).map_err(|e| failed(&e))?;
            let of = match (link.is_issuer(), link.names_itself()) {
                (false, _) => &mut clocks.leaves,
                (true, false) => &mut clocks.links,
                (true, true) => &mut clocks.roots,
            };
            of.push(link);
        }
        match clocks.leaves.len() {
            0 | 1 => Ok(clocks),
            _ => Err("certificate chain must contain at most one TSA certificate".into()),
        }
    }

    /// The moment of a response of a service that gives timestamps, about a message.
    ///
    /// # Errors
    /// The reference's text.
    pub fn moment(&self, response: &[u8], message: &[u8]) -> Result<i64, String> {
        let unread = |e: String| format!("error parsing response into Timestamp: {e}");
        if response.is_empty() {
            return Err(unread("asn1: syntax error: sequence truncated".into()));
        }
        let parts = || {
            let mut parts = Reader(response).tagged(SEQUENCE)?.inside();
            let status = parts.tagged(SEQUENCE)?.inside().tagged(INTEGER)?.body;
            Some((status, parts))
        };
        let (status, mut parts) = parts().ok_or_else(|| unread(MALFORMED.into()))?;
        if !matches!(status, [0 | 1]) {
            return Err(unread("the request is rejected:  ()".into()));
        }
        let token = parts.any().and_then(|e| Token::read(e.raw)).ok_or_else(|| unread(MALFORMED.into()))?;
        if self.roots.is_empty() {
            return Err("no TSA root certificate(s) provided to verify timestamp".into());
        }
        let missing = || unread("pkcs7: No certificate for signer".into());
        let signer = token.signer(&self.leaves).ok_or_else(missing)?;
        token.is_signed_by(signer).map_err(unread)?;
        let text = |t: &Time| format!("\"{}\"", t.rfc3339_nano());
        if let Some(told) = token.told_time()
            && signer.covers(&told, "").is_err()
        {
            return Err(unread(format!(
                "pkcs7: signing time {} is outside of certificate validity {} to {}",
                text(&told),
                text(&Time::from_unix(signer.from)),
                text(&Time::from_unix(signer.until))
            )));
        }
        if self.leaves.first().is_some_and(|own| own.der != signer.der) {
            return Err("certificate embedded in the TSR does not match the provided TSA certificate".into());
        }
        signer.tells_time()?;
        let links: Vec<Link> = self.links.iter().chain(&token.certificates).cloned().collect();
        if path(signer, &links, &self.roots, &token.at).is_none() {
            return Err(
                "failed to verify TSA certificate chain: x509: certificate signed by unknown authority"
                    .into(),
            );
        }
        token.is_about(message)?;
        Ok(i64::try_from(token.at.unix_nanos().div_euclid(1_000_000_000)).unwrap_or(i64::MAX))
    }
}

/// Who is trusted to tell the time, as Notary reads it: roots.
pub struct Towers {
    roots: Vec<Link>,
}

impl Towers {
    /// Reads roots.
    ///
    /// # Errors
    /// One is no certificate of a root.
    pub fn read(pem: &str) -> Result<Towers, String> {
        let ders = pem_all(pem).ok_or("failed to parse certificates: error during PEM decoding")?;
        let roots: Vec<Link> = ders.iter().map(|der| Link::of_der(der)).collect::<Result<_, _>>()?;
        match roots.iter().all(|root| root.is_issuer() && root.names_itself()) {
            true => Ok(Towers { roots }),
            false => Err("trust store of type tsa must hold certificates of roots only".into()),
        }
    }

    /// Whether a token tells when a signature was made, and all certificates of its signer were in their time then.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn agree(&self, token: &[u8], signature: &[u8], chain: &[Link]) -> Result<(), String> {
        let token = Token::read(token).ok_or("malformed timestamp token")?;
        let signer = token.signer(&[]).ok_or("no certificate of the signer of the timestamp")?;
        token.is_signed_by(signer)?;
        if token.attributes.is_none() || !token.names(signer) {
            return Err("the timestamp does not name its signer".into());
        }
        token.is_about(signature)?;
        let path = path(signer, &token.certificates, &self.roots, &token.at)
            .ok_or("no root that is trusted vouches for the timestamp")?;
        chain::fits(&path, Leaf::Clock)?;
        if path.iter().rev().skip(1).any(|link| link.revocable) {
            return Err("timestamp certificate revocation status is unknown".into());
        }
        for at in [token.at.plus(token.slack.saturating_neg()), token.at.plus(token.slack)] {
            chain.iter().try_for_each(|link| link.covers(&at, "timestamp"))?;
        }
        Ok(())
    }
}

impl Token<'_> {
    /// Whether a signed attribute names the certificate of the signer by its hash.
    fn names(&self, signer: &Link) -> bool {
        let named = || {
            let all = Reader(self.attribute(SIGNER)?).tagged(SEQUENCE)?.inside().tagged(SEQUENCE)?;
            let mut first = all.inside().tagged(SEQUENCE)?.inside();
            let hash = match first.optional(SEQUENCE)? {
                None => Hash::Sha256,
                Some(algorithm) => hash_of(&oid(algorithm.inside().tagged(OID)?.body)?)?,
            };
            Some(first.tagged(OCTET_STRING)?.body == hash.of(&signer.der))
        };
        named() == Some(true)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{Clocks, Towers};
    use crate::functions::encode::decode_base64;

    // Made for this test; their keys were thrown away. All are in their time from 2026 to 2100.
    const ROOT: &str = "-----BEGIN CERTIFICATE-----
MIIBUDCB96ADAgECAhRD/BtC7KjlarGPxs6FSbfy5fKKHTAKBggqhkjOPQQDAjAV
MRMwEQYDVQQDDApjbG9jayByb290MCAXDTI2MDEwMTAwMDAwMFoYDzIxMDAwMTAx
MDAwMDAwWjAVMRMwEQYDVQQDDApjbG9jayByb290MFkwEwYHKoZIzj0CAQYIKoZI
zj0DAQcDQgAE8QgBl+CpvUM78cdPgAG3xLpd8+k7ll7s37f0ekONnu7He8lxzngB
9YgJ2DYHqGNiWaNgQM1g3c36CNYa26PkMKMjMCEwDwYDVR0TAQH/BAUwAwEB/zAO
BgNVHQ8BAf8EBAMCAgQwCgYIKoZIzj0EAwIDSAAwRQIgMKJFbJPVGSIcKVsvP31n
uhkEUrBOx/yx5zVF6wfZooECIQDwVlTDAGQjsDf8PQmk3692zr3dRQXaQMvI4fso
L8VaHg==
-----END CERTIFICATE-----
";
    const CLOCK: &str = "-----BEGIN CERTIFICATE-----
MIIBYDCCAQegAwIBAgIUdWybRDX+tTGk0e8ywN5SXntvUlIwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKY2xvY2sgcm9vdDAgFw0yNjAxMDEwMDAwMDBaGA8yMTAwMDEw
MTAwMDAwMFowEDEOMAwGA1UEAwwFY2xvY2swWTATBgcqhkjOPQIBBggqhkjOPQMB
BwNCAAQHnQ3YjMmI9sBbmgn/JZNIUGdOuPZc3eMXUbwbUmhG/HLFOe1IUEJfvTs6
Ymcw//z4zca5huQgCSejWh1Z89GVozgwNjAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB
/wQEAwIHgDAWBgNVHSUBAf8EDDAKBggrBgEFBQcDCDAKBggqhkjOPQQDAgNHADBE
AiB/LQrzMW5IM5ZR2N0yIWZzL3Wt/QYt9n2Hkmhh4Z5sygIgY9f+0xZWrzkYGRRC
ZviBpXOUdGmGwRRkYKYtd0ctWGw=
-----END CERTIFICATE-----
";
    const OTHER: &str = "-----BEGIN CERTIFICATE-----
MIIBUTCB96ADAgECAhRersHiHLo+cMFOx8ynKLJZnLY6ezAKBggqhkjOPQQDAjAV
MRMwEQYDVQQDDApvdGhlciByb290MCAXDTI2MDEwMTAwMDAwMFoYDzIxMDAwMTAx
MDAwMDAwWjAVMRMwEQYDVQQDDApvdGhlciByb290MFkwEwYHKoZIzj0CAQYIKoZI
zj0DAQcDQgAEqLLdvDC25zSl94hAbmuvtuOsOtqu4QrymN5L0c4fVwVDzWuERa+S
EoYJQw3Uf4SZLAeDZuVkK+etBWjqgfCe3aMjMCEwDwYDVR0TAQH/BAUwAwEB/zAO
BgNVHQ8BAf8EBAMCAgQwCgYIKoZIzj0EAwIDSQAwRgIhAK1vI9sKpv+fpSx6lqXo
crnHChCDI3ToTsJuXPpbh75rAiEAk3L80vo91SR5GL3Rk8JVvkSXf6DRHh3aMiRX
qlSyG+A=
-----END CERTIFICATE-----
";
    /// A response about the bytes `a signature`, of 2026-06-01T12:00:00Z.
    const RESPONSE: &str = "MIIDQzADAgEAMIIDOgYJKoZIhvcNAQcCoIIDKzCCAycCAQMxDzANBglghkgBZQMEAgEFADBkBgsqhkiG9w0BCRABBKBVBFMwUQIB\
     AQYEKgMEATAxMA0GCWCGSAFlAwQCAQUABCCATQoEhwPfhvWMg8GmL7LbhNAB2egZuwa61ENffyOf0QICBNIYDzIwMjYwNjAxMTIw\
     MDAwWqCCAWQwggFgMIIBB6ADAgECAhR1bJtENf61MaTR7zLA3lJee29SUjAKBggqhkjOPQQDAjAVMRMwEQYDVQQDDApjbG9jayBy\
     b290MCAXDTI2MDEwMTAwMDAwMFoYDzIxMDAwMTAxMDAwMDAwWjAQMQ4wDAYDVQQDDAVjbG9jazBZMBMGByqGSM49AgEGCCqGSM49\
     AwEHA0IABAedDdiMyYj2wFuaCf8lk0hQZ0649lzd4xdRvBtSaEb8csU57UhQQl+9OzpiZzD//PjNxrmG5CAJJ6NaHVnz0ZWjODA2\
     MAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMBYGA1UdJQEB/wQMMAoGCCsGAQUFBwMIMAoGCCqGSM49BAMCA0cAMEQCIH8t\
     CvMxbkgzllHY3TIhZnMvda39Bi32fYeSaGHhnmzKAiBj1/7TFlavORgZFEJm+IGlc5R0aYbBFGRgpi13Ry1YbDGCAUEwggE9AgEB\
     MC0wFTETMBEGA1UEAwwKY2xvY2sgcm9vdAIUdWybRDX+tTGk0e8ywN5SXntvUlIwDQYJYIZIAWUDBAIBBQCggaQwGgYJKoZIhvcN\
     AQkDMQ0GCyqGSIb3DQEJEAEEMBwGCSqGSIb3DQEJBTEPFw0yNjA2MDExMjAwMDBaMC8GCSqGSIb3DQEJBDEiBCD1QhxFfLVxQkYt\
     tVPPDKAzv0w/QcOVOC0ueK2qDZGDJTA3BgsqhkiG9w0BCRACLzEoMCYwJDAiBCDeWyzJ69z8FAoRizF0W3BgTEvu9DXDQ/aa0TSu\
     tMVF7zAKBggqhkjOPQQDAgRHMEUCIQCPqgQu64HrVoY9Re9wkLZ3VM3Hd73BD1V7PZ1miGPuWwIgMwyNb1lR0aTqHWrn0JrwNO6o\
     HarwN0+mjSJiTv0GWPE=";

    fn response() -> Vec<u8> {
        decode_base64(RESPONSE.as_bytes()).unwrap()
    }

    fn said(chain: &str, response: &[u8], message: &[u8]) -> Result<i64, String> {
        Clocks::read(chain)?.moment(response, message)
    }

    #[test]
    fn a_timestamp_tells_the_moment_of_its_signature() {
        let chain = format!("{CLOCK}{ROOT}");
        assert_eq!(said(&chain, &response(), b"a signature"), Ok(1_780_315_200));
        // The token has the certificate of its signer itself.
        assert_eq!(said(ROOT, &response(), b"a signature"), Ok(1_780_315_200));
    }

    #[test]
    fn a_timestamp_about_something_else_or_of_somebody_else_does_not_count() {
        let chain = format!("{CLOCK}{ROOT}");
        let not = |chain: &str, message: &[u8]| said(chain, &response(), message).unwrap_err();
        assert_eq!(not(&chain, b"another"), "hashed messages don't match");
        assert_eq!(not(CLOCK, b"a signature"), "no TSA root certificate(s) provided to verify timestamp");
        assert!(not(OTHER, b"a signature").contains("signed by unknown authority"));
        assert_eq!(not("junk", b""), "error splitting tsa certificates: error during PEM decoding");
        assert_eq!(
            not(&format!("{CLOCK}{CLOCK}"), b""),
            "certificate chain must contain at most one TSA certificate"
        );
    }

    #[test]
    fn no_part_of_a_timestamp_counts() {
        let (chain, good) = (format!("{CLOCK}{ROOT}"), response());
        for at in 0..good.len() {
            assert!(said(&chain, &good[..at], b"a signature").is_err(), "{at} bytes");
        }
    }

    #[test]
    fn roots_of_clocks_are_roots() {
        assert!(Towers::read(ROOT).is_ok());
        assert!(Towers::read(CLOCK).is_err());
        assert!(Towers::read("junk").is_err());
    }
}
