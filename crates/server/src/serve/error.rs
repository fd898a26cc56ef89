//! Why the server cannot start, or ends.

use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};

/// See the module page. The text names the file or the address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address that cannot be bound.
    #[error("{address}: {source}")]
    Address {
        /// The address as it was given.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// An address without a port.
    #[error("`{0}` is not HOST:PORT, such as 0.0.0.0:9443")]
    NoPort(String),
    /// A file that cannot be read, written or used.
    #[error("{}: {source}", .path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// Why not.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A certificate that cannot be generated: one of the names is none, most likely.
    #[error(transparent)]
    Certificate(#[from] rcgen::Error),
    /// The cryptography in use does not know the versions of TLS.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// The system gives no thread.
    #[error(transparent)]
    Thread(#[from] io::Error),
    /// Work on another thread ended with a fault.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
    /// Two metrics have one name.
    #[error(transparent)]
    Metrics(#[from] prometheus::Error),
    /// A connection that broke.
    #[error(transparent)]
    Connection(Box<dyn StdError + Send + Sync>),
    /// The Secret with the certificate cannot be read or created.
    #[error(transparent)]
    Secret(#[from] ephor_controllers::certificates::CertificateError),
    /// There is a Secret and no cluster.
    #[error("the certificate is in a Secret, and there is no cluster")]
    NoCluster,
    /// Static manifests with a mistake.
    #[error(transparent)]
    Manifest(#[from] ephor_policies::load::manifests::ManifestError),
    /// Traces have no address that can be used.
    #[error(transparent)]
    Traces(#[from] super::traces::BuildError),
    /// The cluster does not answer, or discovery fails.
    #[error(transparent)]
    Cluster(#[from] ephor_cluster::Failure),
}

impl Error {
    /// A file or folder that the settings name and that does not exist.
    pub fn missing(path: &Path) -> Error {
        Error::in_file(path, io::Error::from(io::ErrorKind::NotFound))
    }

    /// What is wrong with a file.
    pub fn in_file(path: &Path, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error::File { path: path.to_owned(), source: source.into() }
    }
}
