//! Types of CEL: what the checker knows of an expression before it runs.
//!
//! Names are those that messages show; [`Type::formal`] gives the names of results and
//! declarations.

use std::fmt::{self, Write};
use std::sync::Arc;

use ephor_value::Str;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Unknown until it runs.
    Dyn,
    /// What has already been complained about.
    Error,
    /// `null`
    Null,
    /// A boolean.
    Bool,
    /// A signed 64-bit integer.
    Int,
    /// An unsigned 64-bit integer.
    Uint,
    /// A double.
    Double,
    /// Text.
    String,
    /// Bytes.
    Bytes,
    /// A point in time.
    Timestamp,
    /// A duration.
    Duration,
    /// `google.protobuf.Any`
    Any,
    /// A scalar or null.
    Wrapper(Arc<Type>),
    /// A list.
    List(Arc<Type>),
    /// A map.
    Map(Arc<Type>, Arc<Type>),
    /// A type as a value.
    Type(Option<Arc<Type>>),
    /// A library's type, with parameters.
    Opaque(Str, Vec<Type>),
    /// A message with fields.
    Struct(Str),
    /// A parameter of a declaration, or an unknown of the checker.
    Param(Str),
}

impl Type {
    /// A list.
    pub fn list(item: Type) -> Type {
        Type::List(Arc::new(item))
    }

    /// A map.
    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new(key), Arc::new(value))
    }

    /// An optional value.
    pub fn optional(inner: Type) -> Type {
        Type::Opaque("optional_type".into(), vec![inner])
    }

    /// What is inside of an optional value.
    pub fn as_optional(&self) -> Option<&Type> {
        match self {
            Type::Opaque(name, params) if &**name == "optional_type" => params.first(),
            _ => None,
        }
    }

    /// Whether nothing is known of it.
    pub fn is_dyn_or_error(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }

    /// Whether it has more parts than this.
    pub fn is_larger_than(&self, most: usize) -> bool {
        fn fits(ty: &Type, left: &mut usize) -> bool {
            let Some(fewer) = left.checked_sub(1) else { return false };
            *left = fewer;
            match ty {
                Type::List(inner) | Type::Type(Some(inner)) => fits(inner, left),
                Type::Map(key, value) => fits(key, left) && fits(value, left),
                Type::Opaque(_, params) => params.iter().all(|p| fits(p, left)),
                _ => true,
            }
        }
        let mut left = most;
        !fits(self, &mut left)
    }

    /// Its type parameters.
    pub fn parameters(&self) -> Vec<&Type> {
        match self {
            Type::List(item) => vec![item],
            Type::Map(key, value) => vec![key, value],
            Type::Opaque(_, params) => params.iter().collect(),
            Type::Type(Some(inner)) => vec![inner],
            _ => Vec::new(),
        }
    }

    /// The name of results: `google.protobuf.Timestamp`, `null_type`, `optional_type(int)`.
    pub fn formal(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, true);
        out
    }

    fn write(&self, out: &mut String, formal: bool) {
        let simple = match self {
            Type::Dyn => "dyn",
            Type::Error => "!error!",
            Type::Null if formal => "null_type",
            Type::Null => "null",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Timestamp if formal => "google.protobuf.Timestamp",
            Type::Timestamp => "timestamp",
            Type::Duration if formal => "google.protobuf.Duration",
            Type::Duration => "duration",
            Type::Any if formal => "google.protobuf.Any",
            Type::Any => "any",
            Type::Struct(name) | Type::Param(name) => name,
            Type::Wrapper(inner) => return wrapped(out, "wrapper", &[inner], formal),
            Type::List(item) => return wrapped(out, "list", &[item], formal),
            Type::Map(key, value) => return wrapped(out, "map", &[key, value], formal),
            Type::Type(None) => "type",
            Type::Type(Some(inner)) => return wrapped(out, "type", &[inner], formal),
            Type::Opaque(name, params) => {
                let params: Vec<&Type> = params.iter().collect();
                return wrapped(out, name, &params, formal);
            }
        };
        out.push_str(simple);
    }
}

fn wrapped(out: &mut String, name: &str, params: &[&Type], formal: bool) {
    out.push_str(name);
    if params.is_empty() {
        return;
    }
    out.push('(');
    for (i, p) in params.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        p.write(out, formal);
    }
    out.push(')');
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out, false);
        f.write_str(&out)
    }
}

/// How messages show the arguments of a call: `(int, string)`, `string.(int)`.
pub fn applied(args: &[Type], with_receiver: bool) -> String {
    let mut out = String::new();
    let (receiver, rest) = match args.split_first() {
        Some((first, rest)) if with_receiver => (Some(first), rest),
        _ => (None, args),
    };
    if let Some(receiver) = receiver {
        let _ = write!(out, "{receiver}.");
    }
    out.push('(');
    for (i, t) in rest.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        let _ = write!(out, "{t}");
    }
    out.push(')');
    out
}

/// Reads a type as declarations write it: `list<A>`, `map<string, dyn>`, `optional<int>`, a capital
/// letter for a parameter, anything with a dot for a library's type.
pub fn parse(text: &str) -> Type {
    let text = text.trim();
    if let Some((name, rest)) = text.split_once('<') {
        let inner = rest.strip_suffix('>').unwrap_or(rest);
        let params: Vec<Type> = split(inner).into_iter().map(parse).collect();
        let at = |i: usize| params.get(i).cloned().unwrap_or(Type::Dyn);
        return match name {
            "list" => Type::list(at(0)),
            "map" => Type::map(at(0), at(1)),
            "optional" => Type::optional(at(0)),
            "type" => Type::Type(Some(Arc::new(at(0)))),
            _ => Type::Opaque(name.into(), params),
        };
    }
    match text {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "type" => Type::Type(None),
        "any" => Type::Any,
        name if name.starts_with('$') => Type::Struct(name.trim_start_matches('$').into()),
        one if one.len() == 1 => Type::Param(one.into()),
        name => Type::Opaque(name.into(), Vec::new()),
    }
}

/// The parts between commas that are in no brackets.
pub fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (i, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text.get(start..i).unwrap_or_default());
                start = i + 1;
            }
            _ => {}
        }
    }
    let last = text.get(start..).unwrap_or_default();
    if !last.trim().is_empty() || !parts.is_empty() {
        parts.push(last);
    }
    parts
}
