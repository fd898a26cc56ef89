//! Characters to tokens.
//!
//! Block structure becomes explicit: a deeper column opens a block collection, a shallower one ends
//! it. A scalar, alias, quoted text or flow collection at a place where a key may stand is a
//! *possible simple key*: when `:` follows on the same line within 1024 characters, the key token
//! (and the start of a mapping) is inserted before it. Tokens therefore wait in a queue until the
//! oldest possible key is decided.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::error::{SyntaxError, SyntaxProblem};
use super::step::Mark;

/// A key further away than this from its `:` is none.
const MAX_KEY: usize = 1024;

#[derive(Debug)]
pub struct Token<'a> {
    pub data: TokenData<'a>,
    pub start: Mark,
    pub end: Mark,
}

#[derive(Debug)]
pub enum TokenData<'a> {
    StreamEnd,
    /// Major and minor version.
    Version(u32, u32),
    /// Handle and prefix.
    TagDirective(Box<(String, String)>),
    DocumentStart,
    DocumentEnd,
    BlockSeqStart,
    BlockMapStart,
    BlockEnd,
    FlowSeqStart,
    FlowSeqEnd,
    FlowMapStart,
    FlowMapEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    /// Handle and suffix.
    Tag(Box<(String, String)>),
    Scalar {
        value: Cow<'a, str>,
        plain: bool,
    },
}

#[derive(Clone, Copy, Debug, Default)]
struct SimpleKey {
    possible: bool,
    required: bool,
    token_number: usize,
    mark: Mark,
}

pub struct Scanner<'a> {
    pub text: &'a str,
    bytes: &'a [u8],
    pub mark: Mark,
    pub flow_level: usize,
    pub simple_key_allowed: bool,
    pub indent: i64,
    indents: Vec<i64>,
    tokens: VecDeque<Token<'a>>,
    tokens_taken: usize,
    /// One per flow level and one for the block level.
    simple_keys: Vec<SimpleKey>,
    /// Below this index of `simple_keys` no key is possible any more.
    first_possible: usize,
    ended: bool,
    /// The comments that were skipped, where each begins; `None` = they are not noted.
    pub comments: Option<Vec<(Mark, &'a str)>>,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        Scanner {
            text,
            bytes: text.as_bytes(),
            mark: Mark::default(),
            flow_level: 0,
            simple_key_allowed: true,
            indent: -1,
            indents: Vec::with_capacity(16),
            tokens: VecDeque::with_capacity(16),
            tokens_taken: 0,
            simple_keys: vec![SimpleKey::default()],
            first_possible: 0,
            ended: false,
            comments: None,
        }
    }

    /// The next token, which stays in the queue.
    pub fn peek(&mut self) -> Result<&mut Token<'a>, SyntaxError> {
        while self.needs_more()? {
            self.fetch_next()?;
        }
        // The queue holds a token: every fetch adds one, and after the stream's end nothing is
        // taken.
        self.tokens.front_mut().ok_or(SyntaxError::anywhere(SyntaxProblem::UnexpectedEnd))
    }

    /// Drops the token that `peek` showed.
    pub fn skip_token(&mut self) {
        self.tokens_taken += 1;
        self.tokens.pop_front();
    }

    fn needs_more(&mut self) -> Result<bool, SyntaxError> {
        if self.tokens.is_empty() {
            return Ok(!self.ended);
        }
        // Deeper keys are younger: only the oldest possible one can be the next token.
        while self.simple_keys.get(self.first_possible).is_some_and(|k| !k.possible)
            && self.first_possible + 1 < self.simple_keys.len()
        {
            self.first_possible += 1;
        }
        match self.simple_keys.get(self.first_possible) {
            Some(key) if key.possible && key.token_number == self.tokens_taken => {
                self.still_possible(self.first_possible)
            }
            _ => Ok(false),
        }
    }

    // ---- characters ----

    /// The byte `ahead` of here, 0 at the end of the text.
    pub fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.mark.pos + ahead).copied().unwrap_or(0)
    }

    pub fn at_end(&self) -> bool {
        self.mark.pos >= self.bytes.len()
    }

    /// Moves over `n` bytes of one line.
    pub fn advance(&mut self, n: usize) {
        self.mark.pos += n;
        self.mark.col += n as u32;
    }

    /// Bytes of the line break `ahead` of here, 0 when there is none.
    pub fn break_len(&self, ahead: usize) -> usize {
        match self.byte(ahead) {
            b'\n' => 1,
            b'\r' => 1 + usize::from(self.byte(ahead + 1) == b'\n'),
            0xc2 if self.byte(ahead + 1) == 0x85 => 2,
            0xe2 if self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xa8 | 0xa9) => 3,
            _ => 0,
        }
    }

    pub fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t')
    }

    pub fn is_breakz(&self, ahead: usize) -> bool {
        self.byte(ahead) == 0 || self.break_len(ahead) > 0
    }

    pub fn is_blankz(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_breakz(ahead)
    }

    pub fn skip_break(&mut self) {
        let n = self.break_len(0);
        if n > 0 {
            self.mark.pos += n;
            self.mark.col = 0;
            self.mark.line += 1;
        }
    }

    /// Moves over a line break and says what it means: LF, or itself for LS and PS.
    pub fn read_break(&mut self) -> Option<char> {
        let meaning = match self.break_len(0) {
            0 => return None,
            3 => char::from_u32(0x2000 | u32::from(self.byte(2) & 0x3f)),
            _ => Some('\n'),
        };
        self.skip_break();
        meaning
    }

    pub fn slice(&self, from: usize) -> &'a str {
        self.text.get(from..self.mark.pos).unwrap_or("")
    }

    /// Whether `---` or `...` stands at the beginning of this line.
    pub fn at_document_indicator(&self) -> bool {
        self.mark.col == 0
            && matches!(self.bytes.get(self.mark.pos..self.mark.pos + 3), Some(b"---" | b"..."))
            && self.is_blankz(3)
    }

    pub fn fault<T>(&self, context: Mark, problem: SyntaxProblem) -> Result<T, SyntaxError> {
        Err(SyntaxError::of_scanner(context, problem, self.mark))
    }

    /// Moves over the rest of a line that may only hold blanks and a comment.
    pub fn skip_blanks_and_comment(&mut self) {
        while self.is_blank(0) {
            self.advance(1);
        }
        if self.byte(0) == b'#' {
            self.skip_comment();
        }
    }

    fn skip_comment(&mut self) {
        let start = self.mark;
        while !self.is_breakz(0) {
            self.advance(1);
        }
        let text = self.slice(start.pos);
        if let Some(comments) = &mut self.comments {
            comments.push((start, text));
        }
    }

    // ---- tokens ----

    fn push(&mut self, data: TokenData<'a>, start: Mark) {
        self.tokens.push_back(Token { data, start, end: self.mark });
    }

    /// A token of `n` bytes.
    fn push_indicator(&mut self, data: TokenData<'a>, n: usize) {
        let start = self.mark;
        self.advance(n);
        self.push(data, start);
    }

    fn fetch_next(&mut self) -> Result<(), SyntaxError> {
        self.skip_to_token();
        self.unroll_indent(i64::from(self.mark.col));
        if self.at_end() {
            return self.fetch_stream_end();
        }
        if self.mark.col == 0 && self.byte(0) == b'%' {
            return self.fetch_directive();
        }
        if self.at_document_indicator() {
            let data = if self.byte(0) == b'-' { TokenData::DocumentStart } else { TokenData::DocumentEnd };
            self.unroll_indent(-1);
            self.remove_key()?;
            self.simple_key_allowed = false;
            self.push_indicator(data, 3);
            return Ok(());
        }
        let flow = self.flow_level > 0;
        match self.byte(0) {
            b'[' => self.open_flow(TokenData::FlowSeqStart),
            b'{' => self.open_flow(TokenData::FlowMapStart),
            b']' => self.close_flow(TokenData::FlowSeqEnd),
            b'}' => self.close_flow(TokenData::FlowMapEnd),
            b',' => {
                self.remove_key()?;
                self.simple_key_allowed = true;
                self.push_indicator(TokenData::FlowEntry, 1);
                Ok(())
            }
            b'-' if self.is_blankz(1) => self.fetch_block_entry(),
            b'?' if flow || self.is_blankz(1) => self.fetch_key(),
            b':' if flow || self.is_blankz(1) => self.fetch_value(),
            b'*' => self.fetch_keyable(|s| s.scan_anchor(true)),
            b'&' => self.fetch_keyable(|s| s.scan_anchor(false)),
            b'!' => self.fetch_keyable(Self::scan_tag),
            b'|' if !flow => self.fetch_block_scalar(true),
            b'>' if !flow => self.fetch_block_scalar(false),
            b'\'' => self.fetch_keyable(|s| s.scan_quoted(true)),
            b'"' => self.fetch_keyable(|s| s.scan_quoted(false)),
            b'#' | b'|' | b'>' | b'%' | b'@' | b'`' | b'\t' | b' ' => self.no_token(),
            b'-' if self.is_blank(1) => self.no_token(),
            b'?' | b':' if self.is_blankz(1) || flow => self.no_token(),
            _ => {
                self.save_key()?;
                self.simple_key_allowed = false;
                let token = self.scan_plain()?;
                self.tokens.push_back(token);
                Ok(())
            }
        }
    }

    fn no_token(&self) -> Result<(), SyntaxError> {
        self.fault(self.mark, SyntaxProblem::NoToken)
    }

    /// Moves over blanks, comments and line breaks. Tabs separate tokens, but do not indent.
    fn skip_to_token(&mut self) {
        loop {
            if self.mark.pos == 0 && self.bytes.starts_with(b"\xef\xbb\xbf") {
                self.mark.pos = 3;
            }
            while self.byte(0) == b' '
                || ((self.flow_level > 0 || !self.simple_key_allowed) && self.byte(0) == b'\t')
            {
                self.advance(1);
            }
            if self.byte(0) == b'#' {
                self.skip_comment();
            }
            if self.break_len(0) == 0 {
                return;
            }
            self.skip_break();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    fn fetch_stream_end(&mut self) -> Result<(), SyntaxError> {
        if self.mark.col != 0 {
            self.mark.col = 0;
            self.mark.line += 1;
        }
        self.unroll_indent(-1);
        self.remove_key()?;
        self.simple_key_allowed = false;
        self.push(TokenData::StreamEnd, self.mark);
        self.ended = true;
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), SyntaxError> {
        self.unroll_indent(-1);
        self.remove_key()?;
        self.simple_key_allowed = false;
        let token = self.scan_directive()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn open_flow(&mut self, data: TokenData<'a>) -> Result<(), SyntaxError> {
        self.save_key()?;
        self.simple_keys.push(SimpleKey::default());
        self.flow_level += 1;
        self.simple_key_allowed = true;
        self.push_indicator(data, 1);
        Ok(())
    }

    fn close_flow(&mut self, data: TokenData<'a>) -> Result<(), SyntaxError> {
        self.remove_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            self.simple_keys.pop();
            self.first_possible = self.first_possible.min(self.simple_keys.len() - 1);
        }
        self.simple_key_allowed = false;
        self.push_indicator(data, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), SyntaxError> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.fault(self.mark, SyntaxProblem::SequenceEntry);
            }
            self.roll_indent(self.mark, None, TokenData::BlockSeqStart);
        }
        self.remove_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenData::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), SyntaxError> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.fault(self.mark, SyntaxProblem::MappingKey);
            }
            self.roll_indent(self.mark, None, TokenData::BlockMapStart);
        }
        self.remove_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.push_indicator(TokenData::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), SyntaxError> {
        let last = self.simple_keys.len() - 1;
        let key = if self.still_possible(last)? { self.simple_keys.last().copied() } else { None };
        if let Some(key) = key {
            let at = key.token_number.saturating_sub(self.tokens_taken).min(self.tokens.len());
            self.tokens.insert(at, Token { data: TokenData::Key, start: key.mark, end: key.mark });
            if let Some(last) = self.simple_keys.last_mut() {
                last.possible = false;
            }
            self.roll_indent(key.mark, Some(at), TokenData::BlockMapStart);
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    return self.fault(self.mark, SyntaxProblem::MappingValue);
                }
                self.roll_indent(self.mark, None, TokenData::BlockMapStart);
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.push_indicator(TokenData::Value, 1);
        Ok(())
    }

    /// A token that may begin a simple key.
    fn fetch_keyable(
        &mut self,
        scan: impl FnOnce(&mut Self) -> Result<Token<'a>, SyntaxError>,
    ) -> Result<(), SyntaxError> {
        self.save_key()?;
        self.simple_key_allowed = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Result<(), SyntaxError> {
        self.remove_key()?;
        self.simple_key_allowed = true;
        let token = self.scan_block(literal)?;
        self.tokens.push_back(token);
        Ok(())
    }

    // ---- indentation ----

    /// Opens a block collection when the column is deeper; its token goes to the queue's index
    /// `at`.
    fn roll_indent(&mut self, mark: Mark, at: Option<usize>, data: TokenData<'a>) {
        let column = i64::from(mark.col);
        if self.flow_level > 0 || self.indent >= column {
            return;
        }
        self.indents.push(self.indent);
        self.indent = column;
        let token = Token { data, start: mark, end: mark };
        match at {
            Some(at) => self.tokens.insert(at, token),
            None => self.tokens.push_back(token),
        }
    }

    /// Ends the block collections that are deeper than `column`.
    fn unroll_indent(&mut self, column: i64) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            self.push(TokenData::BlockEnd, self.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    // ---- simple keys ----

    /// Whether a possible key still is one: its line or the distance may have left it behind.
    fn still_possible(&mut self, index: usize) -> Result<bool, SyntaxError> {
        let (text, here) = (self.text, self.mark);
        let Some(key) = self.simple_keys.get_mut(index).filter(|k| k.possible) else { return Ok(false) };
        // Bytes are an upper bound of characters.
        let far = here.pos - key.mark.pos > MAX_KEY
            && text.get(key.mark.pos..here.pos).map_or(0, |s| s.chars().count()) > MAX_KEY;
        if key.mark.line == here.line && !far {
            return Ok(true);
        }
        let context = key.mark;
        if key.required {
            return self.fault(context, SyntaxProblem::NoColon);
        }
        key.possible = false;
        Ok(false)
    }

    fn save_key(&mut self) -> Result<(), SyntaxError> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let required = self.flow_level == 0 && self.indent == i64::from(self.mark.col);
        self.remove_key()?;
        let token_number = self.tokens_taken + self.tokens.len();
        let mark = self.mark;
        if let Some(last) = self.simple_keys.last_mut() {
            *last = SimpleKey { possible: true, required, token_number, mark };
        }
        Ok(())
    }

    fn remove_key(&mut self) -> Result<(), SyntaxError> {
        match self.simple_keys.last_mut() {
            Some(key) if key.possible && key.required => {
                let context = key.mark;
                self.fault(context, SyntaxProblem::NoColon)
            }
            Some(key) => {
                key.possible = false;
                Ok(())
            }
            None => Ok(()),
        }
    }
}
