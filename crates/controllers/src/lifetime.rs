//! Objects with a label that says how long they live.
//!
//! In: the label `cleanup.kyverno.io/ttl`: a duration from the creation of the object, or a date.
//! Out: the object is deleted when its time is over. A label that cannot be read is left alone.
//! Semantics: `docs/reference/cluster.md`, "Deletions".

use std::time::Duration;

use ephor_cluster::{Cluster, Failure};
use ephor_value::Value;
use ephor_value::time::Time;
use ephor_value::ttl::Ttl;

/// The label.
const LABEL: &str = "cleanup.kyverno.io/ttl";
/// How the deletion reaches what the object owns.
const PROPAGATION: &str = "cleanup.kyverno.io/propagation-policy";

/// Deletes the objects whose time is over; the time until the next one's, if it is less than
/// `interval`.
///
/// # Errors
/// The kinds of the cluster are not known. Kinds that may not be listed, and objects that may not
/// be deleted, are logged.
pub fn sweep(cluster: &Cluster, interval: Duration) -> Result<Duration, Failure> {
    let kinds = cluster.kinds()?;
    let mut next = interval;
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for resource in kinds.all() {
        let kind = (&*resource.group, &*resource.kind);
        if seen.contains(&kind) {
            continue;
        }
        seen.push(kind);
        // Kinds that cannot be listed, such as reviews, have no objects to delete.
        let Ok(objects) = cluster.select(resource, "", LABEL) else { continue };
        for object in objects.iter().filter(|o| o.text_at(&["metadata", "deletionTimestamp"]).is_empty()) {
            let Some(left) = left(object, jiff::Timestamp::now().as_nanosecond()) else { continue };
            if !left.is_zero() {
                next = next.min(left);
                continue;
            }
            let annotation = object.at(&["metadata", "annotations", PROPAGATION]).and_then(Value::as_str);
            let propagation = annotation.filter(|p| matches!(*p, "Foreground" | "Background" | "Orphan"));
            let at = |key: &str| object.text_at(&["metadata", key]);
            let (namespace, name, kind) = (at("namespace"), at("name"), &*resource.kind);
            match cluster.remove(object, propagation) {
                Ok(()) => tracing::info!(kind, namespace, name, "its time is over: deleted"),
                Err(e) if e.is_not_found() => {}
                Err(e) => tracing::warn!(kind, namespace, name, error = %e, "cannot be deleted"),
            }
        }
    }
    Ok(next)
}

/// How long an object still lives; `None` = for ever. `now` in nanoseconds since 1970.
fn left(object: &Value, now: i128) -> Option<Duration> {
    let label = object.at(&["metadata", "labels", LABEL]).and_then(Value::as_str)?;
    let end = match Ttl::parse(label)? {
        Ttl::At(moment) => i128::from(moment) * 1_000_000_000,
        Ttl::After(length) => {
            let created = Time::parse_rfc3339(object.text_at(&["metadata", "creationTimestamp"])).ok()?;
            created.unix_nanos() + i128::from(length)
        }
    };
    let nanoseconds = u64::try_from(end.saturating_sub(now).max(0)).unwrap_or(u64::MAX);
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;

    use super::*;

    #[test]
    fn an_object_lives_as_long_as_its_label_says() {
        let of = |label: &str, now: &str| {
            let text = format!(
                "{{metadata: {{creationTimestamp: '2026-01-01T00:00:00Z', labels: {{cleanup.kyverno.io/ttl: '{label}'}}}}}}"
            );
            left(&yaml_value(&text).unwrap(), Time::parse_rfc3339(now).unwrap().unix_nanos())
        };
        let minutes = |n: u64| Some(Duration::from_secs(60 * n));
        assert_eq!(of("1h", "2026-01-01T00:20:00Z"), minutes(40));
        assert_eq!(of("1h", "2026-01-01T02:00:00Z"), minutes(0));
        assert_eq!(of("2026-01-02", "2026-01-01T23:00:00Z"), minutes(60));
        assert_eq!(of("soon", "2026-01-01T00:20:00Z"), None);
    }
}
