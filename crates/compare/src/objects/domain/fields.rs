//! Objects with every combination of the values of their fields.
//!
//! In: the fields that are read, and the type. Out: objects with these fields and those that an API
//! server needs.

use ephor_analysis::reads::{ReadTree, Step};
use ephor_kubernetes::admitted::{
    alternatives, has_another, is_in_group, is_shown_as_null, listed, needed, one_of, refuses_wildcards,
};
use ephor_kubernetes::schema::{Field, Leaf, Type, TypeDef};
use ephor_value::{Map, Str, Value};

use crate::inputs::context_entries::INPUTS;
use crate::model::limits::{MAX_OBJECT_DEPTH, MAX_SOURCES_TOGETHER};
use crate::objects::choice::{ABSENT, Choice, plain};
use crate::objects::domain::Domain;
use crate::objects::product::pairs;

impl Domain<'_> {
    /// Objects with the fields that are read; those of the smallest object that an API server
    /// admits are always there.
    pub(crate) fn fields(
        &mut self,
        tree: &ReadTree,
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
        if group.len() <= MAX_SOURCES_TOGETHER {
            group.clear();
        }
        let instead = def.map(|def| self.in_place(tree, def, smallest)).unwrap_or_default();
        let mut done: Vec<Str> = Vec::new();
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
            let may_lack = instead.has(key);
            let is_required = field.is_some_and(|field| field.required) || (own.is_some() && !may_lack);
            self.path.push(key.clone());
            self.at.push(Step::Key(key.clone()));
            let later = self.later.clone();
            // Where an API server takes an object without the field, it shows null.
            let is_needed = own.is_some() || later.as_ref().is_some_and(|later| later.get(key).is_some());
            let is_null = !is_needed && field.is_some_and(is_shown_as_null);
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
            if let Some(def) = def {
                self.without_refused(&def.name, key, &mut choices);
            }
            match &mut self.deciding {
                // All objects are wanted, or none.
                Some(_) if self.open.is_some() => choices.truncate(1),
                Some(deciding) => choices = deciding.values(&self.at, choices, self.one_key),
                None => {}
            }
            self.path.pop();
            self.at.pop();
            self.later = later;
            let own = group.iter_mut().find(|(name, _)| **name == **key);
            let is_source = own.is_some();
            if let Some((_, first)) = own {
                *first = choices.iter().find_map(|choice| choice.value.clone());
            }
            all = self.product(all, key, &choices, if is_source { &group } else { &[] });
            done.push(key.clone());
            if let Some(deciding) = self.deciding.as_mut().filter(|_| group.is_empty() && self.open.is_none())
            {
                all = deciding.parts(&self.at, &done, all, self.one_key);
            }
        }
        if let Some(def) = def {
            Self::with_companions(tree, def, &mut all);
            self.with_unfilled(tree, def, &mut all);
            self.put_in_place(&instead, tree, def, &mut all, depth);
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
                let value = self.least_of(def, field, depth);
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
                let has_other = def.is_some_and(|def| has_another(&self.kind[2], &def.name, key, map));
                if map.get(key).is_none() && !read(key) && !has_other {
                    map.insert::<Str>(key.clone(), value.clone());
                }
            }
        }
        all
    }

    /// Leaves out texts with wildcards where an API server refuses all of them, if these are not
    /// wanted.
    fn without_refused(&mut self, of: &str, field: &str, choices: &mut Vec<Choice>) {
        let is_refused =
            |choice: &Choice| choice.value.as_ref().is_some_and(|value| refuses_wildcards(of, field, value));
        self.has_refused |= choices.iter().any(is_refused);
        if self.only_admitted {
            choices.retain(|choice| !is_refused(choice));
        }
    }

    /// The least that an API server takes for a field of a type.
    fn least_of(&self, def: &TypeDef, field: &Field, depth: usize) -> Value {
        match (&field.ty, listed(&def.name, &field.name).first()) {
            (Type::Leaf(_), Some(first)) => Value::from(*first),
            _ => self.minimal(&field.name, &field.ty, depth + 1),
        }
    }

    /// The least that an API server takes for a type.
    pub(crate) fn least(&self, def: &TypeDef, depth: usize) -> Map {
        let by_schema = def.fields.iter().filter(|field| field.required).map(|field| &*field.name);
        // Of fields that stand in place of each other it has those that the smallest objects have.
        let mut map = match alternatives(&self.kind[2], &def.name).first() {
            Some(first) if first.fields.keys().any(|key| is_in_group(&def.name, key)) => first.fields.clone(),
            _ => Map::new(),
        };
        for name in by_schema.chain(needed(&def.name)) {
            let is_there = map.contains_key(name) || has_another(&self.kind[2], &def.name, name, &map);
            let Some(field) = def.field(name).filter(|_| !is_there) else { continue };
            let value = self.least_of(def, field, depth);
            map.insert::<Str>(field.name.clone(), value);
        }
        map
    }

    /// Objects with one more field than they need, for each: some of those that policies may
    /// distinguish.
    pub(crate) fn with_one_field(&self, def: &TypeDef, depth: usize) -> Vec<Choice> {
        let required = def.fields.iter().filter(|field| field.required);
        let entries = required.map(|f| (f.name.clone(), self.minimal(&f.name, &f.ty, depth + 1)));
        let least = Value::Map(entries.collect());
        let others = def.fields.iter().filter(|field| !field.required);
        others.map(|f| plain(least.with(&f.name, self.minimal(&f.name, &f.ty, depth + 1)))).collect()
    }

    /// An object with nothing but a field that nothing reads: it is there and not empty.
    pub(crate) fn with_other_field(&self, tree: &ReadTree, def: &TypeDef, depth: usize) -> Option<Choice> {
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

    /// Choices with one more field; `group`: fields of which two are enough, each with the value
    /// that stands for all of its values where there is another one.
    pub(crate) fn product(
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

    /// The smallest value of a type.
    pub(crate) fn minimal(&self, key: &str, ty: &Type, depth: usize) -> Value {
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
            _ if depth > MAX_OBJECT_DEPTH => Value::Null,
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

/// A text that an API server takes for a field, of those that nothing tests: other texts are
/// refused.
fn unlisted(of: &str, field: &str, texts: &[Str]) -> Option<Choice> {
    let other = listed(of, field).iter().find(|text| !texts.iter().any(|own| **own == ***text))?;
    Some(plain(Value::from(*other)))
}
