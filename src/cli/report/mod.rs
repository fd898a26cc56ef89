//! `ephor report`: what is done with the results of runs.
//!
//! - [`merge`]: `ephor report merge`: one report of the results of shards.

pub mod merge;

use super::CommandError;

/// Works with the results of `ephor apply`
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    #[command(subcommand)]
    command: ReportCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ReportCommand {
    Merge(merge::MergeArgs),
}

/// Runs the command; the result is the exit code.
///
/// # Errors
/// As the command that is meant.
pub fn run(args: &ReportArgs) -> Result<i32, CommandError> {
    match &args.command {
        ReportCommand::Merge(args) => merge::run(args),
    }
}
