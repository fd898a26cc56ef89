//! Reports and events: results of policies, written to the cluster.
//!
//! In: results of decisions. Out: a report for each object, and events. One thread writes; what it
//! has no room for is counted and dropped, so that no request waits. An object that is being
//! created has no identity yet when it is changed: those results wait until it is stored.
//! Semantics: `docs/reference/cluster.md`, "Reports and events".

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use prometheus::IntCounter;

use ephor_admission::admit::Incoming;
use ephor_admission::redact::Redactor;
use ephor_cluster::{Cluster, Failure};
use ephor_controllers::events::{Journal, Occasion};
use ephor_controllers::reports::result_owner::ResultOwners;
use ephor_controllers::reports::results::{ResultKey, key_of, merged};
use ephor_controllers::reports::{ReportError, ReportOptions, Reports, object, text};
use ephor_engine::RuleOutcome;
use ephor_ir::Policy;
use ephor_policies::policy_set::outcomes::Outcomes;
use ephor_value::{Value, environment};

use super::policies::Snapshot;
use super::threads::STACK;

/// How many decisions may wait.
const WAITING: usize = 1000;
/// How long results about an object are gathered before they are written.
const GATHERED: Duration = Duration::from_secs(1);
/// How long results about an object wait until it is stored.
const STORED_WITHIN: Duration = Duration::from_secs(10);
/// What observes violations at admission.
const SOURCE: &str = "kyverno-admission";

/// What is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Reports.
    pub reports: bool,
    /// What they hold.
    pub options: ReportOptions,
    /// Events.
    pub events: bool,
    /// Reasons of events that are not written.
    pub omitted: Vec<String>,
}

impl Wanted {
    /// Who writes events of what a source observes.
    pub fn journal(&self, source: &'static str) -> Option<Journal> {
        let host = environment::HOSTNAME.text().unwrap_or_else(|| "ephor".into());
        self.events.then(|| Journal { source, host, omitted: self.omitted.clone() })
    }
}

/// What is counted.
#[derive(Clone)]
pub struct Counters {
    /// Decisions whose reports and events there was no room for.
    pub dropped: IntCounter,
    /// Events that could not be written.
    pub event_errors: IntCounter,
    /// Reports that could not be written.
    pub report_errors: IntCounter,
}

/// A decision whose results are to be written.
struct ReportJob {
    incoming: Arc<Incoming>,
    snapshot: Arc<Snapshot>,
    results: Vec<(Arc<Policy>, Vec<RuleOutcome>)>,
    blocked: bool,
    seconds: u64,
}

/// Takes results and writes them.
pub struct Reporter {
    send: Mutex<Option<SyncSender<ReportJob>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    counters: Counters,
}

impl Reporter {
    /// Begins to write to a cluster.
    pub fn start(cluster: Arc<Cluster>, wanted: &Wanted, counters: Counters) -> Reporter {
        let (send, receive) = sync_channel(WAITING);
        let writer = Writer {
            reports: wanted.reports.then(|| Reports::new(cluster.clone(), wanted.options.clone())),
            journal: wanted.journal(SOURCE),
            cluster,
            pending: BTreeMap::new(),
            unstored: BTreeMap::new(),
            alive: None,
            counters: counters.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("reports".into())
            .stack_size(STACK)
            .spawn(move || writer.run(&receive));
        Reporter { send: Mutex::new(Some(send)), writer: Mutex::new(thread.ok()), counters }
    }

    /// Takes the results of a decision; it never waits.
    pub fn offer(
        &self,
        incoming: &Arc<Incoming>,
        snapshot: &Arc<Snapshot>,
        outcomes: &Outcomes,
        blocked: bool,
    ) {
        if outcomes.is_empty() || incoming.dry_run() {
            return;
        }
        let redactor = Redactor::of(incoming);
        let rules = |rules: &[RuleOutcome]| match &redactor {
            Some(redactor) => rules.iter().map(|rule| redactor.result(rule)).collect(),
            None => rules.to_vec(),
        };
        let results = outcomes.policies().map(|p| (p.policy.clone(), rules(&p.rules))).collect();
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let job =
            ReportJob { incoming: incoming.clone(), snapshot: snapshot.clone(), results, blocked, seconds };
        let send = self.send.lock().unwrap_or_else(PoisonError::into_inner);
        if send.as_ref().is_none_or(|send| send.try_send(job).is_err()) {
            self.counters.dropped.inc();
        }
    }

    /// Writes what is queued, and ends.
    pub fn end(&self) {
        drop(self.send.lock().unwrap_or_else(PoisonError::into_inner).take());
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }
}

/// Results about an object that are not written yet.
struct PendingResults {
    scope: Value,
    results: BTreeMap<ResultKey, Value>,
    snapshot: Arc<Snapshot>,
    since: Instant,
}

struct Writer {
    cluster: Arc<Cluster>,
    reports: Option<Reports>,
    journal: Option<Journal>,
    /// By the identifier of the object.
    pending: BTreeMap<String, PendingResults>,
    /// Those of objects without one yet: by version, kind, namespace and name.
    unstored: BTreeMap<[String; 4], PendingResults>,
    /// The policies whose results count, and the generation of policies that it was.
    alive: Option<(u64, ResultOwners)>,
    counters: Counters,
}

/// The object of a request as reports and events name it.
fn scope(incoming: &Incoming) -> Value {
    let at = |key: &str| {
        let of_object = |of: &str| incoming.text(&[of, "metadata", key]);
        let own = of_object("object");
        if own.is_empty() { of_object("oldObject") } else { own }
    };
    let (group, version) = (incoming.text(&["kind", "group"]), incoming.text(&["kind", "version"]));
    let api_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
    let name = incoming.text(&["name"]);
    // A request about a namespace is in that namespace; the object is in none.
    let is_namespace = group.is_empty() && incoming.text(&["kind", "kind"]) == "Namespace";
    let namespace = if is_namespace { "" } else { incoming.text(&["namespace"]) };
    object([
        ("apiVersion", text(&api_version)),
        ("kind", text(incoming.text(&["kind", "kind"]))),
        ("namespace", text(namespace)),
        ("name", text(if name.is_empty() { at("name") } else { name })),
        ("uid", text(at("uid"))),
    ])
}

/// Whether the object of a request gets a report.
fn is_reported(job: &ReportJob) -> bool {
    let kind = job.incoming.text(&["kind", "kind"]);
    !job.blocked
        && job.incoming.text(&["operation"]) != "DELETE"
        && kind != "Event"
        && job.incoming.text(&["subResource"]).is_empty()
}

impl Writer {
    fn run(mut self, receive: &Receiver<ReportJob>) {
        let mut since: Option<Instant> = None;
        loop {
            let left = since.map_or(GATHERED, |at| GATHERED.saturating_sub(at.elapsed()));
            let ended = match receive.recv_timeout(left) {
                Ok(job) => {
                    self.take(&job);
                    since = since.or(Some(Instant::now()));
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            let many = self.pending.len() + self.unstored.len() >= WAITING;
            if ended || since.is_some_and(|at| at.elapsed() >= GATHERED) || many {
                self.find_stored();
                self.write_reports();
                since = (!self.unstored.is_empty()).then(Instant::now);
            }
            if ended {
                return;
            }
        }
    }

    fn take(&mut self, job: &ReportJob) {
        let scope = scope(&job.incoming);
        if let Some(journal) = &self.journal {
            self.events(journal, job, &scope);
        }
        let Some(reports) = self.reports.as_ref().filter(|_| is_reported(job)) else { return };
        let uid = scope.text_at(&["uid"]).to_string();
        let names = ["apiVersion", "kind", "namespace", "name"].map(|key| scope.text_at(&[key]).to_string());
        let pending = || PendingResults {
            scope: scope.clone(),
            results: BTreeMap::new(),
            snapshot: job.snapshot.clone(),
            since: Instant::now(),
        };
        let [.., name] = &names;
        let pending = match (&*uid, &**name) {
            // Nothing will lead to what has no name yet either.
            ("", "") => return,
            ("", _) => self.unstored.entry(names).or_insert_with(pending),
            (_, _) => self.pending.entry(uid).or_insert_with(pending),
        };
        pending.snapshot = job.snapshot.clone();
        for (policy, rules) in &job.results {
            let new = reports.entries(policy, rules, job.seconds).into_iter();
            pending.results.extend(new.map(|entry| (key_of(&entry), entry)));
        }
    }

    /// Gives results about objects that are stored by now to these.
    fn find_stored(&mut self) {
        for (names, mut waiting) in std::mem::take(&mut self.unstored) {
            if waiting.results.is_empty() {
                continue;
            }
            match self.stored(&waiting.scope) {
                Ok(Some(uid)) => {
                    waiting.scope = waiting.scope.with("uid", uid.as_str().into());
                    match self.pending.get_mut(&uid) {
                        // What was reported later counts.
                        Some(pending) => waiting.results.into_iter().for_each(|(key, entry)| {
                            pending.results.entry(key).or_insert(entry);
                        }),
                        None => drop(self.pending.insert(uid, waiting)),
                    }
                }
                // The request may still be on its way, or another webhook has denied it.
                Ok(None) if waiting.since.elapsed() < STORED_WITHIN && self.unstored.len() < WAITING => {
                    self.unstored.insert(names, waiting);
                }
                Ok(None) => {}
                Err(e) => {
                    self.counters.report_errors.inc();
                    tracing::warn!(error = e.text, "an object cannot be looked up for its report");
                }
            }
        }
    }

    /// The identity of an object, if it is stored.
    fn stored(&self, scope: &Value) -> Result<Option<String>, Failure> {
        let kinds = self.cluster.kinds()?;
        let at = |key: &str| scope.text_at(&[key]);
        let (group, version) = at("apiVersion").split_once('/').unwrap_or(("", at("apiVersion")));
        let Some(resource) = kinds.kind(group, version, at("kind")) else { return Ok(None) };
        match self.cluster.object(resource, at("namespace"), at("name")) {
            Ok(object) => Ok(Some(object.text_at(&["metadata", "uid"]).to_string())),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) if e.code == 403 => {
                tracing::debug!(error = e.text, "an object may not be looked up for its report");
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    fn write_reports(&mut self) {
        for (uid, pending) in std::mem::take(&mut self.pending) {
            if let Err(e) = self.report(&pending) {
                self.counters.report_errors.inc();
                tracing::warn!(error = e.to_string(), uid, "a report cannot be written");
            }
        }
    }

    fn report(&mut self, pending: &PendingResults) -> Result<(), ReportError> {
        let generation = pending.snapshot.generation;
        let known = self.alive.take().filter(|(of, _)| *of == generation);
        let of = |snapshot: &Snapshot| (generation, ResultOwners::of(snapshot.gate.engine().set()));
        let (_, alive) = self.alive.insert(known.unwrap_or_else(|| of(&pending.snapshot)));
        let new: Vec<Value> = pending.results.values().cloned().collect();
        let Some(reports) = self.reports.as_ref().filter(|_| !new.is_empty()) else { return Ok(()) };
        reports.update(&pending.scope, &|before| {
            merged(before.into_iter().filter(|entry| alive.has(entry)).collect(), &new)
        })?;
        Ok(())
    }

    fn events(&self, journal: &Journal, job: &ReportJob, scope: &Value) {
        let exceptions = job.snapshot.gate.engine().set().exceptions();
        let settings = job.snapshot.gate.settings();
        let occasion = Occasion { object: scope, blocked: job.blocked, settings, exceptions };
        for event in job.results.iter().flat_map(|(policy, rules)| occasion.events(policy, rules)) {
            if let Err(e) = journal.write(&self.cluster, &event) {
                self.counters.event_errors.inc();
                tracing::warn!(error = e.text, "an event cannot be written");
            }
        }
    }
}
