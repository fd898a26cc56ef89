//! The arguments of tools: their schemas, and calls that are checked against them.
//!
//! In: the rows of a tool, and the arguments of a call. Out: a JSON schema; a [`ToolCall`] whose
//! arguments have the forms of their rows, or what is wrong with the first that has not.

use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use ephor_value::suggest::did_you_mean;

use super::error::ToolError;

/// What holds for all calls.
#[derive(Clone, Debug)]
pub(super) struct McpSettings {
    /// Whether calls that write are refused.
    pub read_only: bool,
    /// The longest time of a call.
    pub time_limit: Duration,
}

impl Default for McpSettings {
    fn default() -> Self {
        McpSettings { read_only: false, time_limit: Duration::from_secs(60) }
    }
}

/// An argument of a tool.
pub(super) struct ToolArgument {
    pub name: &'static str,
    pub form: ArgumentForm,
    pub is_required: bool,
    pub about: &'static str,
}

/// The forms of arguments.
#[derive(Clone, Copy)]
pub(super) enum ArgumentForm {
    /// Files, each a path or a text.
    Files,
    /// One file, a path or a text.
    File,
    /// A text.
    Text,
    /// A path that is written.
    Output,
    /// Yes or no.
    Flag,
    /// A number of seconds.
    Seconds,
    /// One of several words, of which the first is the default.
    Word(&'static [&'static str]),
}

impl ArgumentForm {
    /// The form in words.
    fn words(self) -> &'static str {
        match self {
            ArgumentForm::Files => "a list of objects, each with `path`, or with `text` and `name`",
            ArgumentForm::File => "an object with `path`, or with `text`",
            ArgumentForm::Text | ArgumentForm::Output | ArgumentForm::Word(_) => "a string",
            ArgumentForm::Flag => "true or false",
            ArgumentForm::Seconds => "a number of seconds above 0",
        }
    }

    fn schema(self) -> Json {
        let file = || {
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "A file or folder; of folders all YAML and JSON files below."},
                    "text": {"type": "string", "description": "The text itself, instead of a path."},
                    "name": {"type": "string", "description": "What the text is called in results, such as policy.yaml."},
                },
                "additionalProperties": false,
            })
        };
        match self {
            ArgumentForm::Files => json!({"type": "array", "items": file()}),
            ArgumentForm::File => file(),
            ArgumentForm::Text | ArgumentForm::Output => json!({"type": "string"}),
            ArgumentForm::Flag => json!({"type": "boolean", "default": false}),
            ArgumentForm::Seconds => json!({"type": "number", "exclusiveMinimum": 0}),
            ArgumentForm::Word(words) => json!({"type": "string", "enum": words}),
        }
    }
}

/// The JSON schema of arguments.
pub(super) fn schema(arguments: &[ToolArgument]) -> Map<String, Json> {
    let property = |argument: &ToolArgument| {
        let mut schema = argument.form.schema();
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".into(), argument.about.into());
        }
        (argument.name.to_string(), schema)
    };
    let properties: Map<String, Json> = arguments.iter().map(property).collect();
    let required: Vec<&str> = arguments.iter().filter(|a| a.is_required).map(|a| a.name).collect();
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    match schema {
        Json::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// A call of a tool. An argument that the tool does not have counts as one that is not given.
pub(super) struct ToolCall<'c> {
    tool: &'static str,
    rows: &'static [ToolArgument],
    given: &'c Map<String, Json>,
    pub settings: &'c McpSettings,
}

/// A file of a call.
pub(super) enum FileArgument<'c> {
    Path(&'c str),
    Text { name: Option<&'c str>, text: &'c str },
}

impl<'c> ToolCall<'c> {
    /// A call whose arguments have the forms of their rows.
    ///
    /// # Errors
    /// An argument is unknown, missing or of another form.
    pub(super) fn new(
        (tool, rows): (&'static str, &'static [ToolArgument]),
        given: &'c Map<String, Json>,
        settings: &'c McpSettings,
    ) -> Result<ToolCall<'c>, ToolError> {
        let known: Vec<&'static str> = rows.iter().map(|row| row.name).collect();
        for (name, value) in given {
            let Some(row) = rows.iter().find(|row| row.name == name) else {
                let meant = did_you_mean(name, &known);
                return Err(ToolError::UnknownArgument { tool, name: name.clone(), meant, known });
            };
            checked(row, value)?;
        }
        let is_missing = |row: &&ToolArgument| row.is_required && !given.contains_key(row.name);
        if let Some(row) = rows.iter().find(is_missing) {
            return Err(ToolError::Missing { tool, name: row.name, form: row.form.words() });
        }
        Ok(ToolCall { tool, rows, given, settings })
    }

    fn value(&self, name: &str) -> Option<&'c Json> {
        debug_assert!(self.rows.iter().any(|row| row.name == name), "{} has no {name}", self.tool);
        self.given.get(name)
    }

    /// A text; empty where it is not given.
    pub(super) fn text(&self, name: &str) -> &'c str {
        self.value(name).and_then(Json::as_str).unwrap_or_default()
    }

    /// A word; the first of its row where it is not given.
    pub(super) fn word(&self, name: &str) -> &'c str {
        let default = self.rows.iter().find(|row| row.name == name).and_then(|row| match row.form {
            ArgumentForm::Word(words) => words.first(),
            _ => None,
        });
        self.value(name).and_then(Json::as_str).or(default.copied()).unwrap_or_default()
    }

    /// A path to write to.
    pub(super) fn output(&self, name: &str) -> Option<&'c str> {
        self.value(name).and_then(Json::as_str)
    }

    /// Whether a flag is set.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.value(name).and_then(Json::as_bool).unwrap_or_default()
    }

    /// The milliseconds of a number of seconds, at most those of the whole call.
    pub(super) fn seconds(&self, name: &str) -> Option<u64> {
        let seconds = self.value(name)?.as_f64()?.min(self.settings.time_limit.as_secs_f64());
        // It is between 0 and the limit of a call, which is some minutes.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let milliseconds = (seconds * 1000.0) as u64;
        Some(milliseconds.max(1))
    }

    /// The milliseconds of the whole call.
    pub(super) fn limit(&self) -> u64 {
        u64::try_from(self.settings.time_limit.as_millis()).unwrap_or(u64::MAX)
    }

    /// The files of an argument.
    pub(super) fn files(&self, name: &str) -> Vec<FileArgument<'c>> {
        match self.value(name) {
            Some(Json::Array(files)) => files.iter().filter_map(file).collect(),
            Some(one) => file(one).into_iter().collect(),
            None => Vec::new(),
        }
    }
}

/// The file of an object; a path takes precedence over a text, but [`checked`] refuses both.
fn file(value: &Json) -> Option<FileArgument<'_>> {
    let member = |name: &str| value.get(name).and_then(Json::as_str);
    match (member("path"), member("text")) {
        (Some(path), _) => Some(FileArgument::Path(path)),
        (None, Some(text)) => Some(FileArgument::Text { name: member("name"), text }),
        (None, None) => None,
    }
}

/// Checks the form of a value.
fn checked(row: &ToolArgument, value: &Json) -> Result<(), ToolError> {
    let is_fine = match row.form {
        ArgumentForm::Files => match value {
            Json::Array(files) => {
                for (at, file) in files.iter().enumerate() {
                    checked_file(&format!("{}[{at}]", row.name), file)?;
                }
                true
            }
            _ => false,
        },
        ArgumentForm::File => return checked_file(row.name, value),
        ArgumentForm::Text => value.is_string(),
        ArgumentForm::Output => value.as_str().is_some_and(|path| !path.is_empty()),
        ArgumentForm::Flag => value.is_boolean(),
        ArgumentForm::Seconds => value.as_f64().is_some_and(|seconds| seconds > 0.0),
        ArgumentForm::Word(words) => match value {
            Json::String(word) if words.contains(&word.as_str()) => true,
            value => {
                let form = format!("one of {}", words.join(", "));
                return Err(ToolError::Form { place: row.name.into(), form, found: found(value) });
            }
        },
    };
    match is_fine {
        true => Ok(()),
        false => Err(ToolError::Form {
            place: row.name.into(),
            form: row.form.words().into(),
            found: found(value),
        }),
    }
}

fn checked_file(place: &str, value: &Json) -> Result<(), ToolError> {
    let form = || ArgumentForm::File.words().to_string();
    let wrong =
        |place: String, form: String, value: &Json| Err(ToolError::Form { place, form, found: found(value) });
    let Some(members) = value.as_object() else { return wrong(place.into(), form(), value) };
    for (name, member) in members {
        match &**name {
            "path" | "text" | "name" if member.is_string() => {}
            "path" | "text" | "name" => return wrong(format!("{place}.{name}"), "a string".into(), member),
            _ => return wrong(place.into(), form(), value),
        }
    }
    match members.contains_key("path") == members.contains_key("text") {
        true => wrong(place.into(), form(), value),
        false => Ok(()),
    }
}

/// What a value is, in words.
fn found(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a truth value",
        Json::Number(_) => "this number",
        Json::String(text) if text.is_empty() => "an empty string",
        Json::String(_) => "this string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object of other members",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn arguments_of_other_forms_are_refused_with_what_they_must_be() {
        static ROWS: [ToolArgument; 3] = [
            ToolArgument { name: "policies", form: ArgumentForm::Files, is_required: true, about: "" },
            ToolArgument { name: "to", form: ArgumentForm::Word(&["a", "b"]), is_required: false, about: "" },
            ToolArgument { name: "seconds", form: ArgumentForm::Seconds, is_required: false, about: "" },
        ];
        let settings = McpSettings::default();
        let error = |given: Json| {
            let given = given.as_object().unwrap().clone();
            ToolCall::new(("t", &ROWS), &given, &settings).err().map(|e| e.text()).unwrap_or_default()
        };
        for (given, text) in [
            (json!({}), "requires the argument `policies`"),
            (json!({"policis": []}), "did you mean `policies`?"),
            (json!({"policies": "p.yaml"}), "must be a list of objects"),
            (json!({"policies": ["p.yaml"]}), "`policies[0]` must be an object with `path`"),
            (json!({"policies": [{"path": "p", "text": "t"}]}), "`policies[0]` must be"),
            (json!({"policies": [{"name": "p"}]}), "`policies[0]` must be"),
            (json!({"policies": [{"path": 1}]}), "`policies[0].path` must be a string"),
            (json!({"policies": [], "to": "c"}), "one of a, b"),
            (json!({"policies": [], "seconds": 0}), "above 0"),
        ] {
            let found = error(given.clone());
            assert!(found.contains(text), "{given}: {found}");
        }
        assert_eq!(error(json!({"policies": [{"text": "t", "name": "n"}], "to": "b", "seconds": 0.5})), "");
    }
}
