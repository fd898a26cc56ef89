//! Admission policies → policies whose one rule runs outside of a cluster.
//!
//! There every request creates an object, so rules for other operations accept nothing.

use std::sync::Arc;

use crate::ir::admission::{Bound, PolicyBinding};
use crate::ir::constraints::{AnyOf, Constraints};
use crate::ir::facts::{ActionModel, FailurePolicy, NamespaceScope, Report, Stage};
use crate::ir::rule::{Action, Body, RuleKind};
use crate::ir::{Matcher, Origin, Policy, Rule};
use crate::value::{Str, Value};

use super::Place;

/// Lowers a policy. Bindings and parameters come later, with [`bind`].
pub fn policy(document: &Value) -> Policy {
    let lowered = super::policy(document, Place::Kyverno);
    let name = lowered.name.clone();
    let mutating = document.text_at(&["kind"]) == "MutatingAdmissionPolicy";
    // Without constraints it is about every object.
    let when = matcher(lowered.when.clone().map(creating).unwrap_or_default());
    let bound = Bound { policy: lowered, bindings: Box::default(), params: Arc::new([]) };
    let rule = Rule {
        origin: Origin::new("spec"),
        generated: None,
        name: name.clone(),
        kind: if mutating { RuleKind::Mutation } else { RuleKind::Validation },
        when,
        unless: Matcher::never(),
        bindings: Box::default(),
        admit: None,
        expressions: None,
        properties: None,
        body: Body::Admission(Box::new(bound)),
        broken: None,
        action: Action::default(),
    };
    Policy {
        api: crate::lower::policy::api(document),
        name: name.clone(),
        namespace: None,
        annotations: crate::lower::policy::annotations(document),
        reported: crate::lower::policy::is_reported(document),
        apply_one: false,
        background: true,
        admission: true,
        action: "".into(),
        overrides: Box::default(),
        failure_policy: FailurePolicy::of(document.text_at(&["spec", "failurePolicy"])),
        actions: ActionModel::Bindings,
        stage: Stage::ApiServer,
        scope: NamespaceScope::All,
        report: Report {
            source: if mutating { "MutatingAdmissionPolicy" } else { "ValidatingAdmissionPolicy" },
            names_rules: false,
        },
        admit: Box::default(),
        rules: Arc::new([Arc::new(rule)]),
        by_kind: Vec::new(),
        rule_count: 1,
        rule_names: Box::new([name]),
    }
}

/// A binding of either kind, with the kind of the policies that it binds.
pub fn binding(document: &Value) -> (Str, PolicyBinding) {
    let kind = document.text_at(&["kind"]);
    let mut lowered = super::binding(document);
    lowered.when = lowered.when.map(creating);
    (kind.strip_suffix("Binding").unwrap_or(kind).into(), lowered)
}

/// The policy with its bindings and what parameters there are. A policy that has bindings is matched by
/// theirs alone (the reference's behaviour).
pub fn bind(policy: &Policy, bindings: &[(Str, PolicyBinding)], params: &Arc<[Value]>) -> Policy {
    let mut policy = policy.clone();
    let Some(rule) = policy.rules.first() else { return policy };
    let Body::Admission(bound) = &rule.body else { return policy };
    let own = bindings.iter().filter(|(kind, b)| *kind == policy.api.kind && b.policy == policy.name);
    let mut rule = (**rule).clone();
    let bindings: Box<[PolicyBinding]> = own.map(|(_, b)| b.clone()).collect();
    if !bindings.is_empty() {
        rule.when = matcher(Constraints::default());
    }
    let bound = Bound { policy: bound.policy.clone(), bindings, params: params.clone() };
    rule.body = Body::Admission(Box::new(bound));
    policy.rules = Arc::new([Arc::new(rule)]);
    policy
}

fn matcher(constraints: Constraints) -> Matcher {
    Matcher::Constraints(Box::new(constraints))
}

fn creating(mut constraints: Constraints) -> Constraints {
    for rule in constraints.rules.iter_mut().chain(&mut constraints.exclude) {
        rule.operations =
            if rule.operations.has("CREATE") { AnyOf::All } else { AnyOf::These(Box::default()) };
    }
    constraints
}
