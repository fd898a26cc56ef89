//! Names, comments, messages and pages use the field's words.
//!
//! In: `tests/words.toml`, the words that are not used here, what to write instead, and the places
//! where such a word is right, with the reason. Every text file of the repository is read; a name
//! is cut into its words first.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    /// Beginnings of paths that are data or history, not texts of the program.
    skipped: Vec<Skipped>,
    word: Vec<Word>,
    #[serde(default)]
    exception: Vec<Exception>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Skipped {
    path: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    /// A regular expression of whole words, in lower case.
    word: String,
    instead: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    /// Beginning of the path; empty for all files.
    #[serde(default)]
    path: String,
    /// What the line has, as it is written.
    text: String,
    reason: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn page() -> Page {
    let text = std::fs::read_to_string(root().join("tests/words.toml")).unwrap();
    toml::from_str(&text).unwrap_or_else(|e| panic!("tests/words.toml: {e}"))
}

/// Paths of the files under version control that have a text of the program.
fn files(page: &Page) -> Vec<String> {
    const KINDS: [&str; 8] = [".rs", ".md", ".toml", ".sh", ".py", ".yaml", ".yml", "justfile"];
    let output = Command::new("git").arg("ls-files").current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    listed
        .lines()
        .filter(|f| KINDS.iter().any(|k| f.ends_with(k)))
        .filter(|f| !page.skipped.iter().any(|s| f.starts_with(&s.path)))
        .map(String::from)
        .collect()
}

/// The line in lower case, with every name cut into its words.
fn words(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let mut lower = false;
    for c in line.chars() {
        match c {
            '_' => out.push(' '),
            c if c.is_uppercase() => {
                if lower {
                    out.push(' ');
                }
                out.extend(c.to_lowercase());
            }
            c => out.push(c),
        }
        lower = c.is_lowercase();
    }
    out
}

#[test]
fn no_private_word_stands_in_a_name_a_comment_or_a_page() {
    let page = page();
    let only = std::env::var("EPHOR_WORDS").unwrap_or_default();
    let listed: Vec<(Regex, &Word)> =
        page.word.iter().map(|w| (Regex::new(&format!(r"\b(?:{})\b", w.word)).unwrap(), w)).collect();
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    for file in files(&page) {
        let Ok(text) = std::fs::read_to_string(root().join(&file)) else { continue };
        for (number, line) in text.lines().enumerate() {
            let cut = words(line);
            let mut concerned = listed.iter();
            let Some((matched, word)) = concerned.find_map(|(r, w)| Some((r.find(&cut)?, w))) else {
                continue;
            };
            let excepted =
                page.exception.iter().position(|e| file.starts_with(&e.path) && line.contains(&e.text));
            match excepted {
                Some(at) => {
                    used.insert(at);
                }
                None if file.starts_with(&only) => found.push(format!(
                    "{file}:{}: `{}`, write: {}\n    {}",
                    number + 1,
                    matched.as_str(),
                    word.instead,
                    line.trim()
                )),
                None => {}
            }
        }
    }
    for (at, exception) in page.exception.iter().enumerate() {
        assert!(!exception.reason.is_empty(), "an exception without a reason: `{}`", exception.text);
        if !used.contains(&at) && only.is_empty() {
            found.push(format!("no line needs the exception `{}` {}", exception.path, exception.text));
        }
    }
    assert!(page.skipped.iter().all(|s| !s.reason.is_empty() && Path::new(&root()).join(&s.path).exists()));
    assert!(found.is_empty(), "{} lines:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_page_that_says_the_reference_names_it() {
    let page = page();
    let says = Regex::new(r"(?i)\bthe reference\b").unwrap();
    let named =
        Regex::new(r"(?i)kyverno|kubernetes|kube-apiserver|cel-go|cosign|notation|\bgo\b|lestrrat").unwrap();
    let mut unnamed = Vec::new();
    for file in files(&page).into_iter().filter(|f| f.ends_with(".rs") || f.ends_with(".md")) {
        let Ok(text) = std::fs::read_to_string(root().join(&file)) else { continue };
        // `$(./../name)` is a reference of another kind.
        let is_said = text.lines().any(|l| says.is_match(l) && !l.contains("holds the reference"));
        if is_said && !named.is_match(&text) {
            unnamed.push(file);
        }
    }
    assert!(unnamed.is_empty(), "which reference? {unnamed:?}");
}
