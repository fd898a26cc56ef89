//! Generate rules: objects that are made because of a request.
//!
//! In: the rules of a policy, a request, the objects that can be copied. Out: a result for every rule
//! that has something to say, with the objects that it made. Nothing outlives the request: whether an
//! object exists is asked of the source of data, the request's object and what was made before.
//! Texts and order are those of `docs/generate.md`.

mod make;

use crate::ir::generate::Generation;
use crate::ir::rule::{Body, RuleKind};
use crate::ir::{Policy, Rule};
use crate::value::budget::{self, Excess};
use crate::value::{Fault, Value};

use super::condition;
use super::data::Data;
use super::outcome::{Effect, RuleOutcome, Status};
use super::run::{Concern, Surroundings, applies, applying, concern, settled, world};
use super::trace::{self, What};
use super::{Request, expressions};
use make::Store;

/// What the generate rules of a policy did.
#[derive(Debug)]
pub struct Generated {
    /// Their results.
    pub rules: Vec<RuleOutcome>,
    /// Why nothing was made, although a rule wanted to.
    pub failure: Option<String>,
}

/// Runs the generate rules of a policy.
pub fn policy<'p>(
    policy: &Policy,
    rules: impl Iterator<Item = &'p Rule>,
    request: &Request,
    around: Surroundings<'_>,
) -> Generated {
    let mut out = Generated { rules: Vec::new(), failure: None };
    if concern(policy, request, around.profile) != Concern::Yes {
        return out;
    }
    let mut told: Vec<&Rule> = Vec::new();
    for rule in rules.filter(|r| r.kind == RuleKind::Generation) {
        if rule.expressions.is_some() {
            out.rules.extend(made_by_expressions(policy, rule, request, around));
            continue;
        }
        let (result, excess) = budget::spend(|| verdict(policy, rule, request, around));
        let Some(result) = settled(rule, result, excess) else { continue };
        let ends = policy.apply_one && result.status != Status::Skip;
        told.push(rule);
        out.rules.push(result);
        if ends {
            break;
        }
    }
    if request.object.is_null() || told.is_empty() {
        return out;
    }
    let (made, excess) = budget::spend(|| make_all(policy, &told, request, around));
    let made = match excess {
        Some(Excess::Size(text)) => made.and(Err(text.into())),
        Some(Excess::Time) => Err(Fault::INTERRUPTED.into()),
        None => made,
    };
    match made {
        Ok(made) => {
            for (result, objects) in out.rules.iter_mut().zip(made) {
                if !objects.is_empty() {
                    result.effect = Some(Box::new(Effect::Generated(objects)));
                }
            }
        }
        Err(text) => out.failure = Some(text),
    }
    out
}

fn made_by_expressions(
    policy: &Policy,
    rule: &Rule,
    request: &Request,
    around: Surroundings<'_>,
) -> Option<RuleOutcome> {
    let (Some(shared), Body::Generate(generation)) = (&rule.expressions, &rule.body) else { return None };
    let Generation::Expressions(generators) = &**generation else { return None };
    if !applies(rule, request) {
        return None;
    }
    trace::tell(&rule.origin, || What::Rule(rule.name.clone()));
    expressions::generate::run(policy, rule, shared, generators, request, around.exemptions)
}

/// Whether a rule wants to make something; a failure says that what it once made has to go.
fn verdict(policy: &Policy, rule: &Rule, request: &Request, around: Surroundings<'_>) -> Option<RuleOutcome> {
    let outcome = |status, text: String| Some(RuleOutcome::new(&rule.name, rule.kind, status, text));
    let is_now = applies(rule, request);
    let former = (!request.old_object.is_null()).then(|| request.of_former());
    let was = former.as_ref().is_some_and(|former| applies(rule, former));
    if !is_now && !was {
        return None;
    }
    trace::tell(&rule.origin, || What::Rule(rule.name.clone()));
    let mut data = Data::new(request.root.get(), world(policy, rule, request, around, None));
    data.register(&rule.bindings);
    let exceptions = applying(policy, rule, request, around.exceptions, &mut data);
    if !exceptions.is_empty() {
        let keys: Vec<&str> = exceptions.iter().map(|e| &*e.key).collect();
        let text = format!("rule is skipped due to policy exception {}", keys.join(", "));
        let mut skipped = RuleOutcome::new(&rule.name, rule.kind, Status::Skip, text);
        skipped.exceptions = exceptions.iter().map(|e| e.name.clone()).collect();
        return Some(skipped);
    }
    if !is_now {
        return outcome(Status::Fail, String::new());
    }
    let Some(admit) = &rule.admit else { return outcome(Status::Pass, String::new()) };
    match condition::evaluate(admit, &mut data) {
        Ok(v) if v.holds => return outcome(Status::Pass, String::new()),
        Ok(_) => {}
        Err(e) => return outcome(Status::Error, format!("failed to evaluate conditions: {e}")),
    }
    let Some(former) = former else { return outcome(Status::Skip, String::new()) };
    let mut data = Data::new(former.root.get(), world(policy, rule, &former, around, None));
    data.register(&rule.bindings);
    match condition::evaluate(admit, &mut data) {
        Ok(v) if v.holds => outcome(Status::Fail, v.message),
        Ok(_) => outcome(Status::Skip, String::new()),
        Err(e) => outcome(Status::Error, format!("failed to evaluate conditions for old resource: {e}")),
    }
}

/// Makes the objects of all rules; one failure ends the policy.
fn make_all(
    policy: &Policy,
    rules: &[&Rule],
    request: &Request,
    around: Surroundings<'_>,
) -> Result<Vec<Vec<Value>>, String> {
    let mut store = Store::new(policy, request, around.sources);
    let mut made = Vec::with_capacity(rules.len());
    for rule in rules {
        let mut data = Data::new(request.root.get(), world(policy, rule, request, around, None));
        data.register(&rule.bindings);
        let Body::Generate(generation) = &rule.body else { continue };
        let holds = match (&rule.admit, &**generation) {
            // The preconditions of a rule with loops are not looked at again.
            (None, _) | (_, Generation::ForEach(_)) => true,
            (Some(admit), _) => {
                condition::evaluate(admit, &mut data)
                    .map_err(|e| format!("failed to evaluate preconditions: {e}"))?
                    .holds
            }
        };
        made.push(if holds { store.run(generation, rule, &mut data)? } else { Vec::new() });
    }
    Ok(made)
}
