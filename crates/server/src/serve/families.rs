//! The metrics that operators can configure: which labels and buckets they have, and what is
//! counted at all.
//!
//! In: the settings. Out: families of counters that take all their labels and use those that are
//! exposed. Changed settings mean new families, which start at zero.
//!
//! Clients determine kinds and namespaces; a family has at most [`MAX_SERIES`] series, and further
//! ones are counted under `other`.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use prometheus::{Registry, TextEncoder};

use ephor_admission::settings::metrics::Exposure;

use super::catalog::Catalog;
use super::series::{Count, Histogram, Measure, Present, Series};
use crate::serve::counters::ResultCounters;
use crate::serve::metric::Description;

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
/// The series of a family; a counter with the values of its labels takes about 200 bytes, a
/// histogram twice as much, so 20,000 are 4 to 8 MB. Series beyond are counted as `other`.
const MAX_SERIES: usize = 20_000;
/// The label value of what is counted together.
pub(super) const OTHER: &str = "other";

/// A family, and which of its labels are exposed.
pub(super) struct Family<M> {
    metric: Series<M>,
    exposed: Vec<usize>,
    /// Positions of the exposed labels whose values come from requests.
    of_requests: Vec<usize>,
    series: RwLock<HashSet<u64>>,
    hasher: RandomState,
}

impl<M: Measure> Family<M> {
    /// The series of labels, of which all are given.
    fn get(&self, labels: &[&str], create: impl FnOnce() -> M) -> M {
        self.metric.with(&self.select(labels), create)
    }

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
        seen(&all) || (all.len() < MAX_SERIES && all.insert(series))
    }
}

impl Family<Count> {
    /// The counter of labels, of which all are given.
    pub fn with(&self, labels: &[&str]) -> Count {
        self.get(labels, Count::default)
    }
}

impl Family<Histogram> {
    /// Counts a measurement.
    pub fn observe(&self, labels: &[&str], bounds: &Arc<[f64]>, measured: f64) {
        self.get(labels, || Histogram::new(bounds)).observe(measured);
    }
}

impl Family<Present> {
    /// Adds what has these labels.
    pub fn add(&self, labels: &[&str]) {
        self.get(labels, Present::default);
    }

    /// Removes all series.
    pub fn reset(&self) {
        self.metric.reset();
    }
}

/// A metric as text, under a name.
type Written<'f> = (String, Box<dyn Fn(&mut String) + 'f>);

/// See the module page.
pub(super) struct Families {
    exposure: Exposure,
    since: Instant,
    pub requests: Family<Count>,
    durations: Family<Histogram>,
    /// The bounds of the durations' buckets.
    bounds: Arc<[f64]>,
    pub http: Family<Count>,
    pub results: Family<Count>,
    pub reviews: Family<Count>,
    pub rules: Family<Present>,
    /// Counters of results.
    pub counters: ResultCounters,
}

impl Families {
    /// All of them, without series.
    pub fn new(exposure: Exposure) -> Families {
        Families::with_descriptions(exposure).0
    }

    /// All of them, with what they are.
    pub fn with_descriptions(exposure: Exposure) -> (Families, Vec<Description>) {
        let all = Catalog::configurable();
        let took = "kyverno_admission_review_duration_seconds";
        let families = Families {
            requests: family(
                &all,
                &exposure,
                "kyverno_admission_requests_total",
                "Answered reviews.",
                &REQUEST,
            ),
            durations: family(
                &all,
                &exposure,
                took,
                "Seconds that reviews took until their answers.",
                &REQUEST,
            ),
            bounds: exposure.buckets(took).into(),
            http: family(
                &all,
                &exposure,
                "kyverno_http_requests_total",
                "HTTP requests on the address of reviews, by method and path.",
                &["http_method", "http_url"],
            ),
            results: family(
                &all,
                &exposure,
                "kyverno_policy_results_total",
                "Results of rules of ClusterPolicies and Policies.",
                &RESULT,
            ),
            reviews: family(
                &all,
                &exposure,
                "kyverno_validating_policy_results_total",
                "Results of policies with expressions: those of policies.kyverno.io and of Kubernetes.",
                &REVIEW,
            ),
            rules: family(
                &all,
                &exposure,
                "kyverno_policy_rule_info_total",
                "1 for each loaded rule.",
                &RULE,
            ),
            counters: ResultCounters::default(),
            since: Instant::now(),
            exposure,
        };
        (families, all.finish().1)
    }

    /// Counts how long an answer took.
    pub fn took(&self, labels: &[&str], seconds: f64) {
        self.durations.observe(labels, &self.bounds, seconds);
    }

    /// Whether new families have to replace these: the settings changed, or the refresh interval is
    /// over.
    pub fn are_outdated(&self, exposure: &Exposure) -> bool {
        self.exposure != *exposure || exposure.refresh.is_some_and(|after| self.since.elapsed() >= after)
    }

    /// Whether what belongs to a namespace is counted.
    pub fn count(&self, namespace: &str) -> bool {
        self.exposure.counts(namespace)
    }

    /// These metrics and others as text, as far as they are shown, in the order of their names.
    ///
    /// # Errors
    /// What the library cannot write.
    pub fn text(&self, others: &Registry) -> Result<String, prometheus::Error> {
        let mut all = vec![
            written(&self.requests),
            written(&self.durations),
            written(&self.http),
            written(&self.results),
            written(&self.reviews),
            written(&self.rules),
        ];
        for family in others.gather() {
            let mut text = String::new();
            TextEncoder::new().encode_utf8(std::slice::from_ref(&family), &mut text)?;
            all.push((family.name().into(), Box::new(move |out| out.push_str(&text))));
        }
        all.retain(|(name, _)| self.exposure.shows(name));
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut out = String::new();
        all.iter().for_each(|(_, write)| write(&mut out));
        Ok(out)
    }
}

/// A family without series.
fn family<M: Measure>(
    all: &Catalog,
    exposure: &Exposure,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Family<M> {
    let is_shown = |(_, label): &(usize, &&str)| exposure.shows_label(name, label);
    let (exposed, labels): (Vec<usize>, Vec<&str>) =
        labels.iter().enumerate().filter(is_shown).map(|(at, label)| (at, *label)).unzip();
    let of_requests = labels.iter().enumerate().filter(|(_, label)| OF_REQUESTS.contains(label));
    let of_requests = of_requests.map(|(at, _)| at).collect();
    let metric = all.series(name, help, &labels);
    Family { metric, exposed, of_requests, series: RwLock::default(), hasher: RandomState::new() }
}

fn written<M: Measure>(family: &Family<M>) -> Written<'_> {
    (family.metric.name().into(), Box::new(|out| family.metric.write(out)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_kinds_and_namespaces_are_counted_together() {
        let families = Families::new(Exposure::default());
        let count = |namespace: &str| {
            families
                .requests
                .with(&["Pod", namespace, "create", "true", "ValidatingWebhookConfiguration"])
                .inc();
        };
        (0..MAX_SERIES + 100).for_each(|i| count(&format!("n{i}")));
        count("n0");
        assert_eq!(families.requests.metric.len(), MAX_SERIES + 1);
        let of = |namespace: &str| {
            let labels = ["Pod", namespace, "create", "true", "ValidatingWebhookConfiguration"];
            families.requests.with(&labels).get()
        };
        assert_eq!((of(OTHER), of("n0"), of("n1")), (100, 2, 1));
    }
}
