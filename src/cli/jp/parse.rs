//! `ephor jp parse`: the syntax tree of expressions, or the IR that they become.

use ephor_analysis::print;
use ephor_search::Expression;

use super::super::CommandError;
use super::super::flags::{Record, fields};
use crate::cli::console;
use crate::cli::jp::input;

/// Shows the syntax tree of expressions, or what they are for the engine
///
/// Expressions are read from standard input when none is given. With --ir shows the nodes that the
/// engine runs; docs/internals/ir.md describes them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # the syntax tree
  ephor jp parse 'metadata.name | truncate(@, `9`)'

  # what the engine runs
  ephor jp parse --ir 'containers[?image == null]'")]
pub struct JpParseArgs {
    /// expressions
    #[arg(value_name = "EXPRESSION")]
    expressions: Vec<String>,
    /// files with an expression each
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Vec<Record>,
    /// IR of the expression, before and after optimisation
    #[arg(long)]
    ir: bool,
}

/// Runs the command.
///
/// # Errors
/// A file that cannot be read, a text that is no expression.
pub fn run(args: &JpParseArgs) -> Result<i32, CommandError> {
    let mut expressions = args.expressions.clone();
    for path in fields(&args.file) {
        expressions.push(input::file(&path)?);
    }
    if expressions.is_empty() {
        expressions.push(input::typed("a jmespath expression")?);
    }
    for text in &expressions {
        let expression = Expression::compile(text)
            .map_err(|problem| CommandError::NoExpression { problem: Box::new(problem) })?;
        let shown = if args.ir { ir(&expression) } else { expression.ast().tree() };
        console::print(&format!("# {text}\n{shown}\n"));
    }
    Ok(0)
}

/// The IR of an expression.
pub(super) fn ir(expression: &Expression) -> String {
    let lines = |e| {
        let text = print::expression(e).text(&|_| String::new());
        text.lines().map(|l| format!("  {l}\n")).collect::<String>()
    };
    let (before, after) = (lines(&expression.lowered()), lines(expression.optimised()));
    if before == after {
        return format!("unchanged:\n{before}");
    }
    format!("before:\n{before}after:\n{after}")
}
