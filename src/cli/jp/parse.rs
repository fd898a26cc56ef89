//! `ephor jp parse`: the syntax tree of expressions, or the IR that they become.

use ephor_analysis::print;
use ephor_search::Expression;

use super::super::Page;
use super::super::flags::{self, Flag, Takes, flag};

const FLAGS: &[Flag] = &[
    flag("file", Takes::List, "files with an expression each").short('f'),
    flag("ir", Takes::Switch, "IR of the expression, before and after optimisation"),
];

const ABOUT: &str = "Shows the syntax tree of JMESPath expressions, read from standard input when none is given. With --ir\nshows the nodes that the engine runs; docs/ir.md describes them.";

const EXAMPLES: &str = "  # the syntax tree\n  ephor jp parse 'metadata.name | truncate(@, `9`)'\n\n  # what the engine runs\n  ephor jp parse --ir 'containers[?image == null]'\n";

pub(super) const PAGE: Page =
    Page { name: "jp parse", arguments: "[EXPRESSION...]", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command.
///
/// # Errors
/// Bad flags, a file that cannot be read, a text that is no expression.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if super::helped(&parsed, &PAGE) {
        return Ok(0);
    }
    let mut expressions = parsed.arguments.clone();
    for path in parsed.list("file") {
        expressions.push(super::file(path)?);
    }
    if expressions.is_empty() {
        expressions.push(super::typed("a jmespath expression")?);
    }
    for text in &expressions {
        let expression =
            Expression::compile(text).map_err(|problem| problem.caret.clone().unwrap_or(problem.text))?;
        let shown = if parsed.on("ir") { ir(&expression) } else { expression.ast().tree() };
        super::super::print(&format!("# {text}\n{shown}\n"));
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
