//! Fields of which no schema says the type.
//!
//! In: what is read of a field, and which types rules expect of it
//! (`analysis::reads::expectations`). Out: values of these types.
//!
//! A proof about such fields is relative to their types: they have those that rules expect. A
//! type that any unit of either side expects is tried: that one unit takes a field for a list
//! says nothing about another that takes it for an object. Where all that read it take it for a
//! list (a loop of `foreach`, a filter, `[]`, a pattern of a list, `orValue([])`), an object or a
//! text in its place is none of these types. A loop of CEL takes lists and objects: it expects
//! what others expect, and both where these say neither. As soon as one use is not known to
//! expect a type (an argument of a function, two fields that are compared), or the tests of one
//! unit are not known, all that the reads allow are tried.

use ephor_analysis::reads::expected_type::ExpectedType;
use ephor_analysis::reads::{ReadTree, Step};
use ephor_kubernetes::schema::{Leaf, Type};
use ephor_value::{Map, Str, Value};

use crate::inputs::context_entries::INPUTS;
use crate::inputs::derived::{DerivedValues, computed};
use crate::objects::choice::{Choice, plain};
use crate::objects::domain::Domain;
use crate::objects::inputs::of_image;

/// Which types are tried.
#[derive(Clone, Copy)]
struct Tried {
    list: bool,
    map: bool,
    scalar: bool,
    /// Also one that is no text.
    number: bool,
}

impl Tried {
    fn of(looked: Option<ExpectedType>) -> Tried {
        let Some(looked) = looked else { return Tried { list: true, map: true, scalar: true, number: true } };
        let is_either = looked.members && !looked.list && !looked.map;
        // Membership takes a list and a scalar; a list as the default, or a loop, says that it is
        // the first.
        let scalar = looked.scalar || (looked.scalars && !looked.list);
        let text = looked.text || (looked.texts && !looked.list);
        Tried {
            list: looked.list || looked.scalars || looked.texts || is_either,
            map: looked.map || is_either,
            scalar: scalar || text || looked.printed,
            number: scalar || !text,
        }
    }
}

impl Domain<'_> {
    /// The types that rules expect of the field that is built; `None`: any. Answers of lookups
    /// have those that others give them.
    fn looked_for(&self) -> Option<ExpectedType> {
        let is_answer = self.at.iter().any(|step| matches!(step, Step::Key(key) if **key == *INPUTS));
        if self.is_json || is_answer { None } else { self.tested.looked_for(&self.at) }
    }

    /// Values of a field of which no type is known.
    pub(crate) fn untyped(&mut self, key: &Str, tree: &ReadTree, depth: usize) -> Vec<Choice> {
        let mut all = Vec::new();
        if let Some(DerivedValues::OneOf(values, _)) = computed(key) {
            return values.into_iter().map(plain).collect();
        }
        if self.is_json {
            all.push(plain(Value::Null));
            if let Some(ty) = of_image(&self.path) {
                all.extend(self.of(key, tree, Some(&ty), true, None, depth));
                return all;
            }
        }
        let looked = self.looked_for();
        let mut tried = Tried::of(looked);
        if looked.is_none() && self.is_sampled && self.constants().is_some() {
            (tried.map, tried.list) = (!tree.keys.is_empty(), tree.items.is_some() || tree.nested.is_some());
        }
        if looked.is_some_and(|looked| looked.empty) {
            all.extend([Value::list(Vec::new()), Value::Map(Map::new())].map(plain));
        }
        let has_items = tree.items.is_some() || tree.nested.is_some();
        if tree.names && !tree.whole && tried.map {
            let tree = self.with_tested_names(tree);
            all.extend(self.fields(&tree, None, None, depth));
        } else if !tree.keys.is_empty() && tried.map {
            all.extend(self.fields(tree, None, None, depth));
        }
        if has_items && tried.list {
            all.extend(self.lists(key, tree, None, false, depth));
        }
        if tree.items.is_some() && tree.keys.is_empty() && tried.map {
            // Or values of an object with any keys.
            all.extend(self.maps(tree, &Type::Leaf(Leaf::Any), depth));
        }
        // What is compared with texts may be one, whatever else is expected of it.
        if tried.scalar && (all.is_empty() || self.tested.at(&self.at).is_text) {
            all.extend(self.untyped_scalars(tried.number));
        }
        if tree.whole {
            // Or an object of scalars where no constant says what it is, or a list where something
            // is looked for in it, or it goes with another field.
            let keys = tree.named.iter().map(|key| (key.clone(), ReadTree::default()));
            let of_scalars =
                ReadTree { items: Some(Box::default()), keys: keys.collect(), ..ReadTree::default() };
            let tested = self.tested.at(&self.at);
            let is_searched = tested.constants.contains("*") || tested.relates;
            let is_list = tested.wholes.iter().any(|whole| matches!(whole, Value::List(_)));
            let is_map = tested.wholes.iter().any(|whole| matches!(whole, Value::Map(_)));
            if (is_searched || is_list || looked.is_some()) && tried.list {
                all.extend(self.lists(key, &of_scalars, None, false, depth));
            }
            let is_looked_into = looked.is_some_and(|looked| looked.map) || !tree.named.is_empty();
            if (is_searched || is_map || is_looked_into || !self.tested.has(&self.at)) && tried.map {
                all.extend(self.maps(&of_scalars, &Type::Leaf(Leaf::Any), depth));
            }
        }
        if all.is_empty() {
            all.extend(self.untyped_scalars(tried.number));
        }
        self.is_assumed = true;
        all
    }

    /// Of which types the constants are that the field is compared with. Where what a unit looks
    /// for is not known, that proves nothing.
    fn constants(&self) -> Option<[bool; 3]> {
        let is_known = !self.is_json && (self.is_sampled || self.looked_for().is_some());
        is_known.then(|| self.tested.constants_of(&self.at)).flatten()
    }

    /// A text of each class, and a number and a boolean of each where these are tried.
    fn untyped_scalars(&mut self, numbers: bool) -> Vec<Choice> {
        let values = self.values();
        let [has_texts, has_numbers, has_booleans] = self.constants().unwrap_or([true; 3]);
        let mut all: Vec<Choice> = Vec::new();
        all.extend(values.texts.iter().filter(|_| has_texts).cloned().map(|t| plain(Value::Str(t))));
        let [as_text, as_integer, _] = values.is_all;
        self.known_all((as_text || !has_texts) && (as_integer || !numbers || !has_numbers));
        if !numbers {
            return all;
        }
        let number = |n: &i64| if self.is_json { Value::Float(*n as f64) } else { Value::Int(*n) };
        if has_numbers {
            all.extend(values.integers.iter().map(|n| plain(number(n))));
            all.extend(values.fractions.iter().map(|n| plain(Value::Float(*n))));
        }
        if has_booleans {
            all.extend([false, true].map(|b| plain(Value::Bool(b))));
        }
        all
    }
}
