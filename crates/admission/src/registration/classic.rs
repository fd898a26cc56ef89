//! What ClusterPolicies and Policies need: two webhooks for all, and one for each with conditions
//! of its own.

use std::collections::{BTreeMap, BTreeSet};

use ephor_api::autogen::{Selection, computed_rules};
use ephor_api::read::{Body, filters, has_body, items, listed, member, texts};
use ephor_kubernetes::Kinds;
use ephor_value::Value;

use super::draft::{Draft, blocks, mode};
use super::options::Options;
use super::resources::{Entry, entries, is_known, rules};

const ALL: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

/// Adds the webhooks of one configuration.
pub(super) fn add(
    policies: &[&Value],
    mutating: bool,
    kinds: &Kinds,
    options: &Options,
    drafts: &mut Vec<Draft>,
    unknown: &mut BTreeSet<String>,
) {
    let base = if mutating { "mutate" } else { "validate" };
    let mut shared: BTreeMap<bool, (BTreeSet<Entry>, i64)> = BTreeMap::new();
    for policy in policies.iter().filter(|p| is_classic(p)) {
        let computed = computed_rules(policy, Selection::All);
        if !computed.iter().any(|rule| is_reason(rule, mutating)) {
            continue;
        }
        let fail = blocks(policy, options);
        let needed = needed(policy, &computed, mutating, kinds, unknown);
        let configuration = policy.at(&["spec", "webhookConfiguration"]).unwrap_or(&Value::Null);
        let seconds = |v: Option<&Value>| match v {
            Some(Value::Int(n)) => Some(*n),
            _ => None,
        };
        let timeout = seconds(configuration.get("timeoutSeconds"))
            .or_else(|| seconds(policy.at(&["spec", "webhookTimeoutSeconds"])))
            .unwrap_or(0)
            .max(options.timeout);
        let conditions = listed(configuration, "matchConditions");
        if conditions.is_empty() {
            let (all, longest) = shared.entry(fail).or_insert_with(|| (BTreeSet::new(), options.timeout));
            all.extend(needed);
            *longest = timeout.max(*longest);
            continue;
        }
        let (name, namespace) =
            (policy.text_at(&["metadata", "name"]), policy.text_at(&["metadata", "namespace"]));
        let (dashed, slashed) = match namespace {
            "" => (name.to_string(), name.to_string()),
            ns => (format!("{ns}-{name}"), format!("{ns}/{name}")),
        };
        drafts.push(Draft {
            name: format!("{base}.kyverno.svc-{}-finegrained-{dashed}", mode(fail)),
            path: format!("/{base}/{}/finegrained/{slashed}", mode(fail)),
            fail,
            rules: rules(&needed),
            timeout: Some(timeout),
            conditions: conditions.to_vec(),
            reinvoke: mutating,
            ..Draft::default()
        });
    }
    for (fail, (all, timeout)) in shared {
        drafts.push(Draft {
            name: format!("{base}.kyverno.svc-{}", mode(fail)),
            path: format!("/{base}/{}", mode(fail)),
            fail,
            rules: rules(&all),
            timeout: Some(timeout),
            reinvoke: mutating,
            ..Draft::default()
        });
    }
}

fn is_classic(policy: &Value) -> bool {
    matches!(policy.text_at(&["kind"]), "ClusterPolicy" | "Policy")
        && policy.text_at(&["apiVersion"]).starts_with("kyverno.io/")
        && policy.at(&["spec", "admission"]).and_then(Value::as_bool) != Some(false)
}

/// Whether a rule changes objects other than the one of the request.
fn is_existing(rule: &Value) -> bool {
    let mutate = rule.get("mutate").unwrap_or(&Value::Null);
    !listed(mutate, "targets").is_empty()
}

/// Whether images must be verified or have digests, which is checked once the object is complete.
fn checks_images(rule: &Value) -> bool {
    let on = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_bool) != Some(false);
    listed(rule, "verifyImages").iter().any(|entry| on(entry, "verifyDigest") || on(entry, "required"))
}

fn has_manifests(rule: &Value) -> bool {
    rule.get("validate").is_some_and(|v| member(v, "manifests").is_some())
}

/// Whether a rule is a reason for its policy to be in a configuration.
fn is_reason(rule: &Value, mutating: bool) -> bool {
    let (mutates, images) = (has_body(rule, Body::Mutate), has_body(rule, Body::VerifyImages));
    match mutating {
        true => mutates && !is_existing(rule) || images,
        false => {
            has_body(rule, Body::Validate)
                || has_body(rule, Body::Generate)
                || mutates && is_existing(rule)
                || images && checks_images(rule)
        }
    }
}

/// Whether a rule of a policy in a configuration counts there.
fn counts(rule: &Value, mutating: bool) -> bool {
    is_reason(rule, mutating) || has_body(rule, Body::Generate) || mutating && has_manifests(rule)
}

fn needed(
    policy: &Value,
    computed: &[Value],
    mutating: bool,
    kinds: &Kinds,
    unknown: &mut BTreeSet<String>,
) -> BTreeSet<Entry> {
    let namespaced = policy.text_at(&["kind"]) == "Policy";
    let defaults: &[&str] = if mutating { &ALL[..2] } else { &ALL };
    let mut all = BTreeSet::new();
    for rule in computed.iter().filter(|rule| counts(rule, mutating)) {
        for (kind, operations) in operations_of(rule, defaults) {
            if !is_known(&kind, kinds) {
                unknown.insert(kind.clone());
            }
            all.extend(entries(&kind, &operations, namespaced, kinds).into_iter().flatten());
        }
    }
    all
}

/// The operations that a rule is about, by kind selector.
fn operations_of(rule: &Value, defaults: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let owned = |all: &[&str]| all.iter().map(|o| (*o).to_string()).collect::<BTreeSet<String>>();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, filter) in filters(rule.get("match")) {
        let own: BTreeSet<String> = texts(filter, &["resources", "operations"]).map(str::to_owned).collect();
        let own = if own.is_empty() { owned(defaults) } else { own };
        for kind in texts(filter, &["resources", "kinds"]) {
            found.entry(kind.into()).or_default().extend(own.iter().cloned());
        }
    }
    for filter in items(rule.at(&["exclude", "any"])) {
        if !excludes_by_kind_alone(filter) {
            continue;
        }
        let own: BTreeSet<String> = texts(filter, &["resources", "operations"]).map(str::to_owned).collect();
        let own = if own.is_empty() { owned(&ALL) } else { own };
        let named: Vec<&str> = texts(filter, &["resources", "kinds"]).collect();
        for (kind, operations) in &mut found {
            if named.is_empty() || named.contains(&&**kind) {
                operations.retain(|o| !own.contains(o));
            }
        }
    }
    for kind in generated_kinds(rule) {
        found.entry(kind).or_default().extend(owned(&["CREATE", "UPDATE", "DELETE"]));
    }
    found.retain(|_, operations| !operations.is_empty());
    found
}

/// Whether an exclusion reads nothing but kinds and operations.
fn excludes_by_kind_alone(filter: &Value) -> bool {
    let empty = |v: Option<&Value>| match v {
        None | Some(Value::Null) => true,
        Some(Value::Str(s)) => s.is_empty(),
        Some(Value::List(l)) => l.is_empty(),
        Some(Value::Map(m)) => m.is_empty(),
        Some(_) => false,
    };
    let resources = filter.get("resources").unwrap_or(&Value::Null);
    let written = ["kinds", "operations"].iter().any(|k| !empty(resources.get(k)));
    let users = ["subjects", "roles", "clusterRoles"].iter().all(|k| empty(filter.get(k)));
    let narrow = ["name", "names", "namespaces", "annotations", "selector", "namespaceSelector"];
    written && users && narrow.iter().all(|k| empty(resources.get(k)))
}

/// The kinds that a rule generates: the webhook also receives changes of these objects.
fn generated_kinds(rule: &Value) -> Vec<String> {
    let Some(generate) = rule.get("generate").filter(|_| has_body(rule, Body::Generate)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for part in std::iter::once(generate).chain(listed(generate, "foreach")) {
        match part.text_at(&["kind"]) {
            "" => found.extend(texts(part, &["cloneList", "kinds"]).map(str::to_owned)),
            kind => {
                let api_version = part.text_at(&["apiVersion"]);
                found.push(if api_version.is_empty() {
                    kind.into()
                } else {
                    format!("{api_version}/{kind}")
                });
            }
        }
    }
    // Kinds with variables are known when the rule runs.
    found.retain(|kind: &String| !kind.contains("{{"));
    found
}
