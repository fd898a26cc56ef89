//! Flags of `serve` that are missing or exclude each other.

/// Flags of `serve` that are missing or exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServeConflict {
    /// No policy.
    #[error("requires policies: files or folders, with --policies or as arguments, or folders with --static")]
    NoPolicies,
    /// A review that may not be buffered.
    #[error("--max-buffered-bytes must not be less than --max-body-bytes")]
    Buffer,
    /// Secrets that cannot be read.
    #[error("--image-pull-secrets needs --registry and a cluster")]
    Secrets,
    /// Objects that cannot be written.
    #[error("--reports and --events need a cluster: --cluster, --kubeconfig or --context")]
    NoCluster,
    /// Policies of no cluster.
    #[error("--kinds needs a cluster: --cluster, --kubeconfig or --context")]
    KindsWithoutCluster,
    /// No certificate, or several.
    #[error("requires one of --tls-cert with --tls-key, --tls-self-signed, --tls-secret, and --plain-http")]
    Certificate,
    /// A Secret that no replica would renew.
    #[error("--tls-secret needs policies of a cluster: --kinds")]
    SecretWithoutKinds,
}
