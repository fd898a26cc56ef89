//! What policies of the group `policies.kyverno.io` need: one webhook for each with conditions, an
//! exact match or a timeout of its own, and one for all others with the same selectors.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use ephor_api::admission::{Expressions, Wanted};
use ephor_api::read::{items, listed, texts as texts_of};
use ephor_lower::admission::Judge;
use ephor_lower::cel_policy::{is_about_pods, variants_of};
use ephor_value::Value;
use ephor_value::print::json;
use ephor_value::release::Release;

use super::draft::{Draft, blocks, condition, mode, texts};
use super::options::Options;
use super::resources::{Listed, in_order};

/// A kind of policies in a configuration.
struct Family {
    kind: &'static str,
    base: &'static str,
    prefix: &'static str,
    mutating: bool,
}

const fn family(kind: &'static str, base: &'static str, prefix: &'static str, mutating: bool) -> Family {
    Family { kind, base, prefix, mutating }
}

const FAMILIES: [Family; 10] = [
    family("ValidatingPolicy", "vpol.validate", "/vpol", false),
    family("NamespacedValidatingPolicy", "nvpol.validate", "/nvpol", false),
    family("GeneratingPolicy", "gpol.validate", "/gpol", false),
    family("NamespacedGeneratingPolicy", "ngpol.validate", "/ngpol", false),
    family("ImageValidatingPolicy", "ivpol.validate", "/ivpol/validate", false),
    family("NamespacedImageValidatingPolicy", "nivpol.validate", "/nivpol/validate", false),
    family("MutatingPolicy", "mpol.validate", "/mpol", true),
    family("NamespacedMutatingPolicy", "nmpol.validate", "/nmpol", true),
    family("ImageValidatingPolicy", "ivpol.mutate", "/ivpol/mutate", true),
    family("NamespacedImageValidatingPolicy", "nivpol.mutate", "/nivpol/mutate", true),
];

/// Adds the webhooks of one configuration.
pub(super) fn add(policies: &[&Value], mutating: bool, options: &Options, drafts: &mut Vec<Draft>) {
    for family in FAMILIES.iter().filter(|f| f.mutating == mutating) {
        let own: Vec<&Value> = policies.iter().copied().filter(|p| belongs(p, family)).collect();
        let (alone, together): (Vec<&Value>, Vec<&Value>) =
            own.into_iter().partition(|p| is_alone(p, options.release));
        for policy in alone {
            drafts.push(single(policy, family, options));
        }
        shared(&together, family, options, drafts);
    }
}

fn belongs(policy: &Value, family: &Family) -> bool {
    let enabled = policy.at(&["spec", "evaluation", "admission", "enabled"]).and_then(Value::as_bool);
    let digests = ["spec", "validationConfigurations", "mutateDigest"];
    policy.text_at(&["kind"]) == family.kind
        && policy.text_at(&["apiVersion"]).starts_with("policies.kyverno.io/")
        && enabled != Some(false)
        && matches!(policy.text_at(&["spec", "evaluation", "mode"]), "" | "Kubernetes")
        && !(family.base.ends_with(".mutate") && policy.at(&digests).and_then(Value::as_bool) == Some(false))
}

/// Whether a policy has a webhook of its own.
fn is_alone(policy: &Value, release: Release) -> bool {
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let timeout = policy.at(&["spec", "webhookConfiguration", "timeoutSeconds"]);
    !handed_over(spec, release).is_empty()
        || spec.text_at(&["matchConstraints", "matchPolicy"]) == "Exact"
        || timeout.is_some_and(|v| !v.is_null())
}

/// The conditions of a policy, if an API server of the release understands all of them.
fn handed_over(spec: &Value, release: Release) -> &[Value] {
    let all = listed(spec, "matchConditions");
    let judge = Judge::new(&Value::Null, release);
    let bad = |c: &Value| judge.problem(c.text_at(&["expression"]), Wanted::Condition).is_some();
    if all.iter().any(bad) { &[] } else { all }
}

fn single(policy: &Value, family: &Family, options: &Options) -> Draft {
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let name = policy.text_at(&["metadata", "name"]);
    let fail = blocks(policy, options);
    let namespace = policy.text_at(&["metadata", "namespace"]);
    let dashed = if namespace.is_empty() { name.to_string() } else { format!("{namespace}-{name}") };
    Draft {
        name: format!("{}.kyverno.svc-{}-finegrained-{dashed}", family.base, mode(fail)),
        path: format!("{}/{name}", family.prefix),
        fail,
        rules: rules_of(&[policy]),
        timeout: match policy.at(&["spec", "webhookConfiguration", "timeoutSeconds"]) {
            Some(Value::Int(n)) => Some(*n),
            _ => None,
        },
        // The webhooks that add digests are Equivalent in Kyverno, whatever the policy says.
        exact: spec.text_at(&["matchConstraints", "matchPolicy"]) == "Exact"
            && !family.base.ends_with(".mutate"),
        selectors: selectors(policy),
        conditions: conditions(policy, options.release),
        reinvoke: false,
    }
}

/// The selectors that count: of namespaces, a policy in one has only its own.
fn selectors(policy: &Value) -> [Option<Value>; 2] {
    let own = |key: &str| {
        let selector = policy.at(&["spec", "matchConstraints", key])?;
        selector.as_map().is_some_and(|m| !m.is_empty()).then(|| selector.clone())
    };
    let namespaces = match policy.text_at(&["metadata", "namespace"]) {
        "" => own("namespaceSelector"),
        namespace => {
            let requirement = Value::map([
                ("key", "kubernetes.io/metadata.name".into()),
                ("operator", "In".into()),
                ("values", texts([namespace])),
            ]);
            Some(Value::map([("matchExpressions", Value::list(vec![requirement]))]))
        }
    };
    [namespaces, own("objectSelector")]
}

/// The conditions of a policy that has a webhook of its own, for the kinds that each is about.
fn conditions(policy: &Value, release: Release) -> Vec<Value> {
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let own: Vec<(&str, &str)> = handed_over(spec, release)
        .iter()
        .map(|c| (c.text_at(&["name"]), c.text_at(&["expression"])))
        .filter(|(_, expression)| !names(expression, "namespaceObject"))
        .collect();
    let kind = policy.text_at(&["kind"]);
    if kind.ends_with("GeneratingPolicy") {
        let synchronizes =
            policy.at(&["spec", "evaluation", "synchronize", "enabled"]).and_then(Value::as_bool)
                == Some(true);
        return own
            .into_iter()
            .map(|(name, expression)| match synchronizes {
                true => condition(name, &format!("request.operation != 'CREATE' || ({expression})")),
                false => condition(name, expression),
            })
            .collect();
    }
    let variants = variants_of(spec, kind.ends_with("MutatingPolicy"));
    // A policy on pods that names no controllers is written like one that does.
    if !is_about_pods(spec) {
        return own.into_iter().map(|(name, expression)| condition(name, expression)).collect();
    }
    let object = if sees_no_object(spec) { "(object == null ? oldObject : object)" } else { "object" };
    let of = |api_version: &str, kind: &str| {
        format!("({object}.apiVersion == '{api_version}' && {object}.kind =='{kind}')")
    };
    let mut all: Vec<Value> = own
        .iter()
        .map(|(name, e)| condition(&format!("autogen-{name}"), &format!("!({}) || ({e})", of("v1", "Pod"))))
        .collect();
    // Conditions have the order of the variants' names.
    let by_name: BTreeMap<&str, &Value> = variants.iter().map(|(config, spec)| (*config, spec)).collect();
    for (config, spec) in by_name.into_iter().filter(|(config, _)| *config != "extract") {
        let targets: Vec<String> =
            targets(spec).iter().map(|(api_version, kind)| of(api_version, kind)).collect();
        for c in handed_over(spec, release) {
            let (name, e) = (c.text_at(&["name"]), c.text_at(&["expression"]));
            if !names(e, "namespaceObject") {
                let expression = format!("!({}) || ({e})", targets.join(" || "));
                all.push(condition(&format!("autogen-{config}-{name}"), &expression));
            }
        }
    }
    all
}

/// Whether some request of the policy has no object.
fn sees_no_object(spec: &Value) -> bool {
    let rules = spec.at(&["matchConstraints", "resourceRules"]);
    items(rules).iter().any(|r| texts_of(r, &["operations"]).any(|o| matches!(o, "DELETE" | "*")))
}

/// The kinds of the controllers that a variant is for.
fn targets(spec: &Value) -> Vec<(String, &'static str)> {
    const KINDS: [(&str, &str); 6] = [
        ("cronjobs", "CronJob"),
        ("daemonsets", "DaemonSet"),
        ("deployments", "Deployment"),
        ("jobs", "Job"),
        ("replicasets", "ReplicaSet"),
        ("statefulsets", "StatefulSet"),
    ];
    let mut found = Vec::new();
    for rule in items(spec.at(&["matchConstraints", "resourceRules"])) {
        let first = |key: &str| texts_of(rule, &[key]).next().unwrap_or_default();
        for resource in texts_of(rule, &["resources"]) {
            if let Some((_, kind)) = KINDS.iter().find(|(plural, _)| *plural == resource) {
                found.push((format!("{}/{}", first("apiGroups"), first("apiVersions")), *kind));
            }
        }
    }
    found
}

/// Whether an expression names an identifier.
fn names(expression: &str, identifier: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    expression.split(|c: char| !part(c)).any(|word| word == identifier)
}

/// Webhooks of the policies that share theirs.
fn shared(policies: &[&Value], family: &Family, options: &Options, drafts: &mut Vec<Draft>) {
    let mut groups: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for policy in policies {
        let [namespaces, objects] = selectors(policy).map(|s| s.as_ref().map_or("null".into(), as_go_writes));
        let digest = Sha256::digest(format!("[{namespaces},{objects}]").as_bytes());
        let hash: String = digest.iter().take(4).map(|b| format!("{b:02x}")).collect();
        groups.entry(hash).or_default().push(policy);
    }
    let several = groups.len() > 1;
    for (hash, group) in &groups {
        let all: BTreeSet<&str> = group.iter().map(|p| p.text_at(&["metadata", "name"])).collect();
        let path = format!("{}/{}", family.prefix, all.into_iter().collect::<Vec<_>>().join("/"));
        let suffix = if several { format!("-{hash}") } else { String::new() };
        for fail in [true, false] {
            let own: Vec<&Value> = group.iter().copied().filter(|p| blocks(p, options) == fail).collect();
            let Some(first) = own.first() else { continue };
            drafts.push(Draft {
                name: format!("{}.kyverno.svc-{}{suffix}", family.base, mode(fail)),
                path: path.clone(),
                fail,
                rules: rules_of(&own),
                selectors: selectors(first),
                ..Draft::default()
            });
        }
    }
}

/// A selector with its fields in the order of their declaration.
fn as_go_writes(selector: &Value) -> String {
    let mut parts = Vec::new();
    for key in ["matchLabels", "matchExpressions"] {
        let Some(v) = selector.get(key).filter(|v| !v.is_null()) else { continue };
        let shown = match v {
            Value::List(all) => {
                let shown: Vec<String> = all.iter().map(requirement).collect();
                format!("[{}]", shown.join(","))
            }
            other => json(other),
        };
        parts.push(format!("\"{key}\":{shown}"));
    }
    format!("{{{}}}", parts.join(","))
}

fn requirement(r: &Value) -> String {
    let keys = ["key", "operator", "values"].iter();
    let parts: Vec<String> = keys.filter_map(|k| r.get(k).map(|v| format!("\"{k}\":{}", json(v)))).collect();
    format!("{{{}}}", parts.join(","))
}

/// The rules of policies with their variants, each as it is written, once. Generating policies see
/// every operation.
fn rules_of(policies: &[&Value]) -> Vec<Value> {
    let mut all = BTreeSet::new();
    for policy in policies {
        let spec = policy.get("spec").unwrap_or(&Value::Null);
        let kind = policy.text_at(&["kind"]);
        let generates = kind.ends_with("GeneratingPolicy");
        all.extend(rules_in(spec, generates));
        if !generates {
            for (_, variant) in variants_of(spec, kind.ends_with("MutatingPolicy")) {
                all.extend(rules_in(&variant, false));
            }
        }
    }
    in_order(all)
}

fn rules_in(spec: &Value, every_operation: bool) -> impl Iterator<Item = Listed> {
    items(spec.at(&["matchConstraints", "resourceRules"])).iter().map(move |rule| {
        let list = |key: &str| {
            let all: BTreeSet<String> = texts_of(rule, &[key]).map(str::to_owned).collect();
            all.into_iter().collect::<Vec<String>>()
        };
        let mut operations = list("operations");
        if every_operation || operations.iter().any(|o| o == "*") {
            operations = ["CONNECT", "CREATE", "DELETE", "UPDATE"].map(String::from).to_vec();
        }
        let scope = match rule.text_at(&["scope"]) {
            "" => "*",
            scope => scope,
        };
        [list("apiGroups"), list("apiVersions"), list("resources"), operations, vec![scope.into()]]
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_document::yaml_value;

    const POLICY: &str = "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: a}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [UPDATE, CREATE], resources: [pods]}]}, matchConditions: [{name: c, expression: 'object.metadata.name != \"b\"'}], validations: [{expression: 'object.spec.hostNetwork == false'}]}}";

    #[test]
    fn rules_are_those_of_the_policy_and_of_its_variants_each_once() {
        let policy = yaml_value(POLICY).unwrap();
        let written: Vec<String> = rules_of(&[&policy, &policy]).iter().map(json).collect();
        let rule = |group: &str, resources: &str| {
            format!(
                r#"{{"apiGroups":["{group}"],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":[{resources}],"scope":"*"}}"#
            )
        };
        let controllers = r#""daemonsets","deployments","replicasets","statefulsets""#;
        let batch = [r#""cronjobs""#, r#""jobs""#].map(|resources| rule("batch", resources));
        assert_eq!(
            written,
            [rule("", r#""pods""#), rule("apps", controllers), batch[0].clone(), batch[1].clone()]
        );
    }

    #[test]
    fn conditions_on_pods_are_written_for_pods_also_when_there_are_no_variants() {
        let none = POLICY.replace("spec: {", "spec: {autogen: {podControllers: {controllers: []}}, ");
        let [condition] = &conditions(&yaml_value(&none).unwrap(), Release::default())[..] else {
            unreachable!()
        };
        assert_eq!(condition.text_at(&["name"]), "autogen-c");
        assert_eq!(
            condition.text_at(&["expression"]),
            "!((object.apiVersion == 'v1' && object.kind =='Pod')) || (object.metadata.name != \"b\")"
        );
        let maps = POLICY.replace("resources: [pods]", "resources: [configmaps]");
        let [condition] = &conditions(&yaml_value(&maps).unwrap(), Release::default())[..] else {
            unreachable!()
        };
        assert_eq!(condition.text_at(&["name"]), "c");
    }

    #[test]
    fn a_webhook_that_adds_digests_is_equivalent_and_one_of_an_image_policy_of_a_namespace_has_kyvernos_name()
    {
        let image = POLICY
            .replace("kind: ValidatingPolicy", "kind: ImageValidatingPolicy")
            .replace("matchConstraints: {", "matchConstraints: {matchPolicy: Exact, ");
        let own = image
            .replace("kind: Image", "kind: NamespacedImage")
            .replace("metadata: {name: a}", "metadata: {name: a, namespace: shop}");
        let options = Options {
            names: super::super::WebhookNames::Kyverno,
            ..Options::of(super::super::Address::Url("https://a.test".into()))
        };
        let written = |policies: &[&str]| -> Vec<(String, String)> {
            let policies: Vec<Value> = policies.iter().map(|text| yaml_value(text).unwrap()).collect();
            let kinds = ephor_kubernetes::Kinds::built_in();
            let needs = super::super::needs(&policies, kinds, &options);
            let webhooks =
                |c: &Value| c.get("webhooks").and_then(Value::as_list).unwrap_or_default().to_vec();
            let all = needs.configurations.iter().flat_map(webhooks);
            all.map(|w| (w.text_at(&["name"]).to_string(), w.text_at(&["matchPolicy"]).to_string())).collect()
        };
        let named = |name: &str, policy: &str| (name.to_string(), policy.to_string());
        assert_eq!(
            written(&[&image]),
            [
                named("ivpol.mutate.kyverno.svc-fail-finegrained-a", "Equivalent"),
                named("ivpol.validate.kyverno.svc-fail-finegrained-a", "Exact")
            ]
        );
        let [first, second] = &written(&[&own])[..] else { unreachable!() };
        assert_eq!(first.0, "ivpol.mutate.kyverno.svc-fail-finegrained-shop-a");
        assert_eq!(second.0, "ivpol.validate.kyverno.svc-fail-finegrained-shop-a");
        // A cluster-wide policy of that name keeps it.
        let other = image.replace("metadata: {name: a}", "metadata: {name: shop-a}");
        let names: Vec<String> = written(&[&own, &other]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "ivpol.mutate.kyverno.svc-fail-finegrained-shop-a",
                "nivpol.mutate.kyverno.svc-fail-finegrained-shop-a",
                "ivpol.validate.kyverno.svc-fail-finegrained-shop-a",
                "nivpol.validate.kyverno.svc-fail-finegrained-shop-a"
            ]
        );
    }

    #[test]
    fn conditions_have_the_order_of_the_names_of_variants() {
        let conditions = conditions(&yaml_value(POLICY).unwrap(), Release::default());
        let names: Vec<&str> = conditions.iter().map(|c| c.text_at(&["name"])).collect();
        assert_eq!(names, ["autogen-c", "autogen-cronjobs-c", "autogen-defaults-c"]);
    }

    #[test]
    fn conditions_are_handed_over_to_an_api_server_that_understands_them() {
        let policy =
            yaml_value(&POLICY.replace(
                "matchConditions: [{",
                "matchConditions: [{name: b, expression: 'object.`a` == 1'}, {",
            ));
        let policy = policy.unwrap();
        let count = |release| conditions(&policy, release).len();
        for (release, is_understood) in
            [(Release::V1_36, false), (Release::V1_37, true), (Release::V1_38, true)]
        {
            assert_eq!(count(release) > 0, is_understood, "{release}");
            assert_eq!(is_alone(&policy, release), is_understood, "{release}");
        }
    }
}
