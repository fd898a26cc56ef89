//! The crates are those of the table in `docs/architecture.md`, and after lowering nothing names a
//! kind of policy.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

/// From crate to the crates of the workspace that it uses.
type Edges = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The files below a folder that have this extension.
fn files(dir: &Path, extension: &str, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, extension, out);
        } else if path.extension().is_some_and(|e| e == extension) {
            out.push(path);
        }
    }
}

#[test]
fn commands_write_to_standard_error_through_one_function_that_survives_a_closed_pipe() {
    let mut all = Vec::new();
    files(&root().join("src"), "rs", &mut all);
    let writes = |path: &PathBuf| code(path).contains("eprint");
    let found: Vec<&PathBuf> = all.iter().filter(|path| writes(path)).collect();
    assert_eq!(found, Vec::<&PathBuf>::new());
}

/// The file's code without comments and without what is compiled for tests only.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = Regex::new(r"(?s)#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))? )?mod \w+ \{.*\z")
        .unwrap()
        .replace(&text, "")
        .into_owned();
    Regex::new(r"(?m)//.*$").unwrap().replace_all(&text, "").into_owned()
}

/// Files of modules that are declared for tests only.
fn test_files(all: &[PathBuf]) -> BTreeSet<PathBuf> {
    let declared = Regex::new(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))? )?mod (\w+);").unwrap();
    let mut found = BTreeSet::new();
    for path in all {
        let text = fs::read_to_string(path).unwrap();
        let folder = match path.file_name().and_then(|n| n.to_str()) {
            Some("mod.rs" | "lib.rs") => path.parent().unwrap().to_path_buf(),
            _ => path.with_extension(""),
        };
        for name in declared.captures_iter(&text).map(|c| c[1].to_string()) {
            found.insert(folder.join(format!("{name}.rs")));
        }
    }
    found
}

/// The crates and what their manifests list, tests aside.
fn found() -> Edges {
    let mut manifests = vec![root().join("Cargo.toml")];
    let folders = fs::read_dir(root().join("crates")).unwrap();
    manifests.extend(folders.map(|e| e.unwrap().path().join("Cargo.toml")));
    let read = |path: &PathBuf| {
        let manifest: toml::Table = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().to_string();
        let uses = manifest.get("dependencies").and_then(|d| d.as_table()).into_iter().flat_map(|d| d.keys());
        (name, uses.filter(|d| d.starts_with("ephor-")).cloned().collect())
    };
    manifests.iter().map(read).collect()
}

/// The table under "Crates": crate and what it uses.
fn listed() -> Edges {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, table) = text.split_once("\n## Crates\n").expect("a section on crates");
    let table = table.split("\n## ").next().unwrap();
    let name = Regex::new(r"`([\w-]+)`").unwrap();
    let names = |cell: &str| name.captures_iter(cell).map(|c| c[1].to_string()).collect::<Vec<_>>();
    table
        .lines()
        .filter(|l| l.starts_with("| `ephor"))
        .map(|l| {
            let cells: Vec<&str> = l.split('|').collect();
            let uses = names(cells[3]).into_iter().map(|n| format!("ephor-{n}")).collect();
            (names(cells[1]).remove(0), uses)
        })
        .collect()
}

#[test]
fn crates_use_what_the_table_lists() {
    let (found, listed) = (found(), listed());
    assert_eq!(found.keys().collect::<Vec<_>>(), listed.keys().collect::<Vec<_>>());
    for (name, uses) in &found {
        assert_eq!(uses, &listed[name], "{name}: docs/architecture.md, \"Crates\"");
    }
}

#[test]
fn edges_that_look_odd_exist() {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, list) = text.split_once("\nEdges that look odd").expect("a list of odd edges");
    let list = list.split("\n## ").next().unwrap();
    let name = Regex::new(r"`([\w-]+)`").unwrap();
    let names = |part: &str| name.captures_iter(part).map(|c| format!("ephor-{}", &c[1])).collect::<Vec<_>>();
    let (found, mut rows) = (found(), 0);
    for line in list.lines().filter_map(|line| line.strip_prefix("- ")) {
        let (edge, reason) = line.split_once(": ").unwrap();
        let (from, to) = edge.split_once(" → ").unwrap();
        assert!(!reason.is_empty());
        rows += 1;
        for from in names(from) {
            for to in names(to) {
                assert!(found.get(&from).is_some_and(|uses| uses.contains(&to)), "{from} does not use {to}");
            }
        }
    }
    assert!(rows > 20, "{rows} edges");
}

/// Paths on pages that are not in the repository: what `conformance/fetch.sh` downloads, the built
/// page, a folder of another project, a placeholder, a program below `target/release`.
const ELSEWHERE: [&str; 5] =
    ["conformance/data", "tests/compliance", "conformance/public/SUITE.sha256", "examples/pairs", "web/dist"];

#[test]
fn the_files_that_pages_name_exist() {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    files(&root().join("docs"), "md", &mut pages);
    let path = Regex::new(
        r"\b(?:web/(?:src|engine|test)|crates|src|tests|conformance|benches|examples|editors)/[\w./-]*\w",
    )
    .unwrap();
    let mut gone = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for (number, line) in text.lines().enumerate() {
            let named = path.find_iter(line).map(|m| m.as_str());
            // A folder, or a module with its file or folder.
            let exists =
                |p: &&str| ["", ".rs", ".yaml"].iter().any(|e| root().join(format!("{p}{e}")).exists());
            gone.extend(
                named
                    .filter(|p| !exists(p) && !ELSEWHERE.contains(p))
                    .map(|p| format!("{}:{}: {p}", page.display(), number + 1)),
            );
        }
    }
    assert!(gone.is_empty(), "{}", gone.join("\n"));
}

#[test]
fn the_tests_that_the_page_of_soundness_names_exist() {
    let page = fs::read_to_string(root().join("docs/internals/soundness.md")).unwrap();
    let row = Regex::new(r"(?m)^\|.*\| `([\w/.-]+\.rs)`: ((?:`\w+`(?:, )?)+) \|$").unwrap();
    let name = Regex::new(r"`(\w+)`").unwrap();
    let (mut named, mut gone) = (0, Vec::new());
    for row in row.captures_iter(&page) {
        let here = ["crates/compare/tests/comparisons", ""].map(|dir| root().join(dir).join(&row[1]));
        let text = here.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        for test in name.captures_iter(&row[2]) {
            named += 1;
            if !text.contains(&format!("fn {}()", &test[1])) {
                gone.push(format!("{}: {}", &row[1], &test[1]));
            }
        }
    }
    assert!(named > 40, "{named} tests");
    assert!(gone.is_empty(), "{}", gone.join("\n"));
}

#[test]
fn the_repository_names_no_folder_next_to_it() {
    let outside = ["..", "shared"].join("/");
    let output = Command::new("git").args(["grep", "-lF", &outside]).current_dir(root()).output().unwrap();
    // The entry of CI looks whether suites of others are at hand.
    assert_eq!(String::from_utf8_lossy(&output.stdout), ".ci/run\n");
}

#[test]
fn the_sections_that_module_pages_name_exist() {
    let heading = |line: &str| line.trim_start_matches('#').replace(['`', '*'], "").trim().to_lowercase();
    let sections = |page: &str| -> BTreeSet<String> {
        let text = fs::read_to_string(root().join(page)).unwrap_or_default();
        text.lines().filter(|l| l.starts_with('#')).map(heading).collect()
    };
    let mut all = Vec::new();
    ["src", "crates", "tests", "benches"].iter().for_each(|dir| files(&root().join(dir), "rs", &mut all));
    let comment = Regex::new(r"\n\s*//[/!]? ?").unwrap();
    let named = Regex::new(r#"(docs/[\w/-]+\.md)`?,\s*"([^"]{2,80})""#).unwrap();
    let mut gone = Vec::new();
    for path in &all {
        let text = fs::read_to_string(path).unwrap();
        let text = comment.replace_all(&text, " ");
        for c in named.captures_iter(&text) {
            if !sections(&c[1]).contains(&heading(&c[2])) {
                gone.push(format!("{}: {}, \"{}\"", path.display(), &c[1], &c[2]));
            }
        }
    }
    assert!(gone.is_empty(), "{}", gone.join("\n"));
}

/// What runs after `lower`: policies of all kinds are the same to it.
const AFTER_LOWERING: [&str; 9] = [
    "crates/engine/src",
    "crates/ir/src",
    "crates/matching/src",
    "crates/patch/src",
    "crates/pattern/src",
    "crates/policies/src/policy_set",
    "crates/policies/src/policy_set.rs",
    "crates/policies/src/scan.rs",
    "crates/value/src",
];

/// Texts after lowering that name a kind of policy and decide nothing by it: messages of the API
/// server, and the kind of an object whose manifest was signed.
const TEXTS_WITH_KINDS: [&str; 4] = [
    "\"ValidatingAdmissionPolicy '{}'{with} denied request: {text}\"",
    "\"Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {text}\"",
    "\"ClusterPolicy\"",
    "\"Policy\"",
];

#[test]
fn nothing_after_lowering_names_a_kind_of_policy_or_reads_the_api_of_a_policy() {
    let kinds = Regex::new(
        r#""[^"\n]*\b(?:Cluster|Namespaced)?(?:(?:Image)?Validating|Mutating|Generating|Deleting|Cleanup)?(?:Admission)?Policy(?:Binding)?\b[^"\n]*""#,
    )
    .unwrap();
    let api = Regex::new(r"\bapi\.(?:kind|group)\b").unwrap();
    let mut all = Vec::new();
    for place in AFTER_LOWERING {
        let path = root().join(place);
        if path.is_dir() { files(&path, "rs", &mut all) } else { all.push(path) }
    }
    let tests = test_files(&all);
    let (mut known, mut readers) = (BTreeSet::new(), Vec::new());
    for path in all.iter().filter(|path| !tests.contains(*path)) {
        let code = code(path);
        for found in kinds.find_iter(&code).map(|m| m.as_str()) {
            assert!(TEXTS_WITH_KINDS.contains(&found), "{} names a kind: {found}", path.display());
            known.insert(found.to_string());
        }
        if api.is_match(&code) {
            readers.push(path.strip_prefix(root()).unwrap().to_path_buf());
        }
    }
    assert_eq!(known.len(), TEXTS_WITH_KINDS.len(), "a text of the list is gone");
    // The identity of a policy, which exceptions name, and the message about a kind that a set does
    // not take.
    assert_eq!(
        readers,
        [PathBuf::from("crates/ir/src/policy.rs"), PathBuf::from("crates/policies/src/policy_set/set.rs")]
    );
}

/// Crates that are about the kinds of policies: their schemas, lowering, and moving between them.
const OF_KINDS: [&str; 3] = ["crates/api/", "crates/lower/", "crates/migrate/"];

/// Files and folders of other crates that name kinds of policies, and why. What has a lowered
/// policy reads its facts (`ir::facts`, `lower::background`).
const NAMING_KINDS: &[(&str, &str)] = &[
    ("crates/admission/src/admit/changing.rs", "a text of Kyverno that begins with `Policy`"),
    ("crates/admission/src/admit/denial.rs", "a text of Kyverno that begins with `Policy`"),
    ("crates/admission/src/admit/gate.rs", "the text about a policy that a path names and that is gone"),
    ("crates/admission/src/admit/online.rs", "reviews of policies: documents"),
    ("crates/admission/src/admit/policies.rs", "reviews of policies: documents"),
    ("crates/admission/src/admit/route.rs", "the paths of webhooks: a table"),
    ("crates/admission/src/native/", "writes policies of Kubernetes for documents of Kyverno"),
    ("crates/admission/src/registration/", "the webhooks of each API"),
    ("crates/admission/src/webhooks/matching.rs", "kinds that no webhook is called for"),
    ("crates/compare/src/normal/alpha.rs", "names of nodes of the IR"),
    ("crates/compare/src/normal/print.rs", "names of nodes of the IR"),
    ("crates/conformance/src/", "recorded documents and texts"),
    ("crates/controllers/src/background/accounts.rs", "reviews of policies: documents"),
    ("crates/controllers/src/background/intake.rs", "reviews of policies: documents"),
    ("crates/controllers/src/cleanup.rs", "stored policies: documents"),
    ("crates/controllers/src/events.rs", "events refer to a policy by its kind"),
    ("crates/controllers/src/in_use.rs", "stored policies: documents"),
    ("crates/controllers/src/native.rs", "stored policies: documents"),
    ("crates/controllers/src/reports/result_owner.rs", "the sources of results in reports"),
    ("crates/controllers/src/scan/native.rs", "stored policies: what watches list"),
    ("crates/controllers/src/status/", "statuses of stored policies: documents"),
    ("crates/document/src/scope.rs", "kinds outside of namespaces"),
    ("crates/editor/src/", "documents of policies, as they are written"),
    ("crates/engine/src/admission/answer.rs", "texts of the API server"),
    ("crates/audit/src/effects.rs", "rows of results name the kind of their policy"),
    ("crates/engine/src/manifests/difference.rs", "kinds of objects whose manifests were signed"),
    ("crates/inspect/src/lint/", "documents of policies, as they are written"),
    ("crates/inspect/src/results.rs", "results of reports name the kind of their policy"),
    ("crates/inspect/src/upgrade/", "documents of policies, as they are stored"),
    ("crates/ir/src/policy.rs", "the identity of a policy, which exceptions name"),
    ("crates/policies/src/kinds.rs", "the kinds that a cluster serves: a table"),
    ("crates/policies/src/load", "loading: from documents to what is lowered"),
    ("crates/policies/src/policy_set/set.rs", "the text about a kind that a set does not take"),
    ("crates/report/src/formats/", "headings"),
    ("crates/server/src/serve/audit.rs", "a line of a log names the kind"),
    ("crates/server/src/serve/metrics.rs", "a label of a metric"),
    ("crates/server/src/serve/policies.rs", "the text about a policy of Kubernetes"),
    ("crates/server/src/serve/kind_filter.rs", "the text about a flag"),
    ("crates/testing/src/inputs/values.rs", "the fields of a file of values: a table"),
    ("crates/testing/src/testing/", "headings and messages of Kyverno"),
];

#[test]
fn other_crates_read_the_facts_of_a_policy_and_not_its_kind() {
    let kinds = Regex::new(concat!(
        r#""[^"\n]*\b(?:Cluster|Namespaced)?(?:(?:Image)?Validating|Mutating|Generating|Deleting|Cleanup)?"#,
        r#"(?:Admission)?Policy(?:Binding)?\b[^"\n]*"|\bapi\.(?:kind|group)\b|"(?:n?[vmgd]pol|n?ivpol|c?pol)""#,
    ))
    .unwrap();
    let mut all = Vec::new();
    files(&root().join("crates"), "rs", &mut all);
    let tests = test_files(&all);
    let (mut used, mut wrong) = (BTreeSet::new(), Vec::new());
    for path in all.iter().filter(|path| !tests.contains(*path)) {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
        if !name.contains("/src/") || OF_KINDS.iter().any(|of| name.starts_with(of)) {
            continue;
        }
        let code = code(path);
        if let Some(found) = kinds.find(&code) {
            match NAMING_KINDS.iter().find(|(place, _)| name.starts_with(place)) {
                Some((place, _)) => drop(used.insert(*place)),
                None => wrong.push(format!("{name}: {}", found.as_str())),
            }
        }
    }
    assert!(wrong.is_empty(), "read facts that `lower` sets instead:\n{}", wrong.join("\n"));
    let unused: Vec<_> = NAMING_KINDS.iter().filter(|(place, _)| !used.contains(place)).collect();
    assert!(unused.is_empty(), "these name no kind any more: {unused:?}");
}

/// The crates that a page in a browser may link: those below these (features with a network aside).
const IN_BROWSERS: [&str; 1] = ["ephor-page"];

#[test]
fn what_runs_in_browsers_reads_one_clock_and_starts_no_threads_of_its_own() {
    let edges = found();
    let mut reached: BTreeSet<&String> = BTreeSet::new();
    let mut open: Vec<&String> =
        IN_BROWSERS.iter().map(|name| edges.get_key_value(*name).unwrap().0).collect();
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            open.extend(&edges[name]);
        }
    }
    let used = Regex::new(
        r"\b(?:Instant|SystemTime|Timestamp|Zoned)::now\b|\bthread::(?:spawn|Builder|scope|sleep)\b|\brayon::|\btime::\{?[\w, ]*(?:Instant|SystemTime)\b",
    )
    .unwrap();
    // Modules that are compiled with a network only.
    let network =
        Regex::new(r#"#\[cfg\([^\]]*feature = "network"[^\]]*\)\]\s*(?:pub(?:\([^)]*\))? )?mod (\w+);"#)
            .unwrap();
    let (mut counted, mut wrong) = (0, Vec::new());
    for name in reached {
        let folder = root().join("crates").join(name.trim_start_matches("ephor-")).join("src");
        let mut all = Vec::new();
        files(&folder, "rs", &mut all);
        let mut left_out = test_files(&all);
        for path in &all {
            let parent = match path.file_name().and_then(|n| n.to_str()) {
                Some("mod.rs" | "lib.rs") => path.parent().unwrap().to_path_buf(),
                _ => path.with_extension(""),
            };
            let text = fs::read_to_string(path).unwrap();
            for module in network.captures_iter(&text).map(|c| parent.join(&c[1])) {
                left_out.insert(module.with_extension("rs"));
                left_out.insert(module);
            }
        }
        let is_left_out = |path: &PathBuf| left_out.iter().any(|out| path.starts_with(out));
        for path in all.iter().filter(|path| !is_left_out(path)) {
            counted += 1;
            let place = path.strip_prefix(root()).unwrap().display().to_string();
            if ["crates/value/src/clock.rs", "crates/value/src/parallel.rs"].contains(&&*place) {
                continue;
            }
            wrong.extend(used.find_iter(&code(path)).map(|m| format!("{place}: {}", m.as_str())));
        }
    }
    assert!(counted > 300, "{counted} files");
    assert!(wrong.is_empty(), "use `ephor_value::{{clock, parallel}}`:\n{}", wrong.join("\n"));
}
