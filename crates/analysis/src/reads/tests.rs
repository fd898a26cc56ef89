//! What values of a request are compared with.
//!
//! In: comparisons that the analysis meets, with the abstract values of both sides. Out: [`Tests`]: for each place the constants
//! that its values are compared with, and by which operator or function; which places are compared with each other; the constants
//! whose way is not followed, which may be compared with any value. Texts, numbers and lists that no test
//! distinguishes get the same results.

use crate::value::Value;
use crate::value::print::json;

use super::Step;
use super::seen::{AbstractValue, ValueSet};

/// Longer lists of places are given up.
const MOST: usize = 512;

/// How a value is compared with constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By a function of this name; equality is `_==_`.
    Function(&'static str),
    /// By an operator that looks for a value in a list, where each may be a pattern for the other.
    Membership,
    /// By a pattern: the constant is a leaf, or an object or list of leaves.
    Pattern,
    /// By a selector of labels or annotations.
    Selector,
}

/// Values at a place, and below it, are compared with a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Where they are.
    pub place: Vec<Step>,
    /// How they are compared.
    pub by: By,
    /// With what.
    pub with: Value,
}

/// What the values of a request are compared with. Places of the new and of the former object are not distinguished.
#[derive(Clone, Debug, Default)]
pub struct Tests {
    /// The comparisons with constants.
    pub tests: Vec<Test>,
    /// Places whose values are compared with each other.
    pub related: Vec<Vec<Vec<Step>>>,
    /// Constants that may be compared with any value.
    pub anywhere: Vec<Value>,
    /// Whether comparisons exist that are not listed.
    pub is_partial: bool,
}

/// The parts of a value.
#[derive(Default)]
struct Parts<'v> {
    places: Vec<&'v [Step]>,
    /// The objects whose names of fields are among them.
    names: Vec<&'v [Step]>,
    constants: Vec<&'v Value>,
    /// Whether it is computed, too.
    is_computed: bool,
}

impl<'v> Parts<'v> {
    fn of(values: &'v ValueSet) -> Parts<'v> {
        let mut found = Parts::default();
        found.add(values);
        found
    }

    fn add(&mut self, values: &'v ValueSet) {
        for one in values {
            match one {
                AbstractValue::At(_, steps) => self.places.push(steps),
                AbstractValue::Name(steps) => self.names.push(steps),
                AbstractValue::Constant(value) => self.constants.push(value),
                AbstractValue::List(items) => self.add(items),
                AbstractValue::Map(entries) => entries.iter().for_each(|(_, value)| self.add(value)),
                AbstractValue::Elsewhere | AbstractValue::User => {}
                AbstractValue::Root
                | AbstractValue::Request
                | AbstractValue::Untracked
                | AbstractValue::Computed => self.is_computed = true,
            }
        }
    }
}

impl Tests {
    /// Two values are compared with each other.
    pub fn compared(&mut self, one: &ValueSet, other: &ValueSet, by: By) {
        let (one, other) = (Parts::of(one), Parts::of(other));
        for (places, constants) in [(&one, &other), (&other, &one)] {
            for constant in &constants.constants {
                for place in places.places.iter().chain(&places.names) {
                    self.at(place, by, constant);
                }
                if places.is_computed {
                    self.anywhere.push((*constant).clone());
                }
            }
        }
        // Fields that are compared with names of fields are none of their relations.
        let is_computed = |parts: &Parts<'_>| parts.is_computed || !parts.names.is_empty();
        if by == By::Membership {
            // A value that is the text of a list is one for these operators.
            for text in one.constants.iter().filter_map(|constant| constant.as_str()) {
                let list = Value::from(json(&Value::list(vec![Value::from(text)])));
                other.places.iter().for_each(|place| self.at(place, by, &list));
            }
        }
        let is_variable = |parts: &Parts<'_>| !parts.places.is_empty() || is_computed(parts);
        if is_variable(&one) && is_variable(&other) {
            if is_computed(&one) || is_computed(&other) {
                self.is_partial = true;
            }
            if by == By::Membership {
                let star = Value::from("*");
                one.places.iter().chain(&other.places).for_each(|place| self.at(place, by, &star));
            }
            self.related.push(one.places.iter().chain(&other.places).map(|place| place.to_vec()).collect());
        }
        self.is_partial |= self.related.len() > MOST || self.anywhere.len() > MOST;
    }

    /// The values at a place are compared with a constant.
    pub fn at(&mut self, place: &[Step], by: By, with: &Value) {
        let is_known = |test: &Test| test.place == place && test.by == by && test.with == *with;
        if self.tests.iter().any(is_known) {
            return;
        }
        self.tests.push(Test { place: place.to_vec(), by, with: with.clone() });
        self.is_partial |= self.tests.len() > MOST;
    }

    /// A value is used in a way that is not followed.
    pub fn anywhere(&mut self, values: &ValueSet) {
        self.anywhere.extend(Parts::of(values).constants.into_iter().cloned());
    }

    /// Adds those of another part of a policy.
    pub fn merge(&mut self, other: &Tests) {
        other.tests.iter().for_each(|test| self.at(&test.place, test.by, &test.with));
        self.related.extend(other.related.iter().cloned());
        self.anywhere.extend(other.anywhere.iter().cloned());
        self.is_partial |= other.is_partial;
    }
}
