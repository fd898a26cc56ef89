//! Pages have one sentence a line, comments at most 100 columns: a change of a sentence is a change
//! of a line.
//!
//! In: every Markdown page and every Rust file under version control. Tables, code blocks and
//! headings are as they are; a long sentence may continue on the next line. Pages that are
//! generated go through [`one_sentence_a_line`] when they are written (`tests/reference`).

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use regex::Regex;

/// Columns of a line of a page, tables and code aside: a screen and a half. Longer ones cannot be
/// read in a review. Pages that are generated have the texts of the program as they are.
const MAX_PAGE_COLUMNS: usize = 240;

/// Columns of a comment, as `rustfmt` would wrap it.
const MAX_COMMENT_COLUMNS: usize = 100;

/// The files under version control with this ending, and their texts.
fn files(ending: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("git").arg("ls-files").current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    listed
        .lines()
        .filter(|file| file.ends_with(ending))
        .filter_map(|file| Some((file.to_string(), std::fs::read_to_string(root.join(file)).ok()?)))
        .collect()
}

/// The line with a letter for each character in code and in parentheses or brackets, whose first
/// character stays: an end of a sentence in there is none of the line.
fn masked(line: &str) -> Vec<char> {
    let mut out: Vec<char> = line.chars().collect();
    let (mut code, mut depth) = (false, 0usize);
    for c in &mut out {
        match *c {
            '`' => {
                code = !code;
                continue;
            }
            '(' | '[' if !code => {
                depth += 1;
                if depth == 1 {
                    continue;
                }
            }
            ')' | ']' if !code => depth = depth.saturating_sub(1),
            _ => {}
        }
        if code || depth > 0 {
            *c = 'x';
        }
    }
    out
}

/// The sentences of a line, without the blanks between them.
fn sentences(line: &str) -> Vec<String> {
    const SHORT: [&str; 6] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "No."];
    let masked = masked(line);
    let all: Vec<char> = line.chars().collect();
    let ends =
        |at: usize| matches!(masked[at], '.' | '!' | '?') && !(at > 1 && masked[at - 2..at] == ['.', '.']);
    let closes = |c: char| matches!(c, '”' | '"' | '’' | ')' | '*' | '_');
    let starts = |c: char| c.is_uppercase() || c.is_ascii_digit() || "`[*“\"_(".contains(c);
    let (mut out, mut from, mut at) = (Vec::new(), 0, 0);
    while at < all.len() {
        let mut next = at + 1;
        if ends(at) {
            while next < all.len() && closes(masked[next]) {
                next += 1;
            }
            let begins = masked[next..].iter().position(|c| *c != ' ').map_or(all.len(), |n| next + n);
            let sentence: String = all[from..=at].iter().collect();
            let is_short = SHORT.iter().any(|short| sentence.ends_with(short));
            if begins > next && begins < all.len() && starts(masked[begins]) && !is_short {
                out.push(all[from..next].iter().collect());
                from = begins;
                next = begins;
            }
        }
        at = next;
    }
    out.push(all[from..].iter().collect());
    out
}

/// The lines of prose of a page, with their numbers: the blanks and the mark of a list before them,
/// and what they say.
fn prose(page: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let mark = Regex::new(r"^\s*(?:(?:[-*+]|\d+[.)])\s+)?").unwrap();
    let mut in_code = false;
    page.lines().enumerate().filter_map(move |(number, line)| {
        let text = line.trim_start();
        if text.starts_with("```") {
            in_code = !in_code;
            return None;
        }
        let is_prose = !in_code && !text.is_empty() && !text.starts_with(['|', '#', '<', '>']);
        let end = mark.find(line).map_or(0, |m| m.end());
        is_prose.then(|| (number + 1, &line[..end], &line[end..]))
    })
}

/// A generated page with one sentence a line.
pub fn one_sentence_a_line(page: &str) -> String {
    let mut lines: Vec<String> = page.lines().map(String::from).collect();
    for (number, mark, text) in prose(page) {
        let next = format!("\n{}", " ".repeat(mark.chars().count()));
        lines[number - 1] = format!("{mark}{}", sentences(text).join(&next));
    }
    let end = if page.ends_with('\n') { "\n" } else { "" };
    format!("{}{end}", lines.join("\n"))
}

#[test]
fn a_line_is_cut_where_a_sentence_ends_and_nowhere_else() {
    let cut = |line: &str| sentences(line).join("|");
    assert_eq!(cut("One. Two? `three` is three. [Four](4.md)."), "One.|Two?|`three` is three.|[Four](4.md).");
    assert_eq!(
        cut("Code `a. B` and (a note. And more) are one."),
        "Code `a. B` and (a note. And more) are one."
    );
    assert_eq!(
        cut("It is 1.5 times, e.g. Pods … A list... Of it."),
        "It is 1.5 times, e.g. Pods … A list... Of it."
    );
    assert_eq!(one_sentence_a_line("- A. B.\n\n```\nC. D.\n```\n"), "- A.\n  B.\n\n```\nC. D.\n```\n");
}

#[test]
fn pages_have_one_sentence_a_line() {
    let mut found = Vec::new();
    for (file, page) in files(".md") {
        let is_generated = page.contains("This page is generated from");
        for (number, mark, text) in prose(&page) {
            let columns = mark.chars().count() + text.chars().count();
            if sentences(text).len() > 1 {
                found.push(format!("{file}:{number}: two sentences: {text}"));
            } else if columns > MAX_PAGE_COLUMNS && !is_generated {
                found.push(format!("{file}:{number}: {columns} columns: {text}"));
            }
        }
    }
    assert!(found.is_empty(), "{} lines:\n{}", found.len(), found.join("\n"));
}

#[test]
fn comments_have_at_most_100_columns() {
    let mut found = Vec::new();
    for (file, text) in files(".rs") {
        let mut in_code = false;
        for (number, line) in text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                in_code = false;
                continue;
            };
            if comment.trim_start_matches(['/', '!']).trim_start().starts_with("```") {
                in_code = !in_code;
            } else if !in_code && line.chars().count() > MAX_COMMENT_COLUMNS {
                found.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{} lines:\n{}", found.len(), found.join("\n"));
}
