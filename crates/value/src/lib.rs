//! The value model shared by every policy language.
//!
//! A [`Value`] is a JSON-like tree whose parts are reference counted: a clone costs a counter,
//! never a copy, so a rule reads the request's document in place and keeps what it needs. Three
//! number kinds stay apart, because both languages can see the difference: JSON `1` and `1.0`
//! differ in CEL, and a JMESPath expression takes an [`Value::Int`] for a foreign "host integer"
//! while [`Value::Float`] is its ordinary number. Object keys keep the order in which they were
//! written.
//!
//! In: parsed documents, literals of policies, results of functions. Out: the same, to rules,
//! messages and reports. The module knows nothing of policies.
//!
//! - [`address`]: addresses in the brackets of a URL, with the reasons why a text is none
//! - [`budget`]: what an evaluation may use: time, memory, and variables that data bring in
//! - [`bytes`]: bytes as text: base64 and UTF-8, as Go reads them
//! - [`clock`]: the clock that everything reads which also runs in a browser
//! - [`cron`]: cron schedules, as Kyverno 1.19.1 computes the next run of cleanup and deleting
//!   policies
//! - [`duration`]: durations in Go's syntax (`1h30m`, `-1.5h`, `250ms`), the only duration parser
//!   of the program
//! - `encoding`: values as JSON that loses nothing, through `serde`
//! - [`environment`]: the environment variables that the program reads, those of its flags aside
//! - [`fault`]: what goes wrong while an expression is evaluated
//! - [`file_path`]: paths of files as texts
//! - [`footprint`]: what values keep alive on the heap, for caches that have a limit
//! - `identity`: whether two values are one and the same: what `==` says of values
//! - [`image`]: container image references
//! - [`list`]: a shared, immutable run of values
//! - `local_zone`: the time zone of the machine: `TZ`, or what the system is set to
//! - [`map`]: objects: shared maps that keep their keys in the order in which they were written
//! - [`names`]: names, label keys and label values of Kubernetes objects: what is well-formed, and
//!   the texts that say what is not
//! - [`number`]: numbers as text, the way the reference's language prints and reads them
//! - [`object`]: values of kinds that only expressions know
//! - [`parallel`]: work on many threads: with the feature `parallel`, else on the caller's
//! - [`path`]: dotted paths of injected values: `cm.data."a.b"`
//! - [`place`]: places in a document: the keys and indices that lead from the root to a part of it
//! - `plain_json`: values of `serde_json` as values, and back
//! - [`mod@print`]: values as text: JSON, and the display text that messages and operators use
//! - [`quantity`]: Kubernetes resource quantities (`500m`, `1.5Gi`, `2e3`), the only quantity type
//!   of the program
//! - [`quote`]: text in quotes the way Kyverno 1.19.1's messages show it (`%q`): `"a\tb\u200b"`
//! - [`range`]: range texts of condition values: `1-10`, `128Mi-1Gi`, `10s!-1m`
//! - [`release`]: releases of Kubernetes
//! - [`replace`]: replacing parts of a text where what is around them allows it
//! - [`semver`]: semantic versions and the range language of `semver_compare`
//! - [`shard`]: dividing objects over runs and replicas by what they are known by
//! - [`stack`]: room on the stack for recursion whose depth data or policies decide
//! - [`stock`]: texts of the program that many values share
//! - [`suggest`]: what a misspelt name was probably meant to be
//! - [`time`]: points in time and Go's time layouts
//! - `time_layout`: reading times by a layout: the element scanner and the parser behind
//!   `Time::parse`
//! - [`ttl`]: the label `cleanup.kyverno.io/ttl`: how long an object may live, or until when
//! - [`url`]: URLs as Go reads and writes them
//! - [`variables`]: variables `{{ … }}` and references `$(…)` in texts
//! - [`view`]: views of typed objects: data that CEL sees as values of Go types
//! - `whole`: whole numbers as an API server keeps them: an object that was written as JSON and
//!   read back holds integers wherever a number is written without fraction and exponent and fits
//!   64 bits, and doubles everywhere else
//! - [`wildcard`]: wildcard matching, the only one in the program
#![forbid(unsafe_code)]

pub mod address;
pub mod budget;
pub mod bytes;
pub mod clock;
pub mod cron;
pub mod duration;
mod encoding;
pub mod environment;
pub mod fault;
pub mod file_path;
pub mod footprint;
mod identity;
pub mod image;
pub mod list;
mod local_zone;
pub mod map;
pub mod names;
pub mod number;
pub mod object;
pub mod parallel;
pub mod path;
pub mod place;
mod plain_json;
pub mod print;
pub mod quantity;
pub mod quote;
pub mod range;
pub mod release;
pub mod replace;
pub mod semver;
pub mod shard;
pub mod stack;
pub mod stock;
pub mod suggest;
pub mod time;
mod time_layout;
pub mod ttl;
pub mod url;
pub mod variables;
pub mod view;
mod whole;
pub mod wildcard;

use std::cmp::Ordering;
use std::sync::Arc;

pub use fault::Fault;
pub use list::List;
pub use map::Map;
pub use object::Object;

/// A shared immutable string.
pub type Str = Arc<str>;

/// A JSON-like value; see the module page.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// JSON `null`.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer; a "host integer" for JMESPath.
    Int(i64),
    /// An unsigned integer above `i64::MAX`, or a CEL `uint`.
    UInt(u64),
    /// An IEEE double; the number type of JMESPath.
    Float(f64),
    /// Text.
    Str(Str),
    /// A list.
    List(List),
    /// An object with its keys in the order in which they were written.
    Map(Map),
    /// Bytes (CEL).
    Bytes(Arc<[u8]>),
    /// A signed number of nanoseconds (CEL).
    Duration(i64),
    /// A point in time (CEL).
    Timestamp(time::Time),
    /// A value of a kind that only expressions know (CEL).
    Object(Arc<Object>),
}

impl Value {
    /// Text as a value.
    pub fn str(s: impl Into<Str>) -> Self {
        Value::Str(s.into())
    }

    /// An object of the given members.
    pub fn map<const N: usize>(members: [(&str, Value); N]) -> Self {
        Value::Map(members.into_iter().map(|(key, value)| (Str::from(key), value)).collect())
    }

    /// A list of the given items.
    pub fn list(items: Vec<Value>) -> Self {
        Value::List(List::from(items))
    }

    /// The text of a string, `None` for every other kind.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(s) => Some(s),
            _ => None,
        }
    }

    /// The boolean, `None` for every other kind.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The items of a list, `None` for every other kind.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(l) => Some(l),
            _ => None,
        }
    }

    /// The object, `None` for every other kind.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(m) => Some(m),
            _ => None,
        }
    }

    /// The type's name in the texts of JSON decoders.
    pub fn json_type(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::UInt(_) | Value::Float(_) => "number",
            Value::List(_) => "array",
            Value::Map(_) | Value::Object(_) => "object",
            Value::Str(_) | Value::Bytes(_) | Value::Duration(_) | Value::Timestamp(_) => "string",
        }
    }

    /// Whether this is JSON `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether an API leaves this out: null, an empty text, an empty list, an object without
    /// members.
    pub fn is_empty(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Str(s) => s.is_empty(),
            Value::List(l) => l.is_empty(),
            Value::Map(m) => m.is_empty(),
            _ => false,
        }
    }

    /// The member `key` of an object; `None` when this is no object or has no such key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map().and_then(|m| m.get(key))
    }

    /// A copy of this object with another member; what is no object counts as an empty one.
    pub fn with(&self, key: &str, value: Value) -> Value {
        let mut members = self.as_map().cloned().unwrap_or_default();
        members.insert(key, value);
        Value::Map(members)
    }

    /// Follows object keys from here; `None` as soon as one is missing.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self, |v, k| v.get(k))
    }

    /// The text found by following `path`, or `""`.
    pub fn text_at(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or("")
    }

    /// The number if it is a signed integer, `None` otherwise.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(i) => Some(*i),
            _ => None,
        }
    }

    /// The number as a double: any of the three number kinds, `None` otherwise.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Int(i) => Some(*i as f64),
            Value::UInt(u) => Some(*u as f64),
            Value::Float(f) => Some(*f),
            _ => None,
        }
    }

    /// A copy in which every integer is a double, as a generic JSON parse would have given it.
    /// Parts without integers are shared with the original.
    pub fn with_float_numbers(&self) -> Value {
        self.floating().unwrap_or_else(|| self.clone())
    }

    /// The same, `None` without integers.
    fn floating(&self) -> Option<Value> {
        match self {
            Value::Int(i) => Some(Value::Float(*i as f64)),
            Value::UInt(u) => Some(Value::Float(*u as f64)),
            Value::List(_) | Value::Map(_) => stack::deep(|| self.changed_inside(Value::floating)),
            _ => None,
        }
    }

    /// A copy in which items of a list or values of an object are what `change` makes of them;
    /// `None` when it changes none. Reads each once.
    pub(crate) fn changed_inside(&self, change: fn(&Value) -> Option<Value>) -> Option<Value> {
        fn first<'v>(
            mut values: impl Iterator<Item = &'v Value>,
            change: fn(&Value) -> Option<Value>,
        ) -> Option<(usize, Option<Value>)> {
            let mut at = 0;
            values.find_map(|v| {
                at += 1;
                change(v).map(|made| (at - 1, Some(made)))
            })
        }
        let made = |i: usize, v: &Value, (at, first): &mut (usize, Option<Value>)| match i.cmp(at) {
            Ordering::Less => v.clone(),
            Ordering::Equal => first.take().unwrap_or_default(),
            Ordering::Greater => change(v).unwrap_or_else(|| v.clone()),
        };
        match self {
            Value::List(items) => {
                let mut first = first(items.iter(), change)?;
                Some(Value::list(items.iter().enumerate().map(|(i, v)| made(i, v, &mut first)).collect()))
            }
            Value::Map(m) => {
                let mut first = first(m.values(), change)?;
                let entries = m.iter().enumerate().map(|(i, (k, v))| (k.clone(), made(i, v, &mut first)));
                Some(Value::Map(Map::from_unique(entries.collect())))
            }
            _ => None,
        }
    }

    /// Whether some string or key inside satisfies `test`.
    pub fn any_text(&self, test: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Value::Str(s) => test(s),
            Value::List(l) => stack::deep(|| l.iter().any(|v| v.any_text(test))),
            Value::Map(m) => stack::deep(|| m.iter().any(|(k, v)| test(k) || v.any_text(test))),
            _ => false,
        }
    }

    /// Deep equality that keeps number kinds apart (`1` and `1.0` differ) and ignores key order.
    pub fn strict_eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::UInt(a), Value::UInt(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::List(a), Value::List(b)) => {
                a.is_opaque() == b.is_opaque()
                    && a.len() == b.len()
                    && budget::steps(a.len()).is_ok()
                    && stack::deep(|| a.iter().zip(b.iter()).all(|(x, y)| x.strict_eq(y)))
            }
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len()
                    && budget::steps(a.len()).is_ok()
                    && stack::deep(|| a.iter().all(|(k, v)| b.get(k).is_some_and(|w| v.strict_eq(w))))
            }
            _ => false,
        }
    }

    /// Deep equality of JSON documents: numbers compare by value whatever their kind.
    pub fn json_eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::List(a), Value::List(b)) => {
                a.len() == b.len()
                    && budget::steps(a.len()).is_ok()
                    && stack::deep(|| a.iter().zip(b.iter()).all(|(x, y)| x.json_eq(y)))
            }
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len()
                    && budget::steps(a.len()).is_ok()
                    && stack::deep(|| a.iter().all(|(k, v)| b.get(k).is_some_and(|w| v.json_eq(w))))
            }
            _ => match (self.as_number(), other.as_number()) {
                (Some(a), Some(b)) => a == b,
                _ => self.strict_eq(other),
            },
        }
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}

impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Value::Int(i)
    }
}

impl From<f64> for Value {
    fn from(f: f64) -> Self {
        Value::Float(f)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Value::Str(s.into())
    }
}

impl From<String> for Value {
    fn from(s: String) -> Self {
        Value::Str(s.into())
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Value::list(items)
    }
}

impl From<Map> for Value {
    fn from(m: Map) -> Self {
        Value::Map(m)
    }
}

#[cfg(test)]
mod tests;
