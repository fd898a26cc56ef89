//! `--cluster`: policies and exceptions that are stored in a cluster.
//!
//! In: a cluster. Out: a source for each policy of `kyverno.io`, as a file of its kind, namespace
//! and name, without what an API server and `kubectl apply` add; and the definitions of custom
//! resources, which say what kinds there are.

use ephor_cluster::{Choice, Cluster, connect};
use ephor_document::write::{Style, to_string};
use ephor_kubernetes::Kinds;
use ephor_migrate::{LAST_APPLIED, OF_SERVERS};
use ephor_policies::kinds::{CLASSIC, KINDS};
use ephor_sources::files::SourceText;
use ephor_value::{Map, Value};

use crate::cli::CommandError;
use crate::cli::console::warn;

/// What the names of sources begin with.
pub const ROOT: &str = "cluster";

/// What was read.
pub struct Read {
    /// The policies and exceptions.
    pub sources: Vec<SourceText>,
    /// The definitions of custom resources.
    pub definitions: Vec<Value>,
}

/// Reads a cluster.
///
/// # Errors
/// It does not answer, or refuses to list policies.
pub fn read(choice: &Choice) -> Result<Read, CommandError> {
    let cluster = connect(choice)?;
    let kinds = cluster.kinds()?;
    let mut sources = Vec::new();
    for kind in KINDS.iter().filter(|(group, _)| *group == CLASSIC).flat_map(|(_, kinds)| *kinds) {
        let mut found = list(&cluster, &kinds, CLASSIC, kind)?;
        found.sort_by_cached_key(place);
        sources.extend(found.iter().map(source));
    }
    // Without these, resources that the definitions name are guessed, which the report says.
    let definitions = list(&cluster, &kinds, "apiextensions.k8s.io", "CustomResourceDefinition");
    let definitions = definitions.unwrap_or_else(|cause| {
        warn(&format!("definitions of custom resources are not known: {cause}"));
        Vec::new()
    });
    Ok(Read { sources, definitions })
}

/// The objects of a kind; none, where the cluster does not have it.
pub fn list(cluster: &Cluster, kinds: &Kinds, group: &str, kind: &str) -> Result<Vec<Value>, CommandError> {
    match kinds.named(kind).find(|resource| &*resource.group == group) {
        Some(resource) => Ok(cluster.list(resource, "")?),
        None => Ok(Vec::new()),
    }
}

/// Kind, namespace and name as a path.
pub fn place(object: &Value) -> String {
    let namespace = object.text_at(&["metadata", "namespace"]);
    let parts = [&object.text_at(&["kind"]).to_lowercase(), namespace, object.text_at(&["metadata", "name"])];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

fn source(object: &Value) -> SourceText {
    let text = to_string(&as_written(object), Style::Block);
    SourceText { name: format!("{ROOT}/{}.yaml", place(object)), text }
}

/// An object as its author wrote it, as far as that is known.
pub fn as_written(object: &Value) -> Value {
    let mut out = Map::new();
    for key in ["apiVersion", "kind"] {
        out.insert(key, object.get(key).cloned().unwrap_or_default());
    }
    let mut metadata = object.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    for key in OF_SERVERS {
        metadata.remove(key);
    }
    let annotations = metadata.get("annotations").and_then(Value::as_map).cloned();
    if let Some(mut annotations) = annotations {
        annotations.remove(LAST_APPLIED);
        metadata.remove("annotations");
        if !annotations.is_empty() {
            metadata.insert("annotations", Value::Map(annotations));
        }
    }
    out.insert("metadata", Value::Map(metadata));
    for (key, value) in object.as_map().into_iter().flat_map(|map| map.iter()) {
        if !matches!(&**key, "apiVersion" | "kind" | "metadata" | "status") {
            out.insert(key.clone(), value.clone());
        }
    }
    Value::Map(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_servers_add_is_left_out() {
        let stored = ephor_document::yaml_value(
            "{status: {ready: true}, spec: {rules: []}, metadata: {name: a, namespace: shop, uid: x, resourceVersion: '5', managedFields: [], \
             annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}'}}, kind: Policy, apiVersion: kyverno.io/v1}",
        );
        let source = source(&stored.unwrap());
        assert_eq!(&*source.name, "cluster/policy/shop/a.yaml");
        assert_eq!(
            &*source.text,
            "apiVersion: kyverno.io/v1\nkind: Policy\nmetadata:\n  name: a\n  namespace: shop\nspec:\n  rules: []\n"
        );
    }
}
