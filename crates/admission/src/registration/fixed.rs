//! The webhook configurations that do not depend on which policies there are: for policies
//! themselves, exceptions, global context entries, and labels that say how long objects live.
//!
//! In: the options, and which kinds are served. Out: the configurations. Names, rules and failure
//! policies are Kyverno's (`docs/reference/cluster.md`, "Webhook configurations"); its mutating
//! webhooks, which change nothing, are there under Kyverno's names alone: tools that look for all
//! that a Kyverno installation has find them.

use ephor_value::{Map, Value};

use super::draft::{client, texts};
use super::options::{OWNER, Options, WebhookNames};

/// Kinds of policies, as rules name them.
const CLASSIC: [(&str, &str); 2] = [("ClusterPolicy", "clusterpolicies"), ("Policy", "policies")];
const CEL: [(&str, &str); 9] = [
    ("ValidatingPolicy", "validatingpolicies"),
    ("NamespacedValidatingPolicy", "namespacedvalidatingpolicies"),
    ("ImageValidatingPolicy", "imagevalidatingpolicies"),
    ("NamespacedImageValidatingPolicy", "namespacedimagevalidatingpolicies"),
    ("GeneratingPolicy", "generatingpolicies"),
    ("NamespacedGeneratingPolicy", "namespacedgeneratingpolicies"),
    ("MutatingPolicy", "mutatingpolicies"),
    ("NamespacedMutatingPolicy", "namespacedmutatingpolicies"),
    ("DeletingPolicy", "deletingpolicies"),
];
/// Kyverno registers no webhook for these; they have a configuration of their own, so that its own
/// ones are as Kyverno writes them.
const UNREGISTERED: [(&str, &str); 1] = [("NamespacedDeletingPolicy", "namespaceddeletingpolicies")];
const CLEANUP: [(&str, &str); 2] =
    [("CleanupPolicy", "cleanuppolicies/*"), ("ClusterCleanupPolicy", "clustercleanuppolicies/*")];
const GROUP: &str = "kyverno.io";
const CEL_GROUP: &str = "policies.kyverno.io";

/// A configuration with one webhook.
struct Fixed {
    mutating: bool,
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
    // The kinds of namespaces have no first version.
    let versions = |plural: &str| match plural.starts_with("namespaced") {
        true => &["v1beta1", "v1"][..],
        false => &["v1alpha1", "v1beta1", "v1"],
    };
    of_policies.extend(cel.iter().map(|plural| rule(CEL_GROUP, versions(plural), &[plural])));
    let unregistered = resources(CEL_GROUP, &UNREGISTERED);
    let unregistered = unregistered.iter().map(|plural| rule(CEL_GROUP, versions(plural), &[plural]));
    let rules_of = |served: bool, group: &str, versions: &[&str], plural: &[&str]| match served {
        true => vec![rule(group, versions, plural)],
        false => Vec::new(),
    };
    // The Lease of Kyverno's own health check; nothing else has that label.
    let own_leases = labelled("matchLabels", Value::map([("app.kubernetes.io/name", "kyverno".into())]));
    let has_ttl = Value::map([("key", "cleanup.kyverno.io/ttl".into()), ("operator", "Exists".into())]);
    let has_ttl = labelled("matchExpressions", Value::list(vec![has_ttl]));
    let cleanups = resources(GROUP, &CLEANUP);
    let of_classic = of_policies.first().cloned().filter(|_| !classic.is_empty());
    let of_leases = update("coordination.k8s.io", "v1", "leases");
    let classic_exceptions = is_served(GROUP, "PolicyException");
    let cel_exceptions = is_served(CEL_GROUP, "PolicyException");
    let all = [
        Fixed {
            mutating: true,
            webhook: Some("mutate-policy.kyverno.svc"),
            ..Fixed::new("policy-mutating", "/policymutate", of_classic.into_iter().collect())
        },
        Fixed {
            mutating: true,
            webhook: Some("monitor-webhooks.kyverno.svc"),
            fail: false,
            selector: Some(own_leases),
            ..Fixed::new("verify-mutating", "/verifymutate", vec![of_leases])
        },
        Fixed {
            webhook: Some("validate-policy.kyverno.svc"),
            fail: true,
            ..Fixed::new("policy-validating", "/policyvalidate", of_policies)
        },
        Fixed {
            webhook: Some("validate-deleting-policy.kyverno.svc"),
            ..Fixed::new("deleting-policy-validating", "/policyvalidate", unregistered.collect())
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
            selector: Some(has_ttl),
            ..Fixed::new("ttl-validating", "/verifyttl", rules_of(!cleanups.is_empty(), "*", &["*"], &["*"]))
        },
    ];
    let is_wanted = |fixed: &Fixed| {
        !fixed.rules.is_empty() && (!fixed.mutating || options.names == WebhookNames::Kyverno)
    };
    all.into_iter().filter(is_wanted).map(|fixed| fixed.written(options)).collect()
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

fn update(group: &str, version: &str, resource: &str) -> Value {
    rule(group, &[version], &[resource]).with("operations", texts(["UPDATE"]))
}

fn labelled(key: &str, requirements: Value) -> Value {
    Value::map([(key, requirements)])
}

impl Fixed {
    fn new(name: &'static str, path: &'static str, rules: Vec<Value>) -> Fixed {
        let (mutating, fail, conditions) = (false, true, true);
        Fixed { mutating, name, webhook: None, path, rules, fail, selector: None, conditions }
    }

    fn written(self, options: &Options) -> Value {
        let prefix = match options.names {
            WebhookNames::Ephor => "ephor",
            WebhookNames::Kyverno => "kyverno",
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
        if self.mutating {
            webhook.insert("reinvocationPolicy", "IfNeeded".into());
        }
        webhook.insert("sideEffects", if self.mutating { "NoneOnDryRun" } else { "None" }.into());
        webhook.insert("timeoutSeconds", Value::Int(options.timeout));
        let name = format!("{prefix}-{}-webhook-cfg", self.name);
        let [mutating, validating] = super::options::KINDS;
        let kind = if self.mutating { mutating } else { validating };
        configuration(kind, &name, vec![Value::Map(webhook)], options)
    }

    fn webhook_name(&self, options: &Options) -> String {
        match (self.webhook, &options.address) {
            (Some(name), _) => match options.names {
                WebhookNames::Ephor => name.replacen(".kyverno.svc", ".ephor.svc", 1),
                WebhookNames::Kyverno => name.into(),
            },
            (None, super::options::Address::Service { namespace, name, .. }) => {
                // Kyverno serves these elsewhere; the Service is ours, the name its.
                let is_elsewhere = ["cleanup-validating", "ttl-validating"].contains(&self.name);
                let name = match options.names {
                    WebhookNames::Kyverno if is_elsewhere => "kyverno-cleanup-controller",
                    _ => name,
                };
                format!("{name}.{namespace}.svc")
            }
            (None, super::options::Address::Url(_)) => format!("{}.ephor.svc", self.name),
        }
    }
}

/// A configuration with its labels and annotations.
pub(super) fn configuration(kind: &str, name: &str, webhooks: Vec<Value>, options: &Options) -> Value {
    let mut labels = options.labels.clone();
    labels.insert(OWNER.0, OWNER.1.into());
    if options.names == WebhookNames::Kyverno {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::options::Address;
    use super::*;

    fn written(names: WebhookNames) -> Vec<Value> {
        let service = Address::Service { namespace: "kyverno".into(), name: "kyverno-svc".into(), port: 443 };
        fixed(&Options { names, ..Options::of(service) }, &|_, _| true)
    }

    #[test]
    fn under_kyvernos_names_there_is_all_that_a_kyverno_installation_has() {
        let named: Vec<(String, String)> = written(WebhookNames::Kyverno)
            .iter()
            .map(|c| (c.text_at(&["kind"]).to_string(), c.text_at(&["metadata", "name"]).to_string()))
            .collect();
        let kinds = named.iter().filter(|(kind, _)| kind.starts_with("Mutating"));
        let mutating: Vec<&str> = kinds.map(|(_, name)| &**name).collect();
        assert_eq!(mutating, ["kyverno-policy-mutating-webhook-cfg", "kyverno-verify-mutating-webhook-cfg"]);
        assert_eq!(named.len(), 9, "{named:?}");
    }

    #[test]
    fn webhooks_that_kyverno_serves_elsewhere_have_its_names_and_lead_to_this_server() {
        let all = written(WebhookNames::Kyverno);
        let webhook = |name: &str| {
            let named =
                |c: &&Value| c.text_at(&["metadata", "name"]) == format!("kyverno-{name}-webhook-cfg");
            all.iter().find(named).and_then(|c| c.get("webhooks")?.as_list()?.first().cloned()).unwrap()
        };
        for name in ["cleanup-validating", "ttl-validating"] {
            assert_eq!(webhook(name).text_at(&["name"]), "kyverno-cleanup-controller.kyverno.svc");
            assert_eq!(webhook(name).text_at(&["clientConfig", "service", "name"]), "kyverno-svc");
        }
        assert_eq!(webhook("exception-validating").text_at(&["name"]), "kyverno-svc.kyverno.svc");
        let rules = webhook("policy-validating").get("rules").and_then(Value::as_list).unwrap().to_vec();
        let versions = |plural: &str| {
            let is_of = |rule: &&Value| rule.get("resources").is_some_and(|r| r.json_eq(&texts([plural])));
            rules.iter().find(is_of).and_then(|rule| rule.get("apiVersions").cloned()).unwrap()
        };
        assert!(versions("validatingpolicies").json_eq(&texts(["v1alpha1", "v1beta1", "v1"])));
        assert!(versions("namespacedvalidatingpolicies").json_eq(&texts(["v1beta1", "v1"])));
        assert_eq!(rules.len(), 10);
    }

    #[test]
    fn webhooks_that_change_nothing_are_not_registered_under_names_of_our_own() {
        assert!(written(WebhookNames::Ephor).iter().all(|c| c.text_at(&["kind"]).starts_with("Validating")));
    }

    #[test]
    fn the_webhook_of_the_health_check_is_about_one_lease_and_never_blocks() {
        let all = written(WebhookNames::Kyverno);
        let name = |c: &&Value| c.text_at(&["metadata", "name"]) == "kyverno-verify-mutating-webhook-cfg";
        let webhooks = all.iter().find(name).unwrap().get("webhooks").and_then(Value::as_list).unwrap();
        let [webhook] = webhooks else { unreachable!() };
        assert_eq!(webhook.text_at(&["failurePolicy"]), "Ignore");
        assert_eq!(webhook.text_at(&["objectSelector", "matchLabels", "app.kubernetes.io/name"]), "kyverno");
        assert_eq!(
            ephor_value::print::json(webhook.get("rules").unwrap()),
            r#"[{"apiGroups":["coordination.k8s.io"],"apiVersions":["v1"],"operations":["UPDATE"],"resources":["leases"],"scope":"*"}]"#
        );
    }
}
