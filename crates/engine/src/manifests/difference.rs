//! How an object differs from its manifest: the fields with other values, those left out that the
//! API server, controllers and the signing itself set.

use std::collections::BTreeMap;
use std::fmt::Write;

use ephor_functions::regex::go_regex;
use ephor_ir::manifests::{Ignored, Manifests, Objects};
use ephor_value::Value;
use ephor_value::number::float_v;
use ephor_value::print::{json, write_json_string};
use ephor_value::wildcard::Wildcard;

/// Fields of all objects that are never compared. Names stand for every path that they are part of,
/// `*` for any text.
const ALWAYS: &[&str] = &[
    "metadata.namespace",
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.creationTimestamp",
    "metadata.selfLink",
    "metadata.managedFields",
    "metadata.finalizers",
    "metadata.annotations.namespace",
    "metadata.annotations.kubectl.kubernetes.io/last-applied-configuration",
    "metadata.annotations.deployment.kubernetes.io/revision",
    "metadata.annotations.control-plane.alpha.kubernetes.io/leader",
    "metadata.annotations.deprecated.daemonset.template.generation",
    "status",
    "spec.containers.*.imagePullPolicy",
    "spec.containers.*.terminationMessagePath",
    "spec.containers.*.terminationMessagePolicy",
    "spec.dnsPolicy",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.terminationGracePeriodSeconds",
];

/// The same for kinds.
const BY_KIND: &[(&str, &[&str])] = &[
    (
        "Deployment",
        &[
            "spec.containers.*.ports.*.protocol",
            "spec.containers.*.resources",
            "spec.progressDeadlineSeconds",
            "spec.revisionHistoryLimit",
            "spec.strategy",
        ],
    ),
    (
        "Pod",
        &[
            "spec.containers.*.volumeMounts.*",
            "spec.enableServiceLinks",
            "spec.preemptionPolicy",
            "spec.priority",
            "spec.serviceAccount",
            "spec.serviceAccountName",
            "spec.tolerations.*",
            "spec.volumes.*.name",
            "spec.volumes.*.projected.*",
        ],
    ),
    (
        "Service",
        &[
            "spec.clusterIP",
            "spec.internalTrafficPolicy",
            "spec.ipFamilies",
            "spec.ipFamilyPolicy",
            "spec.ports.*.nodePort",
            "spec.sessionAffinity",
            "spec.type",
        ],
    ),
    ("ServiceAccount", &["imagePullSecrets.*.name", "secrets.*.name"]),
    ("CustomResourceDefinition", &["spec.conversion.strategy", "spec.names.listKind"]),
    ("ClusterPolicy", &["spec.background", "spec.failurePolicy", "spec.validationFailureAction"]),
    ("Policy", &["spec.background", "spec.failurePolicy", "spec.validationFailureAction"]),
    ("Route", &["spec.host"]),
];

/// Annotations of the domain that signing sets.
const SIGNING: &[&str] = &["message", "signature", "certificate", "bundle", "resourceBundleRef"];

/// Which fields of an object are compared.
pub struct Fields {
    ignored: Vec<regex::Regex>,
}

impl Fields {
    /// Finds out for an object.
    pub fn of(wanted: &Manifests, object: &Value) -> Fields {
        let kind = object.text_at(&["kind"]);
        let by_kind = BY_KIND.iter().filter(|(k, _)| *k == kind).flat_map(|(_, fields)| *fields);
        let own = wanted.ignored.iter().filter(|i| concerns(i, object)).flat_map(|i| &i.fields);
        let signing = SIGNING.iter().map(|name| format!("metadata.annotations.{}/{name}", wanted.domain));
        let patterns = ALWAYS
            .iter()
            .chain(by_kind)
            .map(|s| (*s).to_owned())
            .chain(own.map(|s| String::from(&**s)))
            .chain(signing);
        // Expressions that are not well-formed find nothing.
        Fields { ignored: patterns.filter_map(|p| go_regex(&p.replace('*', ".*")).ok()).collect() }
    }

    /// The differences as Kyverno prints them; `None` = there are none.
    pub fn differences(&self, manifest: &Value, object: &Value) -> Option<String> {
        let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
        leaves(manifest, String::new(), &mut before);
        leaves(object, String::new(), &mut after);
        let paths: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let mut items = String::new();
        for path in paths {
            let (was, is) = (before.get(path), after.get(path));
            let same = match (was, is) {
                (Some(a), Some(b)) => a.json_eq(b),
                _ => false,
            };
            if same || self.ignored.iter().any(|r| r.is_match(path)) {
                continue;
            }
            items.push_str(if items.is_empty() { "{\"key\":" } else { ",{\"key\":" });
            write_json_string(&mut items, path);
            let (is, was) = json_texts(is.copied(), was.copied());
            let _ = write!(items, ",\"values\":{{\"after\":{is},\"before\":{was}}}}}");
        }
        (!items.is_empty()).then(|| format!("{{\"items\":[{items}]}}"))
    }
}

/// The scalars of a document by path; null counts as absent.
fn leaves<'v>(value: &'v Value, path: String, out: &mut BTreeMap<String, &'v Value>) {
    let below = |key: &dyn std::fmt::Display| match path.is_empty() {
        true => key.to_string(),
        false => format!("{path}.{key}"),
    };
    match value {
        Value::Map(fields) => fields.iter().for_each(|(k, v)| leaves(v, below(&k), out)),
        Value::List(items) => items.iter().enumerate().for_each(|(i, v)| leaves(v, below(&i), out)),
        Value::Null => {}
        _ => {
            out.insert(path, value);
        }
    }
}

/// Two values as JSON; where their types differ, texts that name these.
fn json_texts(a: Option<&Value>, b: Option<&Value>) -> (String, String) {
    let typed = |v: &Value| match v {
        Value::Str(s) => ("string", format!("(type: string) {s}")),
        Value::Bool(on) => ("bool", format!("(type: bool) %!s(bool={on})")),
        other => {
            let number = other.as_number().map(float_v).unwrap_or_default();
            ("float64", format!("(type: float64) %!s(float64={number})"))
        }
    };
    if let (Some(a), Some(b)) = (a, b) {
        let (a, b) = (typed(a), typed(b));
        if a.0 != b.0 {
            return (json(&Value::from(a.1)), json(&Value::from(b.1)));
        }
    }
    let plain = |v: Option<&Value>| v.map_or_else(|| "null".to_owned(), json);
    (plain(a), plain(b))
}

fn concerns(ignored: &Ignored, object: &Value) -> bool {
    let (group, version) = {
        let text = object.text_at(&["apiVersion"]);
        text.split_once('/').unwrap_or(("", text))
    };
    let fits = |pattern: &Option<Wildcard>, text: &str| pattern.as_ref().is_none_or(|p| p.matches(text));
    let is_one = |o: &Objects| {
        fits(&o.group, group)
            && fits(&o.version, version)
            && fits(&o.kind, object.text_at(&["kind"]))
            && fits(&o.name, object.text_at(&["metadata", "name"]))
            && fits(&o.namespace, object.text_at(&["metadata", "namespace"]))
    };
    ignored.objects.is_empty() || ignored.objects.iter().any(is_one)
}
