//! The webhooks that policies need: what is sent, and what is not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::sync::Arc;

use ephor_admission::registration::{Address, Options, needs};
use ephor_admission::webhooks::{Allowing, Log, Server, in_order};
use ephor_api::admission::{check, defaulted};
use ephor_document::yaml_value;
use ephor_engine::Profile;
use ephor_engine::Request;
use ephor_engine::admission::{ClusterView, Review};
use ephor_engine::request::Parts;
use ephor_functions::Context;
use ephor_kubernetes::{Kinds, Resource};
use ephor_lower::admission::{Judge, webhooks};
use ephor_matching::filter::{Mode, accepts};
use ephor_policies::load;
use ephor_policies::{Engine, PolicySet};
use ephor_sources::files::SourceText;
use ephor_sources::objects::Objects;
use ephor_value::release::Release;
use ephor_value::{Map, Str, Value};
use proptest::prelude::*;

fn options() -> Options {
    Options::of(Address::Url("https://h:9443/".into()))
}

fn policies(text: &str) -> Vec<Value> {
    let source = SourceText { name: "-".into(), text: text.into() };
    let loaded = load::argument(std::slice::from_ref(&source));
    assert!(loaded.problems.is_empty(), "{:?}\n{text}", loaded.problems);
    for p in &loaded.policies {
        assert_eq!(p.refused, None, "{text}");
    }
    loaded.policies.into_iter().map(|p| p.document).collect()
}

fn configurations(text: &str) -> Vec<Value> {
    let found = needs(&policies(text), Kinds::built_in(), &options());
    assert!(found.unknown.is_empty(), "{:?}", found.unknown);
    for c in &found.configurations {
        let c = defaulted(c);
        assert_eq!(
            check(&c, &mut Judge::new(&c, Release::default())).map_err(|e| e.message),
            Ok(Vec::new()),
            "{text}"
        );
    }
    found.configurations
}

/// The webhooks of both configurations: name, path, and rules as
/// `group/version resources operations`.
fn printed(text: &str) -> Vec<String> {
    let list = |v: &Value, key: &str| {
        let all = v.get(key).and_then(Value::as_list).unwrap_or_default();
        all.iter().map(|t| t.as_str().unwrap_or_default()).collect::<Vec<_>>().join(",")
    };
    let mut out = Vec::new();
    for c in configurations(text) {
        for w in c.get("webhooks").and_then(Value::as_list).unwrap() {
            out.push(format!("{} {}", w.text_at(&["name"]), w.text_at(&["clientConfig", "url"])));
            for r in w.get("rules").and_then(Value::as_list).unwrap() {
                out.push(format!(
                    "  {}/{} {} {} {}",
                    list(r, "apiGroups"),
                    list(r, "apiVersions"),
                    list(r, "resources"),
                    list(r, "operations"),
                    r.text_at(&["scope"])
                ));
            }
        }
    }
    out
}

const HEAD: &str = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n";

#[test]
fn a_policy_on_pods_needs_its_controllers_and_ephemeral_containers() {
    let text = format!(
        "{HEAD}metadata: {{name: a}}\nspec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, \
         validate: {{message: m, pattern: {{metadata: {{name: x}}}}}}}}]}}"
    );
    let all = "CONNECT,CREATE,DELETE,UPDATE";
    assert_eq!(
        printed(&text),
        [
            "validate.ephor.svc-fail https://h:9443/validate/fail".to_string(),
            format!("  /v1 pods,pods/ephemeralcontainers,replicationcontrollers {all} Namespaced"),
            format!("  apps/v1 daemonsets,deployments,replicasets,statefulsets {all} Namespaced"),
            format!("  batch/v1 cronjobs,jobs {all} Namespaced"),
        ]
    );
}

#[test]
fn policies_are_parted_by_what_follows_from_failures_and_by_conditions_of_their_own() {
    let rule = |kind: &str| {
        format!(
            "rules: [{{name: r, match: {{any: [{{resources: {{kinds: [{kind}], operations: [CREATE]}}}}]}}, \
             validate: {{message: m, pattern: {{metadata: {{name: x}}}}}}}}]"
        )
    };
    let text = format!(
        "{HEAD}metadata: {{name: a}}\nspec: {{failurePolicy: Ignore, {}}}\n---\n{HEAD}metadata: {{name: b}}\nspec: {{{}}}\n---\n\
         {HEAD}metadata: {{name: c}}\nspec: {{webhookConfiguration: {{matchConditions: [{{name: x, expression: 'true'}}]}}, {}}}",
        rule("ConfigMap"),
        rule("Secret"),
        rule("Service")
    );
    assert_eq!(
        printed(&text),
        [
            "validate.ephor.svc-fail https://h:9443/validate/fail",
            "  /v1 secrets CREATE Namespaced",
            "validate.ephor.svc-fail-finegrained-c https://h:9443/validate/fail/finegrained/c",
            "  /v1 services CREATE Namespaced",
            "validate.ephor.svc-ignore https://h:9443/validate/ignore",
            "  /v1 configmaps CREATE Namespaced",
        ]
    );
}

#[test]
fn what_a_wider_rule_sends_has_no_second_rule() {
    let policy = |name: &str, kind: &str, operations: &str| {
        format!(
            "{HEAD}metadata: {{name: {name}}}\nspec: {{background: false, rules: [{{name: r, match: {{any: [{{resources: {{kinds: ['{kind}'], \
             operations: [{operations}]}}}}]}}, validate: {{message: m, deny: {{}}}}}}]}}"
        )
    };
    let text = [policy("a", "*", "CREATE"), policy("b", "ConfigMap", "CREATE, UPDATE")].join("\n---\n");
    assert_eq!(
        printed(&text),
        [
            "validate.ephor.svc-fail https://h:9443/validate/fail",
            "  /v1 configmaps UPDATE Namespaced",
            "  */* *,pods/ephemeralcontainers CREATE *",
        ]
    );
}

const KINDS: [&str; 12] = [
    "Pod",
    "Deployment",
    "apps/v1/StatefulSet",
    "ConfigMap",
    "v1/Secret",
    "Namespace",
    "Node",
    "*",
    "*/*",
    "Deployment/scale",
    "Pod/exec",
    "*/scale",
];
const OPERATIONS: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

fn block() -> impl Strategy<Value = String> {
    let operations = prop::collection::vec(prop::sample::select(&OPERATIONS[..]), 0..3);
    let kinds = prop::collection::vec(prop::sample::select(&KINDS[..]), 1..3);
    let more = prop::sample::select(vec![
        "",
        ", namespaces: [shop]",
        ", selector: {matchLabels: {a: b}}",
        ", name: x",
    ]);
    (kinds, operations, more).prop_map(|(kinds, operations, more)| {
        let quoted: Vec<String> = kinds.iter().map(|k| format!("'{k}'")).collect();
        let operations: BTreeSet<&str> = operations.into_iter().collect();
        let operations: Vec<&str> = operations.into_iter().collect();
        let operations = match &operations[..] {
            [] => String::new(),
            all => format!(", operations: [{}]", all.join(", ")),
        };
        format!("{{resources: {{kinds: [{}]{operations}{more}}}}}", quoted.join(", "))
    })
}

fn policy() -> impl Strategy<Value = String> {
    let exclude = prop::option::of(block());
    (prop::collection::vec(block(), 1..3), exclude, any::<bool>()).prop_map(|(blocks, exclude, ignore)| {
        let exclude = exclude.map_or(String::new(), |b| format!("exclude: {{any: [{b}]}}, "));
        let failure = if ignore { "Ignore" } else { "Fail" };
        format!(
            "{HEAD}metadata: {{name: p, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}\n\
             spec: {{background: false, failurePolicy: {failure}, rules: [{{name: r, match: {{any: [{}]}}, {exclude}\
             validate: {{message: m, deny: {{}}}}}}]}}",
            blocks.join(", ")
        )
    })
}

/// A request for a resource or subresource, as the API server sends it.
fn review(resource: &Resource, sub: usize, operation: &str, namespace: &str) -> Review {
    let sub = sub.checked_sub(1).and_then(|i| resource.subresources.get(i));
    let kind = resource.kind_of(sub.map_or("", |s| &s.name)).unwrap();
    let id = |keys: [&str; 3], values: &[Str; 3]| {
        Value::Map(keys.into_iter().zip(values).map(|(k, v)| (Str::from(k), Value::Str(v.clone()))).collect())
    };
    let namespace = if resource.namespaced { namespace } else { "" };
    let mut metadata = Map::new();
    metadata.insert("name", "x".into());
    if !namespace.is_empty() {
        metadata.insert("namespace", namespace.into());
    }
    metadata.insert("labels", yaml_value("{a: b}").unwrap());
    let [group, version, name] = &kind;
    let api_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
    let mut object = Map::new();
    object.insert("apiVersion", api_version.into());
    object.insert("kind", Value::Str(name.clone()));
    object.insert("metadata", Value::Map(metadata));
    let object = Value::Map(object);
    let mut m = Map::new();
    m.insert("uid", "u".into());
    m.insert("kind", id(["group", "version", "kind"], &kind));
    let own = [resource.group.clone(), resource.version.clone(), resource.plural.clone()];
    m.insert("resource", id(["group", "version", "resource"], &own));
    if let Some(sub) = sub {
        m.insert("subResource", Value::Str(sub.name.clone()));
    }
    m.insert("name", "x".into());
    let is_namespace = &*resource.kind == "Namespace";
    if !namespace.is_empty() || is_namespace {
        m.insert("namespace", if is_namespace { "x" } else { namespace }.into());
    }
    m.insert("operation", operation.into());
    m.insert("userInfo", yaml_value("{username: u}").unwrap());
    m.insert("object", if operation == "DELETE" { Value::Null } else { object.clone() });
    m.insert("oldObject", if matches!(operation, "UPDATE" | "DELETE") { object } else { Value::Null });
    Review::new(Value::Map(m))
}

/// Whether some webhook is called.
fn is_sent(configurations: &[Value], review: &Review) -> bool {
    let all =
        in_order(configurations.iter().flat_map(|c| webhooks(&defaulted(c), Release::default())).collect());
    let namespace = |name| yaml_value(&format!("{{kind: Namespace, metadata: {{name: {name}}}}}")).unwrap();
    let data = Objects::new(["shop", "lab", "x"].map(namespace).to_vec());
    let server = Server {
        policies: &[],
        webhooks: &all,
        cluster: &ClusterView::of(&data),
        answers: &Allowing,
        own: |object| object,
    };
    let mut log = Log::default();
    server.validate(review, &mut log).unwrap();
    log.calls().next().is_some()
}

/// What the match layer reads for a request.
fn target(review: &Review, resource: &Resource) -> ephor_matching::Target {
    let a = &review.attributes;
    let object = match &*a.operation {
        "DELETE" => review.part("oldObject"),
        _ => review.object().clone(),
    };
    let parts = Parts {
        namespace: Value::Null,
        object,
        old_object: None,
        operation: a.operation.clone(),
        subresource: a.subresource.clone(),
        user: None,
        values: Vec::new(),
        dry_run: false,
        details: false,
        sent: None,
    };
    let mut request = Request::new(parts, Profile::cluster(), &Context::default()).unwrap();
    request.target.group = resource.group.clone();
    request.target.version = resource.version.clone();
    request.target.kind = resource.kind.clone();
    request.target
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_rule_could_apply_to_is_sent_and_other_kinds_are_not(
        text in policy(),
        at in any::<prop::sample::Index>(),
        sub in 0usize..3,
        operation in prop::sample::select(&OPERATIONS[..]),
        namespace in prop::sample::select(vec!["shop", "lab"]),
    ) {
        let kinds = Kinds::built_in();
        let chosen: Vec<&Resource> = kinds
            .all()
            .iter()
            .filter(|r| {
                ["Pod", "Deployment", "StatefulSet", "ConfigMap", "Secret", "Namespace", "Node", "Service"].contains(&&*r.kind)
            })
            .collect();
        let resource = at.get(&chosen);
        prop_assume!(sub <= resource.subresources.len());
        let review = review(resource, sub, operation, namespace);
        // Some mixtures of wildcards are refused.
        let set = PolicySet::from_yaml(&text);
        prop_assume!(set.is_ok());
        let set = set.unwrap();
        let rules: Vec<_> = set.policies().iter().flat_map(|p| p.rules.iter().cloned()).collect();
        let target = target(&review, resource);
        let could = rules.iter().any(|r| {
            accepts(&r.when, &target, Mode::Match)
                && (r.unless.filters().is_empty() || !accepts(&r.unless, &target, Mode::Exclude))
        });
        let kind = rules.iter().any(|r| r.when.filters().iter().any(|f| f.kinds.iter().any(|k| {
            k.kind.matches(&target.kind) && k.group.matches(&target.group) && k.version.matches(&target.version)
                && k.subresource.matches(&target.subresource)
        })));
        let sent = is_sent(&configurations(&text), &review);
        prop_assert!(!could || sent, "not sent: {operation} {}/{}\n{text}", resource.plural, target.subresource);
        let extra = &*target.subresource == "ephemeralcontainers";
        prop_assert!(kind || !sent || extra, "sent: {operation} {}/{}\n{text}", resource.plural, target.subresource);
    }
}

#[test]
fn a_set_of_policies_answers_the_requests_that_are_sent() {
    // The engine is built over the same documents, so that both read policies alike.
    let text = format!(
        "{HEAD}metadata: {{name: a}}\nspec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}, \
         validate: {{message: m, deny: {{}}}}}}]}}"
    );
    let engine = Arc::new(Engine::new(PolicySet::from_yaml(&text).unwrap()));
    assert_eq!(engine.set().policies().len(), configurations(&text).len() - 1);
}
