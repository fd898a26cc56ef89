//! Admission policies → policies whose one rule runs outside of a cluster.
//!
//! There every request creates an object, so rules for other operations accept nothing.

use std::sync::Arc;

use ephor_ir::admission::{Bound, PolicyBinding};
use ephor_ir::constraints::{AnyOf, Constraints};
use ephor_ir::facts::{ActionModel, FailurePolicy, NamespaceScope, Report, Stage};
use ephor_ir::rule::RuleKind;
use ephor_ir::{Matcher, Policy, Rule};
use ephor_value::Value;

use super::Place;

/// Lowers a policy for the place where it runs. Bindings and parameters come later: outside of a
/// cluster with [`bind`].
pub fn policy(document: &Value, place: Place) -> Policy {
    let mut rule = super::rule(document, place);
    if let (Place::Kyverno, Matcher::Constraints(constraints)) = (place, &rule.when) {
        rule.when = matcher(creating((**constraints).clone()));
    }
    let (name, mutating) = (rule.name.clone(), rule.kind == RuleKind::Mutation);
    Policy {
        api: crate::policy::api(document),
        short_name: "".into(),
        name: name.clone(),
        namespace: None,
        annotations: crate::policy::annotations(document),
        reported: crate::policy::is_reported(document),
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
            source: if mutating { "MutatingAdmissionPolicy" } else { "ValidatingAdmissionPolicy" }.into(),
            names_rules: false,
        },
        admit: Box::default(),
        rules: Arc::new([Arc::new(rule)]),
        by_kind: Vec::new(),
        rule_count: 1,
        rule_names: Box::new([name]),
    }
}

/// A binding of either kind, outside of a cluster.
pub fn binding(document: &Value) -> PolicyBinding {
    let mut lowered = super::binding(document);
    lowered.when = lowered.when.map(creating);
    lowered
}

/// The policy with its bindings and what parameters there are. A policy that has bindings is
/// matched by theirs alone (the reference's behaviour).
pub fn bind(policy: &Policy, bindings: &[PolicyBinding], params: &Arc<[Value]>) -> Policy {
    with_bound(policy, |rule, bound| {
        let mutates = rule.kind == RuleKind::Mutation;
        let own = bindings.iter().filter(|b| b.mutates == mutates && b.policy == rule.name);
        bound.bindings = own.cloned().collect();
        bound.params = params.clone();
        if !bound.bindings.is_empty() {
            rule.when = matcher(Constraints::default());
        }
    })
}

/// The policy for commands that run it as an API server: with its bindings and what parameters
/// there are; one without bindings with one that concerns every request and says nothing of what
/// follows.
pub fn bind_for_command(policy: &Policy, bindings: &[PolicyBinding], params: &Arc<[Value]>) -> Policy {
    let mutates = policy.rules.iter().any(|rule| rule.kind == RuleKind::Mutation);
    let own = bindings.iter().filter(|b| b.mutates == mutates && b.policy == policy.name);
    let mut own: Vec<PolicyBinding> = own.cloned().collect();
    if own.is_empty() {
        own.push(PolicyBinding {
            mutates,
            name: "".into(),
            policy: policy.name.clone(),
            params: None,
            when: None,
            actions: Box::default(),
        });
    }
    with_bound(&bind_as_server(policy, own), |_, bound| bound.params = params.clone())
}

/// The policy with its bindings, as an API server runs it: by the names of bindings, for what it is
/// about itself.
pub fn bind_as_server(policy: &Policy, mut bindings: Vec<PolicyBinding>) -> Policy {
    bindings.sort_by(|a, b| a.name.cmp(&b.name));
    with_bound(policy, |rule, bound| {
        bound.bindings = bindings.into();
        rule.when = matcher(bound.constraints.clone().unwrap_or_default());
    })
}

/// A policy of a static manifest with its bindings, in the order of their names.
pub fn bind_static(policy: &Policy, bindings: Vec<PolicyBinding>) -> Policy {
    with_bound(&bind_as_server(policy, bindings), |_, bound| bound.is_static = true)
}

/// The policy with another rule and what binds it.
fn with_bound(policy: &Policy, change: impl FnOnce(&mut Rule, &mut Bound)) -> Policy {
    let mut policy = policy.clone();
    let Some((rule, bound)) = policy.rules.first().and_then(|r| Some((r, r.bound.as_ref()?))) else {
        return policy;
    };
    let (mut rule, mut bound) = ((**rule).clone(), (**bound).clone());
    change(&mut rule, &mut bound);
    rule.bound = Some(Arc::new(bound));
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
