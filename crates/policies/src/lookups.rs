//! Whether rules read other objects than those that they are applied on.
//!
//! In: a policy. Out: whether the objects of a run have to be known before it is evaluated on the
//! first of them. Semantics: `docs/reference/cli.md`, "apply": calls of the Kubernetes API, global
//! entries and targets of mutations are answered from the objects of the run; ConfigMaps from
//! values.

use ephor_ir::parts::RulePart;
use ephor_ir::rule::{BindingSource, Body};
use ephor_ir::{Policy, Rule};

/// Whether a rule of a policy looks up objects.
pub fn looks_up_objects(policy: &Policy) -> bool {
    policy.all_rules().any(|rule| changes_others(rule) || calls(RulePart::Rule(rule)))
}

/// Whether a rule changes other objects than that of the request.
fn changes_others(rule: &Rule) -> bool {
    match &rule.body {
        Body::Mutate(mutation) => mutation.targets.is_some() || mutation.existing.is_some(),
        _ => false,
    }
}

/// Whether a part of a rule reads objects; services aside.
fn calls(part: RulePart<'_>) -> bool {
    if let RulePart::BindingSource(BindingSource::ApiCall { .. } | BindingSource::Global { .. }) = &part {
        return true;
    }
    let mut found = false;
    part.parts(&mut |below| found = found || calls(below));
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn policy(rule: &str) -> bool {
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n{rule}"
        );
        let source = ephor_sources::files::SourceText { name: "p.yaml".into(), text };
        let loaded = crate::load::argument_as(&[source], crate::load::Reader::Command, None);
        assert!(loaded.problems.is_empty(), "{rule}{:?}", loaded.problems);
        let policy = loaded.policies.first().and_then(|p| p.policy.clone());
        looks_up_objects(&policy.unwrap())
    }

    const VALIDATE: &str = "    validate: {message: m, pattern: {metadata: {name: '?*'}}}\n";

    #[test]
    fn calls_global_entries_and_targets_are_lookups() {
        for rule in [
            format!("    context: [{{name: entry, apiCall: {{urlPath: /api/v1/namespaces}}}}]\n{VALIDATE}"),
            format!("    context: [{{name: entry, globalReference: {{name: entry}}}}]\n{VALIDATE}"),
            "    mutate: {targets: [{apiVersion: v1, kind: ConfigMap, name: c, namespace: web}], patchStrategicMerge: {metadata: {labels: {a: b}}}}\n".into(),
            "    validate:\n      message: m\n      foreach:\n      - list: request.object.spec.containers\n        context: [{name: entry, apiCall: {urlPath: /api/v1/nodes}}]\n        deny: {conditions: {any: [{key: '{{ entry }}', operator: Equals, value: 1}]}}\n".into(),
        ] {
            assert!(policy(&rule), "{rule}");
        }
    }

    #[test]
    fn a_rule_about_its_own_object_looks_up_nothing() {
        assert!(!policy(VALIDATE));
        let variables =
            "    context: [{name: entry, variable: {value: '{{ request.object.metadata.name }}'}}]\n";
        assert!(!policy(&format!("{variables}{VALIDATE}")));
        let map = "    context: [{name: entry, configMap: {name: c, namespace: web}}]\n";
        assert!(!policy(&format!("{map}{VALIDATE}")));
    }
}
