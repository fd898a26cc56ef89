//! Policies in CEL before they are written.
//!
//! In: drafts of single rules. Out: drafts of policies: rules that match the same requests, under
//! the same conditions and with the same consequences, are one policy.

use crate::actions::Action;
use crate::constraints::{Condition, Matching};
use crate::generating::GeneratedDraft;
use crate::images::ImagesDraft;
use crate::mutating::MutationDraft;
use crate::mutating::targets::TargetsDraft;
use crate::names::renamed;
use crate::text::{Item, Node};
use ephor_value::Value;

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftVariable {
    /// The name.
    pub name: String,
    /// The expression.
    pub expression: String,
    /// Whether it was written by a person, and stays as it is.
    pub is_verbatim: bool,
}

impl DraftVariable {
    /// As a part of a document.
    pub fn node(&self) -> Node {
        Node::map([
            ("name", Node::text(&self.name)),
            ("expression", expression(&self.expression, self.is_verbatim)),
        ])
    }
}

/// An expression as a part of a document.
pub fn expression(text: &str, is_verbatim: bool) -> Node {
    match is_verbatim {
        true => Node::text(text),
        false => Node::Code(text.into()),
    }
}

/// A validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The comments above it.
    pub comments: Vec<String>,
    /// The expression.
    pub expression: String,
    /// The message.
    pub message: Option<String>,
    /// What computes the message.
    pub message_expression: Option<String>,
    /// The reason.
    pub reason: Option<String>,
    /// Whether its expressions were written by a person, and stay as they are.
    pub is_verbatim: bool,
}

impl Check {
    /// As an item of a list.
    pub fn item(&self) -> Item {
        let mut map = crate::text::Map::default();
        map.push("expression", expression(&self.expression, self.is_verbatim));
        map.push_some("message", self.message.as_ref().map(Node::text));
        let computed = self.message_expression.as_deref().map(|text| expression(text, self.is_verbatim));
        map.push_some("messageExpression", computed);
        map.push_some("reason", self.reason.as_ref().map(Node::text));
        Item { comments: self.comments.clone(), node: map.into() }
    }
}

/// A policy that validates, before it has a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// The rules that it has: their positions and names.
    pub rules: Vec<(usize, String)>,
    /// Which requests it is about; its conditions are among `conditions`.
    pub matching: Matching,
    /// All conditions.
    pub conditions: Vec<Condition>,
    /// Variables, in order.
    pub variables: Vec<DraftVariable>,
    /// Validations, in order.
    pub checks: Vec<Check>,
    /// Audit annotations: key and expression.
    pub annotations: Vec<(String, String)>,
    /// Mutations, in order; a policy has these or validations.
    pub mutations: Vec<MutationDraft>,
    /// What verifies images; a policy has this or none of the others.
    pub images: Option<ImagesDraft>,
    /// The objects that exist already and that the mutations are for; else that of the request.
    pub targets: Option<TargetsDraft>,
    /// Objects that are generated; a policy has these, mutations or validations.
    pub generated: Vec<GeneratedDraft>,
    /// Parameters as written: `paramKind` and `paramRef`; only policies of Kubernetes have some.
    pub params: Option<(Value, Value)>,
    /// What follows from a violation.
    pub action: Action,
    /// The pod controllers that it is for, where these are not the usual ones.
    pub controllers: Option<Vec<String>>,
    /// What its name ends with, where a rule becomes several policies.
    pub suffix: Option<String>,
    /// Whether an admission policy of Kubernetes is generated from it.
    pub generates_native: bool,
}

impl Draft {
    /// Puts a word before what distinguishes its name.
    pub fn add_suffix(&mut self, word: &str) {
        self.suffix = Some(match &self.suffix {
            Some(suffix) => format!("{word}-{suffix}"),
            None => word.into(),
        });
    }

    /// Whether an expression looks at ephemeral containers.
    pub fn reads_ephemeral(&self) -> bool {
        let texts =
            self.variables.iter().map(|v| &v.expression).chain(self.checks.iter().map(|c| &c.expression));
        texts
            .chain(self.conditions.iter().map(|c| &c.expression))
            .any(|text| text.contains("ephemeralContainers"))
    }

    /// Whether rules of both can stand in one policy.
    fn goes_with(&self, other: &Draft) -> bool {
        self.matching == other.matching
            // A condition of a mutation sees what the ones before it left.
            && (self.mutations.is_empty() || (self.conditions.is_empty() && !other.mutations.is_empty()))
            && self.mutations.is_empty() == other.mutations.is_empty()
            && self.generated.first().map(|one| one.flags) == other.generated.first().map(|one| one.flags)
            // What fails ends a GeneratingPolicy; of a ClusterPolicy it ends the rule.
            && self.generated.iter().chain(&other.generated).all(GeneratedDraft::is_sure)
            && self.conditions == other.conditions
            && self.targets == other.targets
            && self.images.is_none()
            && other.images.is_none()
            && self.action == other.action
            && self.params == other.params
            && self.controllers == other.controllers
            && self.suffix == other.suffix
            && self.generates_native == other.generates_native
            && self
                .annotations
                .iter()
                .all(|(key, _)| !other.annotations.iter().any(|(known, _)| known == key))
    }

    /// Adds the rules of another draft.
    fn add(&mut self, mut other: Draft) {
        for at in 0..other.variables.len() {
            let Some(variable) = other.variables.get(at).cloned() else { break };
            match self.variables.iter().find(|known| known.name == variable.name) {
                None => self.variables.push(variable),
                Some(known) if known.expression == variable.expression => {}
                Some(_) => {
                    let is_free = |name: &String| {
                        !self.variables.iter().chain(&other.variables).any(|known| known.name == *name)
                    };
                    let name =
                        (2..).map(|n| format!("{}{n}", variable.name)).find(is_free).unwrap_or_default();
                    other.rename(&variable.name, &name);
                    self.variables.push(DraftVariable { name, expression: variable.expression, ..variable });
                }
            }
        }
        self.rules.extend(other.rules);
        self.checks.extend(other.checks);
        self.mutations.extend(other.mutations);
        self.generated.extend(other.generated);
        self.annotations.extend(other.annotations);
    }

    fn rename(&mut self, from: &str, to: &str) {
        let change = |text: &mut String| *text = renamed(text, from, to);
        self.variables.iter_mut().for_each(|v| change(&mut v.expression));
        for check in &mut self.checks {
            change(&mut check.expression);
            check.message_expression.iter_mut().for_each(change);
        }
        self.mutations.iter_mut().for_each(|mutation| change(&mut mutation.expression));
        self.annotations.iter_mut().for_each(|(_, text)| change(text));
    }
}

/// Drafts of which each is one policy.
pub fn merge(all: Vec<Draft>) -> Vec<Draft> {
    let mut out: Vec<Draft> = Vec::new();
    for draft in all {
        match out.iter_mut().find(|known| known.goes_with(&draft)) {
            Some(known) => known.add(draft),
            None => out.push(draft),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn draft(variable: &str) -> Draft {
        let variable = DraftVariable { name: "x".into(), expression: variable.into(), is_verbatim: false };
        let check = Check {
            comments: Vec::new(),
            expression: "variables.x".into(),
            message: None,
            message_expression: None,
            reason: None,
            is_verbatim: false,
        };
        Draft { variables: vec![variable], checks: vec![check], ..Draft::default() }
    }

    #[test]
    fn rules_share_variables_that_are_the_same_and_rename_others() {
        let merged = merge(vec![draft("1"), draft("1"), draft("2")]);
        let one = merged.first().unwrap();
        assert_eq!(merged.len(), 1);
        let names: Vec<&str> = one.variables.iter().map(|v| v.name.as_str()).collect();
        let checks: Vec<&str> = one.checks.iter().map(|c| c.expression.as_str()).collect();
        assert_eq!((names, checks), (vec!["x", "x2"], vec!["variables.x", "variables.x", "variables.x2"]));
    }

    #[test]
    fn rules_with_other_consequences_stand_in_policies_of_their_own() {
        let denies = Draft { action: Action { deny: true, warn: false }, ..draft("1") };
        assert_eq!(merge(vec![draft("1"), denies]).len(), 2);
    }
}
