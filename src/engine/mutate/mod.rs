//! Mutate rules: patches on the object of the request, or on other objects.
//!
//! In: the rules of a policy and a request. Out: a result for every rule that matches, and the request
//! with the object that they leave. Each rule matches and reads what the former left. A failure loses
//! the object: what follows has nothing to match. Texts and order are those of `docs/mutate.md`.

mod anchors;
mod existing;
mod foreach;
mod patch;

use crate::ir::mutate::{Change, Mutation};
use crate::ir::rule::{Body, RuleKind};
use crate::ir::{Policy, Rule};
use crate::value::budget::{self, Excess};
use crate::value::{Str, Value};

use super::data::Data;
use super::outcome::{Effect, RuleOutcome, Status};
use super::request::Root;
use super::run::{
    Concern, Entered, Surroundings, applies, concern, enter, excepted, reported, settled, undecided,
    unmatched, world,
};
use super::trace::{self, What};
use super::{Request, expressions};

/// What the mutate rules of a policy did.
#[derive(Debug)]
pub struct Mutated {
    /// Their results.
    pub rules: Vec<RuleOutcome>,
    /// The object they leave, when it is another one than that of the request; null when it was lost.
    pub object: Option<Value>,
}

/// Runs the mutate rules of a policy.
pub fn policy<'p>(
    policy: &Policy,
    rules: impl Iterator<Item = &'p Rule>,
    request: &Request,
    around: Surroundings<'_>,
) -> Mutated {
    let mut out = Mutated { rules: Vec::new(), object: None };
    let concern = concern(policy, request, around.profile);
    if concern == Concern::No {
        return out;
    }
    let mut current: Option<Request> = None;
    let mut matched = 0usize;
    for rule in rules.filter(|r| r.kind == RuleKind::Mutation) {
        let request = current.as_ref().unwrap_or(request);
        if let Some(result) = unmatched(rule, request) {
            out.rules.push(result);
            continue;
        }
        if !applies(rule, request) {
            continue;
        }
        if let Concern::Unknown(text) = concern {
            out.rules.push(undecided(rule, text));
            return out;
        }
        matched += 1;
        let later = if matched > 1 { request.later_root.as_ref().map(Root::get) } else { None };
        let root = later.unwrap_or_else(|| request.root.get());
        let (Ran { results, left }, excess) = budget::spend(|| one(policy, rule, request, root, around));
        let (results, left) = match excess {
            None => (results, left),
            Some(Excess::Time) => {
                // What was changed so far counts for nothing without the rest.
                out.object = None;
                break;
            }
            excess => {
                let failed = |r: &RuleOutcome| matches!(r.status, Status::Fail | Status::Error);
                let told = results.iter().find(|r| failed(r)).cloned();
                (settled(rule, told, excess).into_iter().collect(), left_by_failure(rule))
            }
        };
        out.rules.extend(results);
        let next = match left {
            Left::Same => None,
            Left::Changed(object) => Some(request.with_object(object)),
            Left::Lost => Some(request.without_object()),
        };
        if let Some(next) = next {
            out.object = Some(next.object.clone());
            current = Some(next);
        }
        if policy.apply_one && out.rules.iter().any(|o| matches!(o.status, Status::Pass | Status::Fail)) {
            break;
        }
    }
    out
}

/// What a rule leaves of the object.
enum Left {
    Same,
    Changed(Value),
    Lost,
}

/// What a rule leaves that fails as a whole.
fn left_by_failure(rule: &Rule) -> Left {
    match rule.expressions {
        Some(_) => Left::Same,
        None => Left::Lost,
    }
}

struct Ran {
    results: Vec<RuleOutcome>,
    left: Left,
}

fn one(policy: &Policy, rule: &Rule, request: &Request, root: &Value, around: Surroundings<'_>) -> Ran {
    trace::tell(&rule.origin, || What::Rule(rule.name.clone()));
    if let Some(bound) = &rule.bound {
        let (result, object) = super::admission::offline::change(bound, rule, request);
        let left = object.map_or(Left::Same, Left::Changed);
        return Ran { results: result.into_iter().collect(), left };
    }
    if let (Some(expressions), Body::Mutate(mutation)) = (&rule.expressions, &rule.body) {
        let (result, left) = expressions::patch::run(policy, rule, expressions, mutation, request, around);
        return Ran { results: vec![result], left: left.map_or(Left::Same, Left::Changed) };
    }
    let unchanged = |result: RuleOutcome| Ran { results: vec![result], left: Left::Same };
    let mut data = Data::new(root, world(policy, rule, request, around, None));
    let Entered { properties, exceptions } = match enter(policy, rule, request, around, &mut data) {
        Ok(entered) => entered,
        Err(result) => return unchanged(*result),
    };
    if !exceptions.is_empty() {
        return unchanged(reported(excepted(rule, &exceptions), properties));
    }
    let Body::Mutate(mutation) = &rule.body else {
        return Ran { results: Vec::new(), left: Left::Same };
    };
    if let Some(targets) = &mutation.targets {
        let results = existing::run(mutation, targets, rule, &mut data);
        let results = results.into_iter().map(|r| reported(r, properties.clone())).collect();
        return Ran { results, left: Left::Same };
    }
    let changed = change(mutation, &request.object, &mut data);
    let left = match &changed {
        Ok(Changed::Yes(object)) => Left::Changed(object.clone()),
        Ok(Changed::No(_)) => Left::Same,
        Err(_) => Left::Lost,
    };
    let result = outcome(rule, changed, Effect::Patched);
    Ran { results: vec![reported(result, properties)], left }
}

/// Whether an object was changed; the message if not.
enum Changed {
    Yes(Value),
    No(&'static str),
}

/// Changes an object.
fn change(mutation: &Mutation, object: &Value, data: &mut Data<'_>) -> Result<Changed, String> {
    match &mutation.change {
        Change::Patch(patch, _) => {
            // The reference fills in the parts of a rule in no particular order.
            for template in &mutation.beside {
                data.fill(template).map_err(|e| format!("variable substitution failed: {e}"))?;
            }
            let filled = patch::fill(patch, data)?;
            let changed = patch::run(&filled, object)?;
            Ok(changed.map_or(Changed::No("no patches applied"), Changed::Yes))
        }
        Change::ForEach(loops) => {
            let changed = foreach::run(loops, object, 0, data)?;
            Ok(changed.map_or(Changed::No("0 elements processed"), Changed::Yes))
        }
        // Rules with expressions have a runner of their own.
        Change::Expressions { .. } => Ok(Changed::No("no patches applied")),
    }
}

fn outcome(
    rule: &Rule,
    changed: Result<Changed, String>,
    effect: impl FnOnce(Value) -> Effect,
) -> RuleOutcome {
    match changed {
        Ok(Changed::Yes(object)) => {
            let mut result = RuleOutcome::new(&rule.name, rule.kind, Status::Pass, told(&object));
            result.effect = Some(Box::new(effect(object)));
            result
        }
        Ok(Changed::No(why)) => RuleOutcome::new(&rule.name, rule.kind, Status::Skip, why),
        Err(text) => RuleOutcome::new(&rule.name, rule.kind, Status::Error, text),
    }
}

/// What is told of a changed object.
fn told(object: &Value) -> Str {
    let (kind, name) = (object.text_at(&["kind"]), object.text_at(&["metadata", "name"]));
    match object.text_at(&["metadata", "namespace"]) {
        "" => format!("mutated {kind}/{name}").into(),
        ns => format!("mutated {kind}/{name} in namespace {ns}").into(),
    }
}
