//! Mutate rules: patches on the object of the request, or on other objects.
//!
//! In: a rule that matches a request. Out: its results, and the object that it leaves to the next
//! rule. A failure loses the object: what follows has nothing to match. Texts and order are those
//! of `docs/semantics/mutate.md`.

mod anchors;
mod change;
mod error;
mod existing;
mod foreach;
mod patch;

use ephor_ir::rule::Body;

pub use error::{AnchorError, PatchError};

use super::expressions;
use super::matched::{MatchedRule, reported};
use super::outcome::Effect;
use super::results::{RuleEffect, RuleRun};
use change::{Changed, change, outcome};

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
