//! `ephor cel`: CEL on the command line.
//!
//! `eval` evaluates an expression on a document, `check` reports what is wrong with it, `repl` is a
//! prompt. Values and types go to standard output, what is wrong to standard error with exit code
//! 1.

mod blame;
mod check;
mod complete;
mod eval;
mod repl;

use std::io::Read;

use ephor_search::cel::{Environment, EvaluationError, Expression, Step};
use ephor_search::document;
use ephor_value::Value;

use clap::{ValueEnum, ValueHint};

use super::prompt::marked;
use super::{Error, given, help, program};

/// Evaluates, checks and explains CEL expressions
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(check::Args),
    Eval(eval::Args),
    Repl(repl::Args),
}

/// What expressions are evaluated on.
#[derive(Debug, clap::Args)]
struct Input {
    /// environment of variables and functions
    #[arg(long, value_name = "NAME", default_value = "kubernetes")]
    env: Known,
    /// JSON or YAML file with the document: an object, or a map of object, oldObject, params,
    /// request and namespaceObject; `-` is standard input
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    input: Option<String>,
    /// value of a variable; may be repeated
    #[arg(long, short, value_name = "NAME=JSON")]
    set: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Known {
    Kubernetes,
    Kyverno,
    Bare,
}

impl From<Known> for Environment {
    fn from(known: Known) -> Environment {
        match known {
            Known::Kubernetes => Environment::Kubernetes,
            Known::Kyverno => Environment::Kyverno,
            Known::Bare => Environment::Bare,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// Those of the command below it.
pub fn run(args: Args) -> Result<i32, Error> {
    match args.command {
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Eval(args)) => eval::run(&args),
        Some(Command::Repl(args)) => repl::run(&args),
        None => {
            help::print(&format!("{} cel", program()));
            Ok(0)
        }
    }
}

/// The environment and the variables that the flags name.
///
/// # Errors
/// A document that cannot be read, a variable that is none.
fn read_input(input: &Input) -> Result<(Environment, Value), Error> {
    read_data(input, given(&input.input))
}

/// The same, with the document of a file.
fn read_data(input: &Input, document_file: Option<&str>) -> Result<(Environment, Value), Error> {
    let environment = Environment::from(input.env);
    let document = match document_file {
        None => Value::Null,
        Some(path) => document(&text_of(path)?).map_err(Error::input)?,
    };
    let mut data = environment.data(&document);
    for one in &input.set {
        let (name, json) = one.split_once('=').ok_or_else(|| Error::NoVariable { text: one.clone() })?;
        let value = document_of(name, json)?;
        if let Value::Map(m) = &mut data {
            m.insert(name, value);
        }
    }
    Ok((environment, data))
}

fn document_of(name: &str, json: &str) -> Result<Value, Error> {
    document(json).map_err(|cause| Error::Variable { name: name.into(), cause: cause.into() })
}

/// The error of an expression without a value, with the place of the part that failed.
fn fault(
    source: &str,
    expression: &Expression,
    environment: Environment,
    data: &Value,
    error: &EvaluationError,
) -> Error {
    let problem = blame::problem(source, expression, environment, data, error);
    Error::expression(format!("{problem}\n{}", marked(source, &problem)).trim_end().to_string())
}

/// The text of a file, or of standard input.
///
/// # Errors
/// It cannot be read.
fn text_of(path: &str) -> Result<String, Error> {
    if path != "-" {
        return std::fs::read_to_string(path).map_err(|cause| Error::File { path: path.into(), cause });
    }
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|cause| Error::File { path: "standard input".into(), cause })?;
    Ok(text)
}

/// The only expression among the arguments.
///
/// # Errors
/// There is none, or there are several.
fn only(expressions: &[String]) -> Result<&str, Error> {
    match expressions {
        [one] => Ok(one),
        [] => Err(Error::NoExpressionGiven),
        _ => Err(Error::ManyExpressions),
    }
}

/// What is printed about an expression in addition to its value.
fn facts(expression: &Expression, cost: Option<u64>) -> String {
    let estimate = expression.estimate();
    let most = if estimate.max == u64::MAX { "unbounded".to_string() } else { estimate.max.to_string() };
    let mut out = format!("type: {}\n", expression.type_name());
    if let Some(cost) = cost {
        out.push_str(&format!("cost: {cost}\n"));
    }
    out.push_str(&format!("estimated cost: {} to {most}\n", estimate.min));
    out
}

/// The longest value that a line of a trace shows.
const WIDEST: usize = 100;

/// The lines of a trace.
fn traced(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        let text = step.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let value = match &step.value {
            Ok(value) if value.chars().count() > WIDEST => {
                format!("= {}…", value.chars().take(WIDEST).collect::<String>())
            }
            Ok(value) => format!("= {value}"),
            Err(text) => format!("! {text}"),
        };
        out.push_str(&format!("{}{text} {value}\n", "  ".repeat(step.depth)));
    }
    out
}
