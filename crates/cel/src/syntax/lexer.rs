//! Tokens of CEL.
//!
//! In: a text. Out: its tokens with their places, and for what is no token cel-go's message. The
//! longest token wins; where none begins, the text is skipped up to and with the character that no
//! token continues with.

use crate::issue::Issue;

/// Kinds of tokens, in the order in which messages list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tok {
    /// The end.
    Eof,
    /// `==`
    Equals,
    /// `!=`
    NotEquals,
    /// `in`
    In,
    /// `<`
    Less,
    /// `<=`
    LessEquals,
    /// `>=`
    GreaterEquals,
    /// `>`
    Greater,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `[`
    LBracket,
    /// `]`
    RBracket,
    /// `{`
    LBrace,
    /// `}`
    RBrace,
    /// `(`
    LParen,
    /// `)`
    RParen,
    /// `.`
    Dot,
    /// `,`
    Comma,
    /// `-`
    Minus,
    /// `!`
    Exclam,
    /// `?`
    Question,
    /// `:`
    Colon,
    /// `+`
    Plus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `true`
    True,
    /// `false`
    False,
    /// `null`
    Null,
    /// A number with a point or exponent.
    Float,
    /// A whole number.
    Int,
    /// A whole number with `u`.
    Uint,
    /// A string.
    Str,
    /// A byte string.
    Bytes,
    /// A name.
    Ident,
    /// A name in backticks.
    EscIdent,
}

impl Tok {
    /// Every kind, in order.
    pub const ALL: [Tok; 36] = [
        Tok::Eof,
        Tok::Equals,
        Tok::NotEquals,
        Tok::In,
        Tok::Less,
        Tok::LessEquals,
        Tok::GreaterEquals,
        Tok::Greater,
        Tok::And,
        Tok::Or,
        Tok::LBracket,
        Tok::RBracket,
        Tok::LBrace,
        Tok::RBrace,
        Tok::LParen,
        Tok::RParen,
        Tok::Dot,
        Tok::Comma,
        Tok::Minus,
        Tok::Exclam,
        Tok::Question,
        Tok::Colon,
        Tok::Plus,
        Tok::Star,
        Tok::Slash,
        Tok::Percent,
        Tok::True,
        Tok::False,
        Tok::Null,
        Tok::Float,
        Tok::Int,
        Tok::Uint,
        Tok::Str,
        Tok::Bytes,
        Tok::Ident,
        Tok::EscIdent,
    ];

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Tok::Eof => "<EOF>",
            Tok::Equals => "'=='",
            Tok::NotEquals => "'!='",
            Tok::In => "'in'",
            Tok::Less => "'<'",
            Tok::LessEquals => "'<='",
            Tok::GreaterEquals => "'>='",
            Tok::Greater => "'>'",
            Tok::And => "'&&'",
            Tok::Or => "'||'",
            Tok::LBracket => "'['",
            Tok::RBracket => "']'",
            Tok::LBrace => "'{'",
            Tok::RBrace => "'}'",
            Tok::LParen => "'('",
            Tok::RParen => "')'",
            Tok::Dot => "'.'",
            Tok::Comma => "','",
            Tok::Minus => "'-'",
            Tok::Exclam => "'!'",
            Tok::Question => "'?'",
            Tok::Colon => "':'",
            Tok::Plus => "'+'",
            Tok::Star => "'*'",
            Tok::Slash => "'/'",
            Tok::Percent => "'%'",
            Tok::True => "'true'",
            Tok::False => "'false'",
            Tok::Null => "'null'",
            Tok::Float => "NUM_FLOAT",
            Tok::Int => "NUM_INT",
            Tok::Uint => "NUM_UINT",
            Tok::Str => "STRING",
            Tok::Bytes => "BYTES",
            Tok::Ident => "IDENTIFIER",
            Tok::EscIdent => "ESC_IDENTIFIER",
        }
    }
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub struct Token<'s> {
    /// What it is.
    pub kind: Tok,
    /// The first byte.
    pub at: u32,
    /// Its text; `<EOF>` at the end.
    pub text: &'s str,
}

/// The tokens of `source`, the end last, and the messages about what is none.
pub fn tokenize(source: &str) -> (Vec<Token<'_>>, Vec<Issue>) {
    let (mut tokens, mut issues) = (Vec::with_capacity(source.len() / 3 + 2), Vec::new());
    let mut at = 0;
    while at < source.len() {
        let rest = source.get(at..).unwrap_or_default();
        let skipped = blank(rest);
        if skipped > 0 {
            at += skipped;
            continue;
        }
        let place = u32::try_from(at).unwrap_or(u32::MAX);
        match token(rest) {
            Ok((kind, len)) => {
                tokens.push(Token { kind, at: place, text: rest.get(..len).unwrap_or_default() });
                at += len;
            }
            Err(len) => {
                let text = rest.get(..len).unwrap_or(rest);
                issues.push(Issue::new(place, format!("Syntax error: token recognition error at: '{text}'")));
                at += len.max(1);
            }
        }
    }
    tokens.push(Token { kind: Tok::Eof, at: u32::try_from(source.len()).unwrap_or(u32::MAX), text: "<EOF>" });
    (tokens, issues)
}

/// The length of white space or a comment.
pub(super) fn blank(rest: &str) -> usize {
    let spaces = rest.bytes().take_while(|b| matches!(b, b'\t' | b' ' | b'\r' | b'\n' | 0x0c)).count();
    if spaces > 0 {
        return spaces;
    }
    if rest.starts_with("//") { rest.find('\n').unwrap_or(rest.len()) } else { 0 }
}

/// The token at the start; else the length of what is skipped.
fn token(rest: &str) -> Result<(Tok, usize), usize> {
    let first = rest.bytes().next().unwrap_or(0);
    let second = rest.as_bytes().get(1).copied().unwrap_or(0);
    let one = |kind| Ok((kind, 1));
    match first {
        b'=' if second == b'=' => Ok((Tok::Equals, 2)),
        b'!' if second == b'=' => Ok((Tok::NotEquals, 2)),
        b'<' if second == b'=' => Ok((Tok::LessEquals, 2)),
        b'>' if second == b'=' => Ok((Tok::GreaterEquals, 2)),
        b'&' if second == b'&' => Ok((Tok::And, 2)),
        b'|' if second == b'|' => Ok((Tok::Or, 2)),
        b'=' | b'&' | b'|' => Err(1 + rest.chars().nth(1).map_or(0, char::len_utf8)),
        b'!' => one(Tok::Exclam),
        b'<' => one(Tok::Less),
        b'>' => one(Tok::Greater),
        b'[' => one(Tok::LBracket),
        b']' => one(Tok::RBracket),
        b'{' => one(Tok::LBrace),
        b'}' => one(Tok::RBrace),
        b'(' => one(Tok::LParen),
        b')' => one(Tok::RParen),
        b',' => one(Tok::Comma),
        b'-' => one(Tok::Minus),
        b'?' => one(Tok::Question),
        b':' => one(Tok::Colon),
        b'+' => one(Tok::Plus),
        b'*' => one(Tok::Star),
        b'/' => one(Tok::Slash),
        b'%' => one(Tok::Percent),
        b'.' if second.is_ascii_digit() => Ok(number(rest)),
        b'.' => one(Tok::Dot),
        b'0'..=b'9' => Ok(number(rest)),
        b'"' | b'\'' => string(rest, false).map(|len| (Tok::Str, len)),
        b'`' => escaped(rest),
        b'_' | b'a'..=b'z' | b'A'..=b'Z' => Ok(word(rest)),
        _ => Err(rest.chars().next().map_or(1, char::len_utf8)),
    }
}

fn word(rest: &str) -> (Tok, usize) {
    for (prefix, bytes) in [(1, false), (2, true)] {
        let head = rest.get(..prefix).unwrap_or_default();
        let quote = rest.as_bytes().get(prefix);
        if !matches!(quote, Some(b'"' | b'\'')) {
            continue;
        }
        let lower = head.to_ascii_lowercase();
        let (is_bytes, raw) = match (&*lower, bytes) {
            ("r", _) => (false, true),
            ("b", _) => (true, false),
            ("br", _) => (true, true),
            _ => continue,
        };
        if let Ok(len) = string(rest.get(prefix..).unwrap_or_default(), raw) {
            return (if is_bytes { Tok::Bytes } else { Tok::Str }, prefix + len);
        }
    }
    let len = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let kind = match rest.get(..len).unwrap_or_default() {
        "in" => Tok::In,
        "true" => Tok::True,
        "false" => Tok::False,
        "null" => Tok::Null,
        _ => Tok::Ident,
    };
    (kind, len)
}

fn escaped(rest: &str) -> Result<(Tok, usize), usize> {
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/' | b' ');
    let inner = rest.bytes().skip(1).take_while(|b| is_inner(*b)).count();
    let next = rest.get(1 + inner..).and_then(|r| r.chars().next());
    match next {
        Some('`') if inner > 0 => Ok((Tok::EscIdent, inner + 2)),
        next => Err(1 + inner + next.map_or(0, char::len_utf8)),
    }
}

fn number(rest: &str) -> (Tok, usize) {
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
    if rest.starts_with("0x") {
        let hex = bytes.iter().skip(2).take_while(|b| b.is_ascii_hexdigit()).count();
        if hex > 0 {
            let len = 2 + hex;
            let unsigned = matches!(bytes.get(len), Some(b'u' | b'U'));
            return if unsigned { (Tok::Uint, len + 1) } else { (Tok::Int, len) };
        }
    }
    let whole = digits(0);
    let mut len = whole;
    let mut float = false;
    if bytes.get(len) == Some(&b'.') && digits(len + 1) > 0 {
        len += 1 + digits(len + 1);
        float = true;
    }
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        let exponent = digits(len + 1 + sign);
        if exponent > 0 {
            len += 1 + sign + exponent;
            float = true;
        }
    }
    if float {
        return (Tok::Float, len);
    }
    if matches!(bytes.get(len), Some(b'u' | b'U')) { (Tok::Uint, len + 1) } else { (Tok::Int, len) }
}

/// The length of a quoted text; else of what is skipped.
fn string(rest: &str, raw: bool) -> Result<usize, usize> {
    let quote = rest.get(..1).unwrap_or_default();
    let triple = rest.get(..3).filter(|t| t.chars().all(|c| quote.starts_with(c)));
    if let Some(triple) = triple {
        if let Some(len) = triple_quoted(rest, triple, raw) {
            return Ok(len);
        }
        // Without its end it is an empty text, and another one begins.
        return Ok(2);
    }
    let mut at = 1;
    loop {
        let Some(c) = rest.get(at..).and_then(|r| r.chars().next()) else { return Err(at) };
        at += c.len_utf8();
        match c {
            '\n' | '\r' => return Err(at),
            '\\' if !raw => at += escape(rest, at)?,
            c if quote.starts_with(c) => return Ok(at),
            _ => {}
        }
    }
}

fn triple_quoted(rest: &str, triple: &str, raw: bool) -> Option<usize> {
    let mut at = 3;
    loop {
        let tail = rest.get(at..)?;
        if tail.starts_with(triple) {
            return Some(at + 3);
        }
        let c = tail.chars().next()?;
        at += c.len_utf8();
        if c == '\\' && !raw {
            at += escape(rest, at).ok()?;
        }
    }
}

/// The length of an escape sequence behind its backslash; else of the text up to where it breaks.
fn escape(rest: &str, at: usize) -> Result<usize, usize> {
    let Some(kind) = rest.get(at..).and_then(|r| r.chars().next()) else { return Err(at) };
    let take = |count: usize, fits: fn(char) -> bool| {
        let mut end = at + kind.len_utf8();
        for _ in 0..count {
            match rest.get(end..).and_then(|r| r.chars().next()) {
                Some(c) if fits(c) => end += c.len_utf8(),
                Some(c) => return Err(end + c.len_utf8()),
                None => return Err(end),
            }
        }
        Ok(end - at)
    };
    let hex = |c: char| c.is_ascii_hexdigit();
    match kind {
        'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`' => Ok(1),
        'x' | 'X' => take(2, hex),
        'u' => take(4, hex),
        'U' => take(8, hex),
        '0'..='3' => take(2, |c| ('0'..='7').contains(&c)),
        other => Err(at + other.len_utf8()),
    }
}

#[cfg(test)]
mod tests;
