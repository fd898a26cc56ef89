//! Whether an object fits its kind, as a Go decoder checks it: the API server's, or Kyverno's.
//!
//! In: an object and its description. Out, for the API server: the object as it is decoded, the
//! first value of a wrong type, and the fields that the kind does not have; for what merges return
//! there: the object, converted field by field; for Kyverno: the object as its checks read it, or
//! why it does not decode. All are one walk over the same tables; `Reader` says who reads.
//!
//! Semantics, those of kube-apiserver 1.36.3:
//! - Names of fields are exact; the order is that in which the object is written.
//! - A value of a wrong type is noted and decoding continues; the first one noted is the error. The
//!   text names the Go struct, the path with the embedded structs, and the Go type. Null fits
//!   everywhere.
//! - A value with a syntax of its own (quantity, time, port) that cannot be read ends the decoding
//!   at once, so its error wins even if it comes later.
//! - Merged objects are converted, not decoded: integers wrap to 32 bits, whole doubles are
//!   integers, errors name no field.
//!
//! And where those of Kyverno 1.19.1 differ:
//! - Names of fields are taken exactly or, failing that, without regard to case; what comes twice
//!   is merged in the order of the sorted keys. Unknown fields are ignored.
//! - Whole numbers may be written as fractions; times of all precisions are times.

use std::borrow::Cow;

use super::schema::{Field, Leaf, Type, TypeDef, Types};
use ephor_value::bytes::decode_base64;
use ephor_value::number::float_json;
use ephor_value::quantity::Quantity;
use ephor_value::time::{self, Time};
use ephor_value::{Map, Str, Value};

/// Objects that nest deeper are not read.
const MAX_DEPTH: usize = 512;

/// Fields that Kyverno 1.19.1 does not know: they are newer than its Kubernetes types.
const NEWER: [(&str, &str); 3] = [
    ("core/v1.PodStatus", "nodeAllocatableResourceClaimStatuses"),
    ("core/v1.ResourceHealth", "message"),
    ("core/v1.VolumeMountStatus", "volumeStatus"),
];

/// Why an object does not fit its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value of another type than its field has.
    #[error("json: cannot unmarshal {found} into Go {} of type {wanted}", destination(.field.as_deref()))]
    Type {
        /// The JSON type of the value; of a number of the wrong size the number too.
        found: Box<str>,
        /// The Go struct and the path of the field; `None` for the whole object.
        field: Option<Box<str>>,
        /// The Go type of the field.
        wanted: Box<str>,
    },
    /// A text that should be base64: its first byte that is not.
    #[error("illegal base64 data at input byte {0}")]
    Base64(usize),
    /// The same in an object that is converted.
    #[error("error decoding from json: illegal base64 data at input byte {0}")]
    ConvertedBase64(usize),
    /// A number in an object that is converted.
    #[error("cannot convert {found} to {wanted}")]
    Conversion {
        /// The Go type of the value.
        found: &'static str,
        /// The Go type of the field.
        wanted: Box<str>,
    },
    /// A number in an object that is converted, which is infinite or none at all.
    #[error("error encoding {0} to json: json: unsupported value: {1}")]
    Unsupported(&'static str, Box<str>),
    /// A text that should be a time.
    #[error(transparent)]
    Time(#[from] time::TimeError),
    /// A quantity whose suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    QuantitySuffix,
    /// A quantity that has not the form of one.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Quantity,
}

/// The form of times with microseconds.
const MICRO_TIME: &str = "2006-01-02T15:04:05.000000Z07:00";

fn destination(field: Option<&str>) -> Cow<'static, str> {
    field.map_or("value".into(), |field| format!("struct field {field}").into())
}

/// What is wrong with an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// The first value of a wrong type.
    pub wrong: Option<Error>,
    /// Paths of unknown fields.
    pub unknown: Vec<String>,
}

/// Compares an object with its description, as the API server reads it; what is no object has no
/// problems.
pub fn problems(object: &Value, def: &TypeDef, types: &Types) -> Problems {
    if object.as_map().is_none() {
        return Problems::default();
    }
    read_sent(object, def, types).1
}

/// An object that a client sends as the API server decodes it, and what is wrong with it.
pub fn read_sent(object: &Value, def: &TypeDef, types: &Types) -> (Value, Problems) {
    read(object, def, Walk::new(types, Reader::ApiServer { patched: false }))
}

/// A patched object as the API server decodes it, and what is wrong with it. Patches write members
/// in the order of their names.
pub fn read_patched(object: &Value, def: &TypeDef, types: &Types) -> (Value, Problems) {
    read(object, def, Walk::new(types, Reader::ApiServer { patched: true }))
}

fn read<'d>(object: &'d Value, def: &'d TypeDef, mut walk: Walk<'d>) -> (Value, Problems) {
    match walk.object(object, def, None) {
        Ok(object) => (object, walk.found),
        Err(error) => (Value::Null, Problems { wrong: Some(error), ..walk.found }),
    }
}

/// What a merge returned, as the API server converts it into an object of its kind.
///
/// # Errors
/// A value that cannot be converted.
pub fn converted(object: &Value, def: &TypeDef, types: &Types) -> Result<Value, Error> {
    let mut walk = Walk::new(types, Reader::Converter);
    let object = walk.object(object, def, None)?;
    walk.found.wrong.map_or(Ok(object), Err)
}

/// The object with the names of its description, as Kyverno reads it. An object that fits is
/// returned as it is.
///
/// # Errors
/// A value does not fit.
pub fn decode<'v>(object: &'v Value, def: &TypeDef, types: &Types) -> Result<Cow<'v, Value>, Error> {
    let mut check = Walk::new(types, Reader::Kyverno { build: false });
    if check.object(object, def, None).is_ok() && check.found.wrong.is_none() && !check.renamed {
        return Ok(Cow::Borrowed(object));
    }
    let mut walk = Walk::new(types, Reader::Kyverno { build: true });
    let decoded = walk.object(object, def, None)?;
    match walk.found.wrong {
        Some(error) => Err(error),
        None => Ok(Cow::Owned(decoded)),
    }
}

/// Who decodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// The API server; `patched`: what it has patched itself.
    ApiServer { patched: bool },
    /// The API server that converts what a merge returned.
    Converter,
    /// Kyverno; `build`: the decoded object is needed, not only whether it is as it is written.
    Kyverno { build: bool },
}

/// A step of the way to a value.
enum Step<'d> {
    Field(&'d TypeDef, &'d Field),
    Item(usize),
    Key(&'d str),
}

struct Walk<'d> {
    types: &'d Types,
    reader: Reader,
    steps: Vec<Step<'d>>,
    found: Problems,
    /// Whether a field has its name in another case.
    renamed: bool,
}

impl<'d> Walk<'d> {
    fn new(types: &'d Types, reader: Reader) -> Walk<'d> {
        Walk { types, reader, steps: Vec::new(), found: Problems::default(), renamed: false }
    }

    fn builds(&self) -> bool {
        self.reader != Reader::Kyverno { build: false }
    }

    fn is_kyverno(&self) -> bool {
        matches!(self.reader, Reader::Kyverno { .. })
    }

    /// The members of an object in the order in which they are decoded.
    fn members<'v>(&self, map: &'v Map) -> Vec<(&'v Str, &'v Value)> {
        let is_sorted = match self.reader {
            Reader::ApiServer { patched } => patched,
            Reader::Converter => false,
            Reader::Kyverno { build } => build,
        };
        if is_sorted { map.sorted() } else { map.iter().collect() }
    }

    fn object(&mut self, v: &'d Value, def: &'d TypeDef, before: Option<&Value>) -> Result<Value, Error> {
        let map = match v {
            Value::Map(map) if self.steps.len() <= MAX_DEPTH => map,
            Value::Null | Value::Map(_) => return Ok(Value::Null),
            _ => {
                self.note(v, &go_type(def));
                return Ok(Value::Null);
            }
        };
        let mut out: Map = before.and_then(Value::as_map).cloned().unwrap_or_default();
        for (key, v) in self.members(map) {
            let Some(field) = self.field(def, key) else {
                if def.open && !self.is_kyverno() {
                    out.insert(key.clone(), v.clone());
                }
                continue;
            };
            let before = out.get(&field.name).cloned();
            self.steps.push(Step::Field(def, field));
            let decoded = self.value(v, &field.ty, before.as_ref())?;
            self.steps.pop();
            if self.builds() {
                out.insert(field.name.clone(), decoded);
            }
        }
        Ok(Value::Map(out))
    }

    /// The field that a key stands for.
    fn field(&mut self, def: &'d TypeDef, key: &str) -> Option<&'d Field> {
        let exact = def.field(key);
        match self.reader {
            Reader::Converter => exact,
            Reader::ApiServer { .. } => {
                if exact.is_none() && !def.open {
                    let path = join(&self.path(), key);
                    self.found.unknown.push(path);
                }
                exact
            }
            Reader::Kyverno { .. } => {
                let found = exact.or_else(|| def.fields.iter().find(|f| folded_eq(&f.name, key)))?;
                if NEWER.contains(&(&*def.name, &*found.name)) {
                    return None;
                }
                self.renamed |= exact.is_none();
                Some(found)
            }
        }
    }

    fn value(&mut self, v: &'d Value, ty: &'d Type, before: Option<&Value>) -> Result<Value, Error> {
        if v.is_null() || self.steps.len() > MAX_DEPTH {
            return Ok(v.clone());
        }
        match (ty, v) {
            (Type::Leaf(leaf), _) => return self.leaf(v, *leaf),
            (Type::Named(name, _), _) => {
                let types = self.types;
                match types.named(name).map(|def| (def.leaf, def)) {
                    Some((None, def)) => return self.object(v, def, before),
                    Some((Some(leaf), _)) => return self.leaf(v, leaf),
                    None => {}
                }
            }
            (Type::List(_, item), Value::List(items)) => {
                let before = before.and_then(Value::as_list).unwrap_or_default();
                let mut out = Vec::new();
                for (i, v) in items.iter().enumerate() {
                    self.steps.push(Step::Item(i));
                    let decoded = match self.value(v, item, before.get(i))? {
                        Value::Null if !self.is_kyverno() => self.empty(item),
                        decoded => decoded,
                    };
                    self.steps.pop();
                    if self.builds() {
                        out.push(decoded);
                    }
                }
                return Ok(Value::list(out));
            }
            (Type::Map(value, _), Value::Map(map)) => {
                let mut out: Map = before.and_then(Value::as_map).cloned().unwrap_or_default();
                for (key, v) in self.members(map) {
                    self.steps.push(Step::Key(key));
                    let decoded = self.value(v, value, None)?;
                    self.steps.pop();
                    if self.builds() {
                        out.insert(key.clone(), decoded);
                    }
                }
                return Ok(Value::Map(out));
            }
            _ => {
                let wanted = self.go_type(ty);
                self.note(v, &wanted);
            }
        }
        Ok(v.clone())
    }

    /// What a null is in the place of an item.
    fn empty(&self, ty: &Type) -> Value {
        match ty {
            Type::Named(name, _) if self.types.named(name).is_some_and(|def| def.leaf.is_none()) => {
                Value::Map(Map::new())
            }
            Type::Leaf(Leaf::String) => Value::from(""),
            _ => Value::Null,
        }
    }

    /// A value without parts, in its canonical form where it has one.
    fn leaf(&mut self, v: &Value, leaf: Leaf) -> Result<Value, Error> {
        let text = v.as_str();
        let fits = match leaf {
            Leaf::Any => true,
            Leaf::Quantity => return quantity_error(v).map_or_else(|| Ok(v.clone()), Err),
            Leaf::Time | Leaf::MicroTime => return self.time(v, leaf),
            Leaf::IntOrString => match text.is_some() || self.is_int32(v) {
                true => true,
                false => return Err(self.mismatch(v, "int32")),
            },
            Leaf::Bytes if let Value::List(items) = v => return Ok(self.listed_bytes(v, items)),
            Leaf::String | Leaf::Bytes => text.is_some(),
            Leaf::Bool => v.as_bool().is_some(),
            Leaf::Int32 | Leaf::Int64 if self.reader == Reader::Converter => return integer(v, leaf),
            Leaf::Int32 => self.is_int32(v),
            Leaf::Int64 => self.whole(v).is_some(),
            Leaf::Double => v.as_number().is_some(),
        };
        if !fits {
            let wanted = self.go_type(&Type::Leaf(leaf));
            self.note(v, &wanted);
        } else if let (Leaf::Bytes, Some(text)) = (leaf, text) {
            return self.bytes(text);
        }
        Ok(v.clone())
    }

    fn time(&self, v: &Value, leaf: Leaf) -> Result<Value, Error> {
        let name = if leaf == Leaf::Time { "v1.Time" } else { "v1.MicroTime" };
        if let (Reader::Converter, Value::Float(f)) = (self.reader, v)
            && !f.is_finite()
        {
            return Err(Error::Unsupported(name, ephor_value::print::display(v).into()));
        }
        let Some(text) = v.as_str() else { return Err(self.mismatch(v, "string")) };
        match leaf {
            _ if self.is_kyverno() => Time::parse_rfc3339(text).map(|_| v.clone()),
            Leaf::MicroTime => Time::parse(MICRO_TIME, text).map(|time| time.rfc3339_micro().into()),
            _ => Time::parse_rfc3339(text).map(|time| time.rfc3339().into()),
        }
        .map_err(Error::Time)
    }

    fn bytes(&mut self, text: &str) -> Result<Value, Error> {
        match decode_base64(text.as_bytes()) {
            Ok(bytes) if !self.is_kyverno() => Ok(encoded_base64(&bytes)),
            Ok(_) => Ok(text.into()),
            Err(at) if self.reader == Reader::Converter => Err(Error::ConvertedBase64(at)),
            Err(at) => {
                self.found.wrong.get_or_insert(Error::Base64(at));
                Ok(text.into())
            }
        }
    }

    /// Bytes that are written as a list of numbers.
    fn listed_bytes(&mut self, v: &Value, items: &[Value]) -> Value {
        let mut bytes = Vec::with_capacity(items.len());
        for item in items {
            match self.whole(item).map(u8::try_from) {
                _ if item.is_null() => bytes.push(0),
                Some(Ok(byte)) => bytes.push(byte),
                _ => self.note(item, "uint8"),
            }
        }
        if self.is_kyverno() { v.clone() } else { encoded_base64(&bytes) }
    }

    fn whole(&self, v: &Value) -> Option<i64> {
        match v {
            Value::Int(i) => Some(*i),
            Value::Float(f)
                if !matches!(self.reader, Reader::ApiServer { .. }) && f.fract() == 0.0 && f.abs() < 1e18 =>
            {
                Some(*f as i64)
            }
            _ => None,
        }
    }

    fn is_int32(&self, v: &Value) -> bool {
        self.whole(v).is_some_and(|i| i32::try_from(i).is_ok())
    }

    /// The Go type of a value, as texts show it.
    fn go_type(&self, ty: &Type) -> String {
        match ty {
            Type::Leaf(leaf) => match leaf {
                Leaf::String => match self.last_field() {
                    Some((_, Field { go, .. })) if !go.text.is_empty() => go.text.into(),
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
                self.types.named(name).map_or_else(|| name.to_string(), |def| go_type(def))
            }
            Type::List(_, item) => format!("[]{}", self.go_type(item)),
            Type::Map(value, _) if **value == Type::Leaf(Leaf::Quantity) => "v1.ResourceList".into(),
            Type::Map(value, _) => format!("map[string]{}", self.go_type(value)),
        }
    }

    /// The innermost field and the type that has it.
    fn last_field(&self) -> Option<(&'d TypeDef, &'d Field)> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::Field(def, field) => Some((*def, *field)),
            _ => None,
        })
    }

    fn note(&mut self, v: &Value, wanted: &str) {
        if self.found.wrong.is_none() {
            self.found.wrong = Some(self.mismatch(v, wanted));
        }
    }

    /// A value of the wrong type, where the walk stands.
    fn mismatch(&self, v: &Value, wanted: &str) -> Error {
        // A number of the wrong size is shown, one in the place of something else is not.
        let found = match v.json_type() {
            "number" if matches!(wanted, "int32" | "int64" | "uint8") => {
                format!("number {}", number_text(v)).into()
            }
            other => other.into(),
        };
        let field = self.last_field().filter(|_| self.reader != Reader::Converter);
        let field = field.map(|(holder, _)| self.go_path(holder).into());
        Error::Type { found, field, wanted: wanted.into() }
    }

    /// The Go struct of the innermost field, and the path with the embedded structs.
    fn go_path(&self, holder: &TypeDef) -> String {
        let mut path = String::new();
        for step in &self.steps {
            if let Step::Field(_, field) = step {
                for part in [field.go.embedded, &field.name].into_iter().filter(|part| !part.is_empty()) {
                    path = join(&path, part);
                }
            }
        }
        format!("{}.{path}", holder.short_name())
    }

    /// The way to the value, with positions.
    fn path(&self) -> String {
        self.steps.iter().fold(String::new(), |path, step| match step {
            Step::Field(_, field) => join(&path, &field.name),
            Step::Item(at) => format!("{path}[{at}]"),
            Step::Key(key) => join(&path, key),
        })
    }
}

/// `v1.Pod` for `core/v1.Pod`.
fn go_type(def: &TypeDef) -> String {
    def.name.rsplit_once('/').map_or(&*def.name, |(_, name)| name).into()
}

/// How JSON writes a number.
fn number_text(v: &Value) -> String {
    match v {
        Value::Int(i) => i.to_string(),
        Value::UInt(u) => u.to_string(),
        Value::Float(f) => float_json(*f),
        _ => String::new(),
    }
}

/// Why a value is no quantity: the suffix is unknown, or it has not even the form of one.
fn quantity_error(v: &Value) -> Option<Error> {
    let text: Cow<'_, str> = match v {
        Value::Str(s) => Cow::Borrowed(s.trim()),
        other => Cow::Owned(number_text(other)),
    };
    if Quantity::parse(&text).is_some() {
        return None;
    }
    let digit = |c: char| c.is_ascii_digit();
    let rest = text.strip_prefix(['+', '-']).unwrap_or(&text).trim_start_matches(digit);
    let rest = rest.strip_prefix('.').unwrap_or(rest).trim_start_matches(digit);
    let rest = rest.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest).trim_start_matches(digit);
    if !text.is_empty() && rest.is_empty() {
        return Some(Error::QuantitySuffix);
    }
    Some(Error::Quantity)
}

/// Two letters beyond ASCII fold to ASCII ones.
fn plain(c: char) -> char {
    match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    }
}

fn folded_eq(field: &str, key: &str) -> bool {
    field.chars().map(plain).eq(key.chars().map(plain))
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

/// An integer of an object that is converted: it wraps to the bits of its field.
fn integer(v: &Value, leaf: Leaf) -> Result<Value, Error> {
    let wide = match v {
        Value::Int(i) => *i,
        Value::Float(f) if *f as i64 as f64 == *f => *f as i64,
        Value::Float(_) => {
            let wanted = if leaf == Leaf::Int32 { "int32" } else { "int64" };
            return Err(Error::Conversion { found: "float64", wanted: wanted.into() });
        }
        other => return Ok(other.clone()),
    };
    Ok(Value::Int(if leaf == Leaf::Int32 { i64::from(wide as i32) } else { wide }))
}

fn encoded_base64(bytes: &[u8]) -> Value {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes).into()
}

/// The position of the first byte that is not base64.
pub(crate) fn bad_base64(text: &str) -> Option<usize> {
    decode_base64(text.as_bytes()).err()
}

/// The text on unknown fields.
pub fn unknown_text(paths: &[String]) -> String {
    let all: Vec<Str> = paths.iter().map(|p| format!("unknown field \"{p}\"").into()).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn pod(spec: &str) -> Value {
        ephor_document::yaml_value(&format!("{{kind: Pod, spec: {spec}}}")).unwrap()
    }

    fn both(spec: &str) -> (Problems, Result<Value, Error>) {
        let types = Types::built_in();
        let (object, def) = (pod(spec), types.named("core/v1.Pod").unwrap());
        (problems(&object, def, types), decode(&object, def, types).map(Cow::into_owned))
    }

    #[test]
    fn a_wrong_type_names_the_struct_the_path_and_the_go_type() {
        let text = |path: &str, found: &str, wanted: &str| {
            format!("json: cannot unmarshal {found} into Go struct field {path} of type {wanted}")
        };
        for (spec, want) in [
            ("{restartPolicy: 1}", text("PodSpec.spec.restartPolicy", "number", "v1.RestartPolicy")),
            ("{containers: [{ports: [{containerPort: 5000000000}]}]}", {
                text("ContainerPort.spec.containers.ports.containerPort", "number 5000000000", "int32")
            }),
            ("{volumes: [{secret: []}]}", {
                text("Volume.spec.volumes.VolumeSource.secret", "array", "v1.SecretVolumeSource")
            }),
            ("{overhead: true}", text("PodSpec.spec.overhead", "bool", "v1.ResourceList")),
        ] {
            let (found, decoded) = both(spec);
            assert_eq!(found.wrong, decoded.clone().err(), "{spec}");
            assert_eq!(decoded.unwrap_err().to_string(), want, "{spec}");
        }
    }

    #[test]
    fn only_the_api_server_knows_unknown_fields() {
        let (found, decoded) = both("{containers: [{named: a}]}");
        assert_eq!((found.wrong, found.unknown), (None, vec!["spec.containers[0].named".into()]));
        assert!(decoded.is_ok());
    }

    #[test]
    fn only_kyverno_reads_names_in_any_case() {
        let (found, decoded) = both("{HostNetwork: true}");
        assert_eq!(found.unknown, ["spec.HostNetwork"]);
        assert!(decoded.unwrap().json_eq(&pod("{hostNetwork: true}")));
    }

    #[test]
    fn a_quantity_that_cannot_be_read_is_the_error_even_after_a_wrong_type() {
        let (found, decoded) = both("{hostNetwork: 1, overhead: {cpu: 1KKi}}");
        assert_eq!(found.wrong.unwrap(), Error::QuantitySuffix);
        assert_eq!(decoded.unwrap_err(), Error::QuantitySuffix);
    }

    #[test]
    fn what_a_merge_returns_is_converted_field_by_field() {
        let types = Types::built_in();
        let of = |name: &str, text: &str| {
            let object = ephor_document::yaml_value(text).unwrap();
            converted(&object, types.named(name).unwrap(), types)
                .map(|object| ephor_value::print::json(&object))
                .map_err(|error| error.to_string())
        };
        let deployment =
            |replicas: &str| of("apps/v1.Deployment", &format!("{{spec: {{replicas: {replicas}}}}}"));
        assert_eq!(deployment("3000000000").unwrap(), r#"{"spec":{"replicas":-1294967296}}"#);
        assert_eq!(deployment("4294967296.0").unwrap(), r#"{"spec":{"replicas":0}}"#);
        assert_eq!(deployment("2.5").unwrap_err(), "cannot convert float64 to int32");
        let lease = |time: &str| of("coordination/v1.Lease", &format!("{{spec: {{renewTime: '{time}'}}}}"));
        let canonical = r#"{"spec":{"renewTime":"2024-01-01T00:00:00.000000Z"}}"#;
        assert_eq!(lease("2024-01-01T02:00:00.000000+02:00").unwrap(), canonical);
        assert!(lease("2024-01-01T00:00:00Z").unwrap_err().ends_with("cannot parse \"Z\" as \".000000\""));
        let secret = |data: &str| of("core/v1.Secret", &format!("{{data: {{a: \"{data}\"}}}}"));
        assert_eq!(secret("YW\\nE=").unwrap(), r#"{"data":{"a":"YWE="}}"#);
        assert_eq!(
            secret("YQ").unwrap_err(),
            "error decoding from json: illegal base64 data at input byte 0"
        );
    }
}
