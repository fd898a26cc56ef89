//! `ephor jp query`: expressions on a document.
//!
//! Expressions come from arguments, then from files, else from standard input; the document from a
//! file or standard input. Results go to standard output, each after a line with its expression;
//! the first failure ends the run.

use ephor_search::Expression;
use ephor_search::meant::with_meant_key;
use ephor_value::Value;

use super::super::CommandError;
use super::super::flags::{Record, fields};
use crate::cli::arguments::given;
use crate::cli::console;
use crate::cli::jp::input;
use crate::cli::jp::output;
use crate::cli::prompt::marked;

/// Evaluates expressions on a document
///
/// The document is JSON or YAML. What is not given is read from standard input.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # evaluate an expression
  ephor jp query -i object.yaml 'metadata.name | truncate(@, `9`)'

  # evaluate an expression from a file, and one more
  ephor jp query -i object.yaml -q query-file 'metadata.name'

  # the document comes through a pipe
  cat object.yaml | ephor jp query -c 'spec.containers[].image'")]
pub struct JpQueryArgs {
    /// expressions
    #[arg(value_name = "EXPRESSION")]
    expressions: Vec<String>,
    /// JSON or YAML file with the document instead of standard input
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    input: Option<String>,
    /// files with an expression each
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    query: Vec<Record>,
    /// results on one line
    #[arg(long, short)]
    compact: bool,
    /// string results without quotes
    #[arg(long, short)]
    unquoted: bool,
}

/// Runs the command.
///
/// # Errors
/// A file that cannot be read, no expression and no document, an expression that fails.
pub fn run(args: &JpQueryArgs) -> Result<i32, CommandError> {
    let mut queries = args.expressions.clone();
    for path in fields(&args.query) {
        queries.push(input::file(&path)?);
    }
    let mut document = match given(&args.input) {
        None => Value::Null,
        Some(path) => input::document(&input::file(path)?)?,
    };
    // An empty file counts as none.
    if queries.is_empty() && document.is_null() {
        return Err(CommandError::NothingToQuery);
    }
    if queries.is_empty() {
        queries.push(input::typed("a jmespath expression")?);
    }
    if document.is_null() {
        document = input::document(&input::typed("input object")?)?;
    }
    for query in &queries {
        let expression = Expression::compile(query).map_err(|problem| {
            let marked = marked(query, &problem);
            CommandError::Query { query: query.clone(), problem: Box::new(problem), marked }
        })?;
        let result = expression.search_in(&mut document).map_err(|problem| {
            let problem = with_meant_key(problem, &document);
            let marked = marked(query, &problem);
            CommandError::Search { problem: Box::new(problem), marked }
        })?;
        console::print(&format!("# {query}\n"));
        let text = output::render(&result, args.compact, args.unquoted)?;
        console::print(&format!("{text}\n"));
    }
    Ok(0)
}
