//! A session of `jp repl`: a document, and an answer to each line.
//!
//! In: lines. Out: what to show for each. Nothing here knows of terminals.

use ephor_functions::page;
use ephor_search::Expression;
use ephor_search::meant::with_meant_key;
use ephor_value::Value;

use crate::cli::jp::input;
use crate::cli::jp::output;
use crate::cli::prompt::marked;
use crate::cli::prompt::{self, Answer};
use ephor_editor::complete::jmespath::candidates;

/// What the session shows for `:help`.
pub const HELP: &str = "\
An expression is evaluated on the document. Lines that begin with a colon are for the prompt:
  :load FILE        load another document
  :compact          print results on one line, or no more
  :unquoted         print texts without quotes, or with them again
  :parse EXPRESSION show the syntax tree
  :ir EXPRESSION    show what the engine runs
  :function NAME    show a function with examples
  :help             show this text
  :quit             leave, as Ctrl+D does
Tab completes names of functions and keys of the document.
";

/// The state between two lines.
pub struct JpSession {
    document: Value,
    compact: bool,
    unquoted: bool,
}

impl JpSession {
    /// A session on a document.
    pub fn new(document: Value, compact: bool, unquoted: bool) -> JpSession {
        JpSession { document, compact, unquoted }
    }

    fn evaluate(&mut self, text: &str) -> Answer {
        let result = Expression::compile(text).and_then(|e| e.search_in(&mut self.document));
        let value = match result {
            Ok(value) => value,
            Err(problem) => {
                let problem = with_meant_key(problem, &self.document);
                return Answer::Err(format!("{problem}\n{}", marked(text, &problem)));
            }
        };
        match output::render(&value, self.compact, self.unquoted) {
            Ok(text) => Answer::Out(format!("{text}\n")),
            Err(text) => Answer::Err(format!("{text}\n")),
        }
    }
}

impl prompt::PromptSession for JpSession {
    fn answer(&mut self, line: &str) -> Answer {
        let line = line.trim();
        let Some(command) = line.strip_prefix(':') else {
            return match line {
                "" => Answer::Out(String::new()),
                expression => self.evaluate(expression),
            };
        };
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        match (name, rest.trim()) {
            ("quit" | "q" | "exit", _) => Answer::Quit,
            ("help" | "h", _) => Answer::Out(HELP.into()),
            ("load", path) => match input::file(path).and_then(|text| input::document(&text)) {
                Ok(document) => {
                    self.document = document;
                    Answer::Out(String::new())
                }
                Err(text) => Answer::Err(format!("{text}\n")),
            },
            ("compact", _) => toggled("compact", &mut self.compact),
            ("unquoted", _) => toggled("unquoted", &mut self.unquoted),
            ("parse", text) => compiled(text, |e| e.ast().tree()),
            ("ir", text) => compiled(text, super::parse::ir),
            ("function" | "f", name) => match ephor_functions::find(name) {
                Some(f) => Answer::Out(page::entry(f, true)),
                None => Answer::Err(format!("{}\n", super::function::unknown(name))),
            },
            (other, _) => Answer::Err(format!("no command `:{other}`; `:help` shows all\n")),
        }
    }

    fn candidates(&self, line: &str) -> (usize, Vec<String>) {
        candidates(line, &self.document)
    }
}

fn toggled(name: &str, switch: &mut bool) -> Answer {
    *switch = !*switch;
    Answer::Out(format!("{name}: {}\n", if *switch { "on" } else { "off" }))
}

fn compiled(text: &str, show: impl Fn(&Expression) -> String) -> Answer {
    match Expression::compile(text) {
        Ok(expression) => Answer::Out(show(&expression)),
        Err(problem) => Answer::Err(format!("{problem}\n{}", marked(text, &problem))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::prompt::PromptSession as _;

    fn session() -> JpSession {
        JpSession::new(ephor_search::read("spec: {name: web, ports: [80, 443]}").unwrap(), false, false)
    }

    fn out(answer: Answer) -> String {
        match answer {
            Answer::Out(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_expression_is_answered_with_its_result() {
        let mut s = session();
        assert_eq!(out(s.answer("spec.ports")), "[\n  80,\n  443\n]\n");
        assert_eq!(out(s.answer(":compact")), "compact: on\n");
        assert_eq!(out(s.answer("spec.ports")), "[80,443]\n");
        assert_eq!(out(s.answer(":unquoted")), "unquoted: on\n");
        assert_eq!(out(s.answer(" spec.name ")), "web\n");
        assert_eq!(out(s.answer("   ")), "");
    }

    #[test]
    fn an_error_has_a_caret_under_the_place() {
        let expected =
            "SyntaxError: Expected tStar, received: tEOF\n  ┌ expression:1:6\n  │ spec[\n  │      ^\n";
        assert_eq!(session().answer("spec["), Answer::Err(expected.into()));
        let expected = "unknown function: lenght\n  ┌ expression:1:8\n  │ spec | lenght(@)\n  │        ^ did you mean `length`?\n";
        assert_eq!(session().answer("spec | lenght(@)"), Answer::Err(expected.into()));
    }

    #[test]
    fn an_unknown_key_comes_with_the_one_that_was_meant() {
        let expected = "Unknown key \"prots\" in path\n  ┌ expression:1:6\n  │ spec.prots[0].name\n  │      ^ did you mean `ports`?\n";
        assert_eq!(session().answer("spec.prots[0].name"), Answer::Err(expected.into()));
    }

    #[test]
    fn colons_begin_commands_for_the_prompt() {
        let mut s = session();
        assert!(out(s.answer(":function truncate")).contains("Signature: truncate(string, number) string"));
        assert!(out(s.answer(":parse a.b")).starts_with("ASTSubexpression {"));
        assert!(out(s.answer(":ir a.b")).contains("root.a.b"));
        assert_eq!(out(s.answer(":help")), HELP);
        assert_eq!(
            s.answer(":function truncat"),
            Answer::Err("no function `truncat`; did you mean `truncate`?\n".into())
        );
        assert_eq!(s.answer(":bogus"), Answer::Err("no command `:bogus`; `:help` shows all\n".into()));
        assert!(matches!(s.answer(":load nowhere.yaml"), Answer::Err(text) if text.contains("no such file")));
        assert_eq!(s.answer(":quit"), Answer::Quit);
    }
}
