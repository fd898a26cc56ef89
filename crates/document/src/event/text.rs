//! The scalar notations: plain, quoted, literal and folded.

use std::borrow::Cow;

use super::error::{SyntaxError, SyntaxProblem};
use super::scanner::{Scanner, Token, TokenData};
use super::step::Mark;

/// White space that was read between two words of a scalar and is not yet part of it.
#[derive(Default)]
struct Gap {
    /// The first line break.
    leading: Option<char>,
    /// The line breaks after it.
    trailing: String,
}

impl Gap {
    /// Appends what the breaks mean: one alone is a blank, of several the first is dropped.
    fn fold_into(&mut self, out: &mut String) {
        match self.leading.take() {
            Some('\n') if self.trailing.is_empty() => out.push(' '),
            Some('\n') => {}
            other => out.extend(other),
        }
        out.push_str(&self.trailing);
        self.trailing.clear();
    }
}

fn scalar<'a>(value: Cow<'a, str>, plain: bool, start: Mark, end: Mark) -> Token<'a> {
    Token { data: TokenData::Scalar { value, plain }, start, end }
}

/// Whether a byte inside a plain scalar needs no read its neighbours.
const fn is_ordinary(b: u8) -> bool {
    !matches!(
        b,
        0 | b' ' | b'\t' | b'\n' | b'\r' | b':' | b',' | b'?' | b'[' | b']' | b'{' | b'}' | 0xc2 | 0xe2
    )
}

static ORDINARY: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = is_ordinary(b as u8);
        b += 1;
    }
    table
};

impl<'a> Scanner<'a> {
    /// The bytes from here that `keep` accepts.
    fn run(&self, keep: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(self.mark.pos..).unwrap_or(&[]);
        rest.iter().position(|b| !keep(*b)).unwrap_or(rest.len())
    }

    pub(super) fn scan_plain(&mut self) -> Result<Token<'a>, SyntaxError> {
        let start = self.mark;
        let indent = self.indent + 1;
        // The lines before the current one, folded; empty while the scalar has one line.
        let mut done = String::new();
        let mut gap = Gap::default();
        let mut line_from = start.pos;
        let mut end = start;
        let mut broken = false;
        loop {
            if self.at_document_indicator() || self.byte(0) == b'#' {
                break;
            }
            loop {
                let n = self.run(|b| ORDINARY[b as usize]);
                if n == 0 && (self.is_blankz(0) || self.ends_plain()) {
                    break;
                }
                if broken {
                    done.push_str(self.text.get(line_from..end.pos).unwrap_or(""));
                    gap.fold_into(&mut done);
                    broken = false;
                    line_from = self.mark.pos;
                }
                // A byte that is no ordinary one is passed alone; those of its character follow as
                // ordinary ones.
                self.advance(n.max(1));
                end = self.mark;
            }
            if !self.is_blank(0) && self.break_len(0) == 0 {
                break;
            }
            while self.is_blank(0) || self.break_len(0) > 0 {
                if self.is_blank(0) {
                    if broken && i64::from(self.mark.col) < indent && self.byte(0) == b'\t' {
                        return self.fault(start, SyntaxProblem::TabIndents);
                    }
                    self.advance(1);
                } else if broken {
                    gap.trailing.extend(self.read_break());
                } else {
                    gap.leading = self.read_break();
                    broken = true;
                }
            }
            if self.flow_level == 0 && i64::from(self.mark.col) < indent {
                break;
            }
        }
        if broken {
            self.simple_key_allowed = true;
        }
        let last = self.text.get(line_from..end.pos).unwrap_or("");
        let value = if done.is_empty() {
            Cow::Borrowed(last)
        } else {
            done.push_str(last);
            Cow::Owned(done)
        };
        Ok(scalar(value, true, start, end))
    }

    fn ends_plain(&self) -> bool {
        match self.byte(0) {
            b':' => self.is_blankz(1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow_level > 0,
            _ => false,
        }
    }

    pub(super) fn scan_quoted(&mut self, single: bool) -> Result<Token<'a>, SyntaxError> {
        let start = self.mark;
        let quote = if single { b'\'' } else { b'"' };
        self.advance(1);
        let from = self.mark.pos;
        let n = self.run(|b| b != quote && !matches!(b, b'\\' | b'\n' | b'\r' | 0xc2 | 0xe2) && b != 0);
        // The usual case: one line, no escape.
        if self.byte(n) == quote && !(single && self.byte(n + 1) == quote) {
            self.advance(n);
            let value = Cow::Borrowed(self.slice(from));
            self.advance(1);
            return Ok(scalar(value, false, start, self.mark));
        }
        let mut out = String::new();
        let mut gap = Gap::default();
        loop {
            if self.at_document_indicator() {
                return self.fault(start, SyntaxProblem::DocumentIndicator);
            }
            if self.at_end() {
                return self.fault(start, SyntaxProblem::UnexpectedEnd);
            }
            let mut broken = false;
            while !self.is_blankz(0) {
                let b = self.byte(0);
                if single && b == quote && self.byte(1) == quote {
                    out.push('\'');
                    self.advance(2);
                } else if b == quote {
                    break;
                } else if !single && b == b'\\' {
                    if self.break_len(1) > 0 {
                        self.advance(1);
                        self.skip_break();
                        broken = true;
                        break;
                    }
                    self.escape(&mut out, start)?;
                } else {
                    let from = self.mark.pos;
                    let rest = self.text.get(from..).unwrap_or("");
                    self.advance(rest.chars().next().map_or(1, char::len_utf8));
                    out.push_str(self.slice(from));
                }
            }
            if self.byte(0) == quote {
                break;
            }
            let blanks_from = self.mark.pos;
            let mut blanks_to = blanks_from;
            while self.is_blank(0) || self.break_len(0) > 0 {
                if self.is_blank(0) {
                    self.advance(1);
                    if !broken {
                        blanks_to = self.mark.pos;
                    }
                } else if broken {
                    gap.trailing.extend(self.read_break());
                } else {
                    blanks_to = blanks_from;
                    gap.leading = self.read_break();
                    broken = true;
                }
            }
            if broken {
                // After an escaped break there is no leading one, and nothing stands for it.
                gap.fold_into(&mut out);
            } else {
                out.push_str(self.text.get(blanks_from..blanks_to).unwrap_or(""));
            }
        }
        self.advance(1);
        Ok(scalar(Cow::Owned(out), false, start, self.mark))
    }

    /// A backslash escape of a double-quoted scalar.
    fn escape(&mut self, out: &mut String, start: Mark) -> Result<(), SyntaxError> {
        let digits = match self.byte(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            other => {
                out.push(match other {
                    b'0' => '\0',
                    b'a' => '\x07',
                    b'b' => '\x08',
                    b't' | b'\t' => '\t',
                    b'n' => '\n',
                    b'v' => '\x0b',
                    b'f' => '\x0c',
                    b'r' => '\r',
                    b'e' => '\x1b',
                    b' ' => ' ',
                    b'"' => '"',
                    b'/' => '/',
                    b'\'' => '\'',
                    b'\\' => '\\',
                    b'N' => '\u{85}',
                    b'_' => '\u{a0}',
                    b'L' => '\u{2028}',
                    b'P' => '\u{2029}',
                    _ => return self.fault(start, SyntaxProblem::Escape),
                });
                self.advance(2);
                return Ok(());
            }
        };
        self.advance(2);
        let mut code: u32 = 0;
        for k in 0..digits {
            match char::from(self.byte(k)).to_digit(16) {
                Some(d) => code = code.wrapping_shl(4) | d,
                None => return self.fault(start, SyntaxProblem::NoHexNumber),
            }
        }
        match char::from_u32(code) {
            Some(c) => out.push(c),
            None => return self.fault(start, SyntaxProblem::EscapeCode),
        }
        self.advance(digits);
        Ok(())
    }

    pub(super) fn scan_block(&mut self, literal: bool) -> Result<Token<'a>, SyntaxError> {
        let start = self.mark;
        self.advance(1);
        let mut keep = None;
        let mut increment = 0;
        for _ in 0..2 {
            match self.byte(0) {
                b @ (b'+' | b'-') if keep.is_none() => keep = Some(b == b'+'),
                b'0' if increment == 0 => {
                    return self.fault(start, SyntaxProblem::ZeroIndentation);
                }
                b @ b'1'..=b'9' if increment == 0 => increment = i64::from(b - b'0'),
                _ => break,
            }
            self.advance(1);
        }
        self.skip_blanks_and_comment();
        if !self.is_breakz(0) {
            return self.fault(start, SyntaxProblem::NoCommentOrBreak);
        }
        self.skip_break();
        let mut indent = if increment > 0 { self.indent.max(0) + increment } else { 0 };
        let mut gap = Gap::default();
        let mut end = self.mark;
        self.block_breaks(&mut indent, &mut gap.trailing, start, &mut end)?;
        let mut out = String::new();
        let mut blank_before = false;
        while i64::from(self.mark.col) == indent && !self.at_end() {
            let blank = self.is_blank(0);
            if !literal && gap.leading == Some('\n') && !blank_before && !blank {
                if gap.trailing.is_empty() {
                    out.push(' ');
                }
            } else {
                out.extend(gap.leading);
            }
            gap.leading = None;
            out.push_str(&gap.trailing);
            gap.trailing.clear();
            blank_before = blank;
            let from = self.mark.pos;
            loop {
                self.advance(self.run(|b| !matches!(b, 0 | b'\n' | b'\r' | 0xc2 | 0xe2)));
                if self.is_breakz(0) {
                    break;
                }
                self.advance(1);
            }
            out.push_str(self.slice(from));
            gap.leading = self.read_break();
            self.block_breaks(&mut indent, &mut gap.trailing, start, &mut end)?;
        }
        if keep != Some(false) {
            out.extend(gap.leading);
        }
        if keep == Some(true) {
            out.push_str(&gap.trailing);
        }
        Ok(scalar(Cow::Owned(out), false, start, end))
    }

    /// Moves over indentation and empty lines; the first line with text settles the indentation.
    fn block_breaks(
        &mut self,
        indent: &mut i64,
        breaks: &mut String,
        start: Mark,
        end: &mut Mark,
    ) -> Result<(), SyntaxError> {
        let mut deepest = 0;
        *end = self.mark;
        loop {
            let inside = |s: &Self, indent: i64| indent == 0 || i64::from(s.mark.col) < indent;
            while inside(self, *indent) && self.byte(0) == b' ' {
                self.advance(1);
            }
            deepest = deepest.max(i64::from(self.mark.col));
            if inside(self, *indent) && self.byte(0) == b'\t' {
                return self.fault(start, SyntaxProblem::TabInBlock);
            }
            if self.break_len(0) == 0 {
                break;
            }
            breaks.extend(self.read_break());
            *end = self.mark;
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}
