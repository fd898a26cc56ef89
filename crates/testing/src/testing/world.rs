//! The external data of a test: objects of a cluster, answers to calls, global context entries.
//!
//! In: the test file. Out: external data. Only a test with objects of a cluster answers calls of
//! the Kubernetes API; calls of services without a mock are executed. Semantics:
//! `docs/reference/test.md`, "Data of rules".

use std::collections::HashMap;

use ephor_external::{
    Address, Answer as Form, ApiError, ApiRequest, ExternalData, Found, Reader, ServiceCall,
};
use ephor_sources::offline::Offline;
use ephor_value::Value;

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
}

impl World {
    /// The answer to a call of a URL or a path.
    fn answer(&self, method: &str, place: &str) -> Option<&Answer> {
        self.answers.get(&format!("{method}:{place}")).or_else(|| self.answers.get(place))
    }
}

impl ExternalData for World {
    fn inner(&self) -> Option<&dyn ExternalData> {
        Some(&self.offline)
    }

    fn config_map(&self, namespace: &str, name: &str) -> Found {
        if !self.cluster {
            return None;
        }
        let found = self.offline.objects.iter().find(|o| {
            o.text_at(&["kind"]) == "ConfigMap"
                && o.text_at(&["metadata", "namespace"]) == namespace
                && o.text_at(&["metadata", "name"]) == name
        });
        Some(found.cloned().ok_or_else(|| format!("configmaps \"{name}\" not found").into()))
    }

    fn reaches_api(&self) -> bool {
        self.cluster || !self.answers.is_empty()
    }

    fn api(&self, request: &ApiRequest<'_>) -> Found<ApiError> {
        let Address::Path { path, entry } = request.at else { return self.offline.api(request) };
        let method = if request.body.is_some() { "POST" } else { "GET" };
        match self.answer(method, path) {
            Some(answer) => Some(answer.for_entry(entry).map_err(|error| ApiError::from(error.to_string()))),
            None if self.cluster => self.offline.api(request),
            None => None,
        }
    }

    fn service(&self, call: &ServiceCall<'_>) -> Found {
        let known = || self.answer(call.method(), call.url);
        match call.answer {
            Form::Json(Reader::Entry(entry)) => {
                known().map(|answer| answer.for_entry(entry).map_err(Into::into))
            }
            Form::Json(Reader::Expression) => known().map(|answer| Ok(answer.for_expression())),
            Form::KeySet => None,
        }
        .or_else(|| self.offline.service(call))
    }

    fn global(&self, entry: &str, projection: &str, by: Reader<'_>) -> Found {
        let found = self.globals.iter().find(|g| g.name == entry)?;
        Some(found.projection(projection, by).map_err(Into::into))
    }

    fn clone_sources(&self) -> &[Value] {
        &self.clone_sources
    }
}
