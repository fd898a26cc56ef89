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

use std::collections::BTreeSet;
use std::io::Read;

use ephor_document::split;
use ephor_search::Problem;
use ephor_value::Value;
use ephor_value::suggest::did_you_mean;

use super::prompt::{all_keys, marked};
use super::{Error, help, program};

/// Evaluates and explains JMESPath expressions
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # evaluate an expression
  ephor jp query -i object.yaml 'metadata.name | truncate(@, `9`)'

  # evaluate one expression after the other
  ephor jp repl object.yaml

  # find a function
  ephor jp function --search duration")]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Function(function::Args),
    Parse(parse::Args),
    Query(query::Args),
    Repl(repl::Args),
}

/// Runs the command.
///
/// # Errors
/// Those of the command below it.
pub fn run(args: Args) -> Result<i32, Error> {
    match args.command {
        Some(Command::Function(args)) => function::run(&args),
        Some(Command::Parse(args)) => parse::run(&args),
        Some(Command::Query(args)) => query::run(&args),
        Some(Command::Repl(args)) => repl::run(&args),
        None => {
            help::print(&format!("{} jp", program()));
            Ok(0)
        }
    }
}

/// A result as the flags want it.
///
/// # Errors
/// It has no form in JSON.
fn render(value: &Value, compact: bool, unquoted: bool) -> Result<String, Error> {
    match value {
        Value::Str(s) if unquoted => Ok(s.to_string()),
        other if compact => ephor_search::json(other).map_err(|error| Error::Marshal(error.into())),
        other => ephor_search::json_pretty(other).map_err(|error| Error::Marshal(error.into())),
    }
}

/// The text of a file.
///
/// # Errors
/// Kyverno's text: `failed open file a: open a: no such file or directory`.
fn file(path: &str) -> Result<String, Error> {
    let mut opened = std::fs::File::open(path).map_err(|cause| Error::Open { path: path.into(), cause })?;
    let mut bytes = Vec::new();
    opened.read_to_end(&mut bytes).map_err(|cause| Error::Read { path: path.into(), cause })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first document of a text. More documents are a warning: Kyverno skips them silently.
///
/// # Errors
/// Kyverno's text.
fn document(text: &str) -> Result<Value, Error> {
    let value = ephor_search::read(text).map_err(|error| Error::Document(error.into()))?;
    let count = split::split(text).map_or(1, |parts| parts.len());
    if count > 1 {
        super::warn(&format!("the input has {count} documents, expressions are evaluated on the first"));
    }
    Ok(value)
}

/// The problem of an evaluation, with the key that was probably meant where one is unknown.
fn with_meant_key(mut problem: Problem, document: &Value) -> Problem {
    let unknown = problem.text.strip_prefix("Unknown key \"").and_then(|rest| rest.split('"').next());
    if let (Some(key), None) = (unknown, &problem.hint) {
        let mut known = BTreeSet::new();
        all_keys(document, &mut known);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        problem.hint = did_you_mean(key, &known).map(|close| format!("did you mean `{close}`?"));
    }
    problem
}

/// Reads standard input.
///
/// # Errors
/// Standard input cannot be read.
fn typed(what: &str) -> Result<String, Error> {
    super::print(&format!("Reading from terminal input.\nEnter {what} and hit Ctrl+D.\n"));
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(Error::StandardInput)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
