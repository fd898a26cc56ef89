//! How a mutation changes an object, and the result of a rule that did.

use ephor_ir::Rule;
use ephor_ir::mutate::{Change, Mutation};
use ephor_value::{Str, Value};

use super::error::PatchError;
use super::{foreach, patch};
use crate::data::Data;
use crate::outcome::{Effect, RuleOutcome, Status};

/// Whether an object was changed; the message if not.
pub(super) enum Changed {
    Yes(Value),
    No(&'static str),
}

/// Changes an object.
pub(super) fn change(
    mutation: &Mutation,
    object: &Value,
    data: &mut Data<'_>,
) -> Result<Changed, PatchError> {
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

pub(super) fn outcome(
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
