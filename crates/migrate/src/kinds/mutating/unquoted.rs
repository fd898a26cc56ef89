//! The text of a JSON patch → its operations, with variables where they stand.
//!
//! In: the text, which is read as YAML only once its variables are filled in. Out: the operations,
//! as if each variable were a text; one that begins a value without quotes is marked, because YAML
//! reads what comes in its place: `value: {{ x }}` is a number where `x` is one. Semantics:
//! `docs/semantics/mutate.md`, "JSON patches".

use ephor_value::variables::find_all_variables;
use ephor_value::{Map, Value};

/// What stands before a text that begins with a variable without quotes.
const MARK: char = '\u{e000}';

/// A tag that YAML takes for one only where a value begins.
const TAG: &str = "!!str ";

/// The text that stands behind the mark, if there is one.
pub fn unquoted(written: &str) -> Option<&str> {
    written.strip_prefix(MARK)
}

/// What a text is whose operations cannot be read.
pub const NO_LIST: &str = "a JSON patch that is no list";

/// The operations of a patch.
///
/// # Errors
/// What it is instead: no YAML, a variable that is a key, one that is part of a text in braces
/// without quotes, or one without quotes in JSON.
pub fn operations(patch: &str) -> Result<Value, &'static str> {
    let holes: Vec<&str> =
        find_all_variables(patch).into_iter().map(|at| patch.get(at).unwrap_or_default()).collect();
    if holes.is_empty() {
        return ephor_document::yaml_value(patch).map_err(|_| NO_LIST);
    }
    let name = unused(patch);
    let found = ephor_document::yaml_value(&replaced(patch, &name, &|_| false)).map_err(|_| NO_LIST)?;
    let reader = Reader { name: &name, holes: &holes };
    let is_part = |number| {
        let word = word(&name, number);
        let whole = [word.clone(), format!("{TAG}{word}")];
        !found.any_text(&|text| whole.iter().any(|whole| **whole == *text))
    };
    // A comma ends a text that stands in braces without quotes, and no other one.
    let in_blocks = ephor_document::yaml_value(&replaced(patch, &name, &is_part))
        .is_ok_and(|other| reader.without_commas(&other) == found);
    let read = reader.of(&found, in_blocks)?;
    // What begins so is JSON, where texts have quotes.
    match patch.starts_with('[') && read.any_text(&|text| text.starts_with(MARK)) {
        true => Err("a variable without quotes in a JSON patch that is JSON"),
        false => Ok(read),
    }
}

/// A word that the text does not have.
fn unused(patch: &str) -> String {
    (0..).map(|n| format!("variable{n}x")).find(|name| !patch.contains(name)).unwrap_or_default()
}

/// The text with a tag and a word for each variable, and a comma behind some of them.
fn replaced(patch: &str, name: &str, has_comma: &dyn Fn(usize) -> bool) -> String {
    let mut out = String::new();
    let mut from = 0;
    for (number, at) in find_all_variables(patch).into_iter().enumerate() {
        out.push_str(patch.get(from..at.start).unwrap_or_default());
        let comma = if has_comma(number) { "," } else { "" };
        out.push_str(&format!("{TAG}{}{comma}", word(name, number)));
        from = at.end;
    }
    out.push_str(patch.get(from..).unwrap_or_default());
    out
}

/// The word for a variable: no other one begins with it.
fn word(name: &str, number: usize) -> String {
    format!("{name}{number}z")
}

/// What puts variables back.
struct Reader<'r> {
    name: &'r str,
    holes: &'r [&'r str],
}

impl Reader<'_> {
    fn of(&self, value: &Value, in_blocks: bool) -> Result<Value, &'static str> {
        Ok(match value {
            Value::Str(text) if text.contains(self.name) => self.text(text, in_blocks)?.as_str().into(),
            Value::List(items) => {
                let items: Result<Vec<Value>, _> =
                    items.iter().map(|item| self.of(item, in_blocks)).collect();
                Value::list(items?)
            }
            Value::Map(fields) => {
                let mut out = Map::new();
                for (key, value) in fields.iter() {
                    if key.contains(self.name) {
                        return Err("a variable in a key of a JSON patch");
                    }
                    out.insert(key.clone(), self.of(value, in_blocks)?);
                }
                Value::Map(out)
            }
            other => other.clone(),
        })
    }

    /// A text with its variables.
    fn text(&self, text: &str, in_blocks: bool) -> Result<String, &'static str> {
        let is_unquoted = text.starts_with(self.name);
        let mut out = text.to_string();
        for (number, hole) in self.holes.iter().enumerate() {
            let word = word(self.name, number);
            out = out.replace(&format!("{TAG}{word}"), hole).replace(&word, hole);
        }
        let is_whole = self.holes.iter().any(|hole| **hole == *out);
        if is_unquoted {
            out.insert(0, MARK);
        }
        if in_blocks || is_whole { Ok(out) } else { Err("a variable in a text in braces, without quotes") }
    }

    /// A value without the commas behind variables.
    fn without_commas(&self, value: &Value) -> Value {
        let bare = |text: &str| {
            self.holes.iter().enumerate().fold(text.to_string(), |text, (number, _)| {
                let word = word(self.name, number);
                text.replace(&format!("{word},"), &word)
            })
        };
        match value {
            Value::Str(text) if text.contains(self.name) => bare(text).as_str().into(),
            Value::List(items) => {
                Value::list(items.iter().map(|item| self.without_commas(item)).collect::<Vec<_>>())
            }
            Value::Map(fields) => Value::Map(
                fields.iter().map(|(key, value)| (key.clone(), self.without_commas(value))).collect(),
            ),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(patch: &str) -> Option<String> {
        let found = operations(patch).ok()?;
        let text = found.as_list()?.first()?.text_at(&["value"]).to_string();
        Some(text.replace(MARK, "MARK"))
    }

    #[test]
    fn variables_that_begin_a_value_without_quotes_are_marked() {
        assert_eq!(value("- value: {{ x }}").as_deref(), Some("MARK{{ x }}"));
        assert_eq!(value("- value: {{ x }} # why").as_deref(), Some("MARK{{ x }}"));
        assert_eq!(value("- {op: add, value: {{ x }}, path: /a}").as_deref(), Some("MARK{{ x }}"));
        assert_eq!(value("- value: {{ x }}-{{ y }}").as_deref(), Some("MARK{{ x }}-{{ y }}"));
    }

    #[test]
    fn json_has_quotes() {
        assert_eq!(value(r#"[{"op": "add", "value": "{{ x }}"}]"#).as_deref(), Some("{{ x }}"));
        let bare = operations(r#"[{"op":"add","value":{{x}}}]"#);
        assert_eq!(bare, Err("a variable without quotes in a JSON patch that is JSON"));
    }

    #[test]
    fn variables_in_texts_are_not() {
        for text in ["\"{{ x }}\"", "'{{ x }}'", "\"{{ x }}a\""] {
            let patch = format!("- value: {text}");
            assert_eq!(value(&patch).as_deref(), Some(text.trim_matches(['"', '\''])), "{text}");
        }
        assert_eq!(value("- value: a-{{ x }}-{{ y }}").as_deref(), Some("a-{{ x }}-{{ y }}"));
        assert_eq!(value("- value: |\n    {{ x }}: b").as_deref(), Some("{{ x }}: b"));
    }

    #[test]
    fn variables_that_are_keys_or_parts_of_texts_in_braces_are_nothing() {
        assert_eq!(operations("- {{ x }}: b"), Err("a variable in a key of a JSON patch"));
        assert_eq!(value("- {value: {{ x }}, path: \"/{{ y }}\"}").as_deref(), Some("MARK{{ x }}"));
        let braces = operations("- {value: a-{{ x }}, op: add}");
        assert_eq!(braces, Err("a variable in a text in braces, without quotes"));
    }
}
