//! The settings of a server that flags choose; their defaults stand at the flags (`src/cli/serve`).

use ephor_value::release::Release;
use std::path::PathBuf;
use std::time::Duration;

use ephor_cluster::Choice;
use ephor_controllers::certificates::Wanted;
use ephor_controllers::lease::LeaseName;
use ephor_controllers::native::Made;
use ephor_controllers::scan;
use ephor_controllers::webhooks::WebhookPlan;

use super::kind_filter::KindFilter;
use super::live::ConfigMaps;
use super::places::Places;
use super::reports;
use super::self_signed::SelfSigned;
use super::state::Limits;
use super::tls::Pair;

/// Where certificates come from.
#[derive(Clone, Debug)]
pub enum Tls {
    /// Files that another program writes.
    Files(Pair),
    /// Signed by an authority that this server creates.
    SelfSigned(SelfSigned),
    /// A Secret that the replicas share.
    Secret(Wanted),
    /// None: a proxy terminates TLS.
    Plain,
}

/// What the replica that leads keeps in step.
#[derive(Clone)]
pub struct Leading {
    /// The webhook configurations.
    pub plan: WebhookPlan,
    /// The policies of Kubernetes that are generated from Kyverno's.
    pub native: Made,
    /// The lease.
    pub lease: LeaseName,
    /// The account that scans objects and writes reports; `None` = the same as for everything else.
    pub reports: Option<Choice>,
    /// Background scans; `None` = there are none.
    pub scans: Option<scan::ScanSetup>,
    /// The account that deletes objects, likewise.
    pub cleanup: Option<Choice>,
    /// The account that generates and changes objects, likewise.
    pub background: Option<Choice>,
    /// How often rules act again on all that exists.
    pub interval: Duration,
    /// How often labels that say how long objects live are read.
    pub lifetimes: Duration,
}

/// The settings of a server.
#[derive(Clone)]
pub struct Settings {
    /// The address for reviews.
    pub listen: String,
    /// The address for metrics and health; `None` = no listener.
    pub operation: Option<String>,
    /// Policies and data.
    pub places: Places,
    /// The cluster that provides external data; `None` = files alone.
    pub cluster: Option<Choice>,
    /// The release of Kubernetes to act as; `None` = that of the cluster, else the default.
    pub kubernetes: Option<Release>,
    /// The ConfigMaps of operators in that cluster.
    pub settings: ConfigMaps,
    /// The policies that are stored in it and served; `None` = those of files alone.
    pub stored: Option<KindFilter>,
    /// What keeps the cluster in step with these; `None` = nothing does.
    pub controllers: Option<Leading>,
    /// What is written to that cluster.
    pub written: reports::Wanted,
    /// Whether image registries may be queried.
    pub registry: bool,
    /// Secrets with credentials for registries.
    pub pull_secrets: Vec<String>,
    /// The size of the result cache in bytes, roughly; 0 = no cache.
    pub result_cache: u64,
    /// The address of an OpenTelemetry collector; `None` = that of the environment, if any.
    pub collector: Option<String>,
    /// Certificates.
    pub tls: Tls,
    /// The audit log.
    pub audit: Option<AuditLog>,
    /// Limits.
    pub limits: Limits,
    /// How many connections there may be.
    pub connections: usize,
    /// How long the server keeps serving, not ready, before it stops accepting connections.
    pub shutdown_delay: Duration,
    /// How long the graceful shutdown waits for requests in flight.
    pub grace: Duration,
    /// Whether `/baseline` allows every review.
    pub baseline: bool,
}

/// Where decisions are written.
#[derive(Clone, Debug)]
pub struct AuditLog {
    /// The file.
    pub path: PathBuf,
    /// It is renamed when it would grow beyond this many bytes.
    pub largest: u64,
    /// How many rotated files are retained.
    pub max_backups: u32,
    /// Whether lines hold the objects of requests.
    pub has_objects: bool,
}
