//! Which results still have their policy.
//!
//! In: the policies in use. Out: whether the policy of a result exists and is reported, and, where
//! its rules have names, still has the rule.

use std::collections::{HashMap, HashSet};

use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_policies::PolicySet;
use ephor_value::{Str, Value};

/// The sources of results of Kubernetes' own policies.
const NATIVE: [&str; 2] = ["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"];

/// The names of rules; `None` = all.
type Rules = Option<HashSet<Str>>;

/// Policies that may have results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultOwners {
    /// By source and key.
    policies: HashMap<(Str, String), Rules>,
    /// Whether those of Kubernetes are known.
    has_native: bool,
}

impl ResultOwners {
    /// The policies of a set. Nothing is known of those of Kubernetes, whose results count.
    pub fn of(set: &PolicySet) -> ResultOwners {
        let own = set.policies().iter().filter(|policy| policy.stage != Stage::ApiServer);
        let mut owners = ResultOwners::default();
        own.for_each(|policy| owners.add(policy));
        owners
    }

    /// With those of Kubernetes that have results.
    #[must_use]
    pub fn with_native<'p>(mut self, policies: impl Iterator<Item = &'p Policy>) -> ResultOwners {
        self.has_native = true;
        policies.for_each(|policy| self.add(policy));
        self
    }

    fn add(&mut self, policy: &Policy) {
        if policy.reported {
            let rules = policy.report.names_rules.then(|| policy.rule_names.iter().cloned().collect());
            self.policies.insert((policy.report.source.clone(), policy.key()), rules);
        }
    }

    /// Whether a result counts.
    pub fn has(&self, entry: &Value) -> bool {
        let source = entry.text_at(&["source"]);
        if !self.has_native && NATIVE.contains(&source) {
            return true;
        }
        match self.policies.get(&(source.into(), entry.text_at(&["policy"]).to_string())) {
            None => false,
            Some(None) => true,
            Some(Some(rules)) => rules.contains(entry.text_at(&["rule"])),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::reports::object;

    fn entry(source: &str, policy: &str, rule: &str) -> Value {
        object([("source", source.into()), ("policy", policy.into()), ("rule", rule.into())])
    }

    fn set(labels: &str) -> PolicySet {
        PolicySet::from_yaml(&format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p, labels: {labels}}}, spec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, validate: {{message: m, pattern: {{spec: {{a: b}}}}}}}}]}}}}"
        ))
        .unwrap()
    }

    #[test]
    fn results_count_as_long_as_their_policy_has_their_rule() {
        let owners = ResultOwners::of(&set("{}"));
        assert!(owners.has(&entry("kyverno", "p", "r")));
        assert!(owners.has(&entry("kyverno", "p", "autogen-r")));
        assert!(!owners.has(&entry("kyverno", "p", "gone")));
        assert!(!owners.has(&entry("kyverno", "q", "r")));
        assert!(!owners.has(&entry("KyvernoValidatingPolicy", "p", "")));
    }

    #[test]
    fn results_of_policies_that_are_left_out_of_reports_do_not_count() {
        assert!(
            !ResultOwners::of(&set("{reports.kyverno.io/disabled: ''}")).has(&entry("kyverno", "p", "r"))
        );
    }

    #[test]
    fn results_of_policies_of_kubernetes_count_unless_these_are_known() {
        let vap = entry("ValidatingAdmissionPolicy", "v", "v");
        let owners = ResultOwners::of(&set("{}"));
        assert!(owners.has(&vap));
        assert!(!owners.with_native(std::iter::empty()).has(&vap));
    }
}
