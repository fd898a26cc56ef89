//! Data → values as their schema declares them.
//!
//! In: a declared type and data. Out: a value of that type; what does not fit is a value that fails
//! when it is read. Objects have the declared names of their fields.

use super::{Declared, ListKind, Scalar, TypeKind};
use ephor_functions::cel::native_type;
use ephor_value::bytes::decode_base64;
use ephor_value::list::{ItemReader, Order};
use ephor_value::time::Time;
use ephor_value::{List, Map, Object, Str, Value, duration};

/// The value of data.
pub fn typed(declared: &Declared, data: &Value) -> Value {
    match (&declared.kind, data) {
        (_, Value::Null) if declared.nullable => Value::Null,
        (_, Value::Null) => invalid("invalid data, got null for schema with nullable=false"),
        (TypeKind::Scalar(scalar), data) => {
            scalar_of(*scalar, data).unwrap_or_else(|error| invalid(&error.to_string()))
        }
        (TypeKind::List(item, kind), Value::List(items)) => {
            let items: Vec<Value> = items.iter().map(|v| typed(item, v)).collect();
            let order = match kind {
                ListKind::Plain => Order::Positions,
                ListKind::Set => Order::Values,
                ListKind::Map(keys) => Order::Members(keys.clone().into()),
            };
            Value::List(List::declared(items, order, item.clone()))
        }
        (TypeKind::List(..), _) => invalid(NO_LIST),
        (TypeKind::Map(value), Value::Map(m)) => {
            Value::Map(m.iter().map(|(k, v)| (k.clone(), typed(value, v))).collect())
        }
        (TypeKind::Object(fields), Value::Map(m)) => {
            let mut out = Map::new();
            for (property, v) in m.iter() {
                let field = fields.iter().find(|f| f.property == *property);
                if v.is_null() && field.is_some() {
                    continue;
                }
                let name: Str = field.and_then(|f| f.name.clone()).unwrap_or_else(|| property.clone());
                let value = match field.map(|f| &f.declared) {
                    Some(Some(d)) => typed(d, v),
                    Some(None) => invalid(UNTYPED),
                    None => invalid(""),
                };
                out.insert(name, value);
            }
            Value::Map(out)
        }
        (TypeKind::Map(_) | TypeKind::Object(_), _) => invalid(NO_MAP),
    }
}

const NO_LIST: &str = "invalid data, expected an array for the provided schema with type=array";
const NO_MAP: &str = "invalid data, expected a map for the provided schema with type=object";

impl ItemReader for Declared {
    /// The reference reads what is added to a list as if it were data. Lists that an expression
    /// makes are none, nor are moments and spans, although the same would be in the list already.
    fn read(&self, item: &Value) -> Value {
        match (&self.kind, item) {
            (_, Value::Object(o)) if matches!(**o, Object::Invalid(_)) => item.clone(),
            (TypeKind::List(..), Value::List(l)) if l.is_declared() => item.clone(),
            (TypeKind::List(..), _) => invalid(NO_LIST),
            (TypeKind::Map(_) | TypeKind::Object(_), Value::Map(_)) => item.clone(),
            (TypeKind::Map(_) | TypeKind::Object(_), _) => invalid(NO_MAP),
            (TypeKind::Scalar(scalar), item) => {
                scalar_of(*scalar, item).unwrap_or_else(|error| invalid(&error.to_string()))
            }
        }
    }
}

const UNTYPED: &str = "invalid type, expected object, array, number, integer, boolean or string, or no type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ";

fn invalid(text: &str) -> Value {
    Value::object(Object::Invalid(text.into()))
}

/// Why a value is none of its scalar type.
#[derive(Debug, thiserror::Error)]
enum WrongScalar {
    /// It has another type.
    #[error("invalid data, expected {wanted}, got {found}")]
    Type { wanted: &'static str, found: Box<str> },
    /// It is neither a string nor an integer.
    #[error("invalid data, expected XIntOrString value to be either a string or integer")]
    IntOrString,
    /// A text is no base64.
    #[error("Invalid byte formatted string {text}: illegal base64 data at input byte {at}")]
    Bytes { text: Str, at: Box<str> },
    /// A text is no date; why, in the words of the parser.
    #[error("Invalid date formatted string {text}: {why}")]
    Date { text: Str, why: Box<str> },
    /// A text is no moment; why, in the words of the parser.
    #[error("Invalid date-time formatted string {text}: {why}")]
    DateTime { text: Str, why: Box<str> },
    /// A text is no duration.
    #[error("Invalid duration {0}: unable to parse {0} as duration")]
    Duration(Str),
}

fn scalar_of(scalar: Scalar, data: &Value) -> Result<Value, WrongScalar> {
    let found = match data {
        Value::Duration(_) => "time.Duration",
        Value::Timestamp(_) => "time.Time",
        Value::Null => "structpb.NullValue",
        _ => native_type(data),
    };
    let wrong = |wanted| Err(WrongScalar::Type { wanted, found: found.into() });
    match (scalar, data) {
        (Scalar::Bool, Value::Bool(_)) | (Scalar::Int, Value::Int(_)) | (Scalar::Double, Value::Float(_)) => {
            Ok(data.clone())
        }
        (Scalar::Double, Value::Int(i)) => Ok(Value::Float(*i as f64)),
        (Scalar::IntOrString, Value::Int(_) | Value::Str(_)) => Ok(data.clone()),
        (Scalar::IntOrString, _) => Err(WrongScalar::IntOrString),
        (Scalar::Bool, _) => wrong("bool"),
        (Scalar::Int, _) => wrong("int"),
        (Scalar::Double, _) => wrong("float"),
        (Scalar::String, Value::Str(_)) => Ok(data.clone()),
        (Scalar::Bytes, Value::Str(s)) => match decode_base64(s.as_bytes()) {
            Ok(bytes) => Ok(Value::Bytes(bytes.into())),
            Err(at) => Err(WrongScalar::Bytes { text: s.clone(), at: at.to_string().into() }),
        },
        (Scalar::Date, Value::Str(s)) => match Time::parse("2006-01-02", s) {
            Ok(t) => Ok(Value::Timestamp(t)),
            Err(e) => Err(WrongScalar::Date { text: s.clone(), why: e.to_string().into() }),
        },
        (Scalar::DateTime, Value::Str(s)) => {
            if s.is_empty() {
                return Ok(Value::Timestamp(Time::from_unix_nanos(0)));
            }
            match Time::parse_rfc3339(s).or_else(|_| Time::parse("2006-01-02T15:04:05", s)) {
                Ok(t) => Ok(Value::Timestamp(t)),
                Err(e) => Err(WrongScalar::DateTime { text: s.clone(), why: e.to_string().into() }),
            }
        }
        (Scalar::Duration, Value::Str(s)) => match duration::parse_ok(s) {
            Some(n) => Ok(Value::Duration(n)),
            None => Err(WrongScalar::Duration(s.clone())),
        },
        _ => wrong("string"),
    }
}
