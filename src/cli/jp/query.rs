//! `ephor jp query`: expressions on a document.
//!
//! Expressions come from arguments, then from files, else from standard input; the document from a file
//! or standard input. Results go to standard output, each after a line with its expression; the first
//! failure ends the run.

use ephor_search::Expression;
use ephor_value::Value;

use super::super::Page;
use super::super::flags::{self, Flag, Takes, flag};

const FLAGS: &[Flag] = &[
    flag("compact", Takes::Switch, "results on one line").short('c'),
    flag("input", Takes::Text, "JSON or YAML file with the document instead of standard input").short('i'),
    flag("query", Takes::List, "files with an expression each").short('q'),
    flag("unquoted", Takes::Switch, "string results without quotes").short('u'),
];

const ABOUT: &str = "Evaluates JMESPath expressions on a JSON or YAML document. What is not given is read from standard\ninput.";

const EXAMPLES: &str = "  # evaluate an expression\n  ephor jp query -i object.yaml 'metadata.name | truncate(@, `9`)'\n\n  # evaluate an expression from a file, and one more\n  ephor jp query -i object.yaml -q query-file 'metadata.name'\n\n  # the document comes through a pipe\n  cat object.yaml | ephor jp query -c 'spec.containers[].image'\n";

pub(super) const PAGE: Page =
    Page { name: "jp query", arguments: "[EXPRESSION...]", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command.
///
/// # Errors
/// Bad flags, a file that cannot be read, no expression and no document, an expression that fails.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if super::helped(&parsed, &PAGE) {
        return Ok(0);
    }
    let mut queries = parsed.arguments.clone();
    for path in parsed.list("query") {
        queries.push(super::file(path)?);
    }
    let mut document = match parsed.text("input") {
        "" => Value::Null,
        path => super::document(&super::file(path)?)?,
    };
    // An empty file counts as none.
    if queries.is_empty() && document.is_null() {
        return Err("at least one query or input object is required".into());
    }
    if queries.is_empty() {
        queries.push(super::typed("a jmespath expression")?);
    }
    if document.is_null() {
        document = super::document(&super::typed("input object")?)?;
    }
    for query in &queries {
        let expression = Expression::compile(query).map_err(|problem| {
            let marked = super::marked(query, &problem);
            with(format!("failed to compile JMESPath: {query}, error: {problem}"), &marked)
        })?;
        let result = expression.search_in(&mut document).map_err(|problem| {
            with(format!("error evaluating JMESPath expression: {problem}"), &super::marked(query, &problem))
        })?;
        super::super::print(&format!("# {query}\n"));
        let text = super::render(&result, parsed.on("compact"), parsed.on("unquoted"));
        let text = text.map_err(|e| format!("error marshalling result to JSON: {e}"))?;
        super::super::print(&format!("{text}\n"));
    }
    Ok(0)
}

/// Kyverno's text, then where it happened.
fn with(text: String, marked: &str) -> String {
    format!("{text}\n{marked}").trim_end().to_string()
}
