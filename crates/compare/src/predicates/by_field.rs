//! What is tested at each field.
//!
//! In: the tests of a unit (`analysis::reads::comparisons`) and what it tests anywhere
//! ([`Predicates`]). Out: [`Tested`]: for a field, the predicates of those tests that reach it. A
//! test reaches its place and what is below; a constant whose way is not known reaches every field.
//! Fields that are compared with each other have the same values.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use ephor_analysis::reads::Step;
use ephor_analysis::reads::comparisons::{By, Comparisons, Test};
use ephor_analysis::reads::expected_type::ExpectedType;
use ephor_functions::registry::Operation;
use ephor_ir::shape::Anchor;
use ephor_value::{Map, Value};

use crate::model::path::Place;
use crate::predicates::summary::Predicates;

/// What is tested at each field.
#[derive(Clone, Debug, Default)]
pub struct Tested {
    /// Places with what is tested there, and below.
    places: Vec<(Place, [Predicates; 2])>,
    /// Places whose values are compared with each other.
    related: Vec<Vec<Place>>,
    /// Whether some value is compared as a pattern, by any unit of the comparison.
    pub are_patterns: bool,
    /// The types that a unit expects of fields; `None`: they are not known.
    own: Option<Rc<ExpectedTypes>>,
    /// The types that all units of a comparison expect.
    looked_for: Option<Rc<ExpectedTypes>>,
    /// The same of those units of which it is known.
    looked_for_by_some: Rc<ExpectedTypes>,
    /// What is tested at fields, put together once for all that the same tests reach.
    known: RefCell<HashMap<ReachingTests, Rc<Predicates>>>,
}

/// The tests that reach a field: their numbers, and whether the field is below their place; whether
/// it is compared with others, and whether texts are patterns.
type ReachingTests = (Vec<(usize, bool)>, [bool; 2]);

/// The types that are expected of fields.
type ExpectedTypes = BTreeMap<Place, ExpectedType>;

impl Tested {
    /// For a unit; `None`: its tests are not known.
    pub fn new(tests: Option<&Comparisons>, anywhere: &Predicates) -> Tested {
        // Expected types are known also where not all comparisons are.
        let own = tests.filter(|tests| !tests.is_moved).map(|tests| Rc::new(tests.looked_for.clone()));
        let Some(tests) = tests.filter(|tests| !tests.is_partial) else {
            return Tested { own, ..Tested::anywhere(anywhere) };
        };
        let mut found = Tested { own, ..Tested::default() };
        if !tests.anywhere.is_empty() {
            // Which functions they reach is not known, either.
            let mut all = Predicates {
                functions: anywhere.functions.clone(),
                measures: anywhere.measures,
                ..Predicates::default()
            };
            tests.anywhere.iter().for_each(|value| all.add_constant(value));
            found.add(Place::new(), &[all.clone(), all]);
        }
        if !anywhere.guessed.is_empty() && tests.is_lost {
            let all = Predicates { regexes: anywhere.guessed.clone(), ..Predicates::default() };
            found.add(Place::new(), &[all.clone(), all]);
        }
        for test in &tests.tests {
            let here = predicates(test);
            let below = match test.by {
                // It looks for an item of a list.
                By::Function(Operation::Contains) => {
                    predicates(&Test { by: By::Function(Operation::Equal), ..test.clone() })
                }
                // How many members something has is the same whatever they are.
                By::Function(Operation::Size) if !test.place.contains(&Step::Nested) => Predicates::default(),
                _ => Predicates { is_text: false, ..here.clone() },
            };
            found.add(known(&test.place), &[here, below]);
        }
        for place in &tests.keys {
            let word = Predicates { is_word: true, ..Predicates::default() };
            found.add(known(place), &[word, Predicates::default()]);
        }
        for related in &tests.related {
            found.related.push(related.iter().map(|place| known(place)).collect());
        }
        found
    }

    /// Whatever is tested reaches every field.
    pub fn anywhere(predicates: &Predicates) -> Tested {
        let both = [predicates.clone(), predicates.clone()];
        Tested { places: vec![(Place::new(), both)], ..Tested::default() }
    }

    /// Gives units what all of them expect: what one of them takes for an object may be one for
    /// all.
    pub fn share<'t>(all: impl Iterator<Item = &'t mut Tested>) {
        let all: Vec<&mut Tested> = all.collect();
        let mut found = ExpectedTypes::new();
        for (place, what) in all.iter().filter_map(|one| one.own.as_ref()).flat_map(|own| own.iter()) {
            found.entry(place.clone()).or_default().merge(*what);
        }
        let found = Rc::new(found);
        let is_all = all.iter().all(|one| one.own.is_some());
        for one in all {
            one.looked_for = is_all.then(|| Rc::clone(&found));
            one.looked_for_by_some = Rc::clone(&found);
        }
    }

    /// The types that any unit expects of a field; `None`: any.
    pub fn looked_for(&self, field: &[Step]) -> Option<ExpectedType> {
        self.looked_for.as_ref()?;
        let all = self.expected_at(field);
        let found = all.without_constants();
        // Fields that are compared with each other are what the other one is. Of a list it is the
        // items.
        let is_list = ExpectedType { members: false, empty: false, ..found } == ExpectedType::LIST;
        let is_known = !found.any && (is_list || !self.is_related(field)) && found != ExpectedType::NONE;
        is_known.then_some(all)
    }

    fn expected_at(&self, field: &[Step]) -> ExpectedType {
        // The items of lists of lists are in lists; what else has items may be an object.
        let is_at = |(own, step): (&Step, &Step)| match own {
            Step::Nested => *step == Step::Items,
            Step::Items => true,
            Step::Key(_) => own == step || *step == Step::Items,
        };
        let mut found = ExpectedType::NONE;
        for (place, what) in self.looked_for_by_some.iter() {
            if place.len() == field.len() && place.iter().zip(field).all(is_at) {
                found.merge(*what);
            }
        }
        found
    }

    /// Whether texts, numbers and booleans are among the constants that units compare a field of
    /// unknown type with; `None`: there are none.
    pub fn constants_of(&self, field: &[Step]) -> Option<[bool; 3]> {
        let found = self.expected_at(field).constants;
        (found != [false; 3] && !self.is_related(field)).then_some(found)
    }

    fn add(&mut self, place: Place, predicates: &[Predicates; 2]) {
        self.known.get_mut().clear();
        match self.places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, own)) => own.iter_mut().zip(predicates).for_each(|(own, other)| own.merge(other)),
            None => self.places.push((place, predicates.clone())),
        }
    }

    /// Adds a constant that a rule writes into a field: it is one of the values that this may have.
    pub fn add_written(&mut self, field: &[Step], value: &Value) {
        let mut here = Predicates::default();
        here.add_constant(value);
        if matches!(value, Value::Int(_) | Value::Bool(_)) {
            // In the place of a text it is one.
            here.add_constant(&Value::from(ephor_value::print::json(value)));
        }
        self.add(field.to_vec(), &[here, Predicates::default()]);
    }

    /// Adds what another unit tests.
    pub fn merge(&mut self, other: &Tested) {
        other.places.iter().for_each(|(place, predicates)| self.add(place.clone(), predicates));
        self.related.extend(other.related.iter().cloned());
        self.are_patterns |= other.are_patterns;
    }

    /// Whether a test reaches a field.
    pub fn has(&self, field: &[Step]) -> bool {
        let mut places = self.places.iter().map(|(place, _)| place).chain(self.related.iter().flatten());
        places.any(|place| !place.is_empty() && reaches(place, field))
    }

    /// Whether a field, or what it is in, is compared with another one.
    pub fn is_related(&self, field: &[Step]) -> bool {
        let is_above = |place: &Place| place.len() < field.len() && reaches(place, field);
        self.related.iter().flatten().any(|place| place == field || is_above(place))
    }

    /// The places whose values are compared with that of a field.
    pub fn related_to(&self, field: &[Step]) -> impl Iterator<Item = &Place> {
        self.related.iter().filter(move |group| group.iter().any(|place| place == field)).flatten()
    }

    /// What is tested at a field: keys, and `Items` for the items of lists.
    pub fn at(&self, field: &[Step]) -> Rc<Predicates> {
        let mut fields: Vec<&[Step]> = vec![field];
        // Fields that are compared with this one, with those that are compared with them.
        let mut relates = false;
        let mut left: Vec<&Vec<Place>> = self.related.iter().collect();
        let mut at = 0;
        while let Some(one) = fields.get(at).copied() {
            at += 1;
            left.retain(|related| {
                let is_one = related.iter().any(|place| reaches(place, one) || reaches(one, place));
                if is_one {
                    relates = true;
                    fields.extend(related.iter().map(Vec::as_slice));
                }
                !is_one
            });
        }
        let mut reached: Vec<(usize, bool)> = Vec::new();
        for (number, (place, _)) in self.places.iter().enumerate() {
            for field in &fields {
                // What is tested below a field that is compared as a whole counts for the other
                // side, too.
                if reaches(place, field) || (relates && reaches(field, place)) {
                    let one = (number, place.len() < field.len());
                    if !reached.contains(&one) {
                        reached.push(one);
                    }
                }
            }
        }
        let reached = (reached, [relates, self.are_patterns]);
        if let Some(known) = self.known.borrow().get(&reached) {
            return Rc::clone(known);
        }
        let mut found = Predicates { relates, are_patterns: self.are_patterns, ..Predicates::default() };
        for (number, is_below) in &reached.0 {
            if let Some((_, [here, below])) = self.places.get(*number) {
                found.merge(if *is_below { below } else { here });
            }
        }
        let found = Rc::new(found);
        self.known.borrow_mut().insert(reached, Rc::clone(&found));
        found
    }
}

impl Tested {
    /// Where no value is a pattern.
    pub fn drop_patterns(&mut self) {
        for (_, both) in &mut self.places {
            both.iter_mut().for_each(|one| _ = one.drop_patterns());
        }
        self.known.borrow_mut().clear();
    }
}

/// A place as far as it is known: behind lists that are taken apart it may be at either depth.
fn known(place: &[Step]) -> Place {
    place.iter().take_while(|step| **step != Step::Nested).cloned().collect()
}

/// Whether a place is a field or above it.
fn reaches(place: &[Step], field: &[Step]) -> bool {
    let is_step = |(own, other): (&Step, &Step)| own == other || *own == Step::Items || *other == Step::Items;
    place.len() <= field.len() && place.iter().zip(field).all(is_step)
}

/// What a test distinguishes.
fn predicates(test: &Test) -> Predicates {
    let mut found = Predicates { is_text: matches!(test.with, Value::Str(_)), ..Predicates::default() };
    if !test.way.is_empty() {
        let made = predicates(&Test { way: Vec::new(), ..test.clone() });
        found.are_patterns = made.are_patterns;
        found.made.insert(test.way.clone(), made);
        return found;
    }
    match test.by {
        By::Function(operation) if operation.searches_pattern() => found.add_regex(operation, &test.with),
        By::Condition => {
            found.measures = true;
            found.add_constant(&test.with);
        }
        By::Function(operation) => {
            found.functions.insert(operation);
            found.add_constant(&test.with);
            if matches!(operation, Operation::Equal | Operation::Unequal)
                && matches!(test.with, Value::List(_) | Value::Map(_))
            {
                found.wholes.push(test.with.clone());
            }
            // A part of a text is no number, whatever it reads as: `+` is a quantity.
            if operation.searches_text() {
                found.amounts.clear();
                found.ints.clear();
            }
        }
        By::Membership => {
            // As a constant `*` is a pattern that every text matches.
            if test.with.as_str() != Some("*") {
                found.add_constant(&test.with);
            }
            found.guess_pattern();
        }
        By::Selector => found.add_constant(&test.with),
        By::Pattern => pattern(&test.with, &mut found),
    }
    found
}

/// The leaves of a pattern, and the keys above them.
fn pattern(of: &Value, out: &mut Predicates) {
    match of {
        Value::Map(map) => {
            for (key, below) in Map::iter(map) {
                out.add_constant(&Value::from(Anchor::parse(key).1));
                pattern(below, out);
            }
        }
        Value::List(items) => items.iter().for_each(|item| pattern(item, out)),
        leaf => out.add_leaf(leaf),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(steps: &str) -> Place {
        let step = |text| if text == "*" { Step::Items } else { Step::Key(ephor_value::Str::from(text)) };
        steps.split('.').filter(|text| !text.is_empty()).map(step).collect()
    }

    fn test(at: &str, by: By, with: &str) -> Test {
        Test { place: place(at), way: Vec::new(), by, with: Value::from(with) }
    }

    fn tested(tests: Vec<Test>, related: &[[&str; 2]]) -> Tested {
        let related = related.iter().map(|pair| pair.map(place).to_vec()).collect();
        let tests = Comparisons { tests, related, ..Comparisons::default() };
        Tested::new(Some(&tests), &Predicates::default())
    }

    #[test]
    fn a_constant_reaches_its_field_and_what_is_below() {
        let found = tested(
            vec![
                test("spec.a", By::Pattern, "x*"),
                test("spec.b.*", By::Function(Operation::StartsWith), "y"),
            ],
            &[],
        );
        let globs = |at: &str| found.at(&place(at)).globs.iter().cloned().collect::<Vec<_>>();
        assert_eq!(globs("spec.a"), ["x*"]);
        assert_eq!(globs("spec.a.below"), ["x*"]);
        assert_eq!(globs("spec.b.*"), ["y", "y*"]);
        assert_eq!(globs("spec.b.key"), ["y", "y*"]);
        assert!(globs("spec.c").is_empty() && globs("spec").is_empty());
    }

    #[test]
    fn functions_reach_the_constants_that_they_are_called_with() {
        let tests = vec![test("a", By::Function(Operation::StartsWith), "x"), test("a", By::Pattern, "y")];
        assert!(!tested(tests, &[]).at(&place("a")).globs.contains("y*"));
        let contains = tested(vec![test("a", By::Function(Operation::Contains), "x")], &[]);
        assert!(contains.at(&place("a")).globs.contains("*x*"));
        assert!(!contains.at(&place("a.*")).globs.contains("*x*"));
    }

    #[test]
    fn fields_that_are_compared_with_each_other_have_the_same_values() {
        let tests = vec![test("a", By::Membership, "x"), test("c", By::Pattern, "z")];
        let found = tested(tests, &[["a", "b"], ["b", "c"]]);
        for field in ["a", "b", "c"] {
            let at = found.at(&place(field));
            assert!(at.relates && at.globs.contains("x") && at.globs.contains("z"), "{field}: {at:?}");
        }
        assert!(!found.at(&place("d")).relates);
    }

    #[test]
    fn what_is_not_known_reaches_every_field() {
        let tests = Comparisons { is_partial: true, ..Comparisons::default() };
        let mut all = Predicates::default();
        all.add_constant(&Value::from("x"));
        assert!(Tested::new(Some(&tests), &all).at(&place("a.b")).globs.contains("x"));
        let tests = Comparisons { anywhere: vec![Value::from("y")], ..Comparisons::default() };
        assert!(Tested::new(Some(&tests), &Predicates::default()).at(&place("a.b")).globs.contains("y"));
    }

    #[test]
    fn operators_that_look_into_lists_take_a_value_for_a_pattern() {
        let found = tested(vec![test("a", By::Membership, "x")], &[]).at(&place("a"));
        assert!(found.constants.contains("*"));
    }
}
