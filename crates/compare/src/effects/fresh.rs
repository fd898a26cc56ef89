//! Values that differ from all others, where values are copied.
//!
//! In: an object, the places whose values are copied and those to which they are. Out: the object
//! with a value at each of these that is nowhere else. Rules do not read these values, so what
//! they make of such an object shows where each value goes: sides that make the same of it make the
//! same of all objects that differ in these values alone.

use std::cell::Cell;
use std::collections::BTreeSet;

use ephor_analysis::reads::Step;
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Leaf, Type};
use ephor_value::{Map, Str, Value, stack};

use crate::effects::writes::{DerivedValue, leaf_of};
use crate::model::environment::Environment;
use crate::model::field_types::{Resolved, resolved, type_at};
use crate::model::limits::MAX_COPIED_PARTS;
use crate::model::path::TEXT;
use crate::predicates::by_field::Tested;
use crate::predicates::summary::Predicates;
use crate::strings::languages::Languages;
use crate::strings::witnesses::{WitnessCache, truths as truths_of};

/// Numbers count down from here: what comes later in an object is less, as requests are that come
/// after limits.
const FIRST: i64 = 9_000;

/// By what texts are distinguished.
pub(crate) struct FreshNames<'t> {
    /// The kind of the object.
    pub environment: &'t Environment,
    /// What rules test anywhere: names and namespaces among it.
    pub tested: &'t Predicates,
    /// What they test at each field.
    pub fields: &'t Tested,
    /// The texts of languages.
    pub words: &'t WitnessCache,
}

impl FreshNames<'_> {
    /// The languages of the texts at a place; `None`: nothing distinguishes them.
    fn languages(&self, place: &[Step]) -> Option<Languages> {
        let is_namespace = *self.environment.object[2] == *"Namespace";
        let names = match place {
            [Step::Key(metadata), Step::Key(key)] if **metadata == *"metadata" => match &**key {
                "name" if is_namespace => vec![&self.tested.names, &self.tested.namespaces],
                "name" => vec![&self.tested.names],
                "namespace" => vec![&self.tested.namespaces],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let of = self.fields.at(place);
        if of.is_about_presence() && names.iter().all(|one| one.is_empty()) {
            return None;
        }
        let mut languages = of.languages();
        languages.globs.extend(names.into_iter().flatten().cloned());
        Some(languages)
    }
}

/// What is at a place.
enum FreshType<'t> {
    /// A scalar, or nothing; what a function makes of it, and by what it is distinguished.
    Leaf(Option<Leaf>, Option<&'t DerivedValue>, Option<Languages>),
    /// Something that is copied with all that is in it.
    Whole(&'t Type),
}

/// Gives objects values of their own.
pub(crate) struct Fresh<'t> {
    types: &'t Types,
    words: &'t WitnessCache,
    /// Whether there is no other value like one that is not alone.
    has_failed: Cell<bool>,
    places: Vec<(&'t [Step], FreshType<'t>)>,
    /// A text that no rule writes, nor a part of one.
    text: String,
    /// No rule writes the numbers from here downwards.
    first: i64,
}

impl<'t> Fresh<'t> {
    /// For the places of objects of a kind; `wholes`: those that are copied with all that is there;
    /// `written`: the texts that rules write.
    pub fn new(
        names: &FreshNames<'t>,
        [places, wholes]: [&'t BTreeSet<Vec<Step>>; 2],
        written: &BTreeSet<String>,
        made: &'t [(Vec<Step>, DerivedValue)],
    ) -> Fresh<'t> {
        let (types, kind): (&Types, _) = (Types::built_in(), &names.environment.object);
        let mut text = String::from(TEXT);
        while written.iter().any(|other| other.contains(&text)) {
            text.push('x');
        }
        let mut first = FIRST;
        let numbers: BTreeSet<i64> = written.iter().filter_map(|text| text.parse().ok()).collect();
        while numbers.range(first - FIRST..=first).next().is_some() && first < i64::MAX / 2 {
            first += FIRST;
        }
        let whole = |place: &'t Vec<Step>| Some((&**place, FreshType::Whole(type_at(types, kind, place)?)));
        let leaf = |place: &'t Vec<Step>| {
            let ty = type_at(types, kind, place);
            let made = made.iter().find(|(_, made)| made.of == *place).map(|(_, made)| made);
            (&**place, FreshType::Leaf(ty.and_then(|ty| leaf_of(types, ty)), made, names.languages(place)))
        };
        let places = wholes.iter().filter_map(whole).chain(places.iter().map(leaf)).collect();
        Fresh { types, words: names.words, has_failed: Cell::new(false), places, text, first }
    }

    /// Whether the values of a place are texts.
    pub fn is_text(environment: &Environment, place: &[Step]) -> bool {
        leaf_at(environment, place) == Some(Leaf::String)
    }

    /// Whether they are quantities.
    pub fn is_amount(environment: &Environment, place: &[Step]) -> bool {
        leaf_at(environment, place) == Some(Leaf::Quantity)
    }

    /// Objects with values of their own; where something is copied with all that is in it, also one
    /// in which it is not empty.
    pub fn objects(&self, object: &Value) -> Vec<Value> {
        let one = |fills: bool| {
            let next = Cell::new(0);
            let mut object = object.clone();
            for (place, at) in &self.places {
                object = self.with(&object, place, (at, fills), &next);
            }
            object
        };
        let mut all = vec![one(false)];
        if self.places.iter().any(|(_, at)| matches!(at, FreshType::Whole(_))) {
            all.push(one(true));
        }
        all
    }

    fn with(&self, value: &Value, place: &[Step], at: (&FreshType<'t>, bool), next: &Cell<i64>) -> Value {
        let Some((step, rest)) = place.split_first() else {
            return match at {
                (FreshType::Leaf(leaf, made, None), _) => self.leaf(value, (*leaf, *made), next),
                (FreshType::Leaf(_, _, Some(languages)), _) => self.alike(value, languages, next),
                (FreshType::Whole(_), _) if value.is_null() => value.clone(),
                (FreshType::Whole(_), false) if value.is_empty() => value.clone(),
                (FreshType::Whole(ty), _) => self.whole(ty, next, 0).unwrap_or_else(|| value.clone()),
            };
        };
        let below = |value: &Value| stack::deep(|| self.with(value, rest, at, next));
        match (step, value) {
            (Step::Key(key), Value::Map(map)) => {
                let of = |(name, value): (&Str, &Value)| {
                    (name.clone(), if name == key { below(value) } else { value.clone() })
                };
                Value::Map(map.iter().map(of).collect::<Map>())
            }
            (Step::Items, Value::List(items)) => Value::list(items.iter().map(below).collect()),
            _ => value.clone(),
        }
    }

    fn next(&self, next: &Cell<i64>) -> i64 {
        next.set(next.get() + 1);
        self.first - next.get()
    }

    fn leaf(
        &self,
        value: &Value,
        (leaf, made): (Option<Leaf>, Option<&DerivedValue>),
        next: &Cell<i64>,
    ) -> Value {
        let number = self.next(next);
        match (value, leaf) {
            (Value::Int(_), _) => Value::Int(number),
            (Value::Str(text), Some(Leaf::Quantity)) if !text.is_empty() => Value::from(number.to_string()),
            (Value::Str(text), _) if !text.is_empty() => {
                let text = format!("{}{number}", self.text);
                made.map_or_else(|| Value::from(&*text), |made| Value::from(made.changed(&text)))
            }
            _ => value.clone(),
        }
    }

    /// A text that is in the same languages as another one; one that is alone in these stays.
    fn alike(&self, value: &Value, languages: &Languages, next: &Cell<i64>) -> Value {
        let Value::Str(text) = value else { return value.clone() };
        if text.is_empty() {
            return value.clone();
        }
        let own = format!("{}{}", self.text, self.next(next));
        let candidates =
            [own.clone(), format!("{text}{own}"), format!("{own}{text}"), format!("{text}{own}{text}")];
        let all: Vec<Str> = [text.clone()].into_iter().chain(candidates.into_iter().map(Str::from)).collect();
        let truths = truths_of(languages, &all).unwrap_or_default();
        let mut others = all.iter().zip(&truths).skip(1);
        if let Some((other, _)) = others.find(|(_, own)| truths.first() == Some(*own)) {
            return Value::Str(other.clone());
        }
        let is_alone = || {
            let texts: Vec<Str> = [text.clone()]
                .into_iter()
                .chain(self.words.of(languages.clone(), 2)?.iter().cloned())
                .collect();
            let found = truths_of(languages, &texts)?;
            let (first, others) = found.split_first()?;
            Some(texts.iter().skip(1).zip(others).all(|(other, own)| own != first || *other == *text))
        };
        if is_alone() != Some(true) {
            self.has_failed.set(true);
        }
        value.clone()
    }

    /// Whether a value was found that is not alone, and to which no other one is alike.
    pub fn has_failed(&self) -> bool {
        self.has_failed.get()
    }

    /// Something of a type, with a value that is nowhere else.
    fn whole(&self, ty: &Type, next: &Cell<i64>, depth: usize) -> Option<Value> {
        let text = || Value::from(format!("{}{}", self.text, self.next(next)));
        match resolved(self.types, ty) {
            _ if depth > MAX_COPIED_PARTS => None,
            Resolved::Leaf => (leaf_of(self.types, ty) == Some(Leaf::String)).then(text),
            Resolved::List(_, item) => Some(Value::list(vec![self.whole(item, next, depth + 1)?])),
            Resolved::Map(below, _) => {
                Some(Value::map([(text().as_str()?, self.whole(below, next, depth + 1)?)]))
            }
            // Maps come first: any name of an entry will do.
            Resolved::Object(def, _) => {
                let is_map = |ty: &Type| matches!(resolved(self.types, ty), Resolved::Map(..));
                let (maps, others): (Vec<_>, Vec<_>) = def.fields.iter().partition(|field| is_map(&field.ty));
                maps.into_iter().chain(others).find_map(|field| {
                    Some(Value::map([(&*field.name, self.whole(&field.ty, next, depth + 1)?)]))
                })
            }
            Resolved::Unknown => None,
        }
    }
}

fn leaf_at(environment: &Environment, place: &[Step]) -> Option<Leaf> {
    let types: &Types = Types::built_in();
    leaf_of(types, type_at(types, &environment.object, place)?)
}
