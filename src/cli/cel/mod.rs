//! `ephor cel`: CEL on the command line.
//!
//! `eval` evaluates an expression on a document, `check` reports what is wrong with it, `repl` is a
//! prompt. Values and types go to standard output, what is wrong to standard error with exit code
//! 1.

mod blame;
mod check;
mod complete;
mod eval;
mod input;
mod output;
mod repl;

use super::{Error, help};
use crate::cli::help::Commands;
use crate::cli::program_name::program;

/// Evaluates, checks and explains CEL expressions
#[derive(Debug, clap::Args)]
pub struct CelArgs {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(check::CelCheckArgs),
    Eval(eval::CelEvalArgs),
    Repl(repl::CelReplArgs),
}

/// Runs the command.
///
/// # Errors
/// Those of the command below it.
pub fn run(args: CelArgs, commands: Commands) -> Result<i32, Error> {
    match args.command {
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Eval(args)) => eval::run(&args),
        Some(Command::Repl(args)) => repl::run(&args),
        None => {
            help::print(commands, &format!("{} cel", program()));
            Ok(0)
        }
    }
}
