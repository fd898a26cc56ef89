//! The root of variables: `request` and values that were put in.

use std::sync::OnceLock;

use crate::value::Value;

/// A root, in which every number becomes a double when somebody first asks, where variables see doubles.
#[derive(Clone, Debug)]
pub struct Root {
    given: Value,
    floating: Option<OnceLock<Value>>,
}

impl Root {
    /// Of data whose numbers are doubles already, or stay as they are.
    pub fn of(given: Value) -> Root {
        Root { given, floating: None }
    }

    /// Of data whose numbers become doubles if `doubles`.
    pub fn new(given: Value, doubles: bool) -> Root {
        Root { given, floating: doubles.then(OnceLock::new) }
    }

    /// The root.
    pub fn get(&self) -> &Value {
        match &self.floating {
            None => &self.given,
            Some(floating) => floating.get_or_init(|| self.given.with_float_numbers()),
        }
    }
}
