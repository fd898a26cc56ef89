//! The shell blocks of the book do what the pages say.
//!
//! Each page of `docs/start` and `docs/guides` runs in a folder of its own: a block
//! ```` ```yaml file=NAME ```` writes the file, ```` ```sh ```` runs and must succeed, ```` ```console ```` runs each line after `$
//! ` and compares what is printed, with `[exit code
//! N]` at the end when it is not 0. ```` ```sh ignore ```` needs a cluster, a network or a build:
//! its syntax is checked. `EPHOR_WRITE_DOCS=1` writes what is printed into the pages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use regex::Regex;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages whose blocks run, and those of which the syntax is checked only.
fn pages() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = ["docs/start", "docs/guides"]
        .iter()
        .flat_map(|dir| std::fs::read_dir(root().join(dir)).unwrap().map(|entry| entry.unwrap().path()))
        .collect();
    all.sort();
    assert!(all.len() >= 10, "only {} pages", all.len());
    all
}

fn bash(dir: &Path, arguments: &[&str]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_ephor")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("bash");
    command.current_dir(dir).args(arguments).env("PATH", path).env("NO_COLOR", "1");
    command.output().unwrap()
}

/// What a command prints, standard error last, and its exit code when it is not 0.
fn printed(dir: &Path, command: &str) -> String {
    let output = bash(dir, &["-c", command]);
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = text.trim_matches('\n').lines().map(str::trim_end).collect();
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    match output.status.code() {
        Some(0) => text,
        code => format!("{text}[exit code {}]\n", code.unwrap_or(-1)),
    }
}

/// A block with what its commands print.
fn played(dir: &Path, block: &str) -> String {
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.map(|command| format!("$ {command}\n{}", printed(dir, command))).collect()
}

/// Runs the blocks of a page; the page as it should be.
fn run(page: &Path, text: &str) -> String {
    let blocks = Regex::new(r"(?ms)^```([a-z]+)([^\n]*)\n(.*?)^```$").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let written = blocks.replace_all(text, |found: &regex::Captures<'_>| {
        let (language, info, block) = (&found[1], found[2].trim(), &found[3]);
        match (language, info) {
            ("yaml", info) if info.starts_with("file=") => {
                let file = dir.join(info.trim_start_matches("file="));
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, block).unwrap();
            }
            ("sh", "") => {
                let output = bash(dir, &["-euo", "pipefail", "-c", block]);
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{}: {block}{said}", page.display());
            }
            ("sh", "ignore") => {
                let output = bash(dir, &["-n", "-c", block]);
                assert!(output.status.success(), "{}: {block}", page.display());
            }
            ("console", "") => return format!("```console\n{}```", played(dir, block)),
            ("sh" | "console", other) => panic!("{}: unknown block `{other}`", page.display()),
            _ => {}
        }
        found[0].to_string()
    });
    written.into_owned()
}

#[test]
fn no_block_of_the_book_is_indented_so_that_each_one_runs() {
    let indented = Regex::new(r"(?m)^[ \t]+```.*$").unwrap();
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let found: Vec<&str> = indented.find_iter(&text).map(|block| block.as_str()).collect();
        assert!(found.is_empty(), "{}: {found:?}", page.display());
    }
}

#[test]
fn commands_of_the_book_print_what_its_pages_show() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let now = run(&page, &text);
        if std::env::var_os("EPHOR_WRITE_DOCS").is_some() {
            std::fs::write(&page, &now).unwrap();
        } else {
            assert_eq!(
                now,
                text,
                "{}: run this test with EPHOR_WRITE_DOCS=1, and read what changes",
                page.display()
            );
        }
    }
}

/// What links call the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if is_code || title == line || !title.starts_with(' ') {
            continue;
        }
        let name: String = title
            .trim()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() })
            .collect();
        let same = (1..).map(|n| format!("{name}-{n}"));
        let free = std::iter::once(name.clone()).chain(same).find(|one| !found.contains(one));
        found.extend(free);
    }
    found
}

#[test]
fn the_book_has_every_page_and_every_link_leads_to_a_heading_of_one() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let links = Regex::new(r"\]\(([^)#:\s]+\.md)?(?:#([^)\s]*))?\)").unwrap();
    let named = |c: &regex::Captures<'_>| c.get(1).map(|page| docs.join(page.as_str()));
    let mut pages: Vec<PathBuf> = links.captures_iter(&summary).filter_map(|c| named(&c)).collect();
    pages.sort();
    let mut files = Vec::new();
    for dir in ["", "start", "guides", "library", "reference", "semantics", "expressions", "internals"] {
        let Ok(entries) = std::fs::read_dir(docs.join(dir)) else { continue };
        files.extend(entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "md")));
    }
    files.retain(|file| !file.ends_with("SUMMARY.md"));
    files.sort();
    assert_eq!(pages, files);
    let mut headings = 0;
    for page in files {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in links.captures_iter(&text) {
            let to = link.get(1).map_or(page.clone(), |to| page.parent().unwrap().join(to.as_str()));
            assert!(to.exists(), "{}: {} is no page", page.display(), &link[0]);
            if let Some(heading) = link.get(2) {
                let known = anchors(&std::fs::read_to_string(&to).unwrap());
                assert!(known.contains(heading.as_str()), "{}: {} is no heading", page.display(), &link[0]);
                headings += 1;
            }
        }
    }
    assert!(headings > 10, "{headings} links to headings");
}
