//! Generated objects of GeneratingPolicies that another program has changed.
//!
//! In: changes of the kinds that synchronised policies generate. Out: the work of the policy for
//! the trigger again: what it generated is restored, copies follow their source. Nothing of this is
//! written down: when a replica begins to lead, all generated objects come as changes. Semantics:
//! `docs/reference/cluster.md`, "Background work".

use std::collections::HashSet;
use std::sync::PoisonError;

use ephor_cluster::Failure;
use ephor_value::Value;

use super::apply::SOURCE_UID;
use super::work::{Case, WorkError};
use super::{Reconciler, apply, trigger};
use crate::background::reconciler::SOON;
use crate::background::task::Generated;
use crate::in_use::{InUse, PolicyKey};
use crate::queue::Next;
use ephor_admission::background::{Class, WorkKind};

impl Reconciler {
    /// Notes that an object is as it should be.
    pub(super) fn settled(&self, object: &Value) {
        let at = |key: &str| object.text_at(&["metadata", key]).to_string();
        let mut state = self.watched.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.settled.insert(at("uid"), at("resourceVersion"));
        if let Some(source) = object.at(&["metadata", "labels", SOURCE_UID]).and_then(Value::as_str) {
            let policy = apply::label(object, "policy-name");
            let copy = Generated { policy, namespace: at("namespace"), trigger: apply::trigger_of(object) };
            state.copies.entry(source.to_string()).or_default().insert(copy);
        }
    }

    /// Notes which version of an object is copied: a watch that begins later may see a newer one
    /// first.
    pub(super) fn copied_from(&self, source: &Value) {
        let at = |key: &str| source.text_at(&["metadata", key]).to_string();
        let (uid, version) = (at("uid"), at("resourceVersion"));
        if !uid.is_empty() && !version.is_empty() {
            let mut state = self.watched.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.versions.insert(uid, version);
        }
    }

    /// Does the work of a policy for a trigger again.
    pub(super) fn sync(&self, generated: &Generated) -> Result<Next, WorkError> {
        let in_use = (self.setup.source)();
        let gate = in_use.gate();
        let own = format!("{}/{}", generated.namespace, generated.policy);
        let key = [&own, &generated.policy]
            .into_iter()
            .find(|key| gate.background(Class::Generating, key).is_some());
        let Some(key) = key else { return Ok(Next::Done) };
        let facts = gate.background(Class::Generating, key).and_then(<[_]>::first);
        let policy = gate.policy_of(Class::Generating, key);
        let rule = policy.and_then(|policy| policy.rules.first());
        let (Some(facts), Some(policy), Some(rule)) = (facts, policy, rule) else { return Ok(Next::Done) };
        if !facts.synchronize {
            return Ok(Next::Done);
        }
        let claim = HashSet::from([crate::background::reconciler::claim_of(key, &generated.trigger)]);
        let Some(_claim) = self.claim_all(claim) else { return Ok(Next::After(SOON)) };
        // Who changes a policy and then an object expects the new policy to count.
        if !self.is_current(&*in_use, key)? {
            return Ok(Next::After(SOON * 5));
        }
        let Some(found) = trigger::live(&self.setup.cluster, &generated.trigger)? else {
            return Ok(Next::Done);
        };
        let case = Case { gate, policy, rule, facts, key };
        debug_assert_eq!(facts.kind, WorkKind::CelGenerate);
        self.generate_by_expressions(&case, None, &found, false)?;
        Ok(Next::Done)
    }

    /// Whether a policy is in use as it is stored; one that is stored nowhere is in use as it is.
    fn is_current(&self, in_use: &dyn InUse, key: &str) -> Result<bool, Failure> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let (group, kind) = Class::Generating.kind(namespace);
        let key = PolicyKey {
            group: group.to_string(),
            kind: kind.to_string(),
            namespace: namespace.to_string(),
            name: name.to_string(),
        };
        let Some(used) = in_use.stored().iter().find(|policy| policy.is(&key)) else { return Ok(true) };
        let generation = |policy: &Value| policy.at(&["metadata", "generation"]).and_then(Value::as_int);
        let stored = self.setup.cluster.current(&used.document)?;
        // One that is gone leaves the policies in use soon.
        Ok(stored.is_some_and(|stored| generation(&stored) == generation(&used.document)))
    }

    /// Deletes the copies of a source that is gone, of the policies that are synchronised.
    pub(super) fn without_copies(&self, kind: &(String, String), uid: &str) -> Result<Next, Failure> {
        let source = Value::map([
            ("apiVersion", (&*kind.0).into()),
            ("kind", (&*kind.1).into()),
            ("metadata", Value::map([("uid", uid.into())])),
        ]);
        let in_use = (self.setup.source)();
        let gate = in_use.gate();
        let is_synchronized = |copy: &Value| {
            let Some((policy, rule)) = apply::origin_of(copy) else { return false };
            let own = format!("{}/{policy}", copy.text_at(&["metadata", "namespace"]));
            let facts = [&own, &policy].into_iter().find_map(|key| gate.background(Class::Generating, key));
            rule.is_empty() && facts.and_then(<[_]>::first).is_some_and(|facts| facts.synchronize)
        };
        let mut copies = apply::copies(&self.setup.cluster, &source)?;
        copies.retain(is_synchronized);
        match apply::delete(&self.setup.cluster, &copies) {
            Err(e) if !e.is_passing() => {
                tracing::warn!(error = %e, "copies of an object that is gone are not deleted");
                Ok(Next::Done)
            }
            done => done.map(|()| Next::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use ephor_cluster::changes::Change;

    use super::*;
    use crate::background::apply::PREFIX;
    use crate::background::task::Task;
    use crate::background::watched::{Watched, generated};
    use crate::queue::Queue;

    fn change(uid: &str, version: &str, labels: &[(&str, &str)]) -> Change {
        Change {
            api_version: "v1".into(),
            kind: "Secret".into(),
            namespace: "shop".into(),
            name: uid.into(),
            uid: uid.into(),
            version: version.into(),
            labels: labels.iter().map(|(k, v)| (format!("{PREFIX}{k}"), v.to_string())).collect(),
            is_gone: false,
        }
    }

    const COPY: [(&str, &str); 3] = [("policy-name", "p"), ("trigger-uid", "t"), ("source-uid", "s")];

    #[test]
    fn a_source_that_changes_brings_its_copies_in_step_once_per_version() {
        let (watched, queue) = (Watched::default(), Queue::default());
        watched.take(&change("s", "1", &[]), &queue);
        watched.take(&change("c", "1", &COPY), &queue);
        assert!(matches!(queue.take(), Some(Task::Sync(copy)) if copy.policy == "p"));
        watched.take(&change("s", "1", &[]), &queue);
        assert!(queue.is_empty());
        watched.take(&change("s", "2", &[]), &queue);
        // The same work is not done, so it waits until it is.
        let copy = generated(&change("c", "1", &COPY)).map(Task::Sync);
        queue.done(copy.as_ref().unwrap_or(&Task::Requests), Some(Next::Done));
        assert_eq!(queue.take(), copy);
    }

    #[test]
    fn objects_that_rules_generate_are_left_to_their_own_way() {
        let (watched, queue) = (Watched::default(), Queue::default());
        let labels = [("policy-name", "p"), ("rule-name", "r"), ("trigger-uid", "t")];
        watched.take(&change("c", "1", &labels), &queue);
        assert!(queue.is_empty());
    }
}
