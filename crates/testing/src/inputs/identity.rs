//! What an object is known by: version, kind, namespace, name.

use ephor_value::Value;
use ephor_value::shard::Shard;

/// Version, namespace, kind and name of an object: what there can be only one of.
pub(crate) fn identity(object: &Value) -> [&str; 4] {
    [&["apiVersion"][..], &["metadata", "namespace"], &["kind"], &["metadata", "name"]]
        .map(|path| object.text_at(path))
}

/// Whether a shard holds an object, which has this position among all of a run. What has no name is
/// known by its position.
pub fn is_in_shard(shard: Shard, object: &Value, position: u64) -> bool {
    let [api_version, namespace, kind, name] = identity(object);
    match name {
        "" => shard.has(&[api_version, namespace, kind, &format!("#{position}")]),
        name => shard.has(&[api_version, namespace, kind, name]),
    }
}

/// What an object is known by, in memory of its own.
pub(super) fn own_identity(object: &Value) -> [String; 4] {
    identity(object).map(String::from)
}
