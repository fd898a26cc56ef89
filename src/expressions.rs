//! JMESPath and CEL for programs: compiled once, evaluated on documents.

use ephor_search::cel;
use ephor_value::Value;

use crate::Error;

pub use ephor_search::cel::Environment;

/// An expression of JMESPath with Kyverno's functions.
///
/// ```
/// let images = ephor::JmesPath::compile("spec.containers[].image")?;
/// let pod = serde_json::json!({"spec": {"containers": [{"image": "nginx"}]}}).into();
/// assert_eq!(serde_json::Value::from(&images.evaluate(&pod)?), serde_json::json!(["nginx"]));
/// # Ok::<(), ephor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct JmesPath(ephor_search::Expression);

impl JmesPath {
    /// Compiles an expression.
    ///
    /// # Errors
    /// It does not parse, or calls a function that there is not: with the byte and what was
    /// probably meant.
    pub fn compile(text: &str) -> Result<JmesPath, Error> {
        ephor_search::Expression::compile(text).map(JmesPath).map_err(failed)
    }

    /// Evaluates it on a document.
    ///
    /// # Errors
    /// A function fails.
    pub fn evaluate(&self, document: &Value) -> Result<Value, Error> {
        self.0.search(document).map_err(failed)
    }
}

fn failed(problem: ephor_search::Problem) -> Error {
    Error::Expression { message: problem.text, offset: problem.offset, help: problem.hint }
}

/// An expression of CEL, checked against an environment.
///
/// ```
/// use ephor::{Cel, Environment};
///
/// let tagged = Cel::compile("object.spec.containers.all(c, c.image.contains(':'))", Environment::Kubernetes)?;
/// let pod = serde_json::json!({"spec": {"containers": [{"image": "nginx"}]}}).into();
/// assert_eq!(tagged.evaluate(&pod)?.as_bool(), Some(false));
/// # Ok::<(), ephor::Error>(())
/// ```
pub struct Cel {
    expression: cel::CelExpression,
    environment: Environment,
}

impl Cel {
    /// Compiles an expression. In [`Environment::Bare`] the keys of the document are variables, and
    /// none is known here.
    ///
    /// # Errors
    /// It does not parse or check: the issues in the words of cel-go, each with its line and a
    /// caret.
    pub fn compile(text: &str, environment: Environment) -> Result<Cel, Error> {
        let data = environment.data(&Value::Null);
        let expression = cel::CelExpression::compile(text, environment, &data);
        let expression = expression.map_err(|error| cel_failed(&error))?;
        Ok(Cel { expression, environment })
    }

    /// The name of its type, `bool` or `list(string)`.
    pub fn type_name(&self) -> String {
        self.expression.type_name()
    }

    /// Evaluates it on a document: an object is `object`, a map of `object`, `oldObject`, `params`,
    /// `request` and `namespaceObject` has these variables.
    ///
    /// # Errors
    /// The evaluation fails, or costs more than the API server allows for an expression.
    pub fn evaluate(&self, document: &Value) -> Result<Value, Error> {
        let outcome = self.expression.evaluate(&self.environment.data(document));
        outcome.value.map_err(|error| cel_failed(&error))
    }
}

fn cel_failed(error: &dyn std::error::Error) -> Error {
    Error::Expression { message: error.to_string(), offset: None, help: None }
}
