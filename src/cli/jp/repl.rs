//! `ephor jp repl`: a prompt on a document.
//!
//! The prompt is [`crate::cli::prompt`]'s; what a line means is [`super::session`]'s, what Tab
//! offers [`super::complete`]'s.

use ephor_value::Value;

use super::super::{CommandError, prompt};
use super::session::JpSession;
use crate::cli::arguments::given;
use crate::cli::jp::input;

/// Evaluates expressions on a document as they are typed
///
/// Tab completes names of functions and keys of the document, `:help` shows what else there is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # evaluate expressions on a manifest
  ephor jp repl pod.yaml")]
pub struct JpReplArgs {
    /// JSON or YAML file with the document
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    document: Vec<String>,
    /// the same, as a flag
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    input: Option<String>,
    /// results on one line
    #[arg(long, short)]
    compact: bool,
    /// string results without quotes
    #[arg(long, short)]
    unquoted: bool,
    /// history file instead of $XDG_STATE_HOME/ephor/jp_history
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    history: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// A document that cannot be read, a terminal that cannot be used.
pub fn run(args: &JpReplArgs) -> Result<i32, CommandError> {
    let path = match (given(&args.input), &args.document[..]) {
        (None, [path]) => Some(path.as_str()),
        (path, []) => path,
        _ => return Err(CommandError::Documents),
    };
    let document = match path {
        Some(path) => input::document(&input::file(path)?)?,
        None => Value::Null,
    };
    let session = JpSession::new(document, args.compact, args.unquoted);
    prompt::run("jp> ", session, prompt::history("jp_history", given(&args.history)))?;
    Ok(0)
}
