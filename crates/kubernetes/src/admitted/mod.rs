//! Which objects an API server admits, and the form in which admission webhooks see them.
//!
//! In: a kind and an object that is to be created. Out: the object as a validating webhook sees it,
//! or where and why it is refused. Semantics: kube-apiserver with its default admission
//! plugins except ServiceAccount and with `--allow-privileged`, each release of
//! `docs/semantics/kubernetes-releases.md`; recorded with `conformance/reference/admitted.py`.
//!
//! - Values of wrong types are refused, unknown fields are dropped, empty values that Go's encoding
//!   leaves out are dropped ([`super::go`] says which stay), defaults are filled in
//!   ([`super::defaults`]), and what creation and the plugins write is added (`filled.rs`).
//! - `rules.txt` says what each field may be; a field without a row, and an object of which it is
//!   doubtful whether the server takes it, is refused. So what is admitted here is admitted by the
//!   server; the reverse does not always hold.
//! - What the server chooses is left out (uid, resourceVersion, creationTimestamp, generation,
//!   managedFields), or is an example (addresses and node ports of Services, the uid in the labels
//!   of Jobs).
//! - `alternatives`: what objects have in place of each other, from `alternatives.txt` and the
//!   groups of `rules.txt`
//! - `certain`: what an API server refuses, whatever else an object has
//! - `check`: checks an object against `rules.txt`, field by field, in the order of the schema
//! - `encode`: which empty values an object shows: those that Go's encoding leaves out are as if
//!   they had not been written
//! - `filled`: what an API server writes into an object besides defaults: fields with two names,
//!   creation, admission plugins
//! - `formats`: the forms of texts that `rules.txt` names
//! - `kinds`: checks across the fields of an object: its name, its selector and template, and what
//!   its kind allows of a pod
//! - `local`: checks of an object's own fields that are more than a row of `rules.txt` can say
//! - `pods`: checks across the fields of a pod's specification: names that must exist or be unique,
//!   and what depends on whether it is a Pod or a template
//! - `refusal`: where and why an API server refuses an object, and questions about fields that its
//!   checks share
//! - `smallest`: the smallest objects and items of lists that an API server admits, from
//!   `smallest.txt`
//! - `table`: the rules of `rules.txt`

mod alternatives;
mod certain;
mod check;
mod encode;
mod filled;
mod formats;
mod kinds;
mod local;
mod pods;
mod refusal;
mod smallest;
mod table;
#[cfg(test)]
mod tests;

use super::decode;
use super::defaults::completed;
use super::prune::pruned;
use super::schema::{Type, TypeDef, Types};
use crate::convert::api_version;
pub use alternatives::{Alternative, Together, alternatives, companions, further, has_another, unfilled};
pub use certain::{has_nameless, has_no_quantity};
pub use encode::{as_sent, as_stored, is_shown_as_null};
use ephor_value::release::Release;
use ephor_value::{Map, Str, Value};
pub use filled::{CHOSEN, without_disabled};
pub use refusal::{Reason, Refusal};
pub use smallest::{always, item_has, required_item, smallest};
pub use table::{is_in_group, listed, may_be, needed, one_of, refuses_wildcards, unique_by};

/// Deeper parts of objects are not read.
const MAX_DEPTH: usize = 64;

/// The API server of a release, as far as it admits objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdmittingServer {
    release: Release,
}

impl AdmittingServer {
    /// That of a release.
    pub const fn of(release: Release) -> AdmittingServer {
        AdmittingServer { release }
    }

    /// The description of a kind of which something is recorded, and all others.
    fn described(self, kind: &[Str; 3]) -> Option<(&'static TypeDef, &'static Types)> {
        let types = Types::of_release(self.release);
        let def = types.of_object(kind).filter(|def| table::has_rules(&def.name))?;
        Some((def, types))
    }

    /// The object as admission sees it when it is created, or why the API server refuses it; `None`
    /// for kinds of which nothing is recorded, such as custom resources.
    pub fn admitted(self, kind: &[Str; 3], object: &Value) -> Option<Result<Value, Refusal>> {
        Some(stored_and_shown(kind, object, self.described(kind)?, true))
    }

    /// The object as admission sees it when one that is there is updated, or why the API server
    /// refuses it: pods may have ephemeral containers, which only updates of
    /// `pods/ephemeralcontainers` add. Whether the update may change what it changes is not read.
    pub fn admitted_in_update(self, kind: &[Str; 3], object: &Value) -> Option<Result<Value, Refusal>> {
        Some(stored_and_shown(kind, object, self.described(kind)?, false))
    }

    /// The fields of an object for which an API server refuses it whatever else it has, as paths
    /// with positions of items: new objects have none of them; `is_new`: whether it is created.
    pub fn never_set(self, kind: &[Str; 3], object: &Value, is_new: bool) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(described) = self.described(kind) {
            check::never_set(object, described, is_new, &mut found);
        }
        found
    }

    /// Whether an object has a text with wildcards where an API server takes none, whatever else it
    /// has.
    pub fn has_refused_wildcard(self, kind: &[Str; 3], object: &Value) -> bool {
        self.described(kind).is_some_and(|(def, types)| wildcard_in_object(object, def, types, 0))
    }

    /// The object as admission would see it if the API server did not refuse its values, such as
    /// names that repeat; `None` when it cannot be decoded, or nothing is recorded of its kind.
    /// Fields that have defaults are filled in.
    pub fn completed_as_if_admitted(self, kind: &[Str; 3], object: &Value) -> Option<Value> {
        let (def, types) = self.described(kind)?;
        let stored = stored(kind, object, def, types).ok()?;
        Some(encode::shown(&stored, def, types))
    }
}

/// [`AdmittingServer::admitted`] of the default release.
pub fn admitted(kind: &[Str; 3], object: &Value) -> Option<Result<Value, Refusal>> {
    AdmittingServer::default().admitted(kind, object)
}

/// [`AdmittingServer::admitted_in_update`] of the default release.
pub fn admitted_in_update(kind: &[Str; 3], object: &Value) -> Option<Result<Value, Refusal>> {
    AdmittingServer::default().admitted_in_update(kind, object)
}

/// [`AdmittingServer::never_set`] of the default release.
pub fn never_set(kind: &[Str; 3], object: &Value, is_new: bool) -> Vec<String> {
    AdmittingServer::default().never_set(kind, object, is_new)
}

/// [`AdmittingServer::has_refused_wildcard`] of the default release.
pub fn has_refused_wildcard(kind: &[Str; 3], object: &Value) -> bool {
    AdmittingServer::default().has_refused_wildcard(kind, object)
}

/// [`AdmittingServer::completed_as_if_admitted`] of the default release.
pub fn completed_as_if_admitted(kind: &[Str; 3], object: &Value) -> Option<Value> {
    AdmittingServer::default().completed_as_if_admitted(kind, object)
}

fn wildcard_in_object(object: &Value, def: &TypeDef, types: &Types, depth: usize) -> bool {
    object.as_map().into_iter().flat_map(Map::iter).any(|(key, value)| {
        let ty = def.field(key).map(|field| &field.ty);
        table::refuses_wildcards(&def.name, key, value)
            || ty.is_some_and(|ty| wildcard_in_value(value, ty, types, depth + 1))
    })
}

fn wildcard_in_value(value: &Value, ty: &Type, types: &Types, depth: usize) -> bool {
    match (ty, value) {
        _ if depth > MAX_DEPTH => false,
        (Type::Named(name, _), Value::Map(_)) => {
            types.named(name).is_some_and(|def| wildcard_in_object(value, def, types, depth))
        }
        (Type::List(_, item), Value::List(items)) => {
            items.iter().any(|one| wildcard_in_value(one, item, types, depth + 1))
        }
        (Type::Map(below, _), Value::Map(map)) => {
            map.iter().any(|(_, one)| wildcard_in_value(one, below, types, depth + 1))
        }
        _ => false,
    }
}

/// Group, version and kind that an object names; `None` when it names none.
pub fn kind_of(object: &Value) -> Option<[Str; 3]> {
    let (api_version, kind) = (object.text_at(&["apiVersion"]), object.text_at(&["kind"]));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    (!version.is_empty() && !kind.is_empty()).then(|| [group.into(), version.into(), kind.into()])
}

fn stored_and_shown(
    kind: &[Str; 3],
    object: &Value,
    (def, types): (&TypeDef, &Types),
    is_new: bool,
) -> Result<Value, Refusal> {
    let stored = stored(kind, object, def, types)?;
    check::check(kind, &stored, (def, types), is_new)?;
    Ok(encode::shown(&stored, def, types))
}

/// The object with what the API server drops and fills in, before its values are checked.
fn stored(kind: &[Str; 3], object: &Value, def: &TypeDef, types: &Types) -> Result<Value, Refusal> {
    let map = object.as_map().ok_or_else(|| Refusal::new("", Reason::Type))?;
    let named = named_as(kind, map)?;
    if decode::problems(object, def, types).wrong.is_some() {
        return Err(Refusal::new("", Reason::Type));
    }
    kinds::sent(&kind[2], &named)?;
    check::decodes(&named, def, types)?;
    let decoded = encode::without_empty(&pruned(&named, def, types), def, types);
    let decoded = filled::decoded(decoded, def);
    let complete = encode::without_empty(&completed(&decoded, def, types), def, types);
    match def.field("metadata") {
        Some(_) => filled::stored(kind, complete, types.release()),
        // What is sent to a subresource has none; here it says which object that is.
        None => {
            for (key, form) in [("name", "subdomain"), ("namespace", "label")] {
                let text = named.at(&["metadata", key]).and_then(Value::as_str);
                if text.is_some_and(|text| formats::fits(form, text) != Some(true)) {
                    return Err(Refusal::new(format!("metadata.{key}"), Reason::Invalid));
                }
            }
            Ok(match named.get("metadata") {
                Some(metadata) => complete.with("metadata", metadata.clone()),
                None => complete,
            })
        }
    }
}

/// The object with the kind that it is sent as.
fn named_as(kind: &[Str; 3], map: &Map) -> Result<Value, Refusal> {
    let (api_version, name) = (api_version(kind), &kind[2]);
    let mut out = map.clone();
    for (key, wanted) in [("apiVersion", api_version.as_str()), ("kind", name)] {
        match map.get(key) {
            Some(Value::Str(text)) if **text == *wanted => {}
            None => drop(out.insert(key, Value::from(wanted))),
            Some(_) => return Err(Refusal::new(key, Reason::Invalid)),
        }
    }
    Ok(Value::Map(out))
}
