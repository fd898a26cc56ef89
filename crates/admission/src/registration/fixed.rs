//! The webhook configurations that do not depend on which policies there are: for policies themselves, exceptions, global
//! context entries, and labels that say how long objects live.
//!
//! In: the options, and which kinds are served. Out: validating configurations. Names, rules and failure policies are Kyverno's
//! (`docs/cluster.md`, "Webhook configurations"); its webhooks that change nothing are not registered.

use crate::value::{Map, Value};

use super::{Names, OWNER, Options, client, texts};

/// Kinds of policies, as rules name them.
const CLASSIC: [(&str, &str); 2] = [("ClusterPolicy", "clusterpolicies"), ("Policy", "policies")];
const CEL: [(&str, &str); 10] = [
    ("ValidatingPolicy", "validatingpolicies"),
    ("NamespacedValidatingPolicy", "namespacedvalidatingpolicies"),
    ("ImageValidatingPolicy", "imagevalidatingpolicies"),
    ("NamespacedImageValidatingPolicy", "namespacedimagevalidatingpolicies"),
    ("GeneratingPolicy", "generatingpolicies"),
    ("NamespacedGeneratingPolicy", "namespacedgeneratingpolicies"),
    ("MutatingPolicy", "mutatingpolicies"),
    ("NamespacedMutatingPolicy", "namespacedmutatingpolicies"),
    ("DeletingPolicy", "deletingpolicies"),
    ("NamespacedDeletingPolicy", "namespaceddeletingpolicies"),
];
const CLEANUP: [(&str, &str); 2] =
    [("CleanupPolicy", "cleanuppolicies/*"), ("ClusterCleanupPolicy", "clustercleanuppolicies/*")];
const GROUP: &str = "kyverno.io";
const CEL_GROUP: &str = "policies.kyverno.io";

/// A configuration with one webhook.
struct Fixed {
    /// What stands between the prefix and `-webhook-cfg`.
    name: &'static str,
    /// The webhook's name; `None` = that of the service.
    webhook: Option<&'static str>,
    path: &'static str,
    rules: Vec<Value>,
    fail: bool,
    selector: Option<Value>,
    conditions: bool,
}

/// The configurations for the kinds that `is_served` says are served (group, kind).
pub fn fixed(options: &Options, is_served: &dyn Fn(&str, &str) -> bool) -> Vec<Value> {
    let resources = |group: &str, all: &[(&str, &'static str)]| -> Vec<&'static str> {
        all.iter().filter(|(kind, _)| is_served(group, kind)).map(|(_, plural)| *plural).collect()
    };
    let (classic, cel) = (resources(GROUP, &CLASSIC), resources(CEL_GROUP, &CEL));
    let mut of_policies = Vec::new();
    if !classic.is_empty() {
        of_policies.push(rule(GROUP, &["v1", "v2beta1"], &classic));
    }
    of_policies.extend(cel.iter().map(|plural| rule(CEL_GROUP, &["v1alpha1", "v1beta1", "v1"], &[plural])));
    let rules_of = |served: bool, group: &str, versions: &[&str], plural: &[&str]| match served {
        true => vec![rule(group, versions, plural)],
        false => Vec::new(),
    };
    let cleanups = resources(GROUP, &CLEANUP);
    let classic_exceptions = is_served(GROUP, "PolicyException");
    let cel_exceptions = is_served(CEL_GROUP, "PolicyException");
    let all = [
        Fixed {
            webhook: Some("validate-policy.kyverno.svc"),
            fail: true,
            ..Fixed::new("policy-validating", "/policyvalidate", of_policies)
        },
        Fixed::new(
            "exception-validating",
            "/exceptionvalidate",
            rules_of(classic_exceptions, GROUP, &["v2alpha1", "v2beta1"], &["policyexceptions"]),
        ),
        Fixed::new(
            "cel-exception-validating",
            "/celexception/validate",
            rules_of(cel_exceptions, CEL_GROUP, &["v1alpha1", "v1beta1", "v1"], &["policyexceptions"]),
        ),
        Fixed::new(
            "global-context-validating",
            "/globalcontextvalidate",
            rules_of(!classic.is_empty(), GROUP, &["v2alpha1"], &["globalcontextentries"]),
        ),
        Fixed::new(
            "cleanup-validating",
            "/cleanupvalidate",
            rules_of(!cleanups.is_empty(), GROUP, &["v2beta1"], &cleanups),
        ),
        Fixed {
            fail: false,
            selector: Some(Value::map([(
                "matchExpressions",
                Value::list(vec![Value::map([
                    ("key", "cleanup.kyverno.io/ttl".into()),
                    ("operator", "Exists".into()),
                ])]),
            )])),
            ..Fixed::new("ttl-validating", "/verifyttl", rules_of(!cleanups.is_empty(), "*", &["*"], &["*"]))
        },
    ];
    all.into_iter().filter(|fixed| !fixed.rules.is_empty()).map(|fixed| fixed.written(options)).collect()
}

fn rule(group: &str, versions: &[&str], resources: &[&str]) -> Value {
    Value::map([
        ("apiGroups", texts([group])),
        ("apiVersions", texts(versions.iter().copied())),
        ("resources", texts(resources.iter().copied())),
        ("operations", texts(["CREATE", "UPDATE"])),
        ("scope", "*".into()),
    ])
}

impl Fixed {
    fn new(name: &'static str, path: &'static str, rules: Vec<Value>) -> Fixed {
        Fixed { name, webhook: None, path, rules, fail: true, selector: None, conditions: true }
    }

    fn written(self, options: &Options) -> Value {
        let prefix = match options.names {
            Names::Ephor => "ephor",
            Names::Kyverno => "kyverno",
        };
        let mut webhook = Map::new();
        webhook.insert("name", self.webhook_name(options).into());
        webhook.insert("admissionReviewVersions", texts(["v1"]));
        webhook.insert("clientConfig", client(options, self.path));
        webhook.insert("failurePolicy", if self.fail { "Fail" } else { "Ignore" }.into());
        webhook.insert("matchPolicy", "Equivalent".into());
        if self.conditions && self.webhook.is_none() && !options.conditions.is_empty() {
            webhook.insert("matchConditions", Value::list(options.conditions.clone()));
        }
        if let Some(selector) = self.selector {
            webhook.insert("objectSelector", selector);
        }
        webhook.insert("rules", Value::list(self.rules));
        webhook.insert("sideEffects", "None".into());
        webhook.insert("timeoutSeconds", Value::Int(options.timeout));
        let name = format!("{prefix}-{}-webhook-cfg", self.name);
        configuration("ValidatingWebhookConfiguration", &name, vec![Value::Map(webhook)], options)
    }

    fn webhook_name(&self, options: &Options) -> String {
        match (self.webhook, &options.address) {
            (Some(name), _) => match options.names {
                Names::Ephor => name.replacen(".kyverno.svc", ".ephor.svc", 1),
                Names::Kyverno => name.into(),
            },
            (None, super::Address::Service { namespace, name, .. }) => format!("{name}.{namespace}.svc"),
            (None, super::Address::Url(_)) => format!("{}.ephor.svc", self.name),
        }
    }
}

/// A configuration with its labels and annotations.
pub(super) fn configuration(kind: &str, name: &str, webhooks: Vec<Value>, options: &Options) -> Value {
    let mut labels = options.labels.clone();
    labels.insert(OWNER.0, OWNER.1.into());
    if options.names == Names::Kyverno {
        labels.insert("webhook.kyverno.io/managed-by", "kyverno".into());
    }
    let mut metadata = Map::new();
    metadata.insert("name", name.into());
    metadata.insert("labels", Value::Map(labels));
    if !options.annotations.is_empty() {
        metadata.insert("annotations", Value::Map(options.annotations.clone()));
    }
    Value::map([
        ("apiVersion", "admissionregistration.k8s.io/v1".into()),
        ("kind", kind.into()),
        ("metadata", Value::Map(metadata)),
        ("webhooks", Value::list(webhooks)),
    ])
}
