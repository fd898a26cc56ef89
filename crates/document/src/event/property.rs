//! Directives, anchors, aliases and tags.

use super::error::{SyntaxError, SyntaxProblem};
use super::scanner::{Scanner, Token, TokenData};
use super::step::Mark;

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

impl<'a> Scanner<'a> {
    fn token(&self, data: TokenData<'a>, start: Mark) -> Token<'a> {
        Token { data, start, end: self.mark }
    }

    fn word(&mut self) -> &'a str {
        let from = self.mark.pos;
        while is_word(self.byte(0)) {
            self.advance(1);
        }
        self.slice(from)
    }

    fn blanks(&mut self) {
        while self.is_blank(0) {
            self.advance(1);
        }
    }

    pub(super) fn scan_directive(&mut self) -> Result<Token<'a>, SyntaxError> {
        let start = self.mark;
        self.advance(1);
        let name = self.word();
        if name.is_empty() {
            return self.fault(start, SyntaxProblem::NoDirectiveName);
        }
        if !self.is_blankz(0) {
            return self.fault(start, SyntaxProblem::DirectiveName);
        }
        let data = match name {
            "YAML" => {
                self.blanks();
                let major = self.version_number(start)?;
                if self.byte(0) != b'.' {
                    return self.fault(start, SyntaxProblem::VersionPoint);
                }
                self.advance(1);
                TokenData::Version(major, self.version_number(start)?)
            }
            "TAG" => {
                self.blanks();
                let handle = self.tag_handle(true, start)?;
                if !self.is_blank(0) {
                    return self.fault(start, SyntaxProblem::NoWhitespace);
                }
                self.blanks();
                let prefix = self.tag_uri("", start)?;
                if !self.is_blankz(0) {
                    return self.fault(start, SyntaxProblem::NoBreak);
                }
                TokenData::TagDirective(Box::new((handle, prefix)))
            }
            _ => return self.fault(start, SyntaxProblem::UnknownDirective),
        };
        let token = self.token(data, start);
        self.skip_blanks_and_comment();
        if !self.is_breakz(0) {
            return self.fault(start, SyntaxProblem::NoCommentOrBreak);
        }
        self.skip_break();
        Ok(token)
    }

    fn version_number(&mut self, start: Mark) -> Result<u32, SyntaxError> {
        let (mut value, mut digits) = (0, 0);
        while self.byte(0).is_ascii_digit() {
            digits += 1;
            if digits > 2 {
                return self.fault(start, SyntaxProblem::LongVersion);
            }
            value = value * 10 + u32::from(self.byte(0) - b'0');
            self.advance(1);
        }
        if digits == 0 { self.fault(start, SyntaxProblem::NoVersion) } else { Ok(value) }
    }

    pub(super) fn scan_anchor(&mut self, alias: bool) -> Result<Token<'a>, SyntaxError> {
        let start = self.mark;
        self.advance(1);
        let name = self.word();
        let ends = self.is_blankz(0)
            || matches!(self.byte(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ends {
            return self.fault(start, SyntaxProblem::AnchorName);
        }
        Ok(self.token(if alias { TokenData::Alias(name) } else { TokenData::Anchor(name) }, start))
    }

    pub(super) fn scan_tag(&mut self) -> Result<Token<'a>, SyntaxError> {
        let start = self.mark;
        let (handle, suffix);
        if self.byte(1) == b'<' {
            self.advance(2);
            (handle, suffix) = (String::new(), self.tag_uri("", start)?);
            if self.byte(0) != b'>' {
                return self.fault(start, SyntaxProblem::NoTagEnd);
            }
            self.advance(1);
        } else {
            let head = self.tag_handle(false, start)?;
            if head.len() > 1 && head.ends_with('!') {
                suffix = self.tag_uri("", start)?;
                handle = head;
            } else {
                let rest = self.tag_uri(&head, start)?;
                // A lone `!` is a tag of its own, without a handle.
                (handle, suffix) = if rest.is_empty() { (rest, "!".into()) } else { ("!".into(), rest) };
            }
        }
        if !self.is_blankz(0) {
            return self.fault(start, SyntaxProblem::NoBreak);
        }
        Ok(self.token(TokenData::Tag(Box::new((handle, suffix))), start))
    }

    fn tag_handle(&mut self, directive: bool, start: Mark) -> Result<String, SyntaxError> {
        if self.byte(0) != b'!' {
            return self.fault(start, SyntaxProblem::NoTagMark);
        }
        let from = self.mark.pos;
        self.advance(1);
        self.word();
        if self.byte(0) == b'!' {
            self.advance(1);
        } else if directive && self.slice(from) != "!" {
            return self.fault(start, SyntaxProblem::NoTagMark);
        }
        Ok(self.slice(from).to_string())
    }

    fn tag_uri(&mut self, head: &str, start: Mark) -> Result<String, SyntaxError> {
        let mut out = head.get(1..).unwrap_or("").as_bytes().to_vec();
        let mut empty = head.is_empty();
        loop {
            match self.byte(0) {
                b'%' => self.uri_escape(&mut out, start)?,
                b if is_word(b) || b";/?:@&=+$,.!~*'()[]".contains(&b) => {
                    out.push(b);
                    self.advance(1);
                }
                _ => break,
            }
            empty = false;
        }
        if empty {
            return self.fault(start, SyntaxProblem::NoTagUri);
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// The bytes of one escaped character (`%C3%A9`).
    fn uri_escape(&mut self, out: &mut Vec<u8>, start: Mark) -> Result<(), SyntaxError> {
        let mut width = 0;
        loop {
            let digit = |b: u8| char::from(b).to_digit(16);
            let octet = match (self.byte(0), digit(self.byte(1)), digit(self.byte(2))) {
                (b'%', Some(high), Some(low)) => (high << 4 | low) as u8,
                _ => return self.fault(start, SyntaxProblem::UriEscape),
            };
            if width == 0 {
                width = match octet {
                    0..=0x7f => 1,
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xf7 => 4,
                    _ => return self.fault(start, SyntaxProblem::LeadingOctet),
                };
            } else if octet & 0xc0 != 0x80 {
                return self.fault(start, SyntaxProblem::TrailingOctet);
            }
            out.push(octet);
            self.advance(3);
            width -= 1;
            if width == 0 {
                return Ok(());
            }
        }
    }
}
