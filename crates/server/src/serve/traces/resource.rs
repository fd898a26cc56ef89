//! What the spans and metrics of a replica say about it.
//!
//! In: the environment. Out: the resource of OpenTelemetry: service, instance, Pod.
//! `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME` take precedence over what the Pod's own
//! variables say.

use std::sync::OnceLock;

use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};

/// Variables that the chart sets from the Pod, and the attributes that they are.
const OF_POD: [(&str, &str); 4] = [
    ("POD_NAMESPACE", "k8s.namespace.name"),
    ("POD_NAME", "k8s.pod.name"),
    ("POD_UID", "k8s.pod.uid"),
    ("NODE_NAME", "k8s.node.name"),
];
/// The name of the container in the chart.
const CONTAINER: &str = "ephor";

/// The resource of this replica.
pub fn of_replica(variable: impl Fn(&str) -> Option<String>) -> Resource {
    let set = |name: &str| variable(name).filter(|v| !v.is_empty());
    let pod = OF_POD.into_iter().filter_map(|(name, key)| Some(KeyValue::new(key, set(name)?)));
    let service = [
        KeyValue::new("service.name", "ephor"),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", instance(set("POD_NAMESPACE"), set("POD_NAME"))),
    ];
    Resource::builder_empty()
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_attributes(service)
        .with_attributes(pod)
        .with_detector(Box::new(EnvResourceDetector::new()))
        .with_attributes(set("OTEL_SERVICE_NAME").map(|name| KeyValue::new("service.name", name)))
        .build()
}

/// Namespace, Pod and container, as the conventions for Kubernetes say; otherwise a UUID that is
/// drawn once for the process.
fn instance(namespace: Option<String>, pod: Option<String>) -> String {
    static DRAWN: OnceLock<String> = OnceLock::new();
    if let (Some(namespace), Some(pod)) = (namespace, pod) {
        return format!("{namespace}.{pod}.{CONTAINER}");
    }
    DRAWN.get_or_init(random).clone()
}

/// A random UUID.
fn random() -> String {
    // Version 4: all bits are random but those that say so.
    let bits = rand::random::<u128>() & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use opentelemetry::Key;

    use super::*;

    fn of(all: &[(&str, &str)], key: &'static str) -> Option<String> {
        let resource = of_replica(|name| all.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string()));
        resource.get(&Key::new(key)).map(|v| v.to_string())
    }

    #[test]
    fn a_replica_is_named_by_its_pod() {
        let pod = [("POD_NAMESPACE", "ephor"), ("POD_NAME", "ephor-0"), ("NODE_NAME", "n1")];
        assert_eq!(of(&pod, "service.name").as_deref(), Some("ephor"));
        assert_eq!(of(&pod, "service.instance.id").as_deref(), Some("ephor.ephor-0.ephor"));
        assert_eq!(of(&pod, "k8s.pod.name").as_deref(), Some("ephor-0"));
        assert_eq!(of(&pod, "k8s.namespace.name").as_deref(), Some("ephor"));
        assert_eq!(of(&pod, "k8s.node.name").as_deref(), Some("n1"));
        assert_eq!(of(&pod, "k8s.pod.uid"), None);
    }

    #[test]
    fn a_replica_outside_of_a_cluster_has_one_random_identifier() {
        let (one, other) = (of(&[], "service.instance.id"), of(&[], "service.instance.id"));
        assert_eq!(one, other);
        assert_ne!(random(), random());
        let one = one.unwrap_or_default();
        assert_eq!((one.len(), one.get(14..15)), (36, Some("4")), "{one}");
        assert!(one.get(19..20).is_some_and(|v| "89ab".contains(v)), "{one}");
    }

    #[test]
    fn the_service_is_named_by_the_environment_of_opentelemetry() {
        assert_eq!(of(&[("OTEL_SERVICE_NAME", "policies")], "service.name").as_deref(), Some("policies"));
    }
}
