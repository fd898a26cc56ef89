//! The page of metrics, from the catalog of the server.

use std::fmt::Write;

use ephor_server::serve::catalog::{Kind, descriptions};

use super::cell;

pub fn page() -> String {
    let mut text = String::from(
        "# Metrics\n\n\
         What `ephor serve` exposes at `/metrics` of `--metrics-listen`, in the text form of Prometheus. This page is generated from the\n\
         registry of the server. Names that begin with `kyverno_` and their labels are those of Kyverno 1.19.1.\n\n\
         *Configurable*: the keys of the ConfigMap `kyverno-metrics` choose labels and buckets, and reset these metrics\n\
         ([settings](settings.md#metrics)). Clients determine kinds and namespaces, so that a family has a limited number of series; further ones are\n\
         counted under `other`.\n\n\
         | metric | type | labels | says |\n|---|---|---|---|\n",
    );
    for metric in descriptions().expect("metrics") {
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let mark = if metric.is_configurable { " *Configurable.*" } else { "" };
        let row = (labels.join(" "), cell(&metric.help));
        writeln!(text, "| `{}` | {kind} | {} | {}{mark} |", metric.name, row.0, row.1).unwrap();
    }
    text
}
