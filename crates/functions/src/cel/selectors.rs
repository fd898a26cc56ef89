//! Label and field selectors as the authorizer's questions hold them.
//!
//! In: the text of a selector. Out: its requirements as Kyverno 1.19.1 prints them, in their order,
//! or its message.

use std::collections::BTreeSet;

use ephor_value::names::{key_problems_of_server, value_problems};
use ephor_value::quote::quote;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    End,
    Word(String),
    /// A sign or one of the words `in`, `notin`.
    Sign(&'static str),
    Bad(char),
}

impl Token {
    fn text(&self) -> String {
        match self {
            Token::End => String::new(),
            Token::Word(w) => w.clone(),
            Token::Sign(s) => (*s).into(),
            Token::Bad(c) => c.to_string(),
        }
    }
}

struct Tokens<'s> {
    rest: &'s str,
}

const SIGNS: [&str; 10] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<", ""];

impl Tokens<'_> {
    /// The next token; where values stand, words are values.
    fn next(&mut self, values: bool) -> Token {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(first) = self.rest.chars().next() else { return Token::End };
        let is_special = |c: char| matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<');
        if is_special(first) {
            let sign = SIGNS.iter().find(|s| self.rest.starts_with(**s)).copied().unwrap_or_default();
            self.rest = self.rest.get(sign.len()..).unwrap_or_default();
            return if sign.is_empty() { Token::Bad(first) } else { Token::Sign(sign) };
        }
        let end = self.rest.find(|c: char| is_special(c) || matches!(c, ' ' | '\t' | '\r' | '\n'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        match word {
            "in" if !values => Token::Sign("in"),
            "notin" if !values => Token::Sign("notin"),
            word => Token::Word(word.into()),
        }
    }

    fn peek(&self, values: bool) -> Token {
        Tokens { rest: self.rest }.next(values)
    }
}

/// Why a text is no selector, in Kyverno's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A requirement that is none.
    #[error("unable to parse requirement: {0}")]
    Requirement(#[from] RequirementError),
    /// Something else where a requirement may be.
    #[error("found '{found}', expected: {expected}")]
    Found {
        /// What it is.
        found: Box<str>,
        /// What may be there.
        expected: &'static str,
    },
    /// A part of a field selector without operator.
    #[error("invalid selector: '{selector}'; can't understand '{part}'")]
    Part {
        /// The selector.
        selector: Box<str>,
        /// The part.
        part: Box<str>,
    },
    /// A backslash before a character that needs none.
    #[error("invalid field selector: invalid escape sequence: \\{}", .0.map(String::from).unwrap_or_default())]
    Escape(Option<char>),
    /// A character that needs a backslash.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.0))]
    Unescaped(char),
}

/// Why a text is no requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// Something else where a part of it must be.
    #[error("found '{found}', expected: {expected}")]
    Found {
        /// What it is.
        found: Box<str>,
        /// What must be there.
        expected: &'static str,
    },
    /// Something else where a list of values must begin.
    #[error("found '{0}' expected: '('")]
    NoList(Box<str>),
    /// A value to compare with that is no integer.
    #[error(
        "values[{at}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
        quote(.value)
    )]
    NoInteger {
        /// Which one.
        at: usize,
        /// The value.
        value: Box<str>,
    },
    /// A key that no label has.
    #[error("<nil>: Invalid value: {}: {problems}", quote(.key))]
    Key {
        /// The key.
        key: Box<str>,
        /// What is wrong with it, as the API server reports it.
        problems: Box<str>,
    },
    /// A value that no label has.
    #[error("values[{at}][{key}]: Invalid value: {}: {problems}", quote(.value))]
    Value {
        /// Which one.
        at: usize,
        /// The key.
        key: Box<str>,
        /// The value.
        value: Box<str>,
        /// What is wrong with it, as the API server reports it.
        problems: Box<str>,
    },
}

/// Reads a label selector.
///
/// # Errors
/// It is none.
pub fn labels(text: &str) -> Result<Vec<String>, SelectorError> {
    let wrong = |found: &Token, expected| Err(SelectorError::Found { found: found.text().into(), expected });

    let mut tokens = Tokens { rest: text };
    let mut found: Vec<(String, String)> = Vec::new();
    loop {
        match tokens.peek(false) {
            Token::Word(_) | Token::Sign("!" | "in" | "notin") => {
                found.push(requirement(&mut tokens)?);
                match tokens.next(false) {
                    Token::End => break,
                    Token::Sign(",") => match tokens.peek(false) {
                        Token::Word(_) | Token::Sign("!" | "in" | "notin") => {}
                        other => return wrong(&other, "identifier after ','"),
                    },
                    other => return wrong(&other, "',' or 'end of string'"),
                }
            }
            Token::End => break,
            other => return wrong(&other, "!, identifier, or 'end of string'"),
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found.into_iter().map(|(_, text)| text).collect())
}

/// That a token is not what must be there.
fn wrong<T>(found: &Token, expected: &'static str) -> Result<T, RequirementError> {
    Err(RequirementError::Found { found: found.text().into(), expected })
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<(String, String), RequirementError> {
    let mut negated = false;
    let mut token = tokens.next(true);
    if token == Token::Sign("!") {
        negated = true;
        token = tokens.next(true);
    }
    let Token::Word(key) = token else { return wrong(&token, "identifier") };
    check_key(&key)?;
    if matches!(tokens.peek(true), Token::End | Token::Sign(",")) {
        let text = format!("{}{key}", if negated { "!" } else { "" });
        return Ok((key, text));
    }
    let operator = match tokens.next(false) {
        Token::Sign(s @ ("in" | "notin" | "=" | "==" | "!=" | "<" | ">")) => s,
        other => return wrong(&other, "in, notin, =, ==, !=, gt, lt"),
    };
    let values = match operator {
        "in" | "notin" => set(tokens)?,
        _ => BTreeSet::from([exact(tokens)?]),
    };
    for (i, value) in values.iter().enumerate() {
        if matches!(operator, "<" | ">") && value.parse::<i64>().is_err() {
            return Err(RequirementError::NoInteger { at: i, value: value.as_str().into() });
        }
        check_value(&key, i, value)?;
    }
    let joined: Vec<&str> = values.iter().map(String::as_str).collect();
    let joined = joined.join(",");
    let text = match operator {
        "in" | "notin" => format!("{key} {operator} ({joined})"),

        op => format!("{key}{op}{joined}"),
    };
    Ok((key, text))
}

fn exact(tokens: &mut Tokens<'_>) -> Result<String, RequirementError> {
    if matches!(tokens.peek(true), Token::End | Token::Sign(",")) {
        return Ok(String::new());
    }
    match tokens.next(true) {
        Token::Word(w) => Ok(w),
        other => wrong(&other, "identifier"),
    }
}

fn set(tokens: &mut Tokens<'_>) -> Result<BTreeSet<String>, RequirementError> {
    match tokens.next(true) {
        Token::Sign("(") => {}
        other => return Err(RequirementError::NoList(other.text().into())),
    }
    let mut all = BTreeSet::new();
    if tokens.peek(true) == Token::Sign(")") {
        tokens.next(true);
        all.insert(String::new());
        return Ok(all);
    }
    loop {
        match tokens.next(true) {
            Token::Word(w) => {
                all.insert(w);
                match tokens.next(true) {
                    Token::Sign(",") => {
                        if tokens.peek(true) == Token::Sign(")") {
                            all.insert(String::new());
                            tokens.next(true);
                            return Ok(all);
                        }
                    }
                    Token::Sign(")") => return Ok(all),
                    other => return wrong(&other, "',' or ')'"),
                }
            }
            Token::Sign(",") => {
                all.insert(String::new());
                if tokens.peek(true) == Token::Sign(")") {
                    tokens.next(true);
                    return Ok(all);
                }
            }
            other => return wrong(&other, "',', or identifier"),
        }
    }
}

fn check_key(key: &str) -> Result<(), RequirementError> {
    match &*key_problems_of_server(key) {
        [] => Ok(()),
        problems => Err(RequirementError::Key { key: key.into(), problems: problems.join("; ").into() }),
    }
}

fn check_value(key: &str, at: usize, value: &str) -> Result<(), RequirementError> {
    let problems = match &*value_problems(value) {
        [] => return Ok(()),
        problems => problems.join("; ").into(),
    };
    Err(RequirementError::Value { at, key: key.into(), value: value.into(), problems })
}

/// Reads a field selector.
///
/// # Errors
/// It is none.
pub fn fields(text: &str) -> Result<Vec<String>, SelectorError> {
    let mut parts: Vec<String> = split(text);
    parts.sort();
    let mut out = Vec::new();
    for part in parts.iter().filter(|p| !p.is_empty()) {
        let found = part.char_indices().find_map(|(i, _)| {
            let rest = part.get(i..)?;
            ["!=", "==", "="].iter().find(|op| rest.starts_with(**op)).map(|op| (i, *op))
        });
        let Some((at, operator)) = found else {
            return Err(SelectorError::Part { selector: text.into(), part: part.as_str().into() });
        };
        let key = part.get(..at).unwrap_or_default();
        let value = unescaped(part.get(at + operator.len()..).unwrap_or_default())?;
        out.push(format!("{key}{}{value}", if operator == "!=" { "!=" } else { "=" }));
    }
    Ok(out)
}

/// The parts between commas that are not escaped.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut escaped) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        if c == ',' && !escaped {
            parts.push(std::mem::take(&mut part));
            continue;
        }
        escaped = c == '\\' && !escaped;
        part.push(c);
    }
    parts.push(part);
    parts
}

fn unescaped(value: &str) -> Result<String, SelectorError> {
    let mut out = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                other => return Err(SelectorError::Escape(other)),
            },
            ',' | '=' => return Err(SelectorError::Unescaped(c)),
            c => out.push(c),
        }
    }
    Ok(out)
}
