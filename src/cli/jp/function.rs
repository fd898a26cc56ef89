//! `ephor jp function`: the functions that expressions can call.
//!
//! Without names the list holds Kyverno's own functions, as in `kyverno jp function`. An unknown
//! function is reported on standard error; the exit code stays 0.

use ephor_functions::{Function, page};
use ephor_value::suggest::did_you_mean;

use super::super::CommandError;
use crate::cli::arguments::given;
use crate::cli::candidates::function_names;
use crate::cli::console;

/// Shows functions: all, found by a word, or named ones
///
/// Shows name, signature and note of functions; of those that are named also examples. Without a
/// name lists Kyverno's functions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # list functions
  ephor jp function

  # show one, with examples
  ephor jp function truncate

  # find those about time
  ephor jp function --search rfc")]
pub struct JpFunctionArgs {
    /// names of functions
    #[arg(value_name = "NAME", add = clap_complete::ArgValueCompleter::new(function_names))]
    names: Vec<String>,
    /// standard functions of JMESPath, too
    #[arg(long, short)]
    all: bool,
    /// text that name or note of the functions contain
    #[arg(long, short, value_name = "TEXT")]
    search: Option<String>,
    /// page of all functions as Markdown
    #[arg(long)]
    markdown: bool,
}

/// Runs the command.
///
/// # Errors
/// None that is known.
pub fn run(args: &JpFunctionArgs) -> Result<i32, CommandError> {
    if args.markdown {
        console::print(&page::markdown());
        return Ok(0);
    }
    let names = &args.names;
    let word = given(&args.search).unwrap_or_default();
    let chosen: Vec<&'static Function> = if !word.is_empty() {
        page::search(word)
    } else if names.is_empty() {
        ephor_functions::all().iter().filter(|f| f.kyverno || args.all).collect()
    } else {
        ephor_functions::all().iter().filter(|f| names.iter().any(|n| n == f.name)).collect()
    };
    for name in names.iter().filter(|n| ephor_functions::find(n).is_none()) {
        console::warn(&unknown(name));
    }
    if !word.is_empty() && chosen.is_empty() {
        console::warn(&format!("no function has `{word}` in its name or note"));
    }
    let entries = page::by_signature(chosen).into_iter().map(|f| page::entry(f, !names.is_empty()));
    console::print(&entries.collect::<String>());
    Ok(0)
}

/// That there is no function of this name, and which one was meant.
pub(super) fn unknown(name: &str) -> String {
    let all: Vec<&str> = ephor_functions::all().iter().map(|f| f.name).collect();
    match did_you_mean(name, &all) {
        Some(close) => format!("no function `{name}`; did you mean `{close}`?"),
        None => format!("no function `{name}`"),
    }
}
