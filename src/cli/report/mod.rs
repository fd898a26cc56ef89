//! `ephor report`: what is done with the results of runs.
//!
//! - [`compare`]: `ephor report OLD NEW`: what is new, and what is fixed.
//! - [`merge`]: `ephor report merge`: one report of the results of shards.

pub mod compare;
pub mod merge;

use super::CommandError;

/// Compares the results of runs, or merges those of shards
///
/// `ephor report OLD NEW` says which violations are new and which are fixed; with more files, the
/// oldest first, also how they came and went. The files are the JSON or JSON lines of `ephor
/// apply`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  # what a branch changes
  ephor apply policies/ -r manifests/ --report-file new.json
  ephor report old.json new.json

  # a page over many runs
  ephor report results/*.json --report-file trend.html

Exit codes:
  0  no violation is new
  1  one is new
  2  a file has no results of a run"
)]
pub struct ReportArgs {
    #[command(subcommand)]
    command: Option<ReportCommand>,
    #[command(flatten)]
    compare: compare::CompareArgs,
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
        Some(ReportCommand::Merge(args)) => merge::run(args),
        None => compare::run(&args.compare),
    }
}
