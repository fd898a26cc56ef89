//! Which types rules look for in values.
//!
//! In: uses of abstract values. Out: [`LookedFor`] at each place: whether a rule takes what is
//! there for a list, an object or a scalar. Where no schema says what a field is, it is what rules
//! look for. A use that takes another type, too, without looking for it, says nothing: a loop of
//! `foreach` takes what is no list for a list of one, and lists are taken apart whose items are
//! lists or not. A use of which it is not known what it looks for is one that may look for any
//! type.

use std::borrow::Cow;

use ephor_value::quantity::Quantity;
use ephor_value::{Value, duration};

use super::Step;
use super::seen::{AbstractValue, Reader, ValueSet};
use super::tests::By;

/// The types that are looked for at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookedFor {
    /// A list.
    pub list: bool,
    /// An object.
    pub map: bool,
    /// A text, a number or a boolean.
    pub scalar: bool,
    /// A text.
    pub text: bool,
    /// A text or a list of texts, whichever it is elsewhere.
    pub texts: bool,
    /// Something that has a text: whichever scalar it is elsewhere.
    pub printed: bool,
    /// A scalar or a list of these, whichever it is elsewhere.
    pub scalars: bool,
    /// Something that has members: a list or an object, whichever it is elsewhere.
    pub members: bool,
    /// A list or an object without members.
    pub empty: bool,
    /// Whatever is there.
    pub any: bool,
    /// Of the constants that it is compared with, whether some are texts, numbers and booleans.
    pub constants: [bool; 3],
}

const NONE: LookedFor = LookedFor {
    list: false,
    map: false,
    scalar: false,
    text: false,
    texts: false,
    printed: false,
    scalars: false,
    members: false,
    empty: false,
    any: false,
    constants: [false; 3],
};

impl LookedFor {
    /// Nothing.
    pub const NONE: LookedFor = NONE;
    /// A list.
    pub const LIST: LookedFor = LookedFor { list: true, ..NONE };
    /// An object.
    pub const MAP: LookedFor = LookedFor { map: true, ..NONE };
    /// A scalar.
    pub const SCALAR: LookedFor = LookedFor { scalar: true, ..NONE };
    /// A text.
    pub const TEXT: LookedFor = LookedFor { text: true, ..NONE };
    /// A text, or a list of these.
    pub const TEXTS: LookedFor = LookedFor { texts: true, ..NONE };
    /// Something that has a text.
    pub const PRINTED: LookedFor = LookedFor { printed: true, ..NONE };
    /// A scalar, or a list of these.
    pub const SCALARS: LookedFor = LookedFor { scalars: true, ..NONE };
    /// A list or an object.
    pub const MEMBERS: LookedFor = LookedFor { members: true, ..NONE };
    /// Whether something has members.
    pub const EMPTY: LookedFor = LookedFor { empty: true, ..NONE };
    /// Any type.
    pub const ANY: LookedFor = LookedFor { any: true, ..NONE };

    /// Adds what another use looks for.
    pub fn merge(&mut self, other: LookedFor) {
        self.list |= other.list;
        self.map |= other.map;
        self.scalar |= other.scalar;
        self.text |= other.text;
        self.texts |= other.texts;
        self.printed |= other.printed;
        self.scalars |= other.scalars;
        self.members |= other.members;
        self.empty |= other.empty;
        self.any |= other.any;
        self.constants = either(self.constants, other.constants);
    }

    /// What is compared with a constant, whatever type it has: a scalar like this one.
    pub fn of_constant(by: By, with: &Value) -> LookedFor {
        const ALL: [bool; 3] = [true; 3];
        let is_of_texts = matches!(
            by,
            By::Selector
                | By::Function(
                    "contains"
                        | "startsWith"
                        | "endsWith"
                        | "starts_with"
                        | "ends_with"
                        | "matches"
                        | "regex_match"
                        | "duration"
                )
        );
        let constants = match with {
            // Values of any type are tested for being empty.
            Value::Bool(false) if by == By::Function("_!=_") => [false; 3],
            Value::Str(text) if text.is_empty() => [false; 3],
            Value::Str(_) if is_of_texts => TEXTS,
            Value::Str(text) if by == By::Pattern => {
                let parts =
                    text.split(['|', '&']).map(|part| part.trim().trim_start_matches(['<', '>', '=', '!']));
                let of = |part: &str| {
                    if part.chars().all(|c| matches!(c, '*' | '?')) { ALL } else { of_text(part.trim()) }
                };
                parts.map(of).fold([false; 3], either)
            }
            Value::Str(text) => of_text(text),
            Value::Int(_) | Value::UInt(_) | Value::Float(_) => [false, true, false],
            Value::Bool(_) => [false, false, true],
            Value::List(items) => {
                items.iter().map(|item| LookedFor::of_constant(by, item).constants).fold([false; 3], either)
            }
            Value::Null | Value::Map(_) => [false; 3],
            // It was read out of a text.
            Value::Duration(_) | Value::Timestamp(_) => TEXTS,
            _ => ALL,
        };
        LookedFor { constants, ..NONE }
    }

    /// The same without what is known of constants alone.
    pub fn without_constants(self) -> LookedFor {
        LookedFor { constants: [false; 3], ..self }
    }

    /// What is looked for in the items of a list that is put together, where this is looked for in
    /// the list.
    pub fn of_items(self) -> LookedFor {
        LookedFor {
            scalar: self.scalar || self.scalars,
            text: self.text || self.texts,
            any: self.any || self.members,
            ..NONE
        }
    }
}

const TEXTS: [bool; 3] = [true, false, false];

fn either(one: [bool; 3], other: [bool; 3]) -> [bool; 3] {
    [0, 1, 2].map(|at| one[at] || other[at])
}

/// What is compared with a text is one, or a number or boolean that has this text.
fn of_text(text: &str) -> [bool; 3] {
    // `5m` is a duration.
    let is_number = |text: &str| {
        text.parse::<f64>().is_ok() || (Quantity::parse(text).is_some() && duration::parse_ok(text).is_none())
    };
    let is_range = text.split('-').all(|part| is_number(part.trim_start_matches('!')));
    [true, is_number(text) || is_range, matches!(text, "true" | "false")]
}

/// The last step to a value that is taken for an item of a list of one, or for one of a list of
/// lists, because it is none.
const ITSELF: &str = "\u{e001}";

fn is_itself(step: &Step) -> bool {
    matches!(step, Step::Key(key) if **key == *ITSELF)
}

fn has_itself(steps: &[Step]) -> bool {
    steps.iter().any(is_itself)
}

/// The way to a value that is taken for what nothing says that it is.
pub fn itself(steps: &[Step]) -> Vec<Step> {
    let mut steps = steps.to_vec();
    steps.push(Step::Key(ITSELF.into()));
    steps
}

/// The place at the end of a way.
pub fn plain(steps: &[Step]) -> Cow<'_, [Step]> {
    match has_itself(steps) {
        true => Cow::Owned(steps.iter().filter(|step| !is_itself(step)).cloned().collect()),
        false => Cow::Borrowed(steps),
    }
}

impl Reader {
    /// Notes what is looked for in values.
    pub fn look_for(&mut self, values: &ValueSet, what: LookedFor) {
        let Some(tests) = &mut self.tests else { return };
        for one in values {
            match one {
                AbstractValue::At(_, steps) if !has_itself(steps) => {
                    tests.looked_for.entry(steps.clone()).or_default().merge(what);
                }
                AbstractValue::Sum(lists) => {
                    for one in lists {
                        if let AbstractValue::At(_, steps) = one
                            && !has_itself(steps)
                        {
                            tests.looked_for.entry(steps.clone()).or_default().merge(what);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes what is looked for in the items of lists that are put together.
    pub fn look_for_in_items(&mut self, values: &ValueSet, what: LookedFor) {
        for one in values {
            if let AbstractValue::List(items) = one {
                self.look_for(items, what);
            }
        }
    }
}
