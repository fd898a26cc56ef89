//! How objects are named in texts of `apply`.

use ephor_value::Value;

/// `NAMESPACE/KIND/NAME`, with nothing for a missing namespace.
pub fn path(resource: &Value) -> String {
    format!(
        "{}/{}/{}",
        resource.text_at(&["metadata", "namespace"]),
        resource.text_at(&["kind"]),
        resource.text_at(&["metadata", "name"])
    )
}
