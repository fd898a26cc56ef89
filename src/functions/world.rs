//! What functions of expressions may ask of the world: objects of a cluster, services, registries.
//!
//! The engine's user decides who answers; without anybody every question has the answer that the
//! reference gives without a cluster. Semantics: `docs/cel.md`, "Kyverno's functions".

use crate::value::Value;

/// Which objects a question is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// Group and version.
    pub api_version: &'a str,
    /// The resource, with its subresource if any: `pods`, `pods/log`.
    pub resource: &'a str,
    /// The namespace; empty for objects without one.
    pub namespace: &'a str,
    /// The name; empty for all.
    pub name: &'a str,
}

/// A request to a service.
#[derive(Clone, Debug)]
pub struct HttpCall<'a> {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Where to.
    pub url: &'a str,
    /// What is sent with a `POST`.
    pub body: Option<Value>,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// PEM certificates to trust; empty = those of the system.
    pub ca_bundle: &'a str,
}

/// See the module page. All failures are the text that follows the function's own words.
pub trait World: Send + Sync {
    /// An object; null when there is none.
    ///
    /// # Errors
    /// The text of the failure.
    fn get(&self, _at: &Place<'_>) -> Result<Value, String> {
        Ok(Value::Null)
    }

    /// Objects, as a list object.
    ///
    /// # Errors
    /// The text of the failure.
    fn list(&self, at: &Place<'_>) -> Result<Value, String> {
        let group = at.api_version.split_once('/').map(|(group, _)| format!(".{group}"));
        Err(format!("{}{} resource not found", at.resource, group.unwrap_or_default()))
    }

    /// Creates an object and gives what the server answers; `None` = nobody can.
    ///
    /// # Errors
    /// The text of the failure.
    fn post(&self, _at: &Place<'_>, _body: &Value) -> Option<Result<Value, String>> {
        None
    }

    /// Group, version and resource of a kind; `None` = nobody knows kinds.
    ///
    /// # Errors
    /// The text of the failure.
    fn resource_of(&self, _api_version: &str, _kind: &str) -> Option<Result<[String; 3], String>> {
        None
    }

    /// A global context entry or its projection; null when there is none.
    ///
    /// # Errors
    /// The text of the failure.
    fn global(&self, _name: &str, _projection: &str) -> Result<Value, String> {
        Ok(Value::Null)
    }

    /// What a registry says about an image.
    ///
    /// # Errors
    /// The text of the failure.
    fn image(&self, reference: &str) -> Result<Value, String> {
        Err(format!("image data for {reference} not found in the context"))
    }

    /// The answer of a service.
    ///
    /// # Errors
    /// The text of the failure.
    fn http(&self, _call: &HttpCall<'_>) -> Result<Value, String> {
        Err("no network".into())
    }

    /// Makes objects in a namespace.
    ///
    /// # Errors
    /// The text of the failure.
    fn generate(&self, _namespace: &str, _objects: Vec<Value>) -> Result<(), String> {
        Ok(())
    }
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl World for Nobody {}
