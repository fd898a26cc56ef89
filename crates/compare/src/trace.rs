//! What decided on an object, on each side.
//!
//! In: a side and a difference. Out: the rules that have a result on the object, with the field of
//! the object and the part of the policy's document that decided.

use std::sync::Arc;

use ephor_engine::Status;
use ephor_ir::check::Check;
use ephor_ir::rule::Body;
use ephor_ir::{Policy, Rule};
use ephor_policies::violation::violations;
use ephor_value::Str;
use ephor_value::place::Path;

use crate::model::answer::Difference;
use crate::model::request::{Case, request};
use crate::model::verdict::Verdict;
use crate::sides::side::Side;

/// The result of a rule, and what decided.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The policy.
    pub policy: Arc<Policy>,
    /// The rule; empty for policies whose rules have no names.
    pub rule: Str,
    /// Its result.
    pub verdict: Verdict,
    /// Its message.
    pub message: Str,
    /// The field of the object, where one decided against it.
    pub field: Option<Path>,
    /// The path in the policy's document of what decided; of the rule where nothing decided against
    /// the object.
    pub decision: Path,
}

/// The results of a side on the object of a difference, the gravest first.
pub fn traces(side: &Side, difference: &Difference) -> Vec<Trace> {
    let case = Case {
        object: difference.object.clone(),
        old: difference.old_object.clone(),
        around: Arc::clone(&difference.around),
    };
    let Some(request) = request(&difference.environment, &case) else { return Vec::new() };
    let mut all = Vec::new();
    for (at, policy) in side.policies().iter().enumerate() {
        let results = side.engine.evaluate_policy(at, &request);
        let is_violated = results.iter().any(|result| Verdict::of(result.status).is_violation());
        let found = if is_violated { violations(&side.engine, at, &request) } else { Vec::new() };
        let rules = policy.rules_for(&difference.environment.resource.kind);
        for result in results {
            let against = found.iter().find(|v| v.rule == result.rule && is_against(result.status));
            let rule = rules.iter().find(|rule| rule.name == result.rule);
            let of_rule = || rule.map(|rule| written(rule)).unwrap_or_default();
            all.push(Trace {
                policy: policy.clone(),
                rule: result.rule.clone(),
                verdict: Verdict::of(result.status),
                message: result.message.clone(),
                field: against.and_then(|v| v.field.clone()),
                decision: against.and_then(|v| v.decision.clone()).unwrap_or_else(of_rule),
            });
        }
    }
    all.sort_by_key(|trace| std::cmp::Reverse(trace.verdict));
    all
}

/// Where a rule is written: its first validation, if it has some.
pub(crate) fn written(rule: &Rule) -> Path {
    match &rule.body {
        Body::Validate { check: Check::Assert(validations), .. } => {
            validations.first().map(|validation| validation.check.origin.below(&[])).unwrap_or_default()
        }
        _ => rule.origin.below(&[]),
    }
}

fn is_against(status: Status) -> bool {
    Verdict::of(status).is_violation()
}
