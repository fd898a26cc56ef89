//! `ephor jp`: JMESPath on the command line.
//!
//! `query`, `parse` and `function` have the flags, output and exit codes of Kyverno's commands;
//! `repl` is a prompt on a document. What goes beyond Kyverno is on standard error, after its text:
//! the line of an expression with a caret under the place, and advice.

mod complete;
mod function;
mod parse;
mod query;
mod repl;
mod session;

use std::io::Read;

use ephor_document::locate::Position;
use ephor_document::split;
use ephor_report::diagnostic::Diagnostic;
use ephor_search as search;
use ephor_search::Problem;
use ephor_value::Value;
use ephor_value::suggest::did_you_mean;

use super::Page;
use super::flags;
use super::helped;

const ABOUT: &str = "Evaluates and explains JMESPath expressions, with Kyverno's functions.";

const EXAMPLES: &str = "  # evaluate an expression\n  ephor jp query -i object.yaml 'metadata.name | truncate(@, `9`)'\n\n  # evaluate one expression after the other\n  ephor jp repl object.yaml\n\n  # find a function\n  ephor jp function --search duration\n";

/// A command under `jp`.
struct Sub {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<i32, String>,
}

const SUBS: &[Sub] = &[
    Sub {
        name: "function",
        about: "Shows functions: all, found by a word, or named ones.",
        run: function::run,
    },
    Sub {
        name: "parse",
        about: "Shows the syntax tree of expressions, or what they are for the engine.",
        run: parse::run,
    },
    Sub { name: "query", about: "Evaluates expressions on a document.", run: query::run },
    Sub { name: "repl", about: "Evaluates expressions as they are typed.", run: repl::run },
];

/// Runs the command.
///
/// # Errors
/// Those of the command under it; an unknown one.
pub fn run(args: &[String]) -> Result<i32, String> {
    let Some((name, rest)) = args.split_first() else { return help() };
    if let Some(sub) = SUBS.iter().find(|s| s.name == name) {
        return (sub.run)(rest);
    }
    if name.starts_with('-') {
        let parsed = flags::parse(&[], args)?;
        return match parsed.arguments.first() {
            Some(_) => run(&parsed.arguments),
            None => help(),
        };
    }
    let names: Vec<&str> = SUBS.iter().map(|s| s.name).collect();
    let hint = did_you_mean(name, &names).map(|close| format!("\nhelp: did you mean `{close}`?"));
    Err(format!("unknown command \"{name}\" for \"{} jp\"{}", super::program(), hint.unwrap_or_default()))
}

fn help() -> Result<i32, String> {
    let mut about = format!("{ABOUT}\n\nCommands:\n");
    for sub in SUBS {
        about.push_str(&format!("  {:10}{}\n", sub.name, sub.about));
    }
    super::print(&super::command_help("jp", "COMMAND", about.trim_end(), &[], EXAMPLES));
    Ok(0)
}

/// The pages of the commands under `jp`.
pub(super) fn pages() -> [Page; 4] {
    [function::PAGE, parse::PAGE, query::PAGE, repl::PAGE]
}

/// A result as the flags want it.
///
/// # Errors
/// It has no form in JSON.
fn render(value: &Value, compact: bool, unquoted: bool) -> Result<String, String> {
    match value {
        Value::Str(s) if unquoted => Ok(s.to_string()),
        other if compact => search::json(other),
        other => search::json_pretty(other),
    }
}

/// The text of a file.
///
/// # Errors
/// Kyverno's text: `failed open file a: open a: no such file or directory`.
fn file(path: &str) -> Result<String, String> {
    let failed = |e: &std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_string(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        std::io::ErrorKind::IsADirectory => "is a directory".to_string(),
        _ => e.to_string(),
    };
    let mut opened = std::fs::File::open(path)
        .map_err(|e| format!("failed open file {path}: open {path}: {}", failed(&e)))?;
    let mut bytes = Vec::new();
    opened
        .read_to_end(&mut bytes)
        .map_err(|e| format!("failed to read file {path}: read {path}: {}", failed(&e)))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first document of a text. More documents are a warning: Kyverno skips them silently.
///
/// # Errors
/// Kyverno's text.
fn document(text: &str) -> Result<Value, String> {
    let value = search::read(text).map_err(|e| format!("error parsing input json: {e}"))?;
    let count = split::split(text).map_or(1, |parts| parts.len());
    if count > 1 {
        super::warn(&format!("the input has {count} documents, expressions are evaluated on the first"));
    }
    Ok(value)
}

/// Reads standard input.
///
/// # Errors
/// Standard input cannot be read.
fn typed(what: &str) -> Result<String, String> {
    super::print(&format!("Reading from terminal input.\nEnter {what} and hit Ctrl+D.\n"));
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(|e| format!("failed to read from stdin: {e}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The line of the expression where the problem is, with a caret under the place and advice; empty where
/// no place is known.
fn marked(expression: &str, problem: &Problem) -> String {
    let Some(offset) = problem.offset else { return String::new() };
    // A place inside of a character is that of the character.
    let start = (0..=offset.min(expression.len())).rev().find(|at| expression.is_char_boundary(*at));
    let before = expression.get(..start.unwrap_or(0)).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let place = Position { line: before.matches('\n').count() + 1, col: line.chars().count() + 1, len: 1 };
    // What follows the last line break is a line as well, though it may be empty.
    let text = format!("{expression}\n");
    let diagnostic = Diagnostic::error("").in_file("expression", &text, 1).at(Some(place));
    diagnostic.hint(problem.hint.clone()).frame()
}
