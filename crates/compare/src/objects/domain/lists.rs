//! Lists and maps of the items and entries of each class.
//!
//! In: what is read of the items. Out: lists that stand for all others
//! (`docs/internals/equivalence.md`, "Lists").

use ephor_analysis::reads::{ReadTree, Step};
use ephor_kubernetes::admitted::required_item;
use ephor_kubernetes::schema::{Leaf, Type};
use ephor_value::{Map, Str, Value};

use crate::lists::closure::{LIKE_NAMES, ListClasses};
use crate::model::limits::MAX_LOOPS_TOGETHER;
use crate::objects::choice::{Choice, plain};
use crate::objects::domain::{Domain, FieldValues};
use crate::objects::product::{as_key, filled, named, pairs};

impl Domain<'_> {
    /// Lists of the items of each class.
    pub(crate) fn lists(
        &mut self,
        key: &Str,
        tree: &ReadTree,
        item: Option<&Type>,
        has_items: bool,
        depth: usize,
    ) -> Vec<Choice> {
        let mut below = tree.of_items();
        if tree.whole {
            // A list of scalars is read whole by those that look for an item in it.
            below.merge(&ReadTree { whole: true, ..ReadTree::default() });
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
                        (Some(value), Some(required)) => {
                            Some(filled(value, required, &below, (&self.kind[2], self.types, item)))
                        }
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
        let is_better = |own: &&ListClasses| !is_one || own.count(&self.at) <= MAX_LOOPS_TOGETHER;
        let classes = self.classes.as_ref().filter(|_| self.open.is_none()).filter(is_better);
        if let Some(lists) = classes.and_then(|own| own.lists(&self.at, &values(), &next)) {
            all.extend(lists.into_iter().map(plain));
            return all;
        }
        self.count();
        // Of a list that has items one stays.
        let wanted = self.needed.as_ref().map_or(self.items, |count| count.most(key).clamp(1, self.items));
        let most = longest(items.len(), wanted, 8 * self.limit);
        if most < wanted {
            self.not_all("too many combinations of items");
        }
        // The order of two items may decide which of them is reported; that of more says nothing
        // else.
        let mut longest: Vec<(Vec<Value>, usize, usize)> = vec![(Vec::new(), 0, 0)];
        for length in 1..=most {
            let mut longer = Vec::new();
            for (list, cost, last) in &longest {
                let first = if length > 2 { *last } else { 0 };
                for (at, choice) in items.iter().enumerate().skip(first) {
                    // An item that has to be there is none of those that matter.
                    let own = choice.items.max(1) - usize::from(has_items && length == 1);
                    let cost = cost + own;
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

    pub(crate) fn maps(&mut self, tree: &ReadTree, value: &Type, depth: usize) -> Vec<Choice> {
        let mut all = vec![Choice { value: Some(Value::Map(Map::new())), items: 0 }];
        for (key, below) in &tree.keys {
            let choices = self
                .below(Step::Key(key.clone()), |own| own.of(key, below, Some(value), false, None, depth + 1));
            all = self.product(all, key, &choices, &[]);
        }
        for key in &tree.named {
            let choices = self.below(Step::Key(key.clone()), |own| {
                own.of(key, &ReadTree::all(), Some(value), false, None, depth + 1)
            });
            all = self.product(all, key, &choices, &[]);
        }
        if tree.whole || tree.names || tree.items.is_some() {
            let below = tree.items.as_deref().cloned().unwrap_or_else(ReadTree::all);
            let known: Vec<Str> = tree.keys.iter().map(|(key, _)| key).chain(&tree.named).cloned().collect();
            let values = self.below(Step::Items, Domain::values);
            let texts =
                values.texts.iter().filter(|t| !t.is_empty()).flat_map(|t| [Some(t.clone()), as_key(t)]);
            let mut keys: Vec<Str> = texts.flatten().filter(|t| !known.contains(t)).collect();
            for name in self.more_names(&values) {
                if !known.contains(&name) && !keys.contains(&name) {
                    keys.push(name);
                }
            }
            if let Some(maps) = self.maps_of_classes(tree, (&below, &known), value, depth) {
                return self.with_each(all, &maps);
            }
            self.count();
            // For statements about entries as many are enough as for items of lists.
            let mut counted: Vec<(Choice, usize)> = all.into_iter().map(|choice| (choice, 0)).collect();
            for key in keys {
                if counted.len() >= self.limit {
                    // No more are taken: only what is tested there is of use for variations.
                    self.not_all("too many combinations of fields");
                    self.below(Step::Key(key), Domain::values);
                    continue;
                }
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

    /// More names of entries of a map, so that there are of each class as many as there may have to
    /// be entries.
    fn more_names(&mut self, values: &FieldValues) -> Vec<Str> {
        let field = match self.at.last() {
            Some(Step::Key(key)) => key.to_string(),
            _ => String::new(),
        };
        let wanted = self.needed.as_ref().map_or(self.items, |count| count.most(&field).min(self.items));
        if wanted <= 1 {
            return Vec::new();
        }
        let languages = self.below(Step::Items, |own| own.tested.at(&own.at).languages());
        match self.words.of(languages, wanted) {
            Some(more) => {
                let is_new = |text: &&Str| !text.is_empty() && !values.texts.contains(*text);
                more.iter().filter(is_new).cloned().collect()
            }
            None => {
                self.not_all("too many different names of entries");
                Vec::new()
            }
        }
    }

    /// Maps with the entries of keys that are read, each with those of each of other maps: what is
    /// that holds of the entries of both follows from what holds of either.
    fn with_each(&mut self, all: Vec<Choice>, others: &[Value]) -> Vec<Choice> {
        let (pairs, is_all) = pairs(others.len(), all.len(), self.limit, |_, _| true);
        if !is_all {
            self.not_all("too many combinations of fields");
        }
        let both = |(other, own): (usize, usize)| {
            let own = &all[own];
            let entries = others[other].as_map().into_iter().flat_map(Map::iter);
            let mut map = own.value.as_ref().and_then(Value::as_map).cloned().unwrap_or_default();
            entries.for_each(|(key, value)| _ = map.insert::<Str>(key.clone(), value.clone()));
            Choice { value: Some(Value::Map(map)), items: own.items }
        };
        pairs.into_iter().map(both).collect()
    }

    /// The maps that stand for all others where their entries are read one after the other,
    /// without those of some keys.
    fn maps_of_classes(
        &mut self,
        tree: &ReadTree,
        (below, known): (&ReadTree, &[Str]),
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
        names.retain(|name| !known.contains(name));
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
        let leaves_out = |map: &Map| self.one_key.is_some_and(|keys| keys.has_two(&self.at, map));
        self.classes.as_ref().filter(|_| self.open.is_none())?.maps(&self.at, &entries, &leaves_out)
    }

    /// Notes that items or entries are counted.
    pub(crate) fn count(&mut self) {
        if let Some(why) = self.uncounted.take() {
            self.not_all(&why);
        }
    }

    /// Objects, with the number of their entries that are counted, and each of them with one more
    /// entry.
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
                if self.one_key.is_some_and(|keys| keys.has_two(&self.at, &map)) {
                    continue;
                }
                let items = before.items.max(choice.items);
                longer.push((Choice { value: Some(Value::Map(map)), items }, count + 1));
            }
        }
        all.into_iter().chain(longer).collect()
    }
}

/// How long lists of this many different items are at most, so that there are not more than a
/// limit.
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
