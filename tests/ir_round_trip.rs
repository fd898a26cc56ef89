//! Policies that are written as JSON and read back are the same and decide the same.
//!
//! The same: every policy of the libraries, of the folders with tests and of the cases of
//! `admission`, also of those cases that are only about what an API server says of a policy. Decide
//! the same: test folders come to the same rows, also where the reference fails them, and the
//! suites, `admission` among them, to the same counts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ephor_value::release::Release;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ephor_analysis::print;
use ephor_api::autogen::Selection;
use ephor_conformance::{Report, Step, data, round_trip, run_all};
use ephor_ir::json::Bundle;
use ephor_ir::{Policy, Rule};
use ephor_lower::policy::rules_as_lowered;
use ephor_policies::load::{self, Policies, Reader};
use ephor_sources::files::SourceText;
use ephor_testing::testing::file;
use ephor_testing::testing::rows::Verdict;
use ephor_testing::testing::run::{Options, run};
use ephor_value::Value;
use serde_json::Value as Json;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
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

fn source(path: &Path) -> SourceText {
    SourceText { name: path.display().to_string(), text: std::fs::read_to_string(path).unwrap() }
}

fn below(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    folders.iter().for_each(|dir| yaml_files(dir, &mut files));
    files
}

fn recorded(folders: &[&str]) -> Vec<PathBuf> {
    folders.iter().filter_map(|name| data::recorded(name).unwrap()).collect()
}

/// What each file of the policy libraries that are at hand gives.
fn libraries() -> Vec<Policies> {
    let folders: Vec<PathBuf> =
        [root().join("policies")].into_iter().chain(recorded(&["kyverno-policies"])).collect();
    below(&folders).iter().map(|path| offline(source(path))).collect()
}

fn offline(source: SourceText) -> Policies {
    let mut loaded = load::argument(&[source]);
    loaded.bind(Vec::new());
    loaded
}

/// What the objects of each case of `admission` give to a server: policies with their bindings.
fn native() -> Vec<Policies> {
    let folders: Vec<PathBuf> =
        [root().join("conformance/admission")].into_iter().chain(recorded(&["admission"])).collect();
    let read = |path: &PathBuf| {
        let SourceText { name, text } = source(path);
        let case = ephor_document::yaml_value(&text).unwrap();
        let list = case.get("setup").and_then(Value::as_list).unwrap_or_default();
        // A case about changes of a stored policy has this policy alone.
        let text: Vec<String> = list.iter().chain(case.get("old")).map(ephor_value::print::json).collect();
        let mut loaded = load::argument_for(
            &[SourceText { name, text: text.join("\n---\n") }],
            Reader::Server(Release::default()),
        );
        loaded.bind_as_server();
        loaded
    };
    below(&folders).iter().map(read).collect()
}

fn back(bundle: &Bundle) -> Bundle {
    let text = bundle.write().unwrap();
    Bundle::read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn every_policy_of_the_libraries_is_read_back_as_it_was_written() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let folders = below(&recorded(&["kyverno-cli", "chainsaw"]));
    let folders = folders.iter().map(|path| offline(source(path)));
    for loaded in libraries().into_iter().chain(folders).chain(native()) {
        let mut bundle = Bundle {
            exceptions: loaded.exceptions,
            cel_exceptions: loaded.cel_exceptions,
            cleanups: loaded.cleanups,
            bindings: loaded.bindings,
            ..Bundle::default()
        };
        for one in &loaded.policies {
            let Some(policy) = &one.policy else { continue };
            *seen.entry(policy.api.kind.to_string()).or_default() += 1;
            let as_lowered: Vec<Arc<Rule>> =
                rules_as_lowered(&one.document, Selection::All).into_iter().map(Arc::new).collect();
            let as_lowered = Policy { rules: as_lowered.into(), ..(**policy).clone() };
            bundle.policies.extend([policy.clone(), Arc::new(as_lowered)]);
        }
        *seen.entry("exceptions".into()).or_default() +=
            bundle.exceptions.len() + bundle.cel_exceptions.len();
        *seen.entry("cleanups".into()).or_default() += bundle.cleanups.len();
        let names = || loaded.policies.iter().map(|p| format!("{}: {}", p.source, p.name));
        assert!(back(&bundle) == bundle, "{:?}", names().collect::<Vec<_>>());
    }
    println!("{seen:?}");
    let here = ["ClusterPolicy", "ValidatingPolicy", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"];
    let recorded = ["MutatingPolicy", "GeneratingPolicy", "ImageValidatingPolicy", "DeletingPolicy"];
    let recorded = recorded
        .into_iter()
        .chain(["exceptions", "cleanups"])
        .filter(|_| data::recorded("kyverno-cli").unwrap().is_some());
    for kind in here.into_iter().chain(recorded) {
        assert!(seen.get(kind).is_some_and(|n| *n >= 5), "{kind}: {seen:?}");
    }
}

#[test]
fn test_folders_have_the_same_rows_when_their_policies_are_read_back() {
    let read_back = |bundle: Bundle| {
        let read = back(&bundle);
        assert!(read == bundle);
        read
    };
    let folders = recorded(&["kyverno-cli", "kyverno-policies"]);
    let tests = below(&folders).into_iter().filter(|path| path.ends_with("kyverno-test.yaml"));
    let (mut rows, mut failed) = (0, 0);
    for path in tests {
        // What cannot be read is no test.
        for test in file::tests(&source(&path), None).into_iter().flatten() {
            let plain = run(&test, Options::default());
            let read = run(&test, Options { through: Some(read_back), ..Options::default() });
            assert_eq!((&read.rows, &read.failed), (&plain.rows, &plain.failed), "{}", path.display());
            assert_eq!(read.log.text, plain.log.text, "{}", path.display());
            rows += read.rows.len();
            failed += read.rows.iter().filter(|row| row.verdict == Verdict::Fail).count();
        }
    }
    println!("{rows} rows, {failed} of them failed");
    assert!(folders.is_empty() || rows > 1_000 && failed > 10, "{rows} {failed}");
}

/// Paths of all scalars of a JSON document.
fn leaves(json: &Json, at: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    let mut below = |key: String, v: &Json| {
        at.push(key);
        leaves(v, at, out);
        at.pop();
    };
    match json {
        Json::Array(items) => items.iter().enumerate().for_each(|(i, v)| below(i.to_string(), v)),
        Json::Object(entries) => entries.iter().for_each(|(k, v)| below(k.clone(), v)),
        Json::Null => {}
        _ => out.push(at.clone()),
    }
}

fn leaf_at<'j>(json: &'j mut Json, path: &[String]) -> &'j mut Json {
    path.iter().fold(json, |json, key| match json {
        Json::Array(items) => items.get_mut(key.parse::<usize>().unwrap()).unwrap(),
        other => other.get_mut(key).unwrap(),
    })
}

/// What a leaf is: the end of its path, without positions.
fn sort_of(path: &[String]) -> String {
    let keys: Vec<&str> =
        path.iter().map(|k| if k.parse::<usize>().is_ok() { "*" } else { k.as_str() }).collect();
    keys[keys.len().saturating_sub(5)..].join("/")
}

/// Of leaves of one sort, how many are changed.
const OF_A_SORT: usize = 2;

#[test]
fn rules_that_differ_in_any_leaf_are_printed_differently() {
    let mut tried: BTreeMap<String, (usize, Vec<Json>)> = BTreeMap::new();
    let (mut changed, mut same) = (0, Vec::new());
    for loaded in libraries() {
        for rule in loaded.policies.iter().filter_map(|p| p.policy.as_ref()).flat_map(|p| p.all_rules()) {
            let json = serde_json::to_value(&**rule).unwrap();
            let mut paths = Vec::new();
            leaves(&json, &mut Vec::new(), &mut paths);
            let printed = print::rule(rule).to_string();
            for path in paths {
                let (count, others) = tried.entry(sort_of(&path)).or_default();
                let mut json = json.clone();
                let leaf = leaf_at(&mut json, &path);
                if !others.contains(leaf) && others.len() < 4 {
                    others.push(leaf.clone());
                    *count = count.saturating_sub(1);
                }
                if *count >= OF_A_SORT {
                    continue;
                }
                *count += 1;
                let before = leaf.clone();
                let new = match &before {
                    Json::Bool(b) => Json::Bool(!b),
                    Json::Number(n) => n.as_i64().map_or(Json::from(0.25), |n| Json::from(n + 1)),
                    text => Json::from(format!("{}x", text.as_str().unwrap())),
                };
                for new in others.iter().filter(|v| **v != before).cloned().chain([new]) {
                    *leaf_at(&mut json, &path) = new;
                    let Ok(other) = serde_json::from_value::<Rule>(json.clone()) else { continue };
                    if other != **rule {
                        changed += 1;
                        if print::rule(&other).to_string() == printed {
                            same.push(format!("{}: {}", rule.name, path.join("/")));
                        }
                    }
                }
            }
        }
    }
    // The policies of this repository alone have fewer leaves than they have with the public ones.
    let least = if recorded(&["kyverno-policies"]).is_empty() { 800 } else { 1_000 };
    assert!(changed > least, "{changed}");
    assert!(same.is_empty(), "{} of {changed} changes are not printed:\n{}", same.len(), same.join("\n"));
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
            let keep = |step: Step| {
                if let Step::Done(report) = step {
                    all.push(report)
                }
            };
            run_all(dir, suite, ephor_value::release::Release::default(), keep).unwrap();
            assert!(!all.is_empty(), "no suite {suite}");
            for report in all {
                let wanted = board.get(&report.name).copied();
                assert_eq!(Some(report.passed as i64), wanted, "{}", report.name);
            }
        }
    };
    run("own", &root().join("conformance"), &["engine/", "cases/", "server/", "admission/", "reviews/"]);
    for (needed, suites) in [
        (&["engine"][..], &["engine/"][..]),
        (&["admission"], &["admission/"]),
        (&["verdicts", "kyverno-policies"], &["verdicts/", "reviews/pool"]),
        (&["kyverno-policies"], &["reviews/tests"]),
    ] {
        if let Some(dir) = data::folder_with(needed).unwrap() {
            run("recorded", &dir, suites);
        }
    }
}
