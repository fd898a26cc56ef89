//! Objects that stand for all others: of each class of each field that is read, every combination.
//!
//! In: what is read of an object, the types of its kind, what is tested. Out: the objects, small
//! ones first. A list has as many items, in all lists of an object together, as there are
//! statements about items: for statements of the form "some item is such", and combinations of
//! these, no longer list behaves differently (`docs/internals/equivalence.md`, "Lists"). Fields
//! that are not read are there only where the kind requires them.
//!
//! - `alternatives`: what objects have in place of fields that are read
//! - `fields`: objects with every combination of the values of their fields
//! - `lists`: lists and maps of the items and entries of each class
//! - `names`: the fields of objects of which rules read the names
//! - `untyped`: fields of which no schema says the type
//! - `wholes`: objects that are compared as a whole

pub(crate) mod alternatives;
pub(crate) mod fields;
pub(crate) mod lists;
pub(crate) mod names;
pub(crate) mod untyped;
pub(crate) mod wholes;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ephor_analysis::reads::{NAME_OF_NAMESPACE, ReadTree, Step};
use ephor_kubernetes::Types;
use ephor_kubernetes::admitted::smallest;
use ephor_kubernetes::schema::{Leaf, Type};
use ephor_value::clock::{self, Instant};
use ephor_value::quantity::Quantity;
use ephor_value::{Map, Str, Value};

use crate::inputs::context_entries::INPUTS;
use crate::lists::closure::ListClasses;
use crate::lists::small_model::Count;
use crate::model::environment::Environment;
use crate::model::limits::{MAX_OBJECT_DEPTH, SAMPLING, TIME_LIMIT};
use crate::objects::choice::{ABSENT, Choice, plain};
use crate::objects::product::pairs;
use crate::predicates::by_field::Tested;
use crate::predicates::summary::Predicates;
use crate::sides::wildcard_keys::AmbiguousWildcardKeys;
use crate::strings::languages::Languages;
use crate::strings::numeral_forms::{Form, Numbers};
use crate::strings::numerals::numbers;
use crate::strings::witnesses::{WitnessCache, truths};
use crate::units::deciding::Deciding;

/// Objects of one kind for one comparison.
pub struct Domain<'d> {
    pub(crate) types: &'d Types,
    words: &'d WitnessCache,
    predicates: &'d Predicates,
    tested: &'d Tested,
    /// The values of the fields that were met.
    known: BTreeMap<Vec<Step>, Rc<FieldValues>>,
    /// How many items all lists have together, at most.
    items: usize,
    /// How many objects there are at most.
    limit: usize,
    /// The same when they do not stand for all others.
    pub some: usize,
    pub(crate) kind: [Str; 3],
    /// The fields that lead to the value that is built.
    pub(crate) path: Vec<Str>,
    /// The same, with the lists and maps between them.
    pub(crate) at: Vec<Step>,
    /// How many lists the value is in an item of.
    inside: usize,
    /// What is put into the value when it is built, where it is not read.
    later: Option<Value>,
    /// Lists whose items are read one after the other.
    pub classes: Option<ListClasses>,
    /// What leaves out values that others stand for.
    pub deciding: Option<Deciding>,
    /// Fields of the object that is built next of which only counts whether they are there.
    only_there: BTreeSet<Str>,
    /// Of which kind the items of the list are that is built next, where it is an answer from
    /// outside.
    pub(crate) items_of: Option<[Str; 3]>,
    /// Whether what is built is an answer of a lookup that may have null, and whose numbers are
    /// doubles.
    pub(crate) is_json: bool,
    /// How many items of each list matter.
    pub needed: Option<Count>,
    /// Why it is not known how many items of other lists matter.
    pub uncounted: Option<String>,
    /// Whether fields without a schema have the types that rules expect.
    pub is_assumed: bool,
    /// Whether they need not.
    pub is_sampled: bool,
    /// Which keys do not go together.
    pub one_key: Option<&'d AmbiguousWildcardKeys>,
    /// Whether texts with wildcards are left out where an API server refuses all of them.
    pub only_admitted: bool,
    /// Whether there are such texts.
    pub has_refused: bool,
    /// Why the objects do not stand for all others.
    pub open: Option<String>,
    /// When no more of them are built.
    pub deadline: Option<Instant>,
}

/// The values of a field, one for each class.
#[derive(Default)]
struct FieldValues {
    texts: Vec<Str>,
    integers: Vec<i64>,
    /// Numbers that are no integers.
    fractions: Vec<f64>,
    amounts: Vec<Str>,
    /// Whether these stand for all texts, integers and quantities.
    is_all: [bool; 3],
}

/// Without those that came before.
fn unique(texts: &mut Vec<Str>) {
    let mut known = BTreeSet::new();
    texts.retain(|text| known.insert(text.clone()));
}

/// Whether a text is a name in an expression as it stands.
fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// What an API server takes for the name of an object of any kind.
const NAME: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

impl<'d> Domain<'d> {
    /// For what is tested, by a request and at each field, with at most this many items and
    /// objects.
    pub fn new(
        (types, words): (&'d Types, &'d WitnessCache),
        (predicates, tested): (&'d Predicates, &'d Tested),
        environment: &Environment,
        items: usize,
        limit: usize,
    ) -> Domain<'d> {
        Domain {
            types,
            words,
            predicates,
            tested,
            known: BTreeMap::new(),
            items,
            limit,
            some: SAMPLING.max,
            kind: environment.object.clone(),
            path: Vec::new(),
            at: Vec::new(),
            inside: 0,
            later: None,
            classes: None,
            deciding: None,
            only_there: BTreeSet::new(),
            items_of: None,
            is_json: false,
            needed: None,
            uncounted: None,
            is_assumed: false,
            is_sampled: false,
            one_key: None,
            only_admitted: false,
            has_refused: false,
            open: None,
            deadline: None,
        }
    }

    /// The values of the field that is built.
    fn values(&mut self) -> Rc<FieldValues> {
        if let Some(known) = self.known.get(&self.at) {
            return Rc::clone(known);
        }
        let tested = self.tested.at(&self.at);
        let mut texts = tested.texts(self.words).unwrap_or_else(|| {
            self.not_all("too many different texts");
            tested.some_texts(self.words)
        });
        let [as_text, as_integer, as_quantity] =
            [Form::Text, Form::Integer, Form::Quantity].map(|form| match self.is_sampled {
                true => Numbers::default(),
                false => numbers(&tested, self.words, form),
            });
        let ints = tested.ints.iter().filter(|n| **n >= 0).map(|n| Str::from(n.to_string()));
        let mut amounts: Vec<Str> = vec!["1".into()];
        amounts.extend(tested.amounts().into_iter().chain(ints.clone()).chain(as_quantity.texts));
        amounts.extend(tested.relates.then(|| Str::from("2")));
        // An API server shows them in another notation than some are written in.
        let canonical = |text: &Str| Quantity::parse(text).map(|amount| Str::from(amount.to_string()));
        let shown: Vec<Str> = amounts.iter().filter_map(canonical).collect();
        amounts.retain(|_| !as_quantity.is_apart);
        amounts.extend(shown);
        unique(&mut amounts);
        texts.extend(tested.amounts().into_iter().chain(ints).chain(as_text.texts));
        unique(&mut texts);
        if tested.is_word {
            texts.retain(|text| text.is_empty() || is_word(text));
        }
        let mut integers = tested.integers();
        for number in as_integer.texts.iter().filter_map(|text| text.parse().ok()) {
            if !integers.contains(&number) {
                integers.push(number);
            }
        }
        let is_all = [as_text.is_all, as_integer.is_all, as_quantity.is_all];
        let values = FieldValues { texts, integers, fractions: tested.fractions(), amounts, is_all };
        let values = Rc::new(values);
        self.known.insert(self.at.clone(), Rc::clone(&values));
        values
    }

    /// Notes that some values do not stand for all others.
    fn known_all(&mut self, is_all: bool) {
        if !is_all && !self.is_sampled {
            self.not_all("a number is looked at by its letters, too");
        }
    }

    /// Builds a value one step further.
    pub(crate) fn below<T>(&mut self, step: Step, build: impl FnOnce(&mut Self) -> T) -> T {
        self.at.push(step);
        let built = build(self);
        self.at.pop();
        built
    }

    /// The objects. `name`: the name counts.
    pub fn objects(&mut self, environment: &Environment, tree: &ReadTree, name: bool) -> Vec<Value> {
        let def = self.types.of_object(&self.kind).cloned();
        let smallest = smallest(&self.kind);
        if tree.whole {
            self.not_all("all of the object is read");
        }
        let none = ReadTree::default();
        let metadata = tree.get("metadata").unwrap_or(&none);
        let mut below = tree.clone();
        below.keys.retain(|(key, _)| !matches!(&**key, "apiVersion" | "kind" | "metadata" | INPUTS));
        let bodies = self.fields(&below, def.as_deref(), smallest.as_ref(), 0);
        let metadata =
            self.below(Step::Key("metadata".into()), |own| own.metadata(environment, metadata, name));
        let mut heads: Vec<Map> = metadata
            .into_iter()
            .filter_map(|choice| choice.value)
            .map(|metadata| Map::from_unique(vec![("metadata".into(), metadata)]))
            .collect();
        if let Some(inputs) = tree.get(INPUTS) {
            let inputs = self.answers(inputs, 1);
            let with = |head: &Map, inputs: &Choice| {
                let mut head = head.clone();
                head.insert(INPUTS, inputs.value.clone().unwrap_or_default());
                head
            };
            heads =
                heads.iter().flat_map(|head| inputs.iter().map(move |inputs| with(head, inputs))).collect();
            if heads.len() > self.limit {
                self.not_all("too many combinations of external data");
                heads.truncate(self.limit);
            }
        }
        let (pairs, is_all) = pairs(bodies.len(), heads.len(), self.limit, |_, _| true);
        if !is_all {
            self.not_all("too many combinations of fields");
        }
        let object = |(body, head): (usize, usize)| {
            let mut object = Map::new();
            object.insert("apiVersion", Value::from(&*environment.api_version()));
            object.insert("kind", Value::Str(environment.object[2].clone()));
            heads[head].iter().for_each(|(key, value)| _ = object.insert::<Str>(key.clone(), value.clone()));
            for (key, value) in bodies[body].value.iter().filter_map(Value::as_map).flat_map(Map::iter) {
                object.insert::<Str>(key.clone(), value.clone());
            }
            Value::Map(object)
        };
        pairs.into_iter().map(object).collect()
    }

    /// A text and an integer of each class of any field.
    pub fn classes(&self) -> (Vec<Str>, Vec<i64>) {
        let texts: BTreeSet<&Str> = self.known.values().flat_map(|values| &values.texts).collect();
        let integers: BTreeSet<i64> =
            self.known.values().flat_map(|values| values.integers.iter().copied()).collect();
        let mut texts: Vec<Str> = texts.into_iter().cloned().collect();
        texts.sort_by_key(|text| text.len());
        (texts, integers.into_iter().collect())
    }

    pub(crate) fn not_all(&mut self, why: &str) {
        self.open.get_or_insert_with(|| why.to_string());
        // Some of the combinations are enough then.
        self.limit = self.limit.min(self.some);
    }

    fn metadata(&mut self, environment: &Environment, tree: &ReadTree, name: bool) -> Vec<Choice> {
        if tree.get("generateName").is_some() {
            // Every object here has a name of its own.
            self.not_all("names that an API server generates");
        }
        let mut rest = tree.clone();
        rest.keys.retain(|(key, _)| !matches!(&**key, "name" | "namespace" | "generateName"));
        let has_all = |labels: &ReadTree| labels.names || labels.items.is_some();
        if &*environment.resource.kind == "Namespace" && rest.get("labels").is_some_and(has_all) {
            // Each has one with its name.
            rest.add(&["labels", NAME_OF_NAMESPACE].map(|key| Step::Key(key.into())), true);
        }
        let def = self.types.named("meta/v1.ObjectMeta").cloned();
        let others = self.fields(&rest, def.as_deref(), None, 1);
        let [names, namespaces] = [&self.predicates.names, &self.predicates.namespaces].map(Clone::clone);
        let is_read = |key: &str| tree.get(key).is_some();
        let reads_name = name || tree.whole || is_read("name");
        let (names, namespaces) = match &*environment.resource.kind {
            // It is in the namespace that it is.
            "Namespace" => {
                let both = names.into_iter().chain(namespaces).collect();
                let names =
                    self.identities(&["name", "namespace"], reads_name || is_read("namespace"), &both, "a");
                (names, Vec::new())
            }
            _ => {
                let names = self.identities(&["name"], reads_name, &names, "a");
                let namespaces = match environment.resource.namespaced {
                    true => self.identities(&["namespace"], is_read("namespace"), &namespaces, "default"),
                    false => Vec::new(),
                };
                (names, namespaces)
            }
        };
        let mut all = Vec::new();
        for other in &others {
            for name in &names {
                let with = |namespace: Option<&Str>| {
                    let mut map = Map::new();
                    map.insert("name", Value::Str(name.clone()));
                    if let Some(namespace) = namespace {
                        map.insert("namespace", Value::Str(namespace.clone()));
                    }
                    for (key, value) in other.value.iter().filter_map(Value::as_map).flat_map(Map::iter) {
                        map.insert::<Str>(key.clone(), value.clone());
                    }
                    Choice { value: Some(Value::Map(map)), items: other.items }
                };
                match namespaces.is_empty() {
                    true => all.push(with(None)),
                    false => all.extend(namespaces.iter().map(|n| with(Some(n)))),
                }
                if all.len() > self.limit {
                    self.not_all("too many combinations of names");
                    return all;
                }
            }
        }
        all
    }

    /// Names, or namespaces: the usual one, and one for each class of those that are tested under
    /// some keys.
    fn identities(
        &mut self,
        keys: &[&str],
        is_read: bool,
        patterns: &BTreeSet<String>,
        usual: &str,
    ) -> Vec<Str> {
        let mut all: Vec<Str> = vec![usual.into()];
        let mut tested = Predicates::default();
        let mut is_tested = false;
        for key in keys {
            self.at.push(Step::Key((*key).into()));
            is_tested |= self.tested.has(&self.at);
            tested.merge(&self.tested.at(&self.at));
            self.at.pop();
        }
        if is_read || !patterns.is_empty() || is_tested {
            let mut languages = tested.languages();
            languages.globs.extend(patterns.iter().cloned());
            match self.names(languages, if tested.relates { 2 } else { 1 }) {
                Some(found) => {
                    for text in found {
                        if !text.is_empty() && !all.contains(&text) {
                            all.push(text);
                        }
                    }
                }
                None => self.not_all("too many different names"),
            }
        }
        all
    }

    /// Texts of each class; where there are such in a class, those that an API server takes for
    /// names.
    fn names(&self, languages: Languages, each: usize) -> Option<Vec<Str>> {
        let form = BTreeSet::from([NAME.to_string()]);
        let mut formed = languages.clone();
        formed.regexes.extend(form.iter().cloned());
        let Some(found) = self.words.of(formed, each) else {
            return self.words.of(languages, each).map(|found| found.to_vec());
        };
        let classes = truths(&languages, &found)?;
        let is_name = truths(&Languages { regexes: form, ..Languages::default() }, &found)?;
        let all = || found.iter().zip(&classes).zip(&is_name);
        let named: BTreeSet<&Vec<bool>> =
            all().filter(|(_, is_name)| is_name.contains(&true)).map(|((_, class), _)| class).collect();
        let stays = |((_, class), is_name): &((&Str, &Vec<bool>), &Vec<bool>)| {
            is_name.contains(&true) || !named.contains(class)
        };
        Some(all().filter(stays).map(|((text, _), _)| text.clone()).collect())
    }

    /// The values of a field.
    pub(crate) fn of(
        &mut self,
        key: &Str,
        tree: &ReadTree,
        ty: Option<&Type>,
        is_required: bool,
        smallest: Option<&Value>,
        depth: usize,
    ) -> Vec<Choice> {
        if depth > MAX_OBJECT_DEPTH {
            self.not_all("it nests too deeply");
            return vec![ABSENT];
        }
        if clock::has_passed(self.deadline) {
            self.not_all(TIME_LIMIT);
            return vec![ABSENT];
        }
        let mut all = if is_required { Vec::new() } else { vec![ABSENT] };
        all.extend(self.compared_constants(tree, ty));
        match ty {
            None => all.extend(self.untyped(key, tree, depth)),
            Some(Type::Leaf(leaf)) => all.extend(self.scalars(*leaf, key, tree, depth)),
            Some(Type::List(_, item)) => {
                all.extend(self.lists(key, tree, Some(&**item), smallest.is_some(), depth))
            }
            Some(Type::Map(value, _)) => all.extend(self.maps(tree, value, depth)),
            Some(Type::Named(name, _)) => {
                let Some(def) = self.types.named(name).cloned() else {
                    all.extend(self.untyped(key, tree, depth));
                    return all;
                };
                match def.leaf {
                    Some(leaf) => all.extend(self.scalars(leaf, key, tree, depth)),
                    None if !tree.whole && self.is_counted(tree) => {
                        let tree = self.with_names(tree, &def);
                        all.extend(self.fields(&tree, Some(&def), smallest, depth));
                    }
                    None => {
                        all.extend(self.fields(tree, Some(&def), smallest, depth));
                        if let Some(found) = self.compared_objects(tree, &def, depth) {
                            all.extend(found);
                        } else if tree.whole || tree.items.is_some() {
                            self.not_all("all of an object is read");
                            all.extend(self.with_one_field(&def, depth));
                        } else if smallest.is_none() && self.at.last() != Some(&Step::Items) {
                            all.extend(self.with_other_field(tree, &def, depth));
                        }
                    }
                }
            }
        }
        all
    }

    fn scalars(&mut self, leaf: Leaf, key: &Str, tree: &ReadTree, depth: usize) -> Vec<Choice> {
        let values = self.values();
        let texts = || values.texts.iter().cloned().map(|t| plain(Value::Str(t)));
        let integers = || values.integers.iter().map(|n| plain(Value::Int(*n)));
        let [as_text, as_integer, as_quantity] = values.is_all;
        match leaf {
            Leaf::String | Leaf::Bytes => self.known_all(as_text),
            Leaf::IntOrString => self.known_all(as_text && as_integer),
            Leaf::Int32 | Leaf::Int64 | Leaf::Double => self.known_all(as_integer),
            Leaf::Quantity => self.known_all(as_quantity),
            Leaf::Time | Leaf::MicroTime if self.tested.has(&self.at) && tree.whole => {
                self.not_all("a time is compared");
            }
            _ => {}
        }
        match leaf {
            Leaf::String | Leaf::Bytes => texts().collect(),
            Leaf::Time | Leaf::MicroTime => vec![plain(Value::from("2026-01-01T00:00:00Z"))],
            Leaf::Quantity => values.amounts.iter().cloned().map(|t| plain(Value::Str(t))).collect(),
            Leaf::IntOrString => integers().chain(texts()).collect(),
            Leaf::Int32 | Leaf::Int64 => integers().collect(),
            Leaf::Double => {
                let whole = values.integers.iter().map(|n| *n as f64);
                whole.chain(values.fractions.iter().copied()).map(|n| plain(Value::Float(n))).collect()
            }
            Leaf::Bool => [false, true].map(|b| plain(Value::Bool(b))).into(),
            Leaf::Any => self.untyped(key, tree, depth),
        }
    }
}
