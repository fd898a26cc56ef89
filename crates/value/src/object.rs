//! Values of kinds that only expressions know.
//!
//! No document holds them; JSON printing refuses them. Equality is [`super::Value::cel_eq`].

use std::net::IpAddr;

use super::list::Order;
use super::quantity::Quantity;
use super::semver::Version;
use super::view::ViewEquality;
use super::{List, Map, Str, Value, budget, stack};

/// The type of Kyverno's references of images.
pub const IMAGE: &str = "kyverno.image";

/// See the module page.
#[derive(Clone, Debug)]
pub enum Object {
    /// A value that may be missing.
    Optional(Option<Value>),
    /// A type, by its name.
    Type(Str),
    /// A map with keys that are not all strings, in the order of insertion.
    Keyed(Vec<(Value, Value)>),
    /// A Kubernetes quantity.
    Quantity(Quantity),
    /// A URL that parses, as Go writes it.
    Url(Str),
    /// An address.
    Ip(IpAddr),
    /// A network: an address as written and the length of its prefix.
    Cidr(IpAddr, u8),
    /// A semantic version.
    Semver(Version),
    /// A named format.
    Format(Str),
    /// What does not fit its schema: reading it is this fault.
    Invalid(Str),
    /// A message literal with the fields that were set.
    Struct(Str, Map),
    /// A question to the authorizer.
    Check(Check),
    /// The authorizer's answer.
    Decision(Decision),
}

/// A question to the authorizer, as far as it is put together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// What the question is about.
    pub about: About,
    /// The user, when it is not the one of the request: namespace and name of a service account.
    pub service_account: Option<(Str, Str)>,
    /// Path of a question about no resource.
    pub path: Str,
    /// Group.
    pub group: Str,
    /// Resource.
    pub resource: Str,
    /// Subresource.
    pub subresource: Str,
    /// Namespace.
    pub namespace: Str,
    /// Name.
    pub name: Str,
    /// Field selector as written.
    pub fields: Str,
    /// Label selector as written.
    pub labels: Str,
}

/// What a question is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum About {
    /// Nothing yet: the authorizer itself.
    #[default]
    Anything,
    /// A path.
    Path,
    /// A group.
    Group,
    /// A resource.
    Resource,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why.
    pub reason: Str,
    /// The failure of the question; empty when there was none.
    pub error: Str,
}

impl Object {
    /// The name of its type.
    pub fn type_name(&self) -> &str {
        match self {
            Object::Optional(_) => "optional_type",
            Object::Type(_) => "type",
            Object::Keyed(_) => "map",
            Object::Quantity(_) => "kubernetes.Quantity",
            Object::Url(_) => "kubernetes.URL",
            Object::Ip(_) => "net.IP",
            Object::Cidr(..) => "net.CIDR",
            Object::Semver(_) => "kubernetes.Semver",
            Object::Format(_) => "kubernetes.NamedFormat",
            Object::Invalid(_) => "error",
            // A mutation's messages have no name of their own.
            Object::Struct(name, _) if is_mutation(name) => "type",
            Object::Struct(name, _) => name,
            Object::Check(check) => match check.about {
                About::Anything => "kubernetes.authorization.Authorizer",
                About::Path => "kubernetes.authorization.PathCheck",
                About::Group => "kubernetes.authorization.GroupCheck",
                About::Resource => "kubernetes.authorization.ResourceCheck",
            },
            Object::Decision(_) => "kubernetes.authorization.Decision",
        }
    }
}

/// Whether a message type is one of mutations: `Object…`, `JSONPatch`.
pub fn is_mutation(name: &str) -> bool {
    name == "JSONPatch" || name == "Object" || name.starts_with("Object.")
}

impl Value {
    /// The name of its type in CEL.
    pub fn cel_type(&self) -> &str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::UInt(_) => "uint",
            Value::Float(_) => "double",
            Value::Str(_) => "string",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Bytes(_) => "bytes",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::Object(o) => o.type_name(),
        }
    }

    /// An object value.
    pub fn object(o: Object) -> Value {
        Value::Object(std::sync::Arc::new(o))
    }

    /// A value that may be missing.
    pub fn optional(v: Option<Value>) -> Value {
        Value::object(Object::Optional(v))
    }

    /// What an optional value holds; `None` for values of other kinds.
    pub fn as_optional(&self) -> Option<Option<&Value>> {
        match self {
            Value::Object(o) => match &**o {
                Object::Optional(v) => Some(v.as_ref()),
                _ => None,
            },
            _ => None,
        }
    }

    /// CEL's equality; values that cannot be compared are unequal.
    pub fn cel_eq(&self, other: &Value) -> bool {
        self.cel_equal(other) == Some(true)
    }

    /// CEL's equality: numbers by value across their kinds, values of other kinds are unequal.
    /// `None` when a library's value meets another kind, or has no equality. Inside of lists and
    /// maps that counts as equal, as in the reference.
    pub fn cel_equal(&self, other: &Value) -> Option<bool> {
        if let Value::Object(o) = self {
            match &**o {
                Object::Check(_) | Object::Decision(_) | Object::Invalid(_) => return None,
                Object::Quantity(_)
                | Object::Ip(_)
                | Object::Cidr(..)
                | Object::Url(_)
                | Object::Semver(_)
                | Object::Format(_)
                    if self.cel_type() != other.cel_type() =>
                {
                    return None;
                }
                // A sum on the right is another Go type, with which nothing can be compared.
                Object::Quantity(_) if other.is_computed_quantity() => return None,
                // References of images are only compared with their like.
                Object::Struct(name, _) if &**name == IMAGE && self.cel_type() != other.cel_type() => {
                    return None;
                }
                Object::Optional(Some(a)) => {
                    if let Some(Some(b)) = other.as_optional() {
                        return a.cel_equal(b);
                    }
                }
                _ => {}
            }
        }
        match self.view_equal(other) {
            Some(ViewEquality::Known(equal)) => Some(equal),
            Some(ViewEquality::NoOverload) => None,
            None => Some(self.comparable_eq(other)),
        }
    }

    fn is_computed_quantity(&self) -> bool {
        matches!(self, Value::Object(o) if matches!(&**o, Object::Quantity(quantity) if quantity.is_computed()))
    }

    fn inner_eq(&self, other: &Value) -> bool {
        self.cel_equal(other) != Some(false)
    }

    fn comparable_eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::List(a), Value::List(b)) => stack::deep(|| lists_equal(a, b)),
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len()
                    && budget::steps(a.len()).is_ok()
                    && stack::deep(|| a.iter().all(|(k, v)| b.get(k).is_some_and(|w| v.inner_eq(w))))
            }
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::Duration(a), Value::Duration(b)) => a == b,
            (Value::Timestamp(a), Value::Timestamp(b)) => a.unix_nanos() == b.unix_nanos(),
            (Value::Object(a), Value::Object(b)) => stack::deep(|| objects_equal(a, b)),
            (Value::Object(a), b @ Value::Map(_)) | (b @ Value::Map(_), Value::Object(a)) => match &**a {
                Object::Keyed(entries) => keyed_equals(entries, b),
                _ => false,
            },
            (
                Value::Int(_) | Value::UInt(_) | Value::Float(_),
                Value::Int(_) | Value::UInt(_) | Value::Float(_),
            ) => number_order(self, other) == Some(std::cmp::Ordering::Equal),
            _ => self.strict_eq(other),
        }
    }

    /// The entry of a map under a key of any kind. Numbers are found by value, but no whole one
    /// finds a double. `None` when this is no map.
    pub fn cel_entry(&self, key: &Value) -> Option<Option<&Value>> {
        match (self, key) {
            (Value::Map(m), Value::Str(k)) => Some(m.get(k)),
            (Value::Map(_), _) => Some(None),
            (Value::Object(o), key) => match &**o {
                Object::Keyed(entries) => {
                    Some(entries.iter().find(|(k, _)| is_found_by(k, key)).map(|(_, v)| v))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether the entry of a map's key is found by another key.
pub fn is_found_by(known: &Value, key: &Value) -> bool {
    !matches!((known, key), (Value::Float(_), Value::Int(_) | Value::UInt(_))) && known.cel_eq(key)
}

fn lists_equal(a: &List, b: &List) -> bool {
    if a.len() != b.len() || budget::steps(a.len()).is_err() {
        return false;
    }
    let has_steps = || budget::steps(b.len()).is_ok();
    match a.order() {
        Order::Positions => a.iter().zip(b.iter()).all(|(x, y)| x.inner_eq(y)),
        Order::Values => a.iter().all(|x| has_steps() && b.iter().any(|y| x.cel_eq(y))),
        Order::Members(keys) => {
            a.iter().all(|x| has_steps() && same_item(b, keys, x).is_some_and(|y| x.inner_eq(y)))
        }
    }
}

/// The item that has the same members under these keys.
fn same_item<'l>(list: &'l [Value], keys: &[Str], item: &Value) -> Option<&'l Value> {
    let same = |a: Option<&Value>, b: Option<&Value>| match (a, b) {
        (Some(a), Some(b)) => a.cel_eq(b),
        (a, b) => a.is_none() && b.is_none(),
    };
    list.iter().find(|one| keys.iter().all(|k| same(one.get(k), item.get(k))))
}

/// CEL's sum of two lists: the order of the left one decides whether items of the right one replace
/// or repeat those that are there, and what it is declared to hold decides how they are read.
pub fn list_sum(a: &List, b: &List) -> List {
    let mut out: Vec<Value> = a.to_vec();
    match a.order() {
        Order::Positions => out.extend(b.iter().map(|item| a.read(item))),
        Order::Values => {
            for item in b {
                if budget::steps(1 + a.len()).is_err() {
                    break;
                }
                if !a.iter().any(|x| x.cel_eq(item)) {
                    out.push(a.read(item));
                }
            }
        }
        Order::Members(keys) => {
            for item in b {
                if budget::steps(1 + out.len()).is_err() {
                    break;
                }
                let at =
                    out.iter().position(|one| same_item(std::slice::from_ref(one), keys, item).is_some());
                match at.and_then(|at| out.get_mut(at)) {
                    Some(slot) => *slot = a.read(item),
                    None => out.push(a.read(item)),
                }
            }
        }
    }
    a.with_items(out)
}

fn keyed_equals(entries: &[(Value, Value)], other: &Value) -> bool {
    let count = match other {
        Value::Map(m) => m.len(),
        Value::Object(o) => match &**o {
            Object::Keyed(e) => e.len(),
            _ => return false,
        },
        _ => return false,
    };
    entries.len() == count
        && entries.iter().all(|(k, v)| other.cel_entry(k).flatten().is_some_and(|w| v.inner_eq(w)))
}

fn objects_equal(a: &Object, b: &Object) -> bool {
    match (a, b) {
        (Object::Optional(a), Object::Optional(b)) => match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => a.cel_eq(b),
            _ => false,
        },
        (Object::Type(a), Object::Type(b)) | (Object::Url(a), Object::Url(b)) => a == b,
        (Object::Keyed(a), Object::Keyed(b)) => {
            a.len() == b.len()
                && a.iter().all(|(k, v)| b.iter().any(|(l, w)| is_found_by(l, k) && v.inner_eq(w)))
        }
        (Object::Quantity(a), Object::Quantity(b)) => a.cmp(b).is_eq(),
        (Object::Ip(a), Object::Ip(b)) => a == b,
        (Object::Cidr(a, p), Object::Cidr(b, q)) => a == b && p == q,
        (Object::Semver(a), Object::Semver(b)) => a.cmp(b).is_eq(),
        (Object::Format(a), Object::Format(b)) => a == b,
        (Object::Struct(n, a), Object::Struct(o, b)) => {
            n == o && Value::Map(a.clone()).cel_eq(&Value::Map(b.clone()))
        }
        (Object::Check(a), Object::Check(b)) => a == b,
        (Object::Decision(a), Object::Decision(b)) => a == b,
        _ => false,
    }
}

/// The order of two numbers by value; `None` with a NaN or something that is no number. A whole
/// number is compared with a double as a double, unless the double is out of its range.
pub fn number_order(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    let whole = |v: &Value| match v {
        Value::Int(i) => Some(i128::from(*i)),
        Value::UInt(u) => Some(i128::from(*u)),
        _ => None,
    };
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => x.partial_cmp(y),
        (Value::Float(x), y) => float_order(*x, y),
        (x, Value::Float(y)) => float_order(*y, x).map(std::cmp::Ordering::reverse),
        (x, y) => Some(whole(x)?.cmp(&whole(y)?)),
    }
}

fn float_order(x: f64, y: &Value) -> Option<std::cmp::Ordering> {
    let (low, high, y) = match y {
        Value::Int(i) => (i64::MIN as f64, i64::MAX as f64, *i as f64),
        Value::UInt(u) => (0.0, u64::MAX as f64, *u as f64),
        _ => return None,
    };
    if x < low {
        return Some(std::cmp::Ordering::Less);
    }
    if x > high {
        return Some(std::cmp::Ordering::Greater);
    }
    x.partial_cmp(&y)
}
