//! The root of variables: `request` and values that were put in.

use std::sync::OnceLock;

use ephor_value::Value;

/// Which numbers variables see as doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubles {
    /// All.
    All,
    /// Those of the former object.
    OldObject,
}

/// A root, in which numbers become doubles on first use, where variables see doubles.
#[derive(Clone, Debug)]
pub struct Root {
    given: Value,
    shown: Option<(Doubles, OnceLock<Value>)>,
}

impl Root {
    /// Of data whose numbers are doubles already, or stay as they are.
    pub fn of(given: Value) -> Root {
        Root { given, shown: None }
    }

    /// Of data whose numbers become doubles if `doubles`.
    pub fn new(given: Value, doubles: bool) -> Root {
        Root { given, shown: doubles.then(|| (Doubles::All, OnceLock::new())) }
    }

    /// The root from the second matching rule of a policy on: the object has its integers, the
    /// former one doubles still.
    pub fn later(given: Value) -> Root {
        Root { given, shown: Some((Doubles::OldObject, OnceLock::new())) }
    }

    /// The root.
    pub fn get(&self) -> &Value {
        match &self.shown {
            None => &self.given,
            Some((Doubles::All, shown)) => shown.get_or_init(|| self.given.with_float_numbers()),
            Some((Doubles::OldObject, shown)) => shown.get_or_init(|| with_double_old_object(&self.given)),
        }
    }
}

fn with_double_old_object(root: &Value) -> Value {
    let mut root = root.clone();
    if let Value::Map(m) = &mut root
        && let Some(Value::Map(request)) = m.get_mut("request")
        && let Some(old) = request.get("oldObject").filter(|old| !old.is_null())
    {
        let old = old.with_float_numbers();
        request.insert("oldObject", old);
    }
    root
}
