//! `foreach` of patches.
//!
//! In: loops, an object, the data of a rule. Out: the object after all of them, or nothing where
//! they change nothing, or the text of the first failure, after which nothing is changed. Patches
//! add up, but variables see the object as it was before the loop; the next loop sees what this one
//! left.

use crate::condition;
use crate::data::Data;
use crate::validate::{bind_element, elements as list_of};
use ephor_ir::mutate::{Change, PatchLoop};
use ephor_value::{Value, budget};

use super::{PatchError, patch};

/// Runs loops on an object.
///
/// # Errors
/// A list, a precondition or a patch failed.
pub fn run(
    loops: &[PatchLoop],
    object: &Value,
    depth: usize,
    data: &mut Data<'_>,
) -> Result<Option<Value>, PatchError> {
    let mut changed: Option<Value> = None;
    for l in loops {
        let failed = |cause| PatchError::List { list: l.list.text.clone(), cause };
        let list = data.query(&l.list).map_err(failed)?;
        let before = changed.as_ref().unwrap_or(object);
        let after = elements(l, &list, before, depth, data);
        let after = after.map_err(|error| PatchError::Elements(Box::new(error)))?;
        if let Some(after) = after {
            data.replace_object(after.clone());
            changed = Some(after);
        }
    }
    Ok(changed)
}

/// Runs a loop; whatever it changes, the data is left as it was.
fn elements(
    l: &PatchLoop,
    list: &Value,
    object: &Value,
    depth: usize,
    data: &mut Data<'_>,
) -> Result<Option<Value>, PatchError> {
    let items = list_of(list);
    let before = data.snapshot();
    let mut current: Option<Value> = None;
    let mut result = Ok(());
    let order: Vec<usize> =
        if l.descending { (0..items.len()).rev().collect() } else { (0..items.len()).collect() };
    for index in order {
        let Some(item) = items.get(index).filter(|v| !v.is_null()) else { continue };
        data.reset(&before);
        // An element may cost as much as the whole object.
        if let Err(fault) = budget::look() {
            result = Err(PatchError::Budget(fault));
            break;
        }
        match element(l, index, item, current.as_ref().unwrap_or(object), depth, data) {
            Ok(Some(after)) => current = Some(after),
            Ok(None) => {}
            Err(e) => {
                result = Err(e);
                break;
            }
        }
    }
    data.reset(&before);
    result?;
    Ok(current.filter(|after| !after.strict_eq(object)))
}

fn element(
    l: &PatchLoop,
    index: usize,
    item: &Value,
    object: &Value,
    depth: usize,
    data: &mut Data<'_>,
) -> Result<Option<Value>, PatchError> {
    bind_element(depth, index, item, data);
    data.register(&l.bindings);
    if let Some(admit) = &l.admit {
        let failed = |cause| PatchError::Preconditions { index, cause };
        let verdict = condition::evaluate(admit, data).map_err(failed)?;
        if !verdict.holds {
            return Ok(None);
        }
    }
    match &l.change {
        Change::Patch(p, _) => patch::run(&patch::fill(p, data)?, object),
        Change::ForEach(loops) => run(loops, object, depth + 1, data),
        // Loops have none.
        Change::Expressions { .. } => Ok(None),
    }
}
