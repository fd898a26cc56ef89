//! Objects that stand for all others: of each class of each field that is read, every combination.
//!
//! In: what is read of an object, the types of its kind, what is tested. Out: the objects, small ones first. A list has as many items,
//! in all lists of an object together, as there are statements about items: for statements of the form "some item is such",
//! and combinations of these, no longer list behaves differently (`docs/diff.md`, "Lists"). Fields that are not read are there
//! only where the kind requires them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::analysis::reads::{Step, Tree};
use crate::kubernetes::Types;
use crate::kubernetes::admitted::{
    instead_of, is_shown_as_null, listed, needed, one_of, required_item, smallest,
};
use crate::kubernetes::schema::{Field, Leaf, Type, TypeDef};
use crate::value::wildcard::Wildcard;
use crate::value::{Map, Str, Value};

use super::answers::of_image;
use super::classes::{Classes, LIKE_NAMES};
use super::combine::{as_key, filled, named, pairs};
use super::environment::Environment;
use super::inputs::INPUTS;
use super::predicates::Predicates;
use super::tested::Tested;
use super::words::Words;

/// How many objects there are at most when they do not stand for all others.
const SOME: usize = 2_000;

/// More names of fields are not tried together.
const MOST_NAMES: usize = 8;

/// More fields of which an API server takes one are not tried all together.
const FEW_SOURCES: usize = 4;

/// Of more loops lists of one item are looked at instead, where that is enough.
const FEW_LOOPS: usize = 8;

/// Deeper parts of objects are not looked at.
const DEEPEST: usize = 24;

/// Objects of one kind for one comparison.
pub struct Domain<'d> {
    pub(super) types: &'d Types,
    words: &'d Words,
    predicates: &'d Predicates,
    tested: &'d Tested,
    /// The values of the fields that were met.
    known: BTreeMap<Vec<Step>, Rc<Values>>,
    /// How many items all lists have together, at most.
    items: usize,
    /// How many objects there are at most.
    limit: usize,
    pub(super) kind: [Str; 3],
    /// The fields that lead to the value that is built.
    pub(super) path: Vec<Str>,
    /// The same, with the lists and maps between them.
    pub(super) at: Vec<Step>,
    /// How many lists the value is in an item of.
    inside: usize,
    /// What is put into the value when it is built, where it is not read.
    later: Option<Value>,
    /// Lists whose items are looked at one after the other.
    pub classes: Option<Classes>,
    /// Fields of the object that is built next of which only counts whether they are there.
    only_there: BTreeSet<Str>,
    /// Of which kind the items of the list are that is built next, where it is an answer from outside.
    pub(super) items_of: Option<[Str; 3]>,
    /// Whether what is built is an answer from outside that may have null, and whose numbers are doubles.
    pub(super) is_json: bool,
    /// Why it is not known how many items of other lists matter.
    pub uncounted: Option<String>,
    /// Whether fields without a schema have the types that rules look for.
    pub is_assumed: bool,
    /// Why the objects do not stand for all others.
    pub open: Option<String>,
}

/// The values of a field, one for each class.
#[derive(Default)]
struct Values {
    texts: Vec<Str>,
    integers: Vec<i64>,
    amounts: Vec<Str>,
}

/// A value of a field, or none, and how many items its lists have.
#[derive(Clone)]
pub(super) struct Choice {
    pub(super) value: Option<Value>,
    pub(super) items: usize,
}

pub(super) const ABSENT: Choice = Choice { value: None, items: 0 };

pub(super) fn plain(value: Value) -> Choice {
    Choice { value: Some(value), items: 0 }
}

/// How long lists of so many different items are at most, so that there are not more than a limit.
fn longest(different: usize, most: usize, limit: usize) -> usize {
    let mut lists = 1.0;
    let different = different as f64;
    for length in 1..=most {
        // The first two items in any order, others as a set.
        let of_length =
            if length < 3 { different } else { (different + length as f64 - 2.0) / (length as f64 - 1.0) };
        lists *= of_length.max(1.0);
        if lists > limit as f64 {
            return (length - 1).max(1);
        }
    }
    most
}

/// A text that an API server takes for a field, of those that nothing tests: other texts are refused.
fn unlisted(of: &str, field: &str, texts: &[Str]) -> Option<Choice> {
    let other = listed(of, field).iter().find(|text| !texts.iter().any(|own| **own == ***text))?;
    Some(plain(Value::from(*other)))
}

impl<'d> Domain<'d> {
    /// For what is tested, by a request and at each field, with at most so many items and objects.
    pub fn new(
        (types, words): (&'d Types, &'d Words),
        (predicates, tested): (&'d Predicates, &'d Tested),
        environment: &Environment,
        items: usize,
        limit: usize,
    ) -> Domain<'d> {
        Domain {
            types,
            words,
            predicates,
            tested,
            known: BTreeMap::new(),
            items,
            limit,
            kind: environment.object.clone(),
            path: Vec::new(),
            at: Vec::new(),
            inside: 0,
            later: None,
            classes: None,
            only_there: BTreeSet::new(),
            items_of: None,
            is_json: false,
            uncounted: None,
            is_assumed: false,
            open: None,
        }
    }

    /// The values of the field that is built.
    fn values(&mut self) -> Rc<Values> {
        if let Some(known) = self.known.get(&self.at) {
            return Rc::clone(known);
        }
        let tested = self.tested.at(&self.at);
        let texts = tested.texts(self.words).unwrap_or_else(|| {
            self.not_all("too many different texts");
            tested.some_texts(self.words)
        });
        let mut amounts: Vec<Str> = vec!["1".into()];
        amounts.extend(tested.amounts());
        amounts.extend(tested.ints.iter().filter(|n| **n >= 0).map(|n| Str::from(n.to_string())));
        amounts.extend(tested.relates.then(|| Str::from("2")));
        amounts.dedup();
        let values = Rc::new(Values { texts, integers: tested.integers(), amounts });
        self.known.insert(self.at.clone(), Rc::clone(&values));
        values
    }

    /// Builds a value one step further.
    pub(super) fn below<T>(&mut self, step: Step, build: impl FnOnce(&mut Self) -> T) -> T {
        self.at.push(step);
        let built = build(self);
        self.at.pop();
        built
    }

    /// The objects. `name`: the name counts.
    pub fn objects(&mut self, environment: &Environment, tree: &Tree, name: bool) -> Vec<Value> {
        let def = self.types.of_kind(&self.kind).cloned();
        let smallest = smallest(&self.kind);
        if tree.whole {
            self.not_all("all of the object is read");
        }
        let none = Tree::default();
        let metadata = tree.get("metadata").unwrap_or(&none);
        let mut below = tree.clone();
        below.keys.retain(|(key, _)| !matches!(&**key, "apiVersion" | "kind" | "metadata" | INPUTS));
        let bodies = self.fields(&below, def.as_deref(), smallest.as_ref(), 0);
        let metadata =
            self.below(Step::Key("metadata".into()), |own| own.metadata(environment, metadata, name));
        let mut heads: Vec<Map> = metadata
            .into_iter()
            .filter_map(|choice| choice.value)
            .map(|metadata| Map::from_unique(vec![("metadata".into(), metadata)]))
            .collect();
        if let Some(inputs) = tree.get(INPUTS) {
            let inputs = self.answers(inputs, 1);
            let with = |head: &Map, inputs: &Choice| {
                let mut head = head.clone();
                head.insert(INPUTS, inputs.value.clone().unwrap_or_default());
                head
            };
            heads =
                heads.iter().flat_map(|head| inputs.iter().map(move |inputs| with(head, inputs))).collect();
            if heads.len() > self.limit {
                self.not_all("too many combinations of external data");
                heads.truncate(self.limit);
            }
        }
        let (pairs, is_all) = pairs(bodies.len(), heads.len(), self.limit, |_, _| true);
        if !is_all {
            self.not_all("too many combinations of fields");
        }
        let object = |(body, head): (usize, usize)| {
            let mut object = Map::new();
            object.insert("apiVersion", Value::from(&*environment.api_version()));
            object.insert("kind", Value::Str(environment.object[2].clone()));
            heads[head].iter().for_each(|(key, value)| _ = object.insert::<Str>(key.clone(), value.clone()));
            for (key, value) in bodies[body].value.iter().filter_map(Value::as_map).flat_map(Map::iter) {
                object.insert::<Str>(key.clone(), value.clone());
            }
            Value::Map(object)
        };
        pairs.into_iter().map(object).collect()
    }

    /// A text and an integer of each class of any field.
    pub fn classes(&self) -> (Vec<Str>, Vec<i64>) {
        let texts: BTreeSet<&Str> = self.known.values().flat_map(|values| &values.texts).collect();
        let integers: BTreeSet<i64> =
            self.known.values().flat_map(|values| values.integers.iter().copied()).collect();
        let mut texts: Vec<Str> = texts.into_iter().cloned().collect();
        texts.sort_by_key(|text| text.len());
        (texts, integers.into_iter().collect())
    }

    pub(super) fn not_all(&mut self, why: &str) {
        self.open.get_or_insert_with(|| why.to_string());
        // Some of the combinations are enough then.
        self.limit = self.limit.min(SOME);
    }

    fn metadata(&mut self, environment: &Environment, tree: &Tree, name: bool) -> Vec<Choice> {
        let mut rest = tree.clone();
        rest.keys.retain(|(key, _)| !matches!(&**key, "name" | "namespace" | "generateName"));
        let def = self.types.named("meta/v1.ObjectMeta").cloned();
        let others = self.fields(&rest, def.as_deref(), None, 1);
        let patterns = [self.predicates.names.clone(), self.predicates.namespaces.clone()];
        let reads_name = name || tree.whole || tree.get("name").is_some();
        let names = self.identities("name", reads_name, &patterns[0], "a");
        let namespaces = match environment.resource.namespaced {
            true => self.identities("namespace", tree.get("namespace").is_some(), &patterns[1], "default"),
            false => Vec::new(),
        };
        let mut all = Vec::new();
        for other in &others {
            for name in &names {
                let with = |namespace: Option<&Str>| {
                    let mut map = Map::new();
                    map.insert("name", Value::Str(name.clone()));
                    if let Some(namespace) = namespace {
                        map.insert("namespace", Value::Str(namespace.clone()));
                    }
                    for (key, value) in other.value.iter().filter_map(Value::as_map).flat_map(Map::iter) {
                        map.insert::<Str>(key.clone(), value.clone());
                    }
                    Choice { value: Some(Value::Map(map)), items: other.items }
                };
                match namespaces.is_empty() {
                    true => all.push(with(None)),
                    false => all.extend(namespaces.iter().map(|n| with(Some(n)))),
                }
                if all.len() > self.limit {
                    self.not_all("too many combinations of names");
                    return all;
                }
            }
        }
        all
    }

    /// Names, or namespaces: the usual one, and one for each class of those that are tested.
    fn identities(&mut self, key: &str, is_read: bool, patterns: &BTreeSet<String>, usual: &str) -> Vec<Str> {
        let mut all: Vec<Str> = vec![usual.into()];
        self.at.push(Step::Key(key.into()));
        if is_read || !patterns.is_empty() || self.tested.has(&self.at) {
            let tested = self.tested.at(&self.at);
            let mut languages = tested.languages();
            languages.globs.extend(patterns.iter().cloned());
            match self.words.of(languages, if tested.relates { 2 } else { 1 }) {
                Some(found) => {
                    for text in found.iter() {
                        if !text.is_empty() && !all.contains(text) {
                            all.push(text.clone());
                        }
                    }
                }
                None => self.not_all("too many different names"),
            }
        }
        self.at.pop();
        all
    }

    /// Objects with the fields that are read; those of the smallest object that an API server admits are always there.
    pub(super) fn fields(
        &mut self,
        tree: &Tree,
        def: Option<&TypeDef>,
        smallest: Option<&Value>,
        depth: usize,
    ) -> Vec<Choice> {
        let mut all = vec![Choice { value: Some(Value::Map(Map::new())), items: 0 }];
        let only_there = std::mem::take(&mut self.only_there);
        // Of fields of which an API server takes one there are up to two, where they are many.
        let sources = def.map(|def| one_of(&def.name)).unwrap_or_default().iter();
        let mut group: Vec<(&str, Option<Value>)> =
            sources.filter(|name| tree.get(name).is_some()).map(|name| (*name, None)).collect();
        if group.len() <= FEW_SOURCES {
            group.clear();
        }
        for (key, below) in &tree.keys {
            if **key == *INPUTS {
                // Which of them is read depends on the other fields.
                continue;
            }
            let field = def.and_then(|def| def.field(key));
            if def.is_some_and(|def| !def.open) && field.is_none() {
                // The API server drops it.
                continue;
            }
            let own = smallest.and_then(|v| v.get(key));
            let is_required = field.is_some_and(|field| field.required) || own.is_some();
            self.path.push(key.clone());
            self.at.push(Step::Key(key.clone()));
            let later = self.later.clone();
            // Where an API server takes an object without the field, it shows null.
            let is_needed = own.is_some() || later.as_ref().is_some_and(|later| later.get(key).is_some());
            let is_null =
                !is_needed && def.zip(field).is_some_and(|(def, field)| is_shown_as_null(def, field));
            self.later = later.as_ref().and_then(|later| later.get(key)).cloned();
            let mut choices = match field.filter(|_| only_there.contains(key)) {
                Some(field) => {
                    let value = own.cloned().unwrap_or_else(|| self.minimal(key, &field.ty, depth + 1));
                    let absent = (!is_required).then_some(ABSENT);
                    absent.into_iter().chain([plain(value)]).collect()
                }
                None => self.of(key, below, field.map(|field| &field.ty), is_required, own, depth + 1),
            };
            let texts = &self.values().texts;
            choices.extend(def.into_iter().flat_map(|def| unlisted(&def.name, key, texts)));
            choices.extend(is_null.then(|| plain(Value::Null)));
            self.path.pop();
            self.at.pop();
            self.later = later;
            let own = group.iter_mut().find(|(name, _)| **name == **key);
            let is_source = own.is_some();
            if let Some((_, first)) = own {
                *first = choices.iter().find_map(|choice| choice.value.clone());
            }
            all = self.product(all, key, &choices, if is_source { &group } else { &[] });
        }
        if let Some(answers) = tree.get(INPUTS) {
            all = self.with_answers(all, answers, depth + 1);
        }
        let mut others: Vec<(Str, Value)> = Vec::new();
        let fixed = smallest.and_then(Value::as_map).into_iter().flat_map(Map::iter);
        let is_head = |key: &str| depth == 0 && matches!(key, "apiVersion" | "kind" | "metadata");
        others
            .extend(fixed.filter(|(key, _)| !is_head(key)).map(|(key, value)| (key.clone(), value.clone())));
        for (def, field) in def.iter().flat_map(|def| def.fields.iter().map(move |field| (def, field))) {
            if field.required {
                let value = match (&field.ty, listed(&def.name, &field.name).first()) {
                    (Type::Leaf(_), Some(first)) => Value::from(*first),
                    _ => self.minimal(&field.name, &field.ty, depth + 1),
                };
                others.push((field.name.clone(), value));
            }
        }
        // Of some fields it needs one, unless it has another one of them.
        let wanted =
            def.filter(|_| self.later.is_none()).map(|def| self.least(def, depth)).unwrap_or_default();
        let read = |key: &str| tree.get(key).is_some();
        for choice in &mut all {
            let Some(Value::Map(map)) = &mut choice.value else { continue };
            for (key, value) in others.iter().map(|(k, v)| (k, v)).chain(wanted.iter()) {
                let has_other = def.is_some_and(|def| {
                    instead_of(&def.name, key).iter().any(|other| map.get(other).is_some())
                });
                if map.get(key).is_none() && !read(key) && !has_other {
                    map.insert::<Str>(key.clone(), value.clone());
                }
            }
        }
        all
    }

    /// The least that an API server takes for a type.
    fn least(&self, def: &TypeDef, depth: usize) -> Map {
        let by_schema = def.fields.iter().filter(|field| field.required).map(|field| &*field.name);
        let mut map = Map::new();
        for name in by_schema.chain(needed(&def.name)) {
            let Some(field) = def.field(name).filter(|_| map.get(name).is_none()) else { continue };
            let value = match (&field.ty, listed(&def.name, name).first()) {
                (Type::Leaf(_), Some(first)) => Value::from(*first),
                _ => self.minimal(&field.name, &field.ty, depth + 1),
            };
            map.insert::<Str>(field.name.clone(), value);
        }
        map
    }

    /// Objects with one more field than they need, for each: some of those that policies may distinguish.
    fn with_one_field(&self, def: &TypeDef, depth: usize) -> Vec<Choice> {
        let required = def.fields.iter().filter(|field| field.required);
        let entries = required.map(|f| (f.name.clone(), self.minimal(&f.name, &f.ty, depth + 1)));
        let least = Value::Map(entries.collect());
        let others = def.fields.iter().filter(|field| !field.required);
        others.map(|f| plain(least.with(&f.name, self.minimal(&f.name, &f.ty, depth + 1)))).collect()
    }

    /// An object with nothing but a field that nothing reads: it is there and not empty.
    fn with_other_field(&self, tree: &Tree, def: &TypeDef, depth: usize) -> Option<Choice> {
        if def.fields.iter().any(|field| field.required) || !needed(&def.name).is_empty() {
            // It is never empty.
            return None;
        }
        let is_plain =
            |ty: &Type| matches!(ty, Type::Leaf(Leaf::String | Leaf::Bool | Leaf::Int32 | Leaf::Int64));
        let is_other = |name: &str| tree.get(name).is_none() && listed(&def.name, name).is_empty();
        let other = def.fields.iter().find(|field| is_plain(&field.ty) && is_other(&field.name))?;
        Some(plain(Value::map([(&*other.name, self.minimal(&other.name, &other.ty, depth + 1))])))
    }

    /// Choices with one more field; `group`: fields of which two are enough, each with the value that stands for all of its values
    /// where there is another one.
    pub(super) fn product(
        &mut self,
        all: Vec<Choice>,
        key: &Str,
        choices: &[Choice],
        group: &[(&str, Option<Value>)],
    ) -> Vec<Choice> {
        // Lists of one item do not stand for each other: it has what the rules say of each of them.
        let is_inside = self.inside > 0;
        let sum = |a: usize, b: usize| if is_inside { a.max(b) } else { a + b };
        let is_first = |name: &str, value: &Value| {
            group.iter().any(|(own, first)| *own == name && first.as_ref() == Some(value))
        };
        let goes_with = |value: &Value, before: usize| {
            let others =
                || group.iter().filter_map(|(name, _)| Some((*name, all[before].value.as_ref()?.get(name)?)));
            match others().count() {
                0 => true,
                1 => is_first(key, value) && others().all(|(name, other)| is_first(name, other)),
                _ => false,
            }
        };
        let fits = |choice: usize, before: usize| {
            sum(all[before].items, choices[choice].items) <= self.items
                && choices[choice].value.as_ref().is_none_or(|value| goes_with(value, before))
        };
        let (pairs, is_all) = pairs(choices.len(), all.len(), self.limit, fits);
        if !is_all {
            self.not_all("too many combinations of fields");
        }
        let both = |(choice, before): (usize, usize)| {
            let (choice, before) = (&choices[choice], &all[before]);
            match (&before.value, &choice.value) {
                (Some(Value::Map(map)), Some(value)) => {
                    let mut map = map.clone();
                    map.insert::<Str>(key.clone(), value.clone());
                    Choice { value: Some(Value::Map(map)), items: sum(before.items, choice.items) }
                }
                _ => before.clone(),
            }
        };
        pairs.into_iter().map(both).collect()
    }

    /// The values of a field.
    pub(super) fn of(
        &mut self,
        key: &Str,
        tree: &Tree,
        ty: Option<&Type>,
        is_required: bool,
        smallest: Option<&Value>,
        depth: usize,
    ) -> Vec<Choice> {
        if depth > DEEPEST {
            self.not_all("it nests too deeply");
            return vec![ABSENT];
        }
        let mut all = if is_required { Vec::new() } else { vec![ABSENT] };
        match ty {
            None => all.extend(self.untyped(key, tree, depth)),
            Some(Type::Leaf(leaf)) => all.extend(self.scalars(*leaf, key, tree, depth)),
            Some(Type::List(_, item)) => {
                all.extend(self.lists(key, tree, Some(&**item), smallest.is_some(), depth))
            }
            Some(Type::Map(value, _)) => all.extend(self.maps(tree, value, depth)),
            Some(Type::Named(name, _)) => {
                let Some(def) = self.types.named(name).cloned() else {
                    all.extend(self.untyped(key, tree, depth));
                    return all;
                };
                match def.leaf {
                    Some(leaf) => all.extend(self.scalars(leaf, key, tree, depth)),
                    None if !tree.whole && self.is_counted(tree) => {
                        let tree = self.with_names(tree, &def);
                        all.extend(self.fields(&tree, Some(&def), smallest, depth));
                    }
                    None => {
                        all.extend(self.fields(tree, Some(&def), smallest, depth));
                        if tree.whole || tree.items.is_some() {
                            self.not_all("all of an object is read");
                            all.extend(self.with_one_field(&def, depth));
                        } else if smallest.is_none() && self.at.last() != Some(&Step::Items) {
                            all.extend(self.with_other_field(tree, &def, depth));
                        }
                    }
                }
            }
        }
        all
    }

    /// Whether of an object at most its keys are read, and how many there are.
    fn is_counted(&mut self, tree: &Tree) -> bool {
        let is_only_counted = |below: &Tree| *below == Tree::default();
        match tree.items.as_deref() {
            None => tree.names,
            Some(below) if is_only_counted(below) && self.items <= 2 => {
                self.below(Step::Items, |own| !own.tested.has(&own.at))
            }
            Some(_) => false,
        }
    }

    /// What is read of an object whose keys are read: the fields that are tested by name, and one that is not.
    fn with_names(&mut self, tree: &Tree, def: &TypeDef) -> Tree {
        let languages = self.tested.at(&self.at);
        if !languages.regexes.is_empty() {
            self.not_all("names of fields are compared with regular expressions");
        }
        let is_tested = |name: &str| languages.globs.contains(name);
        let mut found = Tree { names: false, ..tree.clone() };
        let add = |found: &mut Tree, name: &Str| found.add(&[Step::Key(name.clone())], false);
        let tested = def.fields.iter().filter(|field| is_tested(&field.name));
        let mut some: BTreeSet<Str> = tested.map(|field| field.name.clone()).collect();
        // The other fields that the same patterns match are alike: whether there is one counts, or how many there are.
        let is_counted = ["length", "size"].iter().any(|name| self.predicates.functions.contains(*name));
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
    fn with_tested_names(&mut self, tree: &Tree) -> Tree {
        let mut found = Tree { names: false, ..tree.clone() };
        let values = self.values();
        if values.texts.len() > MOST_NAMES {
            self.not_all("many names of fields");
        }
        for name in values.texts.iter().filter(|text| !text.is_empty()).take(MOST_NAMES) {
            found.add(&[Step::Key(name.clone())], false);
        }
        found
    }

    fn scalars(&mut self, leaf: Leaf, key: &Str, tree: &Tree, depth: usize) -> Vec<Choice> {
        let values = self.values();
        let texts = || values.texts.iter().cloned().map(|t| plain(Value::Str(t)));
        let integers = || values.integers.iter().map(|n| plain(Value::Int(*n)));
        match leaf {
            Leaf::String | Leaf::Bytes => texts().collect(),
            Leaf::Time | Leaf::MicroTime => vec![plain(Value::from("2026-01-01T00:00:00Z"))],
            Leaf::Quantity => values.amounts.iter().cloned().map(|t| plain(Value::Str(t))).collect(),
            Leaf::IntOrString => integers().chain(texts()).collect(),
            Leaf::Int32 | Leaf::Int64 => integers().collect(),
            Leaf::Double => values.integers.iter().map(|n| plain(Value::Float(*n as f64))).collect(),
            Leaf::Bool => [false, true].map(|b| plain(Value::Bool(b))).into(),
            Leaf::Any => self.untyped(key, tree, depth),
        }
    }

    /// Values of a field of which no type is known.
    pub(super) fn untyped(&mut self, key: &Str, tree: &Tree, depth: usize) -> Vec<Choice> {
        let mut all = Vec::new();
        if self.is_json {
            all.push(plain(Value::Null));
            if let Some(ty) = of_image(&self.path) {
                all.extend(self.of(key, tree, Some(&ty), true, None, depth));
                return all;
            }
        }
        let has_items = tree.items.is_some() || tree.nested.is_some();
        if tree.names && !tree.whole {
            let tree = self.with_tested_names(tree);
            all.extend(self.fields(&tree, None, None, depth));
        } else if !tree.keys.is_empty() {
            all.extend(self.fields(tree, None, None, depth));
        }
        if has_items {
            all.extend(self.lists(key, tree, None, false, depth));
        }
        if tree.items.is_some() && tree.keys.is_empty() {
            // Or values of an object with any keys.
            all.extend(self.maps(tree, &Type::Leaf(Leaf::Any), depth));
        }
        if all.is_empty() {
            let values = self.values();
            all.extend(values.texts.iter().cloned().map(|t| plain(Value::Str(t))));
            let number = |n: &i64| if self.is_json { Value::Float(*n as f64) } else { Value::Int(*n) };
            all.extend(values.integers.iter().map(|n| plain(number(n))));
            all.extend([false, true].map(|b| plain(Value::Bool(b))));
        }
        if tree.whole {
            // Or an object of scalars where no constant says what it is, or a list where something is looked for in it.
            let of_scalars = Tree { items: Some(Box::default()), ..Tree::default() };
            let is_searched = self.tested.at(&self.at).constants.contains("*");
            if is_searched {
                all.extend(self.lists(key, &of_scalars, None, false, depth));
            }
            if is_searched || !self.tested.has(&self.at) {
                all.extend(self.maps(&of_scalars, &Type::Leaf(Leaf::Any), depth));
            }
        }
        self.is_assumed = true;
        all
    }

    /// Lists of the items of each class.
    pub(super) fn lists(
        &mut self,
        key: &Str,
        tree: &Tree,
        item: Option<&Type>,
        has_items: bool,
        depth: usize,
    ) -> Vec<Choice> {
        let mut below = tree.items.as_deref().cloned().unwrap_or_default();
        if let Some(nested) = &tree.nested {
            below.merge(nested);
        }
        if tree.whole {
            // A list of scalars is read whole by those that look for an item in it.
            below.merge(&Tree { whole: true, ..Tree::default() });
        }
        let is_looked_into = tree.whole || tree.items.is_some() || tree.nested.is_some();
        let path: Vec<&str> = self.path.iter().map(|step| &**step).collect();
        let required = required_item(&self.kind, &path);
        let kind = self.items_of.take();
        let items: Vec<Choice> = match is_looked_into || kind.is_some() {
            true if kind.is_some() => {
                self.inside += 1;
                let items =
                    self.below(Step::Items, |own| own.objects_of(kind.as_ref(), &below, false, depth + 1));
                self.inside -= 1;
                items
            }
            true => {
                self.inside += 1;
                let outside = std::mem::replace(&mut self.later, required.clone());
                let items = self
                    .below(Step::Items, |own| own.of(&"item".into(), &below, item, true, None, depth + 1));
                self.later = outside;
                self.inside -= 1;
                // What is not read of an item is such that an API server admits it.
                let add = |choice: Choice| Choice {
                    value: match (&choice.value, &required) {
                        (Some(item), Some(required)) => Some(filled(item, required, &below)),
                        _ => choice.value,
                    },
                    ..choice
                };
                items.into_iter().map(add).collect()
            }
            false => {
                let minimal = || item.map_or_else(|| Value::from("a"), |ty| self.minimal(key, ty, depth + 1));
                vec![plain(required.unwrap_or_else(minimal))]
            }
        };
        let mut all = Vec::new();
        if !has_items {
            all.push(plain(Value::list(Vec::new())));
        }
        let values = || items.iter().filter_map(|item| item.value.clone()).collect::<Vec<Value>>();
        let next = |item: &Value, at: usize| named(key, item, &below, at);
        // Where one item decides, lists of one item are enough.
        let is_one = self.items == 1 && self.uncounted.is_none();
        let is_better = |own: &&Classes| !is_one || own.count(&self.at) <= FEW_LOOPS;
        let classes = self.classes.as_ref().filter(|_| self.open.is_none()).filter(is_better);
        if let Some(lists) = classes.and_then(|own| own.lists(&self.at, &values(), &next)) {
            all.extend(lists.into_iter().map(plain));
            return all;
        }
        self.count();
        let most = longest(items.len(), self.items, 8 * self.limit);
        if most < self.items {
            self.not_all("too many combinations of items");
        }
        // The order of two items may decide which of them is reported; that of more says nothing else.
        let mut longest: Vec<(Vec<Value>, usize, usize)> = vec![(Vec::new(), 0, 0)];
        for length in 1..=most {
            let mut longer = Vec::new();
            for (list, cost, last) in &longest {
                let first = if length > 2 { *last } else { 0 };
                for (at, choice) in items.iter().enumerate().skip(first) {
                    let cost = cost + choice.items.max(1);
                    let (Some(value), true) = (&choice.value, cost <= self.items) else { continue };
                    if all.len() >= self.limit {
                        self.not_all("too many combinations of items");
                        return all;
                    }
                    let mut list = list.clone();
                    list.push(named(key, value, &below, list.len()));
                    all.push(Choice { value: Some(Value::list(list.clone())), items: cost });
                    if length < most {
                        longer.push((list, cost, at));
                    }
                }
            }
            longest = longer;
        }
        all
    }

    fn maps(&mut self, tree: &Tree, value: &Type, depth: usize) -> Vec<Choice> {
        let mut all = vec![Choice { value: Some(Value::Map(Map::new())), items: 0 }];
        for (key, below) in &tree.keys {
            let choices = self
                .below(Step::Key(key.clone()), |own| own.of(key, below, Some(value), false, None, depth + 1));
            all = self.product(all, key, &choices, &[]);
        }
        if tree.whole || tree.names || tree.items.is_some() {
            let below = tree.items.as_deref().cloned().unwrap_or_else(Tree::all);
            let known: Vec<Str> = tree.keys.iter().map(|(key, _)| key.clone()).collect();
            let values = self.below(Step::Items, Domain::values);
            let texts =
                values.texts.iter().filter(|t| !t.is_empty()).flat_map(|t| [Some(t.clone()), as_key(t)]);
            let keys: Vec<Str> = texts.flatten().filter(|t| !known.contains(t)).collect();
            if known.is_empty()
                && let Some(maps) = self.maps_of_classes(tree, &below, value, depth)
            {
                all.extend(maps.into_iter().map(plain));
                return all;
            }
            self.count();
            // For statements about entries as many are enough as for items of lists.
            let mut counted: Vec<(Choice, usize)> = all.into_iter().map(|choice| (choice, 0)).collect();
            for key in keys {
                let choices = self.below(Step::Key(key.clone()), |own| {
                    own.of(&key, &below, Some(value), false, None, depth + 1)
                });
                counted = self.with_entry(counted, &key, &choices, self.items);
            }
            all = counted.into_iter().map(|(choice, _)| choice).collect();
        } else {
            // It may have an entry that nothing reads.
            let amount = matches!(value, Type::Leaf(Leaf::Quantity));
            let names = if amount { ["memory", "cpu"] } else { ["b", "a"] };
            let is_read = |name: &str| tree.keys.iter().any(|(key, _)| **key == *name);
            if let Some(other) = names.into_iter().rfind(|name| !is_read(name)) {
                let entry = Value::map([(other, self.minimal(other, value, depth + 1))]);
                all.push(plain(entry));
            }
        }
        all
    }

    /// The maps that stand for all others where their entries are looked at one after the other.
    fn maps_of_classes(
        &mut self,
        tree: &Tree,
        below: &Tree,
        value: &Type,
        depth: usize,
    ) -> Option<Vec<Value>> {
        if self.open.is_some() || !self.classes.as_ref()?.has(&self.at) {
            return None;
        }
        let languages = self.below(Step::Items, |own| own.tested.at(&own.at).languages());
        let texts = self.words.of(languages, LIKE_NAMES)?;
        let mut names: Vec<Str> = texts.iter().filter(|text| !text.is_empty()).cloned().collect();
        names.extend(texts.iter().filter_map(|text| as_key(text)));
        let mut entries = Vec::new();
        for name in names {
            if !tree.whole && tree.items.is_none() {
                // Only names are read.
                entries.push((name.clone(), self.minimal(&name, value, depth + 1)));
                continue;
            }
            let values = self.below(Step::Key(name.clone()), |own| {
                own.of(&name, below, Some(value), true, None, depth + 1)
            });
            entries.extend(values.into_iter().filter_map(|choice| Some((name.clone(), choice.value?))));
        }
        self.classes.as_ref().filter(|_| self.open.is_none())?.maps(&self.at, &entries)
    }

    /// Notes that items or entries are counted.
    fn count(&mut self) {
        if let Some(why) = self.uncounted.take() {
            self.not_all(&why);
        }
    }

    /// Objects, with the number of their entries that are counted, and each of them with one more entry.
    fn with_entry(
        &mut self,
        all: Vec<(Choice, usize)>,
        key: &Str,
        choices: &[Choice],
        most: usize,
    ) -> Vec<(Choice, usize)> {
        let mut longer = Vec::new();
        for (before, count) in all.iter().filter(|(_, count)| *count < most) {
            for choice in choices.iter().filter(|choice| choice.value.is_some()) {
                if all.len() + longer.len() >= self.limit {
                    self.not_all("too many combinations of fields");
                    break;
                }
                let (Some(Value::Map(map)), Some(value)) = (&before.value, &choice.value) else { continue };
                let mut map = map.clone();
                map.insert::<Str>(key.clone(), value.clone());
                let items = before.items.max(choice.items);
                longer.push((Choice { value: Some(Value::Map(map)), items }, count + 1));
            }
        }
        all.into_iter().chain(longer).collect()
    }

    /// The smallest value of a type.
    fn minimal(&self, key: &str, ty: &Type, depth: usize) -> Value {
        let leaf = |leaf: Leaf| match leaf {
            Leaf::Int32 | Leaf::Int64 | Leaf::IntOrString => Value::Int(1),
            Leaf::Double => Value::Float(1.0),
            Leaf::Bool => Value::Bool(false),
            Leaf::Quantity => Value::from("1"),
            Leaf::Time | Leaf::MicroTime => Value::from("2026-01-01T00:00:00Z"),
            Leaf::Bytes => Value::from(""),
            Leaf::Any => Value::Map(Map::new()),
            Leaf::String => Value::from(if key == "operator" { "Exists" } else { "a" }),
        };
        match ty {
            _ if depth > DEEPEST => Value::Null,
            Type::Leaf(of) => leaf(*of),
            Type::List(_, item) => Value::list(vec![self.minimal(key, item, depth + 1)]),
            Type::Map(..) => Value::Map(Map::new()),
            Type::Named(name, _) => match self.types.named(name) {
                Some(def) => match def.leaf {
                    Some(of) => leaf(of),
                    None => Value::Map(self.least(def, depth)),
                },
                None => Value::Map(Map::new()),
            },
        }
    }
}
