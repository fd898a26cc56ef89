//! Which certificates of authorities are trusted.
//!
//! In: PEM text. Out: certificates. Without a bundle of a request's own: those of the system
//! (`SSL_CERT_FILE` and `SSL_CERT_DIR` say otherwise where they are), those that operators add, and
//! – where the system has none, as in an empty image – Mozilla's, which the program carries.

use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

use ephor_value::environment;

/// The most certificates that a bundle may have. A larger one is an error.
const MAX_CERTIFICATES: usize = 10_000;

/// A bundle without a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no certificate in PEM form")]
pub struct NoCertificate;

/// Why a file gives no certificates.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    /// It cannot be read.
    #[error("{path}: {cause}")]
    Unreadable {
        /// Its path.
        path: Box<str>,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// It has none.
    #[error("{path}: {cause}")]
    NoCertificate {
        /// Its path.
        path: Box<str>,
        /// That it has none.
        #[source]
        cause: NoCertificate,
    },
}

/// The certificates of a bundle. As for Go, what is no certificate in it does not count.
///
/// # Errors
/// There is none.
pub fn of_bundle(pem: &[u8]) -> Result<Vec<Certificate<'static>>, NoCertificate> {
    let all: Vec<Certificate<'static>> = parse_pem(pem)
        .take(MAX_CERTIFICATES)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .filter(|c| webpki::anchor_from_trusted_cert(&c.der().into()).is_ok())
        .collect();
    if all.is_empty() { Err(NoCertificate) } else { Ok(all) }
}

/// The certificates of a file.
///
/// # Errors
/// It cannot be read, or has none.
pub fn of_file(path: &str) -> Result<Vec<Certificate<'static>>, RootsError> {
    let pem = std::fs::read(path).map_err(|cause| RootsError::Unreadable { path: path.into(), cause })?;
    of_bundle(&pem).map_err(|cause| RootsError::NoCertificate { path: path.into(), cause })
}

/// What is trusted where a request brings no bundle.
pub(super) fn of_system(more: &[Certificate<'static>]) -> RootCerts {
    let found = rustls_native_certs::load_native_certs();
    let mut all: Vec<Certificate<'static>> =
        found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    let is_chosen = environment::SSL_CERT_FILE.is_set() || environment::SSL_CERT_DIR.is_set();
    // What an operator chose counts also where it cannot be used: nothing is trusted then.
    if all.is_empty() && !is_chosen {
        all.extend(
            webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|der| Certificate::from_der(der).to_owned()),
        );
    }
    all.extend(more.iter().cloned());
    RootCerts::new_with_certs(&all)
}
