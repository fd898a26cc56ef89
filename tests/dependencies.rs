//! The engine alone brings no web server, client of a cluster, TLS or terminal with it, and every dependency is on its page.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::process::Command;

/// The crates that a build of a package with these features has, by name.
fn crates(package: &str, features: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--package", package])
        .args(features)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().next()).map(String::from).collect()
}

const OF_THE_PROGRAM: [&str; 12] = [
    "axum",
    "clap",
    "hyper",
    "indicatif",
    "kube",
    "prometheus",
    "rustls",
    "rustyline",
    "tokio",
    "tokio-rustls",
    "tracing-subscriber",
    "ureq",
];

/// The crates in the first column of a section of the page.
fn named(page: &str, section: &str) -> Vec<String> {
    let text = page.split("\n## ").find(|text| text.starts_with(section)).unwrap();
    let cells = text
        .lines()
        .skip_while(|line| *line != "|---|---|")
        .skip(1)
        .filter_map(|line| line.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(String::from).collect()
}

#[test]
fn every_dependency_is_on_its_page_and_nothing_else() {
    let read =
        |path: &str| std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let manifest: toml::Table = toml::from_str(&read("Cargo.toml")).unwrap();
    let known: BTreeSet<String> = manifest["workspace"]["dependencies"]
        .as_table()
        .unwrap()
        .iter()
        .filter(|(_, is)| is.get("path").is_none())
        .map(|(name, _)| name.clone())
        .collect();
    let used = named(&read("docs/dependencies.md"), "Used");
    let on_page: BTreeSet<String> = used.iter().cloned().collect();
    assert_eq!(used.len(), on_page.len(), "a crate is on the page twice: {used:?}");
    let missing: Vec<&String> = known.difference(&on_page).collect();
    assert!(missing.is_empty(), "docs/dependencies.md does not say what these are for: {missing:?}");
    let gone: Vec<&String> = on_page.difference(&known).collect();
    assert!(gone.is_empty(), "docs/dependencies.md names crates that are no dependencies: {gone:?}");
}

#[test]
fn the_engine_alone_has_no_server_no_client_and_no_terminal() {
    let (engine, program) = (crates("ephor", &["--no-default-features"]), crates("ephor", &[]));
    for name in OF_THE_PROGRAM {
        assert!(program.contains(name), "the program does not use {name} any more");
        assert!(!engine.contains(name), "the engine uses {name}");
    }
    assert!(engine.len() <= 70, "{} crates: {engine:?}", engine.len());
}
