//! The types of Kubernetes objects that hold pods, one line a field.
//!
//! In: a kind. Out: its [`Struct`], for decoding and for the Go names that error texts show. The
//! tables list every field of the API (core/v1, apps/v1, batch/v1, meta/v1) that Kyverno knows.

mod affinity;
mod container;
mod controller;
mod meta;
mod pod;
mod status;
mod volume;

/// A Go struct.
#[derive(Debug)]
pub struct Struct {
    /// Its name without the package, which is always `v1`.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// Its name in JSON.
    pub key: &'static str,
    /// The embedded struct that it comes from, empty for an own field.
    pub via: &'static str,
    /// What it holds.
    pub kind: Kind,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Anything.
    Any,
    /// A boolean.
    Bool,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// Text, with the name of its Go type.
    Text(&'static str),
    /// A quantity.
    Quantity,
    /// A time as RFC 3339.
    Time,
    /// A number or a name (`IntOrString`).
    Port,
    /// A struct.
    Struct(&'static Struct),
    /// A list.
    List(&'static Kind),
    /// A map from text.
    Map(&'static Kind),
    /// A map from text with a name of its own.
    NamedMap(&'static str, &'static Kind),
}

use Kind::{Bool, Int32, Int64, List, Map, Port, Quantity, Time};

/// Plain text.
const STRING: Kind = Kind::Text("string");
/// A list of plain texts.
const STRINGS: Kind = List(&STRING);
/// A map of plain texts.
const STRING_MAP: Kind = Map(&STRING);
/// Amounts by resource.
const RESOURCES: Kind = Kind::NamedMap("v1.ResourceList", &Quantity);

const fn of(key: &'static str, kind: Kind) -> Field {
    Field { key, via: "", kind }
}

const fn via(via: &'static str, key: &'static str, kind: Kind) -> Field {
    Field { key, via, kind }
}

const fn text(key: &'static str) -> Field {
    of(key, STRING)
}

const fn named(key: &'static str, go: &'static str) -> Field {
    of(key, Kind::Text(go))
}

const fn flag(key: &'static str) -> Field {
    of(key, Bool)
}

const fn int32(key: &'static str) -> Field {
    of(key, Int32)
}

const fn int64(key: &'static str) -> Field {
    of(key, Int64)
}

const fn one(key: &'static str, shape: &'static Struct) -> Field {
    of(key, Kind::Struct(shape))
}

const fn shape(name: &'static str, fields: &'static [Field]) -> Struct {
    Struct { name, fields }
}

impl Kind {
    /// The Go type as error texts show it.
    pub fn go_type(&self) -> String {
        match self {
            Kind::Any => "interface {}".into(),
            Bool => "bool".into(),
            Int32 => "int32".into(),
            Int64 => "int64".into(),
            Kind::Text(name) | Kind::NamedMap(name, _) => (*name).into(),
            Quantity => "resource.Quantity".into(),
            Time => "v1.Time".into(),
            Port => "intstr.IntOrString".into(),
            Kind::Struct(s) => s.go_type(),
            List(item) => format!("[]{}", item.go_type()),
            Map(item) => format!("map[string]{}", item.go_type()),
        }
    }
}

impl Struct {
    /// The Go type as error texts show it.
    pub fn go_type(&self) -> String {
        format!("v1.{}", self.name)
    }

    /// The field of exactly this name.
    pub fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.key == key)
    }

    /// The field of this name whatever its case.
    pub fn field_any_case(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|f| folded_eq(f.key, key))
    }
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

/// The struct that a kind of object is decoded as. All controllers but CronJobs are taken for
/// Deployments (Kyverno's behaviour): only their errors can show it.
pub fn of_kind(kind: &str) -> Option<&'static Struct> {
    Some(match kind {
        "Pod" => &pod::POD,
        "CronJob" => &controller::CRON_JOB,
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" | "ReplicationController" | "Job" => {
            &controller::DEPLOYMENT
        }
        _ => return None,
    })
}
