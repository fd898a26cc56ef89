//! Carries out an UpdateRequest: generates or changes objects, and deletes generated objects whose
//! trigger is gone or no longer matches.
//!
//! In: a request, the policies as they are now. Out: objects as the rules want them, or why not.
//! What is done depends on what is there now, not on what was there at the time of the request: a
//! trigger that matches again keeps what it generated. Semantics: `docs/reference/cluster.md`,
//! "Background work".

use ephor_cluster::live::found;
use ephor_cluster::{Cluster, Failure, api_version};
use ephor_engine::{Effect, Request, RuleOutcome, Status};
use ephor_external::{ExternalData, LookupError};
use ephor_ir::{Policy, Rule};
use ephor_kubernetes::Kinds;
use ephor_value::{Map, Value};

use super::apply::{Done, InCluster, Origin};
use super::reconciler::{Reconciler, now};
use super::requests::UpdateRequest;
use super::trigger::{Change, SETTLES, TriggerError};
use super::{apply, trigger};
use crate::background::event_sink::Changed;
use ephor_admission::admit::{Gate, Incoming};
use ephor_admission::background::{Class, RuleFacts, RuleWork, Trigger, WorkKind};

/// Why work is not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkError {
    /// The change of the request is not stored yet.
    #[error("the change is not stored yet")]
    Early,
    /// The cluster refuses.
    #[error(transparent)]
    Cluster(#[from] Failure),
    /// A rule fails.
    #[error("{0}")]
    Rules(String),
}

/// A rule with what it is evaluated with.
pub(super) struct Case<'c> {
    pub gate: &'c Gate,
    pub policy: &'c Policy,
    pub rule: &'c Rule,
    pub facts: &'c RuleFacts,
    pub key: &'c str,
}

impl Reconciler {
    /// Does the work of all rules of a request; one that fails does not hold up the others.
    pub(super) fn work(&self, request: &UpdateRequest) -> Result<(), WorkError> {
        let change = trigger::change(&self.setup.cluster, request, now())?;
        if change == Change::Pending {
            return Err(WorkError::Early);
        }
        let in_use = (self.setup.source)();
        let mut failures = Vec::new();
        for work in &request.work.rules {
            match self.rule(in_use.gate(), request, work, change) {
                Ok(()) => {}
                Err(WorkError::Rules(text)) => failures.push(text),
                Err(error) => return Err(error),
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(WorkError::Rules(failures.join("; "))) }
    }

    fn rule(
        &self,
        gate: &Gate,
        request: &UpdateRequest,
        work: &RuleWork,
        change: Change,
    ) -> Result<(), WorkError> {
        let (class, key) = (request.work.kind.class(), &*request.work.policy);
        let facts = gate.background(class, key);
        let policy = gate.policy_of(class, key);
        let (facts, rule) = match class {
            Class::Rules => (
                facts.and_then(|facts| RuleFacts::find(facts, &work.rule)),
                policy.and_then(|p| p.all_rules().find(|rule| *rule.name == *work.rule)),
            ),
            // They have one rule, which has their name.
            Class::Generating | Class::Mutating => {
                (facts.and_then(<[_]>::first), policy.and_then(|p| p.rules.first()))
            }
        };
        // What a rule that is gone has generated goes with the change of the policy.
        let (Some(facts), Some(policy), Some(rule)) = (facts, policy, rule) else { return Ok(()) };
        let case = Case { gate, policy, rule, facts, key };
        if facts.kind == WorkKind::CelMutate && work.trigger == Trigger::default() {
            return self.change_selected(&case, None);
        }
        let incoming = request.incoming.as_ref();
        let about = incoming.filter(|incoming| trigger::is_about(incoming, &work.trigger));
        if let Some(incoming) = incoming.filter(|_| work.deletes && about.is_none()) {
            return self.without_source(incoming, &case, change);
        }
        let found = match trigger::find(&self.setup.cluster, request, &work.trigger, change) {
            Ok(found) => found,
            Err(TriggerError::Cluster(e)) => return Err(e.into()),
            Err(TriggerError::NotFound(_)) if work.deletes => {
                return self.without_trigger(&case, &work.trigger);
            }
            Err(TriggerError::NotFound(_)) if now().saturating_sub(request.created) < SETTLES => {
                return Err(WorkError::Early);
            }
            Err(error) => return Err(WorkError::Rules(error.to_string())),
        };
        if work.deletes && about.is_some_and(|incoming| incoming.text(&["operation"]) == "DELETE") {
            return self.without_trigger(&case, &work.trigger);
        }
        match facts.kind {
            WorkKind::Generate => self.generate(&case, about, &found, work),
            WorkKind::Mutate => self.mutate(&case, about, &found),
            WorkKind::CelGenerate => self.generate_by_expressions(&case, about, &found, work.deletes),
            WorkKind::CelMutate => self.change_existing(&case, about, &found),
        }
    }

    /// The request on a trigger: the one about it, or one that writes it as it is.
    pub(super) fn request_on(
        &self,
        case: &Case<'_>,
        about: Option<&Incoming>,
        found: &Value,
    ) -> Result<Request, WorkError> {
        let kinds = self.setup.cluster.kinds()?;
        let made;
        let incoming = match about {
            Some(incoming) => incoming,
            None => {
                made = review(found, &kinds, case.facts.operation());
                &made
            }
        };
        case.gate.request_on(incoming, found).map_err(|e| WorkError::Rules(e.to_string()))
    }

    fn generate(
        &self,
        case: &Case<'_>,
        about: Option<&Incoming>,
        found: &Value,
        work: &RuleWork,
    ) -> Result<(), WorkError> {
        let Case { gate, policy, rule, facts, .. } = case;
        let request = self.request_on(case, about, found)?;
        let engine = gate.engine();
        let verdict = engine.triggers(policy, rule, &request);
        let says = |status: Status, text: &str, done: &[Done]| {
            let result = RuleOutcome::new(&rule.name, rule.kind, status, text);
            self.setup.event_sink.generated(policy, gate.settings(), found, &result, done);
        };
        match verdict.as_ref().map(|verdict| verdict.status) {
            Some(Status::Pass) => {}
            Some(Status::Error) => {
                let text = verdict.map(|v| v.message.to_string()).unwrap_or_default();
                says(Status::Error, &text, &[]);
                return Err(failed(rule, &text));
            }
            // Its trigger does not match any more.
            _ if facts.synchronize && (work.deletes || verdict.is_some_and(|v| v.status == Status::Fail)) => {
                return self.without_trigger(case, &work.trigger);
            }
            _ => return Ok(()),
        }
        let cluster = &self.setup.cluster;
        let (wanted, error) = engine.wanted(policy, rule, &request, &InCluster(cluster));
        let (mut failures, mut all) = (Vec::new(), Vec::new());
        for wanted in &wanted {
            match apply::apply(cluster, wanted, facts.applies) {
                Ok(done) => {
                    case.log(&done);
                    all.push(done);
                }
                // A namespace that is gone takes what is in it along.
                Err(e) if e.is_not_found() => {}
                Err(e) if e.is_passing() => return Err(e.into()),
                Err(e) => failures.push(e.text),
            }
        }
        failures.extend(error.map(|error| error.to_string()));
        if !failures.is_empty() {
            let text = failures.join("; ");
            says(Status::Error, &text, &all);
            return Err(failed(rule, &text));
        }
        says(Status::Pass, "resource generated", &all);
        Ok(())
    }

    fn mutate(&self, case: &Case<'_>, about: Option<&Incoming>, found: &Value) -> Result<(), WorkError> {
        let Case { gate, policy, rule, facts, .. } = case;
        let request = self.request_on(case, about, found)?;
        let engine = gate.engine();
        let verdict = engine.triggers(policy, rule, &request);
        if verdict.is_none_or(|verdict| verdict.status != Status::Pass) {
            return Ok(());
        }
        let (mut failures, mut changed) = (Vec::new(), Vec::new());
        let sources = ByAccount { data: engine.external(), cluster: &self.setup.cluster };
        let results = engine.changed_targets(policy, rule, &request, &sources);
        for result in &results {
            match (&result.status, result.effect.as_deref()) {
                (Status::Pass, Some(Effect::Target(object))) => {
                    apply::replace(&self.setup.cluster, object, facts)?;
                    case.log_change(object);
                    changed.push(object.clone());
                }
                (Status::Pass | Status::Skip, _) => {}
                _ => failures.push(unchanged(rule, result)),
            }
        }
        let failure = (!failures.is_empty()).then(|| failures.join("; "));
        if let Some(result) = shown(&results) {
            let what = Changed { result, objects: &changed, failure: failure.as_deref() };
            self.setup.event_sink.changed(policy, gate.settings(), found, &what);
        }
        failure.map_or(Ok(()), |text| Err(WorkError::Rules(text)))
    }

    /// Deletes what a trigger that is gone, or does not match any more, has generated.
    pub(super) fn without_trigger(&self, case: &Case<'_>, trigger: &Trigger) -> Result<(), WorkError> {
        if !case.facts.synchronize {
            return Ok(());
        }
        Ok(apply::delete(&self.setup.cluster, &self.downstream(case, trigger)?)?)
    }

    /// What a trigger has generated.
    pub(super) fn downstream(&self, case: &Case<'_>, trigger: &Trigger) -> Result<Vec<Value>, Failure> {
        let class = case.facts.kind.class();
        let origin = Origin { class, policy: case.key, rule: None, trigger: Some(trigger) };
        match class {
            Class::Rules => apply::generated(&self.setup.cluster, &case.facts.kinds, &origin),
            Class::Generating | Class::Mutating => {
                apply::generated(&self.setup.cluster, &self.generated_kinds(case.key)?, &origin)
            }
        }
    }

    /// Deletes the copies of an object that is gone.
    fn without_source(&self, incoming: &Incoming, case: &Case<'_>, change: Change) -> Result<(), WorkError> {
        if change == Change::Missing {
            return Ok(());
        }
        let copies = apply::copies(&self.setup.cluster, &incoming.object("oldObject"))?;
        let is_of_rule = |copy: &&Value| {
            apply::origin_of(copy)
                .is_some_and(|(policy, rule)| policy == case.key && *case.rule.name == *rule)
        };
        let copies: Vec<Value> = copies.iter().filter(is_of_rule).cloned().collect();
        Ok(apply::delete(&self.setup.cluster, &copies)?)
    }
}

/// The data of policies, with targets as the account of background work sees them.
struct ByAccount<'a> {
    data: &'a dyn ExternalData,
    cluster: &'a Cluster,
}

impl ExternalData for ByAccount<'_> {
    fn inner(&self) -> Option<&dyn ExternalData> {
        Some(self.data)
    }

    fn targets(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Option<Result<Vec<Value>, LookupError>> {
        // Where the objects are given there is no cluster to look into.
        if !self.data.objects().is_empty() {
            return None;
        }
        Some(found(self.cluster, api_version, kind, namespace, name).map_err(Into::into))
    }
}

impl Case<'_> {
    /// Logs that an object was changed.
    pub fn log_change(&self, object: &Value) {
        let at = |key: &str| object.text_at(&["metadata", key]);
        let (kind, namespace, name) = (object.text_at(&["kind"]), at("namespace"), at("name"));
        let (policy, rule) = (self.key, &*self.rule.name);
        tracing::info!(policy, rule, kind, namespace, name, "object changed");
    }

    /// Logs what was done to an object.
    pub fn log(&self, done: &apply::Done) {
        let object = done.object();
        let (kind, at) = (object.text_at(&["kind"]), |key: &str| object.text_at(&["metadata", key]));
        let (policy, rule, namespace, name, done) =
            (self.key, &*self.rule.name, at("namespace"), at("name"), done.word());
        match done {
            "unchanged" => {
                tracing::debug!(policy, rule, kind, namespace, name, "generated object is as it should be")
            }
            _ => tracing::info!(policy, rule, kind, namespace, name, done, "object generated"),
        }
    }
}

/// The result on targets that a report has, which has room for one: an error, else a change, else
/// the first.
fn shown(results: &[RuleOutcome]) -> Option<&RuleOutcome> {
    let is_error = |result: &&RuleOutcome| !matches!(result.status, Status::Pass | Status::Skip);
    let is_change = |result: &&RuleOutcome| result.status == Status::Pass;
    let found = results.iter().find(is_error).or_else(|| results.iter().find(is_change));
    found.or_else(|| results.first())
}

fn failed(rule: &Rule, text: &str) -> WorkError {
    WorkError::Rules(format!("rule {} failed: {text}", rule.name))
}

fn unchanged(rule: &Rule, result: &RuleOutcome) -> String {
    let (status, message) = (result.status.name(), &result.message);
    format!("failed to mutate existing resource, rule {}, response {status}: {message}", rule.name)
}

/// A request that writes an object which is there as it is.
pub(super) fn review(object: &Value, kinds: &Kinds, operation: &str) -> Incoming {
    let written = object.text_at(&["apiVersion"]);
    let (group, version) = written.split_once('/').unwrap_or(("", written));
    let kind = object.text_at(&["kind"]);
    let resource = kinds.kind(group, version, kind);
    debug_assert!(resource.is_none_or(|r| api_version(r) == written));
    let plural = resource.map(|r| &*r.plural).unwrap_or_default();
    let of = |key: &'static str, value: &str| {
        Value::map([("group", group.into()), ("version", version.into()), (key, value.into())])
    };
    let mut request = Map::new();
    request.insert("uid", "".into());
    request.insert("operation", operation.into());
    request.insert("kind", of("kind", kind));
    request.insert("resource", of("resource", plural));
    request.insert("name", object.text_at(&["metadata", "name"]).into());
    request.insert("namespace", object.text_at(&["metadata", "namespace"]).into());
    request.insert("userInfo", Value::map([]));
    if operation == "UPDATE" {
        request.insert("oldObject", object.clone());
    }
    Incoming {
        api_version: "admission.k8s.io/v1".into(),
        kind: "AdmissionReview".into(),
        uid: "".into(),
        request,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_ir::rule::RuleKind;

    use super::*;

    #[test]
    fn of_several_targets_an_error_is_reported_before_a_change_and_a_change_before_what_was_skipped() {
        let outcome = |status| RuleOutcome::new(&"r".into(), RuleKind::Mutation, status, "m");
        let of = |all: &[Status]| {
            let results: Vec<RuleOutcome> = all.iter().map(|status| outcome(*status)).collect();
            shown(&results).map(|result| result.status)
        };
        assert_eq!(of(&[Status::Skip, Status::Pass, Status::Error]), Some(Status::Error));
        assert_eq!(of(&[Status::Skip, Status::Pass, Status::Skip]), Some(Status::Pass));
        assert_eq!(of(&[Status::Skip, Status::Skip]), Some(Status::Skip));
        assert_eq!(of(&[]), None);
    }
}
