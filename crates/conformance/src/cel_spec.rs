//! The tests of CEL's specification, those without messages of protocol buffers.
//!
//! In: a file of sections of tests. Out: how many have the specified result: the value, its deduced
//! type, or that there is an error. Values are compared by kind and content, errors by presence.

use std::path::Path;

use ephor_cel::env::Overload;
use ephor_cel::library::general;
use ephor_cel::types::Type;
use ephor_cel::{self, CompileError};
use ephor_engine::eval::{Env, eval};
use ephor_functions::{CelLevel, Context};
use ephor_search::notation::to_text;
use ephor_value::fault::Fault;
use ephor_value::{Map, Object, Str, Value, duration, time::Time};

use super::{Failure, Report};

/// Why a test does not have the specified result; the text is what it has instead.
#[derive(Debug, thiserror::Error)]
enum Difference {
    /// The expression does not compile.
    #[error(transparent)]
    Uncompiled(#[from] CompileError),
    /// The result is of another type.
    #[error("type {got} instead of {wanted}")]
    Type { got: Type, wanted: Type },
    /// The evaluation fails.
    #[error("{}", .0.cel_text())]
    Fault(Fault),
    /// The evaluation should fail.
    #[error("{} instead of an error", to_text(.0))]
    NoFault(Value),
    /// The result is another value.
    #[error("{}", to_text(.0))]
    Value(Value),
}

/// Runs every file of a folder.
///
/// # Errors
/// A file cannot be read.
pub fn run(dir: &Path) -> std::io::Result<Report> {
    let mut report = Report::new("cel-spec");
    let mut files: Vec<_> = std::fs::read_dir(dir)?.filter_map(Result::ok).map(|e| e.path()).collect();
    files.sort();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "json")) {
        let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let text = std::fs::read_to_string(file)?;
        let suite = ephor_document::json::parse(&text).unwrap_or_default();
        for section in list(&suite, "section") {
            for test in list(section, "test") {
                if test.get("uses_protobuf_messages").and_then(Value::as_bool).unwrap_or(false) {
                    report.leave_out("protocol buffer messages, which Kubernetes does not have", 1);
                    continue;
                }
                let id = format!("{stem}/{}/{}", section.text_at(&["name"]), test.text_at(&["name"]));
                report.count(verdict(test).map_err(|got| Failure {
                    id,
                    expected: test.clone(),
                    got: Value::from(got.to_string()),
                }));
            }
        }
    }
    Ok(report)
}

fn list<'v>(v: &'v Value, key: &str) -> &'v [Value] {
    v.get(key).and_then(Value::as_list).map_or(&[], |l| l)
}

fn verdict(test: &Value) -> Result<(), Difference> {
    let mut env = general(test.text_at(&["container"]));
    let mut functions = (*env.functions).clone();
    for declared in list(test, "type_env") {
        if let Some(function) = declared.get("function") {
            // The names of functions live as long as the program.
            let name: &'static str = declared.text_at(&["name"]).to_string().leak();
            let forms = list(function, "overloads").iter().map(overload);
            functions.entry(name).or_default().extend(forms);
            continue;
        }
        let ty = declared.get("ident").and_then(|i| i.get("type")).map_or(Type::Dyn, type_of);
        env.variables.insert(declared.text_at(&["name"]).into(), ty);
    }
    env.functions = functions.into();
    let mut root = Map::new();
    for (name, bound) in test.get("bindings").and_then(Value::as_map).into_iter().flat_map(|m| m.iter()) {
        root.insert(name.clone(), bound.get("value").map_or(Value::Null, value_of));
        env.variables.entry(name.clone()).or_insert(Type::Dyn);
    }
    let cx = Context { cel_level: CelLevel::V30, ..Context::default() };
    let fails = test.get("eval_error").is_some();
    let program = match ephor_cel::compile(test.text_at(&["expr"]), &env, &cx) {
        Ok(program) => program,
        Err(_) if fails => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let typed = test.get("typed_result");
    if let Some(wanted) = typed.and_then(|t| t.get("deduced_type")).map(type_of)
        && wanted != program.ty
    {
        return Err(Difference::Type { got: program.ty, wanted });
    }
    if test.get("check_only").and_then(Value::as_bool).unwrap_or(false) {
        return Ok(());
    }
    let root = Value::Map(root);
    let result = eval(&program.expr, Env::new(&root, &cx));
    let wanted = match test.get("value").or_else(|| typed.and_then(|t| t.get("result"))) {
        Some(v) => value_of(v),
        None => Value::Bool(true),
    };
    match result {
        Err(_) if fails => Ok(()),
        Err(fault) => Err(Difference::Fault(fault)),
        Ok(v) if fails => Err(Difference::NoFault(v.into_owned())),
        Ok(v) if same(&v, &wanted) => Ok(()),
        Ok(v) => Err(Difference::Value(v.into_owned())),
    }
}

/// Equal in value and kind.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => x == y || x.is_nan() && y.is_nan(),
        (Value::List(x), Value::List(y)) => {
            x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| same(x, y))
        }
        (Value::Map(_), Value::Map(_)) | (Value::Object(_), _) | (_, Value::Object(_)) => a.cel_eq(b),
        _ => std::mem::discriminant(a) == std::mem::discriminant(b) && a.cel_eq(b),
    }
}

/// A value as the tests write it.
fn value_of(v: &Value) -> Value {
    let Some((kind, inner)) = v.as_map().and_then(|m| m.iter().next()) else { return Value::Null };
    let text = inner.as_str().unwrap_or_default();
    match &**kind {
        "bool_value" | "string_value" => inner.clone(),
        "int64_value" => text.parse().map_or(Value::Null, Value::Int),
        "uint64_value" => text.parse().map_or(Value::Null, Value::UInt),
        "double_value" => match (inner, text) {
            (Value::Int(i), _) => Value::Float(*i as f64),
            (Value::UInt(u), _) => Value::Float(*u as f64),
            (Value::Float(f), _) => Value::Float(*f),
            (_, "Infinity") => Value::Float(f64::INFINITY),
            (_, "-Infinity") => Value::Float(f64::NEG_INFINITY),
            _ => Value::Float(f64::NAN),
        },
        "bytes_value" => {
            let bytes = ephor_value::bytes::decode_base64(text.as_bytes()).unwrap_or_default();
            Value::Bytes(bytes.into())
        }
        "list_value" => list(inner, "values").iter().map(value_of).collect::<Vec<_>>().into(),
        "map_value" => {
            let part = |e: &Value, key: &str| e.get(key).map_or(Value::Null, value_of);
            let entries = list(inner, "entries").iter().map(|e| (part(e, "key"), part(e, "value"))).collect();
            ephor_ir::strict::map_of(entries)
        }
        "type_value" => Value::object(Object::Type(text.into())),
        "object_value" => message(inner),
        _ => Value::Null,
    }
}

/// The few messages that represent values.
fn message(v: &Value) -> Value {
    let own = v.get("value").cloned().unwrap_or_default();
    let text = own.as_str().unwrap_or_default();
    match v.text_at(&["@type"]).rsplit('.').next() {
        Some("Timestamp") => Time::parse_rfc3339(text).map_or(Value::Null, Value::Timestamp),
        Some("Duration") => duration::parse_ok(text).map_or(Value::Null, Value::Duration),
        _ => own,
    }
}

/// A form of a function as the tests declare it.
fn overload(v: &Value) -> Overload {
    let params: Vec<Type> = list(v, "params").iter().map(type_of).collect();
    let member = v.get("is_instance_function").and_then(Value::as_bool).unwrap_or(false);
    Overload::new(params, v.get("result_type").map_or(Type::Dyn, type_of), member)
}

fn type_of(v: &Value) -> Type {
    let Some((kind, inner)) = v.as_map().and_then(|m| m.iter().next()) else { return Type::Dyn };
    let part = |key: &str| inner.get(key).map_or(Type::Dyn, type_of);
    match (&**kind, inner.as_str().unwrap_or_default()) {
        ("primitive", name) => primitive(name),
        ("wrapper", name) => Type::Wrapper(std::sync::Arc::new(primitive(name))),
        ("well_known", "TIMESTAMP") => Type::Timestamp,
        ("well_known", "DURATION") => Type::Duration,
        ("well_known", _) => Type::Any,
        ("null", _) => Type::Null,
        ("list_type", _) => Type::list(part("elem_type")),
        ("map_type", _) => Type::map(part("key_type"), part("value_type")),
        ("type", _) => Type::Type(Some(std::sync::Arc::new(type_of(inner)))),
        ("message_type", name) => Type::Struct(Str::from(name)),
        ("type_param", name) => Type::Param(Str::from(name)),
        ("abstract_type", _) => {
            let params = list(inner, "parameter_types").iter().map(type_of).collect();
            Type::Opaque(inner.text_at(&["name"]).into(), params)
        }
        _ => Type::Dyn,
    }
}

fn primitive(name: &str) -> Type {
    match name {
        "BOOL" => Type::Bool,
        "INT64" => Type::Int,
        "UINT64" => Type::Uint,
        "DOUBLE" => Type::Double,
        "STRING" => Type::String,
        "BYTES" => Type::Bytes,
        _ => Type::Dyn,
    }
}
