//! The structured merge: an object is changed by what another one says, field by field, as its
//! schema has it.
//!
//! In: an object, a [`Part`] (what is to be changed), the types of its kind. Out: the changed
//! object, or why the change does not fit the schema. Nothing is ever removed. The tables are those
//! of [`ephor_kubernetes::decode`]; the walk is another one, because a change is no value and the
//! texts are those of structured-merge-diff, which collects all errors. Semantics:
//! `docs/semantics/admission.md`, "Answers".
//!
//! - `part`: parts of a change, and how messages show them

mod part;

use ephor_kubernetes::schema::{Leaf, ListKind, Type, TypeDef, Types, Whole};
use ephor_value::{List, Map, Str, Value, budget, stack};

pub use part::{Opaque, Part};

/// How deeply changes may nest.
const MAX_DEPTH: usize = 1_000;

/// Why a change cannot be merged, in the words of structured-merge-diff.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StructuredMergeError {
    /// Parts of the object that is changed do not fit the schema.
    #[error("failed to convert original object to typed object: {}", all(.0))]
    Original(Box<[Misfit]>),
    /// Parts of the change do not fit the schema.
    #[error("failed to convert patch object to typed object: {}", all(.0))]
    Misfits(Box<[Misfit]>),
    /// Paths of what can only be replaced.
    #[error("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}", .0.join(", "))]
    Atomic(Box<[Box<str>]>),
}

/// A part of a change that does not fit the schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {why}")]
pub struct Misfit {
    /// Its path.
    pub at: Box<str>,
    /// Why it does not fit.
    #[source]
    pub why: Mismatch,
}

fn all(misfits: &[Misfit]) -> String {
    match misfits {
        [one] => one.to_string(),
        several => {
            let lines: String = several.iter().map(|e| format!("\n  {e}")).collect();
            format!("errors:{lines}")
        }
    }
}

/// Why a part does not fit the schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The change nests too deeply.
    #[error("nested too deeply")]
    TooDeep,
    /// It is of another type.
    #[error("expected {expected}, got {got}")]
    Type {
        /// The type of the schema.
        expected: &'static str,
        /// The part, or its type.
        got: Box<str>,
    },
    /// There is no such field.
    #[error("field not declared in schema")]
    Undeclared,
    /// An item of a list with keys has none.
    #[error("element {at}: {why}")]
    Item {
        /// Its position.
        at: usize,
        /// Why it has none.
        #[source]
        why: NoKey,
    },
    /// Two items have this key.
    #[error("duplicate entries for key {0}")]
    Duplicate(Box<str>),
}

/// Why an item of a list with keys has no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKey {
    /// It is null.
    #[error("associative list {} has an element that's an explicit null", if *.has_keys { "with keys" } else { "without keys" })]
    Null {
        /// Whether items have keys, or are keys themselves.
        has_keys: bool,
    },
    /// It is no map.
    #[error("associative list with keys may not have non-map elements")]
    NoMap,
    /// The items are keys themselves, and it is a map or a list.
    #[error("associative list without keys has an element that's a {0} type")]
    NoScalar(&'static str),
    /// It has none of these fields.
    #[error(
        "associative list with keys has an element that omits all key fields [{}] (and doesn't have \
         default values for any key fields)",
        quoted(.0)
    )]
    Omitted(Box<[Str]>),
}

fn quoted(keys: &[Str]) -> String {
    let names: Vec<String> = keys.iter().map(|k| ephor_value::quote::quote(k)).collect();
    names.join(" ")
}

/// Merges a change into an object.
///
/// # Errors
/// The change does not fit, or would change what can only be replaced.
pub fn merge(
    object: &Value,
    change: &Part,
    def: &TypeDef,
    types: &Types,
) -> Result<Value, StructuredMergeError> {
    merge_with(object, change, def, types, Atomic::Refused)
}

/// What becomes of values that have no parts to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// They may not be changed.
    Refused,
    /// They are replaced as a whole.
    Replaced,
}

/// As [`merge`], with a choice on what has no parts to merge.
///
/// # Errors
/// As [`merge`].
pub fn merge_with(
    object: &Value,
    change: &Part,
    def: &TypeDef,
    types: &Types,
    atomics: Atomic,
) -> Result<Value, StructuredMergeError> {
    let ty = Type::Named(def.name.clone(), Whole::Merged);
    let mut check = Check { types, errors: Vec::new(), may_repeat: false, formatted: false };
    check.part(change, &ty, "", 0);
    if !check.errors.is_empty() {
        return Err(StructuredMergeError::Misfits(check.errors.into()));
    }
    let mut found = Vec::new();
    if atomics == Atomic::Refused {
        atomic(change, &ty, "", types, &mut found);
    }
    if !found.is_empty() {
        return Err(StructuredMergeError::Atomic(found.into()));
    }
    let mut check = Check { types, errors: Vec::new(), may_repeat: true, formatted: false };
    check.part(&Part::whole(object), &ty, "", 0);
    if !check.errors.is_empty() {
        return Err(StructuredMergeError::Original(check.errors.into()));
    }
    Ok(merged(Some(object), change, &ty, types))
}

/// Merges a change into an object of which no schema is known: maps by their keys, all else is
/// replaced.
///
/// # Errors
/// The change holds something that cannot be a part.
pub fn merge_freely(object: &Value, change: &Part) -> Result<Value, StructuredMergeError> {
    let types = Types::default();
    let mut check = Check { types: &types, errors: Vec::new(), may_repeat: false, formatted: false };
    check.free(change, "", 0);
    match check.errors.into_iter().next() {
        Some(first) => Err(StructuredMergeError::Misfits([first].into())),
        None => Ok(merged(Some(object), change, &Type::Leaf(Leaf::Any), &types)),
    }
}

fn resolved<'t>(ty: &'t Type, types: &'t Types) -> Resolved<'t> {
    match ty {
        // An integer or a text may be anything, as published schemas have it.
        Type::Leaf(Leaf::IntOrString) => Resolved::Leaf(Leaf::Any),
        Type::Leaf(leaf) => Resolved::Leaf(*leaf),
        Type::List(kind, item) => Resolved::List(kind, item),
        Type::Map(value, whole) => Resolved::Map(value, *whole),
        Type::Named(name, whole) => match types.named(name) {
            Some(def) => match def.leaf {
                Some(leaf) if def.whole == Whole::Merged => Resolved::Leaf(leaf),
                _ => Resolved::Object(def, if *whole == Whole::Atomic { *whole } else { def.whole }),
            },
            None => Resolved::Leaf(Leaf::Any),
        },
    }
}

enum Resolved<'t> {
    Leaf(Leaf),
    List(&'t ListKind, &'t Type),
    Map(&'t Type, Whole),
    Object(&'t TypeDef, Whole),
}

/// Whether a change fits.
struct Check<'t> {
    types: &'t Types,
    errors: Vec<Misfit>,
    /// Whether lists may have several items of one key, as in objects that exist.
    may_repeat: bool,
    /// Whether the texts of the field that the walk is in have a format.
    formatted: bool,
}

impl Check<'_> {
    fn refuse(&mut self, at: &str, why: Mismatch) {
        self.errors.push(Misfit { at: at.into(), why });
    }

    fn expected(&mut self, at: &str, expected: &'static str, got: impl Into<Box<str>>) {
        self.refuse(at, Mismatch::Type { expected, got: got.into() });
    }

    fn part(&mut self, part: &Part, ty: &Type, at: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return self.refuse(at, Mismatch::TooDeep);
        }
        // Null fits everywhere.
        if part.is_null() {
            return;
        }
        match resolved(ty, self.types) {
            Resolved::Leaf(Leaf::Any) => self.free(part, at, depth),
            Resolved::Leaf(leaf) => self.scalar(part, leaf, at),
            Resolved::List(kind, item) => match part {
                Part::Items(items) => self.items(items, kind, item, at, depth),
                other => self.expected(at, "list", other.describe()),
            },
            Resolved::Map(value, _) => match part {
                Part::Fields(fields) => {
                    fields.iter().for_each(|(k, v)| self.part(v, value, &format!("{at}.{k}"), depth + 1));
                }
                other => self.expected(at, "map", other.describe()),
            },
            // An object of a type that is not known is sent as anything.
            Resolved::Object(def, _) if def.leaf == Some(Leaf::Any) => self.free(part, at, depth),
            Resolved::Object(def, _) => match part {
                Part::Fields(fields) => {
                    let mut undeclared = None;
                    for (k, v) in fields {
                        let below = format!("{at}.{k}");
                        match def.field(k) {
                            Some(field) => {
                                let outer = std::mem::replace(&mut self.formatted, field.formatted);
                                self.part(v, &field.ty, &below, depth + 1);
                                self.formatted = outer;
                            }
                            // Decoding leaves out what a structure without fields is given.
                            None if def.open || def.is_empty_structure() => self.free(v, &below, depth + 1),
                            None => drop(undeclared.get_or_insert(below)),
                        }
                    }
                    // An undeclared field ends the walk through the others, whose order is random
                    // there: it comes last here.
                    if let Some(at) = undeclared {
                        self.refuse(&at, Mismatch::Undeclared);
                    }
                }
                other => self.expected(at, "map", other.describe()),
            },
        }
    }

    /// Where the schema says nothing.
    fn free(&mut self, part: &Part, at: &str, depth: usize) {
        match part {
            Part::Opaque(_) => self.expected(at, "map", part.describe()),
            Part::Fields(fields) if depth < MAX_DEPTH => {
                fields.iter().for_each(|(k, v)| self.free(v, &format!("{at}.{k}"), depth + 1));
            }
            Part::Items(items) if depth < MAX_DEPTH => {
                items.iter().enumerate().for_each(|(i, v)| self.free(v, &format!("{at}[{i}]"), depth + 1));
            }
            _ => {}
        }
    }

    fn scalar(&mut self, part: &Part, leaf: Leaf, at: &str) {
        let value = match part {
            Part::Scalar(v) => Some(v),
            _ => None,
        };
        match leaf {
            Leaf::Int32 | Leaf::Int64 | Leaf::Double => {
                if value.is_none_or(|v| v.as_number().is_none()) {
                    self.expected(at, "numeric (int or float)", part.native_type());
                }
            }
            Leaf::Bool => {
                if value.is_none_or(|v| v.as_bool().is_none()) {
                    self.expected(at, "boolean", part.describe());
                }
            }
            Leaf::Quantity | Leaf::Time | Leaf::MicroTime => self.any_scalar(part, at),
            Leaf::String if self.formatted => self.any_scalar(part, at),
            _ => {
                if value.is_none_or(|v| v.as_str().is_none()) {
                    self.expected(at, "string", part.go_value());
                }
            }
        }
    }

    fn any_scalar(&mut self, part: &Part, at: &str) {
        if !matches!(part, Part::Scalar(_)) {
            self.expected(at, "any scalar", part.describe());
        }
    }

    fn items(&mut self, items: &[Part], kind: &ListKind, item: &Type, at: &str, depth: usize) {
        let mut seen: Vec<Key> = Vec::new();
        for (i, part) in items.iter().enumerate() {
            let (place, key) = match kind {
                ListKind::Atomic => (format!("{at}[{i}]"), None),
                _ => {
                    let found = match kind {
                        ListKind::Keyed(keys) => key_of_part(part, keys, item, self.types),
                        _ => own_key(part),
                    };
                    match found {
                        Ok(key) => (format!("{at}{}", key.describe()), Some(key)),
                        // The first item without a key ends the walk through the list.
                        Err(why) => return self.refuse(at, Mismatch::Item { at: i, why }),
                    }
                }
            };
            if let Some(key) = key {
                if !self.may_repeat && seen.contains(&key) {
                    self.refuse(at, Mismatch::Duplicate(key.describe().into()));
                }
                seen.push(key);
            }
            self.part(part, item, &place, depth + 1);
        }
    }
}

/// What an item of a list is known by.
#[derive(Clone, Debug)]
struct Key(Vec<(Str, Option<Value>)>);

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|((a, x), (b, y))| {
                a == b
                    && match (x, y) {
                        (Some(x), Some(y)) => x.json_eq(y),
                        (x, y) => x.is_none() && y.is_none(),
                    }
            })
    }
}

/// How a key is shown that is no value.
const UNDEFINED: &str = "{{undefined}}";

impl Key {
    fn describe(&self) -> String {
        let text = |v: &Option<Value>| v.as_ref().map_or_else(|| UNDEFINED.into(), ephor_value::print::json);
        let mut parts: Vec<String> = self.0.iter().map(|(k, v)| format!("{k}={}", text(v))).collect();
        // Several keys are shown in the order of their names.
        parts.sort_unstable();
        format!("[{}]", parts.join(","))
    }
}

/// The default of a key field.
fn key_default(key: &str, item: &Type, types: &Types) -> Option<Value> {
    match resolved(item, types) {
        Resolved::Object(def, _) => def.field(key)?.default.clone(),
        _ => None,
    }
}

/// The key of an item; what is found in a field may be no value.
fn key_of(
    found: impl Fn(&str) -> Option<Option<Value>>,
    keys: &[Str],
    item: &Type,
    types: &Types,
) -> Option<Key> {
    let entries: Vec<(Str, Option<Value>)> = keys
        .iter()
        .filter_map(|k| Some((k.clone(), found(k).or_else(|| key_default(k, item, types).map(Some))?)))
        .collect();
    (!entries.is_empty()).then_some(Key(entries))
}

/// The key of an item that is its own; nothing for what is no value.
fn own_key(part: &Part) -> Result<Key, NoKey> {
    match part {
        Part::Scalar(Value::Null) => Err(NoKey::Null { has_keys: false }),
        Part::Fields(_) => Err(NoKey::NoScalar("map")),
        Part::Items(_) => Err(NoKey::NoScalar("list")),
        Part::Scalar(value) => Ok(Key(vec![("".into(), Some(value.clone()))])),
        Part::Opaque(_) => Ok(Key(vec![("".into(), None)])),
    }
}

fn key_of_part(part: &Part, keys: &[Str], item: &Type, types: &Types) -> Result<Key, NoKey> {
    match part {
        Part::Fields(_) => {}
        part if part.is_null() => return Err(NoKey::Null { has_keys: true }),
        _ => return Err(NoKey::NoMap),
    }
    let found = |k: &str| part.field(k).map(|part| (!matches!(part, Part::Opaque(_))).then(|| part.value()));
    key_of(found, keys, item, types).ok_or_else(|| NoKey::Omitted(keys.into()))
}

/// Collects what is replaced as a whole.
fn atomic(part: &Part, ty: &Type, at: &str, types: &Types, found: &mut Vec<Box<str>>) {
    match (resolved(ty, types), part) {
        (Resolved::Object(def, whole), Part::Fields(fields)) => {
            if whole == Whole::Atomic {
                found.push(at.into());
            }
            for (k, v) in fields {
                if let Some(field) = def.field(k) {
                    atomic(v, &field.ty, &format!("{at}.{k}"), types, found);
                }
            }
        }
        (Resolved::Map(_, Whole::Atomic), Part::Fields(_))
        | (Resolved::Object(_, Whole::Atomic), Part::Items(_)) => found.push(at.into()),
        // A list where the schema says nothing is replaced, and so are the objects in it.
        (Resolved::Leaf(Leaf::Any), Part::Items(items)) => {
            found.push(at.into());
            let objects = items.iter().enumerate().filter(|(_, item)| matches!(item, Part::Fields(_)));
            found.extend(objects.map(|(i, _)| format!("{at}[{i}]").into()));
        }
        (Resolved::List(kind, item), Part::Items(items)) => {
            if *kind == ListKind::Atomic {
                found.push(at.into());
            }
            for (i, v) in items.iter().enumerate() {
                atomic(v, item, &format!("{at}[{i}]"), types, found);
            }
        }
        _ => {}
    }
}

fn merged(old: Option<&Value>, part: &Part, ty: &Type, types: &Types) -> Value {
    match (resolved(ty, types), part) {
        (Resolved::Object(_, Whole::Atomic) | Resolved::Map(_, Whole::Atomic), _) => part.value(),
        // Nothing is merged into what has parts.
        (Resolved::Object(..) | Resolved::Map(..), part) if part.is_null() => {
            old.cloned().unwrap_or_default()
        }
        (Resolved::List(kind, _), part) if part.is_null() && *kind != ListKind::Atomic => {
            old.cloned().unwrap_or_default()
        }
        (Resolved::Object(def, _), Part::Fields(fields)) => {
            merged_fields(old, fields, |k| def.field(k).map_or(&Type::Leaf(Leaf::Any), |f| &f.ty), types)
        }
        (Resolved::Map(value, _), Part::Fields(fields)) => merged_fields(old, fields, |_| value, types),
        (Resolved::Leaf(Leaf::Any), Part::Fields(fields)) => {
            merged_fields(old, fields, |_| &Type::Leaf(Leaf::Any), types)
        }
        // No items where there are none are no list.
        (Resolved::List(kind, _), Part::Items(items))
            if *kind != ListKind::Atomic
                && items.is_empty()
                && old.and_then(Value::as_list).is_none_or(<[Value]>::is_empty) =>
        {
            Value::Null
        }
        (Resolved::List(kind, item), Part::Items(items)) if *kind != ListKind::Atomic => {
            merged_items(old, items, kind, item, types)
        }
        _ => part.value(),
    }
}

fn merged_fields<'t>(
    old: Option<&Value>,
    fields: &[(Str, Part)],
    ty: impl Fn(&str) -> &'t Type,
    types: &Types,
) -> Value {
    let mut m: Map = old.and_then(Value::as_map).cloned().unwrap_or_default();
    for (k, part) in fields {
        let v = stack::deep(|| merged(m.get(k), part, ty(k), types));
        m.insert(k.clone(), v);
    }
    Value::Map(m)
}

/// Items that both have are merged; where the order differs, that of the change counts.
fn merged_items(old: Option<&Value>, new: &[Part], kind: &ListKind, item: &Type, types: &Types) -> Value {
    let old: List = match old {
        Some(Value::List(l)) => l.clone(),
        _ => List::default(),
    };
    let new_key = |part: &Part| match kind {
        ListKind::Keyed(keys) => key_of_part(part, keys, item, types).ok(),
        _ => own_key(part).ok(),
    };
    let old_key = |v: &Value| match kind {
        ListKind::Keyed(keys) => key_of(|k| v.get(k).cloned().map(Some), keys, item, types),
        _ => Some(Key(vec![("".into(), Some(v.clone()))])),
    };
    let (left, right): (Vec<_>, Vec<_>) =
        (old.iter().map(old_key).collect(), new.iter().map(new_key).collect());
    let mut shared = right.iter().filter(|k| left.contains(k)).cloned().collect::<Vec<_>>().into_iter();
    let mut next = shared.next();
    let (mut l, mut r) = (0, 0);
    let mut done: Vec<&Option<Key>> = Vec::new();
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let both = |key: &Option<Key>, part: &Part| {
        let at = left.iter().position(|k| k == key);
        stack::deep(|| merged(at.and_then(|i| old.get(i)), part, item, types))
    };
    while l < left.len() || r < right.len() {
        // Each item is compared with all others.
        if budget::steps(1 + left.len() + right.len()).is_err() {
            break;
        }
        if let (Some(a), Some(b), Some(part)) = (left.get(l), right.get(r), new.get(r)) {
            if a == b {
                out.push(both(b, part));
                done.push(b);
                (l, r) = (l + 1, r + 1);
                next = shared.next();
                continue;
            }
            if right.contains(a) && next.is_some() && next.as_ref() != Some(a) {
                l += 1;
                continue;
            }
        }
        if let (Some(a), Some(v)) = (left.get(l), old.get(l)) {
            if !right.contains(a) {
                out.push(v.clone());
                l += 1;
                continue;
            }
            if done.contains(&a) {
                l += 1;
            }
        }
        if let (Some(b), Some(part)) = (right.get(r), new.get(r)) {
            out.push(both(b, part));
            done.push(b);
            r += 1;
            if next.as_ref() == Some(b) {
                next = shared.next();
            }
        }
    }
    Value::list(out)
}

#[cfg(test)]
mod tests;
