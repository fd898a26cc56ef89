//! ClusterPolicies, Policies and PolicyExceptions → the IR.

use std::collections::HashMap;
use std::sync::Arc;

use crate::api::autogen::{Computed, Selection, computed, controllers, written_rules};
use crate::ir::{Conditions, Exception, Origin, Policy, Rule, optimise};
use crate::value::wildcard::Wildcard;
use crate::value::{Str, Value};

use super::condition::conditions;
use super::matcher::matcher;
use super::rule::{overrides, rule};

/// Lowers a ClusterPolicy or Policy whose defaults are filled in; its rules are optimised.
pub fn policy(doc: &Value) -> Policy {
    policy_with(doc, optimise::rule)
}

/// The rules of a policy as they are before optimisation: those for objects of one kind, or all.
pub fn rules_as_lowered(doc: &Value, selection: Selection<'_>) -> Vec<Rule> {
    computed(doc, selection).iter().map(rule).collect()
}

fn policy_with(doc: &Value, finish: fn(Rule) -> Rule) -> Policy {
    let written = written_rules(doc);
    let as_written = |(written, r): (usize, &Value)| Computed { rule: r.clone(), written, generated: None };
    let base: Box<[Arc<Rule>]> =
        written.iter().enumerate().map(as_written).map(|c| Arc::new(finish(rule(&c)))).collect();
    let mut by_kind = HashMap::new();
    let mut lowered: Vec<(Value, Arc<Rule>)> = Vec::new();
    for kind in controllers(doc, written) {
        let computed = computed(doc, Selection::ForKind(kind));
        if computed.len() == written.len() && computed.iter().all(|c| c.generated.is_none()) {
            continue;
        }
        let rules = computed.iter().map(|c| same_or_new(c, &base, &mut lowered, finish)).collect();
        by_kind.insert(Str::from(kind), rules);
    }
    let all = computed(doc, Selection::All);
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
        rules: base,
        by_kind,
        rule_count: all.len(),
        rule_names: all.iter().map(|c| Str::from(c.rule.text_at(&["name"]))).collect(),
    }
}

/// Rules that several kinds have in common are lowered once.
fn same_or_new(
    computed: &Computed,
    base: &[Arc<Rule>],
    lowered: &mut Vec<(Value, Arc<Rule>)>,
    finish: fn(Rule) -> Rule,
) -> Arc<Rule> {
    if let (None, Some(rule)) = (computed.generated, base.get(computed.written)) {
        return rule.clone();
    }
    let doc = &computed.rule;
    let name = doc.text_at(&["name"]);
    let but_match = |v: &Value| match v {
        Value::Map(m) => {
            let mut m = m.clone();
            m.remove("match");
            m.remove("exclude");
            Value::Map(m)
        }
        other => other.clone(),
    };
    let key = but_match(doc);
    if let Some((_, twin)) = lowered.iter().find(|(k, _)| k.text_at(&["name"]) == name && k.strict_eq(&key)) {
        let mut rule = Rule::clone(twin);
        let origin = rule.origin.clone();
        rule.when = matcher(doc.get("match"), &origin.key("match"));
        rule.unless = matcher(doc.get("exclude"), &origin.key("exclude"));
        return Arc::new(rule);
    }
    let rule = Arc::new(finish(rule(computed)));
    lowered.push((key, rule.clone()));
    rule
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
    let admit = conditions(doc.at(&["spec", "conditions"]), &none, Origin::new("spec.conditions")).map(|c| {
        Conditions {
            // Unlike in rules, an empty `any` asks for nothing.
            any: c.any.filter(|any| !any.is_empty()),
            ..c
        }
    });
    Exception {
        name: name.into(),
        key,
        covers,
        when: matcher(doc.at(&["spec", "match"]), &Origin::new("spec.match")),
        admit,
        pod_security: doc
            .at(&["spec", "podSecurity"])
            .filter(|v| v.as_list().is_some_and(|l| !l.is_empty()))
            .cloned()
            .unwrap_or_default(),
    }
}
