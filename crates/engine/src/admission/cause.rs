//! Causes of a denial, as `status.details.causes` of an answer has them.

use ephor_value::{Map, Str, Value, footprint};

/// A cause. What is empty is not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// The kind of error in a word.
    pub reason: Str,
    /// What is wrong.
    pub message: String,
    /// The path of the field that it is about.
    pub field: Str,
}

impl Cause {
    /// Reads a cause of an answer.
    pub fn of(v: &Value) -> Cause {
        let text = |key: &str| v.text_at(&[key]);
        Cause { reason: text("reason").into(), message: text("message").into(), field: text("field").into() }
    }

    /// Copies what the cause shares with others, and takes spare room from its text.
    pub(super) fn detach(&mut self) {
        footprint::detach(&mut self.reason);
        footprint::detach(&mut self.field);
        footprint::fit_text(&mut self.message);
    }

    /// How many bytes it keeps alive on the heap, once it is detached.
    pub(super) fn footprint(&self) -> usize {
        footprint::of_own(&self.reason) + footprint::of_own(&self.field) + self.message.capacity()
    }

    /// The cause as JSON.
    pub fn to_value(&self) -> Value {
        let all = [("reason", &*self.reason), ("message", &*self.message), ("field", &*self.field)];
        let given = all.into_iter().filter(|(_, text)| !text.is_empty());
        Value::Map(given.map(|(key, text)| (Str::from(key), Value::from(text))).collect::<Map>())
    }
}

impl From<String> for Cause {
    /// A cause that has only a message.
    fn from(message: String) -> Cause {
        Cause { message, ..Cause::default() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn empty_members_are_not_sent() {
        let shown = |text: &str| {
            let v = ephor_document::json::parse(text).unwrap();
            ephor_value::print::json(&Cause::of(&v).to_value())
        };
        let whole = r#"{"field":"spec.x","message":"bad","reason":"FieldValueInvalid"}"#;
        assert_eq!(shown(whole), whole);
        assert_eq!(shown(r#"{"message":"","field":"f","other":1}"#), r#"{"field":"f"}"#);
        assert_eq!(shown("null"), "{}");
    }
}
