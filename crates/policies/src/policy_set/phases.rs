//! The policies of a set in the order of its schedule: changes, verdicts, generated objects; check
//! requests and deletions.
//!
//! Policies that change objects each see what the former one left, and verdicts are about the
//! object as it is then: rules before CEL policies, and Kubernetes' own verdicts at the end.

use std::sync::Arc;

use ephor_engine::expressions::deletion::DeletionSubject;
use ephor_engine::expressions::images;
use ephor_engine::request::Parts;
use ephor_engine::run::{Phase, Results, changes_others};
use ephor_engine::{Request, RuleOutcome, Status};
use ephor_ir::expressions::Proxy;
use ephor_ir::facts::Stage;
use ephor_ir::rule::Body;
use ephor_ir::{Policy, Rule};
use ephor_value::{Value, budget};

use super::engine::Engine;
use super::results::{Outcome, PolicyOutcome};
use super::schedule::{Class, Place, Step, class};
use super::verdicts::Limits;

impl Engine {
    /// The answers of policies to a check request of a proxy, in order.
    pub fn check(&self, request: &Value, proxy: Proxy) -> Vec<PolicyOutcome> {
        let parts = Parts { object: request.clone(), ..Parts::default() };
        let Ok(request) = Request::new(parts, self.profile(), &self.functions) else { return Vec::new() };
        let all = self.set.policies.iter().filter(|p| p.stage == Stage::CheckRequests);
        let run = |policy| PolicyOutcome::of(policy, self.run_all(Phase::Answer(proxy), policy, &request));
        all.map(run).filter(|done| !done.rules.is_empty()).collect()
    }

    /// The results of CEL policies that mutate existing objects, for one such object: in order,
    /// without those that do not select it.
    pub fn change_target(&self, request: &Request) -> Vec<PolicyOutcome> {
        let run = |(_, policy): (usize, &Arc<Policy>)| {
            let Body::Mutate(mutation) = &policy.rules.first()?.body else { return None };
            let existing = mutation.existing.as_ref().filter(|existing| existing.others)?;
            let done = self.run(Phase::Mutate, policy, std::iter::once(&*existing.rule), request);
            let selected = |r: &RuleOutcome| r.status != Status::Skip || !r.exceptions.is_empty();
            done.rules.iter().any(selected).then(|| PolicyOutcome::of(policy, done))
        };
        let changing = self.set.schedule.doing(Phase::Mutate).filter(|(class, _)| *class == Class::Cel);
        changing.filter_map(|(_, at)| self.policy(at)).filter_map(run).collect()
    }

    /// The results of DeletingPolicies for the object of a request, or for data of any form: in
    /// order, without those that do not select it.
    pub fn deletions(&self, request: &Request, subject: DeletionSubject) -> Vec<PolicyOutcome> {
        let all = self.set.schedule.deleting.iter().filter_map(|at| self.policy(*at));
        let run = |policy| PolicyOutcome::of(policy, self.run_all(Phase::Delete(subject), policy, request));
        all.map(|(_, policy)| run(policy)).filter(|done| !done.rules.is_empty()).collect()
    }
}

/// The outcome of a limited run.
#[derive(Debug, Default)]
pub struct LimitedOutcome {
    /// The results.
    pub outcome: Outcome,
    /// Policies that there was no time for.
    pub left: Vec<Arc<Policy>>,
    /// The policy that ended the run; its results are the last ones.
    pub stopped: bool,
}

impl Engine {
    /// The object of a request after Kyverno's policies: mutate rules, then image verification,
    /// then CEL mutations. The mutations of a policy that fails are discarded.
    pub fn changes(&self, request: &Request, limits: &Limits<'_>) -> LimitedOutcome {
        let mut out = LimitedOutcome::default();
        let mut current: Option<Request> = None;
        let steps = self.set.schedule.steps.iter().filter(|step| step.place == Place::Changing);
        for (phase, at) in steps.flat_map(|step| step.policies.iter().map(|at| (step.phase, *at))) {
            let Some((_, policy)) = self.policy(at).filter(|(_, p)| (limits.policies)(p)) else { continue };
            if !(limits.has_time)() {
                out.left.push(policy.clone());
                continue;
            }
            let request = current.as_ref().unwrap_or(request);
            // Other objects than that of the request are changed by a controller.
            let own = rules_of(policy, request).filter(|rule| !changes_others(rule));
            let Results { rules, object, .. } = self.run(phase, policy, own, request);
            if budget::is_interrupted() {
                out.left.push(policy.clone());
                continue;
            }
            let failed = rules.iter().any(|r| matches!(r.status, Status::Fail | Status::Error));
            out.stopped = failed && (limits.stops)(policy, &rules);
            let incoming = phase == Phase::Verify;
            let changed = object.filter(|o| !o.is_null() && (!failed || incoming));
            if !rules.is_empty() {
                let object = changed.clone();
                out.outcome.policies.push(PolicyOutcome {
                    incoming,
                    object,
                    ..PolicyOutcome::of(policy, rules)
                });
            }
            if out.stopped {
                break;
            }
            if let Some(object) = changed {
                current = Some(request.of_changed(object.clone()));
                out.outcome.object = Some(object);
            }
        }
        out
    }
}

/// Builds the request of a policy that has values of its own: by the policy's position, for an
/// object.
pub type OwnRequest<'r> = dyn Fn(usize, &Value) -> Option<Request> + 'r;

impl Engine {
    /// Evaluates all rules that match the request, phase by phase.
    pub fn evaluate_phases(&self, request: &Request, own: &OwnRequest<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        let mut current: Option<Request> = None;
        for step in &self.set.schedule.steps {
            let now = current.as_ref().unwrap_or(request);
            match step.phase {
                Phase::Decide => self.decide(step, now, own, &mut outcome),
                _ => current = self.pass(step, now, own, &mut outcome).or(current),
            }
            if outcome.object.as_ref().is_some_and(Value::is_null) && !request.outlives_object() {
                // A rule lost the object, and nothing else is known of it: nothing is left that
                // could match.
                break;
            }
            if step.settles_images {
                images::settle(outcome.policies.iter_mut().flat_map(|p| &mut p.rules));
            }
        }
        outcome
    }

    /// Runs the rules of a step that give verdicts.
    fn decide(&self, step: &Step, request: &Request, own: &OwnRequest<'_>, outcome: &mut Outcome) {
        let object = request.object_or_old();
        for group in self.set.index.candidates(&request.target).chunk_by(|a, b| a.0 == b.0) {
            let Some((at, policy)) = group.first().and_then(|(p, _)| self.policy(*p)) else { continue };
            if class(policy) != step.class {
                continue;
            }
            let own = own(at, object);
            self.evaluate_group(group, own.as_ref().unwrap_or(request), outcome);
        }
    }

    pub(super) fn policy(&self, at: u32) -> Option<(usize, &Arc<Policy>)> {
        let at = at as usize;
        self.set.policies.get(at).map(|p| (at, p))
    }

    /// Runs the rules of another step; the request with the object that they leave, when it is
    /// another one.
    fn pass(
        &self,
        step: &Step,
        request: &Request,
        own: &OwnRequest<'_>,
        outcome: &mut Outcome,
    ) -> Option<Request> {
        let phase = step.phase;
        let mut current: Option<Request> = None;
        for (at, policy) in step.policies.iter().filter_map(|at| self.policy(*at)) {
            let request = current.as_ref().unwrap_or(request);
            let object = if phase == Phase::Generate { request.object_or_old() } else { &request.object };
            let own = own(at, object);
            let request = own.as_ref().unwrap_or(request);
            let mut done = self.run(phase, policy, rules_of(policy, request), request);
            let left = match phase {
                // That is no mutation which its results report.
                Phase::Verify => done.object.take(),
                _ => done.object.clone(),
            };
            let next = left.as_ref().map(|object| match object {
                Value::Null => request.without_object(),
                object => request.of_changed(object.clone()),
            });
            if !done.rules.is_empty() {
                let incoming = phase == Phase::Verify;
                outcome.policies.push(PolicyOutcome { incoming, ..PolicyOutcome::of(policy, done) });
            }
            if let Some(next) = next {
                outcome.object = left;
                let ends = next.object.is_null() && !next.outlives_object();
                current = Some(next);
                if ends {
                    break;
                }
            }
        }
        current
    }
}

/// The rules for the kind of the request's object.
fn rules_of<'p>(policy: &'p Policy, request: &Request) -> impl Iterator<Item = &'p Rule> {
    policy.rules_for(&request.target.kind).iter().map(AsRef::as_ref)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{Engine, PolicySet, Status};

    /// A check, a mutation of Kubernetes, one of a CEL policy, and one of a ClusterPolicy, in this
    /// order; each mutation appends its letter to the label `way`.
    const ALL: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: check}
spec:
  rules:
  - name: way
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      message: "way is {{request.object.metadata.labels.way}}"
      deny: {}
---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: cel}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'way': object.metadata.labels.way + 'C'}}}"}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: classic}
spec:
  rules:
  - name: way
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {way: "{{request.object.metadata.labels.way}}K"}}}}
"#;

    #[test]
    fn verdicts_follow_the_mutations_of_their_own_kind_and_precede_those_of_cel_policies() {
        let engine = Engine::new(PolicySet::from_yaml(ALL).unwrap());
        let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, labels: {way: s}}}";
        let outcome = engine.check_yaml(object).unwrap();
        let names: Vec<&str> = outcome.policies.iter().map(|p| &*p.policy.name).collect();
        assert_eq!(names, ["classic", "check", "cel"]);
        let failed = outcome.results().find(|(_, r)| r.status == Status::Fail).unwrap();
        assert_eq!((&*failed.0.name, &*failed.1.message), ("check", "way is sK"));
        let object = outcome.object.unwrap();
        assert_eq!(object.text_at(&["metadata", "labels", "way"]), "sKC");
    }

    #[test]
    fn a_set_of_checks_has_no_phases_and_one_with_a_mutation_has() {
        let (check, rest) = ALL.split_once("---").unwrap();
        assert!(!PolicySet::from_yaml(check).unwrap().has_phases());
        let set = PolicySet::from_yaml(rest).unwrap();
        assert!(set.has_phases());
        let mutating: Vec<&str> = set.mutating().map(|p| &*p.name).collect();
        assert_eq!(mutating, ["classic", "cel"]);
    }
}
