//! Objects under another version of their kind.
//!
//! Custom resources differ in `apiVersion` only. Of the built-in kinds two are served in versions
//! that differ: events and horizontal pod autoscalers.

use super::Types;
use ephor_value::quote::quote;
use ephor_value::{Map, Str, Value};

/// The object as another version of its kind; `None` = it is of that version already, or no object.
pub fn converted(object: &Value, to: &[Str; 3]) -> Option<Value> {
    let (Value::Map(m), [group, version, kind]) = (object, to) else { return None };
    let from = object.text_at(&["apiVersion"]);
    if from == api_version(to) {
        return None;
    }
    let changed = match (from, &**group, &**version, &**kind) {
        ("v1", "events.k8s.io", _, "Event") => renamed(m, &EVENT_FIELDS, false),
        ("events.k8s.io/v1", "", _, "Event") => renamed(m, &EVENT_FIELDS, true),
        ("autoscaling/v2", "autoscaling", "v1", "HorizontalPodAutoscaler") => autoscaler_to_v1(m),
        ("autoscaling/v1", "autoscaling", "v2", "HorizontalPodAutoscaler") => autoscaler_to_v2(m),
        _ => m.clone(),
    };
    Some(with_kind(&Value::Map(changed), to))
}

/// Group and version of a kind as objects write them.
pub fn api_version(kind: &[Str; 3]) -> String {
    let [group, version, _] = kind;
    if group.is_empty() { version.to_string() } else { format!("{group}/{version}") }
}

/// The kind of an object that a policy or webhook has changed; `kind` is the one that it had.
///
/// # Errors
/// The API server knows no such kind, or cannot make the former one of it.
pub fn changed_kind(object: &Value, kind: &[Str; 3], types: &Types) -> Result<[Str; 3], KindError> {
    if matches!(object, Value::List(_)) {
        return Err(KindError::NoObject);
    }
    for field in ["apiVersion", "kind"] {
        if let Some(found) = object.get(field).filter(|v| !v.is_null() && v.as_str().is_none()) {
            return Err(KindError::NoText { found: found.json_type(), field });
        }
    }
    let mut now = kind.clone();
    if let Some(name) = object.get("kind").and_then(Value::as_str).filter(|name| !name.is_empty()) {
        now[2] = name.into();
    }
    let custom = types.of_object(kind).is_none_or(|def| def.custom);
    let version = object.text_at(&["apiVersion"]);
    if version.matches('/').count() > 1 {
        return Err(KindError::Version(version.into()));
    }
    if custom && object.text_at(&["kind"]).is_empty() {
        return Err(KindError::Missing(ephor_value::print::json(object).into()));
    }
    if version == api_version(kind) || (version.is_empty() && !custom) {
        return match types.of_object(&now) {
            None if !custom => Err(KindError::unregistered(&now[2], &api_version(kind))),
            _ => Ok(now),
        };
    }
    let (group, part) = version.split_once('/').unwrap_or(("", version));
    let other = [Str::from(group), Str::from(part), now[2].clone()];
    match types.of_kind(&other) {
        _ if custom => Err(KindError::Custom {
            version: format!("{group}/{part}").into(),
            kind: (&*now[2]).into(),
            wanted: api_version(kind).into(),
        }),
        None => Err(KindError::unregistered(&now[2], version)),
        Some(_) => Ok(now),
    }
}

/// Why a changed object is of no kind that the API server accepts in its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KindError {
    /// A kind or version is no text.
    #[error(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go struct field \
         .{field} of type string"
    )]
    NoText {
        /// The JSON type of what is there.
        found: &'static str,
        /// The field.
        field: &'static str,
    },
    /// The object has become a list.
    #[error(
        "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type \
         struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
         \"json:\\\"kind,omitempty\\\"\" }}"
    )]
    NoObject,
    /// A version has more than one slash.
    #[error("unexpected GroupVersion string: {0}")]
    Version(Box<str>),
    /// A custom resource has no kind: the whole object.
    #[error("Object 'Kind' is missing in '{0}'")]
    Missing(Box<str>),
    /// There is no such kind.
    #[error(
        "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
        quote(.kind), quote(.version)
    )]
    Unregistered {
        /// The kind.
        kind: Box<str>,
        /// Its group and version.
        version: Box<str>,
    },
    /// A custom resource is not converted.
    #[error(
        "failed to convert object: {version}, Kind={kind} is unstructured and is not suitable for converting to {}",
        quote(.wanted)
    )]
    Custom {
        /// The group and version that the object has now.
        version: Box<str>,
        /// The kind that it has now.
        kind: Box<str>,
        /// The group and version that it had.
        wanted: Box<str>,
    },
}

impl KindError {
    fn unregistered(kind: &str, version: &str) -> KindError {
        // An empty group is not shown.
        let version = version.strip_prefix('/').unwrap_or(version);
        KindError::Unregistered { kind: kind.into(), version: version.into() }
    }
}

/// The object with the kind and version written into it.
pub fn with_kind(object: &Value, kind: &[Str; 3]) -> Value {
    let mut m = object.as_map().cloned().unwrap_or_default();
    m.insert("apiVersion", Value::from(api_version(kind)));
    m.insert("kind", Value::Str(kind[2].clone()));
    Value::Map(m)
}

/// Fields of events: as `v1` calls them, as `events.k8s.io/v1` does.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("message", "note"),
    ("involvedObject", "regarding"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

fn renamed(m: &Map, names: &[(&str, &str)], back: bool) -> Map {
    let name = |key: &Str| {
        let pair = names.iter().find(|(a, b)| if back { **b == **key } else { **a == **key });
        pair.map_or_else(|| key.clone(), |(a, b)| Str::from(if back { *a } else { *b }))
    };
    m.iter().map(|(k, v)| (name(k), v.clone())).collect()
}

/// The object with another `spec` and `status`.
fn rebuilt(m: &Map, spec: impl Fn(&Map) -> Map, status: impl Fn(&Map) -> Map) -> Map {
    let mut m = m.clone();
    for (key, change) in [("spec", &spec as &dyn Fn(&Map) -> Map), ("status", &status)] {
        if let Some(Value::Map(part)) = m.get(key) {
            let part = change(part);
            m.insert(key, Value::Map(part));
        }
    }
    m
}

fn is_cpu(metric: &Value) -> bool {
    metric.text_at(&["type"]) == "Resource" && metric.text_at(&["resource", "name"]) == "cpu"
}

fn cpu<'v>(part: &'v Map, key: &str) -> Option<&'v Value> {
    part.get(key)?.as_list()?.iter().find(|m| is_cpu(m))
}

fn autoscaler_to_v1(m: &Map) -> Map {
    rebuilt(
        m,
        |spec| {
            let mut out = spec.clone();
            let wanted =
                cpu(spec, "metrics").and_then(|m| m.at(&["resource", "target", "averageUtilization"]));
            let wanted = wanted.cloned();
            out.remove("metrics");
            out.remove("behavior");
            if let Some(wanted) = wanted {
                out.insert("targetCPUUtilizationPercentage", wanted);
            }
            out
        },
        |status| {
            let mut out = status.clone();
            let now = cpu(status, "currentMetrics")
                .and_then(|m| m.at(&["resource", "current", "averageUtilization"]))
                .cloned();
            out.remove("currentMetrics");
            out.remove("conditions");
            if !out.contains_key("currentReplicas") {
                out.insert("currentReplicas", Value::Int(0));
            }
            if let Some(now) = now {
                out.insert("currentCPUUtilizationPercentage", now);
            }
            out
        },
    )
}

fn entry(key: &str, value: Value) -> Value {
    Value::Map([(Str::from(key), value)].into_iter().collect())
}

fn resource_metric(part: &str, values: Map) -> Value {
    let mut resource = Map::new();
    resource.insert("name", "cpu".into());
    resource.insert(part, Value::Map(values));
    let mut metric = Map::new();
    metric.insert("resource", Value::Map(resource));
    metric.insert("type", "Resource".into());
    Value::Map(metric)
}

fn autoscaler_to_v2(m: &Map) -> Map {
    rebuilt(
        m,
        |spec| {
            let mut out = spec.clone();
            if let Some(wanted) = out.remove("targetCPUUtilizationPercentage") {
                let mut target = Map::new();
                target.insert("averageUtilization", wanted);
                target.insert("type", "Utilization".into());
                out.insert("metrics", Value::list(vec![resource_metric("target", target)]));
            }
            out
        },
        |status| {
            let mut out = status.clone();
            let now = out.remove("currentCPUUtilizationPercentage");
            let metrics = now.map(|now| {
                let current = entry("averageUtilization", now).as_map().cloned().unwrap_or_default();
                Value::list(vec![resource_metric("current", current)])
            });
            // The newer version leaves a count of zero out.
            if out.get("currentReplicas").and_then(Value::as_number) == Some(0.0) {
                out.remove("currentReplicas");
            }
            out.insert("currentMetrics", metrics.unwrap_or_default());
            out
        },
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn objects_stay_of_kinds_that_the_server_knows() {
        let kind = ["".into(), "v1".into(), "ConfigMap".into()];
        let changed = |text: &str| {
            let object = ephor_document::yaml_value(text).unwrap();
            let changed = changed_kind(&object, &kind, Types::built_in());
            changed.map(|kind| kind[2].to_string()).map_err(|e| e.to_string())
        };
        let unknown = |kind: &str, version: &str| {
            let place = "in scheme \"pkg/runtime/scheme.go:111\"";
            Err(format!("no kind \"{kind}\" is registered for version \"{version}\" {place}"))
        };
        assert_eq!(changed("{apiVersion: v1, kind: Secret}"), Ok("Secret".into()));
        assert_eq!(changed("{apiVersion: '', kind: ''}"), Ok("ConfigMap".into()));
        assert_eq!(changed("{apiVersion: v1, kind: Nothing}"), unknown("Nothing", "v1"));
        assert_eq!(changed("{apiVersion: apps/v1, kind: ConfigMap}"), unknown("ConfigMap", "apps/v1"));
        assert_eq!(changed("{apiVersion: /v1x, kind: ConfigMap}"), unknown("ConfigMap", "v1x"));
        let parse = "couldn't get version/kind; json parse error: json: cannot unmarshal";
        let no_text = |found: &str, field: &str| {
            Err(format!("{parse} {found} into Go struct field .{field} of type string"))
        };
        assert_eq!(changed("{apiVersion: v1, kind: 2.0}"), no_text("number", "kind"));
        assert_eq!(changed("{apiVersion: [], kind: {}}"), no_text("array", "apiVersion"));
        assert_eq!(changed("{apiVersion: null, kind: null}"), Ok("ConfigMap".into()));
        assert_eq!(changed("{apiVersion: a/b/c}"), Err("unexpected GroupVersion string: a/b/c".into()));
        let custom = ["a.test".into(), "v1".into(), "Thing".into()];
        let bare = ephor_document::yaml_value("{x: <, apiVersion: a.test/v1}").unwrap();
        assert_eq!(
            changed_kind(&bare, &custom, Types::built_in()).unwrap_err().to_string(),
            r#"Object 'Kind' is missing in '{"apiVersion":"a.test/v1","x":"\u003c"}'"#
        );
        let other = ephor_document::yaml_value("{apiVersion: v2, kind: Thing}").unwrap();
        assert_eq!(
            changed_kind(&other, &custom, Types::built_in()).unwrap_err().to_string(),
            "failed to convert object: /v2, Kind=Thing is unstructured and is not suitable for converting to \"a.test/v1\""
        );
    }
}
