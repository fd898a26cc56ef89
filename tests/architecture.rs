//! Modules use only what the table of `docs/architecture.md` lets them use.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// From module to the modules that it uses, with one file as witness.
type Edges = BTreeMap<String, BTreeMap<String, PathBuf>>;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// The file's code without comments and without what is compiled for tests only.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = Regex::new(r"(?s)#\[cfg\(test\)\]\s*mod \w+ \{.*\z").unwrap().replace(&text, "").into_owned();
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

/// The module that a name of the crate's root comes from.
fn exports() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let line = Regex::new(r"(?m)^pub use (\w+)::\{([^}]*)\};").unwrap();
    line.captures_iter(&text)
        .flat_map(|c| {
            let module = c[1].to_string();
            c[2].split(',').map(|n| (n.trim().to_string(), module.clone())).collect::<Vec<_>>()
        })
        .collect()
}

fn found() -> Edges {
    let source = root().join("src");
    let mut all = Vec::new();
    files(&source, &mut all);
    let skipped = test_files(&all);
    let exports = exports();
    let single = Regex::new(r"\bcrate::(\w+)").unwrap();
    let group = Regex::new(r"\bcrate::\{([^;]*)\}\s*;").unwrap();
    let mut edges = Edges::new();
    for path in all.iter().filter(|p| !skipped.contains(*p)) {
        let below = path.strip_prefix(&source).unwrap();
        let first = below.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_string();
        if matches!(&*first, "lib" | "main") {
            continue;
        }
        let text = code(path);
        let mut names: Vec<String> = single.captures_iter(&text).map(|c| c[1].to_string()).collect();
        for c in group.captures_iter(&text) {
            names
                .extend(c[1].split(',').map(|n| n.trim().split("::").next().unwrap_or_default().to_string()));
        }
        let uses = edges.entry(first.clone()).or_default();
        for name in names {
            let module = exports.get(&name).cloned().unwrap_or(name);
            if module != first && module != "self" && !module.is_empty() {
                uses.entry(module).or_insert_with(|| below.to_path_buf());
            }
        }
    }
    edges
}

/// The table under "Module edges": module and what it may use.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, table) = text.split_once("## Module edges").expect("a section on module edges");
    let table = table.split("\n## ").next().unwrap();
    let name = Regex::new(r"`(\w+)`").unwrap();
    let names = |cell: &str| name.captures_iter(cell).map(|c| c[1].to_string()).collect::<Vec<_>>();
    table
        .lines()
        .filter(|l| l.starts_with("| `"))
        .map(|l| {
            let cells: Vec<&str> = l.split('|').collect();
            (names(cells[1]).remove(0), names(cells[2]).into_iter().collect())
        })
        .collect()
}

#[test]
fn modules_use_only_what_the_table_lists() {
    let allowed = allowed();
    let mut wrong = Vec::new();
    for (module, uses) in found() {
        let Some(may) = allowed.get(&module) else {
            wrong.push(format!("module `{module}` has no row"));
            continue;
        };
        for (used, file) in &uses {
            if !may.contains(used) {
                wrong.push(format!("`{module}` must not use `{used}` ({})", file.display()));
            }
        }
        for listed in may.iter().filter(|m| !uses.contains_key(*m)) {
            wrong.push(format!("`{module}` does not use `{listed}`, the table says that it may"));
        }
    }
    assert!(wrong.is_empty(), "docs/architecture.md, \"Module edges\":\n{}", wrong.join("\n"));
}

#[test]
fn the_table_has_no_row_for_a_module_that_is_gone() {
    let found = found();
    let gone: Vec<String> = allowed().into_keys().filter(|m| !found.contains_key(m)).collect();
    assert!(gone.is_empty(), "no module {gone:?}");
}

/// What runs after `lower`: policies of all kinds are the same to it.
const AFTER_LOWERING: [&str; 9] = [
    "src/engine",
    "src/ir",
    "src/matching",
    "crates/patch/src",
    "src/pattern",
    "src/policy_set",
    "src/policy_set.rs",
    "src/scan.rs",
    "crates/value/src",
];

/// Texts after lowering that name a kind of policy and decide nothing by it: messages of the API server, and the kind of
/// an object whose manifest was signed.
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
        if path.is_dir() { files(&path, &mut all) } else { all.push(path) }
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
    // The identity of a policy, which exceptions name, and the message about a kind that a set does not take.
    assert_eq!(readers, [PathBuf::from("src/ir/policy.rs"), PathBuf::from("src/policy_set.rs")]);
}
