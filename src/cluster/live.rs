//! The data of rules from a cluster.
//!
//! In: what rules ask for. Out: what the API server answers; what is watched comes from the [`Cache`].

use std::sync::Arc;

use percent_encoding::utf8_percent_encode;

use crate::functions::world::{HttpCall, Place, World};
use crate::kubernetes::Types;
use crate::sources::registry::Registry;
use crate::sources::registry::credentials::Secrets;
use crate::sources::{Call, Sources};
use crate::value::{Map, Str, Value};

use super::cache::Cache;
use super::{Cluster, Failure, SEGMENT};

/// A cluster that answers the questions of rules.
pub struct Live {
    /// The cluster.
    pub cluster: Arc<Cluster>,
    /// What is watched, if anything.
    pub cache: Option<Arc<Cache>>,
    /// The objects that a run is about.
    pub objects: Vec<Value>,
    /// Answers questions that are not about the cluster: images, services, global entries.
    pub others: Arc<dyn Sources>,
    /// The same for functions of expressions.
    pub world: Arc<dyn World>,
    /// The types of objects; `None` = those that every cluster has.
    pub types: Option<Arc<Types>>,
}

impl Live {
    fn config(&self, namespace: &str, name: &str) -> Result<Value, Failure> {
        if let Some(cache) = self.cache.as_ref().filter(|c| c.has("", "ConfigMap")) {
            return cache.get("", "ConfigMap", namespace, name).ok_or_else(|| Failure {
                code: 404,
                reason: "NotFound".into(),
                text: format!("configmaps \"{name}\" not found"),
            });
        }
        self.cluster.get(&format!("/api/v1/namespaces/{namespace}/configmaps/{name}"))
    }
}

impl Sources for Live {
    fn config_map(&self, namespace: &str, name: &str) -> Option<Result<Value, String>> {
        Some(self.config(namespace, name).map_err(|e| e.text))
    }

    fn call(&self, call: &Call) -> Option<Result<Value, String>> {
        if call.url_path.is_empty() {
            return self.others.call(call);
        }
        let method = if call.method.is_empty() { "GET" } else { &*call.method };
        let body = (method == "POST").then_some(&call.body);
        let answer = self.cluster.request(method, &call.url_path, "application/json", body);
        let path = &call.url_path;
        Some(answer.map_err(|e| format!("failed to {method} resource with raw url: {path}: {e}")))
    }

    fn global(&self, entry: &str, projection: &str) -> Option<Result<Value, String>> {
        self.others.global(entry, projection)
    }

    fn types(&self) -> Option<&Types> {
        self.types.as_deref().or_else(|| self.others.types())
    }

    fn objects(&self) -> &[Value] {
        &self.objects
    }

    fn registry(&self) -> Option<&Arc<dyn Registry>> {
        self.others.registry()
    }
}

impl Secrets for Cluster {
    fn secret(&self, namespace: &str, name: &str) -> Result<Value, String> {
        let path = |text: &str| utf8_percent_encode(text, SEGMENT).to_string();
        self.get(&format!("/api/v1/namespaces/{}/secrets/{}", path(namespace), path(name)))
            .map_err(|e| e.text)
    }
}

/// The path of what a question is about.
fn path(at: &Place<'_>) -> String {
    let root = if at.api_version.contains('/') { "/apis" } else { "/api" };
    let (resource, sub) = at.resource.split_once('/').unwrap_or((at.resource, ""));
    let mut path = format!("{root}/{}", at.api_version);
    for (before, text) in [("/namespaces/", at.namespace), ("/", resource), ("/", at.name), ("/", sub)] {
        if !text.is_empty() {
            path.push_str(before);
            path.push_str(text);
        }
    }
    path
}

impl World for Live {
    fn get(&self, at: &Place<'_>) -> Result<Value, String> {
        match self.cluster.get(&path(at)) {
            Err(e) if e.is_not_found() => Ok(Value::Null),
            answer => answer.map_err(|e| e.text),
        }
    }

    fn list(&self, at: &Place<'_>) -> Result<Value, String> {
        self.cluster.get(&path(at)).map_err(|e| e.text)
    }

    fn post(&self, at: &Place<'_>, body: &Value) -> Option<Result<Value, String>> {
        let answer = self.cluster.request("POST", &path(at), "application/json", Some(body));
        Some(answer.map_err(|e| e.text))
    }

    fn resource_of(&self, api_version: &str, kind: &str) -> Option<Result<[String; 3], String>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let found = self.cluster.kinds().map(|kinds| kinds.kind(group, version, kind).cloned());
        Some(match found {
            Ok(Some(r)) => Ok([r.group.to_string(), r.version.to_string(), r.plural.to_string()]),
            Ok(None) => Err(format!("no matches for kind \"{kind}\" in version \"{api_version}\"")),
            Err(e) => Err(e.text),
        })
    }

    fn global(&self, name: &str, projection: &str) -> Result<Value, String> {
        self.world.global(name, projection)
    }

    fn image(&self, reference: &str) -> Result<Value, String> {
        self.world.image(reference)
    }

    fn http(&self, call: &HttpCall<'_>) -> Result<Value, String> {
        self.world.http(call)
    }

    fn keys(&self, url: &str) -> Result<String, String> {
        self.world.keys(url)
    }

    fn generate(&self, namespace: &str, objects: Vec<Value>) -> Result<(), String> {
        self.world.generate(namespace, objects)
    }
}

/// The labels of all namespaces, by name.
///
/// # Errors
/// The namespaces cannot be listed.
pub fn namespaces(cluster: &Cluster) -> Result<Vec<(Str, Map)>, Failure> {
    let Some(resource) = cluster.kinds()?.resource("", "v1", "namespaces").cloned() else {
        return Ok(Vec::new());
    };
    let labels = |o: &Value| {
        let labels = o.at(&["metadata", "labels"]).and_then(Value::as_map).cloned().unwrap_or_default();
        (Str::from(o.text_at(&["metadata", "name"])), labels)
    };
    Ok(cluster.list(&resource, "")?.iter().map(labels).collect())
}
