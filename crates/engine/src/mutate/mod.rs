//! Mutate rules: patches on the object of the request, or on other objects.
//!
//! In: a rule that matches a request. Out: its results, and the object that it leaves to the next
//! rule. A failure loses the object: what follows has nothing to match. Texts and order are those
//! of `docs/semantics/mutate.md`.

mod anchors;
mod error;
mod existing;
mod foreach;
mod patch;

use ephor_ir::Rule;
use ephor_ir::mutate::{Change, Mutation};
use ephor_ir::rule::Body;
use ephor_value::{Str, Value};

pub use error::{AnchorError, PatchError};

use super::data::Data;
use super::expressions;
use super::outcome::{Effect, RuleOutcome, Status};
use super::run::{MatchedRule, RuleEffect, RuleRun, reported};

/// Changes the object of the request, or others.
pub(super) fn run(met: MatchedRule<'_, '_>) -> RuleRun {
    let MatchedRule { rule, request, around, .. } = met;
    if let Some(bound) = &rule.bound {
        let creates = around.profile.admission_policies_see_creations;
        let (result, object) = super::admission::offline::change(bound, rule, request, creates);
        return RuleRun { left: object.map_or(RuleEffect::Same, RuleEffect::Changed), ..result.into() };
    }
    let Body::Mutate(mutation) = &rule.body else { return RuleRun::default() };
    if let Some(expressions) = &rule.expressions {
        let (result, object) = expressions::patch::run(met, expressions, mutation);
        return RuleRun { left: object.map_or(RuleEffect::Same, RuleEffect::Changed), ..Some(result).into() };
    }
    let mut data = met.data(met.root());
    let properties = match met.enter_unexcepted(&mut data) {
        Ok(properties) => properties,
        Err(result) => return Some(*result).into(),
    };
    if let Some(targets) = &mutation.targets {
        let results = existing::run(mutation, targets, rule, &mut data);
        return results.into_iter().map(|r| reported(r, properties.clone())).into();
    }
    let changed = change(mutation, &request.object, &mut data);
    let left = match &changed {
        Ok(Changed::Yes(object)) => RuleEffect::Changed(object.clone()),
        Ok(Changed::No(_)) => RuleEffect::Same,
        Err(_) => RuleEffect::Lost,
    };
    let result = outcome(rule, changed, Effect::Patched);
    RuleRun { left, ..Some(reported(result, properties)).into() }
}

/// Whether an object was changed; the message if not.
enum Changed {
    Yes(Value),
    No(&'static str),
}

/// Changes an object.
fn change(mutation: &Mutation, object: &Value, data: &mut Data<'_>) -> Result<Changed, PatchError> {
    match &mutation.change {
        Change::Patch(patch, _) => {
            // Kyverno fills in the parts of a rule in no particular order.
            for template in &mutation.other_templates {
                data.fill(template).map_err(PatchError::Fill)?;
            }
            let filled = patch::fill(patch, data)?;
            let changed = patch::run(&filled, object)?;
            Ok(changed.map_or(Changed::No("no patches applied"), Changed::Yes))
        }
        Change::ForEach(loops) => {
            let changed = foreach::run(loops, object, 0, data)?;
            Ok(changed.map_or(Changed::No("0 elements processed"), Changed::Yes))
        }
        // Rules with expressions have a body of their own.
        Change::Expressions { .. } => Ok(Changed::No("no patches applied")),
    }
}

fn outcome(
    rule: &Rule,
    changed: Result<Changed, PatchError>,
    effect: impl FnOnce(Value) -> Effect,
) -> RuleOutcome {
    match changed {
        Ok(Changed::Yes(object)) => {
            let mut result = RuleOutcome::new(&rule.name, rule.kind, Status::Pass, message(&object));
            result.effect = Some(Box::new(effect(object)));
            result
        }
        Ok(Changed::No(why)) => RuleOutcome::new(&rule.name, rule.kind, Status::Skip, why),
        Err(error) => RuleOutcome::new(&rule.name, rule.kind, Status::Error, error.to_string()),
    }
}

/// The message about a mutated object.
fn message(object: &Value) -> Str {
    let (kind, name) = (object.text_at(&["kind"]), object.text_at(&["metadata", "name"]));
    match object.text_at(&["metadata", "namespace"]) {
        "" => format!("mutated {kind}/{name}").into(),
        ns => format!("mutated {kind}/{name} in namespace {ns}").into(),
    }
}
