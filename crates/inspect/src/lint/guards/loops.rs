//! Loops: the variables of their items, and the lists that they make.
//!
//! In: a macro with a list. Out: its value, and facts about the items of a filtered list.

use ephor_cel::ast::{ACCUMULATOR, Fold, Kind, Node, Shape};

use super::value::{Class, Place, ReadValue, Step, What, below, resolved};
use super::walk::Walk;

impl Walk<'_> {
    /// The value of a macro, whose body is walked for an item.
    pub(super) fn fold(&mut self, fold: &Fold) -> ReadValue {
        let depth = self.scopes.len();
        if fold.shape == Shape::Bind {
            let value = self.value(&fold.init);
            let name = fold.var2.clone().unwrap_or_else(|| fold.var.clone());
            self.scopes.push((name, value));
            let result = self.value(&fold.result);
            self.scopes.truncate(depth);
            return result;
        }
        let range = self.value(&fold.range);
        let id = self.next;
        self.next = self.next.saturating_add(1);
        self.bind_items(fold, &range, id);
        // The body is for an item: what stands in place of the list is not walked.
        let known = self.facts.len();
        let more = self.of_default(&fold.range);
        self.facts.extend(more);
        let step = self.value(&fold.step);
        self.facts.truncate(known);
        self.scopes.truncate(depth);
        match fold.shape {
            Shape::All | Shape::Exists | Shape::ExistsOne => ReadValue::one(Class::Bool),
            Shape::List => self.made_list(fold, &range, id, step),
            Shape::Map | Shape::Entries | Shape::Bind => ReadValue::any(),
        }
    }

    /// Makes the variables of a loop known.
    pub(super) fn bind_items(&mut self, fold: &Fold, range: &ReadValue, id: u32) {
        self.scopes.push((ACCUMULATOR.into(), ReadValue::any()));
        let is_list = matches!(range.what.classes().as_deref(), Some([Class::List, ..]));
        let item = match is_list {
            true => {
                let what = match range.what.items() {
                    What::Types(all) => {
                        What::Types(all.iter().map(|ty| resolved(ty, self.names.types)).collect())
                    }
                    other => other,
                };
                let place = below(range.place.as_ref(), Step::Each(id));
                ReadValue { what, place, is_optional: false }
            }
            false => ReadValue::any(),
        };
        match &fold.var2 {
            None => self.scopes.push((fold.var.clone(), item)),
            Some(second) => {
                self.scopes.push((fold.var.clone(), ReadValue::any()));
                self.scopes.push((second.clone(), item));
            }
        }
    }

    /// The list that `filter` or `map` makes: items of a filtered one have what its condition
    /// needs.
    fn made_list(&mut self, fold: &Fold, range: &ReadValue, id: u32, step: ReadValue) -> ReadValue {
        let place = vec![Step::Root(format!("#{id}").into())];
        let is_ident = |node: &Node| matches!(&node.kind, Kind::Ident(name) if *name == fold.var);
        let appended = |node: &Node| match &node.kind {
            Kind::Call { function, args, .. } if **function == *"_+_" => match args.as_slice() {
                [_, Node { kind: Kind::List { items, .. }, .. }] => {
                    matches!(items.as_slice(), [item] if is_ident(item))
                }
                _ => false,
            },
            _ => false,
        };
        let condition = match &fold.step.kind {
            Kind::Call { function, args, .. } if **function == *"_?_:_" => match args.as_slice() {
                [condition, yes, _] if appended(yes) => Some(condition),
                _ => None,
            },
            _ => None,
        };
        let Some(condition) = condition.filter(|_| fold.var2.is_none()) else {
            // The accumulator is anything: the items are those of the list that is added.
            let what = match self.items_of_step(fold, range, id) {
                Some(what) => What::List(Box::new(what)),
                None => step.what,
            };
            return ReadValue { what, place: Some(place), is_optional: false };
        };
        let depth = self.scopes.len();
        let of_items = ReadValue { place: Some(place.clone()), ..range.clone() };
        self.bind_items(fold, &of_items, 0);
        let facts = self.facts_of(condition, true);
        self.scopes.truncate(depth);
        self.made.extend(facts);
        // What is known of the items of the whole list.
        if let Some(list) = &range.place {
            let known =
                self.facts.iter().chain(&self.made).filter(|fact| {
                    fact.starts_with(list) && matches!(fact.get(list.len()), Some(Step::Each(0)))
                });
            let moved: Vec<Place> = known
                .map(|fact| place.iter().cloned().chain(fact.iter().skip(list.len()).cloned()).collect())
                .collect();
            self.made.extend(moved);
        }
        let what = match &range.what {
            What::Types(all) => What::Types(all.clone()),
            other => other.clone(),
        };
        ReadValue { what, place: Some(place), is_optional: false }
    }

    /// What `map` puts into its list.
    fn items_of_step(&mut self, fold: &Fold, range: &ReadValue, id: u32) -> Option<What> {
        let mut node = &fold.step;
        if let Kind::Call { function, args, .. } = &node.kind
            && **function == *"_?_:_"
        {
            node = args.get(1)?;
        }
        let Kind::Call { function, args, .. } = &node.kind else { return None };
        let [_, Node { kind: Kind::List { items, .. }, .. }] = args.as_slice() else { return None };
        let item = items.first().filter(|_| **function == *"_+_")?;
        let depth = self.scopes.len();
        let found = (self.reads.len(), self.unequal.len());
        self.bind_items(fold, range, id);
        let what = self.value(item).what;
        self.scopes.truncate(depth);
        // It was walked before.
        self.reads.truncate(found.0);
        self.unequal.truncate(found.1);
        Some(what)
    }
}
