//! The page of known differences, from the list of failing cases (`conformance/failing.toml`).

use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(serde::Deserialize)]
struct Failing {
    cause: Vec<Cause>,
}

#[derive(serde::Deserialize)]
struct Cause {
    suite: String,
    kubernetes: Option<String>,
    why: String,
    cases: Vec<String>,
}

fn read(path: &str) -> String {
    std::fs::read_to_string(super::root().join(path)).unwrap()
}

/// `CAUSE | SUITE (CASES), …`, the causes of most cases first.
pub fn page() -> String {
    let failing: Failing = toml::from_str(&read("conformance/failing.toml")).unwrap();
    let scoreboard: toml::Table = toml::from_str(&read("conformance/scoreboard.toml")).unwrap();
    let of = |section: &str| scoreboard[section].as_table().unwrap().values();
    let passed: i64 = of("recorded").chain(of("later")).filter_map(|v| v.as_integer()).sum();
    let mut causes: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for Cause { suite, kubernetes, why, cases } in failing.cause {
        let suite = kubernetes.map_or(suite.clone(), |version| format!("{suite} of Kubernetes {version}"));
        *causes.entry(why).or_default().entry(suite).or_default() += cases.len();
    }
    let mut rows: Vec<(usize, String, BTreeMap<String, usize>)> =
        causes.into_iter().map(|(why, suites)| (suites.values().sum(), why, suites)).collect();
    rows.sort_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
    let failed: usize = rows.iter().map(|row| row.0).sum();
    let mut text = format!(
        "# Known differences\n\n\
         Of the cases that were recorded from the references (Kyverno 1.19.1, kube-apiserver 1.36.3 and 1.37.2, cel-go), {passed} come out as recorded and {failed} do not. These are the causes, each with its suites\n\
         and how many cases it has there; [conformance](../internals/conformance.md) says what the suites are. This page is generated from `conformance/failing.toml`, and `cargo test` fails when a case is missing there.\n\n\
         | cause | cases |\n|---|---|\n"
    );
    for (_, why, suites) in rows {
        let suites: Vec<String> = suites.iter().map(|(suite, n)| format!("{suite}: {n}")).collect();
        writeln!(
            text,
            "| {} | {} |",
            why.replace("the reference", "Kyverno").replace('|', "\\|"),
            suites.join(", ")
        )
        .unwrap();
    }
    text
}
