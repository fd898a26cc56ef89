//! `ephor cel repl`: a prompt on a document.
//!
//! History and editing are `rustyline`'s. Where standard input is no terminal the lines are read from it
//! without a prompt.

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use ephor_search::cel::{Environment, Expression};
use ephor_value::Value;

use super::super::Page;
use super::super::flags::{self, Flag};

const FLAGS: &[Flag] = &[super::ENV, super::INPUT, super::SET];

const ABOUT: &str =
    "Evaluates CEL expressions on a document as they are typed. `:help` shows what else there is.";

const EXAMPLES: &str = "  # evaluate expressions on a manifest\n  ephor cel repl -i pod.yaml\n";

pub(in crate::cli) const PAGE: Page =
    Page { name: "cel repl", arguments: "", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

const HELP: &str = "\
An expression is evaluated on the document. Lines that begin with a colon are for the prompt:
  :type EXPRESSION   show its type and what it costs
  :trace EXPRESSION  show the value of every part
  :set NAME=JSON     give a variable a value
  :load FILE         load another document
  :help              show this text
  :quit              leave, as Ctrl+D does
";

/// Runs the command.
///
/// # Errors
/// Bad flags, a document that cannot be read, a terminal that cannot be used.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if super::helped(&parsed, &PAGE) {
        return Ok(0);
    }
    let (environment, data) = super::read_input(&parsed)?;
    let mut session = Session { environment, data };
    let mut editor = DefaultEditor::new().map_err(|e| e.to_string())?;
    loop {
        let line = match editor.readline("cel> ") {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(0),
            Err(other) => return Err(other.to_string()),
        };
        let _ = editor.add_history_entry(&line);
        match session.answer(line.trim()) {
            Some(Ok(text)) => super::super::print(&text),
            Some(Err(text)) => eprintln!("{text}"),
            None => return Ok(0),
        }
    }
}

/// The state between two lines.
struct Session {
    environment: Environment,
    data: Value,
}

impl Session {
    /// What to show for a line; `None` when the user leaves.
    fn answer(&mut self, line: &str) -> Option<Result<String, String>> {
        let Some(command) = line.strip_prefix(':') else {
            return Some(if line.is_empty() { Ok(String::new()) } else { self.evaluate(line) });
        };
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim();
        Some(match name {
            "quit" | "q" | "exit" => return None,
            "help" | "h" => Ok(HELP.into()),
            "type" | "t" => self.compiled(rest).map(|e| super::facts(&e, Some(e.evaluate(&self.data).cost))),
            "trace" => self.compiled(rest).map(|e| super::traced(&e.trace(&self.data))),
            "load" => super::text_of(rest).and_then(|text| ephor_search::document(&text)).map(|document| {
                self.data = self.environment.data(&document);
                String::new()
            }),
            "set" => self.set(rest),
            other => Err(format!("no command `:{other}`; `:help` shows all")),
        })
    }

    fn compiled(&self, source: &str) -> Result<Expression, String> {
        Expression::compile(source, self.environment, &self.data)
    }

    fn evaluate(&self, source: &str) -> Result<String, String> {
        let value = self.compiled(source)?.evaluate(&self.data).to_text()?;
        Ok(format!("{value}\n"))
    }

    fn set(&mut self, text: &str) -> Result<String, String> {
        let (name, json) = text.split_once('=').ok_or("expected NAME=JSON")?;
        let value = super::document_of(name.trim(), json.trim())?;
        if let Value::Map(m) = &mut self.data {
            m.insert(name.trim(), value);
        }
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        let document = ephor_search::document("{spec: {ports: [80, 443]}}").unwrap();
        Session { environment: Environment::Kubernetes, data: Environment::Kubernetes.data(&document) }
    }

    #[test]
    fn a_line_is_answered_with_its_value() {
        let mut s = session();
        assert_eq!(s.answer("object.spec.ports.map(p, p + 1)"), Some(Ok("[81, 444]\n".into())));
        assert_eq!(s.answer(""), Some(Ok(String::new())));
        assert_eq!(s.answer(":quit"), None);
    }

    #[test]
    fn variables_are_set_and_errors_are_returned() {
        let mut s = session();
        assert_eq!(s.answer(":set params={\"a\": 1}"), Some(Ok(String::new())));
        assert_eq!(s.answer("params.a"), Some(Ok("1\n".into())));
        assert_eq!(s.answer("object.nope"), Some(Err("no such key: nope".into())));
        assert!(s.answer(":what").unwrap().unwrap_err().contains(":help"));
    }

    #[test]
    fn a_type_is_printed_with_its_cost() {
        let shown = session().answer(":type object.spec.ports.size() > 1").unwrap().unwrap();
        assert_eq!(shown, "type: bool\ncost: 5\nestimated cost: 3 to 3\n");
    }
}
