//! Cleanup and deleting policies of `apply`: what a run of each would delete.
//!
//! In: resources and cleanup policies. Out: a result for every pair, after all other results, in
//! the order of the policies: pass = it would be deleted. Semantics: `docs/reference/cli.md`,
//! "Deletions".

use std::io::Write;

use ephor_document::Document;
use ephor_engine::Status;
use ephor_engine::expressions::deletion::DeletionSubject;
use ephor_engine::images::Images;
use ephor_ir::facts::Stage;
use ephor_matching::Target;
use ephor_policies::by_policy::ByPolicy;
use ephor_policies::policy_set::{Engine, Outcome, PolicyOutcome};
use ephor_report::policy_report::PolicyFacts;
use ephor_report::run::Order;
use ephor_value::Value;

use super::super::inputs::PlacedObject;
use super::super::run::Run;
use crate::cli::CommandError;
use crate::cli::apply::render::results;
use crate::cli::apply::render::results::{Rendered, Style};
use crate::cli::apply::render::sink::Sink;

/// The order of results of a policy that deletes, which has this position among them.
fn order(policy: usize, object: u64) -> Order {
    const BEHIND_OBJECTS: u32 = 2;
    Order { stage: u32::try_from(policy).unwrap_or(u32::MAX).saturating_add(BEHIND_OBJECTS), object }
}

impl Run<'_> {
    /// Every cleanup policy meets every resource; returns how many failed: would not be deleted.
    pub(crate) fn clean_up(
        &self,
        engine: &Engine,
        style: &Style<'_>,
        sink: &mut Sink,
        out: &mut impl Write,
    ) -> usize {
        let mut remaining = 0;
        let behind = engine.set().policies().len();
        for (at, cleanup) in self.inputs.policies.cleanups.iter().enumerate() {
            // A rule policy may have the same name: each has its own facts.
            let policy = &cleanup.policy;
            let facts = ByPolicy::from_iter([(policy, PolicyFacts::of(policy))]);
            let style = Style { facts: &facts, ..*style };
            let mut sweep = engine.sweep(cleanup);
            for placed in self.inputs.objects.own() {
                let document = placed.document;
                let object = &document.value;
                let mut target = Target::of(object);
                let namespace = self.inputs.requests.namespace(object);
                let labels = namespace.at(&["metadata", "labels"]).and_then(Value::as_map);
                target.namespace_labels = labels.cloned().unwrap_or_default();
                let images = Images::of(object.clone(), engine.functions());
                let rules = vec![sweep.on(object, &target, &images)];
                let outcome = Outcome { policies: vec![PolicyOutcome::of(policy, rules)], object: None };
                let rendered = results::render(&style, Some(document), object, &outcome);
                let rendered = Rendered { order: order(behind + at, placed.at), ..rendered };
                remaining += rendered.counts.of(Status::Fail);
                self.take(sink, rendered, out, false);
            }
        }
        remaining
    }
}

impl Run<'_> {
    /// Results of deleting policies, policy by policy, first for objects, then for payloads.
    ///
    /// # Errors
    /// The first fault, which ends the run.
    pub(crate) fn deletions(
        &self,
        engine: &Engine,
        style: &Style<'_>,
    ) -> Result<Vec<Rendered>, CommandError> {
        if !engine.set().policies().iter().any(|p| p.stage == Stage::Schedule) {
            return Ok(Vec::new());
        }
        let objects = self.inputs.objects.own().map(|PlacedObject { at, document }| {
            (at, Some(document), &document.value, DeletionSubject::Object)
        });
        let payloads = self.inputs.payloads.iter().map(|p| (0, None, p, DeletionSubject::Payload));
        let rank = |id: &String| engine.set().policies().iter().position(|p| p.id() == *id);
        let mut all: Vec<(Order, Option<&Document>, &Value, PolicyOutcome)> = Vec::new();
        for (at, document, object, subject) in objects.chain(payloads) {
            let request =
                self.inputs.requests.of(object.clone(), None, engine).map_err(CommandError::input)?;
            for outcome in engine.deletions(&request, subject) {
                if let Some(fault) = outcome.rules.iter().find(|r| r.status == Status::Error) {
                    let what = if subject == DeletionSubject::Payload { "json" } else { "resource" };
                    return Err(CommandError::Deletion { what, cause: fault.message.to_string() });
                }
                let rank = rank(&outcome.policy.id()).unwrap_or_default();
                all.push((order(rank, at), document, object, outcome));
            }
        }
        all.sort_by_key(|(order, ..)| order.stage);
        let render =
            |(order, document, object, outcome): (Order, Option<&Document>, &Value, PolicyOutcome)| {
                let outcome = Outcome { policies: vec![outcome], object: None };
                Rendered { order, ..results::render(style, document, object, &outcome) }
            };
        Ok(all.into_iter().map(render).collect())
    }
}
