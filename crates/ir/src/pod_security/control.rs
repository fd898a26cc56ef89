//! The types of the Pod Security Standards' rows: controls, their versions, fields and conditions.

use ephor_value::Value;

/// Versions as the minor number of `v1.N`; the latest is above all.
pub type Minor = u32;

/// The latest version.
pub const LATEST: Minor = Minor::MAX;

/// A control: one row.
#[derive(Debug)]
pub struct Control {
    /// The name of its check.
    pub id: &'static str,
    /// Its name in exclusions; empty for one that cannot be excluded.
    pub name: &'static str,
    /// Whether the baseline level has it; the others have all.
    pub baseline: bool,
    /// What it requires since which version. The first one also counts before its version
    /// (Kyverno's behaviour).
    pub forms: &'static [ControlVersion],
}

/// What a control requires since a version.
#[derive(Debug)]
pub struct ControlVersion {
    /// The version.
    pub since: Minor,
    /// Whether pods for Windows are exempt.
    pub unless_windows: bool,
    /// Why a pod is refused: for one bad value, for several.
    pub reason: [&'static str; 2],
    /// All of these.
    pub requirements: &'static [FieldRequirement],
    /// What stands between the sentences of requirements; `None`: the first one that is not met
    /// says it all.
    pub joined: Option<&'static str>,
}

/// A requirement on fields, with the sentence that says that it is not met. In sentences `{who}` is
/// the pod and the containers in violation, `{containers}` the containers, `{volumes}` the volumes,
/// `{use}` the verb that goes with them, `{values}` the bad values sorted and quoted, `{list}` the
/// same without quotation marks, `{found}` as they were found, `{s}` their plural, `{tails, }` the
/// tails of the fields in violation with what is between them, `{annotations}` annotations.
#[derive(Debug)]
pub struct FieldRequirement {
    /// Whose fields.
    pub of: Of,
    /// The fields.
    pub fields: &'static [Field],
    /// The containers need nothing when the pod's own field satisfies this.
    pub unless_pod: Option<FieldCondition>,
    /// Annotations that count like the fields.
    pub annotations: Option<&'static Annotations>,
    /// The sentence.
    pub sentence: &'static str,
    /// Whether reports name the fields.
    pub shows_fields: bool,
}

/// Whose fields a requirement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The pod's: paths begin below its `spec`.
    Pod,
    /// Those of every container, init container and ephemeral container: paths begin below the
    /// container.
    Containers,
    /// The pod's and those of every container.
    Both,
}

/// A field and what it may hold.
#[derive(Debug)]
pub struct Field {
    /// Its path; `*` stands for every item of a list.
    pub path: &'static [&'static str],
    /// What it may hold.
    pub condition: FieldCondition,
    /// What a sentence says of the field.
    pub tail: &'static str,
}

/// What a field may hold. Null counts as absent.
#[derive(Clone, Copy, Debug)]
pub enum FieldCondition {
    /// Anything but this boolean.
    Not(bool),
    /// This boolean.
    Is(bool),
    /// Something.
    Present,
    /// Anything, also nothing, in something that is present.
    Parent,
    /// Nothing.
    Unset,
    /// This number, or nothing.
    Number(i64),
    /// Anything but this number.
    NotNumber(i64),
    /// One of these texts.
    Texts(&'static [&'static str], Absent),
    /// A list of these texts, or nothing.
    Items(&'static [&'static str]),
    /// A list in which this text is.
    Holds(&'static str),
    /// An object with one of the first keys; the others are known, too.
    FirstKey(&'static [&'static str], &'static [&'static str]),
}

/// What it means that a text is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// Nothing is wrong.
    Allowed,
    /// It is the empty text; where what it is a field of is not there either, nothing is wrong.
    Empty,
    /// It must be there.
    Forbidden,
}

/// Annotations with profiles.
#[derive(Debug)]
pub struct Annotations {
    /// A key that is meant, whatever containers there are.
    pub pod: Option<&'static str>,
    /// What keys begin with.
    pub prefix: &'static str,
    /// Whether what follows must be the name of a container.
    pub of_containers: bool,
    /// The values that are allowed, besides those below `localhost/`.
    pub allowed: &'static [&'static str],
}

/// What stands under a path.
#[derive(Clone, Copy, Debug)]
pub enum Found<'v> {
    /// What it would be a field of is not there.
    NoParent,
    /// It is not there.
    Missing,
    /// This; null only as an item of a list.
    Value(&'v Value),
}

impl<'v> Found<'v> {
    /// The value.
    pub fn value(self) -> Option<&'v Value> {
        match self {
            Found::Value(v) => Some(v),
            Found::NoParent | Found::Missing => None,
        }
    }

    fn below(v: &'v Value, path: &[&str]) -> Found<'v> {
        let Some((last, parents)) = path.split_last() else { return Found::Value(v) };
        match parents.iter().try_fold(v, |v, key| present(v, key)) {
            None => Found::NoParent,
            Some(parent) => present(parent, last).map_or(Found::Missing, Found::Value),
        }
    }
}

/// The member `key` unless it is null.
pub fn present<'v>(v: &'v Value, key: &str) -> Option<&'v Value> {
    v.get(key).filter(|v| !v.is_null())
}

/// The texts of a list.
pub fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_list).unwrap_or_default().iter().map(|v| v.as_str().unwrap_or_default())
}

/// The whole number that a field holds.
pub fn whole(v: &Value) -> Option<i64> {
    match v {
        Value::Int(i) => Some(*i),
        Value::Float(f) => Some(*f as i64),
        _ => None,
    }
}

impl Field {
    /// Calls `f` with what stands under the path below `base`: with every item of the list that it
    /// walks, the position and the item of that list.
    pub fn each<'v>(&self, base: &'v Value, f: &mut dyn FnMut(Option<(usize, &'v Value)>, Found<'v>)) {
        let mut parts = self.path.split(|key| *key == "*");
        let list = parts.next().unwrap_or_default();
        let Some(rest) = parts.next() else { return f(None, Found::below(base, list)) };
        let items = base.at(list).and_then(Value::as_list).unwrap_or_default();
        items.iter().enumerate().for_each(|(i, item)| f(Some((i, item)), Found::below(item, rest)));
    }
}

impl FieldCondition {
    /// Whether what stands somewhere is as it may be.
    pub fn admits(&self, found: Found<'_>) -> bool {
        let value = found.value();
        match self {
            FieldCondition::Not(b) => value.and_then(Value::as_bool) != Some(*b),
            FieldCondition::Is(b) => value.and_then(Value::as_bool) == Some(*b),
            FieldCondition::Present => value.is_some(),
            FieldCondition::Parent => !matches!(found, Found::NoParent),
            FieldCondition::Unset => value.is_none(),
            FieldCondition::Number(n) => value.and_then(whole).is_none_or(|v| v == *n),
            FieldCondition::NotNumber(n) => value.and_then(whole) != Some(*n),
            FieldCondition::Texts(allowed, absent) => match (found, absent) {
                (Found::Value(v), _) => v.as_str().is_some_and(|text| allowed.contains(&text)),
                (Found::Missing, Absent::Empty) => allowed.contains(&""),
                (_, Absent::Forbidden) => false,
                _ => true,
            },
            FieldCondition::Items(allowed) => texts(value).all(|text| allowed.contains(&text)),
            FieldCondition::Holds(wanted) => texts(value).any(|text| text == *wanted),
            FieldCondition::FirstKey(allowed, _) => {
                value.is_some_and(|v| allowed.iter().any(|key| present(v, key).is_some()))
            }
        }
    }
}
