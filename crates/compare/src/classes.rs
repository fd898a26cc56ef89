//! Lists that stand for all others where rules look at their items one after the other.
//!
//! In: units, and the items of each class of a list. Out: lists. What a loop says of a list follows from what it says of the list without
//! its last item, and of a list of this item alone. So items about which all loops say the same have one item that stands for
//! them, and it is enough to add such items to lists until the loops say nothing new: the lists that were found stand for
//! those of any length (`docs/diff.md`, "Lists").

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::reads::Step;
use crate::value::{Map, Value};

use super::environment::Environment;
use super::loops::Loop;
use super::range::List;
use super::side::{Verdict, judge};
use super::surroundings::{Case, Surroundings, request};
use super::units::Unit;

/// More lists are too many.
const MOST_LISTS: usize = 4_096;

/// Longer lists are not tried.
const LONGEST: usize = 64;

/// What all loops say of a list, and whether it is empty.
type Said = (bool, Vec<Verdict>);

/// Lists whose items are looked at by loops alone.
pub(crate) struct Classes {
    environment: Environment,
    around: Arc<Surroundings>,
    /// The loops over each list; they are those of units, which hold them.
    lists: BTreeMap<List, Vec<Arc<Loop>>>,
}

impl Classes {
    /// Those of the lists of objects that these units walk; `None`: there are none.
    pub fn of<'u>(
        environment: &Environment,
        units: impl Iterator<Item = &'u Unit> + Clone,
    ) -> Option<Classes> {
        if !environment.is_of_resource() {
            return None;
        }
        let is_deletion = environment.operation == "DELETE";
        let kind = &environment.resource.kind;
        let units: Vec<&Unit> = units.collect();
        let mut lists: BTreeMap<List, Vec<Arc<Loop>>> = BTreeMap::new();
        for is_inner in [false, true] {
            let levels = || units.iter().map(|unit| (unit, unit.loops(kind, is_deletion).level(is_inner)));
            for one in levels().flat_map(|(_, level)| &level.all) {
                let is_of_level = |list: &&List| list.contains(&Step::Items) == is_inner;
                for list in one.lists.iter().filter(is_of_level) {
                    if levels().all(|(unit, own)| own.are_all_of(list, &unit.reads, is_deletion)) {
                        lists.entry(list.clone()).or_default().push(Arc::clone(one));
                    }
                }
            }
        }
        let around = Arc::default();
        (!lists.is_empty()).then(|| Classes { environment: environment.clone(), around, lists })
    }

    /// The lists of a field that stand for all lists of these items but the empty one; `next` gives an item its name at a
    /// position. `None`: they are not known.
    pub fn lists(
        &self,
        field: &[Step],
        items: impl Iterator<Item = Value>,
        next: &dyn Fn(&Value, usize) -> Value,
    ) -> Option<Vec<Value>> {
        let loops = self.lists.get(field)?;
        let empty = self.said(field, loops, &[])?;
        if empty.1.contains(&Verdict::Error) {
            // It would hide what is said of items.
            return None;
        }
        let mut classes: BTreeMap<Vec<Verdict>, Value> = BTreeMap::new();
        for item in items {
            let (_, said) = self.said(field, loops, &[next(&item, 0)])?;
            classes.entry(said).or_insert(item);
        }
        let mut known: BTreeMap<Said, Vec<Value>> = BTreeMap::from([(empty.clone(), Vec::new())]);
        let mut found = Vec::new();
        let mut left = std::collections::VecDeque::from([empty]);
        while let Some(said) = left.pop_front() {
            let list = known.get(&said)?.clone();
            if list.len() >= LONGEST {
                return None;
            }
            for item in classes.values() {
                let mut longer = list.clone();
                longer.push(next(item, list.len()));
                let said = self.said(field, loops, &longer)?;
                if known.contains_key(&said) {
                    continue;
                }
                if found.len() >= MOST_LISTS {
                    return None;
                }
                found.push(Value::list(longer.clone()));
                known.insert(said.clone(), longer);
                left.push_back(said);
            }
        }
        Some(found)
    }

    /// What loops say of a list in an object that has nothing else; other lists that they walk are empty.
    fn said(&self, field: &[Step], loops: &[Arc<Loop>], items: &[Value]) -> Option<Said> {
        let mut said = Vec::with_capacity(loops.len());
        for one in loops {
            let mut object = Value::map([
                ("apiVersion", Value::from(&*self.environment.api_version())),
                ("kind", Value::Str(self.environment.object[2].clone())),
                ("metadata", Value::map([("name", Value::from("a"))])),
            ]);
            let is_other = |list: &&List| !list.contains(&Step::Items) && !field.starts_with(list);
            for list in one.lists.iter().filter(is_other) {
                object = placed(&object, list, Value::list(Vec::new()));
            }
            object = placed(&object, field, Value::list(items.to_vec()));
            let case = Case { object, old: None, around: Arc::clone(&self.around) };
            said.push(judge(&one.engine, &request(&self.environment, &case)?).verdict);
        }
        Some((items.is_empty(), said))
    }
}

/// A value with another one at the end of some steps; lists on the way have one item.
fn placed(at: &Value, steps: &[Step], value: Value) -> Value {
    match steps.split_first() {
        None => value,
        Some((Step::Key(key), rest)) => {
            let none = Value::Map(Map::new());
            let below = placed(at.get(key).unwrap_or(&none), rest, value);
            if at.as_map().is_some() { at.with(key, below) } else { none.with(key, below) }
        }
        Some((_, rest)) => Value::list(vec![placed(&Value::Null, rest, value)]),
    }
}
