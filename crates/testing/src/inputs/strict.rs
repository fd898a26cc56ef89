//! Documents of the command line that are decoded strictly: tests, values, user information.
//!
//! In: a document and a table of what it may hold. Out: the document with the names and scalar
//! types of the table, or the first thing wrong with it. As in Kyverno, keys are read in
//! alphabetical order, names match in any case, and a scalar is taken for a text where one is
//! wanted – but not in fields of embedded types, of which Kyverno's YAML reader does not know.

use ephor_document::locate;
use ephor_value::place::PathPart;
use ephor_value::suggest::did_you_mean;
use ephor_value::{Map, Str, Value, number};

/// What a place may hold.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Anything.
    Any,
    /// A text.
    Text,
    /// A text of a type of this name.
    Word(&'static str),
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Whole,
    /// An object of any content.
    Map,
    /// An object of a type of this name, of any content as far as this module knows.
    Kind(&'static str),
    /// An object of texts.
    Texts,
    /// An object of lists, of a type of this name, of such items.
    Lists(&'static str, &'static Shape),
    /// A list.
    List(&'static Shape),
    /// An object of these fields.
    Object(&'static Object),
}

/// An object: its type's name in messages and its fields.
#[derive(Debug)]
pub struct Object {
    /// The type, `Test`.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

/// A field: its name, the embedded type that messages put in front of it, and its shape.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    name: &'static str,
    part_of: &'static str,
    shape: Shape,
}

/// A field of an object.
pub const fn field(name: &'static str, shape: Shape) -> Field {
    Field { name, part_of: "", shape }
}

impl Field {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it may hold.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// As a field of a type that the object's type embeds.
    pub const fn part_of(mut self, embedded: &'static str) -> Field {
        self.part_of = embedded;
        self
    }
}

/// `apiVersion` and `kind`.
pub const API_VERSION: Field = field("apiVersion", Shape::Text).part_of("TypeMeta");
/// See [`API_VERSION`].
pub const KIND: Field = field("kind", Shape::Text).part_of("TypeMeta");

/// The metadata of any object.
pub const METADATA: Shape = Shape::Object(&Object {
    name: "ObjectMeta",
    fields: &[
        field("name", Shape::Text),
        field("generateName", Shape::Text),
        field("namespace", Shape::Text),
        field("selfLink", Shape::Text),
        field("uid", Shape::Text),
        field("resourceVersion", Shape::Text),
        field("generation", Shape::Whole),
        field("creationTimestamp", Shape::Any),
        field("deletionTimestamp", Shape::Any),
        field("deletionGracePeriodSeconds", Shape::Whole),
        field("labels", Shape::Texts),
        field("annotations", Shape::Texts),
        field("ownerReferences", Shape::List(&Shape::Any)),
        field("finalizers", Shape::List(&Shape::Text)),
        field("managedFields", Shape::List(&Shape::Any)),
    ],
});

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Kyverno's text.
    pub text: String,
    /// Where it is.
    pub path: Vec<PathPart>,
    /// What may have been meant.
    pub meant: Option<String>,
}

impl Fault {
    /// `FILE:LINE:COLUMN: …`, with what to write instead, for a document of a file that begins on a
    /// line.
    pub fn hint(&self, source: &str, line: usize, text: &str) -> String {
        let place = locate::locate_key(text, &self.path).or_else(|| locate::locate(text, &self.path));
        let place = match place {
            Some(p) => format!("{source}:{}:{}", line + p.line.saturating_sub(1), p.col),
            None => format!("{source}:{line}"),
        };
        match &self.meant {
            Some(meant) => format!("{place}: {}; did you mean `{meant}`?", self.text),
            None => format!("{place}: {}", self.text),
        }
    }
}

/// Reads a YAML text that must be an object of a type; the error is Kyverno's.
///
/// # Errors
/// The text is no YAML, or see [`decode`]; with the place where it is known.
pub fn parse(source: &str, text: &str, object: &'static Object) -> Result<Value, (String, Option<String>)> {
    let value = ephor_document::yaml_value_strict(text)
        .map_err(|e| (format!("error converting YAML to JSON: {e}"), None))?;
    decode(&value, object).map_err(|fault| {
        let hint = fault.hint(source, 1, text);
        (InJson(fault).to_string(), Some(hint))
    })
}

/// A fault as Kyverno prints it for a YAML document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error unmarshaling JSON: while decoding JSON: json: {}", .0.text)]
pub struct InJson(pub Fault);

/// Checks a document.
///
/// # Errors
/// The first fault: an unknown field or a value of another type.
pub fn decode(value: &Value, object: &'static Object) -> Result<Value, Fault> {
    let mut walk =
        StrictWalk { owner: object.name, names: Vec::new(), path: Vec::new(), embedded: false, first: None };
    let decoded = match value {
        Value::Map(_) => walk.object(value, object),
        Value::Null => Value::Map(Map::new()),
        other => {
            walk.first = Some(Fault {
                text: format!(
                    "cannot unmarshal {} into Go value of type v1alpha1.{}",
                    other.json_type(),
                    object.name
                ),
                path: Vec::new(),
                meant: None,
            });
            Value::Null
        }
    };
    match walk.first {
        Some(fault) => Err(fault),
        None => Ok(decoded),
    }
}

/// The walk through a document, which collects the first fault.
struct StrictWalk {
    /// The innermost type.
    owner: &'static str,
    /// The names of the fields down to here, embedded types included.
    names: Vec<&'static str>,
    path: Vec<PathPart>,
    /// Whether this is inside of a field of an embedded type.
    embedded: bool,
    first: Option<Fault>,
}

impl StrictWalk {
    fn object(&mut self, value: &Value, object: &'static Object) -> Value {
        let Some(entries) = value.as_map() else { return Value::Null };
        let outer = std::mem::replace(&mut self.owner, object.name);
        let mut sorted: Vec<(&Str, &Value)> = entries.iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(b.0));
        let mut out = Map::new();
        for (key, value) in sorted {
            self.path.push(PathPart::Key(key.clone()));
            let exact = object.fields.iter().find(|f| f.name == &**key);
            match exact.or_else(|| object.fields.iter().find(|f| f.name.eq_ignore_ascii_case(key))) {
                Some(field) => {
                    let (depth, embedded) = (self.names.len(), self.embedded);
                    if !field.part_of.is_empty() {
                        self.names.push(field.part_of);
                        self.embedded = true;
                    }
                    self.names.push(field.name);
                    let decoded = self.value(value, &field.shape);
                    out.insert(field.name, decoded);
                    self.names.truncate(depth);
                    self.embedded = embedded;
                }
                None => {
                    let known: Vec<&str> = object.fields.iter().map(|f| f.name).collect();
                    let meant = did_you_mean(key, &known).map(str::to_owned);
                    self.fault(format!("unknown field {}", ephor_value::quote::quote(key)), meant);
                }
            }
            self.path.pop();
        }
        self.owner = outer;
        Value::Map(out)
    }

    fn value(&mut self, value: &Value, shape: &Shape) -> Value {
        match (shape, value) {
            (_, Value::Null) | (Shape::Any, _) => value.clone(),
            (Shape::Text | Shape::Word(_), Value::Str(_))
            | (Shape::Flag, Value::Bool(_))
            | (Shape::Whole, Value::Int(_) | Value::UInt(_))
            | (Shape::Map | Shape::Kind(_), Value::Map(_)) => value.clone(),
            (Shape::Text, Value::Bool(b)) if !self.embedded => Value::from(if *b { "true" } else { "false" }),
            (Shape::Text, Value::Int(i)) if !self.embedded => Value::from(i.to_string()),
            (Shape::Text, Value::UInt(u)) if !self.embedded => Value::from(u.to_string()),
            (Shape::Text, Value::Float(f)) if !self.embedded => Value::from(number::float_v(*f)),
            (Shape::Texts, Value::Map(entries)) => {
                let mut out = Map::new();
                for (key, value) in entries.iter() {
                    self.path.push(PathPart::Key(key.clone()));
                    out.insert(key.clone(), self.value(value, &Shape::Text));
                    self.path.pop();
                }
                Value::Map(out)
            }
            (Shape::Lists(name, item), Value::Map(entries)) => {
                let mut out = Map::new();
                for (key, value) in entries.iter() {
                    self.path.push(PathPart::Key(key.clone()));
                    let list = match value {
                        Value::List(_) | Value::Null => self.value(value, &Shape::List(item)),
                        other => self.wrong_type(other, name),
                    };
                    out.insert(key.clone(), list);
                    self.path.pop();
                }
                Value::Map(out)
            }
            (Shape::List(item), Value::List(items)) => {
                let mut out = Vec::with_capacity(items.len());
                for (i, value) in items.iter().enumerate() {
                    self.path.push(PathPart::Index(i));
                    out.push(self.value(value, item));
                    self.path.pop();
                }
                Value::list(out)
            }
            (Shape::Object(object), Value::Map(_)) => self.object(value, object),
            _ => self.wrong_type(value, &go_type(shape)),
        }
    }

    fn wrong_type(&mut self, value: &Value, wanted: &str) -> Value {
        let (found, owner, names) = (value.json_type(), self.owner, self.names.join("."));
        self.fault(
            format!("cannot unmarshal {found} into Go struct field {owner}.{names} of type {wanted}"),
            None,
        );
        Value::Null
    }

    fn fault(&mut self, text: String, meant: Option<String>) {
        if self.first.is_none() {
            self.first = Some(Fault { text, path: self.path.clone(), meant });
        }
    }
}

fn go_type(shape: &Shape) -> String {
    match shape {
        Shape::Any => "interface {}".into(),
        Shape::Text => "string".into(),
        Shape::Word(name) | Shape::Kind(name) => (*name).into(),
        Shape::Flag => "bool".into(),
        Shape::Whole => "int".into(),
        Shape::Map => "map[string]interface {}".into(),
        Shape::Texts => "map[string]string".into(),
        Shape::Lists(name, _) => format!("map[string]{name}"),
        Shape::List(item) => format!("[]{}", go_type(item)),
        Shape::Object(object) if matches!(object.name, "ObjectMeta" | "UserInfo") => {
            format!("v1.{}", object.name)
        }
        Shape::Object(object) => format!("v1alpha1.{}", object.name),
    }
}
