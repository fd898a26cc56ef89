//! Lists that stand for all others where rules read their items one after the other.
//!
//! In: units, and the items of each class of a list. Out: lists. What a loop says of a list follows
//! from what it says of the list without its last item, and of a list of this item alone. So items
//! about which all loops say the same have one item that stands for them, and it is enough to add
//! such items to lists until the loops say nothing new: the lists that were found stand for those
//! of any length (`docs/internals/equivalence.md`, "Lists"). Entries of maps are such items, too:
//! each has another name.
//!
//! The same holds of the loops of each unit alone. So what all loops say of a longer list is put
//! together from what those of each unit said of another one that grew out of a list, and by an
//! item, of which they said the same (`lists::closure_cache`); only what is new is evaluated.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use ephor_analysis::reads::Step;
use ephor_engine::Request;
use ephor_kubernetes::admitted::{Reason, Refusal, required_item, smallest};
use ephor_value::{Map, Str, Value};
use foldhash::fast::RandomState;

use crate::admitted::repair::mended;
use crate::admitted::view::{AdmittedView, as_if_admitted, seen_in_clusters};
use crate::lists::closure_cache::{ClosureCache, repeated};
use crate::lists::iteration::List;
use crate::lists::loops::Loop;
use crate::lists::observation::Observation;
use crate::model::environment::Environment;
use crate::model::field_types::is_written_at;
use crate::model::limits::{MAX_ANSWERS, MAX_LIST_LENGTH, MAX_LISTS, MAX_SHOWN};
use crate::model::path::{at, placed};
use crate::model::request::{Case, RequestContext, request};
use crate::model::verdict::Verdict;
use crate::sides::side::judge;
use crate::units::cached::CachedUnit;

/// This many names stand for any number of them that are alike.
pub(crate) const LIKE_NAMES: usize = 3;

/// How an API server shows what is in a field of the smallest object.
#[derive(Clone)]
enum ShownLists {
    /// It is not known.
    Unknown,
    /// So, and refused, as in [`Observation`].
    As(Value, Option<String>),
}

/// A kind of objects, whether they are new where this counts, and a field.
type FieldOfKind = ([Str; 3], bool, List);

/// What is known of what is in a field.
#[derive(Default)]
struct FieldObservations {
    /// How an API server shows it.
    shown: Option<ShownLists>,
    /// What loops of an environment say of it, by where they are: they live as long as it is looked
    /// at.
    said: HashMap<usize, Option<Verdict>, RandomState>,
}

/// What is known of each value of a field.
type ObservedValues = Rc<RefCell<HashMap<Value, Rc<RefCell<FieldObservations>>, RandomState>>>;

/// What API servers show and loops say, each found once.
#[derive(Default)]
pub(crate) struct ListMemory {
    known: RefCell<HashMap<FieldOfKind, ObservedValues>>,
    count: Cell<usize>,
}

impl ListMemory {
    /// Another environment is evaluated, with loops of its own.
    pub fn next_environment(&self) {
        for values in self.known.borrow().values() {
            values.borrow().values().for_each(|known| known.borrow_mut().said.clear());
        }
    }

    /// What is known of the values of a field.
    fn values(&self, place: FieldOfKind) -> ObservedValues {
        Rc::clone(self.known.borrow_mut().entry(place).or_default())
    }

    /// What is known of a value.
    fn of(&self, values: &ObservedValues, value: &Value) -> Rc<RefCell<FieldObservations>> {
        if let Some(known) = values.borrow().get(value) {
            return Rc::clone(known);
        }
        let new: Rc<RefCell<FieldObservations>> = Rc::default();
        if self.count.get() < MAX_SHOWN {
            self.count.set(self.count.get() + 1);
            values.borrow_mut().insert(value.clone(), Rc::clone(&new));
        }
        new
    }
}

/// The lists or maps of a field, and what reads them.
struct ClosedField<'c> {
    field: &'c [Step],
    loops: &'c [Arc<Loop>],
    /// The object that an API server is sent with it.
    base: Option<Value>,
    /// What is known of them.
    values: ObservedValues,
}

/// Lists whose items are read by loops alone.
pub(crate) struct ListClasses {
    memory: Rc<ListMemory>,
    environment: Environment,
    around: Arc<RequestContext>,
    /// The loops over each list; they are those of units, which hold them.
    lists: BTreeMap<List, Vec<Arc<Loop>>>,
    /// The same by the number of the unit that they are of.
    owners: BTreeMap<List, Vec<usize>>,
}

impl ListClasses {
    /// Those of the lists of objects that these units walk; `None`: there are none.
    pub fn of<'u>(
        environment: &Environment,
        units: impl Iterator<Item = &'u CachedUnit> + Clone,
        memory: &Rc<ListMemory>,
    ) -> Option<ListClasses> {
        if !environment.is_of_resource() {
            return None;
        }
        let is_deletion = environment.operation == "DELETE";
        let kind = &environment.resource.kind;
        let units: Vec<&CachedUnit> = units.collect();
        let mut lists: BTreeMap<List, Vec<Arc<Loop>>> = BTreeMap::new();
        let mut owners: BTreeMap<List, Vec<usize>> = BTreeMap::new();
        for is_inner in [false, true] {
            let levels = || units.iter().map(|unit| (unit, unit.loops(kind, is_deletion).level(is_inner)));
            let numbered = levels().enumerate();
            for (owner, one) in
                numbered.flat_map(|(at, (_, level))| level.all.iter().map(move |one| (at, one)))
            {
                let is_of_level = |list: &&List| list.contains(&Step::Items) == is_inner;
                for list in one.lists.iter().filter(is_of_level) {
                    if levels().all(|(unit, own)| own.are_all_of(list, &unit.reads, is_deletion)) {
                        lists.entry(list.clone()).or_default().push(Arc::clone(one));
                        owners.entry(list.clone()).or_default().push(owner);
                    }
                }
            }
        }
        let around = Arc::default();
        (!lists.is_empty()).then(|| ListClasses {
            memory: Rc::clone(memory),
            environment: environment.clone(),
            around,
            lists,
            owners,
        })
    }

    /// How many loops read a field.
    pub fn count(&self, field: &[Step]) -> usize {
        self.lists.get(field).map_or(0, Vec::len)
    }

    /// Whether the members of a field are read by loops alone.
    pub fn has(&self, field: &[Step]) -> bool {
        self.lists.contains_key(field)
    }

    /// The lists of a field that stand for all lists of these items but the empty one; `next` gives
    /// an item its name at a position. `None`: they are not known.
    pub fn lists(
        &self,
        field: &[Step],
        items: &[Value],
        next: &dyn Fn(&Value, usize) -> Value,
    ) -> Option<Vec<Value>> {
        let loops = self.lists.get(field)?;
        if loops.iter().any(|one| one.by_key) || items.len().saturating_mul(2 * loops.len() + 2) > MAX_ANSWERS
        {
            return None;
        }
        let about = self.about(field, loops);
        let said = |items: &[Value]| self.said(&about, &Value::list(items.to_vec()));
        let empty = said(&[])?;
        let mut classes: BTreeMap<Observation, Value> = BTreeMap::new();
        for item in items {
            classes.entry(said(&[next(item, 0)])?).or_insert_with(|| item.clone());
        }
        let longer = |list: &Vec<Value>, item: &Value| {
            Some(Some(list.iter().cloned().chain([next(item, list.len())]).collect()))
        };
        let clash = |list: &Vec<Value>| list.split_last().map_or(0, |(last, before)| repeated(before, last));
        let mut grown = ClosureCache::new(self.owners.get(field)?);
        let mut said = |before: &Observation, alone: &Observation, list: &Vec<Value>| {
            grown.said(before, alone, clash(list), || said(list))
        };
        let found = closed(empty, Vec::new(), classes.iter(), &mut said, &longer)?;
        Some(found.into_iter().map(Value::list).collect())
    }

    /// The maps of a field that stand for all maps of these entries but the empty one. Of a name of
    /// which many others are like it there are [`LIKE_NAMES`]. `None`: they are not known.
    pub fn maps(
        &self,
        field: &[Step],
        entries: &[(Str, Value)],
        leaves_out: &dyn Fn(&Map) -> bool,
    ) -> Option<Vec<Value>> {
        let loops = self.lists.get(field)?;
        if entries.len().saturating_mul(2 * loops.len() + 2) > MAX_ANSWERS {
            return None;
        }
        let about = self.about(field, loops);
        let said = |map: &Map| self.said(&about, &Value::Map(map.clone()));
        let empty = said(&Map::new())?;
        // Of each name the first entry of those about which all loops say the same.
        let mut classes: BTreeMap<Observation, BTreeMap<&Str, &Value>> = BTreeMap::new();
        for (name, value) in entries {
            let alone = Map::from_unique(vec![(name.clone(), value.clone())]);
            classes.entry(said(&alone)?).or_default().entry(name).or_insert(value);
        }
        let longer = |map: &Map, class: &BTreeMap<&Str, &Value>| {
            let mut others = class.iter().filter(|(name, _)| map.get(name).is_none()).map(|(name, value)| {
                let mut longer = map.clone();
                longer.insert::<Str>((*name).clone(), (*value).clone());
                longer
            });
            if let Some(longer) = others.find(|longer| !leaves_out(longer)) {
                return Some(Some(longer));
            }
            // Either it has all names that there are, or more of them may be wanted.
            let own = class.keys().filter(|name| map.get(name).is_some()).count();
            (own < LIKE_NAMES).then_some(None)
        };
        let mut grown = ClosureCache::new(self.owners.get(field)?);
        let mut said =
            |before: &Observation, alone: &Observation, map: &Map| grown.said(before, alone, 0, || said(map));
        let found = closed(empty, Map::new(), classes.iter(), &mut said, &longer)?;
        Some(found.into_iter().map(Value::Map).collect())
    }

    /// The smallest object in which a list can be placed; `None` where it is not known.
    fn base(&self, field: &[Step]) -> Option<Value> {
        let kind = &self.environment.object;
        let mut object = smallest(kind)?;
        let lists = (0..field.len()).filter(|at| field.get(*at) == Some(&Step::Items));
        for above in lists.filter_map(|at| field.get(..at)) {
            let names: Vec<&str> = above
                .iter()
                .filter_map(|step| match step {
                    Step::Key(key) => Some(&**key),
                    _ => None,
                })
                .collect();
            if at(&object, above).and_then(Value::as_list).is_none_or(<[Value]>::is_empty) {
                object = placed(&object, above, Value::list(vec![required_item(kind, &names)?]));
            }
        }
        // Names of two items may be the same.
        Some(mended(&object, self.environment.is_creation()).unwrap_or(object))
    }

    /// The lists or maps of a field, and what reads them.
    fn about<'c>(&'c self, field: &'c [Step], loops: &'c [Arc<Loop>]) -> ClosedField<'c> {
        // What is written into objects is another matter in new ones.
        let is_new = !is_written_at(field) || self.environment.is_creation();
        let values = self.memory.values((self.environment.object.clone(), is_new, field.to_vec()));
        ClosedField { field, loops, base: self.base(field), values }
    }

    /// The observation of a list or map.
    fn said(&self, about: &ClosedField<'_>, items: &Value) -> Option<Observation> {
        let is_empty = match items {
            Value::Map(map) => map.is_empty(),
            items => items.as_list().is_some_and(<[Value]>::is_empty),
        };
        let (as_written, shown) = {
            let known = self.memory.of(&about.values, items);
            let mut known = known.borrow_mut();
            let as_written = self.each(about, items, &mut known)?;
            let shown =
                known.shown.get_or_insert_with(|| self.shown(about.field, items, about.base.as_ref()));
            (as_written, shown.clone())
        };
        let (in_clusters, refused) = match shown {
            ShownLists::Unknown => (as_written.clone(), None),
            ShownLists::As(shown, refused) if shown == *items => (as_written.clone(), refused),
            ShownLists::As(shown, refused) => {
                let known = self.memory.of(&about.values, &shown);
                let mut known = known.borrow_mut();
                (self.each(about, &shown, &mut known)?, refused)
            }
        };
        Some(Observation { is_empty, as_written, in_clusters, refused })
    }

    /// How an API server shows what is in a field.
    fn shown(&self, field: &[Step], items: &Value, base: Option<&Value>) -> ShownLists {
        let object = base.map_or(Value::Null, |base| placed(base, field, items.clone()));
        let case = Case { object, old: None, around: Arc::clone(&self.around) };
        let refused = match seen_in_clusters(&self.environment, &case) {
            AdmittedView::Unknown => return ShownLists::Unknown,
            AdmittedView::Admitted(seen) => {
                return ShownLists::As(found_at(&seen.object, field, items), None);
            }
            // Whatever is in it.
            AdmittedView::Refused(Some(refusal)) if is_forbidden(&refusal, field) => {
                return ShownLists::As(items.clone(), Some(String::new()));
            }
            AdmittedView::Refused(_) => String::new(),
            // No text of its class is admitted, while one with the same answers may be.
            AdmittedView::InvalidText => "*".to_string(),
            AdmittedView::MissingField(path) => without_positions(&path),
        };
        let shown = as_if_admitted(&self.environment, &case);
        let shown = shown.map_or_else(|| items.clone(), |shown| found_at(&shown.object, field, items));
        ShownLists::As(shown, Some(refused))
    }

    /// What each loop says of a list in an object that has nothing else; other lists that it walks
    /// are empty.
    fn each<'l>(
        &self,
        &ClosedField { field, loops, .. }: &ClosedField<'l>,
        items: &Value,
        known: &mut FieldObservations,
    ) -> Option<Vec<Verdict>> {
        // Loops over the same lists see the same object.
        let mut requests: Vec<(Vec<&List>, Option<Request>)> = Vec::new();
        let mut new = |one: &'l Arc<Loop>| {
            let is_other = |list: &&List| !list.contains(&Step::Items) && !field.starts_with(list);
            let others: Vec<&List> = one.lists.iter().filter(is_other).collect();
            let at = match requests.iter().position(|(known, _)| *known == others) {
                Some(at) => at,
                None => {
                    let request = self.with_nothing_else(field, items, &others);
                    requests.push((others, request));
                    requests.len() - 1
                }
            };
            let said = judge(&one.engine, requests.get(at)?.1.as_ref()?).verdict;
            // What is not evaluated says nothing of items.
            (said != Verdict::Skip || !one.is_expression).then_some(said)
        };
        let mut of =
            |one: &'l Arc<Loop>| *known.said.entry(Arc::as_ptr(one).addr()).or_insert_with(|| new(one));
        loops.iter().map(&mut of).collect()
    }

    /// The request about an object that has only a field and other lists, which are empty.
    fn with_nothing_else(&self, field: &[Step], items: &Value, others: &[&List]) -> Option<Request> {
        let mut object = self.environment.bare_object();
        for list in others {
            object = placed(&object, list, Value::list(Vec::new()));
        }
        object = placed(&object, field, items.clone());
        request(&self.environment, &Case { object, old: None, around: Arc::clone(&self.around) })
    }
}

/// What something empty becomes by adding members of classes until no observation is new; `said`:
/// the observation of something with one more member of a class, from those of both; `longer`:
/// something with one more member of a class, nothing where there is none, `None` where that is not
/// known. `None`: there are too many.
fn closed<'s, T: Clone, C>(
    said_of_empty: Observation,
    empty: T,
    classes: impl Iterator<Item = (&'s Observation, C)> + Clone,
    said: &mut dyn FnMut(&Observation, &Observation, &T) -> Option<Observation>,
    longer: &dyn Fn(&T, C) -> Option<Option<T>>,
) -> Option<Vec<T>> {
    if said_of_empty.as_written.contains(&Verdict::Error) {
        // It would hide observations of items.
        return None;
    }
    let mut known: BTreeMap<Observation, (T, usize)> = BTreeMap::from([(said_of_empty.clone(), (empty, 0))]);
    let mut found = Vec::new();
    let mut answers = 0;
    let mut left = std::collections::VecDeque::from([said_of_empty]);
    while let Some(before) = left.pop_front() {
        let (list, length) = known.get(&before)?.clone();
        if length >= MAX_LIST_LENGTH {
            return None;
        }
        for (alone, class) in classes.clone() {
            let Some(longer) = longer(&list, class)? else { continue };
            let said = said(&before, alone, &longer)?;
            answers += 2 * said.as_written.len() + 2;
            if answers > MAX_ANSWERS {
                return None;
            }
            if known.contains_key(&said) {
                continue;
            }
            if found.len() >= MAX_LISTS {
                return None;
            }
            found.push(longer.clone());
            known.insert(said.clone(), (longer, length + 1));
            left.push_back(said);
        }
    }
    Some(found)
}

/// Whether an API server refuses an object because it has a field at all.
fn is_forbidden(refusal: &Refusal, field: &[Step]) -> bool {
    let path = field.iter().fold(String::new(), |path, step| match step {
        Step::Key(key) if path.is_empty() => key.to_string(),
        Step::Key(key) => format!("{path}.{key}"),
        _ => format!("{path}[0]"),
    });
    refusal.reason == Reason::Forbidden && refusal.path == path
}

/// A path without the positions of items: any item may lack the field.
fn without_positions(path: &str) -> String {
    let mut parts = path.split('[');
    let first = parts.next().unwrap_or_default();
    let rest = parts.filter_map(|part| Some(part.split_once(']')?.1));
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join("[]")
}

/// What is at the end of some steps, or something empty like what was put there.
fn found_at(object: &Value, field: &[Step], like: &Value) -> Value {
    let none = || match like {
        Value::Map(_) => Value::Map(Map::new()),
        _ => Value::list(Vec::new()),
    };
    at(object, field).cloned().unwrap_or_else(none)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::compare_tests::{classic, side, yaml};
    use crate::sides::environments::environments;
    use crate::units::split::units;

    fn step(text: &str) -> Step {
        if text == "*" { Step::Items } else { Step::Key(text.into()) }
    }

    /// How many things loops say of the lists that stand for all others, and whether those of up to
    /// three items say nothing else.
    fn of(policy: &str, field: &str, items: &str) -> Option<(usize, bool)> {
        let side = side(policy);
        let (all, _) = environments([&side, &side]);
        let environment = all.into_iter().find(|one| one.operation == "CREATE").unwrap();
        let units: Vec<CachedUnit> = units(&side, &environment).into_iter().map(CachedUnit::new).collect();
        let classes = ListClasses::of(&environment, units.iter(), &Rc::default())?;
        let field: List = field.split('.').map(step).collect();
        let items = yaml(items).as_list().unwrap().to_vec();
        let same = |item: &Value, _: usize| item.clone();
        let lists = classes.lists(&field, &items, &same)?;
        let loops = &classes.lists[&field];
        let about = classes.about(&field, loops);
        let said = |list: &[Value]| {
            classes.each(&about, &Value::list(list.to_vec()), &mut FieldObservations::default()).unwrap()
        };
        let mut known: BTreeSet<Vec<Verdict>> =
            lists.iter().map(|list| said(list.as_list().unwrap())).collect();
        known.insert(said(&[]));
        let mut all = vec![Vec::new()];
        for _ in 0..3 {
            let longer = all.iter().flat_map(|list: &Vec<Value>| {
                items.iter().map(|item| list.iter().chain([item]).cloned().collect::<Vec<_>>())
            });
            let longer: Vec<Vec<Value>> = longer.collect();
            all.extend(longer);
        }
        Some((known.len(), all.iter().all(|list| known.contains(&said(list)))))
    }

    fn rules(check: &str) -> String {
        classic("ClusterRole", check)
    }

    fn cel(expression: &str) -> String {
        let kind = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\nspec:\n";
        let on = "  matchConstraints: {resourceRules: [{apiGroups: [rbac.authorization.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [clusterroles]}]}\n";
        format!("{kind}{on}  validations:\n  - expression: \"{expression}\"\n")
    }

    const ITEMS: &str = "[{verbs: [a], resources: [x], apiGroups: [g]}, {verbs: [a, b], resources: [y], apiGroups: [g]}, {verbs: ['*'], resources: [x], apiGroups: [g]}, {verbs: [c], resources: [z], apiGroups: [g]}]";

    #[test]
    fn a_loop_says_few_things_of_many_items() {
        let each = |list: &str, key: &str| {
            rules(&format!(
                "{{message: m, foreach: [{{list: '{list}', deny: {{conditions: {{all: [{{key: '{{{{ {key} }}}}', operator: AnyIn, value: [a]}}]}}}}}}]}}"
            ))
        };
        assert_eq!(of(&each("request.object.rules", "element.verbs"), "rules", ITEMS), Some((3, true)));
        let filtered = each("request.object.rules[?contains(resources, `\"x\"`)]", "element.verbs");
        assert!(of(&filtered, "rules", ITEMS).unwrap().1);
        assert_eq!(of(&filtered, "rules.*.verbs", "[a, b, '*']"), Some((3, true)));
        assert_eq!(of(&filtered, "rules.*.resources", "[x, y, z]"), Some((3, true)));
    }

    #[test]
    fn conditions_about_the_items_of_lists_in_lists_are_loops() {
        let deny =
            |condition: &str| rules(&format!("{{message: m, deny: {{conditions: {{all: [{condition}]}}}}}}"));
        let any = deny("{key: '{{ request.object.rules[].verbs[] }}', operator: AnyNotIn, value: [a, b]}");
        assert!(of(&any, "rules", ITEMS).unwrap().1);
        assert_eq!(of(&any, "rules.*.verbs", "[a, b, c, d]"), Some((3, true)));
        let in_list = deny("{key: a, operator: AnyIn, value: '{{ request.object.rules[].verbs[] }}'}");
        assert!(of(&in_list, "rules", ITEMS).unwrap().1);
        let count = deny("{key: '{{ length(request.object.rules) }}', operator: GreaterThan, value: 2}");
        assert_eq!(of(&count, "rules", ITEMS), Some((4, true)));
    }

    #[test]
    fn patterns_of_lists_are_loops() {
        let joined = rules("{message: m, pattern: {rules: [{(resources): ['x'], verbs: ['!a']}]}}");
        assert!(of(&joined, "rules", ITEMS).unwrap().1);
        // What a condition decides about is read together.
        assert_eq!(of(&joined, "rules.*.verbs", "[a, b, c]"), None);
        let single = rules("{message: m, pattern: {rules: [{=(verbs): ['!a']}]}}");
        assert_eq!(of(&single, "rules.*.verbs", "[a, b, c]"), Some((2, true)));
    }

    #[test]
    fn loops_of_cel_say_few_things_of_many_items() {
        let all =
            cel("object.rules.all(r, !(r.?resources.orValue([]).exists(x, x == 'x') && 'a' in r.verbs))");
        assert_eq!(of(&all, "rules", ITEMS), Some((2, true)));
        assert_eq!(of(&all, "rules.*.verbs", "[a, b, '*']"), Some((2, true)));
        assert_eq!(of(&all, "rules.*.resources", "[x, y, z]"), Some((2, true)));
        let count = cel("object.rules.filter(r, 'a' in r.verbs).size() <= 1");
        assert_eq!(of(&count, "rules", ITEMS), Some((4, true)));
    }

    #[test]
    fn what_is_read_of_items_elsewhere_makes_lists_unknown() {
        assert_eq!(of(&cel("object.rules.all(r, r.verbs == object.rules[0].verbs)"), "rules", ITEMS), None);
        assert_eq!(of(&cel("object.rules.all(r, size(object.rules) > 1)"), "rules", ITEMS), None);
        let position = rules(
            "{message: m, foreach: [{list: request.object.rules, deny: {conditions: {all: [{key: '{{ elementIndex }}', operator: Equals, value: 1}]}}}]}",
        );
        assert_eq!(of(&position, "rules", ITEMS), None);
    }
}
