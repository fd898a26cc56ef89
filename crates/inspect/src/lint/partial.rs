//! Documents that are parts of policies: kustomize merges them into a whole policy, which is what
//! can be checked.
//!
//! A part is a document in a file that a kustomization lists as a patch, one with directives of
//! strategic merges, and one without everything that a policy of its kind decides with. What a
//! field is misspelt for is there: such a document is a policy with an error.

use ephor_api::schema::{self, SchemaError};
use ephor_value::Value;

/// The fields of `spec` of which a policy of a kind has at least one.
fn deciding_fields(kind: &str) -> &'static [&'static str] {
    match kind {
        "ClusterPolicy" | "Policy" => &["rules"],
        "ValidatingPolicy"
        | "NamespacedValidatingPolicy"
        | "ImageValidatingPolicy"
        | "NamespacedImageValidatingPolicy"
        | "ValidatingAdmissionPolicy" => &["validations", "auditAnnotations"],
        "MutatingPolicy" | "NamespacedMutatingPolicy" | "MutatingAdmissionPolicy" => &["mutations"],
        "GeneratingPolicy" | "NamespacedGeneratingPolicy" => &["generate"],
        "DeletingPolicy" | "NamespacedDeletingPolicy" => &["schedule", "conditions"],
        "ClusterCleanupPolicy" | "CleanupPolicy" => &["schedule", "match"],
        "PolicyException" => &["exceptions", "policyRefs"],
        _ => &[],
    }
}

/// Whether a document of a kind of policies is a part of one.
pub(super) fn is_part(written: &Value) -> bool {
    if has_directive(written) {
        return true;
    }
    let deciding = deciding_fields(written.text_at(&["kind"]));
    let spec = written.get("spec").unwrap_or(&Value::Null);
    let is_object = matches!(spec, Value::Null | Value::Map(_));
    let decides = deciding.iter().any(|field| spec.get(field).is_some_and(|value| !value.is_null()));
    // A name alone is no patch of anything.
    let changes = !spec.is_null()
        || ["labels", "annotations"].iter().any(|field| written.at(&["metadata", field]).is_some());
    !deciding.is_empty()
        && is_object
        && !decides
        && changes
        && !matches!(schema::check(written), Err(SchemaError::UnknownFields(_)))
}

/// What rules do, where directives are those of the rule.
const BODIES: [&str; 4] = ["mutate", "validate", "generate", "mutations"];

/// Whether a strategic merge acts on a part of the document (`$patch: delete` and others).
fn has_directive(value: &Value) -> bool {
    let is_directive = |key: &str| {
        ["$patch", "$retainKeys"].contains(&key)
            || key.starts_with("$setElementOrder/")
            || key.starts_with("$deleteFromPrimitiveList/")
    };
    match value {
        Value::Map(fields) => fields
            .iter()
            .any(|(key, part)| is_directive(key) || !BODIES.contains(&&**key) && has_directive(part)),
        Value::List(items) => items.iter().any(has_directive),
        _ => false,
    }
}
