//! Failure actions, overrides and pod controllers.
//!
//! In: a rule and its policy. Out: what follows from violations, a part for each group of
//! namespaces with another consequence; and the controllers that a policy on pods is for.
//! Semantics: `docs/reference/serve.md`, "Answers"; `docs/semantics/cel-policies.md`, "Controllers
//! of pods".

use std::collections::BTreeSet;

use ephor_ir::matcher::{Requirement, Selector, SetOperator};
use ephor_ir::rule::ActionOverride;
use ephor_ir::{Origin, Policy, Rule};
use ephor_value::wildcard::Wildcard;

use crate::constraints::cel;
use crate::constraints::filters::requirements;
use crate::constraints::model::{Matching, NAME_OF_NAMESPACE};
use crate::expressions::converted::NamedExpression;
use crate::expressions::refusal::{Refusal, Result};
use crate::text::Node;

/// What follows from a violation; it is reported in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// The request is denied.
    pub deny: bool,
    /// Its client is warned.
    pub warn: bool,
}

impl Action {
    /// `validationActions`.
    pub fn node(self) -> Node {
        match (self.deny, self.warn) {
            (true, _) => Node::texts(["Deny"]),
            (false, true) => Node::texts(["Audit", "Warn"]),
            (false, false) => Node::texts(["Audit"]),
        }
    }

    /// What a failure action says.
    pub fn of(written: &str, policy: &Policy) -> Action {
        let deny = matches!(written, "Enforce" | "enforce");
        Action { deny, warn: !deny && policy.actions.warns() }
    }
}

/// The namespaces in which violations have one consequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacePart {
    /// The consequence.
    pub action: Action,
    /// Which namespaces.
    pub namespaces: Vec<Requirement>,
    /// Which namespaces, where labels cannot say it.
    pub conditions: Vec<NamedExpression>,
    /// What the policy's name ends with.
    pub suffix: Option<String>,
}

/// The consequences of a rule's violations.
///
/// # Errors
/// An override of the policy selects namespaces by labels, or one of the rule by labels with
/// wildcards or by names and labels.
pub fn parts(policy: &Policy, rule: &Rule, found: &Matching) -> Result<Vec<NamespacePart>> {
    let (overrides, place) = match rule.action.overrides.is_empty() {
        false => (&rule.action.overrides, rule.origin.key("validate.failureActionOverrides")),
        true if rule.action.rule.is_some() => (&rule.action.overrides, Origin::default()),
        true => (&policy.overrides, Origin::new("spec.validationFailureActionOverrides")),
    };
    let usual = Action::of(rule.action.rule.as_ref().unwrap_or(&policy.action), policy);
    let all = NamespacePart { action: usual, namespaces: Vec::new(), conditions: Vec::new(), suffix: None };
    let known = |o: &&ActionOverride| matches!(&*o.action, "Enforce" | "enforce" | "Audit" | "audit");
    if overrides.iter().filter(known).all(|o| Action::of(&o.action, policy) == usual) {
        return Ok(vec![all]);
    }
    let is_of_policy = rule.action.overrides.is_empty();
    let mut before: Vec<Namespaces<'_>> = Vec::new();
    let mut out: Vec<NamespacePart> = Vec::new();
    // The last ones that say what holds without them say nothing.
    let all: Vec<&ActionOverride> = overrides.iter().filter(known).collect();
    let used = all.iter().rposition(|o| Action::of(&o.action, policy) != usual).map_or(0, |at| at + 1);
    for one in all.into_iter().take(used) {
        let action = Action::of(&one.action, policy);
        let own = match (&one.namespaces, &one.selector) {
            (None, None) => {
                out.push(within(action, None, &before, found));
                return Ok(out);
            }
            (Some(names), None) => Namespaces::Named(names),
            // One that is not well-formed selects nothing.
            (None, Some(selector)) if !selector.valid => continue,
            (None, Some(selector))
                if !is_of_policy && !selector.wild && !selector.is_empty() && found.is_in_namespaces =>
            {
                Namespaces::Labelled(selector)
            }
            // Kyverno knows no labels of namespaces when it reads the overrides of a policy.
            _ => {
                return Err(Refusal::new(
                    "an override of the failure action by labels of namespaces",
                    place,
                    "write it in the rule (`validate.failureActionOverrides`), by labels alone: that of a policy never denies",
                ));
            }
        };
        out.push(within(action, Some(own), &before, found));
        before.push(own);
    }
    out.push(within(usual, None, &before, found));
    Ok(out)
}

/// Namespaces that an override is for.
#[derive(Clone, Copy)]
enum Namespaces<'a> {
    /// By their names.
    Named(&'a [Wildcard]),
    /// By their labels.
    Labelled(&'a Selector),
}

/// A part for some namespaces, or for all, without those of the parts before it.
fn within(
    action: Action,
    own: Option<Namespaces<'_>>,
    before: &[Namespaces<'_>],
    found: &Matching,
) -> NamespacePart {
    let mut part = NamespacePart {
        action,
        namespaces: Vec::new(),
        conditions: Vec::new(),
        suffix: Some(if action.deny { "enforce" } else { "audit" }.into()),
    };
    match own {
        Some(Namespaces::Named(names)) => part.add_names(SetOperator::In, names, found),
        Some(Namespaces::Labelled(selector)) => part.namespaces.extend(requirements(selector)),
        None => {}
    }
    let mut others: Vec<Wildcard> = Vec::new();
    for one in before {
        match one {
            Namespaces::Named(names) => others.extend(names.iter().cloned()),
            Namespaces::Labelled(selector) => part.leave_out(selector),
        }
    }
    part.add_names(SetOperator::NotIn, &others, found);
    part
}

impl NamespacePart {
    fn add_names(&mut self, operator: SetOperator, list: &[Wildcard], found: &Matching) {
        if list.is_empty() {
            return;
        }
        let is_exact = list.iter().all(|w| !w.is_wild()) && found.is_in_namespaces;
        if is_exact {
            let values = list.iter().map(|w| w.pattern().clone()).collect();
            self.namespaces.push(Requirement { key: NAME_OF_NAMESPACE.into(), operator, values });
            return;
        }
        let test = cel::matches_any("request.?namespace.orValue('')", list);
        let expression = if operator == SetOperator::In { test } else { cel::not(&test) };
        self.conditions.push(NamedExpression::converted("namespaces", expression));
    }

    /// Leaves out the namespaces that a selector selects.
    fn leave_out(&mut self, selector: &Selector) {
        let all = requirements(selector);
        if let [one] = &all[..] {
            let operator = match one.operator {
                SetOperator::In => SetOperator::NotIn,
                SetOperator::NotIn => SetOperator::In,
                SetOperator::Exists => SetOperator::DoesNotExist,
                SetOperator::DoesNotExist => SetOperator::Exists,
            };
            self.namespaces.push(Requirement { operator, ..one.clone() });
            return;
        }
        let expression = cel::not(&cel::all(&cel::selects("namespaceObject.metadata.?labels", selector)));
        self.conditions.push(NamedExpression::converted("namespace-labels", expression));
    }
}

/// Kinds of controllers with the names that policies in CEL have for them.
const CONTROLLERS: [(&str, &str); 6] = [
    ("CronJob", "cronjobs"),
    ("DaemonSet", "daemonsets"),
    ("Deployment", "deployments"),
    ("Job", "jobs"),
    ("ReplicaSet", "replicasets"),
    ("StatefulSet", "statefulsets"),
];

/// The controllers of a policy on pods; `None` = those that it has when it names none.
pub fn controllers(kinds: &BTreeSet<&str>) -> Option<Vec<String>> {
    let has = |kind: &str| kinds.contains(kind);
    let names = CONTROLLERS.iter().filter(|(kind, _)| has(kind)).map(|(_, name)| (*name).to_string());
    let is_usual = CONTROLLERS.iter().all(|(kind, _)| has(kind));
    (!is_usual).then(|| names.collect())
}
