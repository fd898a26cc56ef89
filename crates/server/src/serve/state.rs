//! What all requests of a server share: policies, metrics, sinks of decisions, threads, limits.
//!
//! In: settings and what was opened. Out: [`State`], which handlers hold.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use ephor_controllers::background::intake::WorkIntake;
use ephor_controllers::manager::Controllers;
use tokio::sync::Semaphore;

use super::audit::Audit;
use super::body_reader::BodyReader;
use super::metrics::Metrics;
use super::policies::Store;
use super::refusals::Refusals;
use super::reports::Reporter;
use super::threads::Threads;
use super::tls::Certificates;
use super::traces::Tracer;
use ephor_admission::admit::Route;

/// How many reviews may wait for quick results that only audit. More of them would push each other
/// out of the processors' caches: the results of the next ones are evaluated before they are
/// answered.
pub(super) const AFTERWARDS: usize = 2;

/// How many bodies may be arriving for each review that may be under way, and in any case.
pub(super) const ARRIVING: (usize, usize) = (8, 1024);

/// How many paths with unknown policies are reported.
pub(super) const UNKNOWN_PATHS: usize = 100;

/// Limits of the server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The largest body in bytes.
    pub body: usize,
    /// How many bytes of bodies may be held in all.
    pub buffered: usize,
    /// How many reviews may be in flight.
    pub running: usize,
    /// How many reviews may wait for results that only audit.
    pub auditing: usize,
    /// The safety margin subtracted from a request's timeout.
    pub margin: Duration,
}

/// What all requests share.
pub struct State {
    /// The policies.
    pub store: Store,
    /// What is counted.
    pub metrics: Metrics,
    /// Where decisions are written.
    pub audit: Option<Arc<Audit>>,
    /// Who writes results to the cluster.
    pub reporter: Option<Reporter>,
    /// Who sends spans to a collector.
    pub tracer: Option<Tracer>,
    /// The certificates; `None` = connections are not encrypted.
    pub certificates: Option<Arc<Certificates>>,
    /// Who writes what was refused.
    pub refusals: Refusals,
    /// Who writes down the work that requests cause for controllers, if there are some.
    pub work: OnceLock<WorkIntake>,
    /// What leads, or waits to lead, if anything does.
    pub leading: OnceLock<Weak<Controllers>>,
    /// Where evaluations run.
    pub threads: Threads,
    /// Limits.
    pub limits: Limits,
    /// The server is shutting down.
    pub shutting_down: AtomicBool,
    pub(super) baseline: bool,
    pub(super) body_reader: Arc<BodyReader>,
    pub(super) running: Arc<Semaphore>,
    pub(super) auditing: Arc<Semaphore>,
    pub(super) afterwards: Arc<Semaphore>,
    /// Paths with unknown policies.
    unknown: Mutex<BTreeMap<String, Route>>,
}

/// Those who do something else with decisions than answering.
pub struct Others {
    /// Where decisions are written.
    pub audit: Option<Arc<Audit>>,
    /// Who writes results to the cluster.
    pub reporter: Option<Reporter>,
    /// Who sends spans to a collector.
    pub tracer: Option<Tracer>,
    /// The certificates; `None` = connections are not encrypted.
    pub certificates: Option<Arc<Certificates>>,
}

impl State {
    /// Of a server that begins.
    ///
    /// # Errors
    /// There are no threads.
    pub fn start(
        store: Store,
        metrics: Metrics,
        others: Others,
        limits: Limits,
        baseline: bool,
    ) -> std::io::Result<State> {
        let Others { audit, reporter, tracer, certificates } = others;
        let (running, auditing) = (Semaphore::new(limits.running), Semaphore::new(limits.auditing));
        let arriving = limits.running.saturating_mul(ARRIVING.0).max(ARRIVING.1);
        let most = limits.running.saturating_add(limits.auditing);
        Ok(State {
            store,
            refusals: Refusals::start(&metrics, audit.clone()),
            threads: Threads::start(most, metrics.stuck.clone())?,
            metrics,
            audit,
            reporter,
            tracer,
            certificates,
            work: OnceLock::new(),
            leading: OnceLock::new(),
            shutting_down: AtomicBool::new(false),
            baseline,
            body_reader: Arc::new(BodyReader::new(limits.body, limits.buffered, arriving)),
            running: Arc::new(running),
            auditing: Arc::new(auditing),
            afterwards: Arc::new(Semaphore::new(AFTERWARDS)),
            limits,
            unknown: Mutex::default(),
        })
    }

    /// All metrics as text, with what is measured when they are read.
    pub fn shown_metrics(&self) -> String {
        let gauge = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let (arriving, bytes) = self.body_reader.now();
        self.metrics.arriving.set(gauge(arriving));
        self.metrics.buffered.set(gauge(bytes));
        self.metrics.memory(&self.store.current());
        self.metrics.leader.set(i64::from(self.is_leading()));
        let expiry = self.certificates.as_ref().and_then(|certificates| certificates.expiry());
        self.metrics.expiry.set(expiry.unwrap_or_default());
        self.metrics.text()
    }

    /// Whether this replica leads.
    fn is_leading(&self) -> bool {
        let controllers = self.leading.get().and_then(Weak::upgrade);
        controllers.is_some_and(|controllers| controllers.is_leading())
    }

    /// Records a path with unknown policies.
    pub(super) fn note_unknown(&self, path: &str, route: &Route, text: &str) {
        self.refusals.note("unknown_policy", 200, text, path);
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        if unknown.len() < UNKNOWN_PATHS && !unknown.contains_key(path) {
            unknown.insert(path.to_string(), route.clone());
        }
    }

    /// What is wrong with the running server, a line each, and whether that makes it not ready.
    pub(super) fn faults(&self) -> (Vec<String>, bool) {
        let gate = &self.store.current().gate;
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        unknown.retain(|_, route| gate.unknown(route).is_some());
        let text = |(path, route): (&String, &Route)| Some(format!("{path}: {}", gate.unknown(route)?));
        let mut lines: Vec<String> = unknown.iter().filter_map(text).collect();
        let stuck = self.threads.stuck();
        if stuck > 0 {
            lines.push(format!("{stuck} evaluations exceeded their deadline and still run"));
        }
        let certificates = self.certificates.iter();
        lines.extend(certificates.clone().filter_map(|of| of.secret()?.problem()));
        let has_certificate = certificates.clone().all(|of| of.is_usable());
        (lines, !has_certificate || stuck * 2 >= self.limits.running.max(2))
    }
}
