//! What is printed of an expression: types, costs, traces, and the place of a fault.

use ephor_search::cel::{CelExpression, Environment, EvaluationError, Step};
use ephor_search::meant;
use ephor_value::Value;

use crate::cli::CommandError;
use crate::cli::prompt::marked;

/// The error of an expression without a value, with the place of the part that failed.
pub(super) fn fault(
    source: &str,
    expression: &CelExpression,
    environment: Environment,
    data: &Value,
    error: &EvaluationError,
) -> CommandError {
    let problem = meant::of_cel(source, expression, environment, data, error);
    CommandError::expression(format!("{problem}\n{}", marked(source, &problem)).trim_end().to_string())
}

/// What is printed about an expression in addition to its value.
pub(super) fn facts(expression: &CelExpression, cost: Option<u64>) -> String {
    let estimate = expression.estimate();
    let most = if estimate.max == u64::MAX { "unbounded".to_string() } else { estimate.max.to_string() };
    let mut out = format!("type: {}\n", expression.type_name());
    if let Some(cost) = cost {
        out.push_str(&format!("cost: {cost}\n"));
    }
    out.push_str(&format!("estimated cost: {} to {most}\n", estimate.min));
    out
}

/// The longest value that a line of a trace shows, in characters: a line stays readable.
const MAX_SHOWN: usize = 100;

/// The lines of a trace.
pub(super) fn traced(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        let text = step.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let value = match &step.value {
            Ok(value) if value.chars().count() > MAX_SHOWN => {
                format!("= {}…", value.chars().take(MAX_SHOWN).collect::<String>())
            }
            Ok(value) => format!("= {value}"),
            Err(text) => format!("! {text}"),
        };
        out.push_str(&format!("{}{text} {value}\n", "  ".repeat(step.depth)));
    }
    out
}
