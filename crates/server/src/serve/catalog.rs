//! Registering metrics, with a description of each for `docs/reference/metrics.md`. The metrics
//! themselves are in `super::metrics`.
//!
//! In: names, texts and labels as the server registers its metrics. Out: the metrics, and a
//! [`Description`] of each. The crate `prometheus` describes only families that have a series, and
//! never says of which type they are.

use std::cell::RefCell;

use prometheus::core::Collector;
use prometheus::{Counter, Gauge, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use super::series::{Measure, Series};
use crate::serve::metric::{Description, Kind};

/// A registry with the descriptions of what it holds.
#[derive(Default)]
pub(super) struct Catalog {
    registry: Registry,
    descriptions: RefCell<Vec<Description>>,
    is_configurable: bool,
}

impl Catalog {
    /// The catalog of metrics whose labels operators choose.
    pub fn configurable() -> Catalog {
        Catalog { is_configurable: true, ..Catalog::default() }
    }

    /// The registry, and the descriptions in the order of registration.
    pub fn finish(self) -> (Registry, Vec<Description>) {
        (self.registry, self.descriptions.into_inner())
    }

    fn add<M: Collector + Clone + 'static>(
        &self,
        kind: Kind,
        (name, help): (&str, &str),
        labels: &[&str],
        metric: Result<M, prometheus::Error>,
    ) -> Result<M, prometheus::Error> {
        let metric = metric?;
        self.registry.register(Box::new(metric.clone()))?;
        self.describe(kind, (name, help), labels);
        Ok(metric)
    }

    fn describe(&self, kind: Kind, (name, help): (&str, &str), labels: &[&str]) {
        self.descriptions.borrow_mut().push(Description {
            name: name.into(),
            kind,
            labels: labels.iter().map(ToString::to_string).collect(),
            help: help.into(),
            is_configurable: self.is_configurable,
        });
    }

    /// A counter.
    pub fn counter(&self, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
        self.add(Kind::Counter, (name, help), &[], IntCounter::new(name, help))
    }

    /// Counters by labels.
    pub fn counters(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntCounterVec, prometheus::Error> {
        let metric = IntCounterVec::new(Opts::new(name, help), labels);
        self.add(Kind::Counter, (name, help), labels, metric)
    }

    /// A gauge.
    pub fn gauge(&self, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
        self.add(Kind::Gauge, (name, help), &[], IntGauge::new(name, help))
    }

    /// A counter of what comes in fractions.
    pub fn amount(&self, name: &str, help: &str) -> Result<Counter, prometheus::Error> {
        self.add(Kind::Counter, (name, help), &[], Counter::new(name, help))
    }

    /// A gauge of what comes in fractions.
    pub fn measurement(&self, name: &str, help: &str) -> Result<Gauge, prometheus::Error> {
        self.add(Kind::Gauge, (name, help), &[], Gauge::new(name, help))
    }

    /// Gauges by labels.
    pub fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, prometheus::Error> {
        let metric = IntGaugeVec::new(Opts::new(name, help), labels);
        self.add(Kind::Gauge, (name, help), labels, metric)
    }

    /// A metric with many series.
    pub fn series<M: Measure>(&self, name: &str, help: &str, labels: &[&str]) -> Series<M> {
        self.describe(M::KIND, (name, help), labels);
        Series::new(name, help, labels)
    }
}
