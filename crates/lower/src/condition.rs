//! Condition blocks → conditions of the IR.

use std::sync::Arc;

use ephor_ir::{Condition, Conditions, Operator, Origin};
use ephor_value::{Str, Value};

use super::template;

/// Lowers `preconditions` or `deny.conditions`: an object of `any` and `all`, or a flat list.
/// `None` when there are no conditions at all.
pub fn conditions(v: Option<&Value>, names: &Arc<[Str]>, origin: Origin) -> Option<Conditions> {
    match v? {
        Value::List(items) => {
            Some(Conditions { any: None, all: list(items, names, &origin), flat: true, origin })
        }
        Value::Map(m) => {
            let part = |key: &str| {
                let items = m.get(key).and_then(Value::as_list)?;
                Some(list(items, names, &origin.key(key)))
            };
            Some(Conditions { any: part("any"), all: part("all").unwrap_or_default(), flat: false, origin })
        }
        _ => None,
    }
}

fn list(items: &[Value], names: &Arc<[Str]>, origin: &Origin) -> Box<[Condition]> {
    items.iter().enumerate().map(|(i, c)| condition(c, names, origin.index(i))).collect()
}

fn condition(c: &Value, names: &Arc<[Str]>, origin: Origin) -> Condition {
    let side = |key| template::document(&bare_number(c.get(key)), names);
    let operator = Operator::parse(c.text_at(&["operator"]));
    let value = side("value");
    let message = c.text_at(&["message"]).into();
    Condition { origin, key: side("key"), operator, value, prepared: None, message }.with_prepared()
}

/// A side that is nothing but a number is a double, whatever it looks like.
fn bare_number(v: Option<&Value>) -> Value {
    match v {
        Some(v) => v.as_number().map_or_else(|| v.clone(), Value::Float),
        None => Value::Null,
    }
}
