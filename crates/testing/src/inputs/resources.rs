//! Resource files of a run.
//!
//! In: resource arguments. Out: their objects, and warnings about arguments without objects.
//! Only the first argument has to be there. Semantics: `docs/reference/cli.md`, resource sources.

use ephor_document::Document;
use ephor_sources::files::Reading;
use ephor_value::Value;

use super::identity::own_identity;

/// The objects of resource arguments.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// In order.
    pub documents: Vec<Document>,
    /// Objects with the identity of an earlier one, where only that counts.
    pub duplicates: Vec<Document>,
    /// Blocks of Kyverno about arguments that cannot be read.
    pub failed: Vec<String>,
    /// What changes nothing, for standard error.
    pub warnings: Vec<String>,
    /// Files and documents that are left out because they hold no objects, with their places.
    pub others: Vec<String>,
    /// Files and documents that cannot be read, with their places, where that does not end the run.
    pub broken: Vec<String>,
}

/// What counts as a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// How arguments are read.
    pub reading: Reading,
    /// Documents that are no objects, or cannot be read, are left out instead of ending the run.
    pub skips_others: bool,
    /// Of objects with one identity the first one counts.
    pub is_unique: bool,
}

impl Resources {
    /// Adds what follows.
    pub fn append(&mut self, more: Resources) {
        self.documents.extend(more.documents);
        self.duplicates.extend(more.duplicates);
        self.failed.extend(more.failed);
        self.warnings.extend(more.warnings);
        self.others.extend(more.others);
        self.broken.extend(more.broken);
    }
}

/// The global context entries among objects.
pub fn global_entries(documents: &[Document]) -> Vec<Value> {
    let is_global = |v: &&Value| {
        v.text_at(&["kind"]) == "GlobalContextEntry" && v.text_at(&["apiVersion"]).starts_with("kyverno.io/")
    };
    documents.iter().map(|d| &d.value).filter(is_global).cloned().collect()
}

/// Separates duplicates: objects with the identity of an earlier one; the first one counts. Objects
/// without a name are never the same.
pub fn without_duplicates(documents: Vec<Document>) -> (Vec<Document>, Vec<Document>) {
    let mut seen = std::collections::HashSet::new();
    documents.into_iter().partition(|d| {
        d.value.text_at(&["metadata", "name"]).is_empty() || seen.insert(own_identity(&d.value))
    })
}
