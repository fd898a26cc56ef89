//! Changes of policies: queues the triggers of a changed policy again, and deletes or orphans what
//! its removed rules generated.
//!
//! In: rules as they were last acted on, and as they are now. Out: requests for triggers and
//! generated objects that exist; what rules that are gone have generated is deleted, or left to
//! itself. A rule counts as acted on when all of that is written. Semantics:
//! `docs/reference/cluster.md`, "Background work".

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use ephor_cluster::Failure;
use ephor_engine::Status;
use ephor_ir::{Policy, Rule};
use ephor_value::Value;

use crate::background::apply::Origin;
use crate::background::reconciler::{AT_LEAST, BackgroundError};
use crate::background::state::RuleOnRecord;
use crate::background::{Reconciler, apply, requests, state, targets, work};
use crate::cleanup;
use crate::field_manager::MANAGER;
use crate::in_use::{InUse, PolicyKey};
use crate::queue::Next;
use ephor_admission::admit::Gate;
use ephor_admission::background::{Class, RuleFacts, RuleWork, Trigger, Work, WorkKind};

/// How many triggers a request has at most: a request is one object, and is done again as a whole
/// when one of its triggers fails. A larger number repeats more work, a smaller one writes more
/// objects.
const MAX_TRIGGERS: usize = 100;

impl Reconciler {
    /// Acts on what has changed in policies since it was last read.
    pub(crate) fn policies(&self) -> Result<Next, BackgroundError> {
        let in_use = (self.setup.source)();
        let known = state::read(&self.setup.cluster, &self.setup.namespace)?;
        // Another replica may have led in between.
        *self.kinds.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut last = self.existing.last.lock().unwrap_or_else(PoisonError::into_inner);
        let again = last.is_some_and(|last| last.elapsed() >= self.setup.interval);
        if again || last.is_none() {
            *last = Some(Instant::now());
        }
        drop(last);
        let gate = in_use.gate();
        let now = gate.all_background().map(|(class, policy, _)| (class, policy));
        let all: BTreeSet<(Class, &str)> =
            known.keys().map(|(class, key)| (*class, &**key)).chain(now).collect();
        let mut failures = Vec::new();
        for (class, policy) in all {
            let before = known.get(&(class, policy.to_string())).map(Vec::as_slice).unwrap_or_default();
            if let Err(error) = self.policy(&*in_use, class, policy, before, again) {
                failures.push(format!("{policy}: {error}"));
            }
        }
        self.unwatch(gate)?;
        if failures.is_empty() { Ok(Next::After(AT_LEAST)) } else { Err(BackgroundError::Policies(failures)) }
    }

    /// Stops watching kinds that no synchronised policy generates any more.
    fn unwatch(&self, gate: &Gate) -> Result<(), Failure> {
        let mut wanted = BTreeSet::new();
        for (class, key, facts) in gate.all_background() {
            if class == Class::Generating && facts.iter().any(|facts| facts.synchronize) {
                for (api_version, kind) in self.generated_kinds(key)? {
                    let group = api_version.split_once('/').map_or("", |(group, _)| group).to_string();
                    wanted.insert((group, kind));
                }
            }
        }
        self.changes.retain(|group, kind| wanted.contains(&(group.to_string(), kind.to_string())));
        Ok(())
    }

    fn policy(
        &self,
        in_use: &dyn InUse,
        class: Class,
        key: &str,
        before: &[RuleOnRecord],
        again: bool,
    ) -> Result<(), Failure> {
        let gate = in_use.gate();
        let facts = gate.background(class, key).unwrap_or_default();
        // One that cannot be used at the moment is not gone.
        if facts.is_empty() && self.is_stored(in_use, class, key)? {
            return Ok(());
        }
        let now: Vec<RuleOnRecord> = facts.iter().map(RuleOnRecord::of).collect();
        if now == before && !again {
            return Ok(());
        }
        for old in before.iter().filter(|old| old.generates) {
            let new = now.iter().find(|new| new.rule == old.rule && new.generates);
            let rule = (class == Class::Rules).then_some(&*old.rule);
            let origin = Origin { class, policy: key, rule, trigger: None };
            match new {
                None if old.synchronize && !old.orphans && class == Class::Generating => {
                    let kinds = self.generated_kinds(key)?;
                    let mut objects = apply::generated(&self.setup.cluster, &kinds, &origin)?;
                    // Copies outlive a policy of expressions.
                    objects.retain(|object| !apply::is_copy(object));
                    apply::delete(&self.setup.cluster, &objects)?;
                }
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
        if let Some(policy) = gate.policy_of(class, key) {
            for (facts, new) in facts.iter().zip(&now) {
                if again || !before.contains(new) {
                    let is_known = before.iter().any(|old| old.rule == new.rule && old.place == new.place);
                    self.exists(gate, policy, key, facts, is_known || again)?;
                    self.watch_generated(key, facts)?;
                }
            }
        }
        state::write(&self.setup.cluster, &self.setup.namespace, class, key, &now)
    }

    /// Whether a policy is stored in the cluster, served or not.
    fn is_stored(&self, in_use: &dyn InUse, class: Class, key: &str) -> Result<bool, Failure> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let (group, kind) = class.kind(namespace);
        let mut stored = in_use.stored().iter();
        let own = PolicyKey {
            group: group.to_string(),
            kind: kind.to_string(),
            namespace: namespace.to_string(),
            name: name.to_string(),
        };
        if let Some(policy) = stored.find(|policy| policy.is(&own)) {
            // It may have no rules with background work any more.
            return Ok(policy.problem.is_some());
        }
        let kinds = self.setup.cluster.kinds()?;
        let Some(resource) = kinds.named(kind).find(|r| *r.group == *group) else { return Ok(false) };
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
        let class = facts.kind.class();
        if facts.synchronize && is_known {
            let rule = (class == Class::Rules).then_some(&*facts.rule);
            let origin = Origin { class, policy: key, rule, trigger: None };
            let kinds = match class {
                Class::Rules => facts.kinds.clone(),
                Class::Generating | Class::Mutating => self.generated_kinds(key)?,
            };
            let objects = apply::generated(&self.setup.cluster, &kinds, &origin)?;
            triggers.extend(objects.iter().map(apply::trigger_of));
        }
        if facts.on_policy_change && facts.kind == WorkKind::CelMutate && !targets::are_returned(policy) {
            // What exists is selected without a trigger.
            triggers.push(Trigger::default());
        } else if facts.on_policy_change {
            let is_own = |rule: &&Arc<Rule>| class != Class::Rules || is_of(rule, facts);
            for rule in policy.all_rules().filter(is_own) {
                triggers.extend(self.triggers(gate, policy, rule, facts)?);
            }
        }
        let mut seen = BTreeSet::new();
        triggers
            .retain(|t| seen.insert((t.kind.clone(), t.namespace.clone(), t.uid.clone(), t.name.clone())));
        let changes = matches!(facts.kind, WorkKind::Mutate | WorkKind::CelMutate);
        let together = if changes { 1 } else { MAX_TRIGGERS };
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
        let resources = match facts.kind.class() {
            Class::Rules => cleanup::selected(facts.written.get("match"), &served),
            Class::Generating | Class::Mutating => {
                cleanup::constrained(facts.written.get("matchConstraints"), &served)
            }
        };
        for resource in resources {
            if !own.is_empty() && !resource.namespaced {
                continue;
            }
            let objects = match self.setup.cluster.list(resource, own) {
                Ok(objects) => objects,
                Err(e) if matches!(e.code, 403..=405) => {
                    let kind = &*resource.kind;
                    tracing::warn!(policy = policy.key(), kind, error = %e, "triggers cannot be listed");
                    continue;
                }
                Err(e) => return Err(e),
            };
            let is_trigger = |object: &&Value| {
                let request = gate.request_on(&work::review(object, &served, facts.operation()), object);
                request.is_ok_and(|request| match facts.kind.class() {
                    Class::Generating | Class::Mutating => gate.engine().concerns(policy, &request),
                    Class::Rules => {
                        let verdict = gate.engine().triggers(policy, rule, &request);
                        verdict.is_some_and(|verdict| verdict.status == Status::Pass)
                    }
                })
            };
            found.extend(objects.iter().filter(is_trigger).map(Trigger::of));
        }
        Ok(found)
    }
}

/// Whether a rule is the one that facts are about; rules for pod controllers have those of the rule
/// they come from.
fn is_of(rule: &Rule, facts: &RuleFacts) -> bool {
    RuleFacts::find(std::slice::from_ref(facts), &rule.name).is_some()
}
