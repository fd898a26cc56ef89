//! Which units are likely to cover another one.
//!
//! In: a unit, and those of the other side. Out: these, the likeliest first: what reads the same
//! and little else, and of these what tests the same. The order says nothing about answers, only
//! how soon they are found.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use ephor_analysis::reads::ReadTree;

use crate::predicates::summary::Predicates;
use crate::units::cached::CachedUnit;

/// The units of the other side, the likeliest first, each with how many fields it reads of those
/// that the unit reads.
pub(crate) fn nearest<'u>(unit: &CachedUnit, others: &'u [CachedUnit]) -> Vec<(&'u CachedUnit, usize)> {
    let overlap = |other: &CachedUnit| shared(&unit.objects, &other.objects);
    let mut near: Vec<(&CachedUnit, usize)> = others.iter().map(|other| (other, overlap(other))).collect();
    near.sort_by_cached_key(|(other, overlap)| {
        let all = shared(&other.objects, &other.objects);
        (Reverse(*overlap), all, distance(&unit.predicates, &other.predicates))
    });
    near
}

/// How many fields two readers have in common.
fn shared(a: &ReadTree, b: &ReadTree) -> usize {
    let below: usize = a.keys.iter().filter_map(|(key, a)| Some(1 + shared(a, b.get(key)?))).sum();
    // Items of lists that are put together are read as items of items, too.
    let pairs = items(a).flat_map(|a| items(b).map(move |b| (a, b)));
    below + pairs.map(|(a, b)| 1 + shared(a, b)).max().unwrap_or_default()
}

fn items(tree: &ReadTree) -> impl Iterator<Item = &ReadTree> {
    [&tree.items, &tree.nested].into_iter().flatten().map(|tree| &**tree)
}

/// How many texts only one of two tests.
fn distance(a: &Predicates, b: &Predicates) -> usize {
    let differ = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.symmetric_difference(b).count();
    differ(&a.globs, &b.globs) + differ(&a.regexes, &b.regexes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_the_same_texts_is_nearest() {
        let of = |globs: &[&str], regexes: &[&str]| {
            let set = |all: &[&str]| all.iter().map(|text| (*text).to_string()).collect();
            Predicates { globs: set(globs), regexes: set(regexes), ..Predicates::default() }
        };
        let own = of(&["a", "b"], &["^x"]);
        assert_eq!(distance(&own, &own), 0);
        assert_eq!(distance(&own, &of(&["a"], &["^x"])), 1);
        assert_eq!(distance(&own, &of(&["a", "b"], &["^y"])), 2);
    }

    #[test]
    fn what_is_read_of_items_of_lists_that_are_put_together_is_the_same_as_of_their_own() {
        use ephor_analysis::reads::Step;
        let of = |step: Step, key: &str| {
            let mut tree = ReadTree::default();
            tree.add(&[Step::Key("a".into()), step, Step::Key(key.into())], true);
            tree
        };
        assert_eq!(shared(&of(Step::Nested, "b"), &of(Step::Items, "b")), 3);
        assert_eq!(shared(&of(Step::Nested, "b"), &of(Step::Items, "c")), 2);
    }
}
