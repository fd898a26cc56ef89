//! The recorded suites against the ratchet: no suite may pass fewer cases than the scoreboard says,
//! every failing case is listed with its cause, and nothing else is listed.
//!
//! Which recorded suites are at hand, `ephor_conformance::data` says; a missing one is skipped with
//! a line, or with `EPHOR_REQUIRE_CONFORMANCE=1` a failure.
#![allow(clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ephor_conformance::known::{self, Known};
use ephor_conformance::{Report, Step, data, run_all};
use ephor_value::release::Release;

/// Suites of which no recording is in the repository: their names, and the folders that they need.
const BROUGHT: [(&str, &[&str]); 6] = [
    ("jmespath", &["jmespath"]),
    ("cel-spec", &["cel-spec"]),
    ("kyverno-cli", &["kyverno-cli"]),
    ("kyverno-policies", &["kyverno-policies"]),
    ("reviews/tests", &["kyverno-policies"]),
    ("verdicts", &["kyverno-policies", "verdicts"]),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn reports(dir: &Path, release: Release) -> Vec<Report> {
    let mut all = Vec::new();
    run_all(dir, "", release, |step| {
        if let Step::Done(report) = step {
            println!("{} {}/{}", report.name, report.passed, report.total);
            all.push(report);
        }
    })
    .expect("every suite can be read");
    all
}

/// Reports of the suites that were recorded from Kyverno and kube-apiserver.
fn recorded() -> &'static [Report] {
    static REPORTS: OnceLock<Vec<Report>> = OnceLock::new();
    REPORTS.get_or_init(|| reports(&data::folder().expect("a folder of suites"), Release::default()))
}

/// Reports of the suites that were written in this repository.
fn own() -> &'static [Report] {
    static REPORTS: OnceLock<Vec<Report>> = OnceLock::new();
    REPORTS.get_or_init(|| reports(&root().join("conformance"), Release::default()))
}

/// Folders of what other releases of Kubernetes answer, which are in no clone.
const LATER: [(&str, Release); 2] =
    [("kubernetes-1.37", Release::V1_37), ("kubernetes-1.38-beta", Release::V1_38)];

/// Reports of those that are at hand; the folder stands before the name of a suite.
fn later() -> &'static [Report] {
    static REPORTS: OnceLock<Vec<Report>> = OnceLock::new();
    REPORTS.get_or_init(|| {
        let mut all = Vec::new();
        for (folder, release) in LATER {
            let Some(suites) = data::folder_with(&[folder]).expect("no suite is missing") else { continue };
            for report in reports(&suites.join(folder), release) {
                all.push(Report { name: format!("{folder}/{}", report.name), ..report });
            }
        }
        all
    })
}

/// The release that a report is about, and the name of its suite there.
fn suite_of(report: &Report) -> (Release, &str) {
    let later = LATER.iter().find_map(|(folder, release)| {
        let suite = report.name.strip_prefix(folder)?.strip_prefix('/')?;
        Some((*release, suite))
    });
    later.unwrap_or((Release::default(), &report.name))
}

/// The name of a suite of a release in the scoreboard.
fn name_in_scoreboard(release: Release, suite: &str) -> String {
    let folder = LATER.iter().find(|(_, of)| *of == release).map(|(folder, _)| *folder);
    folder.map_or(suite.to_string(), |folder| format!("{folder}/{suite}"))
}

/// Whether a suite of the scoreboard may be absent, since a folder that it needs is.
fn may_be_absent(suite: &str) -> bool {
    let is_of = |name: &str| suite == name || suite.starts_with(&format!("{name}/"));
    let needed = match suite {
        _ if suite.starts_with("kubernetes-1.37/") => Some(["kubernetes-1.37"].as_slice()),
        _ if suite.starts_with("kubernetes-1.38-beta/") => Some(["kubernetes-1.38-beta"].as_slice()),
        "reviews/pool" => Some(["kyverno-policies", "verdicts"].as_slice()),
        _ => BROUGHT.iter().find(|(name, _)| is_of(name)).map(|(_, needed)| *needed),
    };
    needed.is_some_and(|needed| data::folder_with(needed).expect("no suite is missing").is_none())
}

fn assert_not_below_the_scoreboard(section: &str, reports: &[Report]) {
    let text = std::fs::read_to_string(root().join("conformance/scoreboard.toml")).expect("the scoreboard");
    let board: toml::Table = toml::from_str(&text).expect("the scoreboard");
    let board = board.get(section).and_then(toml::Value::as_table).expect("the section");
    let passed: BTreeMap<&str, usize> = reports.iter().map(|r| (r.name.as_str(), r.passed)).collect();
    for (suite, wanted) in board {
        let wanted = wanted.as_integer().expect("a number");
        let got = match passed.get(suite.as_str()) {
            Some(got) => *got,
            None if section != "own" && may_be_absent(suite) => continue,
            None => 0,
        };
        assert!(got as i64 >= wanted, "{suite} passes {got} cases, the scoreboard says {wanted}");
    }
    for suite in passed.keys() {
        assert!(board.contains_key(*suite), "{suite} is missing in the scoreboard");
    }
}

fn listed() -> Known {
    Known::read(&root().join(known::FILE)).expect("the list")
}

#[test]
fn recorded_suites_do_not_fall_below_the_scoreboard() {
    assert_not_below_the_scoreboard("recorded", recorded());
}

#[test]
fn own_suites_do_not_fall_below_the_scoreboard() {
    assert_not_below_the_scoreboard("own", own());
}

#[test]
fn suites_of_later_releases_do_not_fall_below_the_scoreboard() {
    assert_not_below_the_scoreboard("later", later());
}

#[test]
fn every_failing_case_is_listed_with_its_cause() {
    let known = listed();
    for report in recorded().iter().chain(own()).chain(later()) {
        let (release, suite) = suite_of(report);
        let ids = report.failures.iter().map(|f| f.id.as_str());
        let unlisted: Vec<&str> = ids.filter(|id| known.cause(release, suite, id).is_none()).collect();
        assert!(unlisted.is_empty(), "{}: failing without a cause: {unlisted:?}", report.name);
    }
}

#[test]
fn every_listed_case_exists_and_fails() {
    let mut failing: BTreeMap<(Release, &str), BTreeSet<&str>> = BTreeMap::new();
    for report in recorded().iter().chain(own()).chain(later()) {
        failing.entry(suite_of(report)).or_default().extend(report.failures.iter().map(|f| f.id.as_str()));
    }
    for (release, suite, cases) in listed().suites() {
        let Some(failing) = failing.get(&(release, suite)) else {
            assert!(may_be_absent(&name_in_scoreboard(release, suite)), "{suite} of {release} is no suite");
            continue;
        };
        let stale: Vec<&&str> = cases.iter().filter(|case| !failing.contains(**case)).collect();
        assert!(stale.is_empty(), "{suite} of {release}: listed, but not failing or not there: {stale:?}");
    }
}

#[test]
fn packed_recordings_are_those_that_suites_are_run_on() {
    let suites = ["admission", "engine", "jmespath-kyverno", "kubernetes-cel"];
    let Some(run_on) = data::folder_with(&suites).expect("no suite is missing") else { return };
    let packed = tempfile::tempdir().expect("a folder");
    data::unpack_all(&root().join("conformance/recordings"), packed.path()).expect("archives");
    let mut compared = 0;
    for suite in suites {
        let (packed, run_on) = (files(&packed.path().join(suite)), files(&run_on.join(suite)));
        assert_eq!(packed.keys().collect::<Vec<_>>(), run_on.keys().collect::<Vec<_>>(), "{suite}");
        for (name, bytes) in &packed {
            assert!(
                run_on.get(name) == Some(bytes),
                "{suite}/{} was recorded anew (recordings/pack.sh)",
                name.display()
            );
        }
        compared += packed.len();
    }
    assert_eq!(compared, 631);
}

/// The files below a folder that are recordings, by name.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.file_name().is_some_and(|name| name == ".packed") => {}
                false => {
                    let name = path.strip_prefix(dir).expect("below").to_path_buf();
                    found.insert(name, std::fs::read(&path).expect("a file"));
                }
            }
        }
    }
    found
}

#[test]
fn a_missing_suite_fails_a_test_only_where_suites_are_required() {
    let empty = tempfile::tempdir().expect("a folder");
    let passes_without_suites = |required: &str| {
        let test = std::env::current_exe().expect("this program");
        std::process::Command::new(test)
            .args(["--exact", "packed_recordings_are_those_that_suites_are_run_on"])
            .env("EPHOR_CONFORMANCE", empty.path())
            .env("EPHOR_REQUIRE_CONFORMANCE", required)
            .output()
            .expect("the test starts")
            .status
            .success()
    };
    assert!(passes_without_suites("0"));
    assert!(!passes_without_suites("1"));
}
