//! Message literals of mutations: `Object{…}` and `JSONPatch{…}`.
//!
//! In: values of expressions. Out: what they change. The type's name of a literal must be the path
//! at which it stands; what the API server cannot convert stays in the form in which it prints it.

use std::collections::HashSet;

use ephor_patch::structured::Part;
use ephor_value::print::display;
use ephor_value::{Map, Object, Str, Value};

use super::error::{JsonError, LiteralError, NoJson, WrongName};

/// Integers beyond this have no place in a double, and become text.
const SAFE: i64 = (1 << 53) - 1;

fn literal(v: &Value) -> Option<(&Str, &Map)> {
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
        if **name != *path {
            wrong.push(WrongName { found: name.clone(), path: path.into() });
        }
        fields.iter().for_each(|(k, v)| names(v, &format!("{path}.{k}"), wrong));
        return;
    }
    match v {
        Value::List(items) => items.iter().for_each(|v| names(v, path, wrong)),
        Value::Map(m) => m.values().for_each(|v| names(v, path, wrong)),
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

    fn has(&self, value: &Value) -> bool {
        match value {
            Value::Map(map) => self.0.contains(&map.address()),
            Value::List(items) => self.0.contains(&items.address()),
            _ => false,
        }
    }
}

/// An `Object` literal as a change.
pub fn part(v: &Value, data: &LiteralData) -> Part {
    if let Some((_, fields)) = literal(v) {
        return Part::Fields(fields.iter().map(|(k, v)| (k.clone(), part(v, data))).collect());
    }
    match v {
        _ if data.has(v) => Part::whole(v),
        Value::List(items) => Part::Items(items.iter().map(|v| item(v, data)).collect()),
        Value::Map(m) => Part::Fields(m.iter().map(|(k, v)| (k.clone(), plain(v, data))).collect()),
        other => plain(other, data),
    }
}

/// An item of a list: a literal, data or a value without parts.
fn item(v: &Value, data: &LiteralData) -> Part {
    if literal(v).is_some() { part(v, data) } else { plain(v, data) }
}

/// A value below a plain map: only data and those without parts are converted.
fn plain(v: &Value, data: &LiteralData) -> Part {
    match v {
        _ if data.has(v) => Part::whole(v),
        Value::Null => Part::Opaque("NULL_VALUE".into()),
        Value::List(_) | Value::Map(_) => Part::Opaque(display(&without_type_names(v))),
        Value::Object(_) => match literal(v) {
            Some(_) => part(v, data),
            None => Part::Opaque(v.cel_type().to_string()),
        },
        Value::UInt(u) => Part::Scalar(i64::try_from(*u).map_or(Value::UInt(*u), Value::Int)),
        Value::Float(f) if !f.is_finite() => Part::Scalar(v.clone()),
        _ => json(v).map_or_else(|_| Part::Opaque(display(v)), Part::Scalar),
    }
}

fn without_type_names(v: &Value) -> Value {
    match v {
        Value::List(items) => Value::list(items.iter().map(without_type_names).collect()),
        Value::Map(m) => Value::Map(m.iter().map(|(k, v)| (k.clone(), without_type_names(v))).collect()),
        other => literal(other)
            .map_or_else(|| other.clone(), |(_, fields)| without_type_names(&Value::Map(fields.clone()))),
    }
}

/// A value as JSON. Whole doubles are integers there.
///
/// # Errors
/// It has no form in JSON.
pub fn json(v: &Value) -> Result<Value, JsonError> {
    use base64::Engine;
    let all = |m: &Map| {
        m.iter().map(|(k, v)| Ok((k.clone(), json(v)?))).collect::<Result<Map, JsonError>>().map(Value::Map)
    };
    if let Some((_, fields)) = literal(v) {
        return all(fields);
    }
    Ok(match v {
        Value::Int(i) if (-SAFE..=SAFE).contains(i) => v.clone(),
        Value::Int(i) => Value::from(i.to_string()),
        Value::UInt(u) => match i64::try_from(*u) {
            Ok(i) if i <= SAFE => Value::Int(i),
            _ => Value::from(u.to_string()),
        },
        Value::Float(f) if !f.is_finite() => return Err(JsonError(NoJson::Number(display(v).into()))),
        // The zero that is negative has no integer.
        Value::Float(f)
            if f.fract() == 0.0 && f.abs() <= SAFE as f64 && f.to_bits() != (-0.0_f64).to_bits() =>
        {
            Value::Int(*f as i64)
        }
        Value::Timestamp(t) => Value::from(t.utc().rfc3339_nano()),
        Value::Duration(nanos) => Value::from(seconds(*nanos)),
        Value::Bytes(b) => Value::from(base64::engine::general_purpose::STANDARD.encode(b)),
        Value::List(items) => Value::list(items.iter().map(json).collect::<Result<_, _>>()?),
        Value::Map(m) => all(m)?,
        Value::Object(o) => return object(v, o),
        other => other.clone(),
    })
}

/// A value of a library as JSON: only an optional has some, that of its value.
fn object(v: &Value, o: &Object) -> Result<Value, JsonError> {
    let cause = match o {
        Object::Optional(Some(inner)) => return json(inner),
        Object::Optional(None) => NoJson::Nothing,
        Object::Type(_) => NoJson::Type,
        Object::Keyed(entries) => match entries.first().map(|(key, _)| key) {
            Some(Value::Bool(_)) => NoJson::BooleanKeys,
            key => NoJson::Keys(key.map_or("int", Value::cel_type).into()),
        },
        _ => {
            let name = v.cel_type();
            let name = name.rsplit_once('.').map_or(name, |(_, last)| last);
            NoJson::Library(name.into())
        }
    };
    Err(JsonError(cause))
}

/// `3600s`, `1.500s`: with three, six or nine digits.
fn seconds(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let (whole, rest) = (nanos.unsigned_abs() / 1_000_000_000, nanos.unsigned_abs() % 1_000_000_000);
    let digits = format!("{rest:09}");
    let digits = match digits.trim_end_matches('0').len() {
        0 => "",
        1..=3 => &digits[..3],
        4..=6 => &digits[..6],
        _ => &digits[..],
    };
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{digits}s")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn literal_of(name: &str, fields: &[(&str, Value)]) -> Value {
        let fields = fields.iter().map(|(k, v)| (Str::from(*k), v.clone())).collect();
        Value::object(Object::Struct(name.into(), fields))
    }

    #[test]
    fn names_of_literals_are_the_paths_from_the_root_of_the_literal() {
        let inner = literal_of("Object.spec.wrong", &[]);
        let right = literal_of("Object.spec", &[("template", literal_of("Object.spec.template", &[]))]);
        assert!(check_names(&literal_of("Object", &[("spec", right)])).is_ok());
        let wrong = check_names(&literal_of("Object.spec", &[("template", inner)])).unwrap_err();
        assert!(wrong.to_string().starts_with(
            "type mismatch: unexpected type name \"Object.spec.wrong\", expected \"Object.spec.template\""
        ));
    }

    #[test]
    fn large_integers_become_text_and_whole_doubles_integers() {
        assert_eq!(json(&Value::Int(SAFE + 1)).unwrap().as_str(), Some("9007199254740992"));
        assert!(matches!(json(&Value::Float(3.0)), Ok(Value::Int(3))));
        assert_eq!(json(&Value::Duration(1_500_000_000)).unwrap().as_str(), Some("1.500s"));
    }

    #[test]
    fn what_no_json_has_is_an_error() {
        let before = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: ";
        let error = |v: Value| json(&v).unwrap_err().to_string().replace(before, "");
        assert!(error(Value::Float(f64::INFINITY)).ends_with("number_value: invalid +Inf value"));
        assert_eq!(error(Value::optional(None)), "optional.none() dereference");
        let keyed = |key: Value| error(Value::object(Object::Keyed(vec![(key, Value::Null)])));
        assert_eq!(keyed(Value::Int(1)), "unsupported type conversion from 'int' to string");
        assert_eq!(keyed(Value::Bool(true)), "type conversion error from bool to 'string'");
        assert!(matches!(json(&Value::optional(Some(Value::Int(5)))), Ok(Value::Int(5))));
        assert!(matches!(json(&Value::Float(-0.0)), Ok(Value::Float(_))));
    }

    #[test]
    fn below_a_plain_map_only_scalars_are_converted() {
        let map = |v: Value| Value::Map([(Str::from("a"), v)].into_iter().collect());
        let nested = literal_of("Object", &[("labels", map(map("b".into())))]);
        let Part::Fields(fields) = part(&nested, &LiteralData::default()) else { panic!("no fields") };
        let Part::Fields(labels) = &fields[0].1 else { panic!("no labels") };
        assert!(matches!(&labels[0].1, Part::Opaque(text) if text == "map[a:b]"));
    }
    #[test]
    fn data_is_converted_with_all_that_is_in_it() {
        let volume =
            Value::map([("name", "v".into()), ("emptyDir", Value::map([("medium", "Memory".into())]))]);
        let root = Value::map([("object", Value::map([("volumes", Value::list(vec![volume.clone()]))]))]);
        let change = literal_of("Object", &[("volumes", Value::list(vec![volume]))]);
        let of = |data: &LiteralData| match part(&change, data) {
            Part::Fields(fields) => match &fields[0].1 {
                Part::Items(items) => items[0].clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        assert!(matches!(of(&LiteralData::default()), Part::Opaque(_)));
        let Part::Fields(fields) = of(&LiteralData::of(&root)) else { panic!("not converted") };
        assert!(matches!(&fields[1].1, Part::Fields(inner) if inner.len() == 1));
    }
}
