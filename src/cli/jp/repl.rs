//! `ephor jp repl`: a prompt on a document.
//!
//! History and editing are `rustyline`'s; what a line means is [`super::session`]'s, what Tab offers
//! [`super::complete`]'s. Where standard input is no terminal the lines are read from it without a prompt.

use std::io::IsTerminal;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use ephor_value::Value;

use super::super::Page;
use super::super::flags::{self, Flag, Takes, flag};
use super::complete::candidates;
use super::session::{Answer, Session};

const FLAGS: &[Flag] = &[
    flag("compact", Takes::Switch, "results on one line").short('c'),
    flag("input", Takes::Text, "JSON or YAML file with the document").short('i'),
    flag("unquoted", Takes::Switch, "string results without quotes").short('u'),
    flag("history", Takes::Text, "history file instead of $XDG_STATE_HOME/ephor/jp_history"),
];

const ABOUT: &str = "Evaluates JMESPath expressions on a document as they are typed. Tab completes names of functions and keys\nof the document, `:help` shows what else there is.";

const EXAMPLES: &str = "  # evaluate expressions on a manifest\n  ephor jp repl pod.yaml\n";

/// The number of lines of history that are retained.
const HISTORY: usize = 1000;

pub(super) const PAGE: Page =
    Page { name: "jp repl", arguments: "[FILE]", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command.
///
/// # Errors
/// Bad flags, a document that cannot be read, a terminal that cannot be used.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if super::helped(&parsed, &PAGE) {
        return Ok(0);
    }
    let path = match (parsed.text("input"), &parsed.arguments[..]) {
        ("", [path]) => Some(path.as_str()),
        ("", []) => None,
        (path, []) => Some(path),
        _ => return Err("accepts one document".into()),
    };
    let document = match path {
        Some(path) => super::document(&super::file(path)?)?,
        None => Value::Null,
    };
    let session = Session::new(document, parsed.on("compact"), parsed.on("unquoted"));
    let history = match parsed.text("history") {
        "" if std::io::stdin().is_terminal() => default_history(),
        // Lines of a script have no history.
        "" => None,
        path => Some(PathBuf::from(path)),
    };
    prompt(session, history).map_err(|e| e.to_string())?;
    Ok(0)
}

/// `$XDG_STATE_HOME/ephor/jp_history`, or below `~/.local/state`.
fn default_history() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let state = from("XDG_STATE_HOME").or_else(|| Some(from("HOME")?.join(".local/state")))?;
    Some(state.join("ephor/jp_history"))
}

fn prompt(session: Session, history: Option<PathBuf>) -> rustyline::Result<()> {
    let config = Config::builder().max_history_size(HISTORY)?.completion_type(CompletionType::List).build();
    let mut editor: Editor<Assistant, FileHistory> = Editor::with_config(config)?;
    editor.set_helper(Some(Assistant { session }));
    if let Some(path) = &history {
        // Without a history there is one less comfort, and no reason to stop.
        let _ = editor.load_history(path);
    }
    loop {
        let line = match editor.readline("jp> ") {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(other) => return Err(other),
        };
        let _ = editor.add_history_entry(&line);
        let Some(assistant) = editor.helper_mut() else { break };
        match assistant.session.answer(&line) {
            Answer::Out(text) => super::super::print(&text),
            Answer::Err(text) => eprint!("{text}"),
            Answer::Quit => break,
        }
    }
    if let Some(path) = &history {
        if let Some(folder) = path.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let _ = editor.save_history(path);
    }
    Ok(())
}

/// Completes and validates a line while it is typed.
struct Assistant {
    session: Session,
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(candidates(line.get(..pos).unwrap_or(line), self.session.document()))
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}
impl Validator for Assistant {}
impl Helper for Assistant {}
