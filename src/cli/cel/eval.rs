//! `ephor cel eval`: an expression on a document.

use ephor_search::cel::Expression;

use super::super::Page;
use super::super::flags::{self, Flag, Takes, flag};

const FLAGS: &[Flag] = &[
    super::ENV,
    super::INPUT,
    super::SET,
    flag("trace", Takes::Switch, "values of all subexpressions, of comprehensions for each iteration")
        .short('t'),
    flag("facts", Takes::Switch, "type, cost and estimated cost after the value").short('f'),
];

const ABOUT: &str = "Evaluates a CEL expression on a JSON or YAML document.";

const EXAMPLES: &str = "  # evaluate an expression on an object\n  ephor cel eval -i pod.yaml 'object.spec.containers.all(c, has(c.resources))'\n\n  # see what its parts give, and what it costs\n  ephor cel eval -i pod.yaml --trace --facts 'object.spec.replicas > 3'\n\n  # variables of one's own\n  ephor cel eval --env bare -s x='[1, 2]' 'x.map(i, i * 2)'\n";

pub(in crate::cli) const PAGE: Page =
    Page { name: "cel eval", arguments: "EXPRESSION", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command.
///
/// # Errors
/// Bad flags, a document that cannot be read, an expression that does not compile or has no value.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if super::helped(&parsed, &PAGE) {
        return Ok(0);
    }
    let source = super::only(&parsed)?;
    let (environment, data) = super::read_input(&parsed)?;
    let expression = Expression::compile(source, environment, &data)?;
    let outcome = expression.evaluate(&data);
    if parsed.on("trace") {
        super::super::print(&super::traced(&expression.trace(&data)));
    } else if let Ok(value) = outcome.to_text() {
        super::super::print(&format!("{value}\n"));
    }
    if parsed.on("facts") {
        super::super::print(&super::facts(&expression, Some(outcome.cost)));
    }
    outcome.to_text().map(|_| 0)
}
