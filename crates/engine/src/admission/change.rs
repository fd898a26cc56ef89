//! Applying message literals to objects.
//!
//! In: an object and the value of a change's expression. Out: the changed object.

use ephor_document::spelling::{read, spelled};
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::TypeDef;
use ephor_patch::apply::apply_exactly;
use ephor_patch::operation::{Action, Operation};
use ephor_patch::structured::{self, Atomic};
use ephor_value::{Object, Str, Value};

use super::LiteralError;
use super::crossing::{json, part_of};
use super::literal::{LiteralData, check_names};

/// Merges an `Object` literal, which may have parts of `data`, into an object by the schema of its
/// kind.
///
/// # Errors
/// The literal does not fit the schema.
pub fn merge_literal(
    object: &Value,
    value: &Value,
    data: &LiteralData,
    def: &TypeDef,
    types: &Types,
    atomics: Atomic,
) -> Result<Value, LiteralError> {
    let mut change = part_of(value, data)?;
    if let structured::Part::Fields(fields) = &mut change {
        fields.retain(|(k, _)| !matches!(&**k, "apiVersion" | "kind"));
    }
    structured::merge_with(object, &change, def, types, atomics).map_err(|e| LiteralError::Merge(e.into()))
}

/// Applies a list of `JSONPatch` literals; `None` when a test among them fails.
///
/// # Errors
/// An operation that cannot be applied.
pub fn apply_literals(object: &Value, value: &Value) -> Result<Option<Value>, LiteralError> {
    // The object is written as JSON and read again, also around what the operations name.
    let mut now = spelled(object);
    // All values are converted before the first operation.
    let operations =
        value.as_list().unwrap_or_default().iter().filter_map(|item| operation(item).transpose());
    for operation in operations.collect::<Result<Vec<_>, LiteralError>>()? {
        let operation = operation.map_err(LiteralError::UnknownOperation)?;
        match apply_exactly(&now, &operation).map_err(|e| LiteralError::Operation(e.into()))? {
            Some(changed) => now = changed,
            None => return Ok(None),
        }
    }
    read(&now).map(Some).map_err(|number| LiteralError::Number(number.0))
}

/// An operation of a `JSONPatch` literal, or its name where there is no such operation; `None` for
/// what is none.
///
/// # Errors
/// Its value has no form in JSON.
fn operation(item: &Value) -> Result<Option<Result<Operation, Str>>, LiteralError> {
    let Value::Object(o) = item else { return Ok(None) };
    let Object::Struct(_, fields) = &**o else { return Ok(None) };
    let text = |key: &str| Str::from(fields.get(key).and_then(Value::as_str).unwrap_or_default());
    let value = |v: &Value| {
        check_names(v)?;
        json(v).map(|v| spelled(&v)).map_err(LiteralError::Json)
    };
    let value = fields.get("value").map(value).transpose()?;
    let action = match &*text("op") {
        "add" => Action::Add(value.unwrap_or_default()),
        "replace" => Action::Replace(value.unwrap_or_default()),
        "test" => Action::Test(value),
        "remove" => Action::Remove,
        "move" => Action::Move(text("from")),
        "copy" => Action::Copy(text("from")),
        other => return Ok(Some(Err(other.into()))),
    };
    Ok(Some(Ok(Operation { path: text("path"), action })))
}
