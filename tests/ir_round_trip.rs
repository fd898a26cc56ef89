//! Policies that are written as JSON and read back are the same and decide the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ephor::api::autogen::Selection;
use ephor::conformance::{Report, round_trip, run_all};
use ephor::ir::json::Bundle;
use ephor::ir::{Policy, Rule};
use ephor::load::{self, Policies};
use ephor::lower::policy::rules_as_lowered;
use ephor::sources::files::SourceText;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of recorded suites, where there is one.
fn shared() -> Option<PathBuf> {
    let named = std::env::var_os("EPHOR_CONFORMANCE").map(PathBuf::from);
    let dir = named.unwrap_or_else(|| root().join("../shared/conformance"));
    dir.is_dir().then_some(dir)
}

fn yaml_files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            yaml_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            out.push(path);
        }
    }
}

/// What each file of the policy libraries that are at hand gives.
fn libraries() -> Vec<Policies> {
    let mut files = Vec::new();
    yaml_files(&root().join("policies"), &mut files);
    if let Some(dir) = shared() {
        yaml_files(&dir.join("kyverno-policies"), &mut files);
    }
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut loaded = load::argument(&[SourceText { name: path.display().to_string(), text }]);
        loaded.bind(Vec::new());
        loaded
    };
    files.into_iter().map(read).collect()
}

fn back(bundle: &Bundle) -> Bundle {
    let text = bundle.write().unwrap();
    Bundle::read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn every_policy_of_the_libraries_is_read_back_as_it_was_written() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for loaded in libraries() {
        for one in &loaded.policies {
            let Some(policy) = &one.policy else { continue };
            *seen.entry(policy.api.kind.to_string()).or_default() += 1;
            let as_lowered: Vec<Arc<Rule>> =
                rules_as_lowered(&one.document, Selection::All).into_iter().map(Arc::new).collect();
            let as_lowered = Policy { rules: as_lowered.into(), ..(**policy).clone() };
            let bundle = Bundle {
                policies: vec![policy.clone(), Arc::new(as_lowered)],
                exceptions: loaded.exceptions.clone(),
                exemptions: loaded.exemptions.clone(),
                cleanups: loaded.cleanups.clone(),
                ..Bundle::default()
            };
            assert!(back(&bundle) == bundle, "{}: {}", one.source, one.name);
        }
    }
    println!("{seen:?}");
    for kind in ["ClusterPolicy", "ValidatingPolicy", "ValidatingAdmissionPolicy"] {
        assert!(seen.get(kind).is_some_and(|n| *n > 10), "{kind}: {seen:?}");
    }
}

/// How many cases each suite of a section passes at least.
fn scoreboard(section: &str) -> BTreeMap<String, i64> {
    let text = std::fs::read_to_string(root().join("conformance/scoreboard.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let suites = table.get(section).and_then(toml::Value::as_table).unwrap();
    suites.iter().map(|(name, n)| (name.clone(), n.as_integer().unwrap())).collect()
}

#[test]
fn suites_on_policies_that_were_read_back_come_to_the_same_counts() {
    round_trip::start();
    let run = |section: &str, dir: &Path, suites: &[&str]| {
        let board = scoreboard(section);
        for suite in suites {
            let mut all: Vec<Report> = Vec::new();
            run_all(dir, suite, |report| all.push(report)).unwrap();
            assert!(!all.is_empty(), "no suite {suite}");
            for report in all {
                let wanted = board.get(&report.name).copied();
                assert_eq!(Some(report.passed as i64), wanted, "{}", report.name);
            }
        }
    };
    run("own", &root().join("conformance"), &["engine/", "cases/", "server/"]);
    if let Some(dir) = shared() {
        run("recorded", &dir, &["engine/", "verdicts/", "reviews/tests", "reviews/pool"]);
    }
}
