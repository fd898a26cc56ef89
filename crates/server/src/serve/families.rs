//! The metrics that operators can configure: which labels and buckets they have, and what is counted at all.
//!
//! In: the settings. Out: families of counters that take all their labels and use those that are exposed.
//! Changed settings mean new families, which start at zero.
//!
//! Clients determine kinds and namespaces; a family has at most [`MOST_SERIES`] series, and further ones are counted
//! under `other`.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

use prometheus::{HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Registry, proto::MetricFamily};

use crate::settings::metrics::Exposure;

use super::catalog::{Catalog, Description};
use super::tally::Tally;

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
const RULE: [&str; 6] =
    ["policy_type", "policy_namespace", "policy_name", "rule_name", "rule_type", "status_ready"];

/// Labels whose values come from requests.
const OF_REQUESTS: [&str; 2] = ["resource_kind", "resource_namespace"];
/// The series of a family; a counter with its labels takes about 1.5 kB, a histogram twice as much.
const MOST_SERIES: usize = 20_000;
/// The label value of what is counted together.
pub(super) const OTHER: &str = "other";

/// A family, and which of its labels are exposed.
pub(super) struct Family<V> {
    metric: V,
    exposed: Vec<usize>,
    /// Positions of the exposed labels whose values come from requests.
    of_requests: Vec<usize>,
    series: RwLock<HashSet<u64>>,
    hasher: RandomState,
}

impl<V> Family<V> {
    fn select<'l>(&self, labels: &[&'l str]) -> Vec<&'l str> {
        let mut selected: Vec<&str> = self.exposed.iter().filter_map(|at| labels.get(*at).copied()).collect();
        if !self.has_room(&selected) {
            for at in &self.of_requests {
                if let Some(label) = selected.get_mut(*at) {
                    *label = OTHER;
                }
            }
        }
        selected
    }

    /// Whether a series exists or may be created.
    fn has_room(&self, labels: &[&str]) -> bool {
        if self.of_requests.is_empty() {
            return true;
        }
        let series = self.hasher.hash_one(labels);
        let seen = |all: &HashSet<u64>| all.contains(&series);
        if seen(&self.series.read().unwrap_or_else(PoisonError::into_inner)) {
            return true;
        }
        let mut all = self.series.write().unwrap_or_else(PoisonError::into_inner);
        seen(&all) || (all.len() < MOST_SERIES && all.insert(series))
    }
}

impl Family<IntCounterVec> {
    /// The counter of labels, of which all are given.
    pub fn with(&self, labels: &[&str]) -> IntCounter {
        self.metric.with_label_values(&self.select(labels))
    }
}

impl Family<HistogramVec> {
    /// Counts a measurement.
    pub fn observe(&self, labels: &[&str], measured: f64) {
        self.metric.with_label_values(&self.select(labels)).observe(measured);
    }
}

impl Family<IntGaugeVec> {
    /// Sets what has these labels.
    pub fn set(&self, labels: &[&str], to: i64) {
        self.metric.with_label_values(&self.select(labels)).set(to);
    }

    /// Removes all series.
    pub fn reset(&self) {
        self.metric.reset();
    }
}

/// See the module page.
pub(super) struct Families {
    exposure: Exposure,
    registry: Registry,
    since: Instant,
    pub requests: Family<IntCounterVec>,
    pub durations: Family<HistogramVec>,
    pub http: Family<IntCounterVec>,
    pub results: Family<IntCounterVec>,
    pub reviews: Family<IntCounterVec>,
    pub rules: Family<IntGaugeVec>,
    /// Counters of results.
    pub tally: Tally,
}

impl Families {
    /// Registers all of them.
    ///
    /// # Errors
    /// Two metrics have the same name.
    pub fn new(exposure: Exposure) -> Result<Families, prometheus::Error> {
        Ok(Families::with_descriptions(exposure)?.0)
    }

    /// Registers all of them, and describes them.
    pub fn with_descriptions(exposure: Exposure) -> Result<(Families, Vec<Description>), prometheus::Error> {
        let all = Catalog::configurable();
        fn family<V>(
            exposure: &Exposure,
            name: &str,
            labels: &[&str],
            create: impl FnOnce(&[&str]) -> Result<V, prometheus::Error>,
        ) -> Result<Family<V>, prometheus::Error> {
            let is_shown = |(_, label): &(usize, &&str)| exposure.shows_label(name, label);
            let (exposed, labels): (Vec<usize>, Vec<&str>) =
                labels.iter().enumerate().filter(is_shown).map(|(at, label)| (at, *label)).unzip();
            let of_requests = labels.iter().enumerate().filter(|(_, label)| OF_REQUESTS.contains(label));
            let of_requests = of_requests.map(|(at, _)| at).collect();
            let metric = create(&labels)?;
            Ok(Family { metric, exposed, of_requests, series: RwLock::default(), hasher: RandomState::new() })
        }
        let counters = |name: &str, help: &str, labels: &[&str]| {
            family(&exposure, name, labels, |labels| all.counters(name, help, labels))
        };
        let took = "kyverno_admission_review_duration_seconds";
        let durations = family(&exposure, took, &REQUEST, |labels| {
            let help = "Seconds that reviews took until their answers.";
            all.histograms(took, help, labels, exposure.buckets(took))
        })?;
        let requests = counters("kyverno_admission_requests_total", "Answered reviews.", &REQUEST)?;
        let http = counters(
            "kyverno_http_requests_total",
            "HTTP requests on the address of reviews, by method and path.",
            &["http_method", "http_url"],
        )?;
        let results = counters(
            "kyverno_policy_results_total",
            "Results of rules of ClusterPolicies and Policies.",
            &RESULT,
        )?;
        let reviews = counters(
            "kyverno_validating_policy_results_total",
            "Results of policies with expressions: those of policies.kyverno.io and of Kubernetes.",
            &REVIEW,
        )?;
        let info = "kyverno_policy_rule_info_total";
        let rules =
            family(&exposure, info, &RULE, |labels| all.gauges(info, "1 for each loaded rule.", labels))?;
        let (registry, descriptions) = all.finish();
        let families = Families {
            requests,
            durations,
            http,
            results,
            reviews,
            rules,
            tally: Tally::default(),
            since: Instant::now(),
            registry,
            exposure,
        };
        Ok((families, descriptions))
    }

    /// Whether new families have to replace these: the settings changed, or the refresh interval is over.
    pub fn are_outdated(&self, exposure: &Exposure) -> bool {
        self.exposure != *exposure || exposure.refresh.is_some_and(|after| self.since.elapsed() >= after)
    }

    /// Whether what belongs to a namespace is counted.
    pub fn count(&self, namespace: &str) -> bool {
        self.exposure.counts(namespace)
    }

    /// These metrics and others, as far as they are shown, in the order of their names.
    pub fn gather(&self, others: &Registry) -> Vec<MetricFamily> {
        let mut all = self.registry.gather();
        all.extend(others.gather());
        all.retain(|family| self.exposure.shows(family.name()));
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }
}

#[cfg(test)]
mod tests {
    use prometheus::core::Collector;

    use super::*;

    #[test]
    fn further_kinds_and_namespaces_are_counted_together() {
        let families = Families::new(Exposure::default()).expect("families");
        let count = |namespace: &str| {
            families
                .requests
                .with(&["Pod", namespace, "create", "true", "ValidatingWebhookConfiguration"])
                .inc();
        };
        (0..MOST_SERIES + 100).for_each(|i| count(&format!("n{i}")));
        count("n0");
        let gathered = families.requests.metric.collect();
        let series = gathered.first().map(|f| f.get_metric()).unwrap_or_default();
        assert_eq!(series.len(), MOST_SERIES + 1);
        let of = |namespace: &str| {
            let is_it = |m: &&prometheus::proto::Metric| m.get_label().iter().any(|l| l.value() == namespace);
            series.iter().find(is_it).map(|m| m.get_counter().get_value())
        };
        assert_eq!((of(OTHER), of("n0"), of("n1")), (Some(100.0), Some(2.0), Some(1.0)));
    }
}
