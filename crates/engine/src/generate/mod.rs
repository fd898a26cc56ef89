//! Generate rules: objects that are created because of a request.
//!
//! In: a rule and a request (`run`), then all rules that want to generate something, and the
//! objects that can be copied (`finish`). Out: a result, with the objects that the rule generated.
//! Nothing outlives the request: whether an object exists is looked up in the source of data, the
//! request's object and what was generated before. Texts and order are those of
//! `docs/semantics/generate.md`.
//!
//! - `error`: why nothing is generated
//! - `make`: builds the objects that a generate rule describes
//! - `present`: what exists, as generate rules look it up

mod error;
mod make;
mod present;

use ephor_ir::generate::Generation;
use ephor_ir::rule::{Body, RuleKind};
use ephor_value::{Value, budget};

use super::matched::{MatchedRule, applies, excepted};
use super::outcome::{Effect, RuleOutcome, Status};
use super::results::{Results, RuleEffect, RuleRun, Work};
use super::{condition, expressions};
use make::Store;
use present::PresentObjects;

pub use error::{ElementError, GenerationError};
pub use make::WantedObject;
pub use present::{Key, Present};

/// Whether a rule wants to generate something; one with expressions does at once.
pub(super) fn run(matched: MatchedRule<'_, '_>) -> RuleRun {
    let MatchedRule { rule, request, .. } = matched;
    if let (Some(shared), Body::Generate(generation)) = (&rule.expressions, &rule.body) {
        let result = match &**generation {
            Generation::Expressions(generators) if applies(rule, request) => {
                expressions::generate::run(matched, shared, generators)
            }
            _ => None,
        };
        return result.into();
    }
    match verdict(matched) {
        None => RuleRun::default(),
        result => RuleRun { effect: RuleEffect::Described, ..result.into() },
    }
}

/// Generates what rules describe, each with the position of its result.
pub(super) fn finish(described: &[(usize, MatchedRule<'_, '_>)], out: &mut Results) {
    let (made, excess) = budget::spend(|| make_all(described));
    let made = match excess {
        None => made,
        Some(excess) => made.and(Err(GenerationError::Excess(excess.text()))),
    };
    match made {
        Ok(made) => {
            for (at, objects) in made.into_iter().filter(|(_, objects)| !objects.is_empty()) {
                if let Some(result) = out.rules.get_mut(at) {
                    result.effect = Some(Box::new(Effect::Generated(objects)));
                }
            }
        }
        Err(error) => out.failure = Some(error.to_string()),
    }
}

/// A failure says that what the rule once generated has to go.
pub(super) fn verdict(matched: MatchedRule<'_, '_>) -> Option<RuleOutcome> {
    let MatchedRule { rule, request, .. } = matched;
    let outcome = |status, text: String| Some(matched.result(status, text));
    let is_now = applies(rule, request);
    let former = (!request.old_object.is_null()).then(|| request.of_former());
    let was = former.as_ref().is_some_and(|former| applies(rule, former));
    if !is_now && (!was || rule.kind != RuleKind::Generation) {
        return None;
    }
    let (matched, mut data) = matched.on(request);
    let exceptions = matched.exceptions(&mut data);
    if !exceptions.is_empty() {
        let keys: Vec<&str> = exceptions.iter().map(|e| &*e.key).collect();
        let text = format!("rule is skipped due to policy exception {}", keys.join(", "));
        return Some(RuleOutcome { message: text.into(), ..excepted(rule, &exceptions) });
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
    let (_, mut data) = matched.on(&former);
    match condition::evaluate(admit, &mut data) {
        Ok(v) if v.holds => outcome(Status::Fail, v.message),
        Ok(_) => outcome(Status::Skip, String::new()),
        Err(e) => outcome(Status::Error, format!("failed to evaluate conditions for old resource: {e}")),
    }
}

/// Builds the objects of all rules; one failure ends the policy.
fn make_all(described: &[(usize, MatchedRule<'_, '_>)]) -> Result<Vec<(usize, Vec<Value>)>, GenerationError> {
    let mut made = Vec::with_capacity(described.len());
    let Some((_, MatchedRule { policy, request, context, .. })) = described.first() else { return Ok(made) };
    let given = PresentObjects { trigger: &request.object, sources: context.sources.clone_sources() };
    let mut store = Store::new(policy, request, &given);
    for (at, matched) in described {
        if let Some(objects) = make(*matched, &mut store)? {
            made.push((*at, objects));
        }
    }
    Ok(made)
}

/// Builds the objects of a rule, unless its preconditions do not hold.
fn make(matched: MatchedRule<'_, '_>, store: &mut Store<'_>) -> Result<Option<Vec<Value>>, GenerationError> {
    let MatchedRule { rule, request, .. } = matched;
    let (_, mut data) = matched.on(request);
    let Body::Generate(generation) = &rule.body else { return Ok(None) };
    let holds = match (&rule.admit, &**generation) {
        // The preconditions of a rule with loops are not read again.
        (None, _) | (_, Generation::ForEach(_)) => true,
        (Some(admit), _) => {
            condition::evaluate(admit, &mut data).map_err(GenerationError::Preconditions)?.holds
        }
    };
    if holds { store.run(generation, rule, &mut data).map(Some) } else { Ok(None) }
}

/// What a rule wants to exist, and why that is not all.
pub(super) fn wanted(matched: MatchedRule<'_, '_>) -> Work {
    let MatchedRule { policy, request, context, .. } = matched;
    let given = PresentObjects { trigger: &request.object, sources: context.sources.clone_sources() };
    let mut store = Store::new(policy, request, context.present.unwrap_or(&given));
    let error = make(matched, &mut store).err();
    Work::Wanted(store.into_wanted(), error)
}
