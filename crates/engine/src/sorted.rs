//! Lists that `sort_by` has put in order.
//!
//! Kyverno's JMESPath library sorts a list in place, so everything that holds the same list sees
//! the new order from then on: `[sort_by(@, &a)[0], [0]]` gives the least item twice. Values here
//! are shared and never change. Instead, evaluation notes which list has become which, and
//! [`Sorted::settle`] gives what a value is by now. Lists are identified by their address, which is
//! why a list that was sorted is retained.
//!
//! In: the table, and values on their way through the evaluator. Out: the same values, with every
//! list that was sorted meanwhile in its new order. An empty table costs a read a flag.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use ephor_value::{List, Value, stack};

/// Which list has become which.
#[derive(Debug, Default)]
pub struct Sorted {
    any: Cell<bool>,
    /// By the address of the former list, which is retained so that no other list gets its address.
    lists: RefCell<HashMap<usize, (List, List)>>,
}

impl Sorted {
    /// Notes that `from` has become `to`.
    pub fn note(&self, from: &List, to: &List) {
        if from.address() != to.address() {
            self.any.set(true);
            self.lists.borrow_mut().insert(from.address(), (from.clone(), to.clone()));
        }
    }

    /// Whether any list was sorted.
    pub fn any(&self) -> bool {
        self.any.get()
    }

    /// The value as it is by now.
    pub fn settle<'a>(&self, value: Cow<'a, Value>) -> Cow<'a, Value> {
        if !self.any.get() {
            return value;
        }
        match self.changed(&value) {
            Some(new) => Cow::Owned(new),
            None => value,
        }
    }

    /// What has become of a list, following its history to the end. INVARIANT: a list is noted only
    /// to become one that was created after it, so the history has no cycle.
    fn latest(&self, list: &List) -> Option<List> {
        let lists = self.lists.borrow();
        let mut now = &lists.get(&list.address())?.1;
        while let Some((_, next)) = lists.get(&now.address()) {
            now = next;
        }
        Some(now.clone())
    }

    /// The value with everything inside of it settled, `None` when nothing of it was sorted.
    fn changed(&self, value: &Value) -> Option<Value> {
        match value {
            Value::List(_) | Value::Map(_) => stack::deep(|| self.changed_inside(value)),
            _ => None,
        }
    }

    fn changed_inside(&self, value: &Value) -> Option<Value> {
        match value {
            Value::List(list) => {
                let latest = self.latest(list);
                let now = latest.as_ref().unwrap_or(list);
                let Some(items) = self.changed_all(|| now.iter()) else { return latest.map(Value::List) };
                // Noted, so that all holders of the outer list still share one list.
                let new = now.with_items(items);
                self.note(now, &new);
                Some(Value::List(new))
            }
            Value::Map(map) => {
                let values = self.changed_all(|| map.values())?;
                Some(Value::Map(map.iter().map(|(k, _)| k.clone()).zip(values).collect()))
            }
            _ => None,
        }
    }

    fn changed_all<'v, I: Iterator<Item = &'v Value>>(&self, values: impl Fn() -> I) -> Option<Vec<Value>> {
        let first = values().position(|v| self.changed(v).is_some())?;
        let settled = |(at, v): (usize, &Value)| match at < first {
            true => v.clone(),
            false => self.changed(v).unwrap_or_else(|| v.clone()),
        };
        Some(values().enumerate().map(settled).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(numbers: &[f64]) -> List {
        numbers.iter().map(|n| Value::Float(*n)).collect()
    }

    #[test]
    fn every_holder_of_a_sorted_list_sees_the_new_order() {
        let (before, after) = (list(&[2.0, 1.0]), list(&[1.0, 2.0]));
        let holder = Value::list(vec![Value::List(before.clone()), Value::Null]);
        let sorted = Sorted::default();
        assert!(matches!(sorted.settle(Cow::Borrowed(&holder)), Cow::Borrowed(_)), "nothing was sorted");
        sorted.note(&before, &after);
        let settled = sorted.settle(Cow::Borrowed(&holder)).into_owned();
        assert!(settled.strict_eq(&Value::list(vec![Value::List(after), Value::Null])));
    }

    #[test]
    fn a_list_of_equal_items_that_is_another_list_keeps_its_order() {
        let sorted = Sorted::default();
        sorted.note(&list(&[2.0, 1.0]), &list(&[1.0, 2.0]));
        let other = Value::List(list(&[2.0, 1.0]));
        assert!(matches!(sorted.settle(Cow::Borrowed(&other)), Cow::Borrowed(_)));
    }

    #[test]
    fn outer_and_inner_lists_can_be_sorted_one_after_the_other() {
        let (inner, inner_sorted) = (list(&[2.0, 1.0]), list(&[1.0, 2.0]));
        let outer = List::from(vec![Value::List(inner.clone()), Value::Null]);
        let sorted = Sorted::default();
        sorted.note(&inner, &inner_sorted);
        let Value::List(seen) = sorted.settle(Cow::Owned(Value::List(outer.clone()))).into_owned() else {
            panic!("a list stays a list");
        };
        sorted.note(&seen, &List::from(vec![Value::Null, Value::List(inner_sorted.clone())]));
        let again = sorted.settle(Cow::Owned(Value::List(outer))).into_owned();
        assert!(again.strict_eq(&Value::list(vec![Value::Null, Value::List(inner_sorted)])));
    }
}
