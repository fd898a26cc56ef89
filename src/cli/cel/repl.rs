//! `ephor cel repl`: a prompt on a document.
//!
//! The prompt is [`crate::cli::prompt`]'s, what Tab offers [`super::complete`]'s.

use std::io::IsTerminal;

use ephor_search::cel::{CelExpression, Environment};
use ephor_value::Value;

use super::super::CommandError;
use super::super::prompt::{self, Answer};
use crate::cli::arguments::given;
use crate::cli::cel::input;
use crate::cli::cel::input::Input;
use crate::cli::cel::output;
use ephor_editor::complete::cel::candidates;

/// Evaluates CEL expressions on a document as they are typed
///
/// Tab completes keys of the document and functions, `:help` shows what else there is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # evaluate expressions on a manifest
  ephor cel repl pod.yaml")]
pub struct CelReplArgs {
    /// JSON or YAML file with the document; `-`, standard input, only at a terminal, as lines
    /// follow it
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    document: Vec<String>,
    #[command(flatten)]
    input: Input,
    /// history file instead of $XDG_STATE_HOME/ephor/cel_history
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    history: Option<String>,
}

const HELP: &str = "\
An expression is evaluated on the document. Lines that begin with a colon are for the prompt:
  :type EXPRESSION   show its type and what it costs
  :trace EXPRESSION  show the value of every part
  :set NAME=JSON     give a variable a value
  :load FILE         load another document
  :help              show this text
  :quit              leave, as Ctrl+D does
Tab completes keys of the document and functions.
";

/// Runs the command.
///
/// # Errors
/// A document that cannot be read, one for which all of standard input was read, a terminal that
/// cannot be used.
pub fn run(args: &CelReplArgs) -> Result<i32, CommandError> {
    let path = match (given(&args.input.input), &args.document[..]) {
        (None, [path]) => Some(path.as_str()),
        (path, []) => path,
        _ => return Err(CommandError::Documents),
    };
    let (environment, data) = input::read_data(&args.input, path)?;
    // At a terminal, lines may follow the end of the document.
    if path == Some("-") && !std::io::stdin().is_terminal() {
        return Err(CommandError::NoLines);
    }
    let session = CelSession { environment, data };
    prompt::run("cel> ", session, prompt::history("cel_history", given(&args.history)))?;
    Ok(0)
}

/// The state between two lines.
struct CelSession {
    environment: Environment,
    data: Value,
}

impl prompt::PromptSession for CelSession {
    fn answer(&mut self, line: &str) -> Answer {
        let line = line.trim();
        let result = match line.strip_prefix(':') {
            None if line.is_empty() => Ok(String::new()),
            None => self.evaluate(line),
            Some(command) => {
                let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
                match name {
                    "quit" | "q" | "exit" => return Answer::Quit,
                    name => self.command(name, rest.trim()),
                }
            }
        };
        match result {
            Ok(text) => Answer::Out(text),
            Err(error) => Answer::Err(format!("{}\n", error.to_string().trim_end())),
        }
    }

    fn candidates(&self, line: &str) -> (usize, Vec<String>) {
        candidates(line, self.environment, &self.data)
    }
}

impl CelSession {
    fn command(&mut self, name: &str, rest: &str) -> Result<String, CommandError> {
        match name {
            "help" | "h" => Ok(HELP.into()),
            "type" | "t" | "trace" if rest.is_empty() => {
                Err(CommandError::NoPromptExpression { name: name.into() })
            }
            "type" | "t" => self.compiled(rest).map(|e| output::facts(&e, Some(e.evaluate(&self.data).cost))),
            "trace" => self.compiled(rest).map(|e| output::traced(&e.trace(&self.data))),
            "load" => {
                let document = ephor_search::document(&input::text_of(rest)?).map_err(CommandError::input)?;
                self.data = self.environment.data(&document);
                Ok(String::new())
            }
            "set" => self.set(rest),
            other => Err(CommandError::NoPromptCommand { name: other.into() }),
        }
    }

    fn compiled(&self, source: &str) -> Result<CelExpression, CommandError> {
        CelExpression::compile(source, self.environment, &self.data).map_err(CommandError::expression)
    }

    fn evaluate(&self, source: &str) -> Result<String, CommandError> {
        let expression = self.compiled(source)?;
        let value = expression.evaluate(&self.data).to_text();
        let value = value
            .map_err(|error| output::fault(source, &expression, self.environment, &self.data, &error))?;
        Ok(format!("{value}\n"))
    }

    fn set(&mut self, text: &str) -> Result<String, CommandError> {
        let (name, json) =
            text.split_once('=').ok_or_else(|| CommandError::NoVariable { text: text.into() })?;
        let value = input::document_of(name.trim(), json.trim())?;
        if let Value::Map(m) = &mut self.data {
            m.insert(name.trim(), value);
        }
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::prompt::PromptSession as _;

    fn session() -> CelSession {
        let document = ephor_search::document("{spec: {ports: [80, 443]}}").unwrap();
        CelSession { environment: Environment::Kubernetes, data: Environment::Kubernetes.data(&document) }
    }

    #[test]
    fn a_line_is_answered_with_its_value() {
        let mut s = session();
        assert_eq!(s.answer("object.spec.ports.map(p, p + 1)"), Answer::Out("[81, 444]\n".into()));
        assert_eq!(s.answer(""), Answer::Out(String::new()));
        assert_eq!(s.answer(":quit"), Answer::Quit);
    }

    #[test]
    fn variables_are_set_and_errors_are_returned() {
        let mut s = session();
        assert_eq!(s.answer(":set params={\"a\": 1}"), Answer::Out(String::new()));
        assert_eq!(s.answer("params.a"), Answer::Out("1\n".into()));
        let expected = "no such key: nope\n  ┌ expression:1:8\n  │ object.nope\n  │        ^\n";
        assert_eq!(s.answer("object.nope"), Answer::Err(expected.into()));
        assert!(matches!(s.answer(":what"), Answer::Err(text) if text.contains(":help")));
    }

    #[test]
    fn a_misspelt_key_has_a_caret_and_the_key_that_was_meant() {
        let expected = "no such key: prots\n  ┌ expression:1:13\n  │ object.spec.prots.size() > 1\n  │             ^ did you mean `ports`?\n";
        assert_eq!(session().answer("object.spec.prots.size() > 1"), Answer::Err(expected.into()));
    }

    #[test]
    fn a_type_is_printed_with_its_cost() {
        let shown = "type: bool\ncost: 5\nestimated cost: 3 to 3\n";
        assert_eq!(session().answer(":type object.spec.ports.size() > 1"), Answer::Out(shown.into()));
    }
}
