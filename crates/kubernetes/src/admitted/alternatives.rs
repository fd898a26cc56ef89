//! What objects have in place of each other, from `alternatives.txt` and the groups of `rules.txt`.
//!
//! In: a type. Out: fields of which every object of the type has those of at least one entry, as an
//! API server wants it: an Ingress has a default backend or rules, a volume has one source. An
//! object that lacks the fields of one has those of another. Checked in `tests.rs` with the
//! smallest objects.

use foldhash::HashMap;
use std::sync::OnceLock;

use super::table::{groups, listed};
use ephor_value::{Map, Value};

const TABLE: &str = include_str!("alternatives.txt");

/// The fields that objects have in place of each other.
#[derive(Clone, Debug, Default)]
pub struct Alternative {
    /// The fields with values that an API server takes.
    pub fields: Map,
    /// Fields that have this value, or none.
    pub only: Map,
}

/// Fields, and what objects have that have none of them, or one.
#[derive(Clone, Debug)]
pub struct Together {
    /// The fields.
    pub fields: Vec<&'static str>,
    /// What the object has.
    pub with: Map,
}

type Row = (Option<&'static str>, Vec<Alternative>);

/// What objects of a type have in place of each other; empty for types of which nothing is known.
/// `kind`: the kind that they are a part of.
pub fn alternatives(kind: &str, of: &str) -> &'static [Alternative] {
    match table().get(of) {
        Some((only, rows)) if only.is_none_or(|only| only == kind) => rows,
        _ => &[],
    }
}

/// The fields that `alternatives` does not list of which an object of a type has one in place of
/// its entries.
pub fn further(of: &str) -> impl Iterator<Item = &'static str> {
    let listed = |field: &str| {
        table().get(of).is_some_and(|(_, all)| all.iter().any(|one| one.fields.contains_key(field)))
    };
    groups(of).flatten().filter(move |field| !listed(field)).copied()
}

/// Whether objects of a type may have others in place of a field.
pub fn has_alternative(kind: &str, of: &str, field: &str) -> bool {
    let all = alternatives(kind, of);
    let is_listed = all.iter().any(|one| one.fields.contains_key(field));
    (is_listed && all.len() > 1) || groups(of).any(|group| group.contains(&field))
}

/// Whether an object of a type has what may stand in place of a field.
pub fn has_another(kind: &str, of: &str, field: &str, map: &Map) -> bool {
    let is_in_group = groups(of).any(|group| {
        group.contains(&field) && group.iter().any(|other| *other != field && map.contains_key(other))
    });
    let all = alternatives(kind, of);
    let has = |one: &Alternative| {
        let is_like = |key: &str, value: &Value| {
            map.get(key).is_some_and(|own| listed(of, key).is_empty() || own.json_eq(value))
        };
        !one.fields.contains_key(field) && one.fields.iter().all(|(key, value)| is_like(key, value))
    };
    is_in_group || (all.iter().any(|one| one.fields.contains_key(field)) && all.iter().any(has))
}

/// With what objects of a type lack fields that a server fills in for others.
pub fn unfilled(of: &str) -> &'static [Together] {
    static FOUND: OnceLock<HashMap<&'static str, Vec<Together>>> = OnceLock::new();
    FOUND.get_or_init(|| together("- ")).get(of).map_or(&[], Vec::as_slice)
}

/// What objects of a type have that have some fields.
pub fn companions(of: &str) -> &'static [Together] {
    static FOUND: OnceLock<HashMap<&'static str, Vec<Together>>> = OnceLock::new();
    FOUND.get_or_init(|| together("+ ")).get(of).map_or(&[], Vec::as_slice)
}

fn together(mark: &str) -> HashMap<&'static str, Vec<Together>> {
    let mut all: HashMap<&'static str, Vec<Together>> = HashMap::default();
    for line in TABLE.lines().filter_map(|line| line.strip_prefix(mark)) {
        let mut words = line.splitn(3, ' ');
        if let (Some(of), Some(fields), Some(Ok(Value::Map(with)))) =
            (words.next(), words.next(), words.next().map(serde_json::from_str))
        {
            all.entry(of).or_default().push(Together { fields: fields.split(',').collect(), with });
        }
    }
    all
}

fn table() -> &'static HashMap<&'static str, Row> {
    static FOUND: OnceLock<HashMap<&'static str, Row>> = OnceLock::new();
    FOUND.get_or_init(|| {
        TABLE.lines().filter(|line| !line.starts_with(['#', '-', '+'])).filter_map(row).collect()
    })
}

fn row(line: &'static str) -> Option<(&'static str, Row)> {
    let (head, rest) = line.split_at_checked(line.find('{')?)?;
    let mut names = head.split_whitespace().rev();
    let (of, kind) = (names.next()?, names.next());
    let all = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    Some((of, (kind, all.filter_map(|one| Some(alternative(one.ok()?.as_map()?))).collect())))
}

fn alternative(map: &Map) -> Alternative {
    let mut found = Alternative::default();
    for (key, value) in map.iter() {
        match key.strip_prefix('=') {
            Some(key) => found.only.insert(key, value.clone()),
            None => found.fields.insert::<ephor_value::Str>(key.clone(), value.clone()),
        };
    }
    found
}
