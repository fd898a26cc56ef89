//! GeneratingPolicies: objects that expressions generate.
//!
//! In: a policy and a trigger. Out: the objects that its expressions hand over, with the labels by
//! which they are found again; what the trigger generated before and does not any more is deleted.
//! Which kinds a policy generates only its expressions say, so they are written down before the
//! first object of a kind. Semantics: `docs/reference/cluster.md`, "Background work";
//! `docs/semantics/cel-policies.md`, "Generation".

use std::sync::PoisonError;

use ephor_cluster::Failure;
use ephor_engine::generate::{Key, WantedObject};
use ephor_engine::{Effect, RuleOutcome, Status};
use ephor_value::{Map, Str, Value};

use crate::background::apply::{Done, PREFIX, SOURCE_UID};
use crate::background::state::ObjectKind;
use crate::background::work::{Case, WorkError};
use crate::background::{Reconciler, apply, state};
use ephor_admission::admit::Incoming;
use ephor_admission::background::{RuleFacts, Trigger, WorkKind};

/// The longest value of a label.
const LONGEST: usize = 63;

impl Reconciler {
    /// Does the work of a policy for a trigger. `about` is the request about it; without one the
    /// trigger is as it was.
    pub(crate) fn generate_by_expressions(
        &self,
        case: &Case<'_>,
        about: Option<&Incoming>,
        found: &Value,
        deletes: bool,
    ) -> Result<(), WorkError> {
        let Case { gate, policy, facts, key, .. } = case;
        let trigger = Trigger::of(found);
        if deletes && about.is_some_and(|incoming| incoming.text(&["operation"]) == "DELETE") {
            return self.without_trigger(case, &trigger);
        }
        let request = self.request_on(case, about, found)?;
        let Some(result) = gate.engine().generated(policy, &request) else {
            // It does not match any more.
            return match about.is_some_and(|incoming| incoming.text(&["operation"]) == "UPDATE") {
                true => self.without_trigger(case, &trigger),
                false => Ok(()),
            };
        };
        let says = |result: &RuleOutcome, done: &[Done]| {
            self.setup.event_sink.generated(policy, gate.settings(), found, result, done);
        };
        let objects = match (result.status, result.effect.as_deref()) {
            (Status::Pass, Some(Effect::Generated(objects))) => objects.as_slice(),
            (Status::Pass | Status::Skip, _) => &[],
            _ => {
                says(&result, &[]);
                return Err(WorkError::Rules(failed(key, &result, &trigger)));
            }
        };
        self.note_kinds(key, facts, objects)?;
        let mut wanted = Vec::with_capacity(objects.len());
        for object in objects {
            self.copied_from(object);
            wanted.push(self.labelled(case, object, &trigger)?);
        }
        let (mut failures, mut all) = (Vec::new(), Vec::new());
        for wanted in &wanted {
            match self.apply(wanted, &trigger, facts) {
                Ok(Some(done)) => {
                    self.settled(done.object());
                    case.log(&done);
                    all.push(done);
                }
                Ok(None) => {}
                Err(e) if e.is_not_found() => {}
                Err(e) if e.is_passing() => return Err(e.into()),
                Err(e) => failures.push(e.text),
            }
        }
        if !failures.is_empty() {
            let text = RuleOutcome { message: failures.join("; ").into(), status: Status::Error, ..result };
            says(&text, &all);
            return Err(WorkError::Rules(failed(key, &text, &trigger)));
        }
        says(&result, &all);
        if facts.synchronize {
            let mut former = self.downstream(case, &trigger)?;
            former.retain(|object| !wanted.iter().any(|wanted| is_same(&wanted.object, object)));
            apply::delete(&self.setup.cluster, &former)?;
        }
        Ok(())
    }

    /// Makes an object exist; `None` = another one is in its place, which no one may replace.
    fn apply(
        &self,
        wanted: &WantedObject,
        trigger: &Trigger,
        facts: &RuleFacts,
    ) -> Result<Option<apply::Done>, Failure> {
        let policy = wanted.object.at(&["metadata", "labels", &format!("{PREFIX}policy-name")]);
        let current = self.setup.cluster.current(&wanted.object)?;
        let is_foreign = current.is_some_and(|current| {
            let label = |key: &str| current.at(&["metadata", "labels", &format!("{PREFIX}{key}")]).cloned();
            label("policy-name").as_ref() != policy
                || label("trigger-uid").as_ref().and_then(Value::as_str) != Some(&trigger.uid)
        });
        if is_foreign {
            return Ok(None);
        }
        apply::apply(&self.setup.cluster, wanted, facts.applies).map(Some)
    }

    /// An object that a policy has handed over, as it is written.
    fn labelled(
        &self,
        case: &Case<'_>,
        object: &Value,
        trigger: &Trigger,
    ) -> Result<WantedObject, WorkError> {
        let key = Key::of(object);
        let (group, version) = key.api_version.split_once('/').unwrap_or(("", key.api_version));
        let kinds = self.setup.cluster.kinds()?;
        let is_namespaced = kinds.kind(group, version, key.kind).is_none_or(|r| r.namespaced);
        let own = case.policy.namespace.as_deref();
        if let Some(own) = own.filter(|_| !is_namespaced) {
            let (version, kind) = (key.api_version, key.kind);
            return Err(WorkError::Rules(format!(
                "cross-scope generation denied: a policy scoped to namespace {own:?} cannot generate cluster-scoped resource {version}/{kind}"
            )));
        }
        let given = object.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
        let of = |key: &str| given.get(key).and_then(Value::as_str).unwrap_or_default();
        let is_copy = !of("resourceVersion").is_empty();
        let mut labels = given.get("labels").and_then(Value::as_map).cloned().unwrap_or_default();
        labels.insert("app.kubernetes.io/managed-by", "kyverno".into());
        let (group, version) = trigger.api_version.split_once('/').unwrap_or(("", &trigger.api_version));
        let mut label = |key: &str, value: &str| {
            labels.insert(Str::from(format!("{PREFIX}{key}")), shortened(value).into());
        };
        label("policy-name", &case.policy.name);
        label("trigger-name", &trigger.name);
        label("trigger-namespace", &trigger.namespace);
        label("trigger-uid", &trigger.uid);
        label("trigger-kind", &trigger.kind);
        label("trigger-group", group);
        label("trigger-version", version);
        if is_copy {
            labels.insert(SOURCE_UID, of("uid").into());
        }
        let mut metadata: Map = given.clone();
        for own in
            ["uid", "selfLink", "creationTimestamp", "managedFields", "resourceVersion", "ownerReferences"]
        {
            metadata.remove(own);
        }
        if !is_namespaced {
            metadata.remove("namespace");
        }
        metadata.insert("labels", Value::Map(labels));
        let object = object.with("metadata", Value::Map(metadata)).with_whole_numbers();
        // Its source is found by the label, and needs none itself: kinds that are generated are
        // watched. What a policy has generated for a trigger it brings in step with every request
        // about the trigger.
        Ok(WantedObject { object, source: None, synchronize: true })
    }

    /// The kinds of objects that a policy has generated.
    pub(crate) fn generated_kinds(&self, key: &str) -> Result<Vec<ObjectKind>, Failure> {
        let mut known = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            *known = Some(state::read_kinds(&self.setup.cluster, &self.setup.namespace)?);
        }
        Ok(known.as_ref().and_then(|known| known.get(key)).cloned().unwrap_or_default())
    }

    /// Writes down which kinds a policy generates, and begins to watch them where it is
    /// synchronised.
    fn note_kinds(&self, key: &str, facts: &RuleFacts, objects: &[Value]) -> Result<(), Failure> {
        let mut kinds = self.generated_kinds(key)?;
        let before = kinds.len();
        for object in objects {
            let kind = (object.text_at(&["apiVersion"]).to_string(), object.text_at(&["kind"]).to_string());
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        if kinds.len() > before {
            state::write_kinds(&self.setup.cluster, &self.setup.namespace, key, &kinds)?;
            let mut known = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
            known.get_or_insert_default().insert(key.to_string(), kinds);
            drop(known);
            self.watch_generated(key, facts)?;
        }
        Ok(())
    }

    /// Begins to watch what a synchronised policy generates.
    pub(crate) fn watch_generated(&self, key: &str, facts: &RuleFacts) -> Result<(), Failure> {
        if facts.kind != WorkKind::CelGenerate || !facts.synchronize {
            return Ok(());
        }
        let served = self.setup.cluster.kinds()?;
        for (api_version, kind) in self.generated_kinds(key)? {
            let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
            if let Some(resource) = served.kind(group, version, &kind) {
                self.changes.watch(&self.setup.cluster, resource)?;
            }
        }
        Ok(())
    }
}

/// A text that is short enough for a label.
fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text).trim_end_matches(['-', '.', '_'])
}

/// Whether two objects are the same one.
fn is_same(a: &Value, b: &Value) -> bool {
    Key::of(a) == Key::of(b)
}

fn failed(key: &str, result: &RuleOutcome, trigger: &Trigger) -> String {
    let (status, message) = (result.status.name(), &result.message);
    let trigger = match &*trigger.namespace {
        "" => format!("{}/{}", trigger.kind, trigger.name),
        namespace => format!("{}/{namespace}/{}", trigger.kind, trigger.name),
    };
    format!("gpol {key} rule {} {status} for trigger {trigger}: {message}", result.rule)
}
