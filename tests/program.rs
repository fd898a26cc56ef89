//! All tests that need no process of their own, as one program: it is linked once.
//!
//! A file of tests is a module here, or a program of its own in `Cargo.toml`: those that count
//! allocations, measure time or memory, or change what the whole process does.

#![allow(clippy::unwrap_used)]

mod admission;
mod apply;
mod apply_admission;
mod apply_changes;
mod architecture;
mod as_lived;
mod bad_expressions;
mod bad_input;
mod book;
mod bundles;
mod cel;
mod chart;
mod cluster;
mod code_scanning;
mod commands;
mod common;
mod compare;
mod compare_deletions;
mod compared_runs;
mod configuration;
mod dependencies;
mod deploy;
mod documents;
mod explain;
mod functions;
mod inputs;
mod instructions;
mod ir_schema;
mod jp;
#[path = "layout/main.rs"]
mod layout;
mod library;
mod lint_fix;
mod lsp;
mod manners;
mod mcp;
mod migrate;
mod migrated_pairs;
mod mutate;
mod native;
mod notary;
mod outputs;
mod own_groups;
#[path = "pictures/main.rs"]
mod pictures;
mod places;
mod policy_forms;
mod prose;
mod recordings;
#[path = "reference/main.rs"]
mod reference;
mod registration;
mod registry;
mod releases;
mod replay;
mod repositories;
mod result_cache;
mod reviews;
mod shards;
mod snippets;
mod sources;
mod streams;
mod suggestions;
mod test_command;
mod unity;
mod webhooks;
mod wishes;
mod words;
mod writers;

use std::collections::BTreeSet;
use std::path::Path;

/// Every file, and every folder with a `main.rs`, is compiled into one of the programs: a file that
/// is not would pass unread.
#[test]
fn every_file_of_tests_is_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = std::fs::read_to_string(root.join("tests/program.rs")).unwrap();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = toml::from_str(&manifest).unwrap();
    let programs = manifest["test"].as_array().unwrap().iter().filter_map(|test| test["name"].as_str());
    let modules = here.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let run: BTreeSet<String> = programs.chain(modules).map(String::from).collect();
    for entry in std::fs::read_dir(root.join("tests")).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_stem().unwrap().to_string_lossy().into_owned();
        let is_of_tests = entry.extension().is_some_and(|e| e == "rs") || entry.join("main.rs").exists();
        assert!(!is_of_tests || run.contains(&name), "{} is not run", entry.display());
    }
}
