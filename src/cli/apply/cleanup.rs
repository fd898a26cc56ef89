//! Cleanup policies of `apply`: what a run of each would delete.
//!
//! In: resources and cleanup policies. Out: a result for every pair, after all other results, in the
//! order of the policies: pass = it would be deleted. Semantics: `docs/cli.md`, "Cleanup policies".

use std::collections::HashMap;
use std::io::Write;

use crate::engine::images::Images;
use crate::engine::{RuleOutcome, Status};
use crate::ir::policy::Cleanup;
use crate::ir::rule::RuleKind;
use crate::matching::Target;
use crate::policy_set::{Engine, Outcome, PolicyOutcome};
use crate::report::policy_report::PolicyFacts;

use super::evaluate::Run;
use super::finish::Sink;
use super::results::{self, Style};

impl Run<'_> {
    /// Every cleanup policy meets every resource.
    pub(super) fn clean_up(&self, engine: &Engine, style: &Style<'_>, sink: &mut Sink, out: &mut impl Write) {
        for cleanup in &self.policies.cleanups {
            // A rule policy may have the same name: each has its own facts.
            let policy = &cleanup.policy;
            let facts = HashMap::from([(policy.id(), PolicyFacts::of(policy))]);
            let style = Style { facts: &facts, ..*style };
            let mut sweep = engine.sweep(cleanup);
            for (i, document) in self.resources.iter().enumerate() {
                let object = &document.value;
                let mut target = Target::of(object);
                let namespace = self.requests.namespace(object);
                let labels = namespace.at(&["metadata", "labels"]).and_then(crate::value::Value::as_map);
                target.namespace_labels = labels.cloned().unwrap_or_default();
                let images = Images::of(object.clone(), engine.functions());
                let verdict = sweep.selects(object, &target, &images);
                let rendered = results::render(&style, i, object, &outcome(cleanup, verdict));
                self.take(sink, rendered, out, false);
            }
        }
    }
}

fn outcome(cleanup: &Cleanup, verdict: Result<bool, String>) -> Outcome {
    let (status, text) = match verdict {
        Ok(true) => (Status::Pass, "resource matched".to_owned()),
        Ok(false) => (Status::Fail, "resource did not match".to_owned()),
        Err(text) => (Status::Error, text),
    };
    let policy = cleanup.policy.clone();
    let rules = vec![RuleOutcome::new(&policy.name, RuleKind::Validation, status, text)];
    Outcome { policies: vec![PolicyOutcome::of(&policy, rules)], object: None }
}
