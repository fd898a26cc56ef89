//! Objects for loops that write into the items of one list by the positions of elements of several.
//!
//! In: what both sides write, objects with the items and elements that rules distinguish. Out:
//! objects in which each element stands for each item, and behind the last one.
//!
//! Why these stand for all: of an item the result depends on it and on the element at its position,
//! and on nothing else, if no change alters what decides about an element. The list is the last of
//! those that are walked, so an element has the position of an item when others come before
//! it. One behind the last item makes a new item without a name wherever its condition holds, and
//! an API server refuses such a result; so each object whose result is admitted ends with items
//! that no condition holds for, and one of these is enough to end any other one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ephor_analysis::reads::{ReadTree, Reads, Step};
use ephor_kubernetes::admitted::has_nameless;
use ephor_value::Value;
use ephor_value::place::PathPart;
use ephor_value::print::json;

use crate::admitted::view::{is_refused_with_its_classes, seen_in_clusters};
use crate::effects::changes::checks::of_samples;
use crate::effects::writes::model::{Writes, Written};
use crate::model::environment::Environment;
use crate::model::limits::MAX_POSITION_OBJECTS;
use crate::model::path::{Place, with};
use crate::model::request::Case;
use crate::model::unsupported::Unsupported;
use crate::model::verdict::{Judgement, Verdict};
use crate::search::run::Run;

/// A list into whose items loops over several lists write.
pub(crate) struct Positions {
    /// The lists that are walked before it, one after the other.
    others: Vec<Place>,
    list: Place,
    /// The places in an element that decide.
    deciding: BTreeSet<Place>,
    /// Whether the order or the number of the items of a list there may say something.
    has_order: bool,
}

impl Positions {
    /// Those of all rules; `elsewhere`: what they read where it is not an item alone that decides
    /// about it.
    ///
    /// # Errors
    /// Something else is done in these lists, or read of them.
    pub fn of(all: &Writes, elsewhere: &ReadTree) -> Result<Option<Positions>, Unsupported> {
        let mut found = all.positioned.iter();
        let (Some(one), more) = (found.next(), found.next()) else { return Ok(None) };
        let Some((_, others)) = one.over.split_last().filter(|(last, _)| **last == one.list) else {
            return Err(Unsupported::ItemsByPositionsOfOthers);
        };
        let is_alone = all.lists.len() == 1
            && !all.is_first
            && [&all.copied, &all.wholes, &all.named, &all.joins].into_iter().all(BTreeSet::is_empty)
            && all.made.is_empty()
            && all.entries.is_empty();
        if more.is_some() || !is_alone || one.over.iter().any(|list| is_read(elsewhere, list)) {
            return Err(Unsupported::ItemsByPositionsOfOthers);
        }
        let is_key = |place: &Place| matches!(&**place, [Step::Key(key)] if **key == *"name");
        let in_item =
            |place: &Place| place.strip_prefix(&*one.list)?.strip_prefix(&[Step::Items]).map(Vec::from);
        let written = all.places.iter().filter_map(|(place, written)| Some((in_item(place)?, Some(written))));
        let inside = all.inside.iter().filter_map(|place| Some((in_item(place)?, None)));
        let alters = |(place, written): (Place, Option<&Written>)| {
            let is_above = |own: &Place| own.starts_with(&place) && own.len() > place.len();
            all.deciding.iter().any(|own| match written {
                Some(Written::Whole | Written::Shape) => place.starts_with(own),
                _ => place.starts_with(own) || is_above(own),
            })
        };
        match all.deciding.iter().any(is_key) || written.chain(inside).any(alters) {
            true => Err(Unsupported::ItemsByPositionsOfOthers),
            false => Ok(Some(Positions {
                others: others.to_vec(),
                list: one.list.clone(),
                deciding: all.deciding.clone(),
                has_order: all.has_order,
            })),
        }
    }
}

impl Positions {
    /// What decides in an element, in one of the forms that say the same.
    fn decides(&self, element: &Value) -> Value {
        let of = |place: &Place| match value_at(element, place) {
            Some(Value::List(items)) if !self.has_order => {
                let items: BTreeMap<String, &Value> = items.iter().map(|item| (json(item), item)).collect();
                Value::list(items.into_values().cloned().collect())
            }
            other => other.cloned().unwrap_or_default(),
        };
        Value::list(self.deciding.iter().map(of).collect())
    }

    /// An item with one name, without what decides in an element.
    fn without(&self, item: &Value) -> Value {
        self.deciding.iter().fold(item.with("name", Value::from("a")), |item, place| {
            path_of(place).and_then(|path| with(&item, &path, None)).unwrap_or(item)
        })
    }

    /// One of the cases that differ in nothing but the order and number of the items of lists in
    /// which something is searched.
    pub fn distinct(&self, cases: Vec<Case>) -> Vec<Case> {
        let mut known = BTreeSet::new();
        let mut is_new = |case: &Case| {
            let frame =
                self.others.iter().chain([&self.list]).try_fold(case.object.clone(), |object, list| {
                    let of = |item: &Value| Value::list(vec![self.without(item), self.decides(item)]);
                    let Some(Value::List(items)) = value_at(&object, list) else { return Some(object) };
                    let items = items.iter().map(of).collect();
                    with(&object, &path_of(list)?, Some(Value::list(items)))
                });
            let frame = frame.unwrap_or_else(|| case.object.clone());
            known.insert((json(&frame), Arc::as_ptr(&case.around) as usize, case.old.as_ref().map(json)))
        };
        cases.into_iter().filter(|case| is_new(case)).collect()
    }

    /// What is read of all but these lists, with each of them by itself: how their items go
    /// together says [`Run::arranged`].
    pub fn one_by_one(&self, reads: &Reads) -> Vec<Reads> {
        let all: Vec<&Place> = self.others.iter().chain([&self.list]).collect();
        let without = |own: &&Place| {
            let mut reads = reads.clone();
            for list in all.iter().filter(|list| *list != own) {
                for tree in [&mut reads.object, &mut reads.old, &mut reads.shown] {
                    take_out(tree, list);
                }
            }
            reads
        };
        all.iter().map(without).collect()
    }
}

/// Takes out what is read at a place.
fn take_out(tree: &mut ReadTree, place: &[Step]) {
    let Some((Step::Key(key), rest)) = place.split_first() else { return };
    if rest.is_empty() {
        tree.keys.retain(|(own, _)| own != key);
    } else if let Some((_, below)) = tree.keys.iter_mut().find(|(own, _)| own == key) {
        take_out(below, rest);
    }
}

/// Whether something is read at a place, or above it as a whole.
fn is_read(tree: &ReadTree, place: &[Step]) -> bool {
    let Some((step, rest)) = place.split_first() else { return true };
    let below = match step {
        Step::Key(key) => tree.get(key),
        Step::Items | Step::Nested => tree.items.as_deref().or(tree.nested.as_deref()),
    };
    tree.whole || tree.names || below.is_some_and(|below| is_read(below, rest))
}

fn value_at<'v>(value: &'v Value, place: &[Step]) -> Option<&'v Value> {
    place.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Items | Step::Nested => None,
    })
}

fn items_at<'v>(object: &'v Value, list: &[Step]) -> &'v [Value] {
    value_at(object, list).and_then(Value::as_list).unwrap_or_default()
}

fn path_of(place: &[Step]) -> Option<Vec<PathPart>> {
    let key = |step: &Step| match step {
        Step::Key(key) => Some(PathPart::Key(key.clone())),
        Step::Items | Step::Nested => None,
    };
    place.iter().map(key).collect()
}

/// An object with a list of these items, each with a name of its own.
fn with_items(object: &Value, list: &[Step], items: &[&Value], prefix: char) -> Option<Value> {
    let path = path_of(list)?;
    let named = |(at, item): (usize, &&Value)| item.with("name", Value::from(format!("{prefix}{at}")));
    let items: Vec<Value> = items.iter().enumerate().map(named).collect();
    with(object, &path, (!items.is_empty()).then(|| Value::list(items)))
}

/// What stands in an object: elements of one of the other lists, and items.
type Arranged<'v> = (Option<usize>, Vec<&'v Value>, Vec<&'v Value>);

/// The elements and items that rules distinguish.
struct PositionClasses {
    /// Of each of the other lists the elements of which something else decides.
    others: Vec<Vec<Value>>,
    /// The same of the items.
    elements: Vec<Value>,
    /// The items that have other fields than those that decide about an element.
    items: Vec<Value>,
}

impl PositionClasses {
    fn of(positions: &Positions, cases: &[&Case]) -> PositionClasses {
        let of = |list: &Place, seen: &dyn Fn(&Value) -> Value| {
            let mut known = BTreeSet::new();
            let all = cases.iter().flat_map(|case| items_at(&case.object, list));
            all.filter(|item| known.insert(json(&seen(item)))).cloned().collect::<Vec<Value>>()
        };
        let deciding = |item: &Value| positions.decides(item);
        let without = |item: &Value| positions.without(item);
        PositionClasses {
            others: positions.others.iter().map(|list| of(list, &deciding)).collect(),
            elements: of(&positions.list, &deciding),
            items: of(&positions.list, &without),
        }
    }

    /// Each element at the position of each item, and behind the last one; `ends`: an item for
    /// which no condition holds, if there is one.
    fn arranged<'v>(&'v self, ends: Option<&'v Value>) -> impl Iterator<Item = Arranged<'v>> {
        let lists =
            self.others.iter().enumerate().filter_map(|(at, all)| Some((Some(at), all, all.first()?)));
        lists.flat_map(move |(list, others, first)| {
            // Items are elements, too.
            let behind = self.elements.iter().map(move |element| (list, vec![first], vec![element]));
            let by_others = ends.into_iter().flat_map(move |ends| {
                let behind = others.iter().map(move |element| (list, vec![first, element], vec![ends]));
                let at_items = self.items.iter().flat_map(move |item| {
                    let of_items = self
                        .elements
                        .iter()
                        .map(move |element| (list, vec![first], vec![element, item, ends]));
                    others.iter().map(move |element| (list, vec![element], vec![item, ends])).chain(of_items)
                });
                behind.chain(at_items)
            });
            behind.chain(by_others)
        })
    }
}

/// What both sides make of an object.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum OrderedResult {
    /// An API server refuses both results.
    Refused,
    /// One side fails.
    Otherwise,
    /// The items of both results: of the one, of the other.
    Items([String; 2]),
}

impl Run<'_> {
    /// The objects in which each element stands for each item, as far as the results differ.
    ///
    /// # Errors
    /// Both sides fail on one of them, or one alters what decides about an element; or they are too
    /// many.
    pub(crate) fn arranged(
        &self,
        environment: &Environment,
        positions: &Positions,
        reads: &Reads,
        cases: &[Case],
    ) -> Result<Vec<Case>, String> {
        // What stands in objects that there are.
        let admitted: Vec<&Case> =
            cases.iter().filter(|case| !is_refused(environment, reads, case)).collect();
        let classes = PositionClasses::of(positions, &admitted);
        let first = classes.others.iter().enumerate().find_map(|(at, own)| Some((at, own.first()?)));
        let (mut frames, mut count, mut all) = (BTreeSet::new(), 0, Vec::new());
        for case in cases {
            let mut lists = positions.others.iter().chain([&positions.list]);
            let frame =
                lists.try_fold(case.object.clone(), |object, list| with_items(&object, list, &[], 'a'));
            let Some(frame) = frame else { return Err(of_samples(Unsupported::ItemsByPositionsOfOthers)) };
            let around = Arc::as_ptr(&case.around) as usize;
            if !frames.insert((json(&frame), around, case.old.as_ref().map(json))) {
                continue;
            }
            let arranged = |(list, elements, items): &Arranged<'_>| {
                let object = with_items(&frame, &positions.list, items, 'i')?;
                let object = match list.and_then(|at| positions.others.get(at)) {
                    Some(list) => with_items(&object, list, elements, 'e')?,
                    None => object,
                };
                Some(case.with_object(object))
            };
            let ends = first.and_then(|(at, first)| {
                classes.elements.iter().find(|item| {
                    let case = arranged(&(Some(at), vec![first], vec![item]));
                    let both = case.and_then(|case| self.compared.judgements(environment, &case));
                    both.is_some_and(|both| both.iter().all(|one| is_complete(environment, one)))
                })
            });
            let mut known = BTreeSet::new();
            for one in classes.arranged(ends) {
                count += 1;
                if count > MAX_POSITION_OBJECTS || self.effort.is_late() {
                    return Err(of_samples(Unsupported::TooManyPositions));
                }
                let Some(case) = arranged(&one) else {
                    return Err(of_samples(Unsupported::ItemsByPositionsOfOthers));
                };
                let made = match self.made(environment, positions, &case) {
                    Ok(made) => made,
                    // There is no such object.
                    Err(_) if is_refused(environment, reads, &case) => continue,
                    Err(why) => return Err(why),
                };
                let is_same = match &made {
                    OrderedResult::Refused => true,
                    OrderedResult::Otherwise => false,
                    OrderedResult::Items([old, new]) => old == new,
                };
                if known.insert(made) || !is_same {
                    all.push(case);
                }
            }
        }
        Ok(all)
    }

    /// What both sides make of the items of an object.
    ///
    /// # Errors
    /// Both sides fail, or one alters what decides about an element.
    fn made(
        &self,
        environment: &Environment,
        positions: &Positions,
        case: &Case,
    ) -> Result<OrderedResult, String> {
        let Some(both) = self.compared.judgements(environment, case) else {
            return Err(of_samples(Unsupported::ItemsByPositionsOfOthers));
        };
        match both.each_ref().map(|one| one.verdict == Verdict::Error) {
            // What else there is says nothing then.
            [true, true] => return Err(of_samples(Unsupported::PositionLoopFails)),
            [false, false] => {}
            _ => return Ok(OrderedResult::Otherwise),
        }
        if both.iter().all(|one| is_nameless(environment, one)) {
            return Ok(OrderedResult::Refused);
        }
        let before = items_at(&case.object, &positions.list);
        for one in both.iter().filter(|one| !is_nameless(environment, one)) {
            let after = one.changed.as_ref().map_or(before, |changed| items_at(changed, &positions.list));
            let is_same = |(before, after): (&Value, &Value)| {
                positions.deciding.iter().all(|place| value_at(before, place) == value_at(after, place))
            };
            if before.len() != after.len() || !before.iter().zip(after).all(is_same) {
                return Err(of_samples(Unsupported::ItemsByPositionsOfOthers));
            }
        }
        let items = |one: &Judgement| {
            let changed = one.changed.as_ref().unwrap_or(&case.object);
            let items = items_at(changed, &positions.list).iter();
            items.map(|item| json(&positions.without(item))).collect::<String>()
        };
        Ok(OrderedResult::Items(both.each_ref().map(items)))
    }
}

/// Whether an API server refuses an object, and all of the same classes.
fn is_refused(environment: &Environment, reads: &Reads, case: &Case) -> bool {
    let seen = seen_in_clusters(environment, case);
    is_refused_with_its_classes(environment, &seen, &case.object, reads)
}

/// Whether a side does not fail, and its result has no item without a name.
fn is_complete(environment: &Environment, one: &Judgement) -> bool {
    one.verdict != Verdict::Error && !is_nameless(environment, one)
}

/// Whether the result of a side has an item without a name.
fn is_nameless(environment: &Environment, one: &Judgement) -> bool {
    one.changed.as_ref().is_some_and(|changed| has_nameless(&environment.object, changed))
}
