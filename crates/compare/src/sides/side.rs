//! A side of a comparison: policies that are evaluated together.

use std::sync::Arc;

use ephor_engine::outcome::Effect as Done;
use ephor_engine::{Consequence, Request, RuleOutcome, Status};
use ephor_ir::admission::Bound;
use ephor_ir::facts::Stage;
use ephor_ir::matcher::Filter;
use ephor_ir::policy::KindRules;
use ephor_ir::rule::{Action, Body, RuleKind};
use ephor_ir::{Matcher, Policy, Rule};
use ephor_matching::Target;
use ephor_policies::load::Policies;
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use crate::model::environment::Environment;
use crate::model::request::{Case, RequestContext, request};
use crate::model::verdict::{Effect, Judgement, Verdict};
use crate::sides::lookup_stub;
use crate::sides::natives::{changes, native};
use crate::sides::wildcard_keys::AmbiguousWildcardKeys;

/// Why policies cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SideError {
    /// There is none.
    #[error("{place}: no policy")]
    NoPolicy {
        /// Where it was looked for.
        place: String,
    },
    /// One cannot be used.
    #[error("{0}")]
    Unusable(String),
}

/// Policies that are evaluated together, as a cluster would.
pub struct Side {
    pub(crate) engine: Engine,
    /// Whether values that conditions take for patterns are taken to have no wildcards.
    pub(crate) knows_no_patterns: bool,
    /// Whether objects are left out that have two labels or annotations of which a pattern reads
    /// one.
    pub(crate) has_one_key: bool,
    /// The release of the API server that evaluates policies of Kubernetes.
    release: Option<Release>,
    /// These policies.
    natives: Arc<[Value]>,
}

impl Side {
    /// The policies of a load. Admission policies of Kubernetes have the bindings that come with
    /// them; without any, all they select is checked.
    ///
    /// # Errors
    /// There is no policy, or one that cannot be used: what would be left out must not count as
    /// equal.
    pub fn new(mut loaded: Policies, place: &str) -> Result<Side, SideError> {
        if let Some(problem) = loaded.problems.iter().find(|problem| !problem.foreign) {
            return Err(SideError::Unusable(problem.to_string()));
        }
        for policy in &loaded.policies {
            if let Some(why) = policy.refused.as_ref().or(policy.uncompiled.as_ref()) {
                let text = format!("{}:{}: policy {}: {why}", policy.source, policy.line, policy.name);
                return Err(SideError::Unusable(text));
            }
        }
        loaded.bind(Vec::new());
        let natives: Arc<[Value]> = loaded.policies.iter().filter_map(|p| native(&p.document)).collect();
        let policies = loaded.policies.into_iter().filter_map(|p| p.policy);
        let policies: Vec<Arc<Policy>> = policies.map(in_cluster).collect();
        if policies.is_empty() {
            return Err(SideError::NoPolicy { place: place.into() });
        }
        let set = PolicySet::new(policies, loaded.exceptions).with_cel_exceptions(loaded.cel_exceptions);
        Ok(Side { natives, ..Side::of_set(set) })
    }

    /// The policies of a set.
    pub(crate) fn of_set(set: PolicySet) -> Side {
        Side::of_engine(lookup_stub::engine(set))
    }

    /// The policies of an engine.
    pub(crate) fn of_engine(engine: Engine) -> Side {
        let policies = engine.set().policies();
        let release = policies
            .iter()
            .flat_map(|policy| policy.all_rules())
            .find_map(|rule| rule.bound.as_ref()?.server);
        Side { engine, knows_no_patterns: false, has_one_key: false, release, natives: Arc::from([]) }
    }

    /// The release of the API server that evaluates policies of Kubernetes; `None` = there are
    /// none, or they are evaluated as Kyverno does.
    pub(crate) fn release(&self) -> Option<Release> {
        self.release
    }

    /// Whether the policies of Kubernetes of both sides are evaluated on two releases.
    pub fn is_on_another_release(&self, other: &Side) -> bool {
        self.release.is_some() && other.release.is_some() && self.release != other.release
    }

    /// What of its policies of Kubernetes means something else on a later release than on theirs.
    pub fn other_in_later_releases(&self) -> Vec<String> {
        let Some(own) = self.release else { return Vec::new() };
        let later = Release::ALL.into_iter().filter(|release| *release > own);
        later.flat_map(|release| changes(&*self.natives, [own, release])).collect()
    }

    /// The policies of Kubernetes.
    pub(crate) fn natives(&self) -> &[Value] {
        &self.natives
    }

    /// The same policies.
    pub(crate) fn copy(&self) -> Side {
        self.with_rules(&Arc::clone)
    }

    /// The same where values of objects that conditions take for patterns have no wildcards: a
    /// proof is relative to that.
    #[must_use]
    pub fn without_patterns(self) -> Side {
        Side { knows_no_patterns: true, ..self }
    }

    /// The same where of several labels or annotations that a wildcard in the key of a pattern
    /// matches there is one at most: a proof is relative to that. Of more of them Kyverno reads
    /// one, whichever it meets first.
    #[must_use]
    pub fn with_one_key(self) -> Side {
        Side { has_one_key: true, ..self }
    }

    /// Whether a pattern reads one of several labels or annotations that a wildcard in its key
    /// matches.
    pub fn has_ambiguous_wildcard_keys(&self) -> bool {
        !self.one_key().is_empty()
    }

    /// The wildcards in keys of patterns of which one key at most matches, where the side is taken
    /// so.
    pub(crate) fn one_key(&self) -> AmbiguousWildcardKeys {
        let policies = self.policies().iter().filter(|_| self.has_one_key);
        AmbiguousWildcardKeys::of(policies.map(|policy| &**policy))
    }

    /// The policies.
    pub fn policies(&self) -> &[Arc<Policy>] {
        self.engine.set().policies()
    }

    /// What the policies say of a request.
    pub fn judge(&self, request: &Request) -> Judgement {
        judge(&self.engine, request)
    }

    /// What the policies say of an object when the usual user creates, updates or deletes it;
    /// `None` when it has no kind.
    pub fn judge_object(&self, object: &Value, operation: &'static str) -> Option<Judgement> {
        self.judge_sent((object, None), operation, &Arc::default())
    }

    /// The same of a request with what surrounds it, and with the former object of an update where
    /// that is another one.
    pub fn judge_sent(
        &self,
        (object, old): (&Value, Option<&Value>),
        operation: &'static str,
        around: &Arc<RequestContext>,
    ) -> Option<Judgement> {
        let environment = Environment::of_object(object, operation)?;
        let case = Case { object: object.clone(), old: old.cloned(), around: Arc::clone(around) };
        Some(self.judge(&request(&environment, &case)?))
    }

    /// The same policies with other rules in place of theirs.
    pub(crate) fn with_rules(&self, change: &dyn Fn(&Arc<Rule>) -> Arc<Rule>) -> Side {
        let of_rules = |rules: &[Arc<Rule>]| rules.iter().map(change).collect::<Arc<[_]>>();
        let of_policy = |policy: &Arc<Policy>| {
            let by_kind = policy.by_kind.iter();
            let by_kind =
                by_kind.map(|own| KindRules { rules: of_rules(&own.rules), ..own.clone() }).collect();
            Arc::new(Policy { rules: of_rules(&policy.rules), by_kind, ..(**policy).clone() })
        };
        let set = self.engine.set();
        let policies = set.policies().iter().map(of_policy).collect();
        let set = PolicySet::new(policies, set.exceptions().to_vec())
            .with_cel_exceptions(set.cel_exceptions().to_vec());
        let (knows_no_patterns, has_one_key) = (self.knows_no_patterns, self.has_one_key);
        Side { knows_no_patterns, has_one_key, natives: self.natives.clone(), ..Side::of_set(set) }
    }

    /// The same policies without what allows updates of objects that are violations already.
    pub(crate) fn without_existing(&self) -> Side {
        self.with_rules(&|rule| {
            let action = Action { allow_existing: false, ..rule.action.clone() };
            Arc::new(Rule { action, ..(**rule).clone() })
        })
    }

    /// Whether a rule allows updates of objects that are violations already.
    pub(crate) fn allows_existing(&self) -> bool {
        let rules = || self.policies().iter().flat_map(|policy| policy.all_rules());
        rules().any(|rule| rule.action.allow_existing)
    }

    /// Whether a rule changes or generates objects: then results are compared, and no units.
    pub(crate) fn changes(&self) -> bool {
        let mut rules = self.policies().iter().flat_map(|policy| policy.all_rules());
        rules.any(|rule| matches!(rule.body, Body::Mutate(_) | Body::Generate(_)))
    }

    /// Whether its rules do nothing but generate objects: they deny nothing.
    pub(crate) fn only_generates(&self) -> bool {
        let mut rules = self.policies().iter().flat_map(|policy| policy.all_rules());
        rules.all(|rule| matches!(rule.body, Body::Generate(_)))
    }

    /// Whether it has an admission policy of Kubernetes without a binding, which says what follows
    /// from violations.
    pub(crate) fn is_unbound(&self) -> bool {
        let mut rules = self.policies().iter().flat_map(|policy| policy.all_rules());
        let is_alone = |bound: &Bound| bound.bindings.iter().all(|binding| binding.name.is_empty());
        rules.any(|rule| rule.bound.as_deref().is_some_and(is_alone))
    }

    /// A rule whose results cannot be had without a cluster or a registry.
    pub(crate) fn unsupported(&self) -> Option<String> {
        self.policies().iter().find_map(|policy| {
            policy.all_rules().find_map(|rule| match &rule.body {
                Body::Validate { .. } | Body::Mutate(_) | Body::Generate(_) => None,
                Body::Delete => Some(format!("policy {}: deletions happen on a schedule", policy.name)),
                _ => Some(format!("policy {}: rule {} looks at signatures", policy.name, rule.name)),
            })
        })
    }
}

/// A policy as a cluster evaluates it. Those of the API server have their own constraints: those of
/// the command line accept every operation. Rules that change the object of the request get
/// creations and updates, unless a filter names other operations.
fn in_cluster(policy: Arc<Policy>) -> Arc<Policy> {
    let of = |rule: &Arc<Rule>| {
        let own = rule.bound.as_ref().and_then(|bound| bound.constraints.clone());
        let when = match (&rule.when, own.filter(|_| policy.stage == Stage::ApiServer)) {
            (_, Some(own)) => Matcher::Constraints(Box::new(own)),
            (Matcher::Any(filters), None) if is_change(rule) => Matcher::Any(with_operations(filters)),
            (Matcher::All(filters), None) if is_change(rule) => Matcher::All(with_operations(filters)),
            _ => return Arc::clone(rule),
        };
        Arc::new(Rule { when, ..(**rule).clone() })
    };
    let all = |rules: &[Arc<Rule>]| rules.iter().map(of).collect();
    let by_kind = policy.by_kind.iter();
    Arc::new(Policy {
        rules: all(&policy.rules),
        by_kind: by_kind.map(|own| KindRules { rules: all(&own.rules), ..own.clone() }).collect(),
        ..(*policy).clone()
    })
}

/// Whether a rule changes the object of the request.
fn is_change(rule: &Rule) -> bool {
    matches!(&rule.body, Body::Mutate(change) if change.targets.is_none() && change.existing.is_none())
}

fn with_operations(filters: &[Filter]) -> Box<[Filter]> {
    let of = |filter: &Filter| match filter.operations.is_empty() && !filter.kinds.is_empty() {
        true => Filter { operations: ["CREATE", "UPDATE"].map(Str::from).into(), ..filter.clone() },
        false => filter.clone(),
    };
    filters.iter().map(of).collect()
}

/// The gravest result of an engine's policies; of equally grave ones the first.
pub(crate) fn judge(engine: &Engine, request: &Request) -> Judgement {
    let mut worst = Judgement::default();
    let mut outcome = engine.evaluate(request);
    for (policy, result) in outcome.results() {
        // A rule that generates objects denies nothing where it does not apply any more.
        let (verdict, own) = match result.kind == RuleKind::Generation && result.status == Status::Fail {
            true => (Verdict::Skip, Effect::Allowed),
            false => (Verdict::of(result.status), effect(policy, result, &request.target)),
        };
        worst.effect = worst.effect.max(own);
        if worst.by.is_none() || verdict > worst.verdict {
            worst.by = Some((policy.name.clone(), result.rule.clone()));
            (worst.verdict, worst.message) = (verdict, result.message.clone());
        }
    }
    for done in &outcome.policies {
        // What rules once generated that do not apply any more is removed, unless others want it.
        for result in done.rules.iter().filter(|result| result.status != Status::Fail) {
            if let Some(Done::Generated(objects)) = result.effect.as_deref() {
                worst.generated.extend(objects.iter().cloned());
            }
        }
        if let Some(failure) = done.failure.as_ref().filter(|_| worst.verdict < Verdict::Error) {
            // Kyverno reports the rule, and says in a log why nothing was generated.
            worst.by = Some((
                done.policy.name.clone(),
                done.rules.first().map(|r| r.rule.clone()).unwrap_or_default(),
            ));
            (worst.verdict, worst.message) = (Verdict::Error, failure.as_str().into());
        }
    }
    worst.changed = outcome.object.take();
    worst
}

/// What follows from a result.
pub(crate) fn effect(policy: &Policy, result: &RuleOutcome, target: &Target) -> Effect {
    match Consequence::of(policy, result, Some(target)) {
        Consequence { denies: true, .. } => Effect::Denied,
        Consequence { warns: true, .. } => Effect::Warned,
        _ => Effect::Allowed,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_policies::load::{Reader, argument_for};
    use ephor_sources::files::SourceText;

    use super::*;

    /// What follows where a policy fails on a Pod without labels.
    fn failing(policy: &str) -> (Verdict, Effect) {
        let pod = ephor_document::yaml_value("{apiVersion: v1, kind: Pod, metadata: {name: p}}").unwrap();
        let file = SourceText { name: "p.yaml".into(), text: policy.into() };
        let side = Side::new(argument_for(&[file], Reader::Scan), "p.yaml").unwrap();
        let judged = side.judge_object(&pod, "CREATE").unwrap();
        (judged.verdict, judged.effect)
    }

    fn classic(spec: &str, rule: &str) -> String {
        format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{{spec}rules: [{{name: r, match: {{any: [{{resources: \
             {{kinds: [Pod]}}}}]}}, {rule}}}]}}}}"
        )
    }

    #[test]
    fn mutations_that_fail_are_denied_by_the_failure_policy_whatever_the_failure_action() {
        let rule = "mutate: {patchStrategicMerge: {metadata: {labels: {a: '{{request.object.metadata.labels.b}}'}}}}";
        for action in ["Audit", "Enforce"] {
            let policy = |of: &str| classic(&format!("validationFailureAction: {action}, {of}"), rule);
            assert_eq!(failing(&policy("")), (Verdict::Error, Effect::Denied));
            let ignored = "webhookConfiguration: {failurePolicy: Ignore}, ";
            assert_eq!(failing(&policy(ignored)), (Verdict::Error, Effect::Warned));
        }
    }

    #[test]
    fn the_failure_policy_of_mutating_policies_says_what_follows_from_errors() {
        let policy = |failure: &str| {
            format!(
                "{{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {{name: p}}, spec: {{failurePolicy: {failure}, matchConstraints: {{resourceRules: \
                 [{{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}}]}}, mutations: [{{patchType: ApplyConfiguration, applyConfiguration: \
                 {{expression: \"Object{{metadata: Object.metadata{{labels: Object.metadata.labels{{a: object.metadata.labels.b}}}}}}\"}}}}]}}}}"
            )
        };
        assert_eq!(failing(&policy("Fail")), (Verdict::Error, Effect::Denied));
        assert_eq!(failing(&policy("Ignore")), (Verdict::Error, Effect::Allowed));
    }

    #[test]
    fn the_failure_policy_of_admission_policies_of_kubernetes_says_what_follows_from_errors() {
        let policy = |kind: &str, failure: &str, more: &str| {
            let actions = if kind == "Validating" { ", validationActions: [Deny]" } else { "" };
            format!(
                "{{apiVersion: admissionregistration.k8s.io/v1, kind: {kind}AdmissionPolicy, metadata: {{name: p}}, spec: {{failurePolicy: {failure}, matchConstraints: \
                 {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}}]}}, {more}}}}}\n---\n{{apiVersion: \
                 admissionregistration.k8s.io/v1, kind: {kind}AdmissionPolicyBinding, metadata: {{name: b}}, spec: {{policyName: p{actions}}}}}"
            )
        };
        let condition = "matchConditions: [{name: c, expression: \"object.metadata.labels.a == 'b'\"}], reinvocationPolicy: Never, mutations: [{patchType: \
                         ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]";
        assert_eq!(failing(&policy("Mutating", "Fail", condition)).1, Effect::Denied);
        assert_eq!(failing(&policy("Mutating", "Ignore", condition)).1, Effect::Allowed);
        let check = "validations: [{expression: \"object.metadata.labels.a == 'b'\"}]";
        assert_eq!(failing(&policy("Validating", "Fail", check)), (Verdict::Error, Effect::Denied));
        assert_eq!(failing(&policy("Validating", "Ignore", check)).1, Effect::Allowed);
    }

    #[test]
    fn generations_that_fail_deny_nothing() {
        let rule = "generate: {apiVersion: v1, kind: ConfigMap, name: '{{request.object.metadata.labels.b}}', namespace: x, data: {data: {a: b}}}";
        assert_eq!(failing(&classic("validationFailureAction: Enforce, ", rule)).1, Effect::Allowed);
    }
}
