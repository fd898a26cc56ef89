//! Schemas of the policy objects of groups `kyverno.io` and `policies.kyverno.io`: unknown fields,
//! types, defaults.
//!
//! In: one parsed document. Out: the same with the defaults filled in at the end of their objects,
//! or why it is refused. Semantics: sections 1, 2 and 4 of the policy object specification. The
//! tables are in [`policy`], [`others`], [`reviews`] and [`common`], in the words of [`shape`];
//! [`mod@print`] writes typed objects the way messages quote them, [`definitions`] the
//! CustomResourceDefinitions of clusters.
//!
//! The steps, in order, each ending the check when it finds something:
//! 1. kind and version have a table, and the document is not absurdly deep;
//! 2. no unknown fields; 3. `metadata` decodes; 4. types, choices, requirements;
//! 5. parts without a schema decode (conditions, nested loops).
//!
//! - `check`: the walk over a document along its schema table: unknown fields, types, defaults
//! - [`common`]: schema tables of the parts that several rule bodies share: match blocks,
//!   selectors, conditions, context entries, signature attestors
//! - `decode`: the second, typed decoding: parts that the schema leaves free but that must have a
//!   shape
//! - [`definitions`]: CustomResourceDefinitions of the kinds that ephor reads and writes, from the
//!   schema tables
//! - [`json_schema`]: JSON schemas for editors and validators, from the definitions of the kinds
//! - `meta`: `metadata`: the fields of every Kubernetes object
//! - `openapi`: a schema table as the structural schema of a CustomResourceDefinition
//! - [`native_schema`]: JSON schemas of Kubernetes' own kinds
//! - [`others`]: schema tables of exceptions and cleanup policies, and which table serves which
//!   kind and version
//! - [`policy`]: schema tables of ClusterPolicy and Policy
//! - [`mod@print`]: typed objects as JSON, the way messages quote them
//! - `problem`: one thing that is wrong with a document
//! - `records`: schema tables of what a cluster holds besides policies: work for the background and
//!   data that policies share
//! - `reports`: schema tables of reports: those of the policy working group, and their successors
//!   of `openreports.io`
//! - [`reviews`]: schema tables of group `policies.kyverno.io`: Kyverno's CEL policies and
//!   exceptions from them
//! - [`shape`]: the vocabulary of the schema tables: what a field may hold
//! - `walk`: where a walk over a document is, and what it found

mod check;
pub mod common;
mod decode;
pub mod definitions;
pub mod json_schema;
mod meta;
pub mod native_schema;
mod openapi;
pub mod others;
pub mod policy;
pub mod print;
mod problem;
mod records;
mod reports;
pub mod reviews;
pub mod shape;
mod walk;

use std::fmt;

use super::MAX_DEPTH;
use ephor_value::place::PathPart;
use ephor_value::{Map, Value};
use others::SERVED;
use walk::Walk;

pub use problem::Problem;

/// Why a document is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaError {
    /// There is no schema for its kind and version.
    UnknownKind(String),
    /// It is nested too deeply to be a policy.
    TooDeep,
    /// It has fields that the schema does not know; fatal for the whole file.
    UnknownFields(Vec<Problem>),
    /// Its metadata has a wrong type.
    Malformed(Problem),
    /// It breaks the schema.
    Invalid {
        /// The kind with its group, `ClusterPolicy.kyverno.io`.
        kind: String,
        /// The object's name.
        name: String,
        /// What is wrong.
        problems: Vec<Problem>,
    },
    /// It fits the schema, but a free part has a shape that cannot be decoded; fatal for the file.
    Undecodable {
        /// Group and version.
        api_version: String,
        /// Kind.
        kind: String,
        /// What could not be decoded.
        problem: Problem,
    },
}

impl SchemaError {
    /// Whether no document of the same file may be loaded.
    pub fn is_fatal(&self) -> bool {
        matches!(self, SchemaError::UnknownFields(_) | SchemaError::Undecodable { .. })
    }

    /// What is wrong and where, as far as places are known.
    pub fn problems(&self) -> &[Problem] {
        match self {
            SchemaError::UnknownFields(problems) | SchemaError::Invalid { problems, .. } => problems,
            SchemaError::Malformed(problem) | SchemaError::Undecodable { problem, .. } => {
                std::slice::from_ref(problem)
            }
            SchemaError::UnknownKind(_) | SchemaError::TooDeep => &[],
        }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |problems: &[Problem], separator: &str| {
            problems.iter().map(|p| p.text.as_str()).collect::<Vec<_>>().join(separator)
        };
        match self {
            SchemaError::UnknownKind(text) => {
                write!(f, "failed to parse document (failed to retrieve validator: {text})")
            }
            SchemaError::TooDeep => write!(f, "failed to parse document (exceeded max depth)"),
            SchemaError::UnknownFields(problems) => {
                write!(f, "failed to parse document ({})", joined(problems, "\n"))
            }
            SchemaError::Malformed(problem) => write!(f, "failed to parse document ({})", problem.text),
            SchemaError::Invalid { kind, name, problems } => {
                let (open, close) = if problems.len() > 1 { ("[", "]") } else { ("", "") };
                let errors = joined(problems, ", ");
                write!(f, "failed to validate resource ({kind} \"{name}\" is invalid: {open}{errors}{close})")
            }
            SchemaError::Undecodable { api_version, kind, .. } => {
                write!(f, "policy type not supported {api_version}, Kind={kind}")
            }
        }
    }
}

impl std::error::Error for SchemaError {}

/// Whether a document is of a kind and version that this module has a table for.
pub fn is_served(api_version: &str, kind: &str) -> bool {
    table(api_version, kind).is_some()
}

fn table(api_version: &str, kind: &str) -> Option<&'static shape::Object> {
    let (group, version) = api_version.split_once('/')?;
    let served = SERVED.iter().find(|s| s.group == group && s.kind == kind)?;
    served.versions.iter().find(|(served, _)| *served == version).map(|(_, table)| *table)
}

/// Checks a document against its schema and fills in defaults.
pub fn check(document: &Value) -> Result<Value, SchemaError> {
    let empty = Map::new();
    let fields = document.as_map().unwrap_or(&empty);
    let (api_version, kind) = (document.text_at(&["apiVersion"]), document.text_at(&["kind"]));
    let Some(table) = table(api_version, kind) else {
        return Err(SchemaError::UnknownKind(unknown_kind(api_version, kind)));
    };
    if is_deeper(document, MAX_DEPTH) {
        return Err(SchemaError::TooDeep);
    }
    let mut walk = Walk::default();
    let typed = |name: &str| !matches!(name, "apiVersion" | "kind" | "metadata");
    meta::unknown_fields(&mut walk, fields);
    fields.keys().filter(|k| typed(k) && table.field(k).is_none()).for_each(|k| walk.unknown(k));
    for (key, value) in fields.iter() {
        if let Some(field) = table.field(key) {
            walk.in_key(key, |walk| walk.unknown_fields(&field.kind, value));
        }
    }
    if !walk.problems.is_empty() {
        return Err(SchemaError::UnknownFields(walk.problems));
    }
    if let Some(problem) = meta::malformed(fields) {
        return Err(SchemaError::Malformed(problem));
    }
    meta::check(&mut walk, fields);
    let body: Map = fields.iter().filter(|(k, _)| typed(k)).map(|(k, v)| (k.clone(), v.clone())).collect();
    let checked = walk.object(table, &body);
    if !walk.problems.is_empty() {
        let name = document.text_at(&["metadata", "name"]).to_owned();
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = format!("{kind}.{group}");
        return Err(SchemaError::Invalid { kind, name, problems: walk.problems });
    }
    if let Some(problem) = walk.late.into_iter().next() {
        let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
        return Err(SchemaError::Undecodable { api_version, kind, problem });
    }
    let mut out = fields.clone();
    for (key, value) in checked.iter() {
        out.insert(key.clone(), value.clone());
    }
    Ok(Value::Map(out))
}

/// The document with the defaults of its schema, which it need not fit.
pub fn with_defaults(document: &Value) -> Value {
    let (api_version, kind) = (document.text_at(&["apiVersion"]), document.text_at(&["kind"]));
    let (Some(table), Some(fields)) = (table(api_version, kind), document.as_map()) else {
        return document.clone();
    };
    let spec = fields.iter().filter(|(key, _)| ***key == *"spec").map(|(k, v)| (k.clone(), v.clone()));
    let mut out = fields.clone();
    for (key, value) in Walk::default().object(table, &spec.collect()).iter() {
        out.insert(key.clone(), value.clone());
    }
    Value::Map(out)
}

/// The fields that the object at `path` of a document may have; none where any field may be there
/// or nothing is known.
pub fn fields_at(api_version: &str, kind: &str, path: &[PathPart]) -> Vec<&'static str> {
    let names = |object: &shape::Object| object.fields.iter().map(|f| f.name).collect::<Vec<_>>();
    if path.is_empty() {
        let own = table(api_version, kind).into_iter().flat_map(names);
        let own: Vec<&str> = own.collect();
        let common = ["apiVersion", "kind", "metadata"].into_iter().filter(|_| !own.is_empty());
        return common.chain(own.iter().copied()).collect();
    }
    match kind_at(api_version, kind, path) {
        Some(shape::Kind::Object(object)) => names(object),
        Some(shape::Kind::Conditions) => vec!["any", "all"],
        _ => Vec::new(),
    }
}

/// What the part at `path` of a document may hold; `None` where nothing is known of it, and for the
/// document itself.
pub fn kind_at(api_version: &str, kind: &str, path: &[PathPart]) -> Option<shape::Kind> {
    let root = table(api_version, kind)?;
    let (first, rest) = path.split_first()?;
    let first = match first {
        PathPart::Key(key) if &**key == "metadata" => shape::Kind::Object(&meta::META),
        PathPart::Key(key) => root.field(key)?.kind,
        PathPart::Index(_) => return None,
    };
    rest.iter().try_fold(first, below)
}

/// The field at `path` of a document.
pub fn field_at(api_version: &str, kind: &str, path: &[PathPart]) -> Option<&'static shape::Field> {
    let (last, above) = path.split_last()?;
    let PathPart::Key(name) = last else { return None };
    match above {
        [] => table(api_version, kind)?.field(name),
        _ => match kind_at(api_version, kind, above)? {
            shape::Kind::Object(object) => object.field(name),
            _ => None,
        },
    }
}

/// What a part of a value of this kind may hold.
fn below(kind: shape::Kind, part: &PathPart) -> Option<shape::Kind> {
    use shape::Kind::{Atomic, Conditions, List, MapOf, MutateLoops, Named, Object, Set, ValidateLoops};
    match (kind, part) {
        (Object(object), PathPart::Key(key)) => object.field(key).map(|f| f.kind),
        (MapOf(kind), PathPart::Key(_)) => Some(*kind),
        (List(kind) | Atomic(kind) | Set(kind) | Named(kind), PathPart::Index(_)) => Some(*kind),
        (ValidateLoops, PathPart::Index(_)) => Some(Object(&policy::VALIDATE_FOREACH)),
        (MutateLoops, PathPart::Index(_)) => Some(Object(&policy::MUTATE_FOREACH)),
        (Conditions, PathPart::Index(_)) => Some(Object(&common::CONDITION)),
        (Conditions, PathPart::Key(key)) if matches!(&**key, "any" | "all") => Some(common::CONDITIONS_LIST),
        _ => None,
    }
}

/// The kinds of policies and of what belongs to them, with their groups and versions.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str, Vec<&'static str>)> {
    SERVED.iter().map(|s| (s.group, s.kind, s.versions.iter().map(|(version, _)| *version).collect()))
}

/// Why a kind has no schema.
pub fn unknown_kind(api_version: &str, kind: &str) -> String {
    let known = SERVED.iter().any(|s| {
        let version = api_version.strip_prefix(s.group).and_then(|rest| rest.strip_prefix('/'));
        s.versions.iter().any(|(served, _)| version == Some(served))
    });
    if known {
        format!("kind {kind} not found in {api_version} groupversion")
    } else {
        format!("failed to locate OpenAPI spec for GV: {api_version}")
    }
}

/// Whether `value` has a part more than `levels` below it.
pub(super) fn is_deeper(value: &Value, levels: usize) -> bool {
    let mut children: Box<dyn Iterator<Item = &Value>> = match value {
        Value::List(items) => Box::new(items.iter()),
        Value::Map(fields) => Box::new(fields.values()),
        _ => return false,
    };
    levels == 0 || children.any(|child| is_deeper(child, levels - 1))
}

/// The notice that a kind of this group is deprecated, `None` for kinds that are not.
///
/// With an empty version the notice names only group and kind.
pub fn deprecation(api_version: &str, kind: &str) -> Option<String> {
    let (group, version) = api_version.split_once('/').unwrap_or((api_version, ""));
    let mut kinds = SERVED.iter().filter(|s| !s.replacement.is_empty());
    let served = kinds.find(|s| s.group == group && s.kind == kind)?;
    let slash = if version.is_empty() { "" } else { "/" };
    Some(format!(
        "{group}{slash}{version} {kind} is deprecated and will be removed in a future release; migrate to {} \
         (policies.kyverno.io), see https://kyverno.io/docs/guides/migration-to-cel/",
        served.replacement
    ))
}

#[cfg(test)]
mod tests;
