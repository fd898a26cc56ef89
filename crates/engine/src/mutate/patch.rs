//! Running one patch on one object.
//!
//! In: a patch, the data of a rule, an object. Out: the changed object with numbers as an API
//! server stores them, or nothing where the patch changes nothing, or the text of a failure.

use std::sync::Arc;

use ephor_document::spelling;
use ephor_ir::mutate::{Json, Layer, Merge, Patch};
use ephor_patch::{JsonPatch, apply, merge, operation};
use ephor_value::print::json;
use ephor_value::{List, Value};

use super::super::data::Data;
use super::{PatchError, anchors};

/// A patch without variables.
pub enum Filled {
    /// To be laid over the object.
    Layer(Arc<Layer>),
    /// Operations to be run.
    Operations(Arc<JsonPatch>),
}

/// Fills in a patch.
///
/// # Errors
/// A variable has no value; there is no patch; it does not decode.
pub fn fill(patch: &Patch, data: &mut Data<'_>) -> Result<Filled, PatchError> {
    match patch {
        Patch::Empty => Err(PatchError::Empty),
        Patch::Merge(Merge::Ready(layer)) => Ok(Filled::Layer(layer.clone())),
        Patch::Merge(Merge::Dynamic(template)) => match data.fill(template).map_err(PatchError::Fill)? {
            Value::Null => Err(PatchError::Empty),
            v => match data.world.late.layer(&v) {
                Some(layer) => Ok(Filled::Layer(Arc::new(layer))),
                None => Err(PatchError::TooDeep),
            },
        },
        Patch::Json(Json::Ready(Ok(patch))) => Ok(Filled::Operations(patch.clone())),
        Patch::Json(Json::Ready(Err(text))) => Err(PatchError::Broken(text.clone())),
        Patch::Json(Json::Dynamic(template)) => match data.fill(template).map_err(PatchError::Fill)? {
            Value::Str(text) if !text.is_empty() => operation::decode(&text)
                .map(|p| Filled::Operations(Arc::new(p)))
                .map_err(|e| PatchError::Patch(e.into())),
            _ => Err(PatchError::Empty),
        },
    }
}

/// Changes an object; `None` when it stays as it is.
///
/// # Errors
/// The patch does not fit, or what it leaves is no object of a kind.
pub fn run(patch: &Filled, object: &Value) -> Result<Option<Value>, PatchError> {
    let before = match object {
        // An object that an earlier failure lost is written as null.
        Value::Map(m) if m.is_empty() => Value::Null,
        other => other.with_whole_numbers(),
    };
    let after = match patch {
        Filled::Layer(layer) => {
            let decided;
            let document = match &**layer {
                Layer::Plain(document) => document,
                Layer::Anchored(node) => {
                    decided = anchors::decide(node, &before).map_err(PatchError::Anchors)?;
                    &decided
                }
            };
            // Also an empty document is merged: lists of the object may lose items by it.
            let after = merge::merge(&before, document).map_err(|e| PatchError::Patch(e.into()))?;
            if after.strict_eq(&before) {
                return Ok(None);
            }
            after
        }
        Filled::Operations(patch) if patch.written.is_some() => {
            let operations = patch.written.as_deref().unwrap_or_default();
            // Numbers are compared, and preserved, as they are written.
            let before = spelling::spelled(&before);
            let after = apply::apply(&before, operations).map_err(|e| PatchError::Patch(e.into()))?;
            if after.strict_eq(&before) {
                return Ok(None);
            }
            spelling::read(&after).map_err(|number| PatchError::Number(number.0))?
        }
        Filled::Operations(patch) => {
            let after = apply::apply(&before, &patch.operations).map_err(|e| PatchError::Patch(e.into()))?;
            if after.strict_eq(&before) && !written_otherwise(patch, &before)? {
                return Ok(None);
            }
            after
        }
    };
    match after.get("kind").and_then(Value::as_str) {
        Some(kind) if !kind.is_empty() => Ok(Some(after)),
        _ => Err(PatchError::NoKind(json(&after).into())),
    }
}

/// Whether a patch that leaves the values as they are changes how the object is written: objects
/// are compared as texts with ascending keys and escaped characters.
fn written_otherwise(patch: &JsonPatch, before: &Value) -> Result<bool, PatchError> {
    if patch.spelled {
        return Ok(true);
    }
    let sorted = in_order(before);
    let after = apply::apply(&sorted, &patch.operations).map_err(|e| PatchError::Patch(e.into()))?;
    Ok(!same_order(&sorted, &after))
}

fn in_order(v: &Value) -> Value {
    match v {
        Value::Map(m) => Value::Map(m.sorted().into_iter().map(|(k, v)| (k.clone(), in_order(v))).collect()),
        Value::List(l) => Value::List(l.iter().map(in_order).collect::<List>()),
        other => other.clone(),
    }
}

fn same_order(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((k, v), (l, w))| k == l && same_order(v, w))
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(v, w)| same_order(v, w))
        }
        (a, b) => a.strict_eq(b),
    }
}
