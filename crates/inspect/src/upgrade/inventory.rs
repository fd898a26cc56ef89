//! Objects of a cluster, from its API or from dumps.
//!
//! In: documents. Out: an [`Inventory`], and facts of one object: its group, its name, whether
//! Kyverno 1.20 ignores it.

use std::sync::Arc;

use ephor_api::schema;
use ephor_document::{Document, locate};
use ephor_kubernetes::Kinds;
use ephor_value::Value;

use ephor_policies::kinds::{self, CEL, CLASSIC};

/// The API groups of policies.
pub(super) const GROUPS: [&str; 2] = [CLASSIC, CEL];

/// The label of generated objects that names their policy.
pub const GENERATED_BY: &str = "generate.kyverno.io/policy-name";

/// An object, and where it comes from.
#[derive(Clone, Debug)]
pub struct Found {
    /// The object.
    pub object: Value,
    /// Its file and line; empty for objects of the API.
    pub place: String,
}

/// Objects of a cluster.
#[derive(Clone, Debug)]
pub struct Inventory {
    pub(super) objects: Vec<Found>,
    pub(super) kinds: Arc<Kinds>,
    /// What could not be read: facts without which the rest is still true.
    pub unread: Vec<String>,
    /// Whether a cluster was read, and not files.
    pub is_live: bool,
}

impl Inventory {
    /// The objects of dumps; kinds are those that every cluster has, and those of definitions among
    /// them.
    pub fn of_documents(documents: Vec<Document>) -> Inventory {
        let objects: Vec<Found> = documents.into_iter().flat_map(flattened).collect();
        let definitions = objects.iter().map(|f| &f.object).filter(|o| is_definition(o));
        let kinds = Kinds::with(definitions);
        Inventory { objects, kinds, unread: Vec::new(), is_live: false }
    }

    /// The objects of a cluster, with the kinds that it serves.
    pub fn of_cluster(objects: Vec<Value>, kinds: Arc<Kinds>, unread: Vec<String>) -> Inventory {
        let objects = objects.into_iter().map(|object| Found { object, place: String::new() }).collect();
        Inventory { objects, kinds, unread, is_live: true }
    }

    pub(super) fn of_kind<'i>(&'i self, group: &'i str, kind: &'i str) -> impl Iterator<Item = &'i Found> {
        self.objects
            .iter()
            .filter(move |f| f.object.text_at(&["kind"]) == kind && group_of(&f.object) == group)
    }

    /// Whether there is any policy or exception.
    pub fn is_empty(&self) -> bool {
        !kinds::all().any(|(group, kind)| self.of_kind(group, kind).next().is_some())
    }
}

/// The objects of a document: a list's items, or the document itself.
pub(super) fn flattened(document: Document) -> Vec<Found> {
    let Document { value, source, line, text, .. } = document;
    let items = value.get("items").and_then(Value::as_list);
    let Some(items) = items.filter(|_| value.text_at(&["kind"]).ends_with("List")) else {
        return vec![Found { object: value, place: format!("{source}:{line}") }];
    };
    let lines = locate::items(&text);
    let place = |i: usize| match lines.get(i) {
        Some(item) => format!("{source}:{}", line + item.line() - 1),
        None => format!("{source}:{line}"),
    };
    items.iter().enumerate().map(|(i, object)| Found { object: object.clone(), place: place(i) }).collect()
}

pub(super) fn is_definition(object: &Value) -> bool {
    object.text_at(&["kind"]) == "CustomResourceDefinition"
}

/// The API group of an object; empty for the core group.
pub(super) fn group_of(object: &Value) -> &str {
    object.text_at(&["apiVersion"]).split_once('/').map_or("", |(group, _)| group)
}

/// Whether Kyverno 1.20 ignores objects of this kind.
pub(super) fn stops(object: &Value) -> bool {
    schema::deprecation(object.text_at(&["apiVersion"]), object.text_at(&["kind"])).is_some()
}

/// Kind, namespace and name: `Policy shop/limits`.
pub(super) fn named(object: &Value) -> String {
    let at = |key: &str| object.text_at(&["metadata", key]);
    match at("namespace") {
        "" => format!("{} {}", object.text_at(&["kind"]), at("name")),
        namespace => format!("{} {namespace}/{}", object.text_at(&["kind"]), at("name")),
    }
}
