//! `ephor cel check`: what is wrong with an expression.

use ephor_search::cel::Expression;

use super::super::Page;
use super::super::flags::{self, Flag, Takes, flag};

const FLAGS: &[Flag] = &[
    super::ENV,
    super::INPUT,
    super::SET,
    flag("type", Takes::Text, "required type of the expression").short('t'),
];

const ABOUT: &str = "Parses and checks CEL expressions: prints the type and the estimated cost of each, or what is wrong with\nit, with the line and a caret under the place.";

const EXAMPLES: &str = "  # what type does it have, what will it cost?\n  ephor cel check 'object.spec.replicas <= 5'\n\n  # must be a condition\n  ephor cel check --type bool 'object.spec.replicas'\n";

pub(in crate::cli) const PAGE: Page =
    Page { name: "cel check", arguments: "EXPRESSION...", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command.
///
/// # Errors
/// Bad flags, no expression.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if super::helped(&parsed, &PAGE) {
        return Ok(0);
    }
    if parsed.arguments.is_empty() {
        return Err("an expression is required".into());
    }
    let (environment, data) = super::read_input(&parsed)?;
    let mut code = 0;
    for source in &parsed.arguments {
        let wanted = parsed.text("type");
        let checked = Expression::compile(source, environment, &data).and_then(|e| match e.type_name() {
            found if !wanted.is_empty() && found != wanted => {
                Err(format!("must evaluate to {wanted} but got {found}"))
            }
            _ => Ok(e),
        });
        match checked {
            Ok(expression) => super::super::print(&super::facts(&expression, None)),
            Err(text) => {
                eprintln!("{text}");
                code = 1;
            }
        }
    }
    Ok(code)
}
