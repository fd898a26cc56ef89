//! Counts rule results in the metric of policy results.
//!
//! In: results about an object. Results that requests share also share their counters: the labels
//! are the same for all of them.

use std::sync::Arc;

use ephor_admission::admit::Incoming;
use ephor_engine::RuleOutcome;
use ephor_engine::action::{enforces, of_result};
use ephor_matching::Target;
use ephor_policies::policy_set::outcomes::{Bundle, Outcomes, Share};

use super::families::Families;
use super::metrics::{Metrics, operation, origin, policy_type, rule_type};
use super::series::Count;

/// The counters of results that requests share.
struct SharedCounters {
    families: Arc<Families>,
    /// One for each result that is counted, without spare room: the result cache has counted an
    /// address for each result.
    counters: Box<[Count]>,
    results: u64,
}

impl Metrics {
    /// Counts results about an object.
    pub fn results(&self, incoming: &Incoming, target: &Target, outcomes: &Outcomes) {
        let families = self.families.load();
        for Share { bundle, is_cached } in outcomes.shares() {
            let known = bundle.derived.get().and_then(|derived| derived.downcast_ref::<SharedCounters>());
            if let Some(known) = known.filter(|known| Arc::ptr_eq(&known.families, &families)) {
                known.counters.iter().for_each(Count::inc);
                self.cache_hits.inc_by(known.results);
                continue;
            }
            let counters = count(&families, incoming, target, bundle);
            if !*is_cached {
                self.cache_hits.inc_by(bundle.cached);
                continue;
            }
            let results = bundle.parts.iter().map(|part| part.results()).sum();
            self.cache_hits.inc_by(results);
            let counted =
                SharedCounters { families: families.clone(), counters: counters.into_boxed_slice(), results };
            let _ = bundle.derived.set(Box::new(counted));
        }
    }
}

/// Counts results; their counters.
fn count(families: &Families, incoming: &Incoming, target: &Target, bundle: &Bundle) -> Vec<Count> {
    let operation = operation(incoming);
    let [kind, of] = origin(incoming);
    let dry = incoming.dry_run();
    let book = families.counters.book((kind, of, operation, dry));
    let mut counters = Vec::with_capacity(bundle.parts.len());
    for (_, p) in bundle.policies() {
        let policy = &p.policy;
        let namespace = policy.namespace.as_deref().unwrap_or("-");
        if !families.count(namespace) {
            continue;
        }
        let background = if policy.background { "true" } else { "false" };
        let cause = "admission_request";
        let enforced = |rule: &RuleOutcome| match policy.actions.is_per_rule() {
            true => enforces(of_result(policy, rule, target)),
            false => policy.actions.denies(),
        };
        let find = |rule: &RuleOutcome, enforced: bool| {
            let result = rule.status.name();
            if !policy.actions.is_per_rule() {
                let mode = if enforced { "Deny" } else { "Audit" };
                let labels = [mode, background, &policy.name, namespace, kind, of, operation, cause, result];
                return families.reviews.with(&labels);
            }
            let labels = [
                if enforced { "enforce" } else { "audit" },
                policy_type(policy),
                background,
                namespace,
                &policy.name,
                kind,
                of,
                operation,
                &rule.rule,
                result,
                rule_type(rule),
                cause,
                if dry { "true" } else { "false" },
            ];
            families.results.with(&labels)
        };
        book.count(policy, &p.rules, enforced, find, &mut |counter| counters.push(counter.clone()));
    }
    counters
}
