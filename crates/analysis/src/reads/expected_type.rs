//! The types that rules expect of a field: what the field has to be for a rule to continue.

use std::borrow::Cow;

use ephor_functions::registry::Operation;
use ephor_value::quantity::Quantity;
use ephor_value::{Value, duration};

use crate::reads::comparisons::By;
use crate::reads::footprint::Step;

/// The types that are expected at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpectedType {
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

pub(crate) const NONE: ExpectedType = ExpectedType {
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

impl ExpectedType {
    /// Nothing.
    pub const NONE: ExpectedType = NONE;
    /// A list.
    pub const LIST: ExpectedType = ExpectedType { list: true, ..NONE };
    /// An object.
    pub const MAP: ExpectedType = ExpectedType { map: true, ..NONE };
    /// A scalar.
    pub const SCALAR: ExpectedType = ExpectedType { scalar: true, ..NONE };
    /// A text.
    pub const TEXT: ExpectedType = ExpectedType { text: true, ..NONE };
    /// A text, or a list of these.
    pub const TEXTS: ExpectedType = ExpectedType { texts: true, ..NONE };
    /// Something that has a text.
    pub const PRINTED: ExpectedType = ExpectedType { printed: true, ..NONE };
    /// A scalar, or a list of these.
    pub const SCALARS: ExpectedType = ExpectedType { scalars: true, ..NONE };
    /// A list or an object.
    pub const MEMBERS: ExpectedType = ExpectedType { members: true, ..NONE };
    /// Whether something has members.
    pub const EMPTY: ExpectedType = ExpectedType { empty: true, ..NONE };
    /// Any type.
    pub const ANY: ExpectedType = ExpectedType { any: true, ..NONE };

    /// Adds what another use expects.
    pub fn merge(&mut self, other: ExpectedType) {
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
    pub fn of_constant(by: By, with: &Value) -> ExpectedType {
        const ALL: [bool; 3] = [true; 3];
        let is_of_texts = match by {
            By::Selector | By::Function(Operation::Duration) => true,
            By::Function(by) => by.searches_text() || by.searches_pattern(),
            By::Condition | By::Membership | By::Pattern => false,
        };
        let constants = match with {
            // Values of any type are tested for being empty.
            Value::Bool(false) if by == By::Function(Operation::Unequal) => [false; 3],
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
            Value::List(items) => items
                .iter()
                .map(|item| ExpectedType::of_constant(by, item).constants)
                .fold([false; 3], either),
            Value::Null | Value::Map(_) => [false; 3],
            // It was read out of a text.
            Value::Duration(_) | Value::Timestamp(_) => TEXTS,
            _ => ALL,
        };
        ExpectedType { constants, ..NONE }
    }

    /// The same without what is known of constants alone.
    pub fn without_constants(self) -> ExpectedType {
        ExpectedType { constants: [false; 3], ..self }
    }

    /// What is expected of the items of a list that is put together, where this is expected of
    /// the list.
    pub fn of_items(self) -> ExpectedType {
        ExpectedType {
            scalar: self.scalar || self.scalars,
            text: self.text || self.texts,
            any: self.any || self.members,
            ..NONE
        }
    }
}

pub(crate) const TEXTS: [bool; 3] = [true, false, false];

pub(crate) fn either(one: [bool; 3], other: [bool; 3]) -> [bool; 3] {
    [0, 1, 2].map(|at| one[at] || other[at])
}

/// What is compared with a text is one, or a number or boolean that has this text.
pub(crate) fn of_text(text: &str) -> [bool; 3] {
    // `5m` is a duration.
    let is_number = |text: &str| {
        text.parse::<f64>().is_ok() || (Quantity::parse(text).is_some() && duration::parse_ok(text).is_none())
    };
    let is_range = text.split('-').all(|part| is_number(part.trim_start_matches('!')));
    [true, is_number(text) || is_range, matches!(text, "true" | "false")]
}

/// The last step to a value that is taken for an item of a list of one, or for one of a list of
/// lists, because it is none.
pub(crate) const ITSELF: &str = "\u{e001}";

pub(crate) fn is_itself(step: &Step) -> bool {
    matches!(step, Step::Key(key) if **key == *ITSELF)
}

pub(crate) fn has_itself(steps: &[Step]) -> bool {
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
