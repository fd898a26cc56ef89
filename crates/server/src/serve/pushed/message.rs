//! Metrics as a message of OTLP.
//!
//! In: families as they are shown, the resource of the replica, the times of their beginning and
//! end. Out: the request of a collector's metrics service. Counters are totals that only rise,
//! histograms have the counts between their bounds instead of those below; all are cumulative.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource as Described;
use opentelemetry_sdk::Resource;

use super::exposition::{Sample, ShownFamily};
use crate::serve::metric::Kind;

/// The message.
pub fn of(
    families: &[ShownFamily],
    resource: &Resource,
    since: SystemTime,
    now: SystemTime,
) -> ExportMetricsServiceRequest {
    let times = (nanoseconds(since), nanoseconds(now));
    let attributes =
        resource.iter().map(|(key, value)| attribute(key.as_str(), &value.to_string())).collect();
    let scope = InstrumentationScope {
        name: "ephor".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..InstrumentationScope::default()
    };
    let metrics = families.iter().map(|family| metric(family, times)).collect();
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Described { attributes, ..Described::default() }),
            scope_metrics: vec![ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() }],
            ..ResourceMetrics::default()
        }],
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn attribute(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.into())) };
    KeyValue { key: key.into(), value: Some(value), ..KeyValue::default() }
}

fn metric(family: &ShownFamily, (since, now): (u64, u64)) -> Metric {
    let cumulative = AggregationTemporality::Cumulative.into();
    let points = |since: u64| family.samples.iter().map(|sample| number(sample, since, now)).collect();
    let data = match family.kind {
        Kind::Counter => Data::Sum(Sum {
            data_points: points(since),
            aggregation_temporality: cumulative,
            is_monotonic: true,
        }),
        // A gauge has no beginning.
        Kind::Gauge => Data::Gauge(Gauge { data_points: points(0) }),
        Kind::Histogram => Data::Histogram(Histogram {
            data_points: histograms(family, since, now),
            aggregation_temporality: cumulative,
        }),
    };
    Metric {
        name: family.name.clone(),
        description: family.help.clone(),
        unit: unit(&family.name).into(),
        data: Some(data),
        ..Metric::default()
    }
}

/// The unit that a name ends in, as OpenTelemetry writes it.
fn unit(name: &str) -> &'static str {
    match name.strip_suffix("_total").unwrap_or(name) {
        name if name.ends_with("_seconds") => "s",
        name if name.ends_with("_bytes") => "By",
        _ => "",
    }
}

fn number(sample: &Sample, since: u64, now: u64) -> NumberDataPoint {
    NumberDataPoint {
        attributes: sample.labels.iter().map(|(key, value)| attribute(key, value)).collect(),
        start_time_unix_nano: since,
        time_unix_nano: now,
        value: Some(number_data_point::Value::AsDouble(sample.value)),
        ..NumberDataPoint::default()
    }
}

/// A point for each series: its lines follow one another, the count last.
fn histograms(family: &ShownFamily, since: u64, now: u64) -> Vec<HistogramDataPoint> {
    let mut all = Vec::new();
    let (mut bounds, mut counts, mut below, mut sum) = (Vec::new(), Vec::new(), 0, None);
    for sample in &family.samples {
        match sample.suffix.as_str() {
            "_bucket" => {
                let bound = sample.labels.iter().find(|(key, _)| key == "le").map(|(_, bound)| bound.parse());
                if let Some(Ok(bound)) = bound
                    && f64::is_finite(bound)
                {
                    bounds.push(bound);
                }
                let total = whole(sample.value);
                counts.push(total.saturating_sub(below));
                below = total;
            }
            "_sum" => sum = Some(sample.value),
            _ => {
                all.push(HistogramDataPoint {
                    attributes: sample.labels.iter().map(|(key, value)| attribute(key, value)).collect(),
                    start_time_unix_nano: since,
                    time_unix_nano: now,
                    count: whole(sample.value),
                    sum: sum.take(),
                    bucket_counts: std::mem::take(&mut counts),
                    explicit_bounds: std::mem::take(&mut bounds),
                    ..HistogramDataPoint::default()
                });
                below = 0;
            }
        }
    }
    all
}

/// A count, which the text has as a whole number.
fn whole(value: f64) -> u64 {
    if value.is_finite() && value >= 0.0 { value as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::super::exposition::families;
    use super::*;

    fn metrics(text: &str) -> Vec<Metric> {
        let resource = Resource::builder_empty().build();
        let request =
            of(&families(text), &resource, UNIX_EPOCH, UNIX_EPOCH + std::time::Duration::from_secs(1));
        request.resource_metrics[0].scope_metrics[0].metrics.clone()
    }

    #[test]
    fn histograms_have_the_counts_between_their_bounds_series_by_series() {
        let text = "# TYPE h_seconds histogram\n\
            h_seconds_bucket{a=\"1\",le=\"0.5\"} 2\nh_seconds_bucket{a=\"1\",le=\"1\"} 5\nh_seconds_bucket{a=\"1\",le=\"+Inf\"} 6\n\
            h_seconds_sum{a=\"1\"} 3.25\nh_seconds_count{a=\"1\"} 6\n\
            h_seconds_bucket{a=\"2\",le=\"0.5\"} 1\nh_seconds_bucket{a=\"2\",le=\"1\"} 1\nh_seconds_bucket{a=\"2\",le=\"+Inf\"} 1\n\
            h_seconds_sum{a=\"2\"} 0.25\nh_seconds_count{a=\"2\"} 1\n";
        let [metric] = &metrics(text)[..] else { panic!("one metric") };
        assert_eq!(metric.unit, "s");
        let Some(Data::Histogram(histogram)) = &metric.data else { panic!("{metric:?}") };
        let [first, second] = &histogram.data_points[..] else { panic!("{histogram:?}") };
        assert_eq!(
            (first.explicit_bounds.as_slice(), first.bucket_counts.as_slice()),
            (&[0.5, 1.0][..], &[2, 3, 1][..])
        );
        assert_eq!((first.count, first.sum, first.attributes.len()), (6, Some(3.25), 1));
        assert_eq!(
            (second.bucket_counts.as_slice(), second.count, second.sum),
            (&[1, 0, 0][..], 1, Some(0.25))
        );
        assert_eq!(first.time_unix_nano, 1_000_000_000);
    }

    #[test]
    fn gauges_have_a_value_and_counters_rise_from_the_start() {
        let all = metrics("# TYPE g_bytes gauge\ng_bytes -4\n# TYPE c_total counter\nc_total{k=\"v\"} 7\n");
        let Some(Data::Gauge(gauge)) = &all[0].data else { panic!("{all:?}") };
        assert_eq!(gauge.data_points[0].value, Some(number_data_point::Value::AsDouble(-4.0)));
        assert_eq!(all[0].unit, "By");
        let Some(Data::Sum(sum)) = &all[1].data else { panic!("{all:?}") };
        assert_eq!(sum.data_points[0].value, Some(number_data_point::Value::AsDouble(7.0)));
        assert_eq!(sum.data_points[0].attributes[0].key, "k");
    }
}
