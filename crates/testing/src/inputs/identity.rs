//! What an object is known by: version, kind, namespace, name.

use ephor_value::Value;

/// Version, namespace, kind and name of an object: what there can be only one of.
pub(crate) fn identity(object: &Value) -> [&str; 4] {
    [&["apiVersion"][..], &["metadata", "namespace"], &["kind"], &["metadata", "name"]]
        .map(|path| object.text_at(path))
}

/// The same in memory of its own.
pub(super) fn own_identity(object: &Value) -> [String; 4] {
    identity(object).map(String::from)
}
