//! `ephor jp`: JMESPath on the command line.
//!
//! `query`, `parse` and `function` have the flags, output and exit codes of Kyverno's commands;
//! `repl` is a prompt on a document. What goes beyond Kyverno is on standard error, after its text:
//! the line of an expression with a caret under the place, and advice.
//!
//! - `function`: `ephor jp function`: the functions that expressions can call.
//! - `input`: documents and expressions of `ephor jp`, from files and standard input.
//! - `output`: results and problems of `ephor jp` as text.
//! - `parse`: `ephor jp parse`: the syntax tree of expressions, or the IR that they become.
//! - `query`: `ephor jp query`: expressions on a document.
//! - `repl`: `ephor jp repl`: a prompt on a document.
//! - `session`: A session of `jp repl`: a document, and an answer to each line.

mod function;
mod input;
mod output;
mod parse;
mod query;
mod repl;
mod session;

use super::{CommandError, help};
use crate::cli::help::Commands;
use crate::cli::program_name::program;

/// Evaluates and explains JMESPath expressions
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # evaluate an expression
  ephor jp query -i object.yaml 'metadata.name | truncate(@, `9`)'

  # evaluate one expression after the other
  ephor jp repl object.yaml

  # find a function
  ephor jp function --search duration")]
pub struct JpArgs {
    #[command(subcommand)]
    command: Option<JpCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum JpCommand {
    Function(function::JpFunctionArgs),
    Parse(parse::JpParseArgs),
    Query(query::JpQueryArgs),
    Repl(repl::JpReplArgs),
}

/// Runs the command.
///
/// # Errors
/// Those of the command below it.
pub fn run(args: JpArgs, commands: Commands) -> Result<i32, CommandError> {
    match args.command {
        Some(JpCommand::Function(args)) => function::run(&args),
        Some(JpCommand::Parse(args)) => parse::run(&args),
        Some(JpCommand::Query(args)) => query::run(&args),
        Some(JpCommand::Repl(args)) => repl::run(&args),
        None => {
            help::print(commands, &format!("{} jp", program()));
            Ok(0)
        }
    }
}
