//! What loops say of lists that grow by items, found once for each unit.
//!
//! In: what loops say of a list, and of a list of one more item alone. Out: what they say of the
//! list with that item (`lists::closure`). It follows from these two for the loops of any units, so
//! also for those of each unit alone: what was evaluated for a unit holds for every other list and
//! item of which its loops say the same. What units say differs in few ways for each of them, and
//! in many for all together. What is put together holds as much as `lists::closure` takes for
//! granted in any case: there lists of which the loops of a unit say the same stand for each other
//! where no other unit is evaluated.
//!
//! Whether an API server refuses the longer list is not a matter of a unit. It depends on what it
//! shows of both, and on whether the item repeats a name; where units do not say the same of it the
//! list is evaluated.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use ephor_value::Value;
use foldhash::fast::RandomState;

use crate::admitted::repair::KEYS;
use crate::lists::observation::Observation;
use crate::model::verdict::Verdict;

/// What the loops of a unit say of a list, as written and in clusters.
type LoopVerdicts = (Vec<Verdict>, Vec<Verdict>);

/// A unit, the numbers of the observations of a list and of an item, and what the item has in
/// common with others.
type ObservedBefore = (usize, [usize; 2], u32);

/// What is known of lists of one field.
pub(crate) struct ClosureCache {
    /// The number of the unit of each loop.
    owners: Vec<usize>,
    units: usize,
    /// The number of what each unit says of lists of which all loops say the same.
    numbers: BTreeMap<Observation, Rc<[usize]>>,
    /// What units say of lists: whether they are empty, the observation, and whether an API server
    /// refuses them.
    parts: HashMap<(bool, LoopVerdicts, Option<String>), usize, RandomState>,
    known: HashMap<ObservedBefore, (LoopVerdicts, Option<String>), RandomState>,
}

impl ClosureCache {
    /// Of loops of these units.
    pub fn new(owners: &[usize]) -> ClosureCache {
        let mut units: Vec<usize> = owners.to_vec();
        units.sort_unstable();
        units.dedup();
        let number = |unit: &usize| units.binary_search(unit).unwrap_or_default();
        ClosureCache {
            owners: owners.iter().map(number).collect(),
            units: units.len(),
            numbers: BTreeMap::new(),
            parts: HashMap::default(),
            known: HashMap::default(),
        }
    }

    /// What loops say of a list that grew by an item; `repeats`: what the item has in common with
    /// others; `find`: evaluates it.
    pub fn said(
        &mut self,
        before: &Observation,
        alone: &Observation,
        repeats: u32,
        find: impl FnOnce() -> Option<Observation>,
    ) -> Option<Observation> {
        if self.units < 2 {
            return find();
        }
        let (before, alone) = (self.numbers(before), self.numbers(alone));
        let pairs = before.iter().zip(alone.iter()).enumerate();
        let keys: Vec<ObservedBefore> =
            pairs.map(|(unit, (list, item))| (unit, [*list, *item], repeats)).collect();
        let known: Option<Vec<_>> = keys.iter().map(|key| self.known.get(key)).collect();
        if let Some(said) = known.and_then(|known| self.together(&known)) {
            return Some(said);
        }
        let found = find()?;
        for (unit, key) in keys.into_iter().enumerate() {
            self.known.insert(key, (self.part(&found, unit), found.refused.clone()));
        }
        Some(found)
    }

    /// The numbers of what units say of a list.
    fn numbers(&mut self, said: &Observation) -> Rc<[usize]> {
        if let Some(known) = self.numbers.get(said) {
            return Rc::clone(known);
        }
        let parts: Vec<LoopVerdicts> = (0..self.units).map(|unit| self.part(said, unit)).collect();
        let mut number = |part: LoopVerdicts| {
            let next = self.parts.len();
            *self.parts.entry((said.is_empty, part, said.refused.clone())).or_insert(next)
        };
        let found: Rc<[usize]> = parts.into_iter().map(&mut number).collect();
        self.numbers.insert(said.clone(), Rc::clone(&found));
        found
    }

    /// What all loops say, where units say the same of refusals.
    fn together(&self, known: &[&(LoopVerdicts, Option<String>)]) -> Option<Observation> {
        let (_, refused) = known.first()?;
        if known.iter().any(|(_, other)| other != refused) {
            return None;
        }
        let mut parts: Vec<_> = known.iter().map(|((written, shown), _)| written.iter().zip(shown)).collect();
        let (mut as_written, mut in_clusters) = (Vec::new(), Vec::new());
        for owner in &self.owners {
            let (written, shown) = parts.get_mut(*owner)?.next()?;
            as_written.push(*written);
            in_clusters.push(*shown);
        }
        Some(Observation { is_empty: false, as_written, in_clusters, refused: refused.clone() })
    }

    /// What the loops of a unit say.
    fn part(&self, said: &Observation, unit: usize) -> LoopVerdicts {
        let own = |all: &[Verdict]| {
            let numbered = self.owners.iter().zip(all);
            numbered.filter(|(owner, _)| **owner == unit).map(|(_, verdict)| *verdict).collect()
        };
        (own(&said.as_written), own(&said.in_clusters))
    }
}

/// Which of the fields that API servers take for the key of an item have the same value in an item
/// before it, one bit each; the last for items that are the same.
pub(crate) fn repeated(before: &[Value], last: &Value) -> u32 {
    let has = |key: &str| {
        let own = last.get(key);
        own.is_some() && before.iter().any(|item| item.get(key) == own)
    };
    let is_same = before.contains(last);
    KEYS.iter().map(|key| has(key)).chain([is_same]).fold(0, |bits, is| 2 * bits + u32::from(is))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare_tests::yaml;

    fn said(as_written: &[Verdict], refused: Option<&str>) -> Observation {
        let all = as_written.to_vec();
        Observation {
            is_empty: false,
            as_written: all.clone(),
            in_clusters: all,
            refused: refused.map(Into::into),
        }
    }

    #[test]
    fn what_is_known_of_each_unit_is_put_together() {
        use Verdict::{Fail, Pass};
        let mut grown = ClosureCache::new(&[0, 1, 0]);
        let mut of = |before: [Verdict; 3], alone: [Verdict; 3], found: Option<[Verdict; 3]>| {
            let find = || found.map(|found| said(&found, None));
            grown.said(&said(&before, None), &said(&alone, None), 0, find).map(|said| said.as_written)
        };
        let (p, f) = ([Pass; 3], [Fail; 3]);
        assert_eq!(of(p, p, Some(p)), Some(p.to_vec()));
        assert_eq!(of(p, f, Some(f)), Some(f.to_vec()));
        // The loops of the first unit say what they said of `p` and `f`, that of the second what it
        // said of `p` and `p`.
        assert_eq!(of(p, [Fail, Pass, Fail], None), Some(vec![Fail, Pass, Fail]));
        assert_eq!(of(p, [Fail, Pass, Pass], None), None);
        assert_eq!(of(f, p, None), None);
    }

    #[test]
    fn what_units_do_not_agree_on_is_evaluated() {
        use Verdict::{Fail, Pass};
        let mut grown = ClosureCache::new(&[0, 1]);
        let mut of = |alone: [Verdict; 2], found: Option<Option<&str>>| {
            let find = || found.map(|refused| said(&alone, refused));
            grown.said(&said(&[Pass; 2], None), &said(&alone, None), 0, find)
        };
        assert!(of([Pass, Pass], Some(None)).is_some() && of([Fail, Fail], Some(Some(""))).is_some());
        assert_eq!(of([Fail, Pass], None), None);
        let lacks = Some("spec.containers[].name");
        assert!(of([Pass, Fail], Some(lacks)).is_some());
        assert_eq!(of([Pass, Fail], None).unwrap().refused.as_deref(), lacks);
    }

    #[test]
    fn items_that_repeat_a_name_are_others() {
        let [a, b, c] = ["{name: a}", "{name: b, port: 1}", "{name: c, port: 1}"].map(yaml);
        assert_eq!(repeated(std::slice::from_ref(&a), &b), 0);
        assert_ne!(repeated(std::slice::from_ref(&b), &c), 0);
        assert_ne!(repeated(std::slice::from_ref(&a), &a), repeated(&[b], &c));
    }
}
