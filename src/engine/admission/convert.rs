//! Objects under another version of their kind.
//!
//! Custom resources differ in `apiVersion` only. Of the built-in kinds two are served in versions that
//! differ: events and horizontal pod autoscalers.

use crate::value::{Map, Str, Value};

/// The object as another version of its kind.
pub fn converted(object: &Value, to: &[Str; 3]) -> Value {
    let (Value::Map(m), [group, version, kind]) = (object, to) else { return object.clone() };
    let from = object.text_at(&["apiVersion"]);
    if from == api_version(to) {
        return object.clone();
    }
    let changed = match (from, &**group, &**version, &**kind) {
        ("v1", "events.k8s.io", _, "Event") => renamed(m, &EVENT_FIELDS, false),
        ("events.k8s.io/v1", "", _, "Event") => renamed(m, &EVENT_FIELDS, true),
        ("autoscaling/v2", "autoscaling", "v1", "HorizontalPodAutoscaler") => autoscaler_to_v1(m),
        ("autoscaling/v1", "autoscaling", "v2", "HorizontalPodAutoscaler") => autoscaler_to_v2(m),
        _ => m.clone(),
    };
    with_kind(&Value::Map(changed), to)
}

fn api_version(kind: &[Str; 3]) -> String {
    let [group, version, _] = kind;
    if group.is_empty() { version.to_string() } else { format!("{group}/{version}") }
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
