//! How many items, and of which lists.
//!
//! A list has a name: that of the field which it is in. Lists of one name, wherever they are, have
//! the same number.

use std::collections::{BTreeMap, BTreeSet};

/// How many items of all lists together, and how many of each list at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// This many in all.
    pub total: usize,
    /// This many of the lists of a name.
    lists: BTreeMap<String, usize>,
    /// This many more of any list.
    any: usize,
}

impl Count {
    /// Items of any lists.
    pub fn of(total: usize) -> Count {
        Count { total, any: total, ..Count::default() }
    }

    /// Items of lists of these names; without names of any.
    pub fn of_lists(total: usize, names: &BTreeSet<String>) -> Count {
        match names.is_empty() {
            true => Count::of(total),
            false => Count { total, any: 0, lists: names.iter().map(|name| (name.clone(), total)).collect() },
        }
    }

    /// These and others.
    pub fn and(mut self, other: &Count) -> Count {
        self.total += other.total;
        self.any += other.any;
        for (name, count) in &other.lists {
            *self.lists.entry(name.clone()).or_default() += count;
        }
        self
    }

    /// These or others, whichever are more.
    pub fn or(mut self, other: &Count) -> Count {
        self.total = self.total.max(other.total);
        self.any = self.any.max(other.any);
        for (name, count) in &other.lists {
            let own = self.lists.entry(name.clone()).or_default();
            *own = (*own).max(*count);
        }
        self
    }

    /// Those of known lists alone, but for some.
    pub fn without(&self, names: &BTreeSet<String>) -> Count {
        let lists = self.lists.iter().filter(|(name, _)| !names.contains(*name));
        let lists: BTreeMap<String, usize> = lists.map(|(name, count)| (name.clone(), *count)).collect();
        Count { total: lists.values().sum(), any: 0, lists }
    }

    /// The names of lists of which it is known how many items there are.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.lists.keys().map(String::as_str)
    }

    /// Items of the lists of a name.
    pub fn most(&self, list: &str) -> usize {
        self.lists.get(list).copied().unwrap_or_default() + self.any
    }
}
