//! What an attestor names that cannot be read, in Kyverno's words.

use crate::certificates;
use crate::cosign::NO_ROOT;
use crate::public_key;
use crate::sct;
use crate::timestamp::TrustError;
use ephor_external::registry::OFFLINE;

/// Why a key cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A text that begins as PEM and is none.
    #[error("failed to load public key from PEM: pem to public key: PEM decoding failed")]
    NotPem,
    /// PEM that holds no key.
    #[error("failed to load public key from PEM: pem to public key: {0}")]
    Key(#[from] public_key::PublicKeyError),
    /// A file; those that policies name are not read.
    #[error("open {0}: no such file or directory")]
    File(Box<str>),
    /// A Secret, without a cluster.
    #[error(
        "new for config: error creating REST client config in-cluster: unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
    )]
    NoCluster,
    /// A variable of the environment; it is not read for policies.
    #[error("loading URL: env var ${0} not found")]
    Environment(Box<str>),
    /// A key of GitLab, without its token.
    #[error("could not find \"GITLAB_TOKEN\"")]
    GitLab,
    /// A place that is not known.
    #[error("loading URL: unrecognized scheme: {0}://")]
    Scheme(Box<str>),
    /// A key of Vault, without its address.
    #[error("VAULT_ADDR or BAO_ADDR is not set")]
    Vault,
    /// A key of Google's service, without credentials.
    #[error(
        "new gcp kms client: credentials: could not find default credentials. See https://cloud.google.com/docs/authentication/external/set-up-adc for more information"
    )]
    GoogleCredentials,
    /// The name of a service's key that has another form.
    #[error("kms specification should be in the format {scheme}://{form}")]
    ServiceForm {
        /// The service.
        scheme: Box<str>,
        /// The form.
        form: &'static str,
    },
}

/// Why a certificate's chain is not good enough.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// It does not lead to a root.
    #[error("cert verification failed: {0}. {hint}", hint = NO_ROOT)]
    NoPath(#[source] certificates::CertificateError),
    /// The keys of logs are read later.
    #[error("none of the CTFE keys have been found")]
    NoLogKeys,
    /// The certificate holds no timestamps of logs.
    #[error(transparent)]
    NoTimestamps(sct::SctError),
}

/// What cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// A hash that is not known.
    #[error("invalid signature algorithm provided {0}")]
    Algorithm(Box<str>),
    /// Roots that would have to be fetched.
    #[error("failed to get roots from fulcio: {}", OFFLINE)]
    FetchedRoots,
    /// Roots that are no certificates.
    #[error("failed to load Root certificates: error creating root cert pool")]
    Roots,
    /// A chain that holds no certificates.
    #[error("failed to load certificates: error creating root cert pool")]
    Certificates,
    /// A key in place.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A key that is named.
    #[error("failed to load public key from {name}: {cause}")]
    NamedKey {
        /// Its name.
        name: Box<str>,
        /// Why it cannot be loaded.
        #[source]
        cause: KeyError,
    },
    /// The key of bundles.
    #[error("failed to load public key: {0}")]
    BundleKey(#[source] KeyError),
    /// The certificate of the signer.
    #[error(
        "failed to load certificate from {text}: failed to unmarshal certificate from PEM format: {cause}"
    )]
    Certificate {
        /// The text that is none.
        text: Box<str>,
        /// What is wrong with it.
        #[source]
        cause: certificates::CertificateError,
    },
    /// A certificate of the signer's chain.
    #[error(transparent)]
    ChainMember(#[from] certificates::CertificateError),
    /// The signer's chain.
    #[error("failed to load validate certificate chain: {0}")]
    Chain(#[from] ChainError),
    /// A chain that is no PEM.
    #[error("failed to load certificate chain: error during PEM decoding")]
    ChainNotPem,
    /// The key of a log that would have to be fetched; the log as Kyverno titles it.
    #[error("failed to load {0} public keys: {offline}", offline = OFFLINE)]
    FetchedLogKey(&'static str),
    /// The key of a log that is no PEM.
    #[error("failed to load {title} public keys: failed to get {name} public keys: PEM decoding failed")]
    LogKey {
        /// The log as Kyverno titles it.
        title: &'static str,
        /// The log as Kyverno names it.
        name: &'static str,
    },
    /// The name of a repository with other letters.
    #[error(
        "failed to parse signature repository {name}: repository can only contain the characters `{letters}`: {path}"
    )]
    Repository {
        /// The name.
        name: Box<str>,
        /// The part of it that has other letters.
        path: Box<str>,
        /// The letters that it may have.
        letters: &'static str,
    },
    /// A repository that is no place, in the words of the reader of places.
    #[error("{0}")]
    Place(Box<str>),
    /// Timestamp authorities.
    #[error(transparent)]
    Tsa(#[from] TrustError),
    /// The name of an image.
    #[error("failed to parse image {0}")]
    Image(Box<str>),
}
