//! `ephor jp function`: the functions that expressions can call.
//!
//! Without names the list holds Kyverno's own functions, as in `kyverno jp function`. An unknown function is
//! reported on standard error; the exit code stays 0.

use ephor_functions as functions;
use ephor_functions::{Function, page};
use ephor_value::suggest::did_you_mean;

use super::super::Page;
use super::super::flags::{self, Flag, Takes, flag};

const FLAGS: &[Flag] = &[
    flag("all", Takes::Switch, "standard functions of JMESPath, too").short('a'),
    flag("search", Takes::Text, "text that name or note of the functions contain").short('s'),
    flag("markdown", Takes::Switch, "Markdown of the page docs/functions.md"),
];

const ABOUT: &str = "Shows name, signature and note of functions; of those that are named also examples. Without a name\nlists Kyverno's functions.";

const EXAMPLES: &str = "  # list functions\n  ephor jp function\n\n  # show one, with examples\n  ephor jp function truncate\n\n  # find those about time\n  ephor jp function --search rfc\n";

pub(super) const PAGE: Page =
    Page { name: "jp function", arguments: "[NAME...]", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command.
///
/// # Errors
/// Bad flags.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if super::helped(&parsed, &PAGE) {
        return Ok(0);
    }
    if parsed.on("markdown") {
        super::super::print(&page::markdown());
        return Ok(0);
    }
    let names = &parsed.arguments;
    let word = parsed.text("search");
    let chosen: Vec<&'static Function> = if !word.is_empty() {
        page::search(word)
    } else if names.is_empty() {
        functions::all().iter().filter(|f| f.kyverno || parsed.on("all")).collect()
    } else {
        functions::all().iter().filter(|f| names.iter().any(|n| n == f.name)).collect()
    };
    for name in names.iter().filter(|n| functions::find(n).is_none()) {
        super::super::warn(&unknown(name));
    }
    if !word.is_empty() && chosen.is_empty() {
        super::super::warn(&format!("no function has `{word}` in its name or note"));
    }
    let entries = page::by_signature(chosen).into_iter().map(|f| page::entry(f, !names.is_empty()));
    super::super::print(&entries.collect::<String>());
    Ok(0)
}

/// That there is no function of this name, and which one was meant.
pub(super) fn unknown(name: &str) -> String {
    let all: Vec<&str> = functions::all().iter().map(|f| f.name).collect();
    match did_you_mean(name, &all) {
        Some(close) => format!("no function `{name}`; did you mean `{close}`?"),
        None => format!("no function `{name}`"),
    }
}
