//! What values of a request are compared with.
//!
//! In: comparisons that the analysis meets, with the abstract values of both sides. Out:
//! [`Comparisons`]: for each place the constants that its values are compared with, and by which
//! operator or function; which places are compared with each other; the constants whose way is not
//! followed, which may be compared with any value. Texts, numbers and lists that no test
//! distinguishes get the same results.

use std::collections::BTreeMap;

use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::shape::Anchor;
use ephor_value::print::json;
use ephor_value::quantity::Quantity;
use ephor_value::{Str, Value, duration};

use crate::reads::abstract_value::{AbstractValue, MAX_PARTS_OF_TEXT, Origin, ValueSet};
use crate::reads::expected_type::{ExpectedType, plain};
use crate::reads::footprint::Step;
use crate::reads::texts::{TextStep, Way};

/// Longer lists of places are given up.
const MOST: usize = 512;

/// How a value is compared with constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By a function.
    Function(Operation),
    /// By an operator of a condition.
    Condition,
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
    /// What is built of their texts first.
    pub way: Way,
    /// How they are compared.
    pub by: By,
    /// With what.
    pub with: Value,
}

/// What the values of a request are compared with. Places of the new and of the former object are
/// not distinguished.
#[derive(Clone, Debug, Default)]
pub struct Comparisons {
    /// The comparisons with constants.
    pub tests: Vec<Test>,
    /// Places whose values are compared with each other.
    pub related: Vec<Vec<Vec<Step>>>,
    /// Places whose values operators of conditions compare with each other, as numbers where they
    /// are; whether they have an order.
    pub measured: Vec<([Vec<Step>; 2], bool)>,
    /// Constants that may be compared with any value.
    pub anywhere: Vec<Value>,
    /// Whether comparisons exist that are not listed.
    pub is_partial: bool,
    /// Whether something is computed in a way that they do not describe.
    pub is_lost: bool,
    /// Expressions that have no place in the policy, because their texts are put together.
    pub late: Vec<Expr>,
    /// The places whose texts become a part of an expression, in quotes.
    pub quoted: Vec<Vec<Step>>,
    /// The places whose texts become a key in an expression, without quotes.
    pub keys: Vec<Vec<Step>>,
    /// The types that are expected at places.
    pub looked_for: BTreeMap<Vec<Step>, ExpectedType>,
    /// Whether places are not those of the object.
    pub is_moved: bool,
}

/// Deeper patterns are not looked into.
const DEEPEST: usize = 64;

/// The parts of a value.
#[derive(Default)]
struct Parts<'v> {
    places: Vec<(&'v [Step], &'v [TextStep])>,
    /// The objects whose names of fields are among them.
    names: Vec<(&'v [Step], &'v [TextStep])>,
    /// Texts of which the number of parts is among them.
    counts: Vec<(&'v [Step], &'v [TextStep], &'v Str)>,
    constants: Vec<&'v Value>,
    /// Texts, lists and objects of which the length is among them.
    lengths: Vec<(&'v [Step], &'v [TextStep])>,
    /// Whether it is computed, too.
    is_computed: bool,
    /// Whether it is put together of values that may be no lists.
    is_sum: bool,
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
                AbstractValue::At(_, steps) => self.places.push((steps, &[])),
                AbstractValue::Name(steps) => self.names.push((steps, &[])),
                AbstractValue::Made(Origin::At(_, steps), way) => self.places.push((steps, way)),
                AbstractValue::Made(Origin::Name(steps), way) => self.names.push((steps, way)),
                AbstractValue::Count(Origin::At(_, steps) | Origin::Name(steps), way, by) => {
                    self.counts.push((steps, way, by));
                }
                AbstractValue::Sum(items) => {
                    self.is_sum = true;
                    self.add(items);
                }
                AbstractValue::Split(..) => self.is_sum = true,
                AbstractValue::Length(of) => self.length(of),
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

impl<'v> Parts<'v> {
    /// The length of values. How many items a list has that is put together follows from what is
    /// put in.
    fn length(&mut self, of: &'v ValueSet) {
        for one in of {
            match one {
                AbstractValue::At(_, steps) | AbstractValue::Name(steps) => self.lengths.push((steps, &[])),
                AbstractValue::Made(Origin::At(_, steps) | Origin::Name(steps), way) => {
                    self.lengths.push((steps, way));
                }
                // Names of fields are counted one by one.
                AbstractValue::List(of) if of.iter().any(|one| matches!(one, AbstractValue::Name(_))) => {
                    self.is_computed = true;
                }
                AbstractValue::List(_) | AbstractValue::Map(_) | AbstractValue::Constant(_) => {}
                AbstractValue::Sum(of) => self.length(of),
                _ => self.is_computed = true,
            }
        }
    }
}

impl Comparisons {
    /// Two values are compared with each other.
    pub fn compared(&mut self, one: &ValueSet, other: &ValueSet, by: By) {
        let (one, other) = (Parts::of(one), Parts::of(other));
        for (values, constants) in [(&one, &other), (&other, &one)] {
            for constant in &constants.constants {
                for (place, way) in values.places.iter().chain(&values.names) {
                    self.is_lost |= !is_described(by, way, constant);
                    self.at_way(place, way, by, constant);
                }
                for (place, way, text) in &values.counts {
                    self.counted((place, way, text), by, constant);
                }
                for (place, way) in &values.lengths {
                    self.at_way(place, way, By::Function(Operation::Size), constant);
                }
                if values.is_computed {
                    self.anywhere.push((*constant).clone());
                }
            }
            // Whether something is an item of lists is a statement about each of them.
            self.is_lost |= values.is_sum && !(by == By::Function(Operation::Member));
        }
        // Fields that are compared with names of fields are none of their relations.
        let is_computed = |parts: &Parts<'_>| {
            let is_number = !parts.counts.is_empty() || !parts.lengths.is_empty();
            parts.is_computed || !parts.names.is_empty() || is_number
        };
        if by == By::Membership {
            // A value that is the text of a list is one for these operators.
            for text in one.constants.iter().filter_map(|constant| constant.as_str()) {
                let list = Value::from(json(&Value::list(vec![Value::from(text)])));
                other.places.iter().for_each(|(place, way)| self.at_way(place, way, by, &list));
            }
        }
        let is_variable = |parts: &Parts<'_>| !parts.places.is_empty() || is_computed(parts);
        if is_variable(&one) && is_variable(&other) {
            if is_computed(&one) || is_computed(&other) {
                self.is_partial = true;
            }
            let places = || one.places.iter().chain(&other.places);
            self.is_lost |= places().any(|(_, way)| !way.is_empty());
            if by == By::Membership {
                let star = Value::from("*");
                places().for_each(|(place, way)| self.at_way(place, way, by, &star));
            }
            let group: Vec<Vec<Step>> = places().map(|(place, _)| plain(place).to_vec()).collect();
            if !self.related.contains(&group) {
                self.related.push(group);
            }
        }
        self.is_partial |= self.related.len() > MOST || self.anywhere.len() > MOST;
    }

    /// The number of parts of a text is compared with a constant: whether there is one at the
    /// positions around it says all.
    fn counted(&mut self, (place, way, by): (&[Step], &[TextStep], &Str), with: By, constant: &Value) {
        let number = match constant {
            Value::Int(n) => usize::try_from(*n).ok(),
            Value::Float(n) if n.fract() == 0.0 && (0.0..64.0).contains(n) => Some(*n as usize),
            _ => None,
        };
        let Some(number) = number.filter(|n| *n < MAX_PARTS_OF_TEXT && with != By::Membership) else {
            self.is_lost = true;
            return;
        };
        for at in number.saturating_sub(1)..=number + 1 {
            let mut way = way.to_vec();
            way.push(TextStep::Part { by: by.clone(), at });
            self.at_way(place, &way, By::Function(Operation::Equal), &Value::from(""));
        }
    }

    /// The values at a place are compared with a constant.
    pub fn at(&mut self, place: &[Step], by: By, with: &Value) {
        self.at_way(place, &[], by, with);
    }

    /// The texts that are built of the values at a place are compared with a constant.
    pub fn at_way(&mut self, place: &[Step], way: &[TextStep], by: By, with: &Value) {
        let place = &*plain(place);
        let is_known =
            |test: &Test| test.place == place && test.way == way && test.by == by && test.with == *with;
        if self.tests.iter().any(is_known) {
            return;
        }
        match way {
            [] => self.look_for_constant(&mut place.to_vec(), by, with, 0),
            // Only a text is taken apart.
            _ => self.look_for_constant(&mut place.to_vec(), By::Selector, &Value::from("a"), 0),
        }
        self.tests.push(Test { place: place.to_vec(), way: way.to_vec(), by, with: with.clone() });
        self.is_partial |= self.tests.len() > MOST;
    }

    /// Notes with which constants values are compared, those of a pattern with its leaves.
    fn look_for_constant(&mut self, place: &mut Vec<Step>, by: By, with: &Value, depth: usize) {
        match with {
            _ if depth > DEEPEST => {}
            Value::Map(map) if by == By::Pattern => {
                for (key, below) in map.iter() {
                    place.push(Step::Key(Anchor::parse(key).1.into()));
                    self.look_for_constant(place, by, below, depth + 1);
                    place.pop();
                }
            }
            Value::List(items) if by == By::Pattern => {
                place.push(Step::Items);
                items.iter().for_each(|item| self.look_for_constant(place, by, item, depth + 1));
                place.pop();
            }
            constant => {
                let found = ExpectedType::of_constant(by, constant);
                if found != ExpectedType::NONE {
                    self.looked_for.entry(place.clone()).or_default().merge(found);
                }
            }
        }
    }

    /// An operator compares two values that are no constants; `has_order`: it says which one is
    /// more.
    pub fn measured(&mut self, one: &ValueSet, other: &ValueSet, has_order: bool) {
        let (one, other) = (Parts::of(one), Parts::of(other));
        for (place, _) in &one.places {
            for (with, _) in &other.places {
                let pair = ([plain(place).to_vec(), plain(with).to_vec()], has_order);
                if !self.measured.contains(&pair) {
                    self.measured.push(pair);
                }
            }
        }
        self.is_partial |= self.measured.len() > MOST;
    }

    /// A value is used in a way that is not followed.
    pub fn anywhere(&mut self, values: &ValueSet) {
        self.anywhere.extend(Parts::of(values).constants.into_iter().cloned());
    }

    /// Adds those of another part of a policy.
    pub fn merge(&mut self, other: &Comparisons) {
        other.tests.iter().for_each(|test| self.at_way(&test.place, &test.way, test.by, &test.with));
        self.related.extend(other.related.iter().cloned());
        self.measured.extend(other.measured.iter().cloned());
        self.anywhere.extend(other.anywhere.iter().cloned());
        self.is_partial |= other.is_partial;
        self.is_lost |= other.is_lost;
        self.is_moved |= other.is_moved;
        self.late.extend(other.late.iter().cloned());
        self.quoted.extend(other.quoted.iter().cloned());
        self.keys.extend(other.keys.iter().cloned());
        for (place, what) in &other.looked_for {
            self.looked_for.entry(place.clone()).or_default().merge(*what);
        }
    }
}

/// Whether languages of texts and cuts of numbers say how a value, or the text that is built of it,
/// compares with a constant.
fn is_described(by: By, way: &[TextStep], constant: &Value) -> bool {
    use Operation::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Member, Unequal};
    match by {
        // Texts have an order that is none of numbers.
        By::Function(Less | LessOrEqual | Greater | GreaterOrEqual) => {
            way.is_empty() && constant.as_str().is_none_or(is_amount)
        }
        By::Function(Equal | Unequal | Member) => true,
        By::Function(by) if by.searches_text() || by.searches_pattern() => true,
        // These take texts for numbers where they can.
        By::Condition | By::Membership => way.is_empty() || is_plain(constant),
        By::Function(_) | By::Pattern | By::Selector => way.is_empty(),
    }
}

/// Whether a constant is a text that operators compare as one, or a list of these.
fn is_plain(constant: &Value) -> bool {
    match constant {
        Value::Str(text) => {
            !is_amount(text) && !text.split('-').any(is_amount) && !matches!(&**text, "true" | "false")
        }
        Value::List(items) => items.iter().all(is_plain),
        _ => false,
    }
}

fn is_amount(text: &str) -> bool {
    !text.is_empty()
        && (Quantity::parse(text).is_some()
            || duration::parse_ok(text).is_some()
            || text.parse::<f64>().is_ok())
}
