//! The JSON decoder of expressions and of answers of lookups, with the error texts of the
//! reference.
//!
//! In: text. Out: a [`Value`] whose numbers are doubles, or why there is none. One value with
//! space around it; the last of equal keys wins; lone surrogates become U+FFFD. The decoder keeps
//! its own stack, so depth costs no machine stack.

use ephor_value::quote::quote_char;
use ephor_value::{Map, Str, Value};

use crate::MAX_DEPTH;

/// Why a text is not JSON, in the words of Go's `encoding/json`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The text ends before the value does.
    #[error("unexpected end of JSON input")]
    End,
    /// A character that does not belong where it is.
    #[error("invalid character {} {context}", quote_char(*.found))]
    Character {
        /// The byte as a character; a blank where the text ends inside a word, number or escape.
        found: char,
        /// Where it is.
        context: Context,
    },
    /// A number that is larger than any double.
    #[error(transparent)]
    Number(#[from] LargeNumber),
}

/// A number that is larger than any double, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("json: cannot unmarshal number {0} into Go value of type float64")]
pub struct LargeNumber(pub Box<str>);

/// Where a character does not belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Context {
    /// Text after the value.
    #[error("after top-level value")]
    AfterValue,
    /// Neither a comma nor the end after an item.
    #[error("after array element")]
    AfterItem,
    /// Neither a comma nor the end after a member.
    #[error("after object key:value pair")]
    AfterMember,
    /// No value where one belongs.
    #[error("looking for beginning of value")]
    NoValue,
    /// One level more than may be nested.
    #[error("exceeded max depth")]
    TooDeep,
    /// No key where one belongs.
    #[error("looking for beginning of object key string")]
    NoKey,
    /// No colon after a key.
    #[error("after object key")]
    AfterKey,
    /// A number without digits.
    #[error("in numeric literal")]
    Number,
    /// A fraction without digits.
    #[error("after decimal point in numeric literal")]
    Fraction,
    /// An exponent without digits.
    #[error("in exponent of numeric literal")]
    Exponent,
    /// A control character in a text.
    #[error("in string literal")]
    Text,
    /// A backslash before a character that is not escaped.
    #[error("in string escape code")]
    Escape,
    /// An escape without its four digits.
    #[error("in \\u hexadecimal character escape")]
    HexEscape,
    /// A word other than `true`, `false` and `null`.
    #[error("in literal {word} (expecting {})", quote_char(*.expected))]
    Word {
        /// The word that it begins like.
        word: &'static str,
        /// The character that would continue it.
        expected: char,
    },
}

/// Decodes one JSON text.
///
/// # Errors
/// The reference's text, for example `invalid character 'x' after top-level value`,
/// `unexpected end of JSON input`, or `json: cannot unmarshal number 1e400 into Go value of type
/// float64`.
pub fn decode_json(text: &str) -> Result<Value, DecodeError> {
    let mut decoder = Decoder { text, at: 0, more: false, range_error: None };
    let value = decoder.document()?;
    decoder.range_error.map_or(Ok(value), |large| Err(large.into()))
}

/// Checks that a text is one JSON text, whose numbers may be out of range.
///
/// # Errors
/// As [`decode_json`].
pub fn check_json(text: &str) -> Result<(), DecodeError> {
    Decoder { text, at: 0, more: false, range_error: None }.document().map(drop)
}

/// Decodes the first JSON text of a stream; `None` while more of the stream has to be known.
///
/// # Errors
/// As [`decode_json`], for what is wrong whatever follows.
pub fn decode_first_json(stream: &str) -> Result<Option<Value>, DecodeError> {
    let mut decoder = Decoder { text: stream, at: 0, more: true, range_error: None };
    match decoder.document() {
        // The next digit of a number may be missing.
        Ok(Value::Float(_)) if decoder.at == stream.len() => Ok(None),
        Ok(value) => decoder.range_error.map_or(Ok(Some(value)), |large| Err(large.into())),
        Err(_) if decoder.peek().is_none() => Ok(None),
        Err(e) => Err(e),
    }
}

struct Decoder<'a> {
    text: &'a str,
    at: usize,
    /// Whether anything may follow the value.
    more: bool,
    /// A number out of range counts only when the syntax is right to the end.
    range_error: Option<LargeNumber>,
}

/// An open list or object.
enum Open {
    List(Vec<Value>),
    Object(Vec<(Str, Value)>, Str),
}

impl<'a> Decoder<'a> {
    fn document(&mut self) -> Result<Value, DecodeError> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let mut done = match self.begin(&mut open)? {
                Some(value) => value,
                None => continue,
            };
            // Close what ends here.
            loop {
                self.space();
                let next = self.peek();
                match open.pop() {
                    None => {
                        return match next {
                            None => Ok(done),
                            Some(_) if self.more => Ok(done),
                            Some(_) => Err(self.bad(Context::AfterValue)),
                        };
                    }
                    Some(Open::List(mut items)) => {
                        items.push(done);
                        match next {
                            Some(b',') => {
                                self.at += 1;
                                open.push(Open::List(items));
                                break;
                            }
                            Some(b']') => done = Value::list(items),
                            _ => return Err(self.bad(Context::AfterItem)),
                        }
                    }
                    Some(Open::Object(mut entries, key)) => {
                        entries.push((key, done));
                        match next {
                            Some(b',') => {
                                self.at += 1;
                                self.space();
                                let key = self.key()?;
                                open.push(Open::Object(entries, key));
                                break;
                            }
                            Some(b'}') => done = Value::Map(entries.into_iter().collect::<Map>()),
                            _ => return Err(self.bad(Context::AfterMember)),
                        }
                    }
                }
                self.at += 1;
            }
        }
    }

    /// Reads a scalar or an empty container, or opens a container.
    fn begin(&mut self, open: &mut Vec<Open>) -> Result<Option<Value>, DecodeError> {
        self.space();
        match self.peek() {
            Some(b'[') => {
                self.enter(open)?;
                if self.peek() == Some(b']') {
                    self.at += 1;
                    return Ok(Some(Value::list(Vec::new())));
                }
                open.push(Open::List(Vec::new()));
                Ok(None)
            }
            Some(b'{') => {
                self.enter(open)?;
                if self.peek() == Some(b'}') {
                    self.at += 1;
                    return Ok(Some(Value::Map(Map::new())));
                }
                let key = self.key()?;
                open.push(Open::Object(Vec::new(), key));
                Ok(None)
            }
            Some(b'"') => self.string().map(|s| Some(Value::Str(s.into()))),
            Some(b't') => self.literal("true", Value::Bool(true)).map(Some),
            Some(b'f') => self.literal("false", Value::Bool(false)).map(Some),
            Some(b'n') => self.literal("null", Value::Null).map(Some),
            Some(b'-' | b'0'..=b'9') => self.number().map(Some),
            _ => Err(self.bad(Context::NoValue)),
        }
    }

    fn enter(&mut self, open: &[Open]) -> Result<(), DecodeError> {
        if open.len() >= MAX_DEPTH {
            return Err(self.bad(Context::TooDeep));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    fn key(&mut self) -> Result<Str, DecodeError> {
        if self.peek() != Some(b'"') {
            return Err(self.bad(Context::NoKey));
        }
        let key = self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.bad(Context::AfterKey));
        }
        self.at += 1;
        Ok(key.into())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// The error of the byte at hand; where the text ends that is the text's end.
    fn bad(&self, context: Context) -> DecodeError {
        match self.peek() {
            Some(b) => DecodeError::Character { found: b.into(), context },
            None => DecodeError::End,
        }
    }

    /// As [`Decoder::bad`] inside a token, where the end of the text shows as a blank.
    fn bad_token(&self, context: Context) -> DecodeError {
        match self.peek() {
            Some(_) => self.bad(context),
            None => DecodeError::Character { found: ' ', context },
        }
    }

    fn literal(&mut self, word: &'static str, value: Value) -> Result<Value, DecodeError> {
        for b in word.bytes() {
            if self.peek() != Some(b) {
                return Err(self.bad_token(Context::Word { word, expected: b.into() }));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self, context: Context) -> Result<(), DecodeError> {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.bad_token(context));
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, DecodeError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits(Context::Number)?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits(Context::Fraction)?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits(Context::Exponent)?;
        }
        let digits = self.text.get(start..self.at).unwrap_or_default();
        let number = digits.parse::<f64>().unwrap_or(f64::INFINITY);
        if number.is_infinite() && self.range_error.is_none() {
            self.range_error = Some(LargeNumber(digits.into()));
        }
        Ok(Value::Float(number))
    }

    fn string(&mut self) -> Result<String, DecodeError> {
        self.at += 1;
        let mut out = String::new();
        let mut plain = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    out.push_str(self.text.get(plain..self.at).unwrap_or_default());
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(self.text.get(plain..self.at).unwrap_or_default());
                    self.at += 1;
                    out.push(self.escape()?);
                    plain = self.at;
                }
                Some(0..0x20) | None => return Err(self.bad(Context::Text)),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<char, DecodeError> {
        let c = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.bad_token(Context::Escape)),
        };
        self.at += 1;
        Ok(c)
    }

    fn unicode(&mut self) -> Result<char, DecodeError> {
        let high = self.hex4()?;
        if let Some(c) = char::from_u32(high) {
            return Ok(c);
        }
        // A pair of surrogates is one character; a lone one is replaced and what follows it stays.
        let after = self.at;
        if (0xd800..0xdc00).contains(&high) && self.text.as_bytes().get(after..after + 2) == Some(b"\\u") {
            self.at += 2;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                let c = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = after;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u32, DecodeError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
            let digit = digit.ok_or_else(|| self.bad_token(Context::HexEscape))?;
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_value::print;

    /// What the first value is, as JSON; `-` while it is not complete.
    fn first(stream: &str) -> Result<String, DecodeError> {
        decode_first_json(stream).map(|v| v.map_or("-".into(), |v| print::json(&v)))
    }

    #[test]
    fn the_first_value_of_a_stream_is_read_as_soon_as_it_is_complete() {
        for whole in ["{\"a\":[1,{\"b\":\"x\"}]}", "[]", "\"text\"", "null", "[1.5]"] {
            for end in 0..whole.len() {
                assert_eq!(
                    first(whole.get(..end).unwrap_or_default()).as_deref(),
                    Ok("-"),
                    "{whole} to {end}"
                );
            }
            assert_eq!(first(&format!("{whole} and more")).as_deref(), Ok(whole));
        }
        assert_eq!(first("12").as_deref(), Ok("-"));
        assert_eq!(first("12 3").as_deref(), Ok("12"));
        assert!(first("aaa").is_err());
        assert!(first("[1 2").is_err());
    }
}
