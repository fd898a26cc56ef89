//! A webhook under construction, and how it is written.

use super::options::{Address, Options};
use ephor_value::{Map, Value};

/// The longest time that an API server lets a webhook take.
pub(super) const MAX_TIMEOUT: i64 = 30;

/// A webhook under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) fail: bool,
    pub(super) rules: Vec<Value>,
    pub(super) timeout: Option<i64>,
    pub(super) exact: bool,
    /// Namespaces, objects.
    pub(super) selectors: [Option<Value>; 2],
    pub(super) conditions: Vec<Value>,
    pub(super) reinvoke: bool,
}

impl Draft {
    pub(super) fn written(self, options: &Options) -> Value {
        let mut m = Map::new();
        m.insert("name", options.names.webhook(&self.name).into());
        m.insert("admissionReviewVersions", texts(["v1"]));
        m.insert("clientConfig", client(options, &self.path));
        m.insert("failurePolicy", if self.fail { "Fail" } else { "Ignore" }.into());
        m.insert("matchPolicy", if self.exact { "Exact" } else { "Equivalent" }.into());
        let mut conditions = self.conditions;
        if self.fail && options.exclude_bootstrap {
            conditions.push(condition("kyverno-exclude-bootstrap-resources", BOOTSTRAP));
        }
        if !conditions.is_empty() {
            m.insert("matchConditions", Value::list(conditions));
        }
        let [namespaces, objects] = self.selectors;
        let [all_namespaces, all_objects] = &options.selectors;
        let namespaces = both(namespaces, all_namespaces.as_ref());
        let objects = both(objects, all_objects.as_ref());
        if let Some(selector) = without_excluded(namespaces, &options.excluded_namespaces) {
            m.insert("namespaceSelector", selector);
        }
        if let Some(selector) = objects {
            m.insert("objectSelector", selector);
        }
        if self.reinvoke {
            m.insert("reinvocationPolicy", "IfNeeded".into());
        }
        m.insert("rules", Value::list(self.rules));
        m.insert("sideEffects", "NoneOnDryRun".into());
        m.insert("timeoutSeconds", Value::Int(self.timeout.unwrap_or(options.timeout).clamp(1, MAX_TIMEOUT)));
        Value::Map(m)
    }
}

pub(super) const BOOTSTRAP: &str = "!(request.resource.group == \"\" && request.resource.resource == \"nodes\") && \
                         !(request.resource.group == \"certificates.k8s.io\" && request.resource.resource == \
                         \"certificatesigningrequests\")";

pub(super) fn client(options: &Options, path: &str) -> Value {
    let mut m = Map::new();
    if !options.ca_bundle.is_empty() {
        m.insert("caBundle", Value::from(&*options.ca_bundle));
    }
    match &options.address {
        Address::Url(base) => {
            m.insert("url", format!("{}{path}", base.trim_end_matches('/')).into());
        }
        Address::Service { namespace, name, port } => {
            let service = Value::map([
                ("name", Value::from(&**name)),
                ("namespace", Value::from(&**namespace)),
                ("path", path.into()),
                ("port", Value::Int((*port).into())),
            ]);
            m.insert("service", service);
        }
    }
    Value::Map(m)
}

/// What two selectors select: of equal labels the second one's counts.
pub(super) fn both(own: Option<Value>, more: Option<&Value>) -> Option<Value> {
    let (Some(one), Some(more)) = (&own, more) else { return own.or_else(|| more.cloned()) };
    let mut m = one.as_map().cloned().unwrap_or_default();
    if let Some(labels) = more.get("matchLabels").and_then(Value::as_map) {
        let mut all = m.get("matchLabels").and_then(Value::as_map).cloned().unwrap_or_default();
        labels.iter().for_each(|(k, v)| drop(all.insert(k.clone(), v.clone())));
        m.insert("matchLabels", Value::Map(all));
    }
    if let Some(expressions) = more.get("matchExpressions").and_then(Value::as_list) {
        let mut all = m.get("matchExpressions").and_then(Value::as_list).unwrap_or_default().to_vec();
        all.extend(expressions.iter().cloned());
        m.insert("matchExpressions", Value::list(all));
    }
    Some(Value::Map(m))
}

/// A selector of namespaces that also leaves some out.
pub(super) fn without_excluded(selector: Option<Value>, excluded: &[String]) -> Option<Value> {
    if excluded.is_empty() {
        return selector;
    }
    let requirement = Value::map([
        ("key", "kubernetes.io/metadata.name".into()),
        ("operator", "NotIn".into()),
        ("values", texts(excluded.iter().map(String::as_str))),
    ]);
    let mut m = selector.as_ref().and_then(Value::as_map).cloned().unwrap_or_default();
    let mut all = m.get("matchExpressions").and_then(Value::as_list).unwrap_or_default().to_vec();
    all.push(requirement);
    m.insert("matchExpressions", Value::list(all));
    Some(Value::Map(m))
}

/// The failure policy that counts, and the name that it has in paths.
pub(super) fn blocks(policy: &Value, options: &Options) -> bool {
    // These refuse nothing, and have no failure policy.
    if policy.text_at(&["kind"]).ends_with("GeneratingPolicy") {
        return false;
    }
    let own = policy.text_at(&["spec", "webhookConfiguration", "failurePolicy"]);
    let word = if own.is_empty() { policy.text_at(&["spec", "failurePolicy"]) } else { own };
    word != "Ignore" && !options.ignore_failures
}

pub(super) fn mode(fail: bool) -> &'static str {
    if fail { "fail" } else { "ignore" }
}

pub(super) fn condition(name: &str, expression: &str) -> Value {
    Value::map([("name", name.into()), ("expression", expression.into())])
}

pub(super) fn texts<'t>(all: impl IntoIterator<Item = &'t str>) -> Value {
    Value::list(all.into_iter().map(Value::from).collect())
}
