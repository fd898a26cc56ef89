//! Resource files of a run.
//!
//! In: resource arguments. Out: their objects, and warnings about arguments without objects.
//! Only the first argument has to be there. Semantics: `docs/cli.md`, resource sources.

use crate::document::{self, Document, ResourceOptions};
use crate::engine::Profile;
use crate::sources::files::{self, Cause, Loaded, Reading};
use crate::value::Value;

use super::replay;

/// The objects of resource arguments.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// In order.
    pub documents: Vec<Document>,
    /// Blocks of Kyverno about arguments that cannot be read.
    pub failed: Vec<String>,
    /// What changes nothing, for standard error.
    pub warnings: Vec<String>,
    /// Files and documents that are left out because they hold no objects, with their places.
    pub others: Vec<String>,
}

/// What counts as a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// How arguments are read.
    pub reading: Reading,
    /// Documents that are no objects are left out instead of ending the run.
    pub skips_others: bool,
}

/// Reads the objects of resource arguments; errors name them `what`.
///
/// # Errors
/// The first argument cannot be read, or a document is no Kubernetes object: Kyverno's text,
/// and the place.
pub fn read(
    arguments: &[String],
    profile: Profile,
    what: &str,
    choice: Choice,
) -> Result<Resources, (String, Option<String>)> {
    let Loaded { sources, notices, .. } = files::resources(arguments, choice.reading);
    let mut out = Resources::default();
    for n in notices {
        let first = arguments.first().is_some_and(|a| *a == n.place);
        match n.cause {
            Cause::Missing | Cause::Unreadable if first => {
                return Err((format!("failed to load {what} ({})", n.text), None));
            }
            Cause::Missing | Cause::Unreadable => {
                let line = "-".repeat(70);
                out.failed.push(format!(
                    "\n{line}\nfailed to load resources: {}. \nerror: {}\n{line}\n",
                    n.place, n.text
                ));
            }
            Cause::Extension => out.others.push(n.to_string()),
            _ => out.warnings.push(n.to_string()),
        }
    }
    let options = ResourceOptions { float_numbers: profile.float_resources };
    for s in &sources {
        if let Some(documents) = replay::objects(&s.name, &s.text, options) {
            if documents.is_empty() {
                out.warnings.push(format!(
                    "{}: the audit log has no objects; `ephor serve --audit-log-objects` writes them",
                    s.name
                ));
            }
            out.documents.extend(documents);
            continue;
        }
        let read = match choice.skips_others {
            true => document::resource::objects(&s.name, &s.text, options),
            false => document::resources(&s.name, &s.text, options).map(|documents| (documents, Vec::new())),
        };
        let (documents, others) = read.map_err(|e| {
            let place = format!("{}:{}: this document stops the run", e.source, super::line_of(&e));
            (format!("failed to load {what} ({e})"), Some(place))
        })?;
        out.others.extend(others.iter().map(|e| format!("{}:{}: no Kubernetes object", e.source, e.line)));
        if documents.is_empty() && others.is_empty() {
            out.warnings.push(format!("{}: no resource", s.name));
        }
        out.documents.extend(documents);
    }
    Ok(out)
}

/// Version, namespace, kind and name of an object: what there can be only one of.
pub fn identity(object: &Value) -> [String; 4] {
    [
        object.text_at(&["apiVersion"]).to_string(),
        object.text_at(&["metadata", "namespace"]).to_string(),
        object.text_at(&["kind"]).to_string(),
        object.text_at(&["metadata", "name"]).to_string(),
    ]
}

/// Separates duplicates: objects with the identity of an earlier one; the first one counts. Objects without a
/// name are never the same.
pub fn without_duplicates(documents: Vec<Document>) -> (Vec<Document>, Vec<Document>) {
    let mut seen = std::collections::HashSet::new();
    documents
        .into_iter()
        .partition(|d| d.value.text_at(&["metadata", "name"]).is_empty() || seen.insert(identity(&d.value)))
}
