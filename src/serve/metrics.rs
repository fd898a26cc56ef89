//! Metrics, in the text form of Prometheus. Names and labels are Kyverno's where it has such a metric.

use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
};

use crate::admit::{Decision, Incoming};
use crate::engine::RuleOutcome;
use crate::engine::action::{enforces, of_result};
use crate::ir::Policy;
use crate::matching::Target;
use crate::policy_set::Outcome;

use super::policies::Snapshot;
use super::reports::Counters;

const BUCKETS: [f64; 15] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0];
const REQUEST: [&str; 5] = [
    "resource_kind",
    "resource_namespace",
    "resource_request_operation",
    "request_allowed",
    "request_webhook",
];
const RESULT: [&str; 13] = [
    "policy_validation_mode",
    "policy_type",
    "policy_background_mode",
    "policy_namespace",
    "policy_name",
    "resource_kind",
    "resource_namespace",
    "resource_request_operation",
    "rule_name",
    "rule_result",
    "rule_type",
    "rule_execution_cause",
    "dry_run",
];
const REVIEW: [&str; 9] = [
    "policy_validation_mode",
    "policy_background_mode",
    "policy_name",
    "policy_namespace",
    "resource_kind",
    "resource_namespace",
    "resource_request_operation",
    "execution_cause",
    "result",
];

/// All metrics.
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    durations: HistogramVec,
    http: IntCounterVec,
    results: IntCounterVec,
    reviews: IntCounterVec,
    /// Requests that were refused because too many were under way.
    pub shed: IntCounter,
    /// Requests that were not answered in time.
    pub late: IntCounter,
    /// Requests that are under way.
    pub running: IntGauge,
    /// Audit lines that could not be written.
    pub audit_lost: IntCounter,
    /// Reports and events that were not written.
    pub reporting: Counters,
    /// Spans that were not sent.
    pub spans_dropped: IntCounter,
    reloads: IntCounterVec,
    problems: IntGauge,
    policies: IntGaugeVec,
    rules: IntGaugeVec,
    not_run: IntGaugeVec,
}

impl Metrics {
    /// Registers all of them.
    ///
    /// # Errors
    /// Two metrics have the same name.
    pub fn new() -> Result<Metrics, prometheus::Error> {
        let registry = Registry::new();
        let counters = |name: &str, help: &str, labels: &[&str]| {
            let made = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(made.clone()))?;
            Ok::<_, prometheus::Error>(made)
        };
        let counter = |name: &str, help: &str| {
            let made = IntCounter::new(name, help)?;
            registry.register(Box::new(made.clone()))?;
            Ok::<_, prometheus::Error>(made)
        };
        let gauges = |name: &str, help: &str, labels: &[&str]| {
            let made = IntGaugeVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(made.clone()))?;
            Ok::<_, prometheus::Error>(made)
        };
        let gauge = |name: &str, help: &str| {
            let made = IntGauge::new(name, help)?;
            registry.register(Box::new(made.clone()))?;
            Ok::<_, prometheus::Error>(made)
        };
        let durations = HistogramVec::new(
            HistogramOpts::new(
                "kyverno_admission_review_duration_seconds",
                "Time until reviews were answered.",
            )
            .buckets(BUCKETS.to_vec()),
            &REQUEST,
        )?;
        registry.register(Box::new(durations.clone()))?;
        let info = gauges("kyverno_info", "The version.", &["version"])?;
        info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        Ok(Metrics {
            requests: counters("kyverno_admission_requests_total", "Reviews that were answered.", &REQUEST)?,
            durations,
            http: counters("kyverno_http_requests_total", "HTTP requests.", &["http_method", "http_url"])?,
            results: counters("kyverno_policy_results_total", "Results of rules.", &RESULT)?,
            reviews: counters("kyverno_validating_policy_results_total", "Results of expressions.", &REVIEW)?,
            shed: counter("ephor_requests_shed_total", "Reviews refused because too many were under way.")?,
            late: counter(
                "ephor_requests_late_total",
                "Reviews answered by failure policy because time ran out.",
            )?,
            running: gauge("ephor_requests_running", "Reviews under way.")?,
            audit_lost: counter(
                "ephor_audit_lost_total",
                "Lines of the audit stream that could not be written.",
            )?,
            reporting: Counters {
                dropped: counter(
                    "ephor_reports_dropped_total",
                    "Decisions whose reports and events there was no room for.",
                )?,
                lost_events: counter("kyverno_events_dropped_total", "Events that could not be written.")?,
                lost_reports: counter("ephor_reports_lost_total", "Reports that could not be written.")?,
            },
            spans_dropped: counter("ephor_spans_dropped_total", "Spans that could not be sent.")?,
            reloads: counters("ephor_policy_reloads_total", "Times policies were read again.", &["result"])?,
            problems: gauge(
                "ephor_policy_problems",
                "Policies and files that cannot be used as they are now.",
            )?,
            policies: gauges("ephor_policies", "Policies in use.", &["kind"])?,
            not_run: gauges(
                "ephor_rules_not_run",
                "Rules that are work for later, which this server does not do.",
                &["policy_namespace", "policy_name", "rule_name", "rule_type"],
            )?,
            rules: gauges(
                "kyverno_policy_rule_info_total",
                "Rules in use.",
                &["policy_type", "policy_namespace", "policy_name", "rule_name", "rule_type", "status_ready"],
            )?,
            registry,
        })
    }

    /// Counts an HTTP request.
    pub fn request(&self, method: &str, url: &str) {
        self.http.with_label_values(&[method, url]).inc();
    }

    /// Counts an answer and the results that led to it.
    pub fn decided(&self, incoming: &Incoming, decision: &Decision, webhook: &str, seconds: f64) {
        let operation = incoming.text(&["operation"]).to_lowercase();
        let allowed = if decision.answer.allowed() { "true" } else { "false" };
        let labels =
            [incoming.text(&["kind", "kind"]), incoming.text(&["namespace"]), &operation, allowed, webhook];
        self.requests.with_label_values(&labels).inc();
        self.durations.with_label_values(&labels).observe(seconds);
        if let Some(request) = &decision.request {
            self.results(incoming, &request.target, &decision.outcome);
        }
    }

    /// Counts results about an object.
    pub fn results(&self, incoming: &Incoming, target: &Target, outcome: &Outcome) {
        let operation = incoming.text(&["operation"]).to_lowercase();
        for (policy, rule) in outcome.results() {
            let namespace = policy.namespace.as_deref().unwrap_or("-");
            let background = if policy.background { "true" } else { "false" };
            let (kind, of) = (incoming.text(&["kind", "kind"]), incoming.text(&["namespace"]));
            if policy.is_review() {
                let mode = if policy.follows.denies { "Deny" } else { "Audit" };
                let result = rule.status.name();
                let labels = [
                    mode,
                    background,
                    &policy.name,
                    namespace,
                    kind,
                    of,
                    &operation,
                    "admission_request",
                    result,
                ];
                self.reviews.with_label_values(&labels).inc();
                continue;
            }
            let mode = if enforces(of_result(policy, rule, target)) { "enforce" } else { "audit" };
            let labels = [
                mode,
                policy_type(policy),
                background,
                namespace,
                &policy.name,
                kind,
                of,
                &operation,
                &rule.rule,
                rule.status.name(),
                rule_type(rule),
                "admission_request",
                if incoming.dry_run() { "true" } else { "false" },
            ];
            self.results.with_label_values(&labels).inc();
        }
    }

    /// Tells what is in use.
    pub fn loaded(&self, snapshot: &Snapshot) {
        let result = if snapshot.problems.is_empty() { "ok" } else { "problems" };
        self.reloads.with_label_values(&[result]).inc();
        self.problems.set(i64::try_from(snapshot.problems.len()).unwrap_or(i64::MAX));
        self.policies.reset();
        self.rules.reset();
        self.not_run.reset();
        for policy in snapshot.gate.engine().set().policies() {
            self.policies.with_label_values(&[&*policy.kind]).inc();
            for rule in policy.rules.iter().filter(|rule| is_for_later(rule)) {
                let namespace = policy.namespace.as_deref().unwrap_or("-");
                let labels = [namespace, &policy.name, &rule.name, name_of(rule.kind)];
                self.not_run.with_label_values(&labels).set(1);
            }
            for rule in &policy.rule_names {
                let kind = policy.rules.first().map_or("-", |r| name_of(r.kind));
                let namespace = policy.namespace.as_deref().unwrap_or("-");
                self.rules
                    .with_label_values(&[policy_type(policy), namespace, &policy.name, rule, kind, "true"])
                    .set(1);
            }
        }
    }

    /// All of them as text.
    pub fn text(&self) -> String {
        let mut out = Vec::new();
        match TextEncoder::new().encode(&self.registry.gather(), &mut out) {
            Ok(()) => String::from_utf8_lossy(&out).into_owned(),
            Err(e) => format!("# {e}\n"),
        }
    }
}

/// Whether a rule generates objects.
pub(super) fn is_for_later(rule: &crate::ir::Rule) -> bool {
    rule.kind == crate::ir::rule::RuleKind::Generation
}

fn policy_type(policy: &Policy) -> &'static str {
    if policy.namespace.is_some() { "namespaced" } else { "cluster" }
}

fn rule_type(rule: &RuleOutcome) -> &'static str {
    name_of(rule.kind)
}

fn name_of(kind: crate::ir::rule::RuleKind) -> &'static str {
    use crate::ir::rule::RuleKind;
    match kind {
        RuleKind::Validation => "validate",
        RuleKind::Mutation => "mutate",
        RuleKind::Generation => "generate",
        RuleKind::ImageVerification => "imageVerify",
    }
}
