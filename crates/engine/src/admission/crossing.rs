//! How a CEL value crosses into an object.
//!
//! In: values of the expressions of a mutation. Out: the [`Part`] that `ApplyConfiguration` merges,
//! or the value of a JSON patch. Semantics, measured on kube-apiserver 1.36.3:
//! - A field of an `Object` literal takes the value's own Go value: of a list that of each element,
//!   of a map with texts as keys that of each value, of an optional that of what it holds (nothing
//!   is null), of a type its name. What nests one level deeper stays a value of CEL, which the
//!   merge cannot read; messages show it as Go prints it.
//! - Maps and lists that are data ([`LiteralData`]) have Go values all through.
//! - A map with other keys makes the literal around it an error.
//! - From 1.37 on a part of a typed object ([`ephor_value::view`]) has no form in a JSON patch.
//! - A value of a JSON patch is converted by the rules of protobuf: integers beyond 2^53 become
//!   texts, times and durations too. In an `Object` literal there the rules of fields hold, and
//!   integers become the nearest double.

use ephor_functions::cel::messages::key_problem;
use ephor_patch::structured::{Opaque, Part};
use ephor_value::print::display;
use ephor_value::quote::quote;
use ephor_value::view::View;
use ephor_value::{Map, Object, Str, Value, stack};

use super::error::{JsonError, LiteralError, NoJson};
use super::go_text::{native_syntax, shown};
use super::literal::{LiteralData, literal};

/// Integers beyond this have no place in a double, and become text.
const SAFE: i64 = (1 << 53) - 1;

/// An `Object` literal as a change.
///
/// # Errors
/// The value is no literal, or a field is a map whose keys are no texts.
pub fn part_of(v: &Value, data: &LiteralData) -> Result<Part, LiteralError> {
    match v {
        Value::Null => return Err(LiteralError::NoLiteral("null_type".into())),
        _ if literal(v).is_some_and(|(name, _)| **name == *BOUND) => {
            return Err(LiteralError::NoLiteral("map(dyn, dyn)".into()));
        }
        _ => {}
    }
    match part(v, data) {
        Part::Opaque(opaque) if opaque.native == ERROR => Err(LiteralError::ReturnType),
        part => Ok(part),
    }
}

/// The name of a literal that a variable of `optMap` or `optFlatMap` is around: it is a map there.
pub(crate) const BOUND: &str = "map";

/// A value under a variable of `optMap` or `optFlatMap`.
pub(crate) fn bound(v: Value) -> Value {
    match &v {
        Value::Object(o) => match &**o {
            Object::Optional(Some(inner)) if object_literal(inner).is_some() => {
                Value::optional(Some(bound(inner.clone())))
            }
            Object::Struct(_, fields) if object_literal(&v).is_some() => {
                Value::object(Object::Struct(BOUND.into(), fields.clone()))
            }
            _ => v,
        },
        _ => v,
    }
}

/// The Go type of errors of CEL.
const ERROR: &str = "*types.Err";

/// The value of a field: converted with its items or members.
fn part(v: &Value, data: &LiteralData) -> Part {
    if let Some((_, fields)) = object_literal(v) {
        let fields = fields.iter().map(|(k, v)| match keys_that_are_no_texts(v) {
            Some(key) => Err(opaque(
                v,
                format!("fail to convert field {}: {}", quote(k), key_problem(key)),
                String::new(),
                ERROR,
            )),
            None => Ok((k.clone(), part(v, data))),
        });
        return fields.collect::<Result<_, Part>>().map_or_else(|error| error, Part::Fields);
    }
    match v {
        _ if data.has(v) => Part::whole(v),
        Value::List(items) => Part::Items(items.iter().map(|v| own(v, data)).collect()),
        Value::Map(m) => Part::Fields(m.iter().map(|(k, v)| (k.clone(), own(v, data))).collect()),
        Value::Object(o) if let Object::Optional(inner) = &**o => {
            inner.as_ref().map_or(Part::Scalar(Value::Null), |inner| part(inner, data))
        }
        other => own(other, data),
    }
}

/// The fields of an `Object` literal; a `JSONPatch` is none.
fn object_literal(v: &Value) -> Option<(&Str, &Map)> {
    literal(v).filter(|(name, _)| matches!(name.split('.').next(), Some("Object" | BOUND)))
}

fn keys_that_are_no_texts(v: &Value) -> Option<&Value> {
    match v {
        Value::Object(o) => match &**o {
            Object::Keyed(entries) => entries.iter().map(|(key, _)| key).find(|key| key.as_str().is_none()),
            Object::Optional(Some(inner)) => keys_that_are_no_texts(inner),
            _ => None,
        },
        _ => None,
    }
}

/// An item of a list, or a value of a map: its own Go value.
fn own(v: &Value, data: &LiteralData) -> Part {
    match v {
        _ if data.has(v) => Part::whole(v),
        _ if object_literal(v).is_some() => part(v, data),
        Value::List(_) | Value::Map(_) => opaque(
            v,
            shown(v),
            native_syntax(v),
            if matches!(v, Value::List(_)) { "[]ref.Val" } else { "map[ref.Val]ref.Val" },
        ),
        Value::Null => opaque(v, "NULL_VALUE", "0", "structpb.NullValue"),
        Value::UInt(_) => opaque(v, shown(v), native_syntax(v), "uint64"),
        Value::Timestamp(_) => opaque(v, shown(v), native_syntax(v), "time.Time"),
        Value::Duration(_) => opaque(v, shown(v), native_syntax(v), "time.Duration"),
        Value::Bytes(_) => opaque(v, shown(v), native_syntax(v), "[]uint8"),
        Value::Object(o) => object_part(v, o, data),
        scalar => Part::Scalar(scalar.clone()),
    }
}

fn object_part(v: &Value, o: &Object, data: &LiteralData) -> Part {
    let native = match o {
        Object::Optional(None) => return Part::Scalar(Value::Null),
        Object::Optional(Some(inner)) => return own(inner, data),
        Object::Type(name) => return Part::Scalar(Value::Str(name.clone())),
        Object::Keyed(_) => "map[ref.Val]ref.Val",
        Object::Quantity(_) => "*resource.Quantity",
        Object::Url(_) => "*url.URL",
        Object::Ip(_) => "netip.Addr",
        Object::Cidr(..) => "netip.Prefix",
        Object::Semver(_) => "semver.Version",
        Object::Struct(..) => "*mutation.JSONPatchVal",
        Object::Check(_) | Object::Decision(_) => return opaque(v, "no such overload", "", ERROR),
        Object::Format(_) => "cel.Format",
        Object::Invalid(_) => "interface {}",
    };
    opaque(v, shown(v), native_syntax(v), native)
}

fn opaque(value: &Value, shown: impl Into<String>, go: impl Into<String>, native: &'static str) -> Part {
    let value = value.clone();
    Part::Opaque(Box::new(Opaque { value, shown: shown.into(), go: go.into(), native }))
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
    if let Some(cause) = of_view(v) {
        return Err(JsonError(cause));
    }
    if object_literal(v).is_some() {
        return structure(&part(v, &LiteralData::default()));
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
        Value::Timestamp(t) => Value::from(t.rfc3339_nano()),
        Value::Duration(nanos) => Value::from(seconds(*nanos)),
        Value::Bytes(b) => Value::from(base64::engine::general_purpose::STANDARD.encode(b)),
        Value::List(items) => {
            stack::deep(|| items.iter().map(json).collect::<Result<_, _>>().map(Value::list))?
        }
        Value::Map(m) => stack::deep(|| all(m))?,
        Value::Object(o) => return object(v, o),
        other => other.clone(),
    })
}

/// Why a part of a typed object has no form in JSON: nothing converts it.
fn of_view(v: &Value) -> Option<NoJson> {
    match v {
        Value::List(items) if items.is_view() => Some(NoJson::View("list(dyn)")),
        Value::Map(m) => m.view().map(|view| match view {
            View::Map => NoJson::View("map(dyn, dyn)"),
            View::Struct(ty) => NoJson::Struct(ty.name().into()),
        }),
        _ => None,
    }
}

/// A value of a library as JSON: only an optional has some, that of its value.
fn object(v: &Value, o: &Object) -> Result<Value, JsonError> {
    let cause = match o {
        Object::Optional(Some(inner)) => return json(inner),
        Object::Optional(None) => NoJson::Nothing,
        Object::Type(_) => NoJson::Type,
        Object::Struct(..) => NoJson::Patch,
        Object::Keyed(entries) => match entries.first().map(|(key, _)| key) {
            Some(Value::Bool(_)) => NoJson::BooleanKeys,
            key => NoJson::Keys(key.map_or("int", Value::cel_type).into()),
        },
        Object::Check(_) | Object::Decision(_) => NoJson::Library(v.cel_type().into()),
        Object::Format(_) => NoJson::Library("Format".into()),
        _ => {
            let name = v.cel_type();
            let name = name.rsplit_once('.').map_or(name, |(_, last)| last);
            NoJson::Library(name.into())
        }
    };
    Err(JsonError(cause))
}

/// An `Object` literal as JSON: by the rules of fields, with numbers that are doubles.
fn structure(part: &Part) -> Result<Value, JsonError> {
    Ok(match part {
        Part::Fields(fields) => {
            let fields = fields.iter().map(|(k, v)| Ok((k.clone(), structure(v)?)));
            Value::Map(fields.collect::<Result<Map, JsonError>>()?)
        }
        Part::Items(items) => Value::list(items.iter().map(structure).collect::<Result<_, _>>()?),
        Part::Scalar(Value::Int(i)) => json(&Value::Float(*i as f64))?,
        Part::Scalar(value) => json(value)?,
        Part::Opaque(opaque) => match opaque.native {
            "uint64" => json(&Value::Float(opaque.value.as_number().unwrap_or_default()))?,
            "[]uint8" => json(&opaque.value)?,
            ERROR => return Err(JsonError(NoJson::Field(opaque.shown.as_str().into()))),
            native => return Err(JsonError(NoJson::Native(native.into()))),
        },
    })
}

/// `3600s`, `1.5s`.
fn seconds(nanos: i64) -> String {
    format!("{}s", nanos as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::literal::tests::literal_of;
    use super::*;

    #[test]
    fn large_integers_become_text_and_whole_doubles_integers() {
        assert_eq!(json(&Value::Int(SAFE + 1)).unwrap().as_str(), Some("9007199254740992"));
        assert!(matches!(json(&Value::Float(3.0)), Ok(Value::Int(3))));
        assert_eq!(json(&Value::Duration(1_500_000_000)).unwrap().as_str(), Some("1.5s"));
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
        let Part::Fields(fields) = part_of(&nested, &LiteralData::default()).unwrap() else {
            panic!("no fields")
        };
        let Part::Fields(labels) = &fields[0].1 else { panic!("no labels") };
        assert!(matches!(&labels[0].1, Part::Opaque(opaque) if opaque.shown == "map[a:b]"));
    }
    #[test]
    fn data_is_converted_with_all_that_is_in_it() {
        let volume =
            Value::map([("name", "v".into()), ("emptyDir", Value::map([("medium", "Memory".into())]))]);
        let root = Value::map([("object", Value::map([("volumes", Value::list(vec![volume.clone()]))]))]);
        let change = literal_of("Object", &[("volumes", Value::list(vec![volume]))]);
        let of = |data: &LiteralData| match part_of(&change, data).unwrap() {
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

    #[test]
    fn an_optional_is_what_it_holds_and_a_type_its_name() {
        let of = |v: Value| match part_of(&literal_of("Object", &[("a", v)]), &LiteralData::default()) {
            Ok(Part::Fields(fields)) => fields[0].1.clone(),
            other => panic!("{other:?}"),
        };
        let twice = Value::optional(Some(Value::optional(Some("x".into()))));
        assert!(matches!(of(twice), Part::Scalar(v) if v.as_str() == Some("x")));
        assert!(matches!(of(Value::optional(None)), Part::Scalar(Value::Null)));
        let name = Value::object(Object::Type("int".into()));
        assert!(matches!(of(name), Part::Scalar(v) if v.as_str() == Some("int")));
        assert!(
            matches!(of(Value::UInt(5)), Part::Opaque(o) if (&*o.shown, &*o.go, o.native) == ("5", "0x5", "uint64"))
        );
    }

    #[test]
    fn a_literal_with_keys_that_are_no_texts_is_an_error() {
        let keyed = |key: Value| Value::object(Object::Keyed(vec![(key, Value::Null)]));
        let at = |v: Value| part_of(&literal_of("Object", &[("a", v)]), &LiteralData::default());
        assert_eq!(
            at(keyed(Value::Int(1))).unwrap_err().to_string(),
            "invalid return type: *dynamic.ObjectVal"
        );
        let inner = literal_of("Object.a", &[("b", keyed(Value::Bool(true)))]);
        let Ok(Part::Fields(fields)) = at(inner) else { panic!("the error is that of the field") };
        let Part::Opaque(shown) = &fields[0].1 else { panic!("no error") };
        assert_eq!(
            shown.shown,
            "fail to convert field \"b\": map key %!q(types.Bool=true) is of type types.Bool, not string"
        );
    }

    #[test]
    fn values_of_patches_in_literals_have_no_times_and_numbers_are_doubles() {
        let of = |v: Value| json(&literal_of("Object.x", &[("y", v)]));
        let time = of(Value::Duration(5_000_000_000)).unwrap_err().to_string();
        assert!(time.ends_with("proto:\u{a0}invalid type: time.Duration"), "{time}");
        let large = of(Value::Int(9_007_199_254_740_993)).unwrap();
        assert_eq!(ephor_value::print::json(&large), r#"{"y":9007199254740992}"#);
    }
}
