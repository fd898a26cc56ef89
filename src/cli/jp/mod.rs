//! `ephor jp`: JMESPath on the command line.
//!
//! `query`, `parse` and `function` have the flags, output and exit codes of Kyverno's commands;
//! `repl` is a prompt on a document. What goes beyond Kyverno is on standard error, after its text:
//! the line of an expression with a caret under the place, and advice.

mod complete;
mod function;
mod input;
mod output;
mod parse;
mod query;
mod repl;
mod session;

use super::{Error, help};
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
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Function(function::JpFunctionArgs),
    Parse(parse::JpParseArgs),
    Query(query::JpQueryArgs),
    Repl(repl::JpReplArgs),
}

/// Runs the command.
///
/// # Errors
/// Those of the command below it.
pub fn run(args: JpArgs, commands: Commands) -> Result<i32, Error> {
    match args.command {
        Some(Command::Function(args)) => function::run(&args),
        Some(Command::Parse(args)) => parse::run(&args),
        Some(Command::Query(args)) => query::run(&args),
        Some(Command::Repl(args)) => repl::run(&args),
        None => {
            help::print(commands, &format!("{} jp", program()));
            Ok(0)
        }
    }
}
