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
use ephor_value::Value;

use super::super::run::Run;
use crate::cli::CommandError;
use crate::cli::apply::render::results;
use crate::cli::apply::render::results::{Rendered, Style};
use crate::cli::apply::render::sink::Sink;

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
        for cleanup in &self.inputs.policies.cleanups {
            // A rule policy may have the same name: each has its own facts.
            let policy = &cleanup.policy;
            let facts = ByPolicy::from_iter([(policy, PolicyFacts::of(policy))]);
            let style = Style { facts: &facts, ..*style };
            let mut sweep = engine.sweep(cleanup);
            for document in self.inputs.objects.in_memory() {
                let object = &document.value;
                let mut target = Target::of(object);
                let namespace = self.inputs.requests.namespace(object);
                let labels = namespace.at(&["metadata", "labels"]).and_then(Value::as_map);
                target.namespace_labels = labels.cloned().unwrap_or_default();
                let images = Images::of(object.clone(), engine.functions());
                let rules = vec![sweep.on(object, &target, &images)];
                let outcome = Outcome { policies: vec![PolicyOutcome::of(policy, rules)], object: None };
                let rendered = results::render(&style, Some(document), object, &outcome);
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
        let objects = self.inputs.objects.in_memory().iter();
        let objects = objects.map(|document| (Some(document), &document.value, DeletionSubject::Object));
        let payloads = self.inputs.payloads.iter().map(|p| (None, p, DeletionSubject::Payload));
        let mut all: Vec<(String, Option<&Document>, &Value, PolicyOutcome)> = Vec::new();
        for (document, object, subject) in objects.chain(payloads) {
            let request =
                self.inputs.requests.of(object.clone(), None, engine).map_err(CommandError::input)?;
            for outcome in engine.deletions(&request, subject) {
                if let Some(fault) = outcome.rules.iter().find(|r| r.status == Status::Error) {
                    let what = if subject == DeletionSubject::Payload { "json" } else { "resource" };
                    return Err(CommandError::Deletion { what, cause: fault.message.to_string() });
                }
                all.push((outcome.policy.id(), document, object, outcome));
            }
        }
        let rank = |id: &String| engine.set().policies().iter().position(|p| p.id() == *id);
        all.sort_by_cached_key(|(id, ..)| rank(id));
        let render = |(_, document, object, outcome): (String, Option<&Document>, &Value, PolicyOutcome)| {
            results::render(style, document, object, &Outcome { policies: vec![outcome], object: None })
        };
        Ok(all.into_iter().map(render).collect())
    }
}
