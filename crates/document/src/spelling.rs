//! JSON whose numbers and texts keep their spelling.
//!
//! In: JSON text that parses. Out: its tree, in which a number or text is a [`Value::Str`] of its
//! own characters (texts with their quotation marks); and back. An API server patches objects in
//! this form, so `5.0` and `5`, or two ways to escape a character, are different to it.

use super::decode::LargeNumber;
use super::json;
use ephor_value::print::json as print;
use ephor_value::{Map, Str, Value, stack};

/// The tree of a JSON text; null for what is none.
pub fn spelling(text: &str) -> Value {
    Reader { text, at: 0 }.value().unwrap_or_default()
}

/// The tree of a value as an API server writes it.
pub fn spelled(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::List(items) => stack::deep(|| Value::list(items.iter().map(spelled).collect())),
        Value::Map(m) => stack::deep(|| Value::Map(m.iter().map(|(k, v)| (k.clone(), spelled(v))).collect())),
        other => Value::from(print(other)),
    }
}

/// The value of a tree. A number with neither point nor exponent is an integer if it fits 64 bits.
///
/// # Errors
/// A number is larger than any double.
pub fn read(tree: &Value) -> Result<Value, LargeNumber> {
    Ok(match tree {
        Value::Str(s) if s.starts_with('"') => json::parse(s).unwrap_or_default(),
        Value::Str(s) => match (s.parse::<i64>(), s.parse::<f64>()) {
            (Ok(i), _) => Value::Int(i),
            (Err(_), Ok(f)) if f.is_finite() => Value::Float(f),
            _ => return Err(LargeNumber((&**s).into())),
        },
        Value::List(items) => Value::list(stack::deep(|| items.iter().map(read).collect::<Result<_, _>>())?),
        Value::Map(m) => {
            let entry = |(k, v): (&Str, &Value)| Ok((k.clone(), read(v)?));
            Value::Map(stack::deep(|| m.iter().map(entry).collect::<Result<_, LargeNumber>>())?)
        }
        other => other.clone(),
    })
}

/// Reads one value after the other.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character that is no blank.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{feff}']).len();
        self.rest().chars().next()
    }

    /// Passes a character that is there.
    fn pass(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn take(&mut self, len: usize) -> Option<&'t str> {
        let taken = self.rest().get(..len).filter(|t| !t.is_empty())?;
        self.at += len;
        Some(taken)
    }

    fn value(&mut self) -> Option<Value> {
        match self.peek()? {
            '{' => stack::deep(|| self.object()),
            '[' => stack::deep(|| self.list()),
            '"' => self.string().map(Value::from),
            _ => {
                let rest = self.rest();
                let end = rest.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(rest.len());
                Some(match self.take(end)? {
                    "null" => Value::Null,
                    word @ ("true" | "false") => Value::Bool(word == "true"),
                    number => Value::from(number),
                })
            }
        }
    }

    /// A text with its quotation marks.
    fn string(&mut self) -> Option<&'t str> {
        let mut escaped = false;
        let end = self.rest().char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        })?;
        self.take(end.0 + 1)
    }

    fn list(&mut self) -> Option<Value> {
        self.pass('[');
        let mut items = Vec::new();
        while !self.pass(']') {
            items.push(self.value()?);
            self.pass(',');
        }
        Some(Value::list(items))
    }

    fn object(&mut self) -> Option<Value> {
        self.pass('{');
        let mut all = Map::new();
        while !self.pass('}') {
            self.peek();
            let key = json::parse(self.string()?).ok()?;
            self.pass(':');
            all.insert(key.as_str()?, self.value()?);
            self.pass(',');
        }
        Some(Value::Map(all))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn scalars_keep_their_characters() {
        let text = r#" {"a" : [5.0, 1E3,-0 , null,true], "b\u0041": "\u00e4\"\\", "c":{},"d":[]} "#;
        let tree = spelling(text);
        let at = |path: &[&str]| tree.at(path).cloned().unwrap_or_default();
        let items = at(&["a"]);
        let items = items.as_list().unwrap();
        assert_eq!(items[0].as_str(), Some("5.0"));
        assert_eq!(items[1].as_str(), Some("1E3"));
        assert_eq!(items[2].as_str(), Some("-0"));
        assert!(items[3].is_null() && items[4].as_bool() == Some(true));
        assert_eq!(at(&["bA"]).as_str(), Some(r#""\u00e4\"\\""#));
        assert!(at(&["c"]).as_map().is_some_and(Map::is_empty));
        assert!(at(&["d"]).as_list().is_some_and(<[Value]>::is_empty));
    }

    #[test]
    fn numbers_without_point_and_exponent_are_integers() {
        let read = |text: &str| read(&spelling(text));
        assert!(read("5.0").unwrap().strict_eq(&Value::Float(5.0)));
        assert!(read("-0").unwrap().strict_eq(&Value::Int(0)));
        assert!(read("9223372036854775808").unwrap().strict_eq(&Value::Float(9_223_372_036_854_775_808.0)));
        assert_eq!(read("[1e400]").unwrap_err(), LargeNumber("1e400".into()));
        assert_eq!(read(r#""a\/b""#).unwrap().as_str(), Some("a/b"));
    }

    #[test]
    fn a_server_writes_whole_doubles_as_integers() {
        let tree = spelled(&Value::list(vec![Value::Float(5.0), Value::Float(1e21), "<ä>".into()]));
        let items = tree.as_list().unwrap();
        assert_eq!(items[0].as_str(), Some("5"));
        assert_eq!(items[1].as_str(), Some("1e+21"));
        assert_eq!(items[2].as_str(), Some(r#""\u003cä\u003e""#));
    }
}
