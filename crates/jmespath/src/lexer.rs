//! Text → tokens.
//!
//! The whole text is split before parsing starts, so an unknown character anywhere is reported
//! before any grammar error.

use super::SyntaxError;

/// Token kinds; [`Kind::name`] is the name that messages use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A character that begins no token.
    Unknown,
    /// `*`
    Star,
    /// `.`
    Dot,
    /// `[?`
    Filter,
    /// `[]`
    Flatten,
    /// `(`
    LParen,
    /// `)`
    RParen,
    /// `[`
    LBracket,
    /// `]`
    RBracket,
    /// `{`
    LBrace,
    /// `}`
    RBrace,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// An integer.
    Number,
    /// A name.
    Identifier,
    /// A name in double quotes.
    QuotedIdentifier,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// `<`
    Lt,
    /// `<=`
    Lte,
    /// `>`
    Gt,
    /// `>=`
    Gte,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// JSON in backticks.
    Json,
    /// Text in single quotes.
    String,
    /// `@`
    Current,
    /// `&`
    Expref,
    /// `&&`
    And,
    /// `!`
    Not,
    /// The end of the text.
    Eof,
}

impl Kind {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unknown => "tUnknown",
            Kind::Star => "tStar",
            Kind::Dot => "tDot",
            Kind::Filter => "tFilter",
            Kind::Flatten => "tFlatten",
            Kind::LParen => "tLparen",
            Kind::RParen => "tRparen",
            Kind::LBracket => "tLbracket",
            Kind::RBracket => "tRbracket",
            Kind::LBrace => "tLbrace",
            Kind::RBrace => "tRbrace",
            Kind::Or => "tOr",
            Kind::Pipe => "tPipe",
            Kind::Number => "tNumber",
            Kind::Identifier => "tUnquotedIdentifier",
            Kind::QuotedIdentifier => "tQuotedIdentifier",
            Kind::Comma => "tComma",
            Kind::Colon => "tColon",
            Kind::Lt => "tLT",
            Kind::Lte => "tLTE",
            Kind::Gt => "tGT",
            Kind::Gte => "tGTE",
            Kind::Eq => "tEQ",
            Kind::Ne => "tNE",
            Kind::Json => "tJSONLiteral",
            Kind::String => "tStringLiteral",
            Kind::Current => "tCurrent",
            Kind::Expref => "tExpref",
            Kind::And => "tAnd",
            Kind::Not => "tNot",
            Kind::Eof => "tEOF",
        }
    }

    /// How strongly the token binds what stands left of it.
    pub fn binding_power(self) -> u8 {
        match self {
            Kind::Pipe => 1,
            Kind::Or => 2,
            Kind::And => 3,
            Kind::Lt | Kind::Lte | Kind::Gt | Kind::Gte | Kind::Eq | Kind::Ne => 5,
            Kind::Flatten => 9,
            Kind::Star => 20,
            Kind::Filter => 21,
            Kind::Dot => 40,
            Kind::Not => 45,
            Kind::LBrace => 50,
            Kind::LBracket => 55,
            Kind::LParen => 60,
            _ => 0,
        }
    }
}

/// A token with its text (unquoted and unescaped where that applies) and byte offset.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its content.
    pub text: String,
    /// Where it starts.
    pub at: usize,
}

/// Splits `text` into tokens; the last one is always [`Kind::Eof`].
pub fn tokenize(text: &str) -> Result<Vec<Token>, SyntaxError> {
    let mut tokens = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, c)| c);
        let single = |kind| Some((kind, 1usize));
        let pair = |second, double, alone| Some(if next == Some(second) { (double, 2) } else { (alone, 1) });
        let symbol = match c {
            ' ' | '\t' | '\n' | '\r' => continue,
            '.' => single(Kind::Dot),
            '*' => single(Kind::Star),
            ',' => single(Kind::Comma),
            ':' => single(Kind::Colon),
            '{' => single(Kind::LBrace),
            '}' => single(Kind::RBrace),
            ']' => single(Kind::RBracket),
            '(' => single(Kind::LParen),
            ')' => single(Kind::RParen),
            '@' => single(Kind::Current),
            '[' => match next {
                Some(']') => Some((Kind::Flatten, 2)),
                Some('?') => Some((Kind::Filter, 2)),
                _ => single(Kind::LBracket),
            },
            '|' => pair('|', Kind::Or, Kind::Pipe),
            '&' => pair('&', Kind::And, Kind::Expref),
            '<' => pair('=', Kind::Lte, Kind::Lt),
            '>' => pair('=', Kind::Gte, Kind::Gt),
            '!' => pair('=', Kind::Ne, Kind::Not),
            '=' => pair('=', Kind::Eq, Kind::Unknown),
            _ => None,
        };
        if let Some((kind, len)) = symbol {
            if len == 2 {
                chars.next();
            }
            tokens.push(Token { kind, text: String::new(), at });
            continue;
        }
        let mut take = |ok: fn(char) -> bool| {
            let mut s = String::from(c);
            while let Some((_, c)) = chars.next_if(|&(_, c)| ok(c)) {
                s.push(c);
            }
            s
        };
        match c {
            'a'..='z' | 'A'..='Z' | '_' => {
                // U+0080 slips through Kyverno 1.19.1's test for identifier characters.
                let text = take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '\u{80}'));
                tokens.push(Token { kind: Kind::Identifier, text, at });
            }
            '0'..='9' | '-' => {
                let text = take(|c| c.is_ascii_digit());
                tokens.push(Token { kind: Kind::Number, text, at });
            }
            '"' | '\'' | '`' => {
                let raw = delimited(&mut chars, c)
                    .ok_or_else(|| SyntaxError::at(text.len(), format!("Unclosed delimiter: {c}")))?;
                let (kind, content) = match c {
                    '"' => (Kind::QuotedIdentifier, json_string(at, &raw)?),
                    '\'' => (Kind::String, raw.replace("\\'", "'")),
                    _ => (Kind::Json, raw.replace("\\`", "`")),
                };
                // Kyverno takes these to begin behind their quote.
                let at = if kind == Kind::QuotedIdentifier { at } else { at + 1 };
                tokens.push(Token { kind, text: content, at });
            }
            other => {
                let text = format!("Unknown char: {}", quote_char(other));
                return Err(SyntaxError::at(at + other.len_utf8() - 1, text));
            }
        }
    }
    tokens.push(Token { kind: Kind::Eof, text: String::new(), at: text.len() });
    Ok(tokens)
}

/// The text up to the next unescaped `end`, with its escapes; `None` when there is none.
fn delimited(chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>, end: char) -> Option<String> {
    let mut out = String::new();
    loop {
        let (_, c) = chars.next()?;
        if c == end {
            return Some(out);
        }
        out.push(c);
        // In raw strings a backslash escapes nothing but the delimiter, not even another backslash.
        if c == '\\' && (end != '\'' || chars.peek().is_some_and(|&(_, c)| c == end)) {
            out.push(chars.next()?.1);
        }
    }
}

fn json_string(at: usize, raw: &str) -> Result<String, SyntaxError> {
    match ephor_document::decode_json(&format!("\"{raw}\"")) {
        Ok(v) => Ok(v.as_str().unwrap_or_default().to_string()),
        Err(error) => Err(SyntaxError::raw(at, error.to_string())),
    }
}

/// A character in single quotes with everything outside printable ASCII escaped.
fn quote_char(c: char) -> String {
    match c {
        '\'' => "'\\''".into(),
        '\\' => "'\\\\'".into(),
        '\u{7}' => "'\\a'".into(),
        '\u{8}' => "'\\b'".into(),
        '\u{b}' => "'\\v'".into(),
        '\u{c}' => "'\\f'".into(),
        ' '..='~' => format!("'{c}'"),
        c if (c as u32) < 0x20 || c as u32 == 0x7f => format!("'\\x{:02x}'", c as u32),
        c if (c as u32) < 0x10000 => format!("'\\u{:04x}'", c as u32),
        c => format!("'\\U{:08x}'", c as u32),
    }
}
