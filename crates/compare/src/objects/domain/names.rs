//! The fields of objects of which rules read the names.
//!
//! In: what is read of an object, and the constants and patterns that its names are compared with.
//! Out: the fields that it has.

use std::collections::{BTreeMap, BTreeSet};

use ephor_analysis::reads::{ReadTree, Step};
use ephor_functions::registry::Operation;
use ephor_kubernetes::schema::{Field, Leaf, Type, TypeDef};
use ephor_value::Str;
use ephor_value::wildcard::Wildcard;

use crate::model::limits::MAX_NAMES_OF_KEYS;
use crate::objects::domain::Domain;

impl Domain<'_> {
    /// Whether of an object at most its keys are read, and how many there are.
    pub(crate) fn is_counted(&self, tree: &ReadTree) -> bool {
        match tree.items.as_deref() {
            None => tree.names,
            Some(below) => *below == ReadTree::default() && self.items <= 4,
        }
    }

    /// What is read of an object whose keys are read: the fields that are tested by name, and one
    /// that is not.
    pub(crate) fn with_names(&mut self, tree: &ReadTree, def: &TypeDef) -> ReadTree {
        // Loops over an object have its keys as items.
        let mut languages = (*self.tested.at(&self.at)).clone();
        languages.merge(&self.below(Step::Items, |own| own.tested.at(&own.at)));
        if !languages.regexes.is_empty() || !languages.made.is_empty() {
            self.not_all("names of fields are compared with regular expressions");
        }
        if self.below(Step::Items, |own| own.tested.is_related(&own.at)) {
            self.not_all("names of fields are compared with other fields");
        }
        let is_tested = |name: &str| languages.globs.contains(name);
        let mut found = ReadTree { names: false, ..tree.clone() };
        let add = |found: &mut ReadTree, name: &Str| found.add(&[Step::Key(name.clone())], false);
        let tested = def.fields.iter().filter(|field| is_tested(&field.name));
        let mut some: BTreeSet<Str> = tested.map(|field| field.name.clone()).collect();
        // The other fields that the same patterns match are alike: whether there is one counts, or
        // how many there are.
        let is_counted = self.predicates.functions.contains(&Operation::Size);
        if is_counted {
            self.count();
        }
        let most = if is_counted { self.items } else { 1 };
        let patterns = languages.globs.iter().map(|glob| Wildcard::new(glob.as_str()));
        let patterns: Vec<Wildcard> = patterns.filter(Wildcard::is_wild).collect();
        let mut alike: BTreeMap<Vec<bool>, Vec<&Field>> = BTreeMap::new();
        let is_other =
            |field: &&Field| !field.required && !is_tested(&field.name) && tree.get(&field.name).is_none();
        for field in def.fields.iter().filter(is_other) {
            let matched = patterns.iter().map(|pattern| pattern.matches(&field.name)).collect();
            alike.entry(matched).or_default().push(field);
        }
        let is_text = |field: &&Field| matches!(field.ty, Type::Leaf(Leaf::String));
        for others in alike.values() {
            let (texts, rest): (Vec<&Field>, Vec<&Field>) = others.iter().copied().partition(is_text);
            let few = texts.into_iter().chain(rest).take(most.max(if tree.items.is_some() { 3 } else { 1 }));
            some.extend(few.map(|field| field.name.clone()));
        }
        some.retain(|name| tree.get(name).is_none());
        some.iter().for_each(|name| add(&mut found, name));
        self.only_there = some;
        found.items = None;
        found
    }

    /// The same without a schema: the constants that values are compared with may be names.
    pub(crate) fn with_tested_names(&mut self, tree: &ReadTree) -> ReadTree {
        let mut found = ReadTree { names: false, ..tree.clone() };
        let values = self.values();
        if values.texts.len() > MAX_NAMES_OF_KEYS {
            self.not_all("many names of fields");
        }
        for name in values.texts.iter().filter(|text| !text.is_empty()).take(MAX_NAMES_OF_KEYS) {
            found.add(&[Step::Key(name.clone())], false);
        }
        found
    }
}
