//! Metrics of which there are thousands of series, in little memory.
//!
//! In: the values of labels. Out: the counter, gauge or histogram that they belong to, and the text
//! form of Prometheus. The crate `prometheus` copies the description of a metric and the names of
//! its labels into each series (2 kB for a dozen labels), and all of them once more when they are
//! read; here a series has the values of its labels and its numbers.

use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::HashMap;

use crate::serve::metric::Kind;

/// What a series measures.
pub(super) trait Measure: Clone {
    /// Its type.
    const KIND: Kind;

    /// Writes its samples: the name of each begins with that of the metric.
    fn write(&self, name: &str, labels: &str, out: &mut String);
}

/// A number of events.
#[derive(Clone, Debug, Default)]
pub(super) struct Count(Arc<AtomicU64>);

impl Count {
    /// Counts one more.
    pub fn inc(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Measure for Count {
    const KIND: Kind = Kind::Counter;

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        sample(out, name, "", labels, "", self.get());
    }
}

/// Something that is there.
#[derive(Clone, Debug, Default)]
pub(super) struct Present;

impl Measure for Present {
    const KIND: Kind = Kind::Gauge;

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        sample(out, name, "", labels, "", 1);
    }
}

/// Measurements by size.
#[derive(Clone, Debug)]
pub(super) struct Histogram(Arc<Buckets>);

#[derive(Debug)]
struct Buckets {
    bounds: Arc<[f64]>,
    /// How many measurements are at most as large as each bound and larger than the one before;
    /// then those that are larger than all.
    counts: Box<[AtomicU64]>,
    /// The bits of the total.
    sum: AtomicU64,
}

impl Histogram {
    /// One with these bounds, which rise.
    pub fn new(bounds: &Arc<[f64]>) -> Histogram {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::default()).collect();
        Histogram(Arc::new(Buckets { bounds: bounds.clone(), counts, sum: AtomicU64::new(0f64.to_bits()) }))
    }

    /// Counts a measurement.
    pub fn observe(&self, measured: f64) {
        let Buckets { bounds, counts, sum } = &*self.0;
        let at = bounds.partition_point(|bound| *bound < measured);
        counts.get(at).map(|count| count.fetch_add(1, Ordering::Relaxed));
        let add = |bits| Some((f64::from_bits(bits) + measured).to_bits());
        let _ = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

impl Measure for Histogram {
    const KIND: Kind = Kind::Histogram;

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        let Buckets { bounds, counts, sum } = &*self.0;
        let bounds = bounds.iter().map(ToString::to_string).chain(["+Inf".to_string()]);
        let mut total = 0;
        for (bound, count) in bounds.zip(counts) {
            total += count.load(Ordering::Relaxed);
            sample(out, name, "_bucket", labels, &bound, total);
        }
        sample(out, name, "_sum", labels, "", f64::from_bits(sum.load(Ordering::Relaxed)));
        sample(out, name, "_count", labels, "", total);
    }
}

/// Writes a sample; `bound` = that of a bucket.
fn sample(out: &mut String, name: &str, suffix: &str, labels: &str, bound: &str, value: impl Display) {
    let bound = if bound.is_empty() { String::new() } else { format!("le=\"{bound}\"") };
    let comma = if labels.is_empty() || bound.is_empty() { "" } else { "," };
    let (open, close) = if labels.is_empty() && bound.is_empty() { ("", "") } else { ("{", "}") };
    // A text takes all that is written to it.
    let _ = writeln!(out, "{name}{suffix}{open}{labels}{comma}{bound}{close} {value}");
}

/// A metric with its series.
pub(super) struct Series<M> {
    name: String,
    help: String,
    /// In the order of their names, each with its position among the values.
    labels: Vec<(String, usize)>,
    /// By the values of the labels in the text form, each with the end of its line.
    all: RwLock<HashMap<Box<str>, M>>,
}

impl<M: Measure> Series<M> {
    /// A metric without series.
    pub fn new(name: &str, help: &str, labels: &[&str]) -> Series<M> {
        let mut labels: Vec<(String, usize)> =
            labels.iter().enumerate().map(|(at, label)| (label.to_string(), at)).collect();
        labels.sort_unstable();
        Series { name: name.into(), help: help.into(), labels, all: RwLock::default() }
    }

    /// The name of the metric.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many series there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.all.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The series with these values of all labels, which is created if there is none.
    pub fn with(&self, values: &[&str], create: impl FnOnce() -> M) -> M {
        let mut key = String::with_capacity(values.iter().map(|value| value.len() + 1).sum());
        for (_, at) in &self.labels {
            escaped(values.get(*at).copied().unwrap_or_default(), &mut key);
            key.push('\n');
        }
        if let Some(known) = self.all.read().unwrap_or_else(PoisonError::into_inner).get(&*key) {
            return known.clone();
        }
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.entry(key.into()).or_insert_with(create).clone()
    }

    /// Removes all series.
    pub fn reset(&self) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Writes the metric in the text form of Prometheus; nothing if it has no series.
    pub fn write(&self, out: &mut String) {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        if all.is_empty() {
            return;
        }
        let (name, help) = (&self.name, self.help.replace('\\', "\\\\").replace('\n', "\\n"));
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {}", M::KIND.name());
        let mut sorted: Vec<(&str, &M)> = all.iter().map(|(key, measure)| (&**key, measure)).collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        let mut labels = String::new();
        for (key, measure) in sorted {
            labels.clear();
            for ((label, _), value) in self.labels.iter().zip(key.lines()) {
                let comma = if labels.is_empty() { "" } else { "," };
                let _ = write!(labels, "{comma}{label}=\"{value}\"");
            }
            measure.write(name, &labels, out);
        }
    }
}

/// Writes a value of a label as the text form has it: on one line.
fn escaped(value: &str, out: &mut String) {
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus::{Encoder, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry, TextEncoder};

    use super::*;

    const VALUES: [[&str; 2]; 4] = [["b", "x"], ["a", "say \"hi\"\\\nthere"], ["", "é"], ["b", "x"]];
    const LABELS: [&str; 2] = ["zone", "kind"];

    /// What the crate `prometheus` writes.
    fn reference(metric: Box<dyn prometheus::core::Collector>) -> String {
        let registry = Registry::new();
        registry.register(metric).expect("a metric");
        let mut out = Vec::new();
        TextEncoder::new().encode(&registry.gather(), &mut out).expect("a text");
        let mut lines: Vec<String> =
            String::from_utf8(out).expect("a text").lines().map(String::from).collect();
        lines.sort_unstable();
        lines.join("\n")
    }

    fn written<M: Measure>(series: &Series<M>) -> String {
        let mut out = String::new();
        series.write(&mut out);
        let mut lines: Vec<&str> = out.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    }

    #[test]
    fn counters_have_the_text_that_the_library_writes() {
        let (series, same) = (
            Series::<Count>::new("c_total", "A \\ of\nlines.", &LABELS),
            Opts::new("c_total", "A \\ of\nlines."),
        );
        let same = IntCounterVec::new(same, &LABELS).expect("a metric");
        assert_eq!(written(&series), "");
        for values in VALUES {
            series.with(&values, Count::default).inc();
            same.with_label_values(&values).inc();
        }
        assert_eq!(written(&series), reference(Box::new(same)));
        assert_eq!(series.len(), 3);
        series.reset();
        assert_eq!(series.len(), 0);
    }

    #[test]
    fn histograms_have_the_text_that_the_library_writes() {
        let bounds: Arc<[f64]> = Arc::from([0.005, 0.1, 2.0, 1e20]);
        let series = Series::<Histogram>::new("h", "Seconds.", &LABELS);
        let same = HistogramOpts::new("h", "Seconds.").buckets(bounds.to_vec());
        let same = HistogramVec::new(same, &LABELS).expect("a metric");
        for (values, measured) in VALUES.iter().zip([0.005, 0.0050001, 1e21, 1.5]) {
            series.with(values, || Histogram::new(&bounds)).observe(measured);
            same.with_label_values(values).observe(measured);
        }
        assert_eq!(written(&series), reference(Box::new(same)));
    }

    #[test]
    fn metrics_without_labels_have_no_braces() {
        let series = Series::<Present>::new("up", "It is there.", &[]);
        series.with(&[], Present::default);
        assert_eq!(written(&series), "# HELP up It is there.\n# TYPE up gauge\nup 1");
    }
}
