//! `ephor cel`: CEL on the command line.
//!
//! `eval` evaluates an expression on a document, `check` reports what is wrong with it, `repl` is a
//! prompt. Values and types go to standard output, what is wrong to standard error with exit code
//! 1.
//!
//! - `check`: `ephor cel check`: what is wrong with an expression.
//! - `eval`: `ephor cel eval`: an expression on a document.
//! - `input`: what CEL expressions are evaluated on: flags, documents and variables.
//! - `output`: what is printed of an expression: types, costs, traces, and the place of a fault.
//! - `repl`: `ephor cel repl`: a prompt on a document.

mod check;
mod eval;
mod input;
mod output;
mod repl;

use super::{CommandError, help};
use crate::cli::help::Commands;
use crate::cli::program_name::program;

/// Evaluates, checks and explains CEL expressions
#[derive(Debug, clap::Args)]
pub struct CelArgs {
    #[command(subcommand)]
    command: Option<CelCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum CelCommand {
    Check(check::CelCheckArgs),
    Eval(eval::CelEvalArgs),
    Repl(repl::CelReplArgs),
}

/// Runs the command.
///
/// # Errors
/// Those of the command below it.
pub fn run(args: CelArgs, commands: Commands) -> Result<i32, CommandError> {
    match args.command {
        Some(CelCommand::Check(args)) => check::run(&args),
        Some(CelCommand::Eval(args)) => eval::run(&args),
        Some(CelCommand::Repl(args)) => repl::run(&args),
        None => {
            help::print(commands, &format!("{} cel", program()));
            Ok(0)
        }
    }
}
