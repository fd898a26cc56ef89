//! The data of rules from a cluster.
//!
//! In: what rules ask for. Out: what the API server answers; what is watched comes from the [`Cache`].

use std::sync::Arc;

use percent_encoding::utf8_percent_encode;

use crate::functions::cel::outside::segment_problem;
use crate::functions::world::{HttpCall, Place, World};
use crate::kubernetes::Types;
use crate::sources::registry::Registry;
use crate::sources::registry::credentials::Secrets;
use crate::sources::{Call, Sources};
use crate::value::quote::quote;
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
        let path = path(&Place { api_version: "v1", resource: "configmaps", namespace, name });
        let path = path.map_err(|text| Failure { code: 400, reason: "BadRequest".into(), text })?;
        if let Some(cache) = self.cache.as_ref().filter(|c| c.has("", "ConfigMap")) {
            return cache.get("", "ConfigMap", namespace, name).ok_or_else(|| Failure {
                code: 404,
                reason: "NotFound".into(),
                text: format!("configmaps \"{name}\" not found"),
            });
        }
        self.cluster.get(&path)
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
fn path(at: &Place<'_>) -> Result<String, String> {
    let root = if at.api_version.contains('/') { "/apis" } else { "/api" };
    let (resource, sub) = at.resource.split_once('/').unwrap_or((at.resource, ""));
    checked("namespace", at.namespace)?;
    checked("resource name", at.name)?;
    let mut path = root.to_string();
    let steps = [("/namespaces/", at.namespace), ("/", resource), ("/", at.name), ("/", sub)];
    for (before, text) in at.api_version.split('/').map(|step| ("/", step)).chain(steps) {
        if !text.is_empty() {
            checked("resource", text)?;
            path.push_str(before);
            path.extend(utf8_percent_encode(text, SEGMENT));
        }
    }
    Ok(path)
}

/// Refuses what would lead to another place of the API, as the client of Kubernetes does: policies may take names from requests.
fn checked(what: &str, text: &str) -> Result<(), String> {
    segment_problem(text).map_or(Ok(()), |why| Err(format!("invalid {what} {}: [{why}]", quote(text))))
}

impl World for Live {
    fn get(&self, at: &Place<'_>) -> Result<Value, String> {
        match self.cluster.get(&path(at)?) {
            Err(e) if e.is_not_found() => Ok(Value::Null),
            answer => answer.map_err(|e| e.text),
        }
    }

    fn list(&self, at: &Place<'_>) -> Result<Value, String> {
        self.cluster.get(&path(at)?).map_err(|e| e.text)
    }

    fn selects_by_labels(&self) -> bool {
        true
    }

    fn post(&self, at: &Place<'_>, body: &Value) -> Option<Result<Value, String>> {
        let created = |path: String| self.cluster.request("POST", &path, "application/json", Some(body));
        Some(path(at).and_then(|path| created(path).map_err(|e| e.text)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_out_of_requests_do_not_lead_to_other_places_of_the_api() {
        let of =
            |api_version, resource, namespace, name| path(&Place { api_version, resource, namespace, name });
        assert_eq!(of("v1", "pods/log", "shop", "a"), Ok("/api/v1/namespaces/shop/pods/a/log".into()));
        assert_eq!(of("apps/v1", "deployments", "", ""), Ok("/apis/apps/v1/deployments".into()));
        assert_eq!(of("v1", "nodes", "", "a b:c"), Ok("/api/v1/nodes/a%20b%3Ac".into()));
        let refused = |why: &str| Err(why.to_string());
        assert_eq!(
            of("v1", "configmaps", "shop", "../../other/secrets/s"),
            refused("invalid resource name \"../../other/secrets/s\": [may not contain '/']")
        );
        assert_eq!(of("v1", "configmaps", "..", "a"), refused("invalid namespace \"..\": [may not be '..']"));
        assert_eq!(
            of("v1", "pods", "a%2fb", "a"),
            refused("invalid namespace \"a%2fb\": [may not contain '%']")
        );
        assert_eq!(of("..", "pods", "a", "b"), refused("invalid resource \"..\": [may not be '..']"));
    }
}
