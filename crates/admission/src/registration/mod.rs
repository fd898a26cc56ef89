//! Registration: the webhook configurations that policies need.
//!
//! In: policy documents with their defaults, the kinds of the cluster, and where the server is.
//! Out: one `MutatingWebhookConfiguration` and one `ValidatingWebhookConfiguration` that send the
//! server what some rule may be about, and no more than the reference's do. Semantics:
//! `docs/reference/webhooks.md`, "What policies need".

mod classic;
mod fixed;
mod resources;
mod reviews;

use std::collections::BTreeSet;

use ephor_kubernetes::Kinds;
use ephor_value::{Map, Value};

pub use fixed::fixed;
pub use resources::{Entry, rules};

/// Whose names configurations and webhooks have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebhookNames {
    /// Names of our own, next to which another Kyverno keeps its own.
    #[default]
    Ephor,
    /// Kyverno's names, for clusters without Kyverno.
    Kyverno,
}

impl WebhookNames {
    /// The names of the mutating and of the validating configuration.
    pub fn configurations(self) -> [&'static str; 2] {
        match self {
            WebhookNames::Ephor => {
                ["ephor-resource-mutating-webhook-cfg", "ephor-resource-validating-webhook-cfg"]
            }
            WebhookNames::Kyverno => {
                ["kyverno-resource-mutating-webhook-cfg", "kyverno-resource-validating-webhook-cfg"]
            }
        }
    }

    /// The name of a webhook that Kyverno calls `name`.
    fn webhook(self, name: &str) -> String {
        match self {
            WebhookNames::Ephor => name.replacen(".kyverno.svc-", ".ephor.svc-", 1),
            WebhookNames::Kyverno => name.into(),
        }
    }
}

/// The kinds of the configurations, the mutating one first.
pub const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// The label that says which program owns an object, and its value for ours.
pub const OWNER: (&str, &str) = ("app.kubernetes.io/managed-by", "ephor");

/// Whether a configuration is ours.
pub fn is_own(configuration: &Value) -> bool {
    let labels = configuration.at(&["metadata", "labels"]);
    labels.is_some_and(|labels| labels.text_at(&[OWNER.0]) == OWNER.1)
}

/// A configuration without content, to look it up by.
pub fn reference(kind: &str, name: &str) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name", name.into());
    let mut m = Map::new();
    m.insert("apiVersion", "admissionregistration.k8s.io/v1".into());
    m.insert("kind", kind.into());
    m.insert("metadata", Value::Map(metadata));
    Value::Map(m)
}

/// The longest time that an API server lets a webhook take.
const MAX_TIMEOUT: i64 = 30;

/// Where the server is.
#[derive(Clone, Debug)]
pub enum Address {
    /// A service of the cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port.
        port: u16,
    },
    /// The beginning of all addresses, `https://host:port`.
    Url(String),
}

/// Settings of the configurations that are not part of policies.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose names configurations and webhooks have.
    pub names: WebhookNames,
    /// Where the server is.
    pub address: Address,
    /// The certificates to trust, base64 of PEM; empty = those of the machine.
    pub ca_bundle: String,
    /// Seconds that calls may take unless a policy wants more.
    pub timeout: i64,
    /// Namespaces whose objects are never sent.
    pub excluded_namespaces: Vec<String>,
    /// Whether failures never block.
    pub ignore_failures: bool,
    /// Whether blocking webhooks exclude nodes and signing requests, so that a cluster can start.
    pub exclude_bootstrap: bool,
    /// Selectors of namespaces and of objects for all webhooks.
    pub selectors: [Option<Value>; 2],
    /// Match conditions of webhooks for policies with rules that have none of their own.
    pub conditions: Vec<Value>,
    /// Labels of the configurations.
    pub labels: Map,
    /// Their annotations.
    pub annotations: Map,
}

impl Options {
    /// Those of a server at an address, with nothing set.
    pub fn of(address: Address) -> Options {
        Options {
            names: WebhookNames::Ephor,
            address,
            ca_bundle: String::new(),
            timeout: 10,
            excluded_namespaces: Vec::new(),
            ignore_failures: false,
            exclude_bootstrap: false,
            selectors: [None, None],
            conditions: Vec::new(),
            labels: Map::new(),
            annotations: Map::new(),
        }
    }
}

/// What policies need.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// The configurations, the mutating one first.
    pub configurations: Vec<Value>,
    /// Unknown kinds, as policies write them.
    pub unknown: BTreeSet<String>,
}

/// A webhook under construction.
#[derive(Clone, Debug, Default)]
struct Draft {
    name: String,
    path: String,
    fail: bool,
    rules: Vec<Value>,
    timeout: Option<i64>,
    exact: bool,
    /// Namespaces, objects.
    selectors: [Option<Value>; 2],
    conditions: Vec<Value>,
    reinvoke: bool,
}

/// The configurations that policies need.
pub fn needs<'p>(policies: impl IntoIterator<Item = &'p Value>, kinds: &Kinds, options: &Options) -> Needs {
    let policies: Vec<&Value> = policies.into_iter().collect();
    let mut needs = Needs::default();
    let mut both = [Vec::new(), Vec::new()];
    for (mutating, drafts) in [true, false].into_iter().zip(&mut both) {
        classic::add(&policies, mutating, kinds, options, drafts, &mut needs.unknown);
        for draft in drafts.iter_mut().filter(|d| d.conditions.is_empty()) {
            draft.conditions = options.conditions.clone();
        }
        reviews::add(&policies, mutating, options, drafts);
        drafts.retain(|d| !d.rules.is_empty());
        if options.names == WebhookNames::Kyverno {
            share_names(drafts);
        }
        drafts.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let kinds = KINDS.into_iter().zip(options.names.configurations());
    for ((kind, name), drafts) in kinds.zip(both) {
        let webhooks = drafts.into_iter().map(|d| d.written(options)).collect();
        needs.configurations.push(fixed::configuration(kind, name, webhooks, options));
    }
    needs
}

/// Kyverno gives the webhooks of image policies of namespaces the names of cluster-wide ones: they
/// have them where these are free.
fn share_names(drafts: &mut [Draft]) {
    let taken: BTreeSet<String> = drafts.iter().map(|draft| draft.name.clone()).collect();
    for draft in drafts.iter_mut().filter(|draft| draft.name.starts_with("nivpol.")) {
        if let Some(name) = draft.name.strip_prefix('n').filter(|name| !taken.contains(*name)) {
            draft.name = name.to_string();
        }
    }
}

impl Draft {
    fn written(self, options: &Options) -> Value {
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

const BOOTSTRAP: &str = "!(request.resource.group == \"\" && request.resource.resource == \"nodes\") && \
                         !(request.resource.group == \"certificates.k8s.io\" && request.resource.resource == \
                         \"certificatesigningrequests\")";

fn client(options: &Options, path: &str) -> Value {
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
fn both(own: Option<Value>, more: Option<&Value>) -> Option<Value> {
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
fn without_excluded(selector: Option<Value>, excluded: &[String]) -> Option<Value> {
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
fn blocks(policy: &Value, options: &Options) -> bool {
    // These refuse nothing, and have no failure policy.
    if policy.text_at(&["kind"]).ends_with("GeneratingPolicy") {
        return false;
    }
    let own = policy.text_at(&["spec", "webhookConfiguration", "failurePolicy"]);
    let word = if own.is_empty() { policy.text_at(&["spec", "failurePolicy"]) } else { own };
    word != "Ignore" && !options.ignore_failures
}

fn mode(fail: bool) -> &'static str {
    if fail { "fail" } else { "ignore" }
}

fn condition(name: &str, expression: &str) -> Value {
    Value::map([("name", name.into()), ("expression", expression.into())])
}

fn texts<'t>(all: impl IntoIterator<Item = &'t str>) -> Value {
    Value::list(all.into_iter().map(Value::from).collect())
}
