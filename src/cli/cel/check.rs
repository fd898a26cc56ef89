//! `ephor cel check`: what is wrong with an expression.

use ephor_search::cel::CelExpression;

use super::super::CommandError;
use crate::cli::arguments::given;
use crate::cli::cel::input;
use crate::cli::cel::input::Input;
use crate::cli::cel::output;
use crate::cli::console;

/// Parses and checks CEL expressions
///
/// Prints the type and the estimated cost of each, or what is wrong with it, with the line and a
/// caret under the place.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # what type does it have, what will it cost?
  ephor cel check 'object.spec.replicas <= 5'

  # must be a condition
  ephor cel check --type bool 'object.spec.replicas'

Exit codes:
  0  every expression is valid
  1  one is not
  2  the command line, or the document, cannot be used")]
pub struct CelCheckArgs {
    /// expressions
    #[arg(value_name = "EXPRESSION")]
    expressions: Vec<String>,
    #[command(flatten)]
    input: Input,
    /// required type of the expression
    #[arg(long = "type", short = 't', value_name = "TYPE")]
    wanted: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// No expression, a document that cannot be read.
pub fn run(args: &CelCheckArgs) -> Result<i32, CommandError> {
    if args.expressions.is_empty() {
        return Err(CommandError::NoExpressionGiven);
    }
    let (environment, data) = input::read_input(&args.input)?;
    let mut code = 0;
    for source in &args.expressions {
        let wanted = given(&args.wanted).unwrap_or_default();
        let checked = CelExpression::compile(source, environment, &data).map_err(CommandError::expression);
        let checked = checked.and_then(|e| match e.type_name() {
            found if !wanted.is_empty() && found != wanted => {
                Err(CommandError::expression(format!("must evaluate to {wanted} but got {found}")))
            }
            _ => Ok(e),
        });
        match checked {
            Ok(expression) => console::print(&output::facts(&expression, None)),
            Err(text) => {
                console::error(&format!("{text}\n"));
                let name = text.to_string();
                let name =
                    name.split_once("undeclared reference to '").and_then(|(_, rest)| rest.split_once('\''));
                if let Some(meant) = name.and_then(|(name, _)| ephor_inspect::lint::meant_in_cel(name)) {
                    console::error(&format!("help: did you mean `{meant}`?\n"));
                }
                code = 1;
            }
        }
    }
    Ok(code)
}
