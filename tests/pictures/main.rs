//! The pictures of the README and the book are drawn from their sources; `EPHOR_WRITE_DOCS=1`
//! writes them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod chart;
mod session;
mod svg;
mod way;

use std::path::Path;

/// Compares a picture with its file, or writes the file.
fn check(name: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures").join(name);
    if std::env::var_os("EPHOR_WRITE_DOCS").is_some() {
        std::fs::write(&path, now).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == now,
        "{name} is out of date: run this test with EPHOR_WRITE_DOCS=1, and check what changes"
    );
}

#[test]
fn the_chart_shows_the_figures_of_its_file() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures/figures.toml"));
    check("figures.svg", &chart::draw(&text.unwrap()));
}

#[test]
fn the_way_of_a_request_names_crates_that_exist() {
    for name in way::crates() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("crates/{name}/Cargo.toml"));
        assert!(manifest.exists(), "there is no crate {name}");
    }
    check("way.svg", &way::draw());
}

#[test]
fn pictures_of_sessions_show_what_commands_print() {
    let sessions = [
        ("apply.svg", "ephor apply policies.yaml -r pod.yaml --quiet", "Two violations with their lines"),
        ("explain.svg", "ephor explain policies.yaml -r pod.yaml", "What decided about a Pod, and where"),
        ("lint.svg", "ephor lint mistakes.yaml", "Mistakes of a policy, and what to write instead"),
    ];
    for (name, command, label) in sessions {
        check(name, &session::draw(&format!("{command}: {label}"), command));
    }
}
