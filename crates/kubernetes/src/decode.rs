//! Whether an object fits its kind, as the API server's decoder checks it.
//!
//! In: an object and its description. Out: the first value of a wrong type, and the fields that the kind
//! does not have, in the decoder's words.

use super::schema::{Leaf, Type, TypeDef, Types};
use crate::value::{Str, Value};

/// Objects that nest deeper are not looked at.
const MAX_DEPTH: usize = 512;

/// What is wrong with an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// The first value of a wrong type.
    pub wrong: Option<String>,
    /// Paths of unknown fields.
    pub unknown: Vec<String>,
}

/// Compares an object with its description, in the order in which it is written.
pub fn problems(object: &Value, def: &TypeDef, types: &Types) -> Problems {
    let mut walk = Walk { types, found: Problems::default() };
    let at =
        At { holder: def.short_name(), package: package(&def.name), go: String::new(), path: String::new() };
    walk.fields(object, def, &at, 0);
    walk.found
}

/// Where a value stands.
struct At<'d> {
    /// The innermost type with fields.
    holder: &'d str,
    /// Its package's last part.
    package: &'d str,
    /// The path as the decoder prints it in texts on types.
    go: String,
    /// The way there with positions.
    path: String,
}

struct Walk<'t> {
    types: &'t Types,
    found: Problems,
}

fn package(name: &str) -> &str {
    let before = name.rsplit_once('.').map_or("", |(package, _)| package);
    before.rsplit_once('/').map_or(before, |(_, last)| last)
}

/// Go types inside of others whose fields appear among those of the outer one.
fn embedded(holder: &str, field: &str) -> Option<&'static str> {
    match (holder, field) {
        ("NamedRuleWithOperations", "operations" | "apiGroups" | "apiVersions" | "resources" | "scope") => {
            Some("RuleWithOperations")
        }
        ("RuleWithOperations", "apiGroups" | "apiVersions" | "resources" | "scope") => Some("Rule"),
        _ => None,
    }
}

/// Names that Go gives to texts.
fn named_text(field: &str) -> Option<&'static str> {
    Some(match field {
        "failurePolicy" => "FailurePolicyType",
        "matchPolicy" => "MatchPolicyType",
        "operations" => "OperationType",
        "scope" => "ScopeType",
        "reason" => "StatusReason",
        "validationActions" => "ValidationAction",
        "patchType" => "PatchType",
        "reinvocationPolicy" => "ReinvocationPolicyType",
        "parameterNotFoundAction" => "ParameterNotFoundActionType",
        "operator" => "LabelSelectorOperator",
        _ => return None,
    })
}

impl Walk<'_> {
    fn fields(&mut self, v: &Value, def: &TypeDef, at: &At<'_>, depth: usize) {
        let Value::Map(m) = v else { return };
        if depth > MAX_DEPTH {
            return;
        }
        for (key, inner) in m.iter() {
            let path = join(&at.path, key);
            let Some(field) = def.field(key) else {
                if !def.open {
                    self.found.unknown.push(path);
                }
                continue;
            };
            let mut go = at.go.clone();
            let mut holder = def.short_name();
            while let Some(outer) = embedded(holder, key) {
                go = join(&go, outer);
                holder = outer;
            }
            let at = At { holder: def.short_name(), package: package(&def.name), go: join(&go, key), path };
            self.value(inner, &field.ty, key, &at, depth + 1);
        }
    }

    fn value(&mut self, v: &Value, ty: &Type, field: &str, at: &At<'_>, depth: usize) {
        if v.is_null() || depth > MAX_DEPTH {
            return;
        }
        match ty {
            Type::Leaf(leaf) => self.leaf(v, *leaf, field, at),
            Type::Named(name, _) => {
                let Some(def) = self.types.named(name).cloned() else { return };
                match (def.leaf, v) {
                    (Some(leaf), _) => self.leaf(v, leaf, field, at),
                    (None, Value::Map(_)) => self.fields(v, &def, at, depth),
                    (None, _) => self.refuse(v, &self.go_type(ty, field, at), at),
                }
            }
            Type::List(_, item) => match v {
                Value::List(items) => {
                    for (i, inner) in items.iter().enumerate() {
                        let at = At { path: format!("{}[{i}]", at.path), go: at.go.clone(), ..*at };
                        self.value(inner, item, field, &at, depth + 1);
                    }
                }
                _ => self.refuse(v, &self.go_type(ty, field, at), at),
            },
            Type::Map(value, _) => match v {
                Value::Map(m) => {
                    for (key, inner) in m.iter() {
                        let at = At { path: join(&at.path, key), go: at.go.clone(), ..*at };
                        self.value(inner, value, field, &at, depth + 1);
                    }
                }
                _ => self.refuse(v, &self.go_type(ty, field, at), at),
            },
        }
    }

    fn leaf(&mut self, v: &Value, leaf: Leaf, field: &str, at: &At<'_>) {
        let fits = match leaf {
            Leaf::Any => true,
            Leaf::String | Leaf::Bytes | Leaf::Time | Leaf::MicroTime => v.as_str().is_some(),
            Leaf::Quantity => v.as_str().is_some() || v.as_number().is_some(),
            Leaf::IntOrString => v.as_str().is_some() || v.as_number().is_some(),
            Leaf::Bool => v.as_bool().is_some(),
            Leaf::Int32 => matches!(v, Value::Int(i) if i32::try_from(*i).is_ok()),
            Leaf::Int64 => matches!(v, Value::Int(_)),
            Leaf::Double => v.as_number().is_some(),
        };
        if !fits {
            self.refuse(v, &self.go_type(&Type::Leaf(leaf), field, at), at);
            return;
        }
        if leaf == Leaf::Bytes
            && self.found.wrong.is_none()
            && let Some(position) = v.as_str().and_then(bad_base64)
        {
            self.found.wrong = Some(format!("illegal base64 data at input byte {position}"));
        }
    }

    fn go_type(&self, ty: &Type, field: &str, at: &At<'_>) -> String {
        match ty {
            Type::Leaf(leaf) => match leaf {
                Leaf::String => match named_text(field) {
                    Some(name) if at.package == "v1" => format!("v1.{name}"),
                    _ => "string".into(),
                },
                Leaf::Bytes => "[]uint8".into(),
                Leaf::Time | Leaf::MicroTime => "string".into(),
                Leaf::Int32 | Leaf::IntOrString => "int32".into(),
                Leaf::Int64 => "int64".into(),
                Leaf::Double => "float64".into(),
                Leaf::Bool => "bool".into(),
                Leaf::Quantity | Leaf::Any => "interface {}".into(),
            },
            Type::Named(name, _) => {
                let short = name.rsplit_once('.').map_or(&**name, |(_, n)| n);
                format!("{}.{short}", package(name))
            }
            Type::List(_, item) => format!("[]{}", self.go_type(item, field, at)),
            Type::Map(value, _) => format!("map[string]{}", self.go_type(value, field, at)),
        }
    }

    fn refuse(&mut self, v: &Value, wanted: &str, at: &At<'_>) {
        if self.found.wrong.is_some() {
            return;
        }
        let kind = match v {
            Value::Int(i) => format!("number {i}"),
            Value::Float(f) => format!("number {}", crate::value::number::float_json(*f)),
            other => other.json_type().to_string(),
        };
        // A number that is one of the wrong size is shown, one in the place of something else is not.
        let kind = if wanted.starts_with("int") { kind } else { v.json_type().to_string() };
        self.found.wrong = Some(format!(
            "json: cannot unmarshal {kind} into Go struct field {}.{} of type {wanted}",
            at.holder, at.go
        ));
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

/// The position of the first byte that is not base64.
fn bad_base64(text: &str) -> Option<usize> {
    use base64::Engine;
    match base64::engine::general_purpose::STANDARD.decode(text) {
        Ok(_) => None,
        Err(base64::DecodeError::InvalidByte(at, _)) => Some(at),
        Err(_) => Some(text.len() - text.len() % 4),
    }
}

/// The text on unknown fields.
pub fn unknown_text(paths: &[String]) -> String {
    let all: Vec<Str> = paths.iter().map(|p| format!("unknown field \"{p}\"").into()).collect();
    all.join(", ")
}
