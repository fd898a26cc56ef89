//! `ephor serve`: the admission webhook server.

use std::path::PathBuf;
use std::time::Duration;

use tracing_subscriber::EnvFilter;

use ephor_server::cluster::Choice;
use ephor_server::serve::http::Limits;
use ephor_server::serve::live::ConfigMaps;
use ephor_server::serve::policies::Places;
use ephor_server::serve::reports::Wanted;
use ephor_server::serve::self_signed::SelfSigned;
use ephor_server::serve::tls::Pair;
use ephor_server::serve::{AuditLog, Settings, Tls, run as serve};
use ephor_value::duration;

use super::flags::{self, Flag, Parsed, Takes, flag};
use super::outbound;

const FLAGS: &[Flag] = &[
    flag("policies", Takes::List, "files and folders with policies, exceptions and bindings"),
    flag(
        "require-policies",
        Takes::Number,
        "minimum number of usable policies; with fewer the server is not ready and refuses requests",
    )
    .default("0"),
    flag(
        "data",
        Takes::List,
        "files and folders with objects that rules look up: namespaces, ConfigMaps, roles, parameters",
    ),
    flag(
        "cluster",
        Takes::Switch,
        "external data from the cluster: that of the pod's service account, or of KUBECONFIG",
    ),
    flag("context", Takes::Text, "context of the kubeconfig file"),
    flag(
        "config-map",
        Takes::Text,
        "file with the ConfigMap of settings: resourceFilters, excludeGroups and others",
    ),
    flag("config-map-name", Takes::Text, "NAMESPACE/NAME of the ConfigMap of settings in the cluster")
        .default("kyverno/kyverno"),
    flag(
        "metrics-config-map",
        Takes::Text,
        "file with the ConfigMap of metrics: metricsExposure, namespaces, bucketBoundaries",
    ),
    flag("metrics-config-map-name", Takes::Text, "NAMESPACE/NAME of the ConfigMap of metrics in the cluster")
        .default("kyverno/kyverno-metrics"),
    flag("reports", Takes::Switch, "PolicyReports of admitted objects in the cluster"),
    flag("events", Takes::Switch, "events about violated policies in the cluster"),
    flag("omit-events", Takes::List, "reasons of events that are not written").default("PolicySkipped"),
    flag("registry", Takes::Switch, "access to image registries for rules that verify or inspect images"),
    flag(
        "image-pull-secrets",
        Takes::List,
        "Secrets with credentials for registries: NAME, in the namespace of the settings, or NAMESPACE/NAME",
    ),
    outbound::BLOCKLIST,
    outbound::ALLOWLIST,
    outbound::CA_FILE,
    flag("otlp-endpoint", Takes::Text, "URL of the OpenTelemetry collector: http://HOST:4318"),
    flag("listen", Takes::Text, "listen address for admission reviews").default("0.0.0.0:9443"),
    flag("metrics-listen", Takes::Text, "listen address for metrics and health, `none` for no listener")
        .default("0.0.0.0:8000"),
    flag("tls-cert", Takes::Text, "PEM file with the server certificate, reloaded when it changes"),
    flag("tls-key", Takes::Text, "PEM file with the key of --tls-cert"),
    flag(
        "tls-self-signed",
        Takes::Text,
        "folder for a self-signed certificate, with the certificate authority in `ca.crt`",
    ),
    flag("tls-name", Takes::List, "DNS names and addresses of the self-signed certificate")
        .default("localhost,127.0.0.1"),
    flag("plain-http", Takes::Switch, "HTTP without TLS, for a server behind a proxy that terminates TLS"),
    flag("audit-log", Takes::Text, "file of the audit log, one line of JSON per decision"),
    flag("audit-log-maxsize", Takes::Number, "size in megabytes at which the audit log is rotated")
        .default("100"),
    flag("audit-log-maxbackup", Takes::Number, "number of rotated audit logs that are retained").default("5"),
    flag("result-cache-megabytes", Takes::Number, "size of the result cache in megabytes, 0 for no cache")
        .default("32"),
    flag("max-body-bytes", Takes::Number, "maximum size of an admission review in bytes").default("50331648"),
    flag(
        "max-buffered-bytes",
        Takes::Number,
        "maximum size of all buffered admission reviews in bytes; beyond it reviews get status 429",
    )
    .default("134217728"),
    flag(
        "max-in-flight",
        Takes::Number,
        "maximum number of admission reviews in flight; beyond it reviews get status 429",
    )
    .default("512"),
    flag("max-connections", Takes::Number, "maximum number of open connections").default("16384"),
    flag("deadline-margin", Takes::Text, "safety margin subtracted from the webhook timeout")
        .default("500ms"),
    flag("shutdown-delay", Takes::Text, "time after SIGTERM in which the server keeps serving, not ready")
        .default("5s"),
    flag("grace-period", Takes::Text, "time for requests in flight to end after the shutdown delay")
        .default("20s"),
    flag("log-format", Takes::Text, "format of the log, `text` or `json`").default("text"),
    flag("log-level", Takes::Text, "level of the log: error, warn, info, debug or trace").default("info"),
    flag(
        "baseline",
        Takes::Switch,
        "additional path /baseline, which reads a review and allows it, for measurements",
    ),
];

const ABOUT: &str = "Serves the admission webhook, which admits, denies and mutates requests of a Kubernetes API server.\nPolicies, data and certificates are reloaded when their files change. Health is at /livez and /readyz, metrics are at /metrics.";

const EXAMPLES: &str = "  # policies of a folder, with a self-signed certificate\n  ephor serve --policies policies/ --tls-self-signed tls/ --tls-name ephor.ephor.svc\n\n  # certificates that another program renews, and an audit log\n  ephor serve --policies policies/ --tls-cert tls.crt --tls-key tls.key --audit-log audit.jsonl\n";

pub(super) const PAGE: super::Page =
    super::Page { name: "serve", arguments: "[POLICY...]", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command.
///
/// # Errors
/// Bad flags, certificates that cannot be read, addresses in use.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if parsed.on("help") {
        super::print(&super::command_help("serve", PAGE.arguments, ABOUT, FLAGS, EXAMPLES));
        return Ok(0);
    }
    let settings = settings(&parsed)?;
    outbound::configure(&parsed)?;
    log(&parsed)?;
    serve(settings, |addresses, first| {
        tracing::info!(
            reviews = %addresses.reviews,
            operation = addresses.operation.map(tracing::field::display),
            policies = first.policies,
            complete = first.complete,
            "serving"
        );
    })
    .map_err(|e| e.to_string())?;
    Ok(0)
}

fn settings(parsed: &Parsed) -> Result<Settings, String> {
    let paths = |flag: &str| parsed.list(flag).iter().map(PathBuf::from);
    let policies: Vec<PathBuf> =
        paths("policies").chain(parsed.arguments.iter().map(PathBuf::from)).collect();
    if policies.is_empty() {
        return Err("requires policies: files or folders, with --policies or as arguments".into());
    }
    let count = |flag: &str| match usize::try_from(parsed.number(flag)) {
        Ok(n) if n > 0 && n <= MOST => Ok(n),
        _ => Err(format!("--{flag} must be between 1 and {MOST}")),
    };
    let time = |flag: &str| {
        let nanoseconds = duration::parse(parsed.text(flag)).map_err(|e| format!("--{flag}: {e}"))?;
        u64::try_from(nanoseconds)
            .map(Duration::from_nanos)
            .map_err(|_| format!("--{flag} must not be negative"))
    };
    if parsed.number("max-buffered-bytes") < parsed.number("max-body-bytes") {
        return Err("--max-buffered-bytes must not be less than --max-body-bytes".into());
    }
    let file = |flag: &str| Some(parsed.text(flag)).filter(|t| !t.is_empty()).map(PathBuf::from);
    let audit = match parsed.text("audit-log") {
        "" => None,
        path => Some(AuditLog {
            path: path.into(),
            largest: (count("audit-log-maxsize")? as u64).saturating_mul(1 << 20),
            max_backups: u32::try_from(parsed.number("audit-log-maxbackup"))
                .map_err(|_| "--audit-log-maxbackup must not be negative or very large")?,
        }),
    };
    Ok(Settings {
        listen: parsed.text("listen").into(),
        operation: Some(parsed.text("metrics-listen").to_string()).filter(|a| a != "none"),
        places: Places {
            policies,
            data: paths("data").collect(),
            settings: file("config-map"),
            metrics: file("metrics-config-map"),
            required: usize::try_from(parsed.number("require-policies"))
                .map_err(|_| "--require-policies must not be negative")?,
        },
        settings: ConfigMaps {
            settings: place(parsed, "config-map-name")?,
            metrics: place(parsed, "metrics-config-map-name")?,
        },
        written: written(parsed)?,
        cluster: cluster(parsed),
        registry: parsed.on("registry"),
        pull_secrets: pull_secrets(parsed)?,
        result_cache: u64::try_from(parsed.number("result-cache-megabytes"))
            .map_err(|_| "--result-cache-megabytes must not be negative")?
            .saturating_mul(1 << 20),
        collector: Some(parsed.text("otlp-endpoint").to_string()).filter(|t| !t.is_empty()),
        tls: tls(parsed)?,
        audit,
        limits: Limits {
            body: count("max-body-bytes")?,
            buffered: count("max-buffered-bytes")?,
            running: count("max-in-flight")?,
            auditing: count("max-in-flight")?,
            margin: time("deadline-margin")?,
        },
        connections: count("max-connections")?,
        shutdown_delay: time("shutdown-delay")?,
        grace: time("grace-period")?,
        baseline: parsed.on("baseline"),
    })
}

/// The cluster that the flags select, if any.
fn cluster(parsed: &Parsed) -> Option<Choice> {
    let choice = super::cluster_choice(parsed);
    let is_selected = parsed.on("cluster") || !choice.kubeconfig.is_empty() || !choice.context.is_empty();
    is_selected.then_some(choice)
}

/// The Secrets with credentials for registries.
fn pull_secrets(parsed: &Parsed) -> Result<Vec<String>, String> {
    let all: Vec<String> = parsed.list("image-pull-secrets").to_vec();
    match all.is_empty() || (parsed.on("registry") && cluster(parsed).is_some()) {
        true => Ok(all),
        false => Err("--image-pull-secrets needs --registry and a cluster".into()),
    }
}

/// `NAMESPACE/NAME`.
fn place(parsed: &Parsed, flag: &str) -> Result<(String, String), String> {
    let (namespace, name) = parsed
        .text(flag)
        .split_once('/')
        .ok_or_else(|| format!("--{flag} must be NAMESPACE/NAME, such as kyverno/kyverno"))?;
    Ok((namespace.into(), name.into()))
}

/// What is written to the cluster.
fn written(parsed: &Parsed) -> Result<Wanted, String> {
    let wanted = Wanted {
        reports: parsed.on("reports"),
        events: parsed.on("events"),
        omitted: parsed.list("omit-events").iter().flat_map(|t| t.split(',')).map(String::from).collect(),
    };
    if (wanted.reports || wanted.events) && cluster(parsed).is_none() {
        return Err("--reports and --events need a cluster: --cluster, --kubeconfig or --context".into());
    }
    Ok(wanted)
}

/// The largest value of a count.
const MOST: usize = 1 << 30;

fn tls(parsed: &Parsed) -> Result<Tls, String> {
    let (certificate, key) = (parsed.text("tls-cert"), parsed.text("tls-key"));
    let folder = parsed.text("tls-self-signed");
    match (certificate.is_empty() && key.is_empty(), folder.is_empty(), parsed.on("plain-http")) {
        (false, true, false) if !certificate.is_empty() && !key.is_empty() => {
            Ok(Tls::Files(Pair { certificate: certificate.into(), key: key.into() }))
        }
        (true, false, false) => {
            let names = parsed.list("tls-name").iter().flat_map(|n| n.split(',')).map(String::from).collect();
            Ok(Tls::SelfSigned(SelfSigned { folder: folder.into(), names }))
        }
        (true, true, true) => Ok(Tls::Plain),
        _ => Err("requires one of --tls-cert with --tls-key, --tls-self-signed, and --plain-http".into()),
    }
}

fn log(parsed: &Parsed) -> Result<(), String> {
    let filter = EnvFilter::try_new(parsed.text("log-level")).map_err(|e| format!("--log-level: {e}"))?;
    let to = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let done = match parsed.text("log-format") {
        "text" => to.with_ansi(false).try_init(),
        "json" => to.json().try_init(),
        other => return Err(format!("--log-format must be text or json, not {other}")),
    };
    done.map_err(|e| e.to_string())
}
