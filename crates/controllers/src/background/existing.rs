//! Changes of policies.
//!
//! In: rules as they were last acted on, and as they are now. Out: requests for triggers and generated objects that exist; what rules
//! that are gone have generated is deleted, or left to itself. A rule counts as acted on when all of that is written. Semantics:
//! `docs/cluster.md`, "Background work".

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::admit::Gate;
use crate::background_facts::{RuleFacts, RuleWork, Trigger, Work, WorkKind};
use crate::cleanup;
use crate::cluster::Failure;
use crate::decide::Status;
use crate::in_use::InUse;
use crate::ir::{Policy, Rule};
use crate::queue::Next;
use crate::value::Value;

use super::apply::{self, Origin};
use super::state::{self, Known};
use super::{AT_LEAST, Error, MANAGER, Reconciler, requests, work};

/// How many triggers a request has at most.
const TOGETHER: usize = 100;

/// When rules acted last on all that exists.
#[derive(Default)]
pub(super) struct Existing {
    last: Mutex<Option<Instant>>,
}

impl Reconciler {
    /// Acts on what has changed in policies since it was last looked at.
    pub(super) fn policies(&self) -> Result<Next, Error> {
        let in_use = (self.setup.source)();
        let known = state::read(&self.setup.cluster, &self.setup.namespace)?;
        let mut last = self.existing.last.lock().unwrap_or_else(PoisonError::into_inner);
        let again = last.is_some_and(|last| last.elapsed() >= self.setup.interval);
        if again || last.is_none() {
            *last = Some(Instant::now());
        }
        drop(last);
        let gate = in_use.gate();
        let now: BTreeSet<&str> = gate.all_background().map(|(policy, _)| policy).collect();
        let mut failures = Vec::new();
        for policy in known.keys().map(String::as_str).chain(now.iter().copied()).collect::<BTreeSet<_>>() {
            let before = known.get(policy).map(Vec::as_slice).unwrap_or_default();
            if let Err(error) = self.policy(&*in_use, policy, before, again) {
                failures.push(format!("{policy}: {error}"));
            }
        }
        if failures.is_empty() { Ok(Next::After(AT_LEAST)) } else { Err(Error::Policies(failures)) }
    }

    fn policy(&self, in_use: &dyn InUse, key: &str, before: &[Known], again: bool) -> Result<(), Failure> {
        let gate = in_use.gate();
        let facts = gate.background(key).unwrap_or_default();
        // One that cannot be used at the moment is not gone.
        if facts.is_empty() && self.is_stored(in_use, key)? {
            return Ok(());
        }
        let now: Vec<Known> = facts.iter().map(Known::of).collect();
        if now == before && !again {
            return Ok(());
        }
        for old in before.iter().filter(|old| old.generates) {
            let new = now.iter().find(|new| new.rule == old.rule && new.generates);
            let origin = Origin { policy: key, rule: Some(&old.rule), trigger: None };
            match new {
                None if old.synchronize && !old.orphans => {
                    let objects = apply::generated(&self.setup.cluster, &old.kinds, &origin)?;
                    apply::delete(&self.setup.cluster, &objects)?;
                }
                Some(new) if new.place != old.place => {
                    let objects = apply::generated(&self.setup.cluster, &old.kinds, &origin)?;
                    apply::orphan(&self.setup.cluster, &objects)?;
                }
                _ => {}
            }
        }
        if let Some(policy) = gate.policy_of_rules(key) {
            for (facts, new) in facts.iter().zip(&now) {
                if again || !before.contains(new) {
                    let is_known = before.iter().any(|old| old.rule == new.rule && old.place == new.place);
                    self.exists(gate, policy, key, facts, is_known || again)?;
                }
            }
        }
        state::write(&self.setup.cluster, &self.setup.namespace, key, &now)
    }

    /// Whether a policy is stored in the cluster, served or not.
    fn is_stored(&self, in_use: &dyn InUse, key: &str) -> Result<bool, Failure> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let kind = if namespace.is_empty() { "ClusterPolicy" } else { "Policy" };
        let mut stored = in_use.stored().iter();
        if let Some(policy) =
            stored.find(|p| p.key().kind == kind && p.key().name == name && p.key().namespace == namespace)
        {
            // It may have no rules with background work any more.
            return Ok(policy.problem.is_some());
        }
        let kinds = self.setup.cluster.kinds()?;
        let Some(resource) = kinds.named(kind).find(|r| &*r.group == "kyverno.io") else { return Ok(false) };
        match self.setup.cluster.object(resource, namespace, name) {
            Ok(_) => Ok(true),
            Err(e) if e.is_not_found() => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Requests for what exists: triggers, and objects that the rule has generated.
    fn exists(
        &self,
        gate: &Gate,
        policy: &Policy,
        key: &str,
        facts: &RuleFacts,
        is_known: bool,
    ) -> Result<(), Failure> {
        let mut triggers: Vec<Trigger> = Vec::new();
        if facts.kind == WorkKind::Generate && facts.synchronize && is_known {
            let origin = Origin { policy: key, rule: Some(&facts.rule), trigger: None };
            let objects = apply::generated(&self.setup.cluster, &facts.kinds, &origin)?;
            triggers.extend(objects.iter().map(apply::trigger_of));
        }
        if facts.on_policy_change {
            for rule in policy.all_rules().filter(|rule| is_of(rule, facts)) {
                triggers.extend(self.triggers(gate, policy, rule, facts)?);
            }
        }
        let mut seen = BTreeSet::new();
        triggers
            .retain(|t| seen.insert((t.kind.clone(), t.namespace.clone(), t.uid.clone(), t.name.clone())));
        let together = if facts.kind == WorkKind::Generate { TOGETHER } else { 1 };
        for some in triggers.chunks(together) {
            let rule = |trigger: &Trigger| RuleWork {
                rule: facts.rule.clone(),
                trigger: trigger.clone(),
                deletes: false,
                synchronize: facts.synchronize,
            };
            let rules = some.iter().map(rule).collect();
            let work = Work { kind: facts.kind, policy: key.to_string(), rules, required: false };
            self.setup.cluster.create(&requests::document(&work, None, &self.setup.namespace), MANAGER)?;
        }
        Ok(())
    }

    /// The objects that trigger a rule, of all that exist.
    fn triggers(
        &self,
        gate: &Gate,
        policy: &Policy,
        rule: &Rule,
        facts: &RuleFacts,
    ) -> Result<Vec<Trigger>, Failure> {
        let served = self.setup.cluster.kinds()?;
        let own = policy.namespace.as_deref().unwrap_or_default();
        let mut found = Vec::new();
        for resource in cleanup::selected(facts.written.get("match"), &served) {
            if !own.is_empty() && !resource.namespaced {
                continue;
            }
            let objects = match self.setup.cluster.list(resource, own) {
                Ok(objects) => objects,
                Err(e) if matches!(e.code, 403 | 404 | 405) => {
                    let kind = &*resource.kind;
                    tracing::warn!(policy = policy.key(), kind, error = %e, "triggers cannot be listed");
                    continue;
                }
                Err(e) => return Err(e),
            };
            let is_trigger = |object: &&Value| {
                let request = gate.request_on(&work::creation(object, &served), object);
                let verdict = request.ok().and_then(|request| gate.engine().triggers(policy, rule, &request));
                verdict.is_some_and(|verdict| verdict.status == Status::Pass)
            };
            found.extend(objects.iter().filter(is_trigger).map(Trigger::of));
        }
        Ok(found)
    }
}

/// Whether a rule is the one that facts are about; rules for pod controllers have those of the rule they come from.
fn is_of(rule: &Rule, facts: &RuleFacts) -> bool {
    RuleFacts::find(std::slice::from_ref(facts), &rule.name).is_some()
}
