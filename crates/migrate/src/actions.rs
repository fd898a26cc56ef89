//! Failure actions, overrides and pod controllers.
//!
//! In: a rule and its policy. Out: what follows from violations, a part for each group of namespaces with another consequence; and the
//! controllers that a policy on pods is for. Semantics: `docs/serve.md`, "Answers"; `docs/cel-policies.md`, "Controllers of pods".

use std::collections::BTreeSet;

use crate::constraints::{Condition, Matching, cel};
use crate::expressions::Refusal;
use crate::ir::matcher::{Requirement, SetOperator};
use crate::ir::rule::ActionOverride;
use crate::ir::{Origin, Policy, Rule};
use crate::text::Node;
use crate::value::wildcard::Wildcard;

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
pub struct Part {
    /// The consequence.
    pub action: Action,
    /// Which namespaces.
    pub namespaces: Vec<Requirement>,
    /// Which namespaces, where labels cannot say it.
    pub conditions: Vec<Condition>,
    /// What the policy's name ends with.
    pub suffix: Option<String>,
}

/// The consequences of a rule's violations.
///
/// # Errors
/// An override selects namespaces by their labels.
pub fn parts(policy: &Policy, rule: &Rule, found: &Matching) -> Result<Vec<Part>, Refusal> {
    let (overrides, place) = match rule.action.overrides.is_empty() {
        false => (&rule.action.overrides, rule.origin.key("validate.failureActionOverrides")),
        true if rule.action.rule.is_some() => (&rule.action.overrides, Origin::default()),
        true => (&policy.overrides, Origin::new("spec.validationFailureActionOverrides")),
    };
    let usual = Action::of(rule.action.rule.as_ref().unwrap_or(&policy.action), policy);
    let all = Part { action: usual, namespaces: Vec::new(), conditions: Vec::new(), suffix: None };
    let known = |o: &&ActionOverride| matches!(&*o.action, "Enforce" | "enforce" | "Audit" | "audit");
    if overrides.iter().filter(known).all(|o| Action::of(&o.action, policy) == usual) {
        return Ok(vec![all]);
    }
    let mut before: Vec<Wildcard> = Vec::new();
    let mut out: Vec<Part> = Vec::new();
    // The last ones that say what holds without them say nothing.
    let all: Vec<&ActionOverride> = overrides.iter().filter(known).collect();
    let used = all.iter().rposition(|o| Action::of(&o.action, policy) != usual).map_or(0, |at| at + 1);
    for one in all.into_iter().take(used) {
        if one.selector.is_some() {
            return Err(Refusal::new(
                "an override of the failure action by labels of namespaces",
                place,
                "write one policy for each action, with a `namespaceSelector`",
            ));
        }
        let action = Action::of(&one.action, policy);
        let Some(namespaces) = &one.namespaces else {
            out.push(within(action, None, &before, found));
            return Ok(out);
        };
        out.push(within(action, Some(namespaces), &before, found));
        before.extend(namespaces.iter().cloned());
    }
    out.push(within(usual, None, &before, found));
    Ok(out)
}

/// A part for some namespaces, or for all, without those of the parts before it.
fn within(action: Action, own: Option<&[Wildcard]>, before: &[Wildcard], found: &Matching) -> Part {
    let mut part = Part {
        action,
        namespaces: Vec::new(),
        conditions: Vec::new(),
        suffix: Some(if action.deny { "enforce" } else { "audit" }.into()),
    };
    for (operator, list) in [(SetOperator::In, own.unwrap_or_default()), (SetOperator::NotIn, before)] {
        if list.is_empty() {
            continue;
        }
        let is_exact = list.iter().all(|w| !w.is_wild()) && found.is_in_namespaces;
        if is_exact {
            let values = list.iter().map(|w| w.pattern().clone()).collect();
            part.namespaces.push(Requirement { key: "kubernetes.io/metadata.name".into(), operator, values });
            continue;
        }
        let test = cel::matches_any("request.?namespace.orValue('')", list);
        let expression = if operator == SetOperator::In { test } else { cel::not(&test) };
        part.conditions.push(Condition { name: "namespaces".into(), expression, is_verbatim: false });
    }
    part
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
