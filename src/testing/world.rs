//! The world of a test: objects of a cluster, answers to calls, global context entries.
//!
//! In: what the test file says. Out: a source of data for rules. Only a test with objects of a cluster
//! answers questions to the Kubernetes API; calls of services that no answer is given for are made.
//! Semantics: `docs/test.md`, "Data of rules".

use std::collections::HashMap;
use std::sync::Arc;

use crate::kubernetes::Types;
use crate::sources::offline::Offline;
use crate::sources::registry::Registry;
use crate::sources::{Call, Sources, context};
use crate::value::Value;

use super::mocks::{Answer, Global};

/// See the module page.
#[derive(Debug, Default)]
pub struct World {
    /// All objects: those of the cluster only where there is one.
    pub offline: Offline,
    /// Whether the Kubernetes API answers.
    pub cluster: bool,
    /// Objects that rules copy.
    pub clone_sources: Vec<Value>,
    /// Answers by `METHOD:url` or `url`.
    pub answers: HashMap<String, Answer>,
    /// Global context entries.
    pub globals: Vec<Global>,
    /// The context file.
    pub context: context::Context,
}

impl Sources for World {
    fn types(&self) -> Option<&Types> {
        self.offline.types()
    }

    fn config_map(&self, namespace: &str, name: &str) -> Option<Result<Value, String>> {
        if !self.cluster {
            return None;
        }
        let found = self.offline.objects.iter().find(|o| {
            o.text_at(&["kind"]) == "ConfigMap"
                && o.text_at(&["metadata", "namespace"]) == namespace
                && o.text_at(&["metadata", "name"]) == name
        });
        Some(found.cloned().ok_or_else(|| format!("configmaps \"{name}\" not found")))
    }

    fn reaches_api(&self) -> bool {
        self.cluster || !self.answers.is_empty()
    }

    fn call(&self, call: &Call) -> Option<Result<Value, String>> {
        let place = if call.url_path.is_empty() { &call.url } else { &call.url_path };
        let answer = self
            .answers
            .get(&format!("{}:{place}", call.method.to_uppercase()))
            .or_else(|| self.answers.get(place));
        if let Some(answer) = answer {
            return Some(answer.for_entry(&call.entry));
        }
        if !call.url_path.is_empty() && !self.cluster {
            return None;
        }
        self.offline.call(call)
    }

    fn global(&self, entry: &str, projection: &str) -> Option<Result<Value, String>> {
        let found = self.globals.iter().find(|g| g.name == entry)?;
        Some(found.projection(projection))
    }

    fn objects(&self) -> &[Value] {
        &self.offline.objects
    }

    fn registry(&self) -> Option<&Arc<dyn Registry>> {
        self.offline.registry.as_ref()
    }

    fn clone_sources(&self) -> &[Value] {
        &self.clone_sources
    }
}

impl World {
    /// What expressions may ask: the objects and images of the context file, the answers and entries of
    /// the test.
    pub fn for_expressions(&self) -> context::Context {
        context::Context {
            globals: self.globals.iter().map(Global::entry).collect(),
            answers: self.answers.values().map(Answer::for_expressions).collect(),
            registry: self.offline.registry.clone(),
            ..self.context.clone()
        }
    }
}
