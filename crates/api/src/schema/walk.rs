//! Where a walk over a document is, and what it found.

use super::problem::Problem;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, dotted};

/// The state of one walk.
#[derive(Default)]
pub struct Walk {
    /// Where the walk is.
    pub path: Path,
    /// What the schema refuses.
    pub problems: Vec<Problem>,
    /// What only the decoding after the schema refuses.
    pub late: Vec<Problem>,
}

impl Walk {
    /// Runs `step` one key deeper.
    pub fn in_key<T>(&mut self, key: &str, step: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(PathPart::Key(key.into()));
        let out = step(self);
        self.path.pop();
        out
    }

    /// Runs `step` one item deeper.
    pub fn in_item<T>(&mut self, index: usize, step: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(PathPart::Index(index));
        let out = step(self);
        self.path.pop();
        out
    }

    /// Notes a problem at the place of the walk, behind the place's name.
    pub fn refuse(&mut self, detail: impl AsRef<str>) {
        let text = format!("{}: {}", dotted(&self.path), detail.as_ref());
        self.problems.push(Problem { path: self.path.clone(), text, is_type: false });
    }

    /// Notes a problem of the decoding after the schema.
    pub fn refuse_late(&mut self, text: String) {
        self.late.push(Problem { path: self.path.clone(), text, is_type: false });
    }
}

/// The name of a value's type in schema problems.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Int(_) | Value::UInt(_) => "integer",
        Value::Float(_) => "number",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
        other => other.json_type(),
    }
}
