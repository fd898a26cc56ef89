//! Whether an object has the structure of its kind.
//!
//! In: an object, and the types of its kind. Out: the first field that the kind does not have, or
//! that is missing or of another type. Values are not read: a quantity is a text or a number.
//! Semantics: the validation of an API server's published schemas, as Kyverno 1.19.1's command line
//! applies them to documents (`docs/semantics/policies.md`, "Loading").

use super::decode::bad_base64;
use super::schema::{Leaf, ListKind, Type, TypeDef, Types};
use ephor_value::time::Time;
use ephor_value::{Map, Str, Value};

/// How deep an object may nest before its parts are taken for sound.
const MAX_DEPTH: usize = 64;

/// What is wrong with a part of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A field that its type does not have.
    Unknown,
    /// A required field is missing.
    Missing,
    /// A value of another type.
    Type {
        /// The JSON type of the value.
        found: &'static str,
        /// The type of the field.
        wanted: &'static str,
    },
    /// Two items of a list with the same keys.
    Duplicate,
}

/// A part of an object that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flawed {
    /// Its path, `spec.containers[0].image`.
    pub path: String,
    /// What is wrong.
    pub flaw: Flaw,
}

/// The parts of an object that do not have the structure of its kind; unknown fields come first.
/// Kinds without types have no structure.
pub fn flaws(types: &Types, kind: &[Str; 3], object: &Value) -> Vec<Flawed> {
    let Some(def) = types.of_kind(kind) else { return Vec::new() };
    let mut walk = StructureWalk { types, found: Vec::new() };
    walk.object(def, object.as_map().unwrap_or(&Map::new()), "", 0);
    let (mut out, others): (Vec<Flawed>, Vec<Flawed>) =
        walk.found.into_iter().partition(|flawed| flawed.flaw == Flaw::Unknown);
    out.extend(others);
    out
}

struct StructureWalk<'t> {
    types: &'t Types,
    found: Vec<Flawed>,
}

impl StructureWalk<'_> {
    fn add(&mut self, path: &str, flaw: Flaw) {
        self.found.push(Flawed { path: path.trim_start_matches('.').into(), flaw });
    }

    fn object(&mut self, def: &TypeDef, fields: &Map, path: &str, depth: usize) {
        if depth > MAX_DEPTH || def.leaf.is_some() {
            return;
        }
        for (name, _) in fields.iter().filter(|(name, _)| !def.open && def.field(name).is_none()) {
            self.add(&format!("{path}.{name}"), Flaw::Unknown);
        }
        for field in &def.fields {
            let path = format!("{path}.{}", field.name);
            match fields.get(&field.name).filter(|value| !value.is_null()) {
                Some(value) => self.value(&field.ty, value, &path, depth + 1),
                // What is missing has its default, of which fields may be missing.
                None => match (&field.default, &field.ty) {
                    (Some(Value::Map(default)), Type::Named(name, _)) => {
                        if let Some(def) = self.types.named(name) {
                            self.object(def, default, &path, depth + 1);
                        }
                    }
                    (None, _) if field.required => self.add(&path, Flaw::Missing),
                    _ => {}
                },
            }
        }
    }

    fn value(&mut self, ty: &Type, value: &Value, path: &str, depth: usize) {
        match (ty, value) {
            (Type::Leaf(leaf), _) => self.leaf(*leaf, value, path),
            (Type::Named(name, _), _) => match (self.types.named(name), value) {
                (Some(def), _) if def.leaf.is_some() => self.leaf(def.leaf.unwrap_or(Leaf::Any), value, path),
                (Some(def), Value::Map(fields)) => self.object(def, fields, path, depth),
                (Some(_), other) => self.mismatch(other, "object", path),
                (None, _) => {}
            },
            (Type::List(kind, item), Value::List(items)) => {
                for (at, value) in items.iter().enumerate().filter(|(_, value)| !value.is_null()) {
                    self.value(item, value, &format!("{path}[{at}]"), depth + 1);
                }
                if let ListKind::Keyed(keys) = kind {
                    self.distinct(item, keys, items, path);
                }
            }
            (Type::List(..), other) => self.mismatch(other, "array", path),
            (Type::Map(item, _), Value::Map(fields)) => {
                for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                    self.value(item, value, &format!("{path}.{name}"), depth + 1);
                }
            }
            (Type::Map(..), other) => self.mismatch(other, "object", path),
        }
    }

    /// Items with the same keys, of which missing ones have their defaults.
    fn distinct(&mut self, item: &Type, keys: &[Str], items: &[Value], path: &str) {
        let Type::Named(name, _) = item else { return };
        let Some(def) = self.types.named(name).cloned() else { return };
        let default = |key: &Str| def.field(key).and_then(|field| field.default.clone());
        let of = |value: &Value| -> Vec<Value> {
            keys.iter()
                .map(|key| value.get(key).cloned().or_else(|| default(key)).unwrap_or_default())
                .collect()
        };
        let all: Vec<Vec<Value>> = items.iter().map(of).collect();
        for at in 1..all.len() {
            if all.get(..at).unwrap_or_default().contains(&all[at]) {
                self.add(&format!("{path}[{at}]"), Flaw::Duplicate);
            }
        }
    }

    fn leaf(&mut self, leaf: Leaf, value: &Value, path: &str) {
        let is_number = matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_));
        let is_whole = match value {
            Value::Float(number) => number.fract() == 0.0,
            _ => is_number,
        };
        let is_text = matches!(value, Value::Str(_));
        let (is_right, wanted) = match leaf {
            Leaf::Bytes => (value.as_str().is_some_and(|text| bad_base64(text).is_none()), "base64 string"),
            Leaf::Time => (value.as_str().is_some_and(|text| Time::parse_rfc3339(text).is_ok()), "time"),
            Leaf::String | Leaf::MicroTime => (is_text, "string"),
            Leaf::Int32 | Leaf::Int64 => (is_whole, "integer"),
            Leaf::Double => (is_number, "number"),
            Leaf::Bool => (matches!(value, Value::Bool(_)), "boolean"),
            Leaf::IntOrString => (!matches!(value, Value::List(_) | Value::Map(_)), "integer or string"),
            Leaf::Quantity => (is_text || is_number, "number or string"),
            Leaf::Any => (true, ""),
        };
        if !is_right {
            self.mismatch(value, wanted, path);
        }
    }

    fn mismatch(&mut self, value: &Value, wanted: &'static str, path: &str) {
        let found = match value {
            Value::Bool(_) => "boolean",
            Value::Int(_) | Value::UInt(_) => "integer",
            other => other.json_type(),
        };
        self.add(path, Flaw::Type { found, wanted });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(text: &str) -> Vec<(String, Flaw)> {
        let object = ephor_document::yaml_value(text).unwrap();
        let version = object.text_at(&["apiVersion"]).to_string();
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let kind = [group, version, object.text_at(&["kind"])].map(Str::from);
        flaws(Types::built_in(), &kind, &object).into_iter().map(|f| (f.path, f.flaw)).collect()
    }

    fn pod(spec: &str) -> Vec<(String, Flaw)> {
        of(&format!(r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "a"}}, "spec": {spec}}}"#))
    }

    #[test]
    fn fields_that_a_kind_does_not_have_come_first() {
        let found = pod(r#"{"hostNetwork": "x", "bad": 1, "containers": [{"name": "a", "image": "b"}]}"#);
        assert_eq!(found[0], ("spec.bad".into(), Flaw::Unknown));
        assert_eq!(found[1], ("spec.hostNetwork".into(), Flaw::Type { found: "string", wanted: "boolean" }));
    }

    #[test]
    fn a_required_field_is_missing_also_below_one_that_has_a_default() {
        assert_eq!(pod(r#"{"containers": null}"#), [("spec.containers".into(), Flaw::Missing)]);
        let deployment = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"selector": {}, "template": {}}}"#;
        assert_eq!(of(deployment), [("spec.template.spec.containers".into(), Flaw::Missing)]);
        // An empty list is there, and a name has a default.
        assert_eq!(pod(r#"{"containers": []}"#), []);
        assert_eq!(pod(r#"{"containers": [{"image": "a"}]}"#), []);
    }

    #[test]
    fn types_of_values_are_those_of_the_kind() {
        let port = |port: &str| {
            of(&format!(
                r#"{{"apiVersion": "v1", "kind": "Service", "metadata": {{"name": "a"}}, "spec": {{"ports": [{port}]}}}}"#
            ))
        };
        assert_eq!(port(r#"{"port": 80, "targetPort": "x"}"#), []);
        let wrong = Flaw::Type { found: "string", wanted: "integer" };
        assert_eq!(port(r#"{"port": "80"}"#), [("spec.ports[0].port".into(), wrong)]);
        assert_eq!(port(r#"{"port": 80}, {"port": 80}"#), [("spec.ports[1]".into(), Flaw::Duplicate)]);
    }
}
