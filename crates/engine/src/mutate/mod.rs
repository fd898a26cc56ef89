//! Mutate rules: patches on the object of the request, or on other objects.
//!
//! In: a rule that matches a request. Out: its results, and the object that it leaves to the next
//! rule. A failure loses the object: what follows has nothing to match. Texts and order are those
//! of `docs/semantics/mutate.md`.
//!
//! - `anchors`: deciding the anchors of a layer for one object
//! - `change`: how a mutation changes an object, and the result of a rule that did
//! - `error`: why an object cannot be mutated
//! - `existing`: rules that change other objects than that of the request
//! - `foreach`: `foreach` of patches
//! - `patch`: running one patch on one object

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
pub(super) fn run(matched: MatchedRule<'_, '_>) -> RuleRun {
    let MatchedRule { rule, request, .. } = matched;
    if let Some(bound) = &rule.bound {
        return super::admission::offline::change(bound, matched);
    }
    let Body::Mutate(mutation) = &rule.body else { return RuleRun::default() };
    if let Some(expressions) = &rule.expressions {
        let (result, object) = expressions::patch::run(matched, expressions, mutation);
        return RuleRun {
            effect: object.map_or(RuleEffect::Same, RuleEffect::Changed),
            ..Some(result).into()
        };
    }
    let mut data = matched.data(matched.root());
    let properties = match matched.enter_unexcepted(&mut data) {
        Ok(properties) => properties,
        Err(result) => return Some(*result).into(),
    };
    if let Some(targets) = &mutation.targets {
        let results = existing::run(mutation, targets, rule, &mut data);
        return results.into_iter().map(|r| reported(r, properties.clone())).into();
    }
    let changed = change(mutation, &request.object, &mut data);
    let effect = match &changed {
        Ok(Changed::Yes(object)) => RuleEffect::Changed(object.clone()),
        Ok(Changed::No(_)) => RuleEffect::Same,
        Err(_) => RuleEffect::Lost,
    };
    let result = outcome(rule, changed, Effect::Patched);
    RuleRun { effect, ..Some(reported(result, properties)).into() }
}
