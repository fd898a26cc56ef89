//! What `migrate --out` wrote, compared by `diff`: one function answers both, so the word is the
//! same, and where it is a proof the exit code of `diff` is 0.
//!
//! The policies are those of this repository, of the public library where it is at hand, and some
//! written here; of the files each thirtieth, or with `EPHOR_PAIRS_STEP=1` all. A proof
//! that takes longer than its limit is left out, which is a matter of the machine.
#![allow(clippy::expect_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ephor_value::parallel;
use serde_json::Value;

use crate::common::Files;

/// Each of this many files is compared.
const STEP: usize = 30;

/// One rule for kinds, with what it does.
fn policy(kinds: &str, annotations: &str, rule: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p, annotations: {{{annotations}}}}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [{kinds}]}}}}]}}\n    {rule}\n"
    )
}

/// The files of a folder that have policies to migrate, without those of tests.
fn with_policies(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || name.ends_with("-tests") {
            continue;
        }
        if path.is_dir() {
            with_policies(&path, out);
        } else if path.extension().is_some_and(|one| one == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if text.contains("apiVersion: kyverno.io/") && text.contains("Policy") && text.contains("rules:")
            {
                out.push(path);
            }
        }
    }
}

/// What `migrate` and `diff` say of a file otherwise.
fn disagreements(name: &str, text: &str) -> Vec<String> {
    let files = Files::new(&[("old/p.yaml", text)]);
    let limit = ["--time-limit", "10s", "--output-format", "json"];
    let report = files.run(&[&["migrate", "old", "--out", "new"], &limit[..]].concat());
    let Ok(report) = serde_json::from_str::<Value>(&report.out) else {
        return vec![format!("{name}: migrate: {}", report.err)];
    };
    let rows: Vec<&Value> = report["policies"].as_array().into_iter().flatten().collect();
    let has_moved = |row: &&Value| !matches!(row["status"].as_str(), Some("refused" | "cannot be used"));
    // A file stays as it is where nothing of it moves.
    if !rows.iter().any(&has_moved) {
        return Vec::new();
    }
    let ran = files.run(&[&["diff", "old", "new"], &limit[..]].concat());
    let Ok(found) = serde_json::from_str::<Value>(&ran.out) else {
        return vec![format!("{name}: diff: {}", ran.err)];
    };
    let pairs: BTreeMap<&str, &Value> = found["policies"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| Some((one["name"].as_str()?, one)))
        .collect();
    let mut out = Vec::new();
    let is_proved = |row: &&Value| row["status"].as_str().is_some_and(|word| word.starts_with("proved"));
    for row in rows.iter().filter(|row| has_moved(row)) {
        let own = row["policy"].as_str().unwrap_or_default();
        let pair = pairs.iter().find(|(key, _)| **key == own || key.ends_with(&format!("/{own}")));
        let Some((_, pair)) = pair else {
            out.push(format!("{name}: {own}: diff has no such pair"));
            continue;
        };
        let is_late = |reasons: &Value| reasons.to_string().contains("the time limit was reached");
        if is_late(&row["reason"]) || is_late(&pair["reasons"]) {
            continue;
        }
        if (&pair["answer"], &pair["butFor"]) != (&row["status"], &row["butFor"]) {
            out.push(format!(
                "{name}: {own}: migrate: {} but for {} ({}); diff: {} but for {} ({})",
                row["status"], row["butFor"], row["reason"], pair["answer"], pair["butFor"], pair["reasons"]
            ));
        }
    }
    if rows.iter().all(is_proved) && ran.code != Some(0) {
        let kinds: Vec<String> = pairs
            .values()
            .flat_map(|pair| pair["differences"].as_array().into_iter().flatten())
            .map(|one| format!("{} {} {}", one["kind"], one["request"], one["where"]))
            .collect();
        out.push(format!("{name}: proved, and diff ends with {:?}: {}", ran.code, kinds.join(", ")));
    }
    out
}

fn all_agree(sources: &[(String, String)]) {
    let found = parallel::map(sources, |(name, text)| disagreements(name, text));
    let found: Vec<String> = found.into_iter().flatten().collect();
    assert!(found.is_empty(), "{} of {} files:\n{}", found.len(), sources.len(), found.join("\n"));
}

/// Some of the files of a folder.
fn read(folder: &Path) -> Vec<(String, String)> {
    let step = std::env::var("EPHOR_PAIRS_STEP").ok().and_then(|text| text.parse().ok());
    let mut paths = Vec::new();
    with_policies(folder, &mut paths);
    let name = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let text = |path: &PathBuf| Some((name(path), std::fs::read_to_string(path).ok()?));
    paths.iter().step_by(step.unwrap_or(STEP)).filter_map(text).collect()
}

#[test]
fn diff_says_the_word_of_migrate_about_the_policies_of_this_repository() {
    let own = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("policies"));
    assert!(own.len() >= 2, "{}", own.len());
    all_agree(&own);
}

#[test]
fn diff_says_the_word_of_migrate_about_the_public_library() {
    let Some(suites) = std::env::var_os("EPHOR_CONFORMANCE") else {
        eprintln!("skipped: EPHOR_CONFORMANCE names no folder");
        return;
    };
    let all = read(&Path::new(&suites).join("kyverno-policies"));
    assert!(all.len() >= 5, "{}", all.len());
    all_agree(&all);
}

#[test]
fn diff_says_the_word_of_migrate_about_what_files_have_and_clusters_do_not() {
    let labels = "validate: {message: m, pattern: {metadata: {labels: {team: '?*'}}}}";
    let annotations = "validate: {message: m, pattern: {metadata: {=(annotations): {=(a): '!b'}}}}";
    let versions = "preconditions: {all: [{key: \"{{ request.object.apiVersion }}\", operator: AnyIn, value: [batch/v1beta1]}]}\n    validate: {message: m, deny: {}}";
    let nested = "mutate: {foreach: [{list: request.object.spec.containers, patchStrategicMerge: {spec: {containers: [{(name): '{{ element.name }}', securityContext: {+(capabilities): {+(drop): [ALL]}}}]}}}]}";
    let sources = [
        ("labels of templates", policy("Pod", "", labels)),
        ("annotations of templates", policy("Pod", "", annotations)),
        ("versions", policy("batch/*/CronJob", "", versions)),
        ("versions by kind", policy("CronJob", "", labels)),
        ("anchors in anchors", policy("Pod", "pod-policies.kyverno.io/autogen-controllers: none", nested)),
    ];
    let sources: Vec<(String, String)> = sources.map(|(name, text)| (name.to_string(), text)).into();
    all_agree(&sources);
}
