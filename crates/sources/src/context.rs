//! Context files: the objects and image data that expressions read without a cluster.
//!
//! In: a `Context` document. Out: objects, found by exactly what is looked up; labels are ignored,
//! as in Kyverno 1.19.1. Semantics: `docs/semantics/cel-policies.md`, "Context files".
use ephor_external::Place;
use ephor_kubernetes::Kinds;
use ephor_kubernetes::kinds::guessed_plural;
use ephor_value::{Map, Str, Value};

/// See the module page.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Objects of a cluster.
    pub resources: Vec<Value>,
    /// Facts about images: objects with the key `image`.
    pub images: Vec<Value>,
}

/// Why a context file cannot be used, in Kyverno's words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContextFileError {
    /// It cannot be read.
    #[error("open {path}: {}", super::files::reason(.cause))]
    File {
        /// Its path.
        path: Box<str>,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// It is no YAML, in the words of its decoder.
    #[error("error converting YAML to JSON: {0}")]
    Yaml(Box<str>),
    /// A field that is not known.
    #[error("error unmarshaling JSON: while decoding JSON: json: unknown field \"{0}\"")]
    UnknownField(Box<str>),
}

/// Reads a context file.
///
/// # Errors
/// It cannot be read, or is no `Context` document.
pub fn read(path: &str) -> Result<Context, ContextFileError> {
    let text =
        std::fs::read_to_string(path).map_err(|cause| ContextFileError::File { path: path.into(), cause })?;
    let document = ephor_document::yaml_value(&text)
        .map_err(|error| ContextFileError::Yaml(error.to_string().into()))?;
    Context::of(&document)
}

impl Context {
    /// Reads a `Context` document.
    ///
    /// # Errors
    /// It is of another kind, or has fields that are not known.
    pub fn of(document: &Value) -> Result<Context, ContextFileError> {
        let spec = document.get("spec").unwrap_or(&Value::Null);
        for (at, known) in [
            (document, &["apiVersion", "kind", "metadata", "spec"][..]),
            (spec, &["resources", "images"][..]),
        ] {
            let unknown = at.as_map().into_iter().flat_map(Map::iter).find(|(k, _)| !known.contains(&&***k));
            if let Some((key, _)) = unknown {
                return Err(ContextFileError::UnknownField((&**key).into()));
            }
        }
        let list = |key: &str| spec.get(key).and_then(Value::as_list).unwrap_or_default().to_vec();
        Ok(Context { resources: list("resources"), images: list("images") })
    }

    /// An object, or the list of those of a resource in a namespace; `None` = there is none of the
    /// resource in any.
    pub fn find(&self, at: &Place<'_>) -> Option<Value> {
        let is_of = |o: &&Value| {
            o.text_at(&["apiVersion"]) == at.api_version
                && plural(at.api_version, o.text_at(&["kind"])) == at.resource
        };
        let mut found = self.resources.iter().filter(is_of).peekable();
        found.peek()?;
        let mut here = found.filter(|o| o.text_at(&["metadata", "namespace"]) == at.namespace);
        if !at.name.is_empty() {
            return Some(here.find(|o| o.text_at(&["metadata", "name"]) == at.name)?.with_whole_numbers());
        }
        let items = Value::list(here.map(Value::with_whole_numbers).collect());
        Some(Value::Map([(Str::from("items"), items)].into_iter().collect()))
    }

    /// The data of an image.
    pub fn image(&self, reference: &str) -> Option<Value> {
        let known = self.images.iter().find(|i| i.text_at(&["image"]) == reference);
        known.map(Value::with_float_numbers)
    }
}

fn plural(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    match Kinds::built_in().kind(group, version, kind) {
        Some(known) => known.plural.to_string(),
        None => guessed_plural(kind),
    }
}
