//! `ephor equivalent`: whether two sets of policies have the same effects.

use clap::ValueHint;

use super::CommandError;
use super::diff::{Common, of_sets};
use crate::cli::diff::question::Question;

/// Says whether two sets of policies, each as a whole, have the same effects
///
/// All policies of A are compared with all policies of B: which requests are violations of at least
/// one of them, where a rule cannot be evaluated, and what follows from violations (deny, warn,
/// audit). How the policies are called, and into how many they are divided, does not matter. Which
/// rules pass or are skipped is not compared, and messages are only with --messages.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # one policy that was divided into several
  ephor equivalent all.yaml parts/

  # only a proof counts
  ephor equivalent old/ new/ --fail-on tested

Exit codes:
  0  no difference that --fail-on names
  1  there is one
  2  a side cannot be read, or not be compared")]
pub struct EquivalentArgs {
    /// file or folder with policies
    #[arg(value_name = "A", value_hint = ValueHint::AnyPath)]
    a: String,
    /// file or folder with the others
    #[arg(value_name = "B", value_hint = ValueHint::AnyPath)]
    b: String,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
///
/// # Errors
/// A side cannot be read or used.
pub fn run(args: &EquivalentArgs) -> Result<i32, CommandError> {
    of_sets(&args.common, Question::Equivalent, &args.a, &args.b)
}
