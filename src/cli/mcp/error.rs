//! Why a call has no result.
//!
//! Each error has a text and, where it is known, a hint: what to write instead. The client gets
//! both as the result of the tool, so that an agent can correct its call.

use std::time::Duration;

use ephor_page::question::QuestionError;
use ephor_sources::files::reason;

use crate::cli::CommandError;

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    /// There is no such tool.
    #[error("there is no tool `{name}`")]
    UnknownTool { name: String, meant: Option<&'static str>, tools: Vec<&'static str> },
    /// The tool has no such argument.
    #[error("`{tool}` has no argument `{name}`")]
    UnknownArgument {
        tool: &'static str,
        name: String,
        meant: Option<&'static str>,
        known: Vec<&'static str>,
    },
    /// An argument is required.
    #[error("`{tool}` requires the argument `{name}`")]
    Missing { tool: &'static str, name: &'static str, form: &'static str },
    /// An argument has another form.
    #[error("`{place}` must be {form}, not {found}")]
    Form { place: String, form: String, found: &'static str },
    /// An argument goes with another one.
    #[error("`{name}` goes with `{with}`")]
    Without { name: &'static str, with: &'static str },
    /// Texts are too large.
    #[error("the texts of a call have at most {limit} bytes, these have {bytes}")]
    TooLarge { bytes: usize, limit: usize },
    /// There is no such file.
    #[error("{path}: there is no such file or folder")]
    NoFile { path: String, meant: Option<String> },
    /// A file cannot be read.
    #[error("{path}: {}", reason(.cause))]
    Unreadable { path: String, cause: std::io::Error },
    /// A file, or one of a folder, cannot be read or is no text.
    #[error("{0}")]
    Notice(String),
    /// A path is none.
    #[error("`{path}` is no path of a file or folder")]
    NoPath { path: String },
    /// A folder holds nothing that is read.
    #[error("{paths}: no YAML or JSON file is there")]
    NoText { paths: String },
    /// A name of a text cannot be a file below a folder.
    #[error("`{name}` cannot be the name of a text")]
    Name { name: String },
    /// A file is there already.
    #[error("{path} exists")]
    Exists { path: String },
    /// One file is wanted for several texts.
    #[error("`{path}` is one file, but there are {count}")]
    OneFile { path: String, count: usize },
    /// The server does not write.
    #[error("the server was started with --read-only: it writes no file")]
    ReadOnly,
    /// A file cannot be written, or not be named as it is.
    #[error(transparent)]
    Write(CommandError),
    /// The question has no answer.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// There is nothing of the name.
    #[error("there is no {what} `{name}`")]
    Nothing { what: &'static str, name: String, meant: Option<String> },
    /// There is no policy.
    #[error("there is no policy")]
    NoPolicy { causes: Vec<String> },
    /// There is no test.
    #[error("no kyverno-test.yaml is there")]
    NoTests,
    /// Tests cannot be read or run.
    #[error("{0}")]
    Test(String, Option<String>),
    /// A temporary folder cannot be used.
    #[error("no temporary folder can be created: {0}")]
    Temporary(std::io::Error),
    /// It took too long.
    #[error("it takes longer than {}", seconds(*.0))]
    Late(Duration),
    /// The client does not want the result any more.
    #[error("the call was cancelled")]
    Cancelled,
    /// The tool ended with a fault of the program.
    #[error("the tool ended with a fault of the program")]
    Fault,
}

impl ToolError {
    /// What to write instead, where that is known.
    pub(super) fn hint(&self) -> Option<String> {
        let one_of = |names: &[&str]| format!("there are {}", names.join(", "));
        match self {
            ToolError::UnknownTool { meant: Some(meant), .. }
            | ToolError::UnknownArgument { meant: Some(meant), .. } => {
                Some(format!("did you mean `{meant}`?"))
            }
            ToolError::UnknownTool { tools, .. } => Some(one_of(tools)),
            ToolError::UnknownArgument { known, .. } => Some(one_of(known)),
            ToolError::Missing { form, .. } => Some(format!("it is {form}")),
            ToolError::TooLarge { .. } => Some("name fewer files, or call the tool for each folder".into()),
            ToolError::NoFile { meant, .. } => meant.as_ref().map(|meant| format!("did you mean `{meant}`?")),
            ToolError::NoPath { .. } => {
                Some("addresses and standard input are not read: give the `text`".into())
            }
            ToolError::Name { .. } => Some("a name is a relative path without `..`, such as a/p.yaml".into()),
            ToolError::Exists { .. } => Some("write to another path, or set `overwrite` to true".into()),
            ToolError::OneFile { .. } => Some("name a folder".into()),
            ToolError::Question(QuestionError::Input { hint, .. }) | ToolError::Test(_, hint) => hint.clone(),
            ToolError::NoPolicy { causes } | ToolError::Question(QuestionError::NoPolicy { causes, .. })
                if !causes.is_empty() =>
            {
                Some(causes.join("; "))
            }
            ToolError::Nothing { meant, .. } => meant.as_ref().map(|name| format!("did you mean `{name}`?")),
            ToolError::Late(_) => {
                Some("name fewer files; --time-limit of `ephor mcp` is the longest time".into())
            }
            _ => None,
        }
    }

    /// The text of the error with its hint.
    pub(super) fn text(&self) -> String {
        match self.hint() {
            Some(hint) => format!("error: {self}\nhint: {hint}\n"),
            None => format!("error: {self}\n"),
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs_f64())
}
