//! The admission webhook server.
//!
//! In: policies and data in files, certificates, reviews over HTTPS. Out: answers, metrics, an
//! audit log. Deciding is `ephor_admission`'s; here is what a server needs around it. Semantics:
//! `docs/reference/serve.md`.
//!
//! - `answering`: answering one review whose body is there.
//! - [`audit`]: the audit log: a line of JSON for every decision.
//! - `body_reader`: taking in the bodies of reviews.
//! - [`catalog`]: registering metrics, with descriptions for `docs/reference/metrics.md`.
//! - [`check`]: `--check`: what a server with these settings would load.
//! - `counters`: counters of results, found without reading all their labels.
//! - `counting`: counting results.
//! - `denials`: denials in the log.
//! - `error`: why the server cannot start, or ends.
//! - `families`: the metrics that operators can configure: which labels and buckets they have,
//!   and what is counted at all.
//! - [`http`]: HTTP: reviews in, answers out; health and metrics.
//! - [`kind_filter`]: the kinds of policies that are served from a cluster.
//! - `last_good_files`: files in use: what was last loaded from each, and when it is replaced.
//! - `last_good_manifests`: static manifests in use, all or nothing.
//! - [`latency`]: whether decisions are slow.
//! - [`listener`]: connections: accepting them, encrypting them, ending them.
//! - [`live`]: the data of rules from a cluster.
//! - [`loaded`]: which policies are loaded, and what a reload changed.
//! - `memory`: the memory of the process: what it requests from the system.
//! - [`metric`]: what a metric is: name, type, labels, text.
//! - [`metrics`]: the metrics, one by one: their names, texts and labels, and when they change.
//! - `operation`: the thread of health and metrics, which nothing else uses: no evaluation and no
//!   review can keep it from answering.
//! - `pitfalls`: where Kyverno 1.19.1 does what the users of a policy do not expect, in the log
//!   and in a metric: no answer says it.
//! - [`places`]: where a server reads policies, data and settings, and what it reads there.
//! - [`policies`]: policies and data that are watched.
//! - `policy_reviews`: reviews of policies themselves, over HTTP.
//! - `process`: what the system says about the process, as metrics.
//! - `pushed`: metrics that are sent to an OpenTelemetry collector.
//! - `recently_deleted`: policies that were deleted a moment ago.
//! - `refusals`: reviews that are refused before policies are evaluated: an API server counts
//!   these as failed calls, and allows the request with `failurePolicy: Ignore`.
//! - [`reports`]: reports and events: results of policies, written to the cluster.
//! - `responses`: HTTP responses, and what is read from the head of a request.
//! - `secret`: the certificate in a Secret of the cluster, while the server runs.
//! - [`self_signed`]: self-signed certificates: an authority and a pair for the server, in a
//!   folder, renewed before they expire.
//! - `series`: metrics of which there are thousands of series, in little memory.
//! - [`settings`]: the settings of a server: what flags choose.
//! - `shadows`: policies in audit mode that may replace others, on the requests of a cluster.
//! - `sinks`: where decisions are recorded: each sink takes the same record.
//! - [`state`]: what all requests of a server share: policies, metrics, sinks of decisions,
//!   threads, limits.
//! - [`stored`]: policies that are stored in the cluster.
//! - `threads`: threads: those that read and answer, and those on which evaluations run.
//! - [`tls`]: certificates: from files or a Secret, read again when they change.
//! - [`traces`]: traces: a span for each review, sent to an OpenTelemetry collector.
//! - `watch`: what is watched while the server runs: policy files, data, certificates.

mod answering;
pub mod audit;
mod body_reader;
pub mod catalog;
pub mod check;
mod counters;
mod counting;
mod denials;
mod error;
mod families;
pub mod http;
pub mod kind_filter;
mod last_good_files;
mod last_good_manifests;
pub mod latency;
pub mod listener;
pub mod live;
pub mod loaded;
mod memory;
pub mod metric;
pub mod metrics;
mod operation;
mod pitfalls;
pub mod places;
pub mod policies;
mod policy_reviews;
mod process;
mod pushed;
mod recently_deleted;
mod refusals;
pub mod reports;
mod responses;
mod secret;
pub mod self_signed;
mod series;
pub mod settings;
mod shadows;
mod sinks;
pub mod state;
pub mod stored;
mod threads;
pub mod tls;
pub mod traces;
mod watch;

pub use error::Error;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use tokio::sync::watch as channel;

use ephor_cluster::{Choice, Cluster, connect};
use ephor_controllers::background::event_sink::EventSink;
use ephor_controllers::background::intake::WorkIntake;
use ephor_controllers::in_use::{InUse, Source};
use ephor_controllers::lease::Times;
use ephor_controllers::manager::{Controllers, ManagerSetup};
use ephor_policies::load::manifests::{self, ManifestFolder};
use ephor_sources::registry::client::renewed;
use ephor_sources::registry::credentials::{Keys, Secrets};

use audit::Audit;
use listener::Service;
use live::Link;
use metrics::Metrics;
use policies::{Around, Snapshot, Store};
use pushed::MetricsPusher;
use reports::Reporter;
use tls::{Certificates, Pair};
use traces::Tracer;

use crate::serve::settings::{AuditLog, Leading, Settings, Tls};
use crate::serve::state::{Others, State};

/// How long answers of registries are cached: tags move.
const REGISTRY_CACHE_TTL: Duration = Duration::from_secs(60);

/// The addresses in use.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// For reviews.
    pub reviews: SocketAddr,
    /// For metrics and health.
    pub operation: Option<SocketAddr>,
}

/// Runs a server until a signal terminates it.
///
/// # Errors
/// An address is in use, or certificates cannot be read.
pub fn run(settings: Settings, started: impl FnOnce(Addresses, &Snapshot)) -> Result<(), Error> {
    memory::without_huge_pages();
    let runtime = threads::reading()?;
    let done = runtime.block_on(async {
        let (end, ends) = channel::channel(false);
        tokio::spawn(async move {
            signalled().await;
            let _ = end.send(true);
        });
        until(settings, ends, started).await
    });
    // An evaluation that does not end must not prevent the program from exiting.
    runtime.shutdown_background();
    done
}

/// A signal that ends programs.
async fn signalled() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// Runs a server until `ends` is true.
///
/// # Errors
/// As [`run`].
pub async fn until(
    settings: Settings,
    mut ends: channel::Receiver<bool>,
    started: impl FnOnce(Addresses, &Snapshot),
) -> Result<(), Error> {
    if let Some(path) = settings.places.missing() {
        return Err(Error::missing(path));
    }
    let of_files = certificates(&settings.tls)?;
    let audit = opened_audit(settings.audit.as_ref())?;
    let metrics = Metrics::new()?;
    let (reviews, address) = listener::bind(&settings.listen).await?;
    let operation = match &settings.operation {
        Some(address) => {
            let runtime = operation::Thread::start()?;
            let bound = runtime.bind(address).await?;
            Some((runtime, bound))
        }
        None => None,
    };
    let of = settings.clone();
    let read = move || opened(&of);
    // What changes while it is read is read again.
    let changes = watch::FileWatch::of(&settings.places.all());
    let store = tokio::task::spawn_blocking(read).await??;
    let kubernetes = store.around().release;
    tracing::info!(%kubernetes, "policies of Kubernetes run as in this release");
    let certificates = match &settings.tls {
        Tls::Secret(wanted) => Some(secret::open(store.around().link.as_deref(), wanted).await?),
        _ => of_files,
    };
    let wanted = settings.written.clone();
    let scanner = scanner(&settings, &store).await?;
    let writes = wanted.reports || wanted.events;
    let reporter = scanner.as_ref().filter(|_| writes);
    let reporter = reporter.map(|of| Reporter::start(of.clone(), &wanted, metrics.reporting.clone()));
    let tracer = Tracer::start(settings.collector.as_deref(), &metrics.spans_dropped)?;
    let others = Others { audit, reporter, tracer, certificates: certificates.clone() };
    let state = State::start(store, metrics, others, settings.limits.clone(), settings.baseline)?;
    let state = Arc::new(state);
    let operation_address = operation.as_ref().map(|(_, (_, bound))| *bound);
    let logged = begin(&state, Addresses { reviews: address, operation: operation_address }, started);
    let controllers = match settings.controllers.clone() {
        Some(mut leading) => {
            leading.plan.secret = certificates.as_ref().and_then(|c| c.secret().cloned());
            leading.plan.options.release = kubernetes;
            controllers(&state, leading, scanner, &settings.written).await?.map(Arc::new)
        }
        None => None,
    };
    if let Some(controllers) = &controllers {
        let _ = state.leading.set(Arc::downgrade(controllers));
    }
    let watched = watch::policies(state.clone(), changes, controllers.clone(), logged);
    let renewed = certificates.clone().and_then(|of| match settings.tls.clone() {
        Tls::Secret(_) => of.secret().cloned().map(|secret| secret::watch(of, secret, controllers.clone())),
        tls => pair(&tls).map(|pair| watch::certificates(of, tls, pair)),
    });
    let (close, closes) = channel::channel(false);
    let service = |router, certificates| Service {
        router,
        certificates,
        connections: settings.connections,
        grace: settings.grace,
    };
    let service_of_reviews = service(http::reviews(&state), certificates);
    let reviews = tokio::spawn(listener::serve(reviews, service_of_reviews, closes.clone()));
    let operation = operation.map(|(thread, (listener, _))| {
        let serving = listener::serve(listener, service(http::operation(&state), None), closes.clone());
        (thread.serve(serving), thread)
    });
    let shown = Arc::downgrade(&state);
    let pushed = MetricsPusher::start(move || Some(shown.upgrade()?.shown_metrics()))?;
    let _ = ends.wait_for(|ends| *ends).await;
    tracing::info!("shutting down");
    state.shutting_down.store(true, Ordering::Relaxed);
    tokio::time::sleep(settings.shutdown_delay).await;
    let _ = close.send(true);
    reviews.await??;
    if let Some((serving, _thread)) = operation {
        serving.await??;
    }
    watched.abort();
    // It holds the controllers, which give the lease back when they end.
    if let Some(renewed) = renewed {
        renewed.abort();
        let _ = renewed.await;
    }
    let _ = tokio::task::spawn_blocking(move || {
        drop(controllers);
        if let Some(pushed) = pushed {
            pushed.end();
        }
        state.reporter.as_ref().map(Reporter::end);
        state.tracer.as_ref().map(Tracer::end);
        state.refusals.end();
    })
    .await;
    Ok(())
}

/// The audit log, if there is one.
fn opened_audit(log: Option<&AuditLog>) -> Result<Option<Arc<Audit>>, Error> {
    let open = |log: &AuditLog| {
        let audit = Audit::open(&log.path, log.largest, log.max_backups);
        let audit = audit.map_err(|e| Error::in_file(&log.path, e))?;
        Ok(Arc::new(audit.with_objects(log.has_objects)))
    };
    log.map(open).transpose()
}

/// The cluster with the account that scans objects and writes reports: its own one, or that of the
/// server.
async fn scanner(settings: &Settings, store: &Store) -> Result<Option<Arc<Cluster>>, Error> {
    let account = settings.controllers.as_ref().and_then(|leading| leading.reports.clone());
    let account = match (account, &store.around().link) {
        (Some(choice), Some(_)) => Some(tokio::task::spawn_blocking(move || connect(&choice)).await??),
        _ => None,
    };
    Ok(account.map(Arc::new).or_else(|| Some(store.around().link.as_ref()?.cluster.clone())))
}

/// Counts and logs the first policies; `started` is called with them. Nothing holds them afterwards
/// but the store, which replaces them.
fn begin(state: &State, addresses: Addresses, started: impl FnOnce(Addresses, &Snapshot)) -> watch::Logged {
    let first = state.store.current();
    state.metrics.loaded(&first);
    let logged = watch::Logged::of(&first);
    for policy in first.gate.engine().set().policies() {
        if let Some(rule) = policy.rules.iter().find(|rule| metrics::is_not_run(rule, first.has_controllers))
        {
            tracing::warn!(
                policy = policy.key(),
                rule = &*rule.name,
                "nothing is generated without policies of the cluster (--kinds)"
            );
        }
    }
    started(addresses, &first);
    state.metrics.pitfalls.loaded(&first);
    logged
}

/// Starts what keeps the cluster in step with its policies.
async fn controllers(
    state: &Arc<State>,
    leading: Leading,
    reports: Option<Arc<Cluster>>,
    written: &reports::Wanted,
) -> Result<Option<Controllers>, Error> {
    let cluster = state.store.around().link.as_ref().map(|link| link.cluster.clone());
    let (Some(cluster), Some(reports)) = (cluster, reports) else { return Ok(None) };
    let options = written.reports.then(|| written.options.clone());
    let journals = ["kyverno-generate", "kyverno-mutate"].map(|source| written.journal(source));
    let event_sink = EventSink::new(reports.clone(), options, journals);
    let (of, took) = (state.clone(), state.clone());
    let source: Source = Arc::new(move || -> Arc<dyn InUse> { of.store.current() });
    let started = move || {
        let account = |choice: &Option<Choice>| {
            Ok::<_, Error>(match choice {
                Some(choice) => Arc::new(connect(choice)?.sharing_kinds(&cluster)),
                None => cluster.clone(),
            })
        };
        let (cleanup, background) = (account(&leading.cleanup)?, account(&leading.background)?);
        let intake = WorkIntake::new(cluster.clone(), leading.lease.namespace.clone(), background.clone())
            .with_accounts(reports.clone(), cleanup.clone());
        let _ = took.work.set(intake);
        let interval = leading.interval;
        let lifetimes = Some(leading.lifetimes).filter(|interval| !interval.is_zero());
        let Leading { plan, native, lease: place, scans, .. } = leading;
        let times = Times::default();
        let setup = ManagerSetup {
            cluster,
            reports,
            cleanup,
            background,
            interval,
            event_sink,
            lifetimes,
            scans,
            source,
            native,
            plan,
            place,
            times,
        };
        Ok::<_, Error>(Controllers::start(setup)?)
    };
    tokio::task::spawn_blocking(started).await?.map(Some)
}

/// Reads everything for the first time.
///
/// # Errors
/// The cluster does not answer, or a static manifest has a mistake: an API server does not start
/// with it either.
fn opened(settings: &Settings) -> Result<Store, Error> {
    let around = around(settings)?;
    let folders = settings.places.manifests.iter().cloned().map(ManifestFolder::read);
    manifests::of_folders(&folders.collect::<Vec<_>>(), around.release)?;
    Ok(Store::new(settings.places.clone(), around))
}

/// The sources of external data.
fn around(settings: &Settings) -> Result<Around, Error> {
    let choice = settings.cluster.as_ref();
    let link = choice
        .map(|choice| Link::open(choice, &settings.settings, settings.stored.as_ref(), settings.kubernetes))
        .transpose()?
        .map(Arc::new);
    let registry = settings.registry.then(|| {
        let secrets = link.as_ref().map(|link| -> Arc<dyn Secrets> { link.cluster.clone() });
        let (namespace, pull_secrets) = (settings.settings.settings.0.clone(), settings.pull_secrets.clone());
        renewed(REGISTRY_CACHE_TTL, Keys { pull_secrets, namespace, secrets, ..Keys::default() })
    });
    // A link acts as the release that is wanted, if there is one.
    let release = link.as_ref().map(|link| link.release).or(settings.kubernetes).unwrap_or_default();
    let stored = settings.stored.clone();
    Ok(Around { link, registry, stored, result_cache: settings.result_cache, release })
}

fn certificates(tls: &Tls) -> Result<Option<Arc<Certificates>>, Error> {
    if let Tls::SelfSigned(own) = tls {
        own.renew(SystemTime::now())?;
    }
    let opened = pair(tls).map(Certificates::open).transpose()?;
    Ok(opened.map(Arc::new))
}

/// The files with the certificate, if there are some.
fn pair(tls: &Tls) -> Option<Pair> {
    match tls {
        Tls::Files(pair) => Some(pair.clone()),
        Tls::SelfSigned(own) => Some(own.pair()),
        Tls::Secret(_) | Tls::Plain => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::places::Places;
    use crate::serve::state::Limits;

    #[test]
    fn nothing_holds_the_first_policies_once_they_are_replaced() {
        let dir = tempfile::tempdir().expect("a folder");
        let places = Places { policies: vec![dir.path().to_owned()], ..Places::default() };
        let limits =
            Limits { body: 1 << 20, buffered: 1 << 20, running: 1, auditing: 1, margin: Duration::ZERO };
        let others = Others { audit: None, reporter: None, tracer: None, certificates: None };
        let runtime = threads::reading().expect("threads");
        runtime.block_on(async {
            let (store, metrics) = (Store::new(places, Around::default()), Metrics::new().expect("metrics"));
            let state = State::start(store, metrics, others, limits, false).expect("threads");
            let first = Arc::downgrade(&state.store.current());
            let address = SocketAddr::from(([127, 0, 0, 1], 1));
            let addresses = Addresses { reviews: address, operation: None };
            let _logged = begin(&state, addresses, |_, first| assert_eq!(first.generation, 0));
            assert!(first.upgrade().is_some(), "they are in use");
            assert_eq!(state.store.reload().generation, 1);
            assert!(first.upgrade().is_none(), "they are replaced");
        });
    }
}
