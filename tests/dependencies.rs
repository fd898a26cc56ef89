//! The engine alone brings no web server, client of a cluster, TLS or terminal with it, and every
//! dependency is on its page.

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
    let used = named(&read("docs/internals/dependencies.md"), "Used");
    let on_page: BTreeSet<String> = used.iter().cloned().collect();
    assert_eq!(used.len(), on_page.len(), "a crate is on the page twice: {used:?}");
    let missing: Vec<&String> = known.difference(&on_page).collect();
    assert!(
        missing.is_empty(),
        "docs/internals/dependencies.md does not say what these are for: {missing:?}"
    );
    let gone: Vec<&String> = on_page.difference(&known).collect();
    assert!(
        gone.is_empty(),
        "docs/internals/dependencies.md names crates that are no dependencies: {gone:?}"
    );
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

/// Names and descriptions of the crates, with their folders.
fn packages() -> Vec<(std::path::PathBuf, String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let manifest: toml::Table =
            toml::from_str(&std::fs::read_to_string(folder.join("Cargo.toml")).unwrap()).unwrap();
        let field = |key: &str| manifest["package"][key].as_str().unwrap().to_string();
        all.push((folder, field("name"), field("description")));
    }
    all
}

#[test]
fn every_crate_is_packaged_with_the_licence_and_a_page_that_says_what_it_is() {
    let licence = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/LICENSE")).unwrap();
    let all = packages();
    assert!(all.len() > 30, "{}", all.len());
    for (folder, name, description) in &all {
        // A link to the licence of the repository, which a package holds as a file.
        assert_eq!(std::fs::read(folder.join("LICENSE")).unwrap_or_default(), licence, "{name}");
        let page = std::fs::read_to_string(folder.join("README.md")).unwrap_or_default();
        assert!(page.starts_with(&format!("# {name}\n\n{description}.\n")), "{name}: {page}");
    }
    // What cargo packages of some, one with a folder of data among them.
    for name in ["ephor", "ephor-value", "ephor-samples", "ephor-report"] {
        let mut cargo = std::process::Command::new(env!("CARGO"));
        cargo.args(["package", "--package", name, "--list", "--allow-dirty", "--offline"]);
        let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        let files = String::from_utf8_lossy(&output.stdout).into_owned();
        for file in ["LICENSE", "README.md", "Cargo.toml"] {
            assert!(
                files.lines().any(|line| line == file),
                "{name} has no {file}: {files}{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
}

/// The crates that are published, in the order of the list, and which of them are stable.
fn published() -> Vec<(String, bool)> {
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/release/crates.txt");
    let list = std::fs::read_to_string(list).unwrap();
    let rows = list.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| line.split_once(' ').unwrap())
        .map(|(name, kind)| {
            assert!(["stable", "internal"].contains(&kind), "{name} is {kind}");
            (name.to_string(), kind == "stable")
        })
        .collect()
}

#[test]
fn crates_are_published_behind_those_that_they_use_and_say_whether_they_are_stable() {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["metadata", "--locked", "--no-deps", "--format-version", "1"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages: Vec<&serde_json::Value> = metadata["packages"].as_array().unwrap().iter().collect();
    let wanted: BTreeSet<&str> =
        packages.iter().filter(|p| p["publish"].is_null()).map(|p| p["name"].as_str().unwrap()).collect();
    let published = published();
    let listed: BTreeSet<&str> = published.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(listed, wanted, "deploy/release/crates.txt");
    for (at, (name, is_stable)) in published.iter().enumerate() {
        let package = packages.iter().find(|p| p["name"] == name.as_str()).unwrap();
        let before = &published[..at];
        for dependency in package["dependencies"].as_array().unwrap() {
            let of = dependency["name"].as_str().unwrap();
            // A dependency of tests without a version is not part of what is published.
            let is_left_out = dependency["kind"] == "dev" && dependency["req"] == "*";
            if listed.contains(of) && !is_left_out {
                assert!(before.iter().any(|(other, _)| other == of), "{name} is published before {of}");
            }
        }
        let readme =
            std::path::Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("README.md");
        if name != "ephor" {
            let stability = match is_stable {
                true => "Its public items follow the version",
                false => "It is internal: it may change in any version",
            };
            assert!(std::fs::read_to_string(readme).unwrap().contains(stability), "{name}: {stability}");
        }
        if *is_stable {
            assert!(package["metadata"]["docs"]["rs"].is_object(), "{name} has no settings for docs.rs");
        }
    }
}
