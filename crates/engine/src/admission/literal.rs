//! Message literals of mutations: `Object{…}` and `JSONPatch{…}`.
//!
//! In: values of expressions. Out: whether the type's name of each literal is the path at which it
//! stands, and which maps and lists are data. What becomes of the values: [`super::crossing`].

use std::collections::HashSet;

use ephor_value::{Map, Object, Str, Value};

use super::crossing::BOUND;
use super::error::{LiteralError, WrongName};

/// Name and fields of a literal.
pub(crate) fn literal(v: &Value) -> Option<(&Str, &Map)> {
    match v {
        Value::Object(o) => match &**o {
            Object::Struct(name, fields) => Some((name, fields)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the names of all literals are the paths at which they stand.
///
/// # Errors
/// [`LiteralError::Names`], those that are not.
pub fn check_names(v: &Value) -> Result<(), LiteralError> {
    let Some((name, _)) = literal(v) else { return Ok(()) };
    let mut wrong = Vec::new();
    names(v, name, &mut wrong);
    if wrong.is_empty() { Ok(()) } else { Err(LiteralError::Names(wrong)) }
}

fn names(v: &Value, path: &str, wrong: &mut Vec<WrongName>) {
    if let Some((name, fields)) = literal(v) {
        // A map has no name, and an operation any.
        if **name == *BOUND || **name == *"JSONPatch" {
            return;
        }
        if **name != *path {
            wrong.push(WrongName { found: name.clone(), path: path.into() });
        }
        fields.iter().for_each(|(k, v)| names(v, &format!("{path}.{k}"), wrong));
        return;
    }
    match v {
        Value::List(items) => items.iter().for_each(|v| names(v, path, wrong)),
        Value::Map(m) => m.values().for_each(|v| names(v, path, wrong)),
        Value::Object(o) => {
            if let Object::Optional(Some(inner)) = &**o {
                names(inner, path, wrong);
            }
        }
        _ => {}
    }
}

/// Maps and lists that are data: they are converted with all that is in them, other than those that
/// expressions write.
#[derive(Debug, Default)]
pub struct LiteralData(HashSet<usize>);

impl LiteralData {
    /// All that is in the objects that expressions see.
    pub fn of(root: &Value) -> LiteralData {
        let mut found = HashSet::new();
        let names = ["object", "oldObject", "params", "namespaceObject"];
        let mut open: Vec<&Value> = names.iter().filter_map(|name| root.get(name)).collect();
        while let Some(value) = open.pop() {
            match value {
                Value::Map(map) if found.insert(map.address()) => open.extend(map.values()),
                Value::List(items) if found.insert(items.address()) => open.extend(items.iter()),
                _ => {}
            }
        }
        LiteralData(found)
    }

    pub(crate) fn has(&self, value: &Value) -> bool {
        match value {
            Value::Map(map) => self.0.contains(&map.address()),
            Value::List(items) => self.0.contains(&items.address()),
            _ => false,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    pub(crate) fn literal_of(name: &str, fields: &[(&str, Value)]) -> Value {
        let fields = fields.iter().map(|(k, v)| (Str::from(*k), v.clone())).collect();
        Value::object(Object::Struct(name.into(), fields))
    }

    #[test]
    fn names_of_literals_are_the_paths_from_the_root_of_the_literal() {
        let inner = literal_of("Object.spec.wrong", &[]);
        let right = literal_of("Object.spec", &[("template", literal_of("Object.spec.template", &[]))]);
        assert!(check_names(&literal_of("Object", &[("spec", right)])).is_ok());
        let wrong = check_names(&literal_of("Object.spec", &[("template", inner)])).unwrap_err();
        let held = Value::optional(Some(Value::map([("a", literal_of("Object.a", &[]))])));
        assert!(check_names(&literal_of("Object", &[("spec", held)])).is_err());
        let operation = Value::list(vec![literal_of("JSONPatch", &[])]);
        assert!(check_names(&literal_of("Object", &[("spec", operation)])).is_ok());
        assert!(wrong.to_string().starts_with(
            "type mismatch: unexpected type name \"Object.spec.wrong\", expected \"Object.spec.template\""
        ));
    }
}
