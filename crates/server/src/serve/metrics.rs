//! The metrics of the server: their names, texts and labels, and when they change; shown in the
//! text form of Prometheus. Names and labels are Kyverno's where it has such a metric.

use crate::serve::metric::Description;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use axum::http::Method;
use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry};

use ephor_admission::admit::{Decision, Incoming, Route};
use ephor_engine::RuleOutcome;
use ephor_ir::Policy;
use ephor_policies::policy_set::CacheFigures;

use ephor_admission::settings::metrics::Exposure;

use super::catalog::Catalog;
use super::families::{Families, OTHER};
use super::pitfalls::Pitfalls;
use super::policies::Snapshot;
use super::process::ProcessMetrics;
use super::reports::Counters;

/// How many paths that name policies may be labels, and how long they may be: clients choose paths.
/// Paths beyond are counted as `other`; a larger number lets clients use more memory.
const MAX_PATHS: usize = 256;
const LONGEST_PATH: usize = 1024;

/// What the result cache holds, and what became of it.
struct CacheMetrics {
    entries: IntGauge,
    bytes: IntGauge,
    limit: IntGauge,
    misses: IntCounter,
    evictions: IntCounter,
    /// The snapshot and the figures of its cache that were counted last: a cache begins with its
    /// policies.
    counted: Mutex<(u64, CacheFigures)>,
}

/// All metrics.
pub struct Metrics {
    registry: Registry,
    /// Those that operators configure.
    pub(super) families: ArcSwap<Families>,
    /// Requests refused because too many were in flight.
    pub shed: IntCounter,
    /// Requests answered by failure policy because time ran out.
    pub late: IntCounter,
    /// Requests in flight.
    pub running: IntGauge,
    /// Bodies that have not arrived completely.
    pub arriving: IntGauge,
    /// Bytes of buffered bodies.
    pub buffered: IntGauge,
    /// Evaluations that exceeded their deadline and still run.
    pub stuck: IntGauge,
    /// Reviews refused before policies were evaluated, by reason.
    pub refused: IntCounterVec,
    /// Paths with policy names that are label values.
    paths: Mutex<HashSet<String>>,
    /// Lines of the audit log that were not written.
    pub audit_dropped: IntCounter,
    /// Counters of reports and events that were not written.
    pub reporting: Counters,
    /// Spans that were not sent.
    pub spans_dropped: IntCounter,
    /// Results that came from the result cache.
    pub(super) cache_hits: IntCounter,
    cache: CacheMetrics,
    process: ProcessMetrics,
    /// 1 on the replica that leads.
    pub leader: IntGauge,
    /// When the certificate in use expires.
    pub expiry: IntGauge,
    /// Decisions of policies with shadows.
    pub(super) shadows: IntCounterVec,
    /// What users of policies do not expect.
    pub(super) pitfalls: Pitfalls,
    reloads: IntCounterVec,
    problems: IntGauge,
    policies: IntGaugeVec,
    not_run: IntGaugeVec,
}

impl Metrics {
    /// Registers all of them.
    ///
    /// # Errors
    /// Two metrics have the same name.
    pub fn new() -> Result<Metrics, prometheus::Error> {
        Ok(Metrics::with_descriptions()?.0)
    }

    /// Registers all of them, and describes those whose labels are fixed.
    pub(super) fn with_descriptions() -> Result<(Metrics, Vec<Description>), prometheus::Error> {
        let all = Catalog::default();
        let info = all.gauges("kyverno_info", "Always 1; the version of ephor is a label.", &["version"])?;
        info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let families = ArcSwap::from_pointee(Families::new(Exposure::default()));
        let shed = all.counter(
            "ephor_requests_shed_total",
            "Reviews refused with status 429: --max-in-flight or --max-buffered-bytes was reached.",
        )?;
        let late = all.counter(
            "ephor_requests_timed_out_total",
            "Reviews answered by failure policy because their deadline was exceeded.",
        )?;
        let running =
            all.gauge("ephor_requests_in_flight", "Reviews that hold one of the slots of --max-in-flight.")?;
        let arriving =
            all.gauge("ephor_request_bodies_pending", "Request bodies that have not arrived completely.")?;
        let buffered =
            all.gauge("ephor_buffered_bytes", "Bytes of buffered reviews, limited by --max-buffered-bytes.")?;
        let stuck =
            all.gauge("ephor_evaluations_stuck", "Evaluations that exceeded their deadline and still run.")?;
        let refused = all.counters(
            "ephor_reviews_refused_total",
            "Reviews refused before policies were evaluated, by reason.",
            &["reason"],
        )?;
        let audit_dropped = all.counter(
            "ephor_audit_lines_dropped_total",
            "Lines of the audit log that could not be written.",
        )?;
        let reporting = Counters {
            dropped: all.counter(
                "ephor_reports_dropped_total",
                "Decisions without PolicyReports and events because too many were waiting to be written.",
            )?,
            event_errors: all
                .counter("kyverno_events_dropped_total", "Events that the API server did not accept.")?,
            report_errors: all
                .counter("ephor_report_errors_total", "PolicyReports that the API server did not accept.")?,
        };
        let spans_dropped = all.counter(
            "ephor_spans_dropped_total",
            "Spans that were not sent: the collector did not accept them, or too many were waiting.",
        )?;
        let cache_hits =
            all.counter("ephor_result_cache_hits_total", "Rule results found in the result cache.")?;
        let cache = CacheMetrics {
            entries: all.gauge("ephor_result_cache_entries", "Entries of the result cache.")?,
            bytes: all.gauge(
                "ephor_result_cache_bytes",
                "Bytes that the entries of the result cache keep alive, with their table and the plans of their rules.",
            )?,
            limit: all.gauge(
                "ephor_result_cache_limit_bytes",
                "The limit of these bytes, set by --result-cache-megabytes.",
            )?,
            misses: all.counter(
                "ephor_result_cache_misses_total",
                "Rule results that were looked up in the result cache and evaluated because they were not there.",
            )?,
            evictions: all.counter(
                "ephor_result_cache_evictions_total",
                "Entries that the result cache has removed to stay within its limit.",
            )?,
            counted: Mutex::default(),
        };
        let process = ProcessMetrics::new(&all)?;
        let leader = all.gauge(
            "ephor_leader",
            "1 on the replica that holds the lease and does what is not admission, 0 on others.",
        )?;
        let expiry = all.gauge(
            "ephor_certificate_expiry_timestamp_seconds",
            "When the certificate of reviews expires, in seconds since 1970; 0 without one.",
        )?;
        let shadows = all.counters(
            "ephor_shadow_decisions_total",
            "Requests for which a policy and its shadow in audit mode were compared: `same`, `weaker` when only the policy is violated, `stricter` when only the shadow is.",
            &["policy", "result"],
        )?;
        let pitfalls = Pitfalls::new(&all)?;
        let reloads = all.counters(
            "ephor_policy_reloads_total",
            "Loads of policies, the first included, by result: `ok`, or `problems` when some could not be used.",
            &["result"],
        )?;
        let problems = all.gauge(
            "ephor_policy_problems",
            "What /readyz lists: policies, files and settings that cannot be used, and external data that is missing.",
        )?;
        let policies = all.gauges("ephor_policies", "Loaded policies by kind.", &["kind"])?;
        let not_run = all.gauges(
            "ephor_rules_not_implemented",
            "1 for each loaded generate rule, which this server does not run.",
            &["policy_namespace", "policy_name", "rule_name", "rule_type"],
        )?;
        let (registry, descriptions) = all.finish();
        let metrics = Metrics {
            registry,
            families,
            shed,
            late,
            running,
            arriving,
            buffered,
            stuck,
            refused,
            paths: Mutex::default(),
            audit_dropped,
            reporting,
            spans_dropped,
            cache_hits,
            cache,
            process,
            leader,
            expiry,
            shadows,
            pitfalls,
            reloads,
            problems,
            policies,
            not_run,
        };
        Ok((metrics, descriptions))
    }

    /// Counts an HTTP request.
    pub fn request(&self, method: &Method, path: &str, route: &Route, is_known: bool) {
        // A client must not be able to create an unbounded number of label values.
        let known = [Method::POST, Method::GET, Method::PUT, Method::DELETE, Method::HEAD, Method::PATCH];
        let method = if known.contains(method) { method.as_str() } else { OTHER };
        let path = match route.named().is_none() && route.single().is_none() {
            true => path,
            false if is_known => self.label(path),
            false => OTHER,
        };
        self.families.load().http.with(&[method, path]).inc();
    }

    /// A path that names policies as a label: itself, as long as there are not too many.
    fn label<'p>(&self, path: &'p str) -> &'p str {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let is_one = paths.contains(path)
            || (paths.len() < MAX_PATHS && path.len() <= LONGEST_PATH && paths.insert(path.to_string()));
        if is_one { path } else { OTHER }
    }

    /// Counts an answer and the results that led to it.
    pub fn decided(&self, incoming: &Incoming, decision: &Decision, webhook: &str, seconds: f64) {
        let operation = operation(incoming);
        let allowed = if decision.answer.allowed() { "true" } else { "false" };
        let [kind, namespace] = origin(incoming);
        let families = self.families.load();
        if families.count(namespace) {
            let labels = [kind, namespace, operation, allowed, webhook];
            families.requests.with(&labels).inc();
            families.took(&labels, seconds);
        }
        if let Some(prepared) = &decision.prepared {
            self.results(incoming, &prepared.request.target, &decision.outcomes);
        }
    }

    /// Sets the metrics about policies from a snapshot.
    pub fn loaded(&self, snapshot: &Snapshot) {
        let result = if snapshot.problems.is_empty() { "ok" } else { "problems" };
        self.reloads.with_label_values(&[result]).inc();
        self.problems.set(i64::try_from(snapshot.problems.len()).unwrap_or(i64::MAX));
        if self.families.load().are_outdated(&snapshot.exposure) {
            self.families.store(Arc::new(Families::new(snapshot.exposure.clone())));
        }
        let families = self.families.load();
        families.counters.clear();
        self.policies.reset();
        families.rules.reset();
        self.not_run.reset();
        for policy in snapshot.gate.engine().set().policies() {
            self.policies.with_label_values(&[&*policy.api.kind]).inc();
            for rule in policy.rules.iter().filter(|rule| is_not_run(rule, snapshot.has_controllers)) {
                let namespace = policy.namespace.as_deref().unwrap_or("-");
                let labels = [namespace, &policy.name, &rule.name, name_of(rule.kind)];
                self.not_run.with_label_values(&labels).set(1);
            }
            let namespace = policy.namespace.as_deref().unwrap_or("-");
            for rule in policy.rule_names.iter().filter(|_| families.count(namespace)) {
                let kind = policy.rules.first().map_or("-", |r| name_of(r.kind));
                families.rules.add(&[policy_type(policy), namespace, &policy.name, rule, kind, "true"]);
            }
        }
    }

    /// Sets the metrics about the process, and those of the result cache from a snapshot.
    pub fn memory(&self, snapshot: &Snapshot) {
        let gauge = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.process.read();
        let now = snapshot.gate.engine().cache_figures().unwrap_or_default();
        let cache = &self.cache;
        cache.entries.set(gauge(now.entries));
        cache.bytes.set(gauge(now.bytes));
        cache.limit.set(gauge(now.limit));
        let mut counted = cache.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let before = if counted.0 == snapshot.generation { counted.1 } else { CacheFigures::default() };
        cache.misses.inc_by(now.misses.saturating_sub(before.misses));
        cache.evictions.inc_by(now.evictions.saturating_sub(before.evictions));
        *counted = (snapshot.generation, now);
    }

    /// All metrics as text.
    pub fn text(&self) -> String {
        self.families.load().text(&self.registry).unwrap_or_else(|error| format!("# {error}\n"))
    }
}

/// The longest name in Kubernetes.
const LONGEST_NAME: usize = 253;

/// Kind and namespace of a request as labels.
pub(super) fn origin(incoming: &Incoming) -> [&str; 2] {
    let label = |text| if str::len(text) > LONGEST_NAME { OTHER } else { text };
    [&["kind", "kind"][..], &["namespace"]].map(|path| label(incoming.text(path)))
}

/// The operation of a request as a label.
pub(super) fn operation(incoming: &Incoming) -> &'static str {
    match incoming.text(&["operation"]) {
        "CREATE" => "create",
        "UPDATE" => "update",
        "DELETE" => "delete",
        "CONNECT" => "connect",
        _ => OTHER,
    }
}

/// Whether nothing carries a rule out.
pub(super) fn is_not_run(rule: &ephor_ir::Rule, has_controllers: bool) -> bool {
    rule.kind == ephor_ir::rule::RuleKind::Generation && !has_controllers
}

pub(super) fn policy_type(policy: &Policy) -> &'static str {
    if policy.namespace.is_some() { "namespaced" } else { "cluster" }
}

pub(super) fn rule_type(rule: &RuleOutcome) -> &'static str {
    name_of(rule.kind)
}

fn name_of(kind: ephor_ir::rule::RuleKind) -> &'static str {
    use ephor_ir::rule::RuleKind;
    match kind {
        RuleKind::Validation => "validate",
        RuleKind::Mutation => "mutate",
        RuleKind::Generation => "generate",
        RuleKind::ImageVerification => "imageVerify",
    }
}

/// All metrics of the server with the labels that they have by default, in the order of their
/// names.
///
/// # Errors
/// Two metrics have the same name.
pub fn descriptions() -> Result<Vec<Description>, prometheus::Error> {
    let mut all = Metrics::with_descriptions()?.1;
    all.extend(Families::with_descriptions(Exposure::default()).1);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}
