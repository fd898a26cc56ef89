//! What a rule selects, as constraints and conditions of the new policy.

use ephor_ir::matcher::Requirement;
use ephor_value::Str;

use crate::constraints::add_condition;
use crate::constraints::kinds::Resources;
use crate::expressions::converted::NamedExpression;
use crate::model::unique::add_new;

/// The label that every namespace has.
pub(crate) const NAME_OF_NAMESPACE: &str = "kubernetes.io/metadata.name";

/// Which requests a policy is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matching {
    /// Resources and operations.
    pub rules: Vec<ResourceRule>,
    /// Labels of namespaces.
    pub namespaces: Vec<Requirement>,
    /// What else must hold.
    pub conditions: Vec<NamedExpression>,
    /// The kinds that are known to be selected.
    pub kinds: Vec<[Str; 3]>,
    /// Whether pods are selected and nothing else.
    pub is_pods: bool,
    /// Whether all that is selected lives in namespaces.
    pub is_in_namespaces: bool,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl Matching {
    /// The requests that add ephemeral containers to pods: rules on pods see them, a policy in CEL
    /// needs the subresource, and has no pod controllers then.
    pub fn of_ephemeral(&self) -> Option<Matching> {
        let mut out = Matching { is_pods: false, ..self.clone() };
        out.rules
            .retain(|rule| rule.operations.iter().any(|operation| operation == "UPDATE" || operation == "*"));
        for rule in &mut out.rules {
            rule.resources.names = vec!["pods/ephemeralcontainers".into()];
            rule.operations = vec!["UPDATE".into()];
        }
        (!out.rules.is_empty()).then_some(out)
    }

    /// The operations that are selected.
    pub fn operations(&self) -> Vec<Str> {
        let mut out = Vec::new();
        let all = self.rules.iter().flat_map(|rule| &rule.operations);
        add_new(&mut out, all.map(|operation| Str::from(operation.as_str())));
        out
    }

    /// Whether deletions are selected.
    pub fn has_deletions(&self) -> bool {
        self.rules.iter().any(|rule| rule.operations.iter().any(|operation| operation == "DELETE"))
    }

    /// Adds the subresource by which ephemeral containers come into pods, where updates of pods are
    /// selected.
    pub fn add_ephemeral(&mut self) {
        for rule in &mut self.rules {
            if rule.operations.iter().any(|operation| operation == "UPDATE" || operation == "*") {
                rule.resources.names.push("pods/ephemeralcontainers".into());
                self.is_pods = false;
            }
        }
    }

    /// Which deletions are selected.
    pub fn deletions(&self) -> Deletions {
        let is_only = |rule: &ResourceRule| rule.operations.iter().all(|operation| operation == "DELETE");
        match self.has_deletions() {
            true if self.rules.iter().all(is_only) => Deletions::Only,
            true => Deletions::Some,
            false => Deletions::None,
        }
    }

    pub(crate) fn add(&mut self, rule: ResourceRule) {
        let same = |known: &&mut ResourceRule| {
            known.operations == rule.operations
                && known.resources.groups == rule.resources.groups
                && known.resources.versions == rule.resources.versions
        };
        match self.rules.iter_mut().find(same) {
            Some(known) => add_new(&mut known.resources.names, rule.resources.names),
            None => self.rules.push(rule),
        }
    }

    pub(crate) fn condition(&mut self, name: &str, expression: String) {
        if expression == "true" || self.conditions.iter().any(|c| c.expression == expression) {
            return;
        }
        add_condition(&mut self.conditions, NamedExpression::converted(name, expression));
    }
}

/// Whether deletions are among requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Deletions {
    /// None.
    None,
    /// Some requests are.
    Some,
    /// All of them are.
    Only,
}

/// Operations with the resources that they are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRule {
    /// The resources.
    pub resources: Resources,
    /// The operations.
    pub operations: Vec<String>,
    /// Whether only objects in namespaces are selected.
    pub is_namespaced: bool,
}
