//! The engine alone brings no web server, client of a cluster, TLS or terminal with it.

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

const OF_THE_PROGRAM: [&str; 11] = [
    "axum",
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

#[test]
fn the_engine_alone_has_no_server_no_client_and_no_terminal() {
    let (engine, program) = (crates("ephor", &["--no-default-features"]), crates("ephor", &[]));
    for name in OF_THE_PROGRAM {
        assert!(program.contains(name), "the program does not use {name} any more");
        assert!(!engine.contains(name), "the engine uses {name}");
    }
    assert!(engine.len() <= 70, "{} crates: {engine:?}", engine.len());
}
