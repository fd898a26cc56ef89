//! Label and field selectors as the authorizer's questions hold them.
//!
//! In: the text of a selector. Out: its requirements as Kyverno 1.19.1 prints them, in their order, or
//! its message.

use std::collections::BTreeSet;

use crate::value::names::value_problems;
use crate::value::quote::quote;

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

/// Reads a label selector.
///
/// # Errors
/// Kyverno's message.
pub fn labels(text: &str) -> Result<Vec<String>, String> {
    let mut tokens = Tokens { rest: text };
    let mut found: Vec<(String, String)> = Vec::new();
    loop {
        match tokens.peek(false) {
            Token::Word(_) | Token::Sign("!" | "in" | "notin") => {
                let one =
                    requirement(&mut tokens).map_err(|e| format!("unable to parse requirement: {e}"))?;
                found.push(one);
                match tokens.next(false) {
                    Token::End => break,
                    Token::Sign(",") => match tokens.peek(false) {
                        Token::Word(_) | Token::Sign("!" | "in" | "notin") => {}
                        other => {
                            return Err(format!("found '{}', expected: identifier after ','", other.text()));
                        }
                    },
                    other => {
                        return Err(format!("found '{}', expected: ',' or 'end of string'", other.text()));
                    }
                }
            }
            Token::End => break,
            other => {
                return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text()));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found.into_iter().map(|(_, text)| text).collect())
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<(String, String), String> {
    let mut negated = false;
    let mut token = tokens.next(true);
    if token == Token::Sign("!") {
        negated = true;
        token = tokens.next(true);
    }
    let Token::Word(key) = token else {
        return Err(format!("found '{}', expected: identifier", token.text()));
    };
    check_key(&key)?;
    if matches!(tokens.peek(true), Token::End | Token::Sign(",")) {
        let text = format!("{}{key}", if negated { "!" } else { "" });
        return Ok((key, text));
    }
    let operator = match tokens.next(false) {
        Token::Sign(s @ ("in" | "notin" | "=" | "==" | "!=" | "<" | ">")) => s,
        other => {
            return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text()));
        }
    };
    let values = match operator {
        "in" | "notin" => set(tokens)?,
        _ => BTreeSet::from([exact(tokens)?]),
    };
    for (i, value) in values.iter().enumerate() {
        if matches!(operator, "<" | ">") && value.parse::<i64>().is_err() {
            return Err(format!(
                "values[{i}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                quote(value)
            ));
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

fn exact(tokens: &mut Tokens<'_>) -> Result<String, String> {
    if matches!(tokens.peek(true), Token::End | Token::Sign(",")) {
        return Ok(String::new());
    }
    match tokens.next(true) {
        Token::Word(w) => Ok(w),
        other => Err(format!("found '{}', expected: identifier", other.text())),
    }
}

fn set(tokens: &mut Tokens<'_>) -> Result<BTreeSet<String>, String> {
    match tokens.next(true) {
        Token::Sign("(") => {}
        other => return Err(format!("found '{}' expected: '('", other.text())),
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
                    other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                }
            }
            Token::Sign(",") => {
                all.insert(String::new());
                if tokens.peek(true) == Token::Sign(")") {
                    tokens.next(true);
                    return Ok(all);
                }
            }
            other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
        }
    }
}

fn invalid(path: &str, value: &str, problems: &[String]) -> Result<(), String> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!("{path}: Invalid value: {}: {}", quote(value), problems.join("; ")))
}

fn check_key(key: &str) -> Result<(), String> {
    invalid("<nil>", key, &crate::value::names::key_problems_of_server(key))
}

fn check_value(key: &str, at: usize, value: &str) -> Result<(), String> {
    invalid(&format!("values[{at}][{key}]"), value, &value_problems(value))
}

/// Reads a field selector.
///
/// # Errors
/// Kyverno's message.
pub fn fields(text: &str) -> Result<Vec<String>, String> {
    let mut parts: Vec<String> = split(text);
    parts.sort();
    let mut out = Vec::new();
    for part in parts.iter().filter(|p| !p.is_empty()) {
        let found = part.char_indices().find_map(|(i, _)| {
            let rest = part.get(i..)?;
            ["!=", "==", "="].iter().find(|op| rest.starts_with(**op)).map(|op| (i, *op))
        });
        let Some((at, operator)) = found else {
            return Err(format!("invalid selector: '{text}'; can't understand '{part}'"));
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

fn unescaped(value: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(format!("invalid field selector: invalid escape sequence: \\{c}")),
                None => return Err("invalid field selector: invalid escape sequence: \\".into()),
            },
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                ));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}
