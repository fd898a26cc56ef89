//! `ephor serve`: the admission webhook server.
//!
//! - `conflict`: flags of `serve` that are missing or exclude each other.

pub(super) mod conflict;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{ValueEnum, ValueHint};
use ephor_cluster::Choice;
use ephor_controllers::lease::LeaseName;
use ephor_controllers::native::Made;
use ephor_controllers::reports::{Form, ReportOptions, Subject};
use ephor_controllers::scan::native::Reported;
use ephor_controllers::webhooks::WebhookPlan;
use ephor_controllers::{certificates, scan};
use ephor_engine::Status;
use ephor_kubernetes::groups::PolicyNames;
use ephor_server::serve::check::Check;
use ephor_server::serve::kind_filter::KindFilter;
use ephor_server::serve::live::ConfigMaps;
use ephor_server::serve::places::Places;
use ephor_server::serve::reports::Wanted;
use ephor_server::serve::run as serve;
use ephor_server::serve::self_signed::SelfSigned;
use ephor_server::serve::settings::AuditLog;
use ephor_server::serve::settings::Tls;
use ephor_server::serve::settings::{Leading, Settings};
use ephor_server::serve::state::Limits;
use ephor_server::serve::tls::Pair;
use tracing_subscriber::EnvFilter;

use super::CommandError;
use super::flags::{Record, fields};
use super::outbound::{self, Outbound};
use super::recorded::{RecordingFlags, Time, finish};
use super::releases;
use super::webhook_options::{self, ServerOptions, WebhookOptions};
use crate::cli::arguments::{Global, given};
use crate::cli::bundle::requirements;
use crate::cli::flag_values::{LogFilter, Namespaced, count, log_filter, namespaced, not_negative, time};
use crate::cli::serve::conflict::ServeConflict;
use crate::cli::{arguments, console};
use ephor_value::release::Release;

/// Serves the admission webhook
///
/// It admits, denies and mutates requests of a Kubernetes API server. Policies, data and
/// certificates are reloaded when their files change. Health is at /livez and /readyz, metrics are
/// at /metrics.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # policies of a folder, with a self-signed certificate
  ephor serve --policies policies/ --tls-self-signed tls/ --tls-name ephor.ephor.svc

  # certificates that another program renews, and an audit log
  ephor serve --policies policies/ --tls-cert tls.crt --tls-key tls.key --audit-log audit.jsonl

Exit codes:
  0  the server has shut down after SIGTERM; with --check: nothing is wrong
  1  with --check: something that is loaded cannot be used
  2  the server cannot start")]
pub struct ServeArgs {
    /// load policies, data and certificates, print what is loaded and what is wrong, and exit
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    places: PlaceOptions,
    #[command(flatten)]
    cluster: ServeClusterOptions,
    #[command(flatten)]
    stored: StoredOptions,
    #[command(flatten)]
    images: ImageOptions,
    #[command(flatten)]
    outbound: Outbound,
    #[command(flatten)]
    listeners: Listeners,
    #[command(flatten)]
    logs: Logs,
    #[command(flatten)]
    recording: RecordingFlags,
    #[command(flatten)]
    limits: LimitOptions,
}

/// What is loaded.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Policies and data")]
struct PlaceOptions {
    /// files, folders, bundles (oci://…) and sets of the library (builtin://…) with policies,
    /// exceptions and bindings
    #[arg(value_name = "POLICY", value_hint = ValueHint::AnyPath)]
    arguments: Vec<String>,
    /// files, folders, bundles (oci://…) and sets of the library (builtin://…) with policies,
    /// exceptions and bindings
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    policies: Vec<Record>,
    /// folder with static manifests of an API server: policies of Kubernetes and their bindings,
    /// under the rules of its staticManifestsDir; once for each of its plugins
    #[arg(long = "static", value_name = "DIR", value_hint = ValueHint::DirPath)]
    manifests: Vec<Record>,
    /// minimum number of usable policies; with fewer the server is not ready and refuses requests
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = not_negative)]
    require_policies: usize,
    /// files and folders with objects that rules look up: namespaces, ConfigMaps, roles and their
    /// bindings, parameters, CustomResourceDefinitions, GlobalContextEntries
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    data: Vec<Record>,
    /// file with the ConfigMap of settings: resourceFilters, excludeGroups and others
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config_map: Option<String>,
    /// file with the ConfigMap of metrics: metricsExposure, namespaces, bucketBoundaries
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    metrics_config_map: Option<String>,
}

/// What a cluster gives and takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster")]
struct ServeClusterOptions {
    /// external data from the cluster, too: that of the pod's service account, or of KUBECONFIG
    #[arg(long)]
    cluster: bool,
    /// context of the kubeconfig file
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// release of Kubernetes whose policies and objects apply [default: of the cluster, else 1.36]
    #[arg(long, value_name = "VERSION", value_parser = releases::parse)]
    kubernetes: Option<Release>,
    /// policies of the cluster in ephor.dev and policies.ephor.dev instead of kyverno.io and
    /// policies.kyverno.io
    #[arg(long, requires = "kinds")]
    own_group: bool,
    /// ConfigMap of settings in the cluster
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "kyverno/kyverno", value_parser = namespaced)]
    config_map_name: Namespaced,
    /// ConfigMap of metrics in the cluster
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "kyverno/kyverno-metrics", value_parser = namespaced)]
    metrics_config_map_name: Namespaced,
    /// PolicyReports of admitted objects in the cluster
    #[arg(long)]
    reports: bool,
    /// reports of openreports.io instead of PolicyReports
    #[arg(long)]
    openreports: bool,
    /// results that are part of reports
    #[arg(long, value_name = "RESULT", value_delimiter = ',', default_value = "pass,fail,error,warn,skip", value_parser = PossibleValuesParser::new(["pass", "fail", "error", "warn", "skip"]))]
    report_results: Vec<String>,
    /// rules whose results are part of reports
    #[arg(long, value_name = "RULE", value_delimiter = ',', default_value = "validate,mutate,mutateExisting,generate,imageVerify", value_parser = PossibleValuesParser::new(SUBJECTS.map(|(word, _)| word)))]
    report_rules: Vec<String>,
    /// events about violated policies in the cluster
    #[arg(long)]
    events: bool,
    /// reasons of events that are not written
    #[arg(long, value_name = "REASON", default_value = "PolicySkipped")]
    omit_events: Vec<Record>,
}

/// What `--report-rules` takes.
const SUBJECTS: [(&str, Subject); 5] = [
    ("validate", Subject::Validate),
    ("mutate", Subject::Mutate),
    ("mutateExisting", Subject::MutateExisting),
    ("generate", Subject::Generate),
    ("imageVerify", Subject::VerifyImages),
];

/// Policies that are stored in the cluster.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Policies of the cluster")]
struct StoredOptions {
    /// kinds of policies that are read from the cluster and enforced: legacy (kyverno.io), cel
    /// (policies.kyverno.io), all, or kinds such as ClusterPolicy
    #[arg(long, value_name = "KIND")]
    kinds: Vec<Record>,
    /// namespace whose PolicyExceptions count, * for all
    #[arg(long, value_name = "NAME")]
    exceptions: Option<String>,
    /// policies of Kubernetes that are generated from policies which enable it
    #[arg(long, value_name = "KIND", default_value = "validating", value_parser = PossibleValuesParser::new(["validating", "mutating", "none"]))]
    native_policies: Vec<String>,
    /// replacement of webhook configurations of the same names that another program owns
    #[arg(long)]
    take_over: bool,
    /// namespace and name of the lease that the leading replica holds (default ephor in the
    /// namespace of the service)
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = namespaced)]
    lease: Option<Namespaced>,
    /// kubeconfig file of the account that scans objects and writes reports (default the same as
    /// for everything else)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    reports_kubeconfig: Option<String>,
    /// PolicyReports of the objects that are in the cluster already
    #[arg(long, value_name = "SWITCH", default_value = "on", value_parser = PossibleValuesParser::new(["on", "off"]))]
    background_scan: String,
    /// how often objects are scanned even if nothing changes, 0 for never
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = time)]
    background_scan_interval: Duration,
    /// number of shards in which the objects of background scans are divided over all replicas;
    /// with one, the leading replica scans
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=256))]
    scan_shards: u32,
    /// policies of Kubernetes with the label reports.kyverno.io/enabled that are part of scans
    #[arg(long, value_name = "KIND", default_value = "validating", value_parser = PossibleValuesParser::new(["validating", "mutating", "none"]))]
    native_reports: Vec<String>,
    /// kubeconfig file of the account that deletes objects (default the same as for everything
    /// else)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    cleanup_kubeconfig: Option<String>,
    /// kubeconfig file of the account that generates and changes objects (default the same as for
    /// everything else)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    background_kubeconfig: Option<String>,
    /// how often generate rules and rules that change existing objects act again on all that exists
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = time)]
    background_interval: Duration,
    /// how often labels that say how long objects live are read, 0 for never
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = time)]
    ttl_interval: Duration,
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    webhooks: WebhookOptions,
}

/// Registries of images.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Images")]
struct ImageOptions {
    /// access to image registries for rules that verify or inspect images; answers are cached for a
    /// minute
    #[arg(long)]
    registry: bool,
    /// Secrets with credentials for registries: NAME, in the namespace of the settings, or
    /// NAMESPACE/NAME
    #[arg(long, value_name = "SECRET")]
    image_pull_secrets: Vec<Record>,
}

/// Addresses and certificates.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Listeners and certificates")]
struct Listeners {
    /// listen address for admission reviews
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9443")]
    listen: String,
    /// listen address for metrics and health, `none` for no listener
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8000")]
    metrics_listen: String,
    /// PEM file with the server certificate, reloaded when it changes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tls_cert: Option<String>,
    /// PEM file with the key of --tls-cert
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tls_key: Option<String>,
    /// folder for a self-signed certificate (150 days), with the certificate authority (365 days)
    /// in `ca.crt`; both are renewed 15 days before they expire
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    tls_self_signed: Option<String>,
    /// Secret for a certificate that all replicas share: created by the first one unless it exists,
    /// renewed by the one that leads while ephor wrote it, only read when another program did
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = namespaced)]
    tls_secret: Option<Namespaced>,
    /// DNS names and addresses of the self-signed certificate, or of the one in a Secret besides
    /// those of the service
    #[arg(long, value_name = "NAME", default_value = "localhost,127.0.0.1")]
    tls_name: Vec<Record>,
    /// HTTP without TLS, for a server behind a proxy that terminates TLS
    #[arg(long)]
    plain_http: bool,
}

/// What is recorded.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Logs and traces")]
struct Logs {
    /// format of the log
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// level of the log: error, warn, info, debug or trace, or a filter of `tracing`
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = log_filter, add = clap_complete::ArgValueCandidates::new(log_levels))]
    log_level: LogFilter,
    /// file of the audit log, one line of JSON per decision
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    audit_log: Option<String>,
    /// size in megabytes at which the audit log is rotated
    #[arg(long, value_name = "MEGABYTES", default_value = "100", value_parser = count)]
    audit_log_maxsize: usize,
    /// number of rotated audit logs that are retained
    #[arg(long, value_name = "NUMBER", default_value = "5", value_parser = not_negative)]
    audit_log_maxbackup: usize,
    /// objects of requests in the audit log, so that `apply -r FILE` runs policies on them; none of
    /// Secrets
    #[arg(long, requires = "audit_log")]
    audit_log_objects: bool,
    /// URL of the OpenTelemetry collector: http://HOST:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT)
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    otlp_endpoint: Option<String>,
}

/// Bounds of time and memory.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitOptions {
    /// size of the result cache in megabytes, 0 for no cache
    #[arg(long, value_name = "MEGABYTES", default_value = "16", value_parser = not_negative)]
    result_cache_megabytes: usize,
    /// maximum size of an admission review in bytes
    #[arg(long, value_name = "BYTES", default_value = "50331648", value_parser = count)]
    max_body_bytes: usize,
    /// maximum size of all buffered admission reviews in bytes; beyond it reviews get status 429
    #[arg(long, value_name = "BYTES", default_value = "134217728", value_parser = count)]
    max_buffered_bytes: usize,
    /// maximum number of admission reviews in flight; beyond it reviews get status 429
    #[arg(long, value_name = "NUMBER", default_value = "512", value_parser = count)]
    max_in_flight: usize,
    /// maximum number of open connections
    #[arg(long, value_name = "NUMBER", default_value = "16384", value_parser = count)]
    max_connections: usize,
    /// safety margin subtracted from the webhook timeout
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = time)]
    deadline_margin: Duration,
    /// time after SIGTERM in which the server keeps serving, not ready
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = time)]
    shutdown_delay: Duration,
    /// time for requests in flight to end after the shutdown delay
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = time)]
    grace_period: Duration,
    /// additional path /baseline, which reads a review and allows it, for measurements
    #[arg(long)]
    baseline: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// Runs the command.
///
/// # Errors
/// Flags that exclude each other, certificates that cannot be read, addresses in use.
pub fn run(args: &ServeArgs, global: &Global) -> Result<i32, CommandError> {
    let settings = settings(args, global)?;
    let recording = args.recording.open(Time::Goes)?;
    outbound::configure(&args.outbound, recording.clone())?;
    requirements::fetch(settings.places.policies.iter().filter_map(|path| path.to_str()))?;
    log(&args.logs)?;
    if args.check {
        let check = Check::of(&settings)?;
        console::print(&check.to_string());
        return Ok(i32::from(!check.is_good()));
    }
    serve(settings, |addresses, first| {
        tracing::info!(
            reviews = %addresses.reviews,
            operation = addresses.operation.map(tracing::field::display),
            policies = first.policies,
            complete = first.complete,
            "serving"
        );
    })?;
    if let Some(recording) = recording {
        finish(&recording)?;
    }
    Ok(0)
}

fn settings(args: &ServeArgs, global: &Global) -> Result<Settings, CommandError> {
    let (places, limits) = (&args.places, &args.limits);
    let paths = |list: &[Record]| fields(list).into_iter().map(PathBuf::from).collect::<Vec<_>>();
    let mut policies = paths(&places.policies);
    policies.extend(places.arguments.iter().map(PathBuf::from));
    let cluster = cluster(args, global);
    let stored = stored(&args.stored, cluster.is_some())?;
    if policies.is_empty() && places.manifests.is_empty() && stored.is_none() {
        return Err(ServeConflict::NoPolicies.into());
    }
    if limits.max_buffered_bytes < limits.max_body_bytes {
        return Err(ServeConflict::Buffer.into());
    }
    let named = |name: &Namespaced| (name.0.clone(), name.1.clone());
    let written = written(&args.cluster, cluster.is_some())?;
    let controllers = stored.as_ref().map(|stored| leading(args, stored, &written));
    let audit = given(&args.logs.audit_log).map(|path| AuditLog {
        path: path.into(),
        largest: (args.logs.audit_log_maxsize as u64).saturating_mul(1 << 20),
        max_backups: u32::try_from(args.logs.audit_log_maxbackup).unwrap_or(u32::MAX),
        has_objects: args.logs.audit_log_objects,
    });
    Ok(Settings {
        listen: args.listeners.listen.clone(),
        operation: Some(args.listeners.metrics_listen.clone()).filter(|a| a != "none"),
        places: Places {
            policies,
            manifests: paths(&places.manifests),
            data: paths(&places.data),
            settings: given(&places.config_map).map(PathBuf::from),
            metrics: given(&places.metrics_config_map).map(PathBuf::from),
            required: places.require_policies,
        },
        settings: ConfigMaps {
            settings: named(&args.cluster.config_map_name),
            metrics: named(&args.cluster.metrics_config_map_name),
        },
        stored,
        controllers,
        written,
        registry: args.images.registry,
        pull_secrets: pull_secrets(&args.images, cluster.is_some())?,
        cluster,
        kubernetes: args.cluster.kubernetes,
        result_cache: (limits.result_cache_megabytes as u64).saturating_mul(1 << 20),
        collector: given(&args.logs.otlp_endpoint).map(String::from),
        tls: tls(args)?,
        audit,
        limits: Limits {
            body: limits.max_body_bytes,
            buffered: limits.max_buffered_bytes,
            running: limits.max_in_flight,
            auditing: limits.max_in_flight,
            margin: limits.deadline_margin,
        },
        connections: limits.max_connections,
        shutdown_delay: limits.shutdown_delay,
        grace: limits.grace_period,
        baseline: limits.baseline,
    })
}

/// The names of the groups in which the cluster stores policies.
fn names(args: &ServeArgs) -> PolicyNames {
    if args.cluster.own_group { PolicyNames::Own } else { PolicyNames::Kyverno }
}

/// The cluster that the flags select, if any.
fn cluster(args: &ServeArgs, global: &Global) -> Option<Choice> {
    let choice = arguments::cluster_choice(given(&args.cluster.context), global);
    let is_selected = args.cluster.cluster || !choice.kubeconfig.is_empty() || !choice.context.is_empty();
    is_selected.then_some(Choice { names: names(args), ..choice })
}

/// The policies of the cluster that are served.
fn stored(options: &StoredOptions, has_cluster: bool) -> Result<Option<KindFilter>, CommandError> {
    let words = fields(&options.kinds);
    if words.is_empty() {
        return Ok(None);
    }
    if !has_cluster {
        return Err(ServeConflict::KindsWithoutCluster.into());
    }
    let mut chosen = KindFilter::of(words.iter().map(String::as_str))?;
    chosen.exceptions = given(&options.exceptions).map(String::from);
    Ok(Some(chosen))
}

/// What the leading replica keeps in step.
fn leading(args: &ServeArgs, stored: &KindFilter, written: &Wanted) -> Leading {
    let StoredOptions { server, webhooks, lease, take_over, native_policies, .. } = &args.stored;
    let makes = |kind: &str| native_policies.iter().any(|word| word == kind);
    let native = Made { validating: makes("validating"), mutating: makes("mutating") };
    let authority = match (given(&server.ca_bundle), given(&args.listeners.tls_self_signed)) {
        (Some(path), _) => Some(PathBuf::from(path)),
        (None, Some(folder)) => Some(PathBuf::from(folder).join("ca.crt")),
        (None, None) => None,
    };
    let served = stored.clone();
    let plan = WebhookPlan {
        options: webhook_options::options(server, webhooks),
        authority,
        secret: None,
        take_over: *take_over,
        is_served: Arc::new(move |group, kind| served.has(group, kind)),
    };
    let (namespace, name) = match lease {
        Some(Namespaced(namespace, name)) => (namespace.clone(), name.clone()),
        None => (server.namespace().to_string(), "ephor".to_string()),
    };
    let identity = std::env::var("POD_NAME").or_else(|_| std::env::var("HOSTNAME"));
    let identity = identity.unwrap_or_else(|_| "ephor".into());
    let account = |flag: &Option<String>| {
        given(flag).map(|path| Choice { kubeconfig: path.into(), names: names(args), ..Choice::default() })
    };
    let (reports, cleanup) =
        (account(&args.stored.reports_kubeconfig), account(&args.stored.cleanup_kubeconfig));
    let background = account(&args.stored.background_kubeconfig);
    let (lifetimes, interval) = (args.stored.ttl_interval, args.stored.background_interval);
    let identity = format!("{identity}_{}", std::process::id());
    let lease = LeaseName { namespace, name, identity };
    let scans = scans(&args.stored, written);
    Leading { plan, native, lease, reports, cleanup, background, interval, lifetimes, scans }
}

/// How objects are scanned, if they are.
fn scans(options: &StoredOptions, written: &Wanted) -> Option<scan::ScanSetup> {
    let has = |kind: &str| options.native_reports.iter().any(|word| word == kind);
    let native = Reported { validating: has("validating"), mutating: has("mutating") };
    let journal = written.journal("kyverno-scan");
    let interval = options.background_scan_interval;
    let reports = written.options.clone();
    let shards = NonZero::new(options.scan_shards).unwrap_or(NonZero::<u32>::MIN);
    (options.background_scan == "on").then_some(scan::ScanSetup {
        interval,
        native,
        shards,
        reports,
        journal,
    })
}

/// The Secrets with credentials for registries.
fn pull_secrets(images: &ImageOptions, has_cluster: bool) -> Result<Vec<String>, ServeConflict> {
    let all = fields(&images.image_pull_secrets);
    match all.is_empty() || (images.registry && has_cluster) {
        true => Ok(all),
        false => Err(ServeConflict::Secrets),
    }
}

/// What is written to the cluster.
fn written(options: &ServeClusterOptions, has_cluster: bool) -> Result<Wanted, ServeConflict> {
    if (options.reports || options.events) && !has_cluster {
        return Err(ServeConflict::NoCluster);
    }
    let form = if options.openreports { Form::OpenReports } else { Form::PolicyReports };
    let omitted = fields(&options.omit_events);
    let has_result = |status: &Status| options.report_results.iter().any(|word| word == status.name());
    let has_rule = |(word, _): &(&str, Subject)| options.report_rules.iter().any(|given| given == word);
    let options_of_reports = ReportOptions {
        form,
        without_results: [Status::Pass, Status::Fail, Status::Error, Status::Warn, Status::Skip]
            .into_iter()
            .filter(|status| !has_result(status))
            .collect(),
        without_rules: SUBJECTS.into_iter().filter(|s| !has_rule(s)).map(|(_, of)| of).collect(),
    };
    Ok(Wanted { reports: options.reports, options: options_of_reports, events: options.events, omitted })
}

fn tls(args: &ServeArgs) -> Result<Tls, ServeConflict> {
    let options = &args.listeners;
    let pair = (given(&options.tls_cert), given(&options.tls_key));
    match (pair, given(&options.tls_self_signed), &options.tls_secret, options.plain_http) {
        ((Some(certificate), Some(key)), None, None, false) => {
            Ok(Tls::Files(Pair { certificate: certificate.into(), key: key.into() }))
        }
        ((None, None), Some(folder), None, false) => {
            Ok(Tls::SelfSigned(SelfSigned { folder: folder.into(), names: fields(&options.tls_name) }))
        }
        ((None, None), None, Some(_), false) if args.stored.kinds.is_empty() => {
            Err(ServeConflict::SecretWithoutKinds)
        }
        ((None, None), None, Some(Namespaced(namespace, name)), false) => {
            let mut names = args.stored.server.names();
            let host = names.last().cloned().unwrap_or_default();
            names.extend(fields(&options.tls_name));
            let (namespace, name) = (namespace.clone(), name.clone());
            Ok(Tls::Secret(certificates::Wanted { namespace, name, names, host }))
        }
        ((None, None), None, None, true) => Ok(Tls::Plain),
        _ => Err(ServeConflict::Certificate),
    }
}

fn log_levels() -> Vec<clap_complete::CompletionCandidate> {
    ["error", "warn", "info", "debug", "trace", "off"].map(Into::into).into()
}

fn log(options: &Logs) -> Result<(), CommandError> {
    // The flag was read with the same parser.
    let filter = EnvFilter::try_new(&options.log_level.0).unwrap_or_default();
    let to = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let done = match options.log_format {
        LogFormat::Text => to.with_ansi(false).try_init(),
        LogFormat::Json => to.json().try_init(),
    };
    done.map_err(CommandError::Log)
}
