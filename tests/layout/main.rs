//! How the files of a crate hang together: circles of imports, names of types, pages that list
//! modules.
//!
//! In: the sources of every crate, without tests. A shared type that lives in a `mod.rs`, or in the
//! file of its first user, ties all files that name it to that file: then none can be read alone.
//! So shared types belong into a file below both, and no circle of files may be larger than a
//! reader takes in at once.

#![allow(clippy::unwrap_used, clippy::panic)]

mod circles;
mod imports;
pub mod sources;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use circles::{Circle, circles};
use sources::{Source, product_sources};

/// The largest circle of files that a crate may have.
const MAX_CIRCLE: usize = 7;

/// Crates with a smaller bound.
const BOUNDS: &[(&str, usize)] = &[("compare", 3)];

/// The one folder whose files may all import each other, and why.
const ONE_RECURSION: (&str, &str, &str) = (
    "migrate",
    "expressions::translate",
    "the translation of values: a value needs tests, and tests need values",
);

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The crates of the workspace by name, with their sources.
static CRATES: LazyLock<Vec<(String, Vec<Source>)>> = LazyLock::new(|| {
    let mut folders: Vec<(String, PathBuf)> = std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().join("src")))
        .filter(|(_, src)| src.is_dir())
        .collect();
    folders.push(("ephor".into(), root().join("src")));
    folders.sort();
    folders.into_iter().map(|(name, src)| (name, product_sources(&src))).collect()
});

#[test]
fn no_circle_of_files_is_larger_than_a_reader_takes_in() {
    let mut wrong = Vec::new();
    for (name, sources) in &*CRATES {
        let bound = BOUNDS.iter().find(|(of, _)| of == name).map_or(MAX_CIRCLE, |(_, bound)| *bound);
        let (of, folder, _) = ONE_RECURSION;
        let is_excepted = |circle: &Circle| {
            of == name && circle.files.iter().all(|file| file.join("::").starts_with(folder))
        };
        let too_large = |circle: &&Circle| circle.files.len() > bound && !is_excepted(circle);
        for circle in circles(sources).iter().filter(too_large) {
            wrong.push(format!("{name}: {} files, at most {bound}:\n{circle}", circle.files.len()));
        }
    }
    assert!(
        wrong.is_empty(),
        "shared types belong into a file below their users, see docs/architecture.md\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_name_of_a_type_is_unique_in_its_crate() {
    let mut wrong = Vec::new();
    for (name, sources) in &*CRATES {
        let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for source in sources {
            for of_type in source.types() {
                places.entry(of_type).or_default().push(source.name());
            }
        }
        places.retain(|_, files| files.len() > 1);
        if !places.is_empty() {
            wrong.push(format!("{name}: {places:#?}"));
        }
    }
    assert!(wrong.is_empty(), "types with a name that another has:\n{}", wrong.join("\n"));
}

/// The names that a page lists: "- [`name`]: what it is", or "- `name`: …" where it is private.
fn is_listed(page: &str, module: &str) -> bool {
    page.lines().filter_map(|line| line.strip_prefix("//! - ")).any(|line| {
        // One line may list modules that have a page in common.
        let (names, _) = line.split_once(": ").unwrap_or((line, ""));
        names.split('`').any(|name| name == module || name.strip_prefix("mod@") == Some(module))
    })
}

#[test]
fn the_page_of_a_folder_has_a_line_for_each_module() {
    let mut wrong = Vec::new();
    for (name, sources) in &*CRATES {
        let mut missing = Vec::new();
        for source in sources {
            let page: String = source.page();
            let modules = source.declared_modules();
            missing.extend(
                modules.iter().filter(|m| !is_listed(&page, m)).map(|m| format!("{}: {m}", source.name())),
            );
        }
        if !missing.is_empty() {
            wrong.push(format!("{name}:\n  {}", missing.join("\n  ")));
        }
    }
    assert!(
        wrong.is_empty(),
        "modules without a line \"//! - `name`: what it is\" on the page above them:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_exceptions_name_crates_and_a_folder_that_exist() {
    let crates = root().join("crates");
    assert!(BOUNDS.iter().all(|(name, _)| crates.join(name).is_dir()));
    let (name, folder, _) = ONE_RECURSION;
    assert!(crates.join(name).join("src").join(folder.replace("::", "/")).is_dir());
}
