//! The page of metrics, from the catalog of the server.

use std::fmt::Write;

use ephor_server::serve::metrics::Metrics;
use ephor_server::serve::metrics::descriptions;

use super::cell;

pub fn page() -> String {
    let mut text = String::from(
        "# Metrics\n\n\
         What `ephor serve` exposes at `/metrics` of `--metrics-listen`, in the text form of Prometheus. This page is generated from the\n\
         registry of the server. Names that begin with `kyverno_` and their labels are those of Kyverno 1.19.1.\n\n\
         *Configurable*: the keys of the ConfigMap `kyverno-metrics` choose labels and buckets, and reset these metrics\n\
         ([settings](settings.md#metrics)). Clients determine kinds and namespaces, so that a family has a limited number of series; further ones are\n\
         counted under `other`.\n\n\
         | metric and type | says |\n|---|---|\n",
    );
    for metric in descriptions().expect("metrics") {
        let kind = metric.kind.name();
        let mut says = cell(&metric.help);
        if metric.is_configurable {
            says.push_str(" *Configurable.*");
        }
        if !metric.labels.is_empty() {
            let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
            says.push_str(&format!("<br>Labels: {}", labels.join(", ")));
        }
        writeln!(text, "| `{}`<br>{kind} | {says} |", metric.name).unwrap();
    }
    text
}

#[test]
fn every_metric_that_is_exposed_is_described_with_its_type() {
    let text = Metrics::new().expect("metrics").text();
    let all = descriptions().expect("descriptions");
    let types: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    assert!(types.len() > 10, "{text}");
    for (name, kind) in types {
        let found = all.iter().find(|d| d.name == name).map(|d| format!("{:?}", d.kind).to_lowercase());
        assert_eq!(found.as_deref(), Some(kind), "{name}");
    }
}
