//! The external data of a cluster.
//!
//! In: lookups of policies. Out: answers of the API server; watched objects come from the
//! [`Cache`].

use std::sync::Arc;

use percent_encoding::utf8_percent_encode;

use ephor_external::{Address, ApiError, ApiRequest, ExternalData, Found, LookupError, Offers, Place};
use ephor_kubernetes::{Kinds, Types};
use ephor_sources::registry::credentials::Secrets;
use ephor_value::quote::quote;
use ephor_value::{Map, Str, Value, wildcard};

use crate::cache::Cache;
use crate::client::{Cluster, SEGMENT, named};
use crate::failure::Failure;

/// The external data of a cluster.
pub struct Live {
    /// The cluster.
    pub cluster: Arc<Cluster>,
    /// What is watched, if anything.
    pub cache: Option<Arc<Cache>>,
    /// The objects that a run is about.
    pub objects: Vec<Value>,
    /// What is not of the cluster: images, services, global entries.
    pub others: Arc<dyn ExternalData>,
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
                resume: None,
            });
        }
        let at = Place { api_version: "v1", resource: "configmaps", namespace, name };
        self.cluster.get(&path(&at).map_err(|error| Failure::other(error.to_string()))?)
    }
}

/// The objects of a kind that an account sees, or the one with a name; none where the cluster has
/// no such object.
///
/// # Errors
/// The cluster does not serve the kind, or does not let the account read it.
pub fn found(
    cluster: &Cluster,
    api_version: &str,
    kind: &str,
    namespace: &str,
    name: &str,
) -> Result<Vec<Value>, Failure> {
    let kinds = cluster.kinds()?;
    let mut served = kinds.named(kind);
    let Some(resource) = served.find(|r| wildcard::matches(api_version, &crate::client::api_version(r)))
    else {
        return Err(Failure::other("not found"));
    };
    let namespace = if resource.namespaced { namespace } else { "" };
    if name.is_empty() || (resource.namespaced && namespace.is_empty()) {
        return cluster.list(resource, namespace);
    }
    match cluster.object(resource, namespace, name) {
        Ok(object) => Ok(vec![object]),
        Err(e) if e.is_not_found() => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

impl ExternalData for Live {
    fn inner(&self) -> Option<&dyn ExternalData> {
        Some(&*self.others)
    }

    fn kinds(&self) -> Option<Result<Arc<Kinds>, LookupError>> {
        Some(self.cluster.kinds().map_err(Into::into))
    }

    fn types(&self) -> Option<&Types> {
        self.types.as_deref().or_else(|| self.others.types())
    }

    fn offers(&self) -> Offers {
        Offers { registry: self.registry().is_some(), ..Offers::all() }
    }

    fn config_map(&self, namespace: &str, name: &str) -> Found {
        Some(self.config(namespace, name).map_err(Into::into))
    }

    fn reaches_api(&self) -> bool {
        true
    }

    fn api(&self, request: &ApiRequest<'_>) -> Found<ApiError> {
        let method = if request.body.is_some() { "POST" } else { "GET" };
        let call = |path: &str| self.cluster.request(method, path, "application/json", request.body);
        Some(match request.at {
            Address::Objects(at) => {
                let answer = path(at).map_err(|error| ApiError::from(error.to_string())).and_then(|path| {
                    call(&path).map_err(|e| ApiError { not_found: e.is_not_found(), text: e.text })
                });
                answer.map(filled)
            }
            Address::Path { path, .. } => call(path).map_err(|e| refusal(method, path, &e)),
        })
    }

    fn selects_by_labels(&self) -> bool {
        true
    }

    fn objects(&self) -> &[Value] {
        &self.objects
    }

    fn targets(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Option<Result<Vec<Value>, LookupError>> {
        if !self.objects.is_empty() {
            return None;
        }
        Some(found(&self.cluster, api_version, kind, namespace, name).map_err(Into::into))
    }
}

impl Secrets for Cluster {
    fn secret(&self, namespace: &str, name: &str) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let path = |text: &str| utf8_percent_encode(text, SEGMENT).to_string();
        self.get(&format!("/api/v1/namespaces/{}/secrets/{}", path(namespace), path(name)))
            .map_err(|e| e.text.into())
    }
}

/// A list whose items say their kind, which the API server leaves out.
fn filled(found: Value) -> Value {
    let kind = found.text_at(&["kind"]).strip_suffix("List").map(str::to_string);
    let (Some(kind), Some(items)) = (kind, found.get("items").and_then(Value::as_list)) else { return found };
    let api_version = found.text_at(&["apiVersion"]);
    let is_bare = |item: &Value| item.text_at(&["kind"]).is_empty();
    let item = |item: &Value| if is_bare(item) { named(item, api_version, &kind) } else { item.clone() };
    let items = Value::list(items.iter().map(item).collect());
    found.with("items", items)
}

/// A name that would lead to another place of the API; the text is that of the client of
/// Kubernetes.
#[derive(Debug, thiserror::Error)]
#[error("invalid {what} {}: [{}]", quote(.text), shown(.text, .why))]
struct PathError {
    what: &'static str,
    text: Box<str>,
    why: Reserved,
}

/// What a name has that paths give a meaning.
#[derive(Debug)]
enum Reserved {
    /// It is `.` or `..`.
    Step,
    /// It has this character.
    Character(char),
}

fn shown(text: &str, why: &Reserved) -> String {
    match why {
        Reserved::Step => format!("may not be '{text}'"),
        Reserved::Character(c) => format!("may not contain '{c}'"),
    }
}

/// The path of what a question is about.
fn path(at: &Place<'_>) -> Result<String, PathError> {
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

/// Refuses what would lead to another place of the API, as the client of Kubernetes does: policies
/// may take names from requests.
fn checked(what: &'static str, text: &str) -> Result<(), PathError> {
    let why = match text {
        "." | ".." => Reserved::Step,
        _ => match text.chars().find(|c| matches!(c, '/' | '%')) {
            Some(c) => Reserved::Character(c),
            None => return Ok(()),
        },
    };
    Err(PathError { what, text: text.into(), why })
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

/// Why a path has no answer, in Kyverno's words.
fn refusal(method: &str, path: &str, failure: &Failure) -> ApiError {
    let denied = if matches!(failure.code, 401 | 403) { "permission denied: " } else { "" };
    let text = format!("failed to {method} resource with raw url: {path}: {denied}{}", failure.text);
    ApiError { not_found: failure.is_not_found(), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_permissions_are_named_as_such() {
        let of = |code| {
            let failure = Failure { code, reason: String::new(), text: "no".into(), resume: None };
            refusal("GET", "/api/v1/pods", &failure).text
        };
        assert_eq!(of(403), "failed to GET resource with raw url: /api/v1/pods: permission denied: no");
        assert_eq!(of(500), "failed to GET resource with raw url: /api/v1/pods: no");
    }

    #[test]
    fn names_out_of_requests_do_not_lead_to_other_places_of_the_api() {
        let of = |api_version, resource, namespace, name| {
            path(&Place { api_version, resource, namespace, name }).map_err(|e| e.to_string())
        };
        assert_eq!(of("v1", "pods/log", "shop", "a"), Ok("/api/v1/namespaces/shop/pods/a/log".into()));
        assert_eq!(of("apps/v1", "deployments", "", ""), Ok("/apis/apps/v1/deployments".into()));
        assert_eq!(of("v1", "nodes", "", "a b?c#d"), Ok("/api/v1/nodes/a%20b%3Fc%23d".into()));
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
