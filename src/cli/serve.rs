//! `ephor serve`: the admission webhook server.

use std::path::PathBuf;
use std::time::Duration;

use tracing_subscriber::EnvFilter;

use ephor_server::cluster::Choice;
use ephor_server::serve::http::Limits;
use ephor_server::serve::live::ConfigMaps;
use ephor_server::serve::policies::Places;
use ephor_server::serve::reports::Wanted;
use ephor_server::serve::selfmade::SelfMade;
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
        "refuse requests, and be not ready, while fewer policies than this can be evaluated",
    )
    .default("0"),
    flag(
        "data",
        Takes::List,
        "files and folders with objects that rules ask for: namespaces, ConfigMaps, roles, parameters",
    ),
    flag(
        "cluster",
        Takes::Switch,
        "take data of rules from the cluster: that of the pod's account, or of KUBECONFIG",
    ),
    flag("context", Takes::Text, "context of that file"),
    flag(
        "config-map",
        Takes::Text,
        "file with a ConfigMap of settings: resourceFilters, excludeGroups and others",
    ),
    flag("config-map-name", Takes::Text, "NAMESPACE/NAME of that ConfigMap in the cluster")
        .default("kyverno/kyverno"),
    flag(
        "metrics-config-map",
        Takes::Text,
        "file with a ConfigMap about metrics: metricsExposure, namespaces, bucketBoundaries",
    ),
    flag("metrics-config-map-name", Takes::Text, "NAMESPACE/NAME of that ConfigMap in the cluster")
        .default("kyverno/kyverno-metrics"),
    flag("reports", Takes::Switch, "write PolicyReports of admitted objects to the cluster"),
    flag("events", Takes::Switch, "write events about violated policies to the cluster"),
    flag("omit-events", Takes::List, "reasons of events that are not written").default("PolicySkipped"),
    flag("registry", Takes::Switch, "ask registries of images for what rules want to know"),
    flag(
        "image-pull-secrets",
        Takes::List,
        "Secrets with credentials for registries: NAME, in the namespace of the settings, or NAMESPACE/NAME",
    ),
    outbound::BLOCKLIST,
    outbound::ALLOWLIST,
    outbound::CA_FILE,
    flag("otlp-endpoint", Takes::Text, "OpenTelemetry collector to send spans to: http://HOST:4318"),
    flag("listen", Takes::Text, "address for reviews").default("0.0.0.0:9443"),
    flag("metrics-listen", Takes::Text, "address for metrics and health, `none` for no such")
        .default("0.0.0.0:8000"),
    flag("tls-cert", Takes::Text, "PEM file with the certificate; read again when it changes"),
    flag("tls-key", Takes::Text, "PEM file with its key"),
    flag(
        "tls-self-signed",
        Takes::Text,
        "folder for a certificate made here, with the authority in `ca.crt`",
    ),
    flag("tls-name", Takes::List, "names that such a certificate is for").default("localhost,127.0.0.1"),
    flag("plain-http", Takes::Switch, "do not encrypt; for servers behind something that does"),
    flag("audit-log", Takes::Text, "file for a line of JSON for each decision"),
    flag("audit-log-megabytes", Takes::Number, "size at which that file is renamed").default("100"),
    flag("audit-log-keep", Takes::Number, "how many renamed files are kept").default("5"),
    flag(
        "remember-megabytes",
        Takes::Number,
        "memory for results that requests which agree in what rules read share; 0 for none",
    )
    .default("32"),
    flag("max-body-bytes", Takes::Number, "largest review").default("50331648"),
    flag(
        "max-buffered-bytes",
        Takes::Number,
        "bytes of reviews that may be held in all; when there is no room, reviews are refused with status 429",
    )
    .default("134217728"),
    flag(
        "max-in-flight",
        Takes::Number,
        "reviews that may be under way, counted when they are there; more are refused with status 429",
    )
    .default("512"),
    flag("max-connections", Takes::Number, "connections that there may be").default("16384"),
    flag("deadline-margin", Takes::Text, "what is left of a request's time for the way back")
        .default("500ms"),
    flag("drain-period", Takes::Text, "how long the server goes on, not ready, after it was told to end")
        .default("5s"),
    flag("grace-period", Takes::Text, "how long requests under way are waited for then").default("20s"),
    flag("log-format", Takes::Text, "`text` or `json`").default("text"),
    flag("log-level", Takes::Text, "error, warn, info, debug or trace").default("info"),
    flag(
        "baseline",
        Takes::Switch,
        "answer /baseline too, which reads a review and allows it, for measurements",
    ),
];

const ABOUT: &str = "Decides about requests to a Kubernetes API server, as a webhook that the server calls.\nPolicies, data and certificates are read again when their files change. /livez, /readyz and /metrics tell how it goes.";

const EXAMPLES: &str = "  # policies of a folder, with a certificate made here\n  ephor serve --policies policies/ --tls-self-signed tls/ --tls-name ephor.ephor.svc\n\n  # with certificates that something else renews, and an audit stream\n  ephor serve --policies policies/ --tls-cert tls.crt --tls-key tls.key --audit-log audit.jsonl\n";

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
    })?;
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
            largest: (count("audit-log-megabytes")? as u64).saturating_mul(1 << 20),
            kept: u32::try_from(parsed.number("audit-log-keep"))
                .map_err(|_| "--audit-log-keep must not be negative or very large")?,
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
        remembered: u64::try_from(parsed.number("remember-megabytes"))
            .map_err(|_| "--remember-megabytes must not be negative")?
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
        drain: time("drain-period")?,
        grace: time("grace-period")?,
        baseline: parsed.on("baseline"),
    })
}

/// The cluster that is asked for, if any.
fn cluster(parsed: &Parsed) -> Option<Choice> {
    let choice = super::cluster_choice(parsed);
    let is_asked = parsed.on("cluster") || !choice.kubeconfig.is_empty() || !choice.context.is_empty();
    is_asked.then_some(choice)
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

/// The largest count that makes sense anywhere.
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
            Ok(Tls::SelfMade(SelfMade { folder: folder.into(), names }))
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
