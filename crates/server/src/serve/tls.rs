//! Certificates: from files or a Secret, read again when they change.
//!
//! A new pair is used from the next handshake on; open connections are not affected. A pair that
//! cannot be loaded leaves the former one in use.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use arc_swap::ArcSwapOption;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use ephor_controllers::certificates::ServerSecret;
use ephor_controllers::certificates::content::{PairError, certified, validity};

use super::Error;

/// Where the pair comes from.
#[derive(Clone, Debug)]
pub struct Pair {
    /// PEM certificates, the server's own first.
    pub certificate: PathBuf,
    /// The PEM key.
    pub key: PathBuf,
}

/// Where the pair in use comes from.
#[derive(Debug)]
enum From {
    Files(Pair),
    Secret(Arc<ServerSecret>),
}

/// The pair in use.
#[derive(Debug)]
pub struct Certificates {
    from: From,
    /// `None` = there is none yet, and no connection succeeds.
    current: ArcSwapOption<CertifiedKey>,
}

impl Certificates {
    /// Reads the pair of files.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(pair: Pair) -> Result<Certificates, Error> {
        let current = ArcSwapOption::from_pointee(read(&pair)?);
        Ok(Certificates { from: From::Files(pair), current })
    }

    /// Uses the pair of a Secret, as far as it is known.
    pub fn of_secret(secret: Arc<ServerSecret>) -> Certificates {
        let certificates = Certificates { from: From::Secret(secret), current: ArcSwapOption::empty() };
        if let Err(error) = certificates.reload() {
            tracing::error!(error = %error, "the certificate cannot be used");
        }
        certificates
    }

    /// The Secret, if the pair comes from one.
    pub fn secret(&self) -> Option<&Arc<ServerSecret>> {
        match &self.from {
            From::Files(_) => None,
            From::Secret(secret) => Some(secret),
        }
    }

    /// Whether there is a pair.
    pub fn is_usable(&self) -> bool {
        self.current.load().is_some()
    }

    /// When the certificate in use expires, in seconds since 1970.
    pub fn expiry(&self) -> Option<i64> {
        let current = self.current.load();
        let (_, until) = validity(current.as_ref()?.cert.first()?)?;
        i64::try_from(until.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
    }

    /// Reads the pair again; whether it is another one.
    ///
    /// # Errors
    /// What is wrong with it; the former one stays in use.
    pub fn reload(&self) -> Result<bool, Error> {
        let next = match &self.from {
            From::Files(pair) => read(pair)?,
            From::Secret(secret) => {
                let Some(pair) = secret.pair() else { return Ok(false) };
                let read = certified(pair.certificate.as_bytes(), pair.key.as_bytes());
                read.map_err(|cause| Error::in_file(Path::new(&secret.name()), cause))?
            }
        };
        if self.current.load().as_ref().is_some_and(|current| current.cert == next.cert) {
            return Ok(false);
        }
        self.current.store(Some(Arc::new(next)));
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
        self.0.current.load_full()
    }
}

fn read(pair: &Pair) -> Result<CertifiedKey, Error> {
    let bytes = |path: &Path| std::fs::read(path).map_err(|e| Error::in_file(path, e));
    certified(&bytes(&pair.certificate)?, &bytes(&pair.key)?).map_err(|cause| {
        let is_certificate = matches!(cause, PairError::Certificate(_) | PairError::NoCertificate);
        Error::in_file(if is_certificate { &pair.certificate } else { &pair.key }, cause)
    })
}
