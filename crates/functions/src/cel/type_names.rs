//! The names that messages of cel-go have for types of values.

use ephor_value::Value;

/// The name of cel-go's native type for a value.
pub fn native_type(v: &Value) -> &'static str {
    match v {
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::UInt(_) => "uint64",
        Value::Float(_) => "float64",
        Value::Str(_) => "string",
        Value::Bytes(_) => "[]uint8",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
        _ => go_type(v),
    }
}

/// The name of cel-go's own type for a value.
pub fn go_type(v: &Value) -> &'static str {
    match v {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::UInt(_) => "types.Uint",
        Value::Float(_) => "types.Double",
        Value::Str(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::List(_) => "*types.baseList",
        Value::Map(_) => "*types.baseMap",
        Value::Object(o) => match &**o {
            ephor_value::Object::Optional(_) => "*types.Optional",
            ephor_value::Object::Type(_) => "*types.Type",
            ephor_value::Object::Keyed(_) => "*types.baseMap",
            ephor_value::Object::Quantity(_) => "cel.Quantity",
            ephor_value::Object::Url(_) => "cel.URL",
            ephor_value::Object::Ip(_) => "cel.IP",
            ephor_value::Object::Cidr(..) => "cel.CIDR",
            ephor_value::Object::Semver(_) => "cel.Semver",
            ephor_value::Object::Format(_) => "cel.Format",
            ephor_value::Object::Struct(name, _) if ephor_value::object::is_mutation(name) => {
                "*dynamic.ObjectVal"
            }
            _ => "*types.Object",
        },
    }
}
