//! What a metric is: name, type, labels, text.

/// The type of a metric in the text form of Prometheus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises.
    Counter,
    /// It rises and falls.
    Gauge,
    /// Counts by buckets.
    Histogram,
}

impl Kind {
    /// The word for it in the text form of Prometheus.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// What a metric is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// Its labels.
    pub labels: Vec<String>,
    /// What it measures.
    pub help: String,
    /// Whether operators choose its labels and buckets.
    pub is_configurable: bool,
}
