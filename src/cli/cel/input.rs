//! What CEL expressions are evaluated on: flags, documents and variables.

use std::io::Read;

use clap::{ValueEnum, ValueHint};
use ephor_search::cel::Environment;
use ephor_search::document;
use ephor_value::Value;

use crate::cli::CommandError;
use crate::cli::arguments::given;

/// What expressions are evaluated on.
#[derive(Debug, clap::Args)]
pub(super) struct Input {
    /// environment of variables and functions
    #[arg(long, value_name = "NAME", default_value = "kubernetes")]
    pub(super) env: EnvironmentName,
    /// JSON or YAML file with the document: an object, or a map of object, oldObject, params,
    /// request and namespaceObject; `-` is standard input
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) input: Option<String>,
    /// value of a variable; may be repeated
    #[arg(long, short, value_name = "NAME=JSON")]
    pub(super) set: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum EnvironmentName {
    Kubernetes,
    Kyverno,
    Bare,
}

impl From<EnvironmentName> for Environment {
    fn from(known: EnvironmentName) -> Environment {
        match known {
            EnvironmentName::Kubernetes => Environment::Kubernetes,
            EnvironmentName::Kyverno => Environment::Kyverno,
            EnvironmentName::Bare => Environment::Bare,
        }
    }
}

/// The environment and the variables that the flags name.
///
/// # Errors
/// A document that cannot be read, a variable that is none.
pub(super) fn read_input(input: &Input) -> Result<(Environment, Value), CommandError> {
    read_data(input, given(&input.input))
}

/// The same, with the document of a file.
pub(super) fn read_data(
    input: &Input,
    document_file: Option<&str>,
) -> Result<(Environment, Value), CommandError> {
    let environment = Environment::from(input.env);
    let document = match document_file {
        None => Value::Null,
        Some(path) => document(&text_of(path)?).map_err(CommandError::input)?,
    };
    let mut data = environment.data(&document);
    for one in &input.set {
        let (name, json) =
            one.split_once('=').ok_or_else(|| CommandError::NoVariable { text: one.clone() })?;
        let value = document_of(name, json)?;
        if let Value::Map(m) = &mut data {
            m.insert(name, value);
        }
    }
    Ok((environment, data))
}

pub(super) fn document_of(name: &str, json: &str) -> Result<Value, CommandError> {
    document(json).map_err(|cause| CommandError::Variable { name: name.into(), cause: cause.into() })
}

/// The text of a file, or of standard input.
///
/// # Errors
/// It cannot be read.
pub(super) fn text_of(path: &str) -> Result<String, CommandError> {
    if path != "-" {
        return std::fs::read_to_string(path)
            .map_err(|cause| CommandError::File { path: path.into(), cause });
    }
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|cause| CommandError::File { path: "standard input".into(), cause })?;
    Ok(text)
}

/// The only expression among the arguments.
///
/// # Errors
/// There is none, or there are several.
pub(super) fn only(expressions: &[String]) -> Result<&str, CommandError> {
    match expressions {
        [one] => Ok(one),
        [] => Err(CommandError::NoExpressionGiven),
        _ => Err(CommandError::ManyExpressions),
    }
}
