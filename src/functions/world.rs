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
    /// Who answers what this one does not.
    fn inner(&self) -> Option<&dyn World> {
        None
    }

    /// An object; null when there is none.
    ///
    /// # Errors
    /// The text of the failure.
    fn get(&self, at: &Place<'_>) -> Result<Value, String> {
        if let Some(inner) = self.inner() {
            return inner.get(at);
        }
        Ok(Value::Null)
    }

    /// Objects, as a list object.
    ///
    /// # Errors
    /// The text of the failure.
    fn list(&self, at: &Place<'_>) -> Result<Value, String> {
        if let Some(inner) = self.inner() {
            return inner.list(at);
        }
        let group = at.api_version.split_once('/').map(|(group, _)| format!(".{group}"));
        Err(format!("{}{} resource not found", at.resource, group.unwrap_or_default()))
    }

    /// Whether labels select the objects of a list; the reference's stand-in for a cluster does not look at them.
    fn selects_by_labels(&self) -> bool {
        self.inner().is_some_and(World::selects_by_labels)
    }

    /// Creates an object and gives what the server answers; `None` = nobody can.
    ///
    /// # Errors
    /// The text of the failure.
    fn post(&self, at: &Place<'_>, body: &Value) -> Option<Result<Value, String>> {
        if let Some(inner) = self.inner() {
            return inner.post(at, body);
        }
        None
    }

    /// Group, version and resource of a kind; `None` = nobody knows kinds.
    ///
    /// # Errors
    /// The text of the failure.
    fn resource_of(&self, api_version: &str, kind: &str) -> Option<Result<[String; 3], String>> {
        if let Some(inner) = self.inner() {
            return inner.resource_of(api_version, kind);
        }
        None
    }

    /// A global context entry or its projection; null when there is none.
    ///
    /// # Errors
    /// The text of the failure.
    fn global(&self, name: &str, projection: &str) -> Result<Value, String> {
        if let Some(inner) = self.inner() {
            return inner.global(name, projection);
        }
        Ok(Value::Null)
    }

    /// What a registry says about an image.
    ///
    /// # Errors
    /// The text of the failure.
    fn image(&self, reference: &str) -> Result<Value, String> {
        if let Some(inner) = self.inner() {
            return inner.image(reference);
        }
        Err(format!("image data for {reference} not found in the context"))
    }

    /// Whether what is said about images may change: registries are asked.
    fn asks_registries(&self) -> bool {
        self.inner().is_none_or(World::asks_registries)
    }

    /// The answer of a service.
    ///
    /// # Errors
    /// The text of the failure.
    fn http(&self, call: &HttpCall<'_>) -> Result<Value, String> {
        if let Some(inner) = self.inner() {
            return inner.http(call);
        }
        Err("no network".into())
    }

    /// The text of a set of keys.
    ///
    /// # Errors
    /// The text of the failure.
    fn keys(&self, url: &str) -> Result<String, String> {
        if let Some(inner) = self.inner() {
            return inner.keys(url);
        }
        Err("no network".into())
    }

    /// Who tells who signed images, for the policies that may ask.
    fn evidence(&self) -> Option<&dyn Evidence> {
        None
    }

    /// Makes objects in a namespace.
    ///
    /// # Errors
    /// The text of the failure.
    fn generate(&self, namespace: &str, objects: Vec<Value>) -> Result<(), String> {
        if let Some(inner) = self.inner() {
            return inner.generate(namespace, objects);
        }
        Ok(())
    }
}

/// What policies about images may ask besides.
pub trait Evidence: Send + Sync {
    /// How many of the attestors have signed an image.
    ///
    /// # Errors
    /// The whole text of the failure.
    fn signatures(&self, image: &str, attestors: &[Value]) -> Result<i64, String>;

    /// How many of the attestors have signed a statement about an image.
    ///
    /// # Errors
    /// The whole text of the failure.
    fn statements(&self, image: &str, statement: &str, attestors: &[Value]) -> Result<i64, String>;

    /// What a registry says about an image.
    ///
    /// # Errors
    /// The whole text of the failure.
    fn data(&self, image: &str) -> Result<Value, String>;

    /// What is stated about an image.
    ///
    /// # Errors
    /// The whole text of the failure.
    fn payload(&self, image: &str, statement: &str) -> Result<Value, String>;
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl World for Nobody {}
