//! Applies MutatingPolicies with `mutateExisting` to stored objects.
//!
//! In: a policy, and the request that triggers it or none. Out: the objects that it selects or that
//! its expression returns, changed and written where that changes something. Each is evaluated as
//! it is now; a write that meets a newer version is tried again with the whole work. Semantics:
//! `docs/reference/cluster.md`, "Background work"; `docs/semantics/cel-policies.md`, "Changes".

use ephor_engine::expressions::existing::Targets;
use ephor_engine::{Effect, Request, RuleOutcome, Status};
use ephor_ir::Policy;
use ephor_ir::mutate::ExistingObjects;
use ephor_ir::rule::Body;
use ephor_kubernetes::Kinds;
use ephor_value::Value;

use super::work::{Case, WorkError, review};
use super::{Reconciler, apply};
use crate::background::event_sink::Changed;
use crate::cleanup;
use crate::cleanup::SweptPlace;
use ephor_admission::admit::Incoming;

/// What a policy of expressions says about objects that exist.
fn existing(policy: &Policy) -> Option<&ExistingObjects> {
    match &policy.rules.first()?.body {
        Body::Mutate(mutation) => mutation.existing.as_deref(),
        _ => None,
    }
}

/// Whether an expression returns the objects that a policy changes.
pub(super) fn are_returned(policy: &Policy) -> bool {
    existing(policy).is_some_and(|existing| existing.returned_by.is_some())
}

impl Reconciler {
    /// Does the work of a policy for a trigger. `about` is the request about it; without one the
    /// trigger is as it was.
    pub(super) fn change_existing(
        &self,
        case: &Case<'_>,
        about: Option<&Incoming>,
        found: &Value,
    ) -> Result<(), WorkError> {
        let request = self.request_on(case, about, found)?;
        match case.gate.engine().targets(case.policy, case.rule, &request) {
            Targets::None => Ok(()),
            Targets::Failed(result) => Err(WorkError::Rules(failed(case, &result))),
            Targets::Selected => self.change_selected(case, Some(&request)),
            Targets::Returned(objects) => {
                let served = self.setup.cluster.kinds()?;
                let places = places(case, &served);
                let part = |object: &Value| {
                    let kind = object.text_at(&["kind"]);
                    let found = places.iter().find(|(resource, _)| *resource.kind == *kind);
                    found.map(|(_, part)| part.clone()).unwrap_or_default()
                };
                self.change_all(case, Some(&request), objects.iter().map(|object| (object, part(object))))
            }
        }
    }

    /// Changes all objects that a policy selects, because of a request or of a change of the
    /// policy.
    pub(super) fn change_selected(&self, case: &Case<'_>, cause: Option<&Request>) -> Result<(), WorkError> {
        let served = self.setup.cluster.kinds()?;
        let own = case.policy.namespace.as_deref().unwrap_or_default();
        let mut failures = Vec::new();
        for (resource, part) in places(case, &served) {
            if !own.is_empty() && !resource.namespaced {
                continue;
            }
            let objects = match self.setup.cluster.list(resource, own) {
                Ok(objects) => objects,
                Err(e) if e.is_passing() => return Err(e.into()),
                Err(e) => {
                    failures.push(e.text);
                    continue;
                }
            };
            match self.change_all(case, cause, objects.iter().map(|object| (object, part.clone()))) {
                Err(WorkError::Rules(text)) => failures.push(text),
                done => done?,
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(WorkError::Rules(failures.join("; "))) }
    }

    fn change_all<'o>(
        &self,
        case: &Case<'_>,
        cause: Option<&Request>,
        objects: impl Iterator<Item = (&'o Value, String)>,
    ) -> Result<(), WorkError> {
        let Some(existing) = existing(case.policy) else { return Ok(()) };
        let served = self.setup.cluster.kinds()?;
        let mut failures = Vec::new();
        let is_left_out = |object: &Value| case.gate.settings().is_some_and(|s| s.filters_object(object));
        for (object, part) in objects.filter(|(object, _)| !is_left_out(object)) {
            let mut incoming = review(object, &served, "UPDATE");
            incoming.request.insert("subResource", (&*part).into());
            let request = case.gate.request_on(&incoming, object);
            let request = request.map_err(|e| WorkError::Rules(e.to_string()))?;
            let request = match cause {
                Some(cause) => request.caused_by(cause),
                None => request,
            };
            let Some(result) = case.gate.engine().changed_existing(case.policy, existing, &request) else {
                continue;
            };
            let says = |changed: &[Value]| {
                let (policy, settings) = (case.policy, case.gate.settings());
                let what = Changed { result: &result, objects: changed, failure: None };
                self.setup.event_sink.changed(policy, settings, object, &what);
            };
            match (result.status, result.effect.as_deref()) {
                (Status::Pass, Some(Effect::Patched(changed))) if changed.json_eq(object) => says(&[]),
                (Status::Pass, Some(Effect::Patched(changed))) => {
                    match apply::replace_part(&self.setup.cluster, changed, &part) {
                        Ok(()) => {
                            case.log_change(changed);
                            says(std::slice::from_ref(changed));
                        }
                        // It is gone.
                        Err(e) if e.is_not_found() => {}
                        Err(e) if e.is_passing() || e.is_conflict() => return Err(e.into()),
                        Err(e) => failures.push(e.text),
                    }
                }
                (Status::Pass | Status::Skip, _) => {}
                _ => {
                    says(&[]);
                    failures.push(failed(case, &result));
                }
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(WorkError::Rules(failures.join("; "))) }
    }
}

/// The resources that the constraints on existing objects name, or those on requests where there
/// are none.
fn places<'k>(case: &Case<'_>, served: &'k Kinds) -> Vec<SweptPlace<'k>> {
    let of = |key: &str| cleanup::placed(case.facts.written.get(key), served);
    match of("targetMatchConstraints") {
        none if none.is_empty() => of("matchConstraints"),
        places => places,
    }
}

fn failed(case: &Case<'_>, result: &RuleOutcome) -> String {
    let (status, message) = (result.status.name(), &result.message);
    format!("mpol {} failed to mutate existing resources, response {status}: {message}", case.key)
}
