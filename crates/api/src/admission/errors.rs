//! What is wrong with an object, field by field, in the API's words.

use ephor_value::print::json;
use ephor_value::quote::quote;
use ephor_value::release::Release;
use ephor_value::{Map, Str, Value};

/// Why the API refuses an object.
#[derive(Clone, Debug, Default)]
pub struct Refusal {
    /// The code of the HTTP answer.
    pub code: u16,
    /// The reason in a word.
    pub reason: &'static str,
    /// The message.
    pub message: String,
    /// What is wrong with which field.
    pub causes: Vec<FieldError>,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Its path.
    pub field: String,
    /// The kind of mistake in a word.
    pub reason: &'static str,
    /// What is wrong.
    pub message: String,
}

/// The [`FieldError::reason`] of a field that is not known.
pub const UNKNOWN_FIELD: &str = "FieldValueUnknown";

/// A path that grows.
#[derive(Clone, Debug)]
pub struct FieldPath(String);

impl FieldPath {
    /// A first step.
    pub fn new(name: &str) -> FieldPath {
        FieldPath(name.into())
    }

    /// A member.
    #[must_use]
    pub fn key(&self, name: &str) -> FieldPath {
        FieldPath(format!("{}.{name}", self.0))
    }

    /// An item.
    #[must_use]
    pub fn index(&self, i: usize) -> FieldPath {
        FieldPath(format!("{}[{i}]", self.0))
    }
}

/// Collects mistakes.
#[derive(Clone, Debug, Default)]
pub struct Errors(pub Vec<FieldError>);

fn describe(value: &Value) -> String {
    match value {
        Value::Str(text) => quote(text),
        other => json(other),
    }
}

impl Errors {
    fn add(&mut self, at: &FieldPath, reason: &'static str, message: String) {
        self.0.push(FieldError { field: at.0.clone(), reason, message });
    }

    /// Something is missing.
    pub fn required(&mut self, at: &FieldPath, detail: &str) {
        let sep = if detail.is_empty() { "" } else { ": " };
        self.add(at, "FieldValueRequired", format!("Required value{sep}{detail}"));
    }

    /// A value cannot be used.
    pub fn invalid(&mut self, at: &FieldPath, value: &Value, detail: &str) {
        self.add(at, "FieldValueInvalid", format!("Invalid value: {}: {detail}", describe(value)));
    }

    /// The same, with the value as it is shown.
    pub fn invalid_as(&mut self, at: &FieldPath, shown: &str, detail: &str) {
        self.add(at, "FieldValueInvalid", format!("Invalid value: {shown}: {detail}"));
    }

    /// There are too many bytes.
    pub fn too_long(&mut self, at: &FieldPath, most: usize) {
        self.add(at, "FieldValueTooLong", format!("Too long: may not be more than {most} bytes"));
    }

    /// A value is none of those that there are.
    pub fn unsupported(&mut self, at: &FieldPath, value: &str, supported: &[&str]) {
        let all: Vec<String> = supported.iter().map(|s| quote(s)).collect();
        let message = format!("Unsupported value: {}: supported values: {}", quote(value), all.join(", "));
        self.add(at, "FieldValueNotSupported", message);
    }

    /// A value is there twice.
    pub fn duplicate(&mut self, at: &FieldPath, value: &str) {
        self.add(at, "FieldValueDuplicate", format!("Duplicate value: {}", quote(value)));
    }

    /// A field may not be there.
    pub fn forbidden(&mut self, at: &FieldPath, detail: &str) {
        self.add(at, "FieldValueForbidden", format!("Forbidden: {detail}"));
    }

    /// Something failed for which the object is not the reason.
    pub fn internal(&mut self, at: &FieldPath, detail: &str) {
        self.add(at, "InternalError", format!("Internal error: {detail}"));
    }

    /// A list is too long.
    pub fn too_many(&mut self, at: &FieldPath, count: usize, most: usize) {
        self.add(at, "FieldValueTooMany", format!("Too many: {count}: must have at most {most} items"));
    }

    /// The answer, if something is wrong.
    ///
    /// # Errors
    /// Something is wrong.
    pub fn answer(self, kind: &str, name: &str) -> Result<(), Refusal> {
        let mut texts: Vec<String> = Vec::new();
        for e in &self.0 {
            let text = format!("{}: {}", e.field, e.message);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let text = match &texts[..] {
            [] => return Ok(()),
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        Err(Refusal {
            code: 422,
            reason: "Invalid",
            message: format!("{kind}.admissionregistration.k8s.io {} is invalid: {text}", quote(name)),
            causes: self.0,
        })
    }
}

impl Refusal {
    /// The refusal of an object that is no such object.
    pub fn unreadable(kind: &str, text: &str) -> Refusal {
        Refusal {
            code: 400,
            reason: "BadRequest",
            message: format!("{kind} in version \"v1\" cannot be handled as a {kind}: {text}"),
            causes: Vec::new(),
        }
    }

    /// The refusal of an object in a version that the API server does not have.
    pub fn not_served(kind: &str, api_version: &str, release: Release, served: &[&str]) -> Refusal {
        let hint = match served {
            [] => "it has no such policies".to_owned(),
            _ => format!("it has {}", served.join(", ")),
        };
        let message = format!("Kubernetes {release} has no {kind} of version `{api_version}`; hint: {hint}");
        Refusal { code: 404, reason: "NotFound", message, causes: Vec::new() }
    }

    /// The refusal of an object with a field that is not known, where those are mistakes.
    pub fn unknown_field(field: &str) -> Refusal {
        let message = format!("strict decoding error: unknown field \"{field}\"");
        let cause = FieldError { field: field.into(), reason: UNKNOWN_FIELD, message: message.clone() };
        Refusal { code: 400, reason: "BadRequest", message, causes: vec![cause] }
    }

    /// The causes as the API shows them.
    pub fn causes(&self) -> Value {
        let cause = |e: &FieldError| {
            let entries = [("field", &*e.field), ("message", &*e.message), ("reason", e.reason)];
            Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), Value::from(v))).collect::<Map>())
        };
        Value::list(self.causes.iter().map(cause).collect())
    }
}
