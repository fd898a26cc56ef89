//! The settings of metrics: the ConfigMap `kyverno-metrics` of Kyverno.
//!
//! In: a ConfigMap. Out: which metrics are exposed, with which labels and buckets, about which
//! namespaces. An invalid value leaves the default of its key. Semantics:
//! `docs/reference/settings.md`.

use std::collections::HashMap;
use std::time::Duration;

use ephor_document::json;
use ephor_value::{Value, duration};

use super::keys::{self, Key};

/// The bounds of durations in seconds.
const BUCKETS: [f64; 15] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0];

/// See the module page.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposure {
    included: Vec<String>,
    excluded: Vec<String>,
    buckets: Vec<f64>,
    /// How often all counters are reset; `None` = never.
    pub refresh: Option<Duration>,
    /// By name, without `_total`.
    metrics: HashMap<String, OfMetric>,
    /// Values that are invalid.
    pub problems: Vec<String>,
}

/// The settings of one metric.
#[derive(Clone, Debug, Default, PartialEq)]
struct OfMetric {
    off: bool,
    hidden: Vec<String>,
    buckets: Option<Vec<f64>>,
}

impl Default for Exposure {
    fn default() -> Exposure {
        Exposure {
            included: Vec::new(),
            excluded: Vec::new(),
            buckets: BUCKETS.to_vec(),
            refresh: None,
            metrics: HashMap::new(),
            problems: Vec::new(),
        }
    }
}

/// The name of an instrument: Prometheus adds `_total` to counters, operators may or may not.
fn instrument(name: &str) -> &str {
    name.strip_suffix("_total").unwrap_or(name)
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_list).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(String::from).collect()
}

/// Bounds of buckets, if they rise and there are any.
fn bounds(numbers: impl Iterator<Item = Option<f64>>) -> Option<Vec<f64>> {
    let bounds: Vec<f64> = numbers.collect::<Option<_>>()?;
    let rises = bounds.is_sorted_by(|a, b| a < b) && bounds.iter().all(|b| b.is_finite());
    (rises && !bounds.is_empty()).then_some(bounds)
}

impl Exposure {
    /// Reads a ConfigMap.
    pub fn of(config_map: &Value) -> Exposure {
        let text = |key: Key| config_map.text_at(&["data", key.name]);
        let mut exposure = Exposure::default();
        let mut problems = Vec::new();
        let mut bad = |key: Key, why: &str| problems.push(format!("metrics settings: {}: {why}", key.name));
        let mut object = |key: Key| match text(key) {
            "" => Value::Null,
            written => match json::parse(written) {
                Ok(value @ (Value::Map(_) | Value::Null)) => value,
                Ok(_) => {
                    bad(key, "must be an object");
                    Value::Null
                }
                Err(e) => {
                    bad(key, &e.to_string());
                    Value::Null
                }
            },
        };
        let (namespaces, metrics) = (object(keys::NAMESPACES), object(keys::METRICS_EXPOSURE));
        exposure.included = texts(namespaces.get("include"));
        exposure.excluded = texts(namespaces.get("exclude"));
        for (name, of) in metrics.as_map().into_iter().flat_map(|m| m.iter()) {
            let buckets = of.get("bucketBoundaries").and_then(Value::as_list).filter(|b| !b.is_empty());
            let own = buckets.map(|b| bounds(b.iter().map(Value::as_number)));
            if own == Some(None) {
                bad(keys::METRICS_EXPOSURE, &format!("bucketBoundaries of {name} must be numbers that rise"));
            }
            let settings = OfMetric {
                off: of.get("enabled").and_then(Value::as_bool) == Some(false),
                hidden: texts(of.get("disabledLabelDimensions")),
                buckets: own.flatten(),
            };
            exposure.metrics.insert(instrument(name).to_string(), settings);
        }
        match text(keys::BUCKET_BOUNDARIES) {
            "" => {}
            written => match bounds(written.split(',').map(|b| b.trim().parse().ok())) {
                Some(all) => exposure.buckets = all,
                None => bad(keys::BUCKET_BOUNDARIES, "must be numbers that rise, separated by commas"),
            },
        }
        match text(keys::METRICS_REFRESH_INTERVAL) {
            "" => {}
            written => match duration::parse(written).ok().and_then(|n| u64::try_from(n).ok()) {
                Some(n) => exposure.refresh = Some(Duration::from_nanos(n)).filter(|d| !d.is_zero()),
                None => bad(keys::METRICS_REFRESH_INTERVAL, "must be a duration such as 24h"),
            },
        }
        exposure.problems = problems;
        exposure
    }

    fn of_metric(&self, name: &str) -> Option<&OfMetric> {
        self.metrics.get(instrument(name))
    }

    /// Whether a metric is exposed.
    pub fn shows(&self, name: &str) -> bool {
        self.of_metric(name).is_none_or(|m| !m.off)
    }

    /// Whether a label of a metric is exposed.
    pub fn shows_label(&self, name: &str, label: &str) -> bool {
        self.of_metric(name).is_none_or(|m| !m.hidden.iter().any(|hidden| hidden == label))
    }

    /// The bounds of the buckets of a metric.
    pub fn buckets(&self, name: &str) -> Vec<f64> {
        let own = self.of_metric(name).and_then(|m| m.buckets.as_ref());
        own.unwrap_or(&self.buckets).clone()
    }

    /// Whether a namespace is counted; what has none always is.
    pub fn counts(&self, namespace: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|n| n == namespace);
        matches!(namespace, "" | "-")
            || (!is_in(&self.excluded) && (self.included.is_empty() || is_in(&self.included)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_document::yaml_value;

    fn exposure(data: &str) -> Exposure {
        let document = yaml_value(&format!("{{kind: ConfigMap, data: {data}}}")).unwrap_or_default();
        Exposure::of(&document)
    }

    #[test]
    fn namespaces_are_counted_unless_excluded_or_not_among_the_included() {
        let all = exposure("{namespaces: '{\"exclude\": [\"lab\"]}'}");
        assert!(all.counts("shop") && all.counts("") && !all.counts("lab"));
        let some = exposure("{namespaces: '{\"include\": [\"shop\", \"lab\"], \"exclude\": [\"lab\"]}'}");
        assert!(some.counts("shop") && some.counts("-") && !some.counts("lab") && !some.counts("other"));
    }

    #[test]
    fn metrics_go_by_the_names_of_counters_with_or_without_their_ending() {
        let text = r#"{"a_b": {"enabled": false}, "c_total": {"disabledLabelDimensions": ["x"]}, "d": {"bucketBoundaries": [1, 2.5]}}"#;
        let e = exposure(&format!("{{metricsExposure: '{text}', bucketBoundaries: '0.1, 1,10'}}"));
        assert_eq!(e.problems, Vec::<String>::new());
        assert!(!e.shows("a_b_total") && e.shows("c") && e.shows("other"));
        assert!(!e.shows_label("c_total", "x") && !e.shows_label("c", "x") && e.shows_label("c", "y"));
        assert_eq!((e.buckets("d"), e.buckets("c")), (vec![1.0, 2.5], vec![0.1, 1.0, 10.0]));
    }

    #[test]
    fn invalid_values_are_reported_and_leave_the_default() {
        let text = r#"{"d": {"bucketBoundaries": [2, 1]}}"#;
        let e = exposure(&format!(
            "{{metricsExposure: '{text}', namespaces: '[', bucketBoundaries: '1,x', metricsRefreshInterval: soon}}"
        ));
        assert_eq!(e.problems.len(), 4, "{:?}", e.problems);
        assert_eq!(e.buckets("d"), BUCKETS.to_vec());
        assert!(e.counts("any") && e.refresh.is_none());
        assert_eq!(exposure("{metricsRefreshInterval: 24h}").refresh, Some(Duration::from_secs(86400)));
    }
}
