//! Expressions recorded in Kubernetes' own CEL environment: type, value, errors and cost.

use std::collections::HashMap;
use std::path::Path;

use base64::Engine;

use ephor_cel::{self, types::Type};
use ephor_engine::eval::{self, eval};
use ephor_engine::expressions::PER_CALL;
use ephor_engine::meter::Meter;
use ephor_functions::CelLevel;
use ephor_functions::cel::messages::{MapKeyError, misnamed, native};
use ephor_value::release::Release;
use ephor_value::{Map, Object, Str, Value};

use ephor_laws::recorded::{Setting, setting};

use super::{Failure, Report, lines};

/// Runs a folder's `cases.jsonl` as a release of the API server does, and `runtime-0.30.jsonl`,
/// where it is there: outcomes and costs of each level, and estimates.
///
/// # Errors
/// A file cannot be read.
pub fn run(dir: &Path, release: Release) -> std::io::Result<Vec<Report>> {
    let level = CelLevel::of_server(release);
    let text = std::fs::read_to_string(dir.join("inputs.json"))?;
    let inputs = ephor_document::json::parse(&text).unwrap_or_default();
    let text = std::fs::read_to_string(dir.join("schemas.json"))?;
    let schemas = ephor_document::json::parse(&text).unwrap_or_default();
    let mut reports =
        ["kubernetes-cel", "kubernetes-cel/cost", "kubernetes-cel/estimate"].map(Report::new).to_vec();
    let mut later = Report::new("kubernetes-cel/runtime-0.30");
    // What the later runtime does differently.
    let differences = dir.join("runtime-0.30.jsonl");
    let has_later = differences.is_file();
    let differing = if has_later { lines(&differences)? } else { Vec::new() };
    let differing: HashMap<Str, Value> = differing
        .into_iter()
        .map(|line| (line.text_at(&["id"]).into(), line.get("result").cloned().unwrap_or_default()))
        .collect();
    for case in lines(&dir.join("cases.jsonl"))? {
        let id = case.text_at(&["id"]);
        let expected = case.get("result").cloned().unwrap_or_default();
        let got = outcome(&case, &inputs, &schemas, level);
        for (report, keys) in reports.iter_mut().zip(KEYS) {
            if keys.len() == 1 && keys.iter().all(|key| expected.get(key).is_none()) {
                report.leave_out("no such figure was recorded", 1);
                continue;
            }
            report.count(verdict(id, &case, &expected, &got, keys));
        }
        if !has_later {
            continue;
        }
        if case.text_at(&["topic"]) == "cost" {
            later.leave_out("costs alone were not recorded at this level", 1);
            continue;
        }
        let expected = differing.get(id).unwrap_or(&expected);
        let got = outcome(&case, &inputs, &schemas, CelLevel::V30);
        let keys: Vec<&str> = KEYS.concat();
        later.count(verdict(id, &case, expected, &got, &keys));
    }
    reports.extend(has_later.then_some(later));
    Ok(reports)
}

/// Runs expressions whose lines hold the results of both levels, or in `releases` those of API
/// servers of releases by their names: a case passes when everything agrees at all of them.
///
/// # Errors
/// A file cannot be read.
pub fn both_levels(name: &str, dir: &Path) -> std::io::Result<Report> {
    let mut report = Report::new(name);
    let read = |name: &str| {
        let text = std::fs::read_to_string(dir.join(name))?;
        Ok::<Value, std::io::Error>(ephor_document::json::parse(&text).unwrap_or_default())
    };
    let (inputs, schemas) = (read("inputs.json")?, read("schemas.json")?);
    let keys: Vec<&str> = KEYS.concat();
    for case in lines(&dir.join("cases.jsonl"))? {
        let id = case.text_at(&["id"]);
        let of = |level, expected: &Value| {
            verdict(id, &case, expected, &outcome(&case, &inputs, &schemas, level), &keys)
        };
        let both = case.get("result").map_or(Ok(()), |expected| {
            let later = case.get("later").unwrap_or(expected);
            of(CelLevel::V26, expected).and_then(|()| of(CelLevel::V30, later))
        });
        let mut named = case.get("releases").and_then(Value::as_map).into_iter().flat_map(Map::iter);
        let of_release = |(name, expected): (&Str, &Value)| match Release::choose(name) {
            Ok(choice) => of(CelLevel::of_server(choice.release), expected),
            Err(error) => {
                let got = Value::from(error.to_string());
                Err(Failure { id: id.into(), expected: expected.clone(), got })
            }
        };
        report.count(both.and_then(|()| named.try_for_each(of_release)));
    }
    Ok(report)
}

/// What the lines of a level compare: outcome, cost, estimate.
const KEYS: [&[&str]; 3] =
    [&["compileError", "outputType", "runtimeError", "objectCheck", "value"], &["cost"], &["estimatedCost"]];

fn verdict(id: &str, case: &Value, expected: &Value, got: &Value, keys: &[&str]) -> Result<(), Failure> {
    if agrees(expected, got, keys) {
        return Ok(());
    }
    let mut case = case.as_map().cloned().unwrap_or_default();
    case.insert("result", expected.clone());
    Err(Failure { id: id.into(), expected: Value::Map(case), got: got.clone() })
}

fn agrees(expected: &Value, got: &Value, keys: &[&str]) -> bool {
    let same = |key: &&str| match (expected.get(key), got.get(key)) {
        (Some(Value::Str(a)), Some(Value::Str(b))) if a.starts_with("internal error: ") => {
            b.starts_with("internal error: ")
        }
        (Some(a), Some(b)) => a.json_eq(b),
        (None, None) => true,
        // A cost is recorded with most results only.
        (None, Some(_)) => ["cost", "estimatedCost"].contains(key),
        (Some(_), None) => false,
    };
    keys.iter().all(same)
}

fn outcome(case: &Value, inputs: &Value, schemas: &Value, level: CelLevel) -> Value {
    let name = case.text_at(&["env"]);
    let source = case.text_at(&["expression"]);
    let Setting { env, cx, root, want } = setting(case, inputs, schemas, level);
    let program = match ephor_cel::compile_as(source, &env, &cx, &|ty| refused(&want, ty)) {
        Ok(program) => program,
        Err(error) => return Value::map([("compileError", Value::from(error.to_string()))]),
    };
    let meter = Meter::new(PER_CALL);
    let result = eval(&program.expr, eval::Env::new(&root, &cx).with_meter(&meter));
    let mut out = Map::new();
    out.insert("outputType", Value::from(program.ty.formal()));
    if let Ok(typed) = ephor_cel::typed(source, &env) {
        let found = ephor_cel::estimated(&typed, &env);
        let found = [("min", found.min), ("max", found.max)].map(|(k, n)| (k, whole(n)));
        out.insert("estimatedCost", Value::map(found));
    }
    // Charges beyond every budget end the list of expressions.
    if name != "typed" && meter.spent() > (i64::MAX / 2).unsigned_abs() {
        let text = "LIST: validation failed due to running out of cost budget, no further validation rules will be run";
        out.insert("runtimeError", Value::from(text));
        return Value::Map(out);
    }
    match result {
        Ok(v) => {
            if let Some(text) = (name == "mutation").then(|| misnamed(&v)).flatten() {
                out.insert("objectCheck", Value::from(text));
            }
            out.insert("value", tagged(&v));
        }
        Err(fault) => drop(out.insert("runtimeError", Value::from(fault.cel_text()))),
    }
    out.insert("cost", whole(meter.spent()));
    Value::Map(out)
}

/// A number as JSON has it.
fn whole(n: u64) -> Value {
    i64::try_from(n).map_or(Value::UInt(n), Value::Int)
}

/// Why a result of a type is not wanted.
fn refused(want: &str, ty: &Type) -> Option<String> {
    let formal = ty.formal();
    let (allowed, shown): (&[&str], &str) = match want {
        // A type without a name is none that results can have.
        "" if formal.is_empty() => {
            return Some("unexpected compilation error: missing type conversion to proto: ".into());
        }
        "" => return None,
        "annotation" => (&["string", "null_type"], "one of [string null_type]"),
        "JSONPatches" => (&["list(JSONPatch)"], "list(JSONPatch)"),
        other => (&[other], other),
    };
    (!allowed.contains(&&*formal)).then(|| format!("must evaluate to {shown} but got {formal}"))
}

fn entry(key: &str, v: impl Into<Value>) -> Value {
    Value::map([(key, v.into())])
}

/// A value as the recordings write it.
fn tagged(v: &Value) -> Value {
    match v {
        Value::Null => entry("null", Value::Null),
        Value::Bool(b) => entry("bool", *b),
        Value::Int(i) => entry("int", i.to_string()),
        Value::UInt(u) => entry("uint", u.to_string()),
        Value::Float(f) => entry("double", double(*f)),
        Value::Str(s) => entry("string", &**s),
        Value::Bytes(b) => entry("bytes", base64::engine::general_purpose::STANDARD.encode(b)),
        Value::Duration(d) => entry("duration", d.to_string()),
        Value::Timestamp(t) => entry("timestamp", t.utc().rfc3339_nano()),
        Value::List(l) => entry("list", l.iter().map(tagged).collect::<Vec<_>>()),
        Value::Map(m) => {
            let hidden = |v: &Value| matches!(v, Value::Object(o) if matches!(&**o, Object::Invalid(t) if t.is_empty()));
            let entries = m.iter().map(|(k, v)| match v {
                v if hidden(v) => (entry("absent", true), entry("error", "no such overload")),
                v => (tagged(&Value::Str(k.clone())), tagged(v)),
            });
            entry("map", pairs(entries.collect()))
        }
        Value::Object(o) => opaque(o),
    }
}

fn pairs(mut entries: Vec<(Value, Value)>) -> Value {
    entries.sort_by_key(|(k, _)| ephor_value::print::json(k));
    entries.into_iter().map(|(k, v)| Value::list(vec![k, v])).collect::<Vec<_>>().into()
}

/// A field that no message can have, in the words of cel-go.
#[derive(Debug, thiserror::Error)]
#[error("fail to convert field \"{name}\": {cause}")]
struct FieldError {
    name: Str,
    #[source]
    cause: MapKeyError,
}

/// The fields of a message.
fn in_message(fields: &Map) -> Result<Value, FieldError> {
    let one = |(name, v): (&Str, &Value)| {
        let v = native(v).map_err(|cause| FieldError { name: name.clone(), cause })?;
        Ok((tagged(&Value::Str(name.clone())), tagged_native(&v)))
    };
    let entries: Result<Vec<(Value, Value)>, FieldError> = fields.iter().map(one).collect();
    Ok(entry("map", pairs(entries?)))
}

/// As [`tagged`] for what a message's field holds: some library values have cel-go's own form
/// there.
fn tagged_native(v: &Value) -> Value {
    let o = match v {
        Value::Object(o) => o,
        Value::Map(m) => {
            let entries = m.iter().map(|(k, v)| (tagged(&Value::Str(k.clone())), tagged_native(v)));
            return entry("map", pairs(entries.collect()));
        }
        Value::List(l) => return entry("list", l.iter().map(tagged_native).collect::<Vec<_>>()),
        v => return tagged(v),
    };
    let kind = match &**o {
        Object::Quantity(_) => "*resource.Quantity",
        Object::Url(_) => "*url.URL",
        Object::Ip(_) => "netip.Addr",
        Object::Cidr(..) => "netip.Prefix",
        Object::Semver(_) => "semver.Version",
        _ => return tagged(v),
    };
    entry("native", kind)
}

fn double(f: f64) -> String {
    if f.is_nan() {
        "NaN".into()
    } else if f.is_infinite() {
        if f > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else {
        ephor_value::number::float_v(f)
    }
}

fn opaque(o: &Object) -> Value {
    let text = match o {
        Object::Optional(None) => return entry("optional", Value::Null),
        Object::Optional(Some(v)) => return entry("optional", tagged(v)),
        Object::Type(name) => return entry("type", &**name),
        Object::Invalid(text) => return entry("error", &**text),
        Object::Keyed(entries) => {
            return entry("map", pairs(entries.iter().map(|(k, v)| (tagged(k), tagged(v))).collect()));
        }
        Object::Struct(name, fields) if &**name == "JSONPatch" => {
            let mut shown: Map = ["op", "path", "from"]
                .iter()
                .map(|k| (Str::from(*k), fields.get(k).cloned().unwrap_or_else(|| Value::from(""))))
                .collect();
            if let Some(v) = fields.get("value") {
                shown.insert("value", tagged(v));
            }
            return entry("jsonPatch", Value::Map(shown));
        }
        Object::Struct(name, _) if &**name == "google.protobuf.Empty" => String::new(),
        Object::Struct(name, fields) => {
            let fields = match in_message(fields) {
                Ok(map) => map,
                Err(error) => entry("error", error.to_string()),
            };
            return Value::map([("object", Value::Str(name.clone())), ("fields", fields)]);
        }
        Object::Quantity(q) => q.to_string(),
        Object::Url(text) => text.to_string(),
        Object::Ip(ip) => ip.to_string(),
        Object::Cidr(ip, bits) => format!("{ip}/{bits}"),
        Object::Semver(v) => v.to_string(),
        Object::Format(name) => name.to_string(),
        Object::Check(_) | Object::Decision(_) => String::new(),
    };
    Value::map([("opaque", Value::from(o.type_name())), ("string", Value::from(text))])
}
