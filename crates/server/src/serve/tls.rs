//! Certificates: from files, read again when they change, or self-signed.
//!
//! A new pair is used from the next handshake on; open connections are not affected. A pair that cannot be loaded
//! leaves the former one in use.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::Error;

/// Where the pair comes from.
#[derive(Clone, Debug)]
pub struct Pair {
    /// PEM certificates, the server's own first.
    pub certificate: PathBuf,
    /// The PEM key.
    pub key: PathBuf,
}

/// The pair in use.
#[derive(Debug)]
pub struct Certificates {
    pair: Pair,
    current: ArcSwap<CertifiedKey>,
}

impl Certificates {
    /// Reads the pair.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(pair: Pair) -> Result<Certificates, Error> {
        let current = ArcSwap::from_pointee(read(&pair)?);
        Ok(Certificates { pair, current })
    }

    /// The files.
    pub fn pair(&self) -> &Pair {
        &self.pair
    }

    /// Reads the pair again; whether it is another one.
    ///
    /// # Errors
    /// What is wrong with it; the former one stays in use.
    pub fn reload(&self) -> Result<bool, Error> {
        let next = read(&self.pair)?;
        if next.cert == self.current.load().cert {
            return Ok(false);
        }
        self.current.store(Arc::new(next));
        Ok(true)
    }

    /// The settings of a listener that uses the pair.
    ///
    /// # Errors
    /// The cryptography in use does not know the versions of TLS.
    pub fn config(self: &Arc<Certificates>) -> Result<Arc<ServerConfig>, Error> {
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Resolver(self.clone())));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

#[derive(Debug)]
struct Resolver(Arc<Certificates>);

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.current.load_full())
    }
}

fn read(pair: &Pair) -> Result<CertifiedKey, Error> {
    let of_pem = |path: &Path, e: rustls::pki_types::pem::Error| Error::in_file(path, e.to_string());
    let of_tls = |e: rustls::Error| Error::in_file(&pair.key, e);
    let certificate = &pair.certificate;
    let chain: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_file_iter(certificate).map_err(|e| of_pem(certificate, e))?.collect();
    let chain = chain.map_err(|e| of_pem(certificate, e))?;
    if chain.is_empty() {
        return Err(Error::in_file(certificate, "holds no certificate"));
    }
    let key = PrivateKeyDer::from_pem_file(&pair.key).map_err(|e| of_pem(&pair.key, e))?;
    let key = CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(of_tls)?;
    key.keys_match().map_err(of_tls)?;
    Ok(key)
}
