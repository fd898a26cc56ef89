//! Pages of the book that are generated from the program or from lists; `EPHOR_WRITE_DOCS=1` writes
//! them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod differences;
mod functions;
mod library;
mod metrics;
mod settings;

use std::path::Path;

use ephor::cli::docs::reference::cell;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a page with its file, or writes the file.
fn check(name: &str, now: &str) {
    let now = crate::prose::one_sentence_a_line(now);
    let path = root().join("docs").join(name);
    if std::env::var_os("EPHOR_WRITE_DOCS").is_some() {
        std::fs::write(&path, &now).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, now, "docs/{name}: run `just pages`, which is this test with EPHOR_WRITE_DOCS=1");
}

#[test]
fn the_page_of_known_differences_lists_every_cause() {
    check("reference/differences.md", &differences::page());
}

#[test]
fn the_pages_of_commands_have_every_command_and_flag() {
    for file in ephor::cli::reference_pages() {
        check(&format!("reference/{}", file.name), &file.text);
    }
}

#[test]
fn the_pages_of_the_policy_library_have_every_control_with_an_example() {
    check("library/index.md", &library::index());
    for group in ephor_library::GROUPS {
        check(&library::page_name(group), &library::page(group));
    }
}

#[test]
fn the_tables_of_the_policies_list_every_control() {
    let path = root().join("policies/README.md");
    let written = std::fs::read_to_string(&path).unwrap();
    let now = crate::prose::one_sentence_a_line(&library::readme(&written));
    match std::env::var_os("EPHOR_WRITE_DOCS") {
        Some(_) => std::fs::write(&path, &now).unwrap(),
        None => assert_eq!(written, now, "policies/README.md: run `just pages`"),
    }
}

#[test]
fn the_page_of_metrics_lists_those_that_the_server_registers() {
    check("reference/metrics.md", &metrics::page());
}

#[test]
fn the_page_of_settings_lists_the_keys_and_variables_that_the_program_reads() {
    check("reference/settings.md", &settings::page());
}

#[test]
fn the_page_of_jmespath_lists_every_function_of_the_registry() {
    check("expressions/functions.md", &ephor_functions::page::markdown());
}

#[test]
fn the_page_of_cel_lists_every_function_of_the_libraries_with_what_it_does() {
    check("expressions/cel-functions.md", &functions::page());
}
