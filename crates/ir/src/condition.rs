//! Conditions: a key, an operator, a value; combined by `any` and `all`.
//!
//! The right side is prepared when it is constant: numbers and durations are read, wildcards
//! compiled, plain texts hashed.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use ephor_value::duration;
use ephor_value::number::parse_float;
use ephor_value::print::display;
use ephor_value::quantity::Quantity;
use ephor_value::range::Range;
use ephor_value::semver::Version;
use ephor_value::wildcard::Wildcard;
use ephor_value::{Str, Value};

use super::{Origin, Template};

/// Comparison operators of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operator {
    /// `Equal`, `Equals`
    Equals,
    /// `NotEqual`, `NotEquals`
    NotEquals,
    /// `In` (deprecated)
    In,
    /// `NotIn` (deprecated)
    NotIn,
    /// `AnyIn`
    AnyIn,
    /// `AllIn`
    AllIn,
    /// `AnyNotIn`
    AnyNotIn,
    /// `AllNotIn`
    AllNotIn,
    /// `GreaterThan` and its like.
    Order(Ordering),
    /// `DurationGreaterThan` and its like (deprecated).
    DurationOrder(Ordering),
    /// A numeric or duration operator in wrong case: always false.
    Never,
}

/// Ordering operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ordering {
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
}

impl Ordering {
    /// The operator for exchanged sides.
    #[must_use]
    pub fn flipped(self) -> Ordering {
        match self {
            Ordering::Gt => Ordering::Lt,
            Ordering::Ge => Ordering::Le,
            Ordering::Lt => Ordering::Gt,
            Ordering::Le => Ordering::Ge,
        }
    }

    /// Whether a comparison with this result satisfies the operator.
    pub fn holds(self, found: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering as O;
        matches!(
            (self, found),
            (Ordering::Gt, Some(O::Greater))
                | (Ordering::Ge, Some(O::Greater | O::Equal))
                | (Ordering::Lt, Some(O::Less))
                | (Ordering::Le, Some(O::Less | O::Equal))
        )
    }
}

/// The operators by name, as policies write them.
pub const OPERATORS: &[(&str, Operator)] = &[
    ("Equal", Operator::Equals),
    ("Equals", Operator::Equals),
    ("NotEqual", Operator::NotEquals),
    ("NotEquals", Operator::NotEquals),
    ("In", Operator::In),
    ("AnyIn", Operator::AnyIn),
    ("AllIn", Operator::AllIn),
    ("NotIn", Operator::NotIn),
    ("AnyNotIn", Operator::AnyNotIn),
    ("AllNotIn", Operator::AllNotIn),
    ("GreaterThan", Operator::Order(Ordering::Gt)),
    ("GreaterThanOrEquals", Operator::Order(Ordering::Ge)),
    ("LessThan", Operator::Order(Ordering::Lt)),
    ("LessThanOrEquals", Operator::Order(Ordering::Le)),
    ("DurationGreaterThan", Operator::DurationOrder(Ordering::Gt)),
    ("DurationGreaterThanOrEquals", Operator::DurationOrder(Ordering::Ge)),
    ("DurationLessThan", Operator::DurationOrder(Ordering::Lt)),
    ("DurationLessThanOrEquals", Operator::DurationOrder(Ordering::Le)),
];

impl Operator {
    /// Whether it compares the items of one side with those of the other.
    pub fn is_membership(self) -> bool {
        match self {
            Operator::In
            | Operator::NotIn
            | Operator::AnyIn
            | Operator::AllIn
            | Operator::AnyNotIn
            | Operator::AllNotIn => true,
            Operator::Equals
            | Operator::NotEquals
            | Operator::Order(_)
            | Operator::DurationOrder(_)
            | Operator::Never => false,
        }
    }

    /// The operator's name; of several that mean the same, the first of the table.
    pub fn name(self) -> &'static str {
        match self {
            Operator::Never => "never",
            Operator::Order(Ordering::Gt) => "GreaterThan",
            op => OPERATORS.iter().find(|(_, o)| *o == op).map_or("?", |(name, _)| *name),
        }
    }

    /// The operator of this name. Case does not count, but the numeric families in wrong case are
    /// always false (Kyverno 1.19.1 compares case-sensitively a second time).
    pub fn parse(name: &str) -> Option<Operator> {
        let exact = OPERATORS.iter().find(|(n, _)| *n == name);
        if let Some((_, op)) = exact {
            return Some(*op);
        }
        let (_, op) = OPERATORS.iter().find(|(n, _)| n.eq_ignore_ascii_case(name))?;
        Some(match op {
            Operator::Order(_) | Operator::DurationOrder(_) => Operator::Never,
            op => *op,
        })
    }
}

/// Conditions of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Conditions {
    /// Where they are written.
    pub origin: Origin,
    /// At least one must hold; `None` = not given, an empty list never holds.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub any: Option<Box<[Condition]>>,
    /// All must hold.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub all: Box<[Condition]>,
    /// The old form, a flat list: its messages are joined differently.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub flat: bool,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, remote = "Self")]
pub struct Condition {
    /// Where it is written.
    pub origin: Origin,
    /// The left side.
    pub key: Template,
    /// The operator; `None` = no operator of that name.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub operator: Option<Operator>,
    /// The right side.
    pub value: Template,
    /// The right side prepared, when it is constant.
    #[serde(skip)]
    pub prepared: Option<Prepared>,
    /// The message when the condition decides.
    pub message: Str,
}

impl Condition {
    /// With the right side prepared, when it is constant.
    #[must_use]
    pub fn with_prepared(self) -> Condition {
        let prepared = self.operator.zip(self.value.as_const()).map(|(op, v)| Prepared::new(op, v.clone()));
        Condition { prepared, ..self }
    }
}

super::nested::node!(Condition, 64, |c: Condition| Ok::<_, String>(c.with_prepared()));

/// A right side in every form that operators read.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The value.
    pub value: Value,
    /// A string's forms.
    pub text: Option<TextForms>,
    /// The items of a list, or of a string that is a JSON list of strings, as display texts.
    pub items: Option<Items>,
}

/// Display texts of list items.
#[derive(Clone, Debug, Default)]
pub struct Items {
    /// All of them, in order.
    pub all: Box<[Wildcard]>,
    /// Those without wildcards, hashed; empty for short lists.
    pub exact: HashSet<Str>,
    /// Positions of those with wildcards.
    pub wild: Box<[u32]>,
    /// Whether every item is a string.
    pub strings_only: bool,
}

/// What a string can be read as.
#[derive(Clone, Debug)]
pub struct TextForms {
    /// As a wildcard pattern.
    pub wildcard: Wildcard,
    /// As a duration in nanoseconds; not the bare `0`.
    pub duration: Option<i64>,
    /// As a duration, `0` too.
    pub any_duration: Option<i64>,
    /// As a quantity.
    pub quantity: Option<Quantity>,
    /// As a double.
    pub float: Option<f64>,
    /// As a semantic version.
    pub version: Option<Version>,
    /// As a range.
    pub range: Option<Range>,
    /// Whether it is a JSON document at all.
    pub json: bool,
}

/// What was prepared follows from the value and the operator of the condition.
impl PartialEq for Prepared {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Prepared {}

impl Hash for Prepared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

/// Lists longer than this are hashed.
const HASH_FROM: usize = 8;

impl Items {
    /// Prepares the items of a list.
    pub fn new(items: &[Value]) -> Items {
        let strings_only = items.iter().all(|v| matches!(v, Value::Str(_)));
        let all: Box<[Wildcard]> = items
            .iter()
            .map(|v| match v {
                Value::Str(s) => Wildcard::new(s.clone()),
                v => Wildcard::new(display(v)),
            })
            .collect();
        let mut exact = HashSet::new();
        let mut wild = Vec::new();
        if all.len() > HASH_FROM {
            for (i, w) in all.iter().enumerate() {
                if w.is_wild() {
                    wild.push(u32::try_from(i).unwrap_or(u32::MAX));
                } else {
                    exact.insert(w.pattern().clone());
                }
            }
        }
        Items { all, exact, wild: wild.into(), strings_only }
    }
}

impl Prepared {
    /// Prepares `value` for `operator`.
    pub fn new(operator: Operator, value: Value) -> Prepared {
        let membership = operator.is_membership();
        let ordering = matches!(operator, Operator::Order(_) | Operator::DurationOrder(_));
        let mut items = None;
        let text = match &value {
            Value::List(l) if membership => {
                items = Some(Items::new(l));
                None
            }
            Value::Str(s) => {
                let any_duration = if membership { None } else { duration::parse_ok(s) };
                let mut json = false;
                if membership {
                    match ephor_document::decode_json(s) {
                        Ok(Value::List(l)) => {
                            json = true;
                            if l.iter().all(|v| matches!(v, Value::Str(_))) {
                                items = Some(Items::new(&l));
                            }
                        }
                        Ok(Value::Null) => {
                            json = true;
                            items = Some(Items { strings_only: true, ..Items::default() });
                        }
                        Ok(_) => json = true,
                        Err(_) => {}
                    }
                }
                Some(TextForms {
                    wildcard: Wildcard::new(s.clone()),
                    duration: any_duration.filter(|_| &**s != "0"),
                    any_duration,
                    quantity: if membership { None } else { Quantity::parse(s) },
                    float: if membership { None } else { parse_float(s) },
                    version: if ordering { Version::parse(s).ok() } else { None },
                    range: if membership { Range::parse(s) } else { None },
                    json,
                })
            }
            _ => None,
        };
        Prepared { value, text, items }
    }
}
