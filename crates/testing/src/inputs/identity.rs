//! What an object is known by: version, kind, namespace, name.

use ephor_value::Value;

/// Version, namespace, kind and name of an object: what there can be only one of.
pub(super) fn identity(object: &Value) -> [String; 4] {
    [
        object.text_at(&["apiVersion"]).to_string(),
        object.text_at(&["metadata", "namespace"]).to_string(),
        object.text_at(&["kind"]).to_string(),
        object.text_at(&["metadata", "name"]).to_string(),
    ]
}
