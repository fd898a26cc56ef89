//! `ephor cel eval`: an expression on a document.

use ephor_search::cel::CelExpression;

use super::super::CommandError;
use crate::cli::cel::input;
use crate::cli::cel::input::Input;
use crate::cli::cel::output;
use crate::cli::console;

/// Evaluates a CEL expression on a JSON or YAML document
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # evaluate an expression on an object
  ephor cel eval -i pod.yaml 'object.spec.containers.all(c, has(c.resources))'

  # see what its parts give, and what it costs
  ephor cel eval -i pod.yaml --trace --facts 'object.spec.replicas > 3'

  # variables of one's own
  ephor cel eval --env bare -s x='[1, 2]' 'x.map(i, i * 2)'")]
pub struct CelEvalArgs {
    /// expression
    #[arg(value_name = "EXPRESSION")]
    expression: Vec<String>,
    #[command(flatten)]
    input: Input,
    /// values of all subexpressions, of comprehensions for each iteration
    #[arg(long, short)]
    trace: bool,
    /// type, cost and estimated cost after the value
    #[arg(long, short)]
    facts: bool,
}

/// Runs the command.
///
/// # Errors
/// A document that cannot be read, an expression that does not compile or has no value.
pub fn run(args: &CelEvalArgs) -> Result<i32, CommandError> {
    let source = input::only(&args.expression)?;
    let (environment, data) = input::read_input(&args.input)?;
    let expression = CelExpression::compile(source, environment, &data).map_err(CommandError::expression)?;
    let outcome = expression.evaluate(&data);
    if args.trace {
        console::print(&output::traced(&expression.trace(&data)));
    } else if let Ok(value) = outcome.to_text() {
        console::print(&format!("{value}\n"));
    }
    if args.facts {
        console::print(&output::facts(&expression, Some(outcome.cost)));
    }
    let fault = |error| output::fault(source, &expression, environment, &data, &error);
    outcome.to_text().map(|_| 0).map_err(fault)
}
