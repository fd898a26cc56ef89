//! `ephor cel`: CEL on the command line.
//!
//! `eval` evaluates an expression on a document, `check` reports what is wrong with it, `repl` is a prompt.
//! Values and types go to standard output, what is wrong to standard error with exit code 1.

mod check;
mod eval;
mod repl;

use std::io::Read;

use ephor_search::cel::{Environment, Expression, Step};
use ephor_search::document;
use ephor_value::Value;

use super::Page;
use super::flags::{Flag, Parsed, Takes, flag};
use super::helped;

const ABOUT: &str = "Evaluates, checks and explains CEL expressions.";

const PAGES: [Page; 3] = [check::PAGE, eval::PAGE, repl::PAGE];

const INPUT: Flag = flag(
    "input",
    Takes::Text,
    "JSON or YAML file with the document: an object, or a map of object, oldObject, params, request and namespaceObject; `-` is standard input",
)
.short('i');
const ENV: Flag =
    flag("env", Takes::Text, "environment of variables and functions: kubernetes, kyverno or bare")
        .default("kubernetes");
const SET: Flag = flag("set", Takes::Array, "value of a variable as name=JSON; may be repeated").short('s');

/// Runs the command.
///
/// # Errors
/// Those of the command under it; an unknown one.
pub fn run(args: &[String]) -> Result<i32, String> {
    let Some((name, rest)) = args.split_first() else {
        super::print(&super::group_help("cel", ABOUT, &PAGES));
        return Ok(0);
    };
    match name.as_str() {
        "check" => check::run(rest),
        "eval" => eval::run(rest),
        "repl" => repl::run(rest),
        "-h" | "--help" => {
            super::print(&super::group_help("cel", ABOUT, &PAGES));
            Ok(0)
        }
        other => Err(super::unknown_below("cel", other, &PAGES)),
    }
}

/// The pages of the commands under `cel`.
pub(super) fn pages() -> [Page; 3] {
    PAGES
}

/// The environment and the variables that the flags name.
///
/// # Errors
/// An unknown environment, a document that cannot be read, a variable that is none.
fn read_input(parsed: &Parsed) -> Result<(Environment, Value), String> {
    let name = parsed.text("env");
    let environment = Environment::named(name).ok_or_else(|| {
        format!("unknown environment {name:?}\nhelp: kubernetes, kyverno and bare are known")
    })?;
    let document = match parsed.text("input") {
        "" => Value::Null,
        path => document(&text_of(path)?)?,
    };
    let mut data = environment.data(&document);
    for one in parsed.list("set") {
        let (name, json) = one.split_once('=').ok_or_else(|| format!("--set {one}: expected name=JSON"))?;
        let value = document_of(name, json)?;
        if let Value::Map(m) = &mut data {
            m.insert(name, value);
        }
    }
    Ok((environment, data))
}

fn document_of(name: &str, json: &str) -> Result<Value, String> {
    document(json).map_err(|e| format!("--set {name}: {e}"))
}

/// The text of a file, or of standard input.
///
/// # Errors
/// It cannot be read.
fn text_of(path: &str) -> Result<String, String> {
    if path != "-" {
        return std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"));
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| format!("standard input: {e}"))?;
    Ok(text)
}

/// The only expression among the arguments.
///
/// # Errors
/// There is none, or there are several.
fn only(parsed: &Parsed) -> Result<&str, String> {
    match &parsed.arguments[..] {
        [one] => Ok(one),
        [] => Err("an expression is required".into()),
        _ => Err("accepts one expression; quote it for the shell".into()),
    }
}

/// What is printed about an expression in addition to its value.
fn facts(expression: &Expression, cost: Option<u64>) -> String {
    let estimate = expression.estimate();
    let most = if estimate.max == u64::MAX { "unbounded".to_string() } else { estimate.max.to_string() };
    let mut out = format!("type: {}\n", expression.type_name());
    if let Some(cost) = cost {
        out.push_str(&format!("cost: {cost}\n"));
    }
    out.push_str(&format!("estimated cost: {} to {most}\n", estimate.min));
    out
}

/// The longest value that a line of a trace shows.
const WIDEST: usize = 100;

/// The lines of a trace.
fn traced(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        let text = step.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let value = match &step.value {
            Ok(value) if value.chars().count() > WIDEST => {
                format!("= {}…", value.chars().take(WIDEST).collect::<String>())
            }
            Ok(value) => format!("= {value}"),
            Err(text) => format!("! {text}"),
        };
        out.push_str(&format!("{}{text} {value}\n", "  ".repeat(step.depth)));
    }
    out
}
