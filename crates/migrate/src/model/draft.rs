//! Policies in CEL before they are written.
//!
//! In: drafts of single rules. Out: drafts of policies: rules that match the same requests, under
//! the same conditions and with the same consequences, are one policy.

use ephor_value::Value;

use crate::constraints::model::Matching;
use crate::constraints::{conditions, constraints};
use crate::expressions::converted::NamedExpression;
use crate::kinds::images::references::References;
use crate::model::actions::Action;
use crate::model::names::renamed;
use crate::text::{Item, Map, Node};

/// A validation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
        let mut map = Map::default();
        map.push("expression", Node::expression(&self.expression, self.is_verbatim));
        map.push_some("message", self.message.as_ref().map(Node::text));
        let computed =
            self.message_expression.as_deref().map(|text| Node::expression(text, self.is_verbatim));
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
    pub conditions: Vec<NamedExpression>,
    /// Variables, in order.
    pub variables: Vec<NamedExpression>,
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
    /// `autogen`, where the draft says more than what policies have without it.
    pub fn autogen(&self) -> Option<Node> {
        let mut out = Map::default();
        if let Some(controllers) = &self.controllers {
            out.push("podControllers", Node::map([("controllers", Node::texts(controllers))]));
        }
        if self.generates_native {
            out.push("validatingAdmissionPolicy", Node::enabled(true));
        }
        (!out.is_empty()).then(|| out.into())
    }

    /// Adds which requests the policy is about, and its variables.
    pub fn write_selection(&self, spec: &mut Map) {
        spec.push("matchConstraints", constraints(&self.matching));
        spec.push_some("matchConditions", conditions(&self.conditions));
        spec.push_list("variables", self.variables.iter().map(NamedExpression::node));
    }

    /// Adds its validations, and the annotations of their reports.
    pub fn write_checks(&self, spec: &mut Map) {
        spec.push("validations", Node::List(self.checks.iter().map(Check::item).collect()));
        let annotation = |(key, text): &(String, String)| {
            Node::map([("key", Node::text(key)), ("valueExpression", Node::text(text))])
        };
        spec.push_list("auditAnnotations", self.annotations.iter().map(annotation));
    }

    /// Puts a word before what distinguishes its name.
    pub fn add_suffix(&mut self, word: &str) {
        self.suffix = Some(match &self.suffix {
            Some(suffix) => format!("{word}-{suffix}"),
            None => word.into(),
        });
    }

    /// Whether an expression reads ephemeral containers.
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
                    self.variables.push(NamedExpression { name, ..variable });
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

/// What a policy about images has besides its validations.
#[derive(Clone, Debug, PartialEq)]
pub struct ImagesDraft {
    pub(crate) references: References,
    /// Names and expressions.
    pub(crate) extractors: Vec<(String, String)>,
    /// Names and what they are.
    pub(crate) attestors: Vec<(String, Node)>,
    /// Names, types, and whether statements are artifacts of their own.
    pub(crate) attestations: Vec<(String, String, bool)>,
    pub(crate) credentials: Option<Node>,
    /// Flags that are off.
    pub(crate) off: Vec<&'static str>,
    /// What follows from a violation, where the entry says so.
    pub action: Option<Action>,
}

/// A mutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutationDraft {
    /// The comments above it.
    pub comments: Vec<String>,
    /// Whether it is a JSON patch; else an apply configuration.
    pub is_json: bool,
    /// The expression.
    pub expression: String,
}

impl MutationDraft {
    /// Whether the policy's own generation of rules for controllers makes nothing that works of it:
    /// it replaces paths of the spec in apply configurations, not those of JSON patches, and not
    /// the type of the metadata, which is an error then.
    pub fn is_of_pods_alone(&self) -> bool {
        self.is_json || self.expression.contains("Object.metadata{")
    }

    pub(crate) fn item(&self) -> Item {
        let (kind, field) = match self.is_json {
            true => ("JSONPatch", "jsonPatch"),
            false => ("ApplyConfiguration", "applyConfiguration"),
        };
        let node = Node::map([
            ("patchType", Node::text(kind)),
            (field, Node::map([("expression", Node::Code(self.expression.clone()))])),
        ]);
        Item { comments: self.comments.clone(), node }
    }
}

/// The objects that are changed because of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetsDraft {
    /// The position among the targets of the rule.
    pub at: usize,
    /// An expression that returns them; else they are selected.
    pub expression: Option<ReturnedObjects>,
    /// What selects them.
    pub matching: Matching,
    /// What else must hold of them.
    pub conditions: Vec<NamedExpression>,
}

/// Objects that an expression returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnedObjects {
    /// The expression.
    pub call: String,
    /// What it calls them by, for each key of the target that says one object or namespace.
    pub by: Vec<(&'static str, String)>,
    /// Whether these may be other texts than names.
    pub is_open: bool,
}

impl TargetsDraft {
    /// Adds the parts of a policy that say which objects they are.
    pub fn write(&self, spec: &mut Map) {
        let node = match &self.expression {
            Some(found) => Node::map([("expression", Node::Code(found.call.clone()))]),
            None => constraints(&self.matching),
        };
        spec.push("targetMatchConstraints", node);
        spec.push_some("targetMatchConditions", conditions(&self.conditions));
    }
}

/// What is generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedDraft {
    /// The comments above it.
    pub comments: Vec<String>,
    /// A template as YAML, or an expression.
    pub body: GeneratedBody,
    /// Flags of the evaluation, which hold for all of a policy.
    pub flags: GenerateFlags,
}

/// How an object is described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GeneratedBody {
    /// YAML with placeholders, or without.
    Template(String),
    /// An expression that hands objects over.
    Expression(String),
}

/// How objects stay in step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GenerateFlags {
    /// They follow their trigger, and are restored.
    pub synchronize: bool,
    /// They are generated for triggers that exist already, too.
    pub existing: bool,
    /// They stay when the policy is deleted.
    pub orphan: bool,
}

impl GeneratedDraft {
    /// Whether it cannot fail: every object has a name, and nothing is looked up.
    pub fn is_sure(&self) -> bool {
        let GeneratedBody::Template(text) = &self.body else { return false };
        let is_name = |inside: &str| {
            inside.split_once("))").is_some_and(|(expression, _)| {
                matches!(expression.trim(), "object.metadata.name" | "object.metadata.namespace")
            })
        };
        text.split("((").skip(1).all(is_name)
    }

    pub(crate) fn item(&self) -> Item {
        let node = match &self.body {
            GeneratedBody::Expression(text) => Node::map([("expression", Node::Code(text.clone()))]),
            GeneratedBody::Template(text) => {
                let mut map = Map::default();
                map.push("value", Node::text(text));
                if text.contains("((") {
                    map.push("interpolate", Node::text("cel"));
                }
                Node::map([("template", map.into())])
            }
        };
        Item { comments: self.comments.clone(), node }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn draft(variable: &str) -> Draft {
        let variable = NamedExpression::converted("x", variable.into());
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
