//! ClusterPolicies, Policies and PolicyExceptions → the IR.

use std::collections::HashMap;
use std::sync::Arc;

use crate::api::autogen::{Selection, computed_rules, controllers, written_rules};
use crate::ir::{Conditions, Exception, Policy, Rule};
use crate::value::wildcard::Wildcard;
use crate::value::{Str, Value};

use super::condition::conditions;
use super::matcher::matcher;
use super::rule::{overrides, rule};

/// Lowers a ClusterPolicy or Policy whose defaults are filled in.
pub fn policy(doc: &Value) -> Policy {
    let written = written_rules(doc);
    let base: Vec<Arc<Rule>> = written.iter().map(|r| Arc::new(rule(r))).collect();
    let all = computed_rules(doc, Selection::All);
    let by_kind = by_kind(doc, written, &base, &all);
    let is_cluster = doc.text_at(&["kind"]) == "ClusterPolicy";
    let text = |path: &[&str]| Str::from(doc.text_at(path));
    let flag = |key: &str| doc.at(&["spec", key]).and_then(Value::as_bool).unwrap_or(true);
    let failure_policy = match doc.text_at(&["spec", "webhookConfiguration", "failurePolicy"]) {
        "" => doc.text_at(&["spec", "failurePolicy"]),
        set => set,
    };
    let has_match_conditions = doc
        .at(&["spec", "webhookConfiguration", "matchConditions"])
        .and_then(Value::as_list)
        .is_some_and(|l| !l.is_empty());
    Policy {
        kind: text(&["kind"]),
        name: text(&["metadata", "name"]),
        namespace: (!is_cluster).then(|| text(&["metadata", "namespace"])),
        annotations: doc
            .at(&["metadata", "annotations"])
            .and_then(Value::as_map)
            .cloned()
            .unwrap_or_default(),
        apply_one: doc.text_at(&["spec", "applyRules"]) == "One",
        background: flag("background"),
        admission: flag("admission"),
        action: text(&["spec", "validationFailureAction"]),
        overrides: overrides(doc.at(&["spec", "validationFailureActionOverrides"])),
        fail_closed: failure_policy != "Ignore",
        broken: has_match_conditions
            .then(|| "webhookConfiguration.matchConditions are not supported yet".into()),
        rules: base.into(),
        by_kind,
        rule_count: all.len(),
        rule_names: all.iter().map(|r| Str::from(r.text_at(&["name"]))).collect(),
    }
}

/// The rules for pod controllers. All controllers but cron jobs share theirs: a generated rule names
/// every controller that it is for, so one of them does not match another one's objects.
fn by_kind(
    doc: &Value,
    written: &[Value],
    base: &[Arc<Rule>],
    all: &[Value],
) -> HashMap<Str, Arc<[Arc<Rule>]>> {
    let kinds = controllers(doc, written);
    let mut by_kind = HashMap::new();
    let (cron, others): (Vec<&str>, Vec<&str>) = kinds.into_iter().partition(|k| *k == "CronJob");
    for group in [cron, others] {
        let Some(first) = group.first() else { continue };
        let computed = computed_rules(doc, Selection::ForKind(first));
        if computed.len() == written.len() && computed.iter().zip(written).all(|(a, b)| a.strict_eq(b)) {
            continue;
        }
        let rules: Arc<[Arc<Rule>]> = computed
            .iter()
            .map(|r| {
                let name = r.text_at(&["name"]);
                let is_same = |w: &&Value| w.text_at(&["name"]) == name && w.strict_eq(r);
                if let Some((_, rule)) = written.iter().zip(base).find(|(w, _)| is_same(w)) {
                    return rule.clone();
                }
                Arc::new(rule(all.iter().find(|a| a.text_at(&["name"]) == name).unwrap_or(r)))
            })
            .collect();
        for kind in group {
            by_kind.insert(Str::from(kind), rules.clone());
        }
    }
    by_kind
}

/// Lowers a PolicyException of group `kyverno.io`.
pub fn exception(doc: &Value) -> Exception {
    let name = doc.text_at(&["metadata", "name"]);
    let namespace = doc.text_at(&["metadata", "namespace"]);
    let key = if namespace.is_empty() { name.into() } else { format!("{namespace}/{name}").into() };
    let entries = doc.at(&["spec", "exceptions"]).and_then(Value::as_list).unwrap_or_default();
    let covers = entries
        .iter()
        .map(|e| {
            let rules = e.get("ruleNames").and_then(Value::as_list).unwrap_or_default();
            let rules = rules.iter().filter_map(Value::as_str).map(Wildcard::new).collect();
            (Str::from(e.text_at(&["policyName"])), rules)
        })
        .collect();
    let none: Arc<[Str]> = Arc::from([]);
    let admit = conditions(doc.at(&["spec", "conditions"]), &none).map(|c| Conditions {
        // Unlike in rules, an empty `any` asks for nothing.
        any: c.any.filter(|any| !any.is_empty()),
        ..c
    });
    Exception {
        name: name.into(),
        key,
        covers,
        when: matcher(doc.at(&["spec", "match"])),
        admit,
        pod_security: doc
            .at(&["spec", "podSecurity"])
            .filter(|v| v.as_list().is_some_and(|l| !l.is_empty()))
            .cloned()
            .unwrap_or_default(),
    }
}
