//! What Secrets with certificates hold, and what is wrong with it.
//!
//! In: PEM, or an object of kind Secret. Out: a pair that a server can use, authorities, a
//! [`Fault`].

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ephor_value::Value;
use rcgen::{KeyPair, PublicKeyData};
use rustls::crypto::ring;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::issue;
use super::issue::Pem;

/// The label that says which program writes a Secret, and this program.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "ephor");
/// Annotations that begin so are of a program that would write it, too.
const OTHER: &str = "cert-manager.io/";
/// How many authorities are trusted at most: one is in use and one comes next, others are of
/// replicas that renewed at the same time. Fewer could drop one in use; more make the bundle
/// longer.
const MAX_AUTHORITIES: usize = 10;

/// Why a pair cannot be used by any server.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PairError {
    /// The certificates are no PEM.
    #[error("{0}")]
    Certificate(String),
    /// There is none.
    #[error("holds no certificate")]
    NoCertificate,
    /// The key is no PEM.
    #[error("{0}")]
    Key(String),
    /// The key is of no known kind, or is not that of the certificate.
    #[error(transparent)]
    Unusable(#[from] rustls::Error),
}

/// A pair as servers use it.
///
/// # Errors
/// What is wrong with it.
pub fn certified(certificate: &[u8], key: &[u8]) -> Result<CertifiedKey, PairError> {
    let chain: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(certificate).map(|c| c.map(CertificateDer::into_owned)).collect();
    let chain = chain.map_err(|e| PairError::Certificate(e.to_string()))?;
    if chain.is_empty() {
        return Err(PairError::NoCertificate);
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| PairError::Key(e.to_string()))?;
    let key = CertifiedKey::from_der(chain, key, &ring::default_provider())?;
    key.keys_match()?;
    Ok(key)
}

/// What is wrong with the content of a Secret.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Fault {
    /// The pair cannot be read.
    #[error("`{field}` cannot be used: {cause}")]
    Pair {
        /// Where the fault is.
        field: &'static str,
        /// What is wrong.
        #[source]
        cause: PairError,
    },
    /// The bundle is no PEM.
    #[error("`ca.crt` cannot be used: {0}")]
    Bundle(String),
    /// There is no bundle, and there must be one.
    #[error("`ca.crt` holds no certificate")]
    NoBundle,
    /// The certificate is not valid at the moment.
    #[error("the certificate in `tls.crt` is valid from {from} to {until} only")]
    Time {
        /// Its first moment.
        from: String,
        /// Its last moment.
        until: String,
    },
    /// API servers connect to another name.
    #[error("the certificate in `tls.crt` is not valid for `{0}`")]
    Host(String),
    /// Clients with the bundle would refuse it.
    #[error("the certificate in `tls.crt` is not signed by an authority in `ca.crt`: {0}")]
    Untrusted(String),
}

impl Fault {
    /// Whether no server can use the pair.
    pub fn is_corrupt(&self) -> bool {
        matches!(self, Fault::Pair { .. })
    }
}

/// An authority that clients trust.
pub type Trusted = CertificateDer<'static>;

/// Authorities, each once, as a bundle.
pub fn bundle(trusted: &[Trusted]) -> String {
    trusted.iter().map(|one| pem(one)).collect()
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut out = String::from("-----BEGIN CERTIFICATE-----\n");
    for (i, c) in text.chars().enumerate() {
        if i > 0 && i % 64 == 0 {
            out.push('\n');
        }
        out.push(c);
    }
    out + "\n-----END CERTIFICATE-----\n"
}

/// The authorities of a bundle.
///
/// # Errors
/// It is no PEM.
pub fn authorities(bundle: &[u8]) -> Result<Vec<Trusted>, Fault> {
    let all: Result<Vec<Trusted>, _> =
        CertificateDer::pem_slice_iter(bundle).map(|c| c.map(CertificateDer::into_owned)).collect();
    let all = all.map_err(|e| Fault::Bundle(e.to_string()))?;
    match all.iter().find_map(|der| X509Certificate::from_der(der).err()) {
        Some(error) => Err(Fault::Bundle(error.to_string())),
        None => Ok(all),
    }
}

/// The first and the last second of a certificate's time.
pub fn validity(der: &[u8]) -> Option<(SystemTime, SystemTime)> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    let moment = |seconds: i64| {
        let since = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        SystemTime::UNIX_EPOCH.checked_add(since)
    };
    let time = parsed.validity();
    Some((moment(time.not_before.timestamp())?, moment(time.not_after.timestamp())?))
}

/// Authorities of several lists, each once, without those that have expired; those that come first
/// stay when there are many.
pub fn merged(lists: &[&[Trusted]], now: SystemTime) -> Vec<Trusted> {
    let mut seen = HashSet::new();
    let is_valid = |der: &&Trusted| validity(der).is_some_and(|(_, until)| until >= now);
    let all = lists.iter().flat_map(|list| list.iter()).filter(is_valid);
    all.filter(|der| seen.insert(der.as_ref().to_vec())).take(MAX_AUTHORITIES).cloned().collect()
}

/// What a Secret holds.
#[derive(Clone, Debug)]
pub struct Content {
    /// The pair.
    pub pair: Pem,
    /// The certificates of authorities, as text.
    pub bundle: String,
    /// Whether this program writes the Secret.
    pub is_own: bool,
}

impl Content {
    /// What an object of kind Secret holds.
    pub fn of(secret: &Value) -> Content {
        Content {
            pair: Pem { certificate: field(secret, "tls.crt"), key: field(secret, "tls.key") },
            bundle: field(secret, "ca.crt"),
            is_own: is_own(secret),
        }
    }

    /// The authorities that clients of the pair trust.
    ///
    /// # Errors
    /// The bundle is no PEM, or is empty in a Secret of this program.
    pub fn trusted(&self) -> Result<Vec<Trusted>, Fault> {
        let trusted = authorities(self.bundle.as_bytes())?;
        if self.is_own && trusted.is_empty() { Err(Fault::NoBundle) } else { Ok(trusted) }
    }
}

/// Whether this program writes a Secret.
pub fn is_own(secret: &Value) -> bool {
    let annotations = secret.at(&["metadata", "annotations"]).and_then(Value::as_map);
    secret.text_at(&["metadata", "labels", LABEL.0]) == LABEL.1
        && !annotations.into_iter().flat_map(|all| all.iter()).any(|(key, _)| key.starts_with(OTHER))
}

/// A Secret of this program.
pub fn secret(namespace: &str, name: &str, data: &[(&'static str, &str)]) -> Value {
    let labels = Value::map([(LABEL.0, LABEL.1.into())]);
    let metadata = Value::map([("name", name.into()), ("namespace", namespace.into()), ("labels", labels)]);
    let object = Value::map([
        ("apiVersion", "v1".into()),
        ("kind", "Secret".into()),
        ("metadata", metadata),
        ("type", "kubernetes.io/tls".into()),
    ]);
    with_data(&object, data)
}

/// A Secret with other values of some keys.
pub fn with_data(secret: &Value, data: &[(&'static str, &str)]) -> Value {
    let mut all =
        secret.get("data").cloned().filter(|v| v.as_map().is_some()).unwrap_or_else(|| Value::map([]));
    for (key, text) in data {
        all = all.with(key, STANDARD.encode(text).into());
    }
    secret.with("data", all)
}

/// The text of a key of a Secret; empty when it is none.
fn field(secret: &Value, key: &str) -> String {
    let bytes = STANDARD.decode(secret.text_at(&["data", key])).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// What is wrong with a pair at a moment, for clients that connect to some names and trust some
/// authorities (none = those of their system).
pub fn fault(pair: &Pem, names: &[String], trusted: &[Trusted], at: SystemTime) -> Option<Fault> {
    let key = match certified(pair.certificate.as_bytes(), pair.key.as_bytes()) {
        Ok(key) => key,
        Err(cause) => {
            let is_certificate = matches!(cause, PairError::Certificate(_) | PairError::NoCertificate);
            return Some(Fault::Pair { field: if is_certificate { "tls.crt" } else { "tls.key" }, cause });
        }
    };
    let (own, others) = key.cert.split_first()?;
    let unreadable = || Fault::Pair { field: "tls.crt", cause: PairError::NoCertificate };
    let Some((from, until)) = validity(own) else { return Some(unreadable()) };
    if at < from || at > until {
        return Some(Fault::Time { from: text(from), until: text(until) });
    }
    let Ok(certificate) = EndEntityCert::try_from(own) else { return Some(unreadable()) };
    let is_valid_for = |name: &String| {
        // Clients cannot connect to other names, such as those with wildcards.
        let Ok(server) = ServerName::try_from(name.as_str()) else { return true };
        certificate.verify_is_valid_for_subject_name(&server).is_ok()
    };
    if let Some(name) = names.iter().find(|name| !is_valid_for(name)) {
        return Some(Fault::Host(name.clone()));
    }
    // One that signs itself is trusted when it is in the bundle.
    if trusted.is_empty() || trusted.contains(own) {
        return None;
    }
    let anchors: Vec<_> = trusted.iter().filter_map(|der| anchor_from_trusted_cert(der).ok()).collect();
    let seconds = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = UnixTime::since_unix_epoch(seconds);
    let algorithms = webpki::ALL_VERIFICATION_ALGS;
    let usage = KeyUsage::server_auth();
    let verified = certificate.verify_for_usage(algorithms, &anchors, others, time, usage, None, None);
    verified.err().map(|error| Fault::Untrusted(error.to_string()))
}

fn text(moment: SystemTime) -> String {
    jiff::Timestamp::try_from(moment).map(|t| t.to_string()).unwrap_or_default()
}

/// An authority with its key.
#[derive(Debug)]
pub struct Authority {
    /// Its certificate.
    pub certificate: Trusted,
    key: KeyPair,
    /// The last second of its time.
    until: SystemTime,
}

impl Authority {
    /// A new one, with the Secret's texts.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn issue(now: SystemTime) -> Result<(Authority, Pem), rcgen::Error> {
        let key = KeyPair::generate()?;
        let pem = Pem { certificate: issue::authority(&key, now)?, key: key.serialize_pem() };
        let of = Authority::read(&pem, now);
        of.map(|authority| (authority, pem)).ok_or(rcgen::Error::CouldNotParseCertificate)
    }

    /// That of a Secret, if it can be used at a moment.
    pub fn read(pem: &Pem, at: SystemTime) -> Option<Authority> {
        let certificate = authorities(pem.certificate.as_bytes()).ok()?.into_iter().next()?;
        let key = KeyPair::from_pem(&pem.key).ok()?;
        let (_, parsed) = X509Certificate::from_der(&certificate).ok()?;
        let is_pair = parsed.is_ca() && parsed.public_key().raw == key.subject_public_key_info();
        let (from, until) = validity(&certificate)?;
        (is_pair && from <= at && at <= until).then_some(Authority { certificate, key, until })
    }

    /// A new pair for some names.
    ///
    /// # Errors
    /// A name is none.
    pub fn pair(&self, names: &[String], now: SystemTime) -> Result<Pem, rcgen::Error> {
        issue::pair(&self.key, names, now, Some(self.until))
    }
}
