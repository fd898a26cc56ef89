//! `ephor implies`: whether one set of policies denies everything that another one denies.

use clap::ValueHint;

use super::CommandError;
use super::diff::{Common, of_sets};
use crate::cli::diff::question::Question;

/// Says whether policies deny everything that others deny
///
/// B may deny more than A. What A denies and B allows is shown with the smallest objects.
/// Violations are compared whatever the policies' actions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # is everything that the baseline denies denied by the team's policies?
  ephor implies baseline/ team/

Exit codes:
  0  B denies everything that A denies
  1  B allows something that A denies
  2  a side cannot be read, or not be compared")]
pub struct ImpliesArgs {
    /// file or folder with policies
    #[arg(value_name = "A", value_hint = ValueHint::AnyPath)]
    a: String,
    /// file or folder with policies that should deny as much
    #[arg(value_name = "B", value_hint = ValueHint::AnyPath)]
    b: String,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
///
/// # Errors
/// A side cannot be read or used.
pub fn run(args: &ImpliesArgs) -> Result<i32, CommandError> {
    of_sets(&args.common, Question::Implies, &args.a, &args.b)
}
