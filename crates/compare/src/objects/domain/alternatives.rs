//! What objects have in place of fields that are read.
//!
//! In: objects with the fields that are read, and their type. Out: the same; one that lacks all
//! that is read of those fields of which an API server wants one has another one that is not read.
//! What is not read is one to the rules, so any other will do. Without this, an object without the
//! field would be one that no server admits, and nothing would be proved of those that have
//! another.

use ephor_analysis::reads::ReadTree;
use ephor_kubernetes::admitted::{
    Alternative, Together, alternatives, companions, further, is_in_group, listed, unfilled,
};
use ephor_kubernetes::schema::TypeDef;
use ephor_value::{Map, Str, Value};

use crate::objects::choice::Choice;
use crate::objects::domain::Domain;

/// What an object has to have some of.
#[derive(Default)]
pub(crate) struct Instead {
    /// Fields with their values.
    listed: &'static [Alternative],
    /// Further fields.
    further: Vec<&'static str>,
}

impl Instead {
    /// Whether an object may lack a field as others stand in its place.
    pub fn has(&self, key: &str) -> bool {
        let is_listed = self.listed.iter().any(|one| one.fields.contains_key(key));
        (is_listed && self.listed.len() > 1) || self.further.contains(&key)
    }
}

impl Domain<'_> {
    /// What an object has to have some of, as far as it is read. `smallest`: of what it has to have
    /// some in any case.
    pub(crate) fn in_place(&self, tree: &ReadTree, def: &TypeDef, smallest: Option<&Value>) -> Instead {
        let listed = alternatives(&self.kind[2], &def.name);
        let further: Vec<&str> = further(&def.name).collect();
        let has = |of: Option<&Value>, one: &Alternative| {
            of.is_some_and(|of| one.fields.keys().all(|key| of.get(key).is_some()))
        };
        let is_wanted = !further.is_empty()
            || listed.iter().any(|one| one.fields.keys().any(|key| is_in_group(&def.name, key)))
            || listed.iter().any(|one| has(smallest, one) || has(self.later.as_ref(), one));
        let is_read = listed.iter().flat_map(|one| one.fields.keys()).any(|key| tree.get(key).is_some())
            || further.iter().any(|key| tree.get(key).is_some());
        match is_wanted && is_read {
            true => Instead { listed, further },
            false => Instead::default(),
        }
    }

    /// Adds to objects that lack all of these fields that are read one that is not read.
    pub(crate) fn put_in_place(
        &self,
        instead: &Instead,
        tree: &ReadTree,
        def: &TypeDef,
        all: &mut [Choice],
        depth: usize,
    ) {
        let is_read = |key: &str| tree.get(key).is_some();
        for choice in all {
            let Some(Value::Map(map)) = &mut choice.value else { continue };
            if instead.further.iter().any(|key| map.contains_key(key)) {
                continue;
            }
            let fits = |one: &&Alternative| {
                fits(map, &one.fields, tree, def)
                    && one.only.iter().all(|(key, value)| map.get(key).is_none_or(|own| own.json_eq(value)))
            };
            let present = |one: &&Alternative| one.fields.keys().filter(|key| map.contains_key(key)).count();
            let mut fitting = instead.listed.iter().filter(fits);
            let best = fitting.clone().find(|one| present(one) > 0).or_else(|| fitting.next());
            if let Some(one) = best {
                insert_missing(map, one.fields.iter());
            } else if let Some(key) = instead.further.iter().find(|key| !is_read(key))
                && let Some(field) = def.field(key)
            {
                map.insert::<Str>(field.name.clone(), self.minimal(&field.name, &field.ty, depth + 1));
            }
        }
    }

    /// Adds what objects have that have one of the fields that are read, where it is not read.
    pub(crate) fn with_companions(tree: &ReadTree, def: &TypeDef, all: &mut [Choice]) {
        for row in companions(&def.name).iter().filter(|row| row.fields.iter().any(|path| reads(tree, path)))
        {
            for choice in all.iter_mut().filter(|one| row.fields.iter().any(|path| has(&one.value, path))) {
                if let Some(Value::Map(map)) = &mut choice.value {
                    insert_missing(map, row.with.iter().filter(|(key, _)| tree.get(key).is_none()));
                }
            }
        }
    }

    /// Adds objects that lack fields which a server fills in for others.
    pub(crate) fn with_unfilled(&mut self, tree: &ReadTree, def: &TypeDef, all: &mut Vec<Choice>) {
        let is_read = |key: &str| tree.get(key).is_some();
        let rows = unfilled(&def.name).iter();
        let read: Vec<&Together> = rows.filter(|row| row.fields.iter().any(|key| is_read(key))).collect();
        let before = all.len();
        for row in read {
            let mut more = Vec::new();
            for choice in all.iter() {
                let Some(Value::Map(map)) = &choice.value else { continue };
                let lacks = !row.fields.iter().any(|key| map.contains_key(key));
                if lacks
                    && fits(map, &row.with, tree, def)
                    && row.with.keys().any(|key| !map.contains_key(key))
                {
                    let mut map = map.clone();
                    insert_missing(&mut map, row.with.iter());
                    more.push(Choice { value: Some(Value::Map(map)), ..choice.clone() });
                }
            }
            all.extend(more);
        }
        if all.len() > before && all.len() > self.limit {
            self.not_all("too many combinations of fields");
            all.truncate(self.limit);
        }
    }
}

/// Whether an object may have some fields: it has them, with one of the same values where a server
/// takes only some, or they are not read.
fn fits(map: &Map, fields: &Map, tree: &ReadTree, def: &TypeDef) -> bool {
    fields.iter().all(|(key, value)| match map.get(key) {
        Some(own) => listed(&def.name, key).is_empty() || own.json_eq(value),
        None => tree.get(key).is_none(),
    })
}

/// Whether a field is read; keys of a path are separated by points, and may be those of items.
fn reads(tree: &ReadTree, path: &str) -> bool {
    path.split('.')
        .try_fold(tree, |tree, key| {
            let of_items =
                || tree.items.as_deref().or(tree.nested.as_deref()).and_then(|items| items.get(key));
            tree.get(key).or_else(of_items)
        })
        .is_some()
}

/// Whether an object has a field, or an item on the way does.
fn has(value: &Option<Value>, path: &str) -> bool {
    fn of(value: &Value, path: &str) -> bool {
        let items = value.as_list().into_iter().flatten();
        let (key, rest) = path.split_once('.').unwrap_or((path, ""));
        let own = value.get(key);
        own.is_some_and(|own| rest.is_empty() || of(own, rest))
            || items.into_iter().any(|item| of(item, path))
    }
    value.as_ref().is_some_and(|value| of(value, path))
}

fn insert_missing<'e>(map: &mut Map, entries: impl Iterator<Item = (&'e Str, &'e Value)>) {
    for (key, value) in entries {
        if !map.contains_key(key) {
            map.insert::<Str>(key.clone(), value.clone());
        }
    }
}
