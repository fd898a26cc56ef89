//! The world of a context file: objects, image facts, global data and answers that are given beforehand.
//!
//! In: the lists of a `Context` document or of a test. Out: a [`World`]. Objects are found by exactly what is
//! asked for; label arguments are not looked at, as in the reference. What no answer is given for goes to the
//! network. Semantics: `docs/cel-policies.md`, "Context files".

use std::sync::Arc;

use crate::document;
use crate::functions::world::{HttpCall, Place, World};
use crate::kubernetes::Kinds;
use crate::kubernetes::kinds::guessed_plural;
use crate::value::{Map, Str, Value};

use super::http::client;
use super::registry::{Registry, facts};
use super::service;

/// See the module page.
#[derive(Clone, Default)]
pub struct Context {
    /// Objects of a cluster.
    pub resources: Vec<Value>,
    /// Facts about images: objects with the key `image`.
    pub images: Vec<Value>,
    /// Global entries by name; a projection is a key of the entry.
    pub globals: Map,
    /// Answers of services.
    pub answers: Vec<Answer>,
    /// Who tells facts about other images; `None` = nobody may be asked.
    pub registry: Option<Arc<dyn Registry>>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("resources", &self.resources.len()).finish_non_exhaustive()
    }
}

/// An answer that is given beforehand.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The method; empty = any.
    pub method: String,
    /// The URL, exactly.
    pub url: String,
    /// The status; 0 = 200.
    pub status: i64,
    /// The body.
    pub body: Value,
}

/// Reads a context file.
///
/// # Errors
/// The reference's text.
pub fn read(path: &str) -> Result<Context, String> {
    let text =
        std::fs::read_to_string(path).map_err(|e| format!("open {path}: {}", super::files::reason(&e)))?;
    let document = document::yaml_value(&text).map_err(|e| format!("error converting YAML to JSON: {e}"))?;
    Context::of(&document)
}

impl Context {
    /// Reads a `Context` document.
    ///
    /// # Errors
    /// It is of another kind, or has fields that are not known.
    pub fn of(document: &Value) -> Result<Context, String> {
        let spec = document.get("spec").unwrap_or(&Value::Null);
        for (at, known) in [
            (document, &["apiVersion", "kind", "metadata", "spec"][..]),
            (spec, &["resources", "images"][..]),
        ] {
            let unknown = at.as_map().into_iter().flat_map(Map::iter).find(|(k, _)| !known.contains(&&***k));
            if let Some((key, _)) = unknown {
                return Err(format!(
                    "error unmarshaling JSON: while decoding JSON: json: unknown field \"{key}\""
                ));
            }
        }
        let list = |key: &str| spec.get(key).and_then(Value::as_list).unwrap_or_default().to_vec();
        Ok(Context { resources: list("resources"), images: list("images"), ..Context::default() })
    }

    /// The objects of a resource; `None` when there is none in any namespace.
    fn of_resource<'c>(&'c self, at: &'c Place<'_>) -> Option<Vec<&'c Value>> {
        let found: Vec<&Value> = self
            .resources
            .iter()
            .filter(|o| {
                o.text_at(&["apiVersion"]) == at.api_version
                    && plural(at.api_version, o.text_at(&["kind"])) == at.resource
            })
            .collect();
        (!found.is_empty()).then_some(found)
    }
}

fn plural(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    match Kinds::built_in().kind(group, version, kind) {
        Some(known) => known.plural.to_string(),
        None => guessed_plural(kind),
    }
}

impl World for Context {
    fn get(&self, at: &Place<'_>) -> Result<Value, String> {
        let found = self.of_resource(at).unwrap_or_default().into_iter().find(|o| {
            o.text_at(&["metadata", "name"]) == at.name
                && o.text_at(&["metadata", "namespace"]) == at.namespace
        });
        Ok(found.map(Value::with_whole_numbers).unwrap_or_default())
    }

    fn list(&self, at: &Place<'_>) -> Result<Value, String> {
        let Some(all) = self.of_resource(at) else {
            let group = at.api_version.split_once('/').map(|(group, _)| format!(".{group}"));
            return Err(format!("{}{} resource not found", at.resource, group.unwrap_or_default()));
        };
        let items = all
            .into_iter()
            .filter(|o| o.text_at(&["metadata", "namespace"]) == at.namespace)
            .map(Value::with_whole_numbers)
            .collect();
        Ok(Value::Map([(Str::from("items"), Value::list(items))].into_iter().collect()))
    }

    fn global(&self, name: &str, projection: &str) -> Result<Value, String> {
        let Some(entry) = self.globals.get(name) else { return Ok(Value::Null) };
        if projection.is_empty() {
            return Ok(entry.clone());
        }
        entry.get(projection).cloned().ok_or_else(|| {
            format!("projection \"{projection}\" not found in global context entry \"{name}\"")
        })
    }

    fn asks_registries(&self) -> bool {
        self.registry.is_some()
    }

    fn image(&self, reference: &str) -> Result<Value, String> {
        let known = self.images.iter().find(|i| i.text_at(&["image"]) == reference);
        match (known, &self.registry) {
            (Some(known), _) => Ok(known.with_float_numbers()),
            (None, Some(registry)) => facts::for_expressions(&**registry, reference).map_err(|f| f.text),
            (None, None) => Err(format!("image data for {reference} not found in the context")),
        }
    }

    fn http(&self, call: &HttpCall<'_>) -> Result<Value, String> {
        let given = self
            .answers
            .iter()
            .find(|a| a.url == call.url && a.method.eq_ignore_ascii_case(call.method))
            .or_else(|| self.answers.iter().find(|a| a.url == call.url && a.method.is_empty()));
        if let Some(answer) = given {
            let status = if answer.status == 0 { 200 } else { answer.status };
            let entries = [("body", answer.body.clone()), ("statusCode", Value::Int(status))];
            return Ok(Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), v)).collect()));
        }
        service::call(call, client())
    }

    fn keys(&self, url: &str) -> Result<String, String> {
        service::key_set(url, client())
    }
}
