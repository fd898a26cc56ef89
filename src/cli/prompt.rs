//! Prompts on a document: `ephor jp repl` and `ephor cel repl`.
//!
//! In: lines of a terminal, or of standard input without a prompt where that is no terminal. Out:
//! what a [`PromptSession`] answers. History and editing are `rustyline`'s; Tab offers what the
//! session completes.

use std::io::IsTerminal;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use ephor_document::locate::Position;
use ephor_report::diagnostic::Diagnostic;
use ephor_search::Problem;
use ephor_value::environment;

use crate::cli::console;

/// The number of lines of history that are retained.
const HISTORY: usize = 1000;

/// The result of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A result.
    Out(String),
    /// What was wrong.
    Err(String),
    /// The user leaves.
    Quit,
}

/// A document, and an answer to each line. Nothing of it knows of terminals.
pub(super) trait PromptSession {
    /// Answers a line.
    fn answer(&mut self, line: &str) -> Answer;

    /// Where the word at the end of a line begins, and what it could become.
    fn candidates(&self, line: &str) -> (usize, Vec<String>);
}

/// The history file: the one that a flag names, or `$XDG_STATE_HOME/ephor/NAME`, or below
/// `~/.local/state`.
pub(super) fn history(name: &str, given: Option<&str>) -> Option<PathBuf> {
    if let Some(path) = given {
        return Some(PathBuf::from(path));
    }
    // Lines of a script have no history.
    if !std::io::stdin().is_terminal() {
        return None;
    }
    let from = |variable: environment::Variable| variable.non_empty().map(PathBuf::from);
    let state =
        from(environment::XDG_STATE_HOME).or_else(|| Some(from(environment::HOME)?.join(".local/state")))?;
    Some(state.join("ephor").join(name))
}

/// Answers lines until the user leaves.
///
/// # Errors
/// A terminal that cannot be used.
pub(super) fn run<S: PromptSession>(
    prompt: &str,
    session: S,
    history: Option<PathBuf>,
) -> rustyline::Result<()> {
    let config = Config::builder().max_history_size(HISTORY)?.completion_type(CompletionType::List).build();
    let mut editor: Editor<Assistant<S>, FileHistory> = Editor::with_config(config)?;
    editor.set_helper(Some(Assistant { session }));
    if let Some(path) = &history {
        // Without a history there is one less comfort, and no reason to stop.
        let _ = editor.load_history(path);
    }
    loop {
        let line = match editor.readline(prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(other) => return Err(other),
        };
        let _ = editor.add_history_entry(&line);
        let Some(assistant) = editor.helper_mut() else { break };
        match assistant.session.answer(&line) {
            Answer::Out(text) => console::print(&text),
            Answer::Err(text) => console::error(&text),
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
struct Assistant<S> {
    session: S,
}

impl<S: PromptSession> Completer for Assistant<S> {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.session.candidates(line.get(..pos).unwrap_or(line)))
    }
}

impl<S> Hinter for Assistant<S> {
    type Hint = String;
}

impl<S> Highlighter for Assistant<S> {}
impl<S> Validator for Assistant<S> {}
impl<S: PromptSession> Helper for Assistant<S> {}

/// The line of the expression where the problem is, with a caret under the place and advice; empty
/// where no place is known.
pub(super) fn marked(expression: &str, problem: &Problem) -> String {
    let Some(offset) = problem.offset else { return String::new() };
    // A place inside of a character is that of the character.
    let start = (0..=offset.min(expression.len())).rev().find(|at| expression.is_char_boundary(*at));
    let before = expression.get(..start.unwrap_or(0)).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let place = Position { line: before.matches('\n').count() + 1, col: line.chars().count() + 1, len: 1 };
    // What follows the last line break is a line as well, though it may be empty.
    let text = format!("{expression}\n");
    let diagnostic = Diagnostic::error("").in_file("expression", &text, 1).at(Some(place));
    diagnostic.hint(problem.hint.clone()).frame()
}
