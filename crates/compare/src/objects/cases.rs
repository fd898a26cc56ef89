//! Cases: every object with every former object and every request context.
//!
//! In: what the units read and test, a domain, and contexts. Out: requests that stand for all
//! others, at most this many, from everywhere where there are more.

use std::collections::BTreeSet;
use std::sync::Arc;

use ephor_analysis::reads::{ReadTree, Reads, Step};
use ephor_value::Value;
use ephor_value::print::json;

use crate::model::environment::Environment;
use crate::model::limits::MAX_CASES;
use crate::model::request::{Case, IDENTITY, RequestContext, identified};
use crate::objects::domain::Domain;
use crate::predicates::summary::Predicates;

/// The cases of an environment: objects, and what surrounds them.
pub(crate) fn cases(
    environment: &Environment,
    reads: &Reads,
    tested: &Predicates,
    domain: &mut Domain<'_>,
    around: &[Arc<RequestContext>],
) -> Vec<Case> {
    let mut tree = reads.shown.clone();
    // In deletions there is no new object.
    tree.merge(if environment.operation == "DELETE" { &reads.old } else { &reads.object });
    if &*environment.resource.kind == "Namespace" {
        // Selectors of namespaces read the labels of the object.
        for label in tested.namespace_labels.keys() {
            tree.add(&["metadata", "labels", label].map(|key| Step::Key(key.into())), true);
        }
    }
    let is_update = environment.operation == "UPDATE" && reads.old != ReadTree::default();
    let mut former = reads.old.clone();
    if is_update {
        // Of an object that stays, the name and the namespace do, too.
        for key in IDENTITY.iter().filter(|key| takes_out(&mut former, key)) {
            tree.add(&["metadata", key].map(|key| Step::Key(key.into())), true);
        }
    }
    let objects = domain.objects(environment, &tree, reads.name);
    // Loops read the new object, and so do parts that decide.
    domain.classes = None;
    let deciding = domain.deciding.take();
    let before: Vec<Option<Value>> = match is_update {
        true => {
            let mut known = BTreeSet::new();
            let all = domain.objects(environment, &former, false).into_iter();
            let all = all.map(|old| identified(&old, &Value::Null));
            all.filter(|old| known.insert(json(old))).map(Some).collect()
        }
        false => vec![None],
    };
    domain.deciding = deciding;
    let most = objects.len().max(before.len()).max(MAX_CASES);
    let total = objects.len().saturating_mul(before.len()).saturating_mul(around.len());
    if total > most {
        domain.open.get_or_insert_with(|| "too many combinations of objects".into());
    }
    let case = |at: usize| {
        let object = objects.get(at % objects.len())?;
        let rest = at / objects.len();
        let old = before.get(rest % before.len())?.as_ref().map(|old| identified(old, object));
        Some(Case { object: object.clone(), old, around: Arc::clone(around.get(rest / before.len())?) })
    };
    spread(total, most).filter_map(case).collect()
}

/// This many of some numbers, in their order where these are all, else from everywhere.
pub(crate) fn spread(total: usize, most: usize) -> impl Iterator<Item = usize> {
    let are_coprime = |step: &usize| {
        let (mut a, mut b) = (total, *step);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a == 1
    };
    // About the golden section of them: what is near each other comes far apart.
    let golden = total / 1_000 * 618 + total % 1_000 * 618 / 1_000;
    let step = if total <= most { 1 } else { (golden.max(1)..).find(are_coprime).unwrap_or(1) };
    (0..total.min(most)).scan(0, move |at, _| {
        let here = *at;
        *at = (*at + step) % total.max(1);
        Some(here)
    })
}

/// Takes a field of the metadata out of what is read; whether it was read.
pub(crate) fn takes_out(tree: &mut ReadTree, key: &str) -> bool {
    let Some((_, metadata)) = tree.keys.iter_mut().find(|(own, _)| **own == *"metadata") else {
        return false;
    };
    let before = metadata.keys.len();
    metadata.keys.retain(|(own, _)| **own != *key);
    metadata.keys.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_many_are_from_everywhere_and_each_is_taken_once() {
        assert_eq!(spread(5, 9).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(spread(0, 9).count(), 0);
        for total in [100, 1_000, 65_536, 99_991] {
            let found: BTreeSet<usize> = spread(total, 90).collect();
            assert_eq!(found.len(), 90, "{total}");
            let tenths: BTreeSet<usize> = found.iter().map(|at| at * 10 / total).collect();
            assert_eq!(tenths.len(), 10, "{total}");
        }
    }
}
