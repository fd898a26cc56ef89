//! Reports and events: results of policies, written to the cluster.
//!
//! In: results of decisions. Out: a PolicyReport or ClusterPolicyReport for each object, and events. One thread
//! writes; what it has no room for is counted and dropped, so that no request waits. Several servers may write
//! reports of one object: a result stays unless there is a newer one. Semantics: `docs/cluster.md`, "Reports and
//! events".

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use prometheus::IntCounter;

use crate::admit::Incoming;
use crate::cluster::Cluster;
use crate::document::json;
use crate::engine::{RuleOutcome, Status};
use crate::ir::Policy;
use crate::policy_set::outcomes::Outcomes;
use crate::report::policy_report::{Entry, PolicyFacts, report_status};
use crate::value::{Str, Value, environment};

use super::policies::Snapshot;
use super::redact::Redactor;
use super::threads::STACK;

/// How many decisions may wait.
const WAITING: usize = 1000;
/// How long results about an object are gathered before they are written.
const GATHERED: Duration = Duration::from_secs(1);
/// The longest text of an event.
const LONGEST_NOTE: usize = 1024;
const MANAGER: &str = "ephor";
const SOURCE: &str = "kyverno-admission";

/// What is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Reports.
    pub reports: bool,
    /// Events.
    pub events: bool,
    /// Reasons of events that are not written.
    pub omitted: Vec<String>,
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
struct Job {
    incoming: Arc<Incoming>,
    snapshot: Arc<Snapshot>,
    results: Vec<(Arc<Policy>, Vec<RuleOutcome>)>,
    blocked: bool,
    seconds: u64,
}

/// Takes results and writes them.
pub struct Reporter {
    send: Mutex<Option<SyncSender<Job>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    counters: Counters,
}

impl Reporter {
    /// Begins to write to a cluster.
    pub fn start(cluster: Arc<Cluster>, wanted: Wanted, counters: Counters) -> Reporter {
        let (send, receive) = sync_channel(WAITING);
        let host = environment::HOSTNAME.text().unwrap_or_else(|| "ephor".into());
        let writer = Writer { cluster, wanted, host, pending: BTreeMap::new(), counters: counters.clone() };
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
        let job = Job { incoming: incoming.clone(), snapshot: snapshot.clone(), results, blocked, seconds };
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
struct Pending {
    scope: Value,
    results: BTreeMap<Key, Value>,
    snapshot: Arc<Snapshot>,
}

/// What identifies a result of an object: source, policy, rule.
type Key = [String; 3];

fn key_of(result: &Value) -> Key {
    ["source", "policy", "rule"].map(|key| result.text_at(&[key]).to_string())
}

struct Writer {
    cluster: Arc<Cluster>,
    wanted: Wanted,
    host: String,
    /// By the identifier of the object.
    pending: BTreeMap<String, Pending>,
    counters: Counters,
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (Str::from(k), v)).collect())
}

fn text(s: &str) -> Value {
    if s.is_empty() { Value::Null } else { s.into() }
}

/// The object of a request as reports and events name it.
fn scope(incoming: &Incoming) -> Value {
    let at = |key: &str| {
        let of_object = |of: &str| incoming.text(&[of, "metadata", key]);
        let own = of_object("object");
        if own.is_empty() { of_object("oldObject") } else { own }
    };
    let (group, version) = (incoming.text(&["kind", "group"]), incoming.text(&["kind", "version"]));
    // A request for a Namespace says that it is in the namespace of this name; the object itself is in none.
    let is_namespace = group.is_empty() && incoming.text(&["kind", "kind"]) == "Namespace";
    let namespace = if is_namespace { "" } else { incoming.text(&["namespace"]) };
    let api_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
    let name = incoming.text(&["name"]);
    object([
        ("apiVersion", text(&api_version)),
        ("kind", text(incoming.text(&["kind", "kind"]))),
        ("namespace", text(namespace)),
        ("name", text(if name.is_empty() { at("name") } else { name })),
        ("uid", text(at("uid"))),
    ])
}

/// Whether the object of a request gets a report.
fn is_reported(job: &Job) -> bool {
    let kind = job.incoming.text(&["kind", "kind"]);
    !job.blocked
        && job.incoming.text(&["operation"]) != "DELETE"
        && kind != "Event"
        && job.incoming.text(&["subResource"]).is_empty()
        && !job.incoming.text(&["object", "metadata", "uid"]).is_empty()
}

impl Writer {
    fn run(mut self, receive: &Receiver<Job>) {
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
            if ended || since.is_some_and(|at| at.elapsed() >= GATHERED) || self.pending.len() >= WAITING {
                self.write_reports();
                since = None;
            }
            if ended {
                return;
            }
        }
    }

    fn take(&mut self, job: &Job) {
        if self.wanted.events {
            self.events(job);
        }
        if !self.wanted.reports || !is_reported(job) {
            return;
        }
        let scope = scope(&job.incoming);
        let uid = scope.text_at(&["uid"]).to_string();
        let pending = self.pending.entry(uid).or_insert_with(|| Pending {
            scope: scope.clone(),
            results: BTreeMap::new(),
            snapshot: job.snapshot.clone(),
        });
        pending.snapshot = job.snapshot.clone();
        for (policy, rules) in job.results.iter().filter(|(policy, _)| policy.reported) {
            let facts = PolicyFacts::of(policy);
            for result in rules {
                let status = report_status(result.status, &facts, false);
                let entry =
                    Entry { facts: &facts, result, status, resource: &Value::Null, seconds: job.seconds };
                let mut written = String::new();
                entry.write_json(&mut written);
                let Ok(Value::Map(mut result)) = json::parse(&written) else { continue };
                // The object is the report's scope.
                result.remove("resources");
                let result = Value::Map(result);
                pending.results.insert(key_of(&result), result);
            }
        }
    }

    fn write_reports(&mut self) {
        for (uid, pending) in std::mem::take(&mut self.pending) {
            if let Err(e) = self.report(&uid, pending) {
                self.counters.report_errors.inc();
                tracing::warn!(error = e.to_string(), uid, "a report cannot be written");
            }
        }
    }

    fn report(&self, uid: &str, pending: Pending) -> Result<(), ReportError> {
        let namespace = pending.scope.text_at(&["namespace"]);
        let kind = if namespace.is_empty() { "ClusterPolicyReport" } else { "PolicyReport" };
        let kinds = self.cluster.kinds().map_err(|e| ReportError::Cluster(e.text))?;
        let Some(resource) = kinds.kind("wgpolicyk8s.io", "v1alpha2", kind) else {
            return Err(ReportError::NoKind(kind));
        };
        let policies = pending.snapshot.gate.engine().set().policies();
        // Another server may write the same report in between; the results of both count.
        for _ in 0..MOST_WRITES {
            let current = match self.cluster.object(resource, namespace, uid) {
                Ok(report) => Some(report),
                Err(e) if e.is_not_found() => None,
                Err(e) => return Err(ReportError::Cluster(e.text)),
            };
            let known =
                current.iter().flat_map(|r| r.get("results").and_then(Value::as_list).unwrap_or_default());
            let mut results: BTreeMap<[String; 3], Value> = known.map(|r| (key_of(r), r.clone())).collect();
            results.retain(|[_, policy, _], _| policies.iter().any(|p| p.reported && p.key() == *policy));
            results.extend(pending.results.clone());
            let report = report(kind, uid, &pending.scope, results.into_values().collect());
            match self.cluster.write(&report, current.as_ref(), MANAGER) {
                Ok(_) => return Ok(()),
                Err(e) if e.code == 409 => {}
                Err(e) => return Err(ReportError::Cluster(e.text)),
            }
        }
        Err(ReportError::Changed)
    }

    fn events(&self, job: &Job) {
        let scope = scope(&job.incoming);
        if scope.text_at(&["name"]).is_empty() {
            return;
        }
        for event in events(job, &scope) {
            let reason = event.reason;
            if self.wanted.omitted.iter().any(|omitted| *omitted == reason) {
                continue;
            }
            let namespace = match event.regarding.text_at(&["namespace"]) {
                "" => "default",
                namespace => namespace,
            };
            let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
            let body = event.written(namespace, &self.host);
            if let Err(e) = self.cluster.request("POST", &path, "application/json", Some(&body)) {
                self.counters.event_errors.inc();
                tracing::warn!(error = e.text, "an event cannot be written");
            }
        }
    }
}

/// How often a report is written again because another server changed it in between.
const MOST_WRITES: usize = 8;

/// Why a report is not written.
#[derive(Debug, thiserror::Error)]
enum ReportError {
    /// A request to the cluster failed; the words are those of the cluster.
    #[error("{0}")]
    Cluster(String),
    /// The cluster has no reports of this kind.
    #[error("the cluster has no {0}s of wgpolicyk8s.io/v1alpha2")]
    NoKind(&'static str),
    /// Others write the same report.
    #[error("other servers changed it {MOST_WRITES} times in a row")]
    Changed,
}

/// A report.
fn report(kind: &str, uid: &str, scope: &Value, mut results: Vec<Value>) -> Value {
    let order = |r: &Value| ["policy", "rule", "source"].map(|key| r.text_at(&[key]).to_string());
    results.sort_by_key(order);
    let count = |status: &str| {
        let n = results.iter().filter(|r| r.text_at(&["result"]) == status).count();
        Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
    };
    let summary = ["error", "fail", "pass", "skip", "warn"].map(|status| (Str::from(status), count(status)));
    let mut owner = scope.as_map().cloned().unwrap_or_default();
    owner.remove("namespace");
    let metadata = object([
        ("name", uid.into()),
        ("namespace", text(scope.text_at(&["namespace"]))),
        ("labels", object([("app.kubernetes.io/managed-by", "kyverno".into())])),
        ("ownerReferences", Value::list(vec![Value::Map(owner)])),
    ]);
    object([
        ("apiVersion", "wgpolicyk8s.io/v1alpha2".into()),
        ("kind", kind.into()),
        ("metadata", metadata),
        ("scope", scope.clone()),
        ("summary", Value::Map(summary.into_iter().collect())),
        ("results", Value::list(results)),
    ])
}

/// An event.
struct Event {
    regarding: Value,
    related: Value,
    action: &'static str,
    reason: &'static str,
    note: String,
}

impl Event {
    fn written(&self, namespace: &str, host: &str) -> Value {
        let now = jiff::Timestamp::now();
        let name = event_name(self.regarding.text_at(&["name"]), now.as_nanosecond());
        let note = match self.note.len() > LONGEST_NOTE {
            true => {
                let end =
                    (0..=LONGEST_NOTE - 3).rev().find(|at| self.note.is_char_boundary(*at)).unwrap_or(0);
                format!("{}...", self.note.get(..end).unwrap_or_default())
            }
            false => self.note.clone(),
        };
        let normal = matches!(self.reason, "PolicyApplied" | "PolicySkipped");
        object([
            ("apiVersion", "events.k8s.io/v1".into()),
            ("kind", "Event".into()),
            ("metadata", object([("name", name.into()), ("namespace", namespace.into())])),
            ("eventTime", now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string().into()),
            ("reportingController", SOURCE.into()),
            ("reportingInstance", format!("{SOURCE}-{host}").into()),
            ("action", self.action.into()),
            ("reason", self.reason.into()),
            ("type", if normal { "Normal" } else { "Warning" }.into()),
            ("regarding", self.regarding.clone()),
            ("related", self.related.clone()),
            ("note", note.into()),
        ])
    }
}

/// A name of what an event is about, made one for an object, with the moment.
fn event_name(about: &str, nanoseconds: i128) -> String {
    let fits = |c: char| {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-') { c } else { '-' }
    };
    let mut name: String = about.to_lowercase().chars().map(fits).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        name.insert(0, 'a');
    }
    if !name.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        name.push('z');
    }
    format!("{name}.{nanoseconds:x}")
}

/// The events of a decision.
fn events(job: &Job, scope: &Value) -> Vec<Event> {
    let (kind, name) = (scope.text_at(&["kind"]), scope.text_at(&["name"]));
    let namespaced = match scope.text_at(&["namespace"]) {
        "" => name.to_string(),
        namespace => format!("{namespace}/{name}"),
    };
    let settings = job.snapshot.gate.settings();
    let mut all = Vec::new();
    for (policy, rules) in &job.results {
        let regarding = object([
            ("apiVersion", format!("{}/v1", policy.api.group).into()),
            ("kind", Value::Str(policy.api.kind.clone())),
            ("namespace", policy.namespace.clone().map_or(Value::Null, Value::Str)),
            ("name", Value::Str(policy.name.clone())),
        ]);
        let failed = |r: &&RuleOutcome| matches!(r.status, Status::Fail | Status::Error);
        for rule in rules.iter().filter(failed) {
            let status = rule.status.name();
            let named = if rule.rule.is_empty() { String::new() } else { format!("[{}] ", rule.rule) };
            let blocked = if job.blocked { " (blocked)" } else { "" };
            let message = if rule.message.is_empty() { String::new() } else { format!("; {}", rule.message) };
            all.push(Event {
                regarding: regarding.clone(),
                related: scope.clone(),
                action: if job.blocked { "Resource Blocked" } else { "Resource Passed" },
                reason: "PolicyViolation",
                note: format!("{kind} {namespaced}: {named}{status}{blocked}{message}"),
            });
            if !job.blocked {
                let rule_name = if rule.rule.is_empty() { String::new() } else { format!("/{}", rule.rule) };
                all.push(Event {
                    regarding: scope.clone(),
                    related: Value::Null,
                    action: "Resource Passed",
                    reason: "PolicyViolation",
                    note: format!("policy {}{rule_name} {status}: {}", policy.key(), rule.message),
                });
            }
        }
        let action = "Resource Passed";
        let is_reported = settings.is_some_and(|s| {
            s.success_events
                && (s.success_actions.is_empty() || s.success_actions.iter().any(|a| a == action))
        });
        let passed =
            rules.iter().any(|r| r.status == Status::Pass) && rules.iter().all(|r| r.status == Status::Pass);
        if is_reported && passed && !job.blocked {
            let note = format!("{kind} {namespaced}: pass");
            all.push(Event { regarding, related: scope.clone(), action, reason: "PolicyApplied", note });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::print::json as printed;

    #[test]
    fn a_report_is_named_by_its_object_and_counts_results() {
        let scope = object([
            ("apiVersion", "v1".into()),
            ("kind", "Pod".into()),
            ("namespace", "shop".into()),
            ("name", "cart".into()),
            ("uid", "u1".into()),
        ]);
        let result =
            |policy: &str, result: &str| object([("policy", policy.into()), ("result", result.into())]);
        let made = report("PolicyReport", "u1", &scope, vec![result("b", "fail"), result("a", "pass")]);
        assert_eq!(
            printed(&made),
            r#"{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"labels":{"app.kubernetes.io/managed-by":"kyverno"},"name":"u1","namespace":"shop","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"cart","uid":"u1"}]},"results":[{"policy":"a","result":"pass"},{"policy":"b","result":"fail"}],"scope":{"apiVersion":"v1","kind":"Pod","name":"cart","namespace":"shop","uid":"u1"},"summary":{"error":0,"fail":1,"pass":1,"skip":0,"warn":0}}"#
        );
    }

    #[test]
    fn a_namespace_is_in_no_namespace() {
        let scope_of = |kind: &str| {
            let text = format!(
                "{{kind: {{group: '', version: v1, kind: {kind}}}, name: shop, namespace: shop, object: {{metadata: {{name: shop, uid: u}}}}}}"
            );
            let request = crate::document::yaml_value(&text).ok().and_then(|v| v.as_map().cloned());
            scope(&Incoming {
                api_version: "admission.k8s.io/v1".into(),
                kind: "AdmissionReview".into(),
                uid: "a".into(),
                request: request.unwrap_or_default(),
            })
        };
        assert_eq!(
            printed(&scope_of("Namespace")),
            r#"{"apiVersion":"v1","kind":"Namespace","name":"shop","uid":"u"}"#
        );
        assert_eq!(scope_of("ConfigMap").text_at(&["namespace"]), "shop");
    }

    #[test]
    fn names_of_events_are_names_of_objects() {
        assert_eq!(event_name("Web_1", 255), "web-1.ff");
        assert_eq!(event_name("-a-", 1), "a-a-z.1");
    }

    #[test]
    fn long_texts_of_events_are_cut_between_characters() {
        let event = Event {
            regarding: Value::Null,
            related: Value::Null,
            action: "Resource Passed",
            reason: "PolicyViolation",
            note: "ä".repeat(1000),
        };
        let written = event.written("shop", "h");
        let note = written.text_at(&["note"]);
        assert!(note.len() <= LONGEST_NOTE && note.ends_with("ä..."));
        assert_eq!(written.text_at(&["type"]), "Warning");
    }
}
