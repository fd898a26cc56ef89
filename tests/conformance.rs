//! The recorded suites against the ratchet: no suite may pass fewer cases than the scoreboard says,
//! and every failing case is listed with its cause.
//!
//! Reads `../shared/conformance`, or the folder that `EPHOR_CONFORMANCE` names; skipped with a line
//! where there is none.
#![allow(clippy::expect_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use ephor::conformance::{Report, run_all};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn shared() -> Option<PathBuf> {
    let named = std::env::var_os("EPHOR_CONFORMANCE").map(PathBuf::from);
    let dir = named.unwrap_or_else(|| root().join("../shared/conformance"));
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: no folder {} (set EPHOR_CONFORMANCE)", dir.display());
    None
}

fn table(file: &str) -> toml::Table {
    let text = std::fs::read_to_string(root().join("conformance").join(file)).expect(file);
    text.parse().expect(file)
}

fn reports(dir: &std::path::Path) -> Vec<Report> {
    let mut all = Vec::new();
    run_all(dir, "", |report| {
        println!("{} {}/{}", report.name, report.passed, report.total);
        all.push(report);
    })
    .expect("every suite can be read");
    all
}

fn assert_not_below_the_scoreboard(section: &str, reports: &[Report]) {
    let board = table("scoreboard.toml");
    let board = board.get(section).and_then(toml::Value::as_table).expect("the section");
    let passed: BTreeMap<&str, usize> = reports.iter().map(|r| (r.name.as_str(), r.passed)).collect();
    for (suite, wanted) in board {
        let wanted = wanted.as_integer().expect("a number");
        let got = passed.get(suite.as_str()).copied().unwrap_or(0);
        assert!(got as i64 >= wanted, "{suite} passes {got} cases, the scoreboard says {wanted}");
    }
    for suite in passed.keys() {
        assert!(board.contains_key(*suite), "{suite} is missing in the scoreboard");
    }
}

fn assert_failures_are_listed(reports: &[Report]) {
    let listed = table("failing.toml");
    let causes = listed.get("cause").and_then(toml::Value::as_array).expect("causes");
    for report in reports {
        let mut whole = false;
        let mut cases: Vec<&str> = Vec::new();
        for cause in causes {
            let text = |key: &str| cause.get(key).and_then(toml::Value::as_str).unwrap_or_default();
            assert!(!text("why").is_empty(), "a cause without an explanation");
            if text("suite") != report.name {
                continue;
            }
            whole |= cause.get("whole").and_then(toml::Value::as_bool).unwrap_or(false);
            let ids = cause.get("cases").and_then(toml::Value::as_array).into_iter().flatten();
            cases.extend(ids.filter_map(toml::Value::as_str));
        }
        if whole {
            continue;
        }
        let unlisted: Vec<&str> =
            report.failures.iter().map(|f| f.id.as_str()).filter(|id| !cases.contains(id)).collect();
        assert!(
            unlisted.is_empty(),
            "{}: failing without a cause in failing.toml: {unlisted:?}",
            report.name
        );
    }
}

#[test]
fn recorded_suites_do_not_fall_below_the_scoreboard() {
    let Some(dir) = shared() else { return };
    let reports = reports(&dir);
    assert_not_below_the_scoreboard("recorded", &reports);
    assert_failures_are_listed(&reports);
}

#[test]
fn own_suites_do_not_fall_below_the_scoreboard() {
    let reports = reports(&root().join("conformance"));
    assert_not_below_the_scoreboard("own", &reports);
    assert_failures_are_listed(&reports);
}
