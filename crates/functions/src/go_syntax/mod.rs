//! Go's regular expression syntax (RE2), translated to the syntax of the `regex` crate.
//!
//! In: a pattern. Out: an equivalent pattern without flags, names or repetition of repetitions, or
//! Go's error. The reader follows Go's: it goes through the pattern once, keeps a stack of open
//! groups, and reports the first thing that is wrong in the order in which Go notices it.
//!
//! Every piece is written out with its own flags (`(?i:a)`), so that the flags of the pattern need
//! no counterpart; characters of classes are written as numbers, so that nothing in them is
//! special.
//!
//! The plain dialect ([`Dialect::Plain`]) has no Perl extensions: no `(?…)`, `\d`, `\b`, `\pL`.
//!
//! - `classes`: escapes and character classes
//! - `cursor`: steps through the text of a pattern
//! - `error`: what is wrong with a pattern: Go's `regexp/syntax.Error`

mod classes;
mod cursor;
mod error;

use std::fmt::Write;

use classes::{class_char, escaped_char, named_class, perl_class, push_range, unicode_class};
use cursor::{consumed, next_char};

pub use error::{ErrorCode, RegexError};

/// Groups may nest this deep; the reference allows more than any pattern of practice needs.
const MAX_NESTING: usize = 200;
/// The largest repeat count, also as a product of nested ones.
const MAX_REPEAT: u32 = 1000;
/// Matches no character.
const NOTHING: &str = "[^\\x{0}-\\x{10FFFF}]";

/// Which extensions a pattern may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// With Perl's extensions.
    Perl,
    /// Without.
    Plain,
}

/// A translated pattern.
#[derive(Clone, Debug)]
pub struct Translated {
    /// The pattern for the `regex` crate.
    pub pattern: String,
    /// The name of each capture group in order, `None` for a group without name.
    pub names: Vec<Option<String>>,
}

/// Translates a pattern.
///
/// # Errors
/// The first thing that Go notices.
pub fn translate(pattern: &str, dialect: Dialect) -> Result<Translated, RegexError> {
    let perl = dialect == Dialect::Perl;
    let flags = Flags { fold: false, multi_line: !perl, dot_all: false, swap_greed: false };
    let t =
        Translator { whole: pattern, perl, flags, frames: vec![Frame::new(flags, "")], names: Vec::new() };
    t.run()
}

#[derive(Clone, Copy)]
struct Flags {
    fold: bool,
    multi_line: bool,
    dot_all: bool,
    swap_greed: bool,
}

/// Least and greatest number of repeats; no greatest one for `{n,}`.
type Counts = (u32, Option<u32>);

/// A piece to which a repetition can apply.
struct Item {
    text: String,
    /// The smallest product limit under which its repeats are valid.
    budget: u32,
}

/// An open group.
struct Frame {
    /// Flags to return to after the group.
    outer: Flags,
    opening: &'static str,
    /// Finished alternatives, joined.
    done: String,
    done_budget: u32,
    items: Vec<Item>,
}

impl Frame {
    fn new(outer: Flags, opening: &'static str) -> Self {
        Frame { outer, opening, done: String::new(), done_budget: 0, items: Vec::new() }
    }

    /// Ends the alternative at hand.
    fn flush(&mut self) {
        for item in self.items.drain(..) {
            self.done.push_str(&item.text);
            self.done_budget = self.done_budget.max(item.budget);
        }
    }
}

struct Translator<'a> {
    whole: &'a str,
    perl: bool,
    flags: Flags,
    frames: Vec<Frame>,
    names: Vec<Option<String>>,
}

impl<'a> Translator<'a> {
    fn run(mut self) -> Result<Translated, RegexError> {
        let mut rest = self.whole;
        let mut last_repeat: Option<&str> = None;
        while let Some((c, after)) = next_char(rest) {
            let mut repeat = None;
            match c {
                '(' if self.perl && after.starts_with('?') => rest = self.perl_group(rest)?,
                '(' => {
                    self.open("(")?;
                    self.names.push(None);
                    rest = after;
                }
                '|' => {
                    if let Some(frame) = self.frames.last_mut() {
                        frame.flush();
                        frame.done.push('|');
                    }
                    rest = after;
                }
                ')' => {
                    self.close()?;
                    rest = after;
                }
                '^' => {
                    self.push(if self.flags.multi_line { "(?m:^)" } else { "\\A" });
                    rest = after;
                }
                '$' => {
                    self.push(if self.flags.multi_line { "(?m:$)" } else { "\\z" });
                    rest = after;
                }
                '.' => {
                    self.push(if self.flags.dot_all { "(?s:.)" } else { "." });
                    rest = after;
                }
                '[' => rest = self.class(rest)?,
                '*' | '+' | '?' => {
                    let op = consumed(rest, after);
                    let end = self.repeat(op, None, rest, after, last_repeat)?;
                    repeat = Some(rest);
                    rest = end;
                }
                '{' => match counts(rest) {
                    None => {
                        self.literal('{');
                        rest = after;
                    }
                    Some((counts, after)) => {
                        let op = consumed(rest, after);
                        let Some((min, max)) = counts else {
                            return Err(RegexError::new(ErrorCode::RepeatSize, op));
                        };
                        let end = self.repeat(op, Some((min, max)), rest, after, last_repeat)?;
                        repeat = Some(rest);
                        rest = end;
                    }
                },
                '\\' => rest = self.escape(rest)?,
                _ => {
                    self.literal(c);
                    rest = after;
                }
            }
            last_repeat = repeat;
        }
        let Some(mut frame) = self.frames.pop() else {
            return Err(RegexError::new(ErrorCode::Internal, self.whole));
        };
        if !self.frames.is_empty() {
            return Err(RegexError::new(ErrorCode::MissingParen, self.whole));
        }
        frame.flush();
        Ok(Translated { pattern: frame.done, names: self.names })
    }

    fn push(&mut self, text: impl Into<String>) {
        if let Some(frame) = self.frames.last_mut() {
            frame.items.push(Item { text: text.into(), budget: 0 });
        }
    }

    fn literal(&mut self, c: char) {
        let mut text = String::new();
        let fold = self.flags.fold && c.is_alphabetic();
        if fold {
            text.push_str("(?i:");
        }
        if c.is_ascii_alphanumeric() || !c.is_ascii() {
            text.push(c);
        } else {
            let _ = write!(text, "\\x{{{:X}}}", u32::from(c));
        }
        if fold {
            text.push(')');
        }
        self.push(text);
    }

    /// A literal by its number, which may be one that no text can hold.
    fn literal_code(&mut self, code: u32) {
        match char::from_u32(code) {
            Some(c) => self.literal(c),
            None => self.push(NOTHING),
        }
    }

    fn open(&mut self, opening: &'static str) -> Result<(), RegexError> {
        if self.frames.len() > MAX_NESTING {
            return Err(RegexError::new(ErrorCode::NestingDepth, self.whole));
        }
        self.frames.push(Frame::new(self.flags, opening));
        Ok(())
    }

    fn close(&mut self) -> Result<(), RegexError> {
        if self.frames.len() < 2 {
            return Err(RegexError::new(ErrorCode::UnexpectedParen, self.whole));
        }
        let (Some(mut frame), Some(outer)) = (self.frames.pop(), self.frames.last_mut()) else {
            return Ok(());
        };
        frame.flush();
        self.flags = frame.outer;
        let text = format!("{}{})", frame.opening, frame.done);
        outer.items.push(Item { text, budget: frame.done_budget });
        Ok(())
    }

    /// A group that begins with `(?`: named, or without capture and with flags.
    fn perl_group(&mut self, s: &'a str) -> Result<&'a str, RegexError> {
        let name_at = if s.len() > 4 && s.starts_with("(?P<") {
            Some(4)
        } else if s.len() > 3 && s.starts_with("(?<") {
            Some(3)
        } else {
            None
        };
        if let Some(at) = name_at {
            let end = s.find('>').ok_or_else(|| RegexError::new(ErrorCode::NamedCapture, s))?;
            let name = s.get(at..end).unwrap_or_default();
            if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
                return Err(RegexError::new(ErrorCode::NamedCapture, s.get(..=end).unwrap_or(s)));
            }
            self.open("(")?;
            self.names.push(Some(name.to_string()));
            return Ok(s.get(end + 1..).unwrap_or_default());
        }
        let mut rest = s.get(2..).unwrap_or_default();
        let mut flags = self.flags;
        let (mut on, mut saw_flag) = (true, false);
        while let Some((c, after)) = next_char(rest) {
            rest = after;
            match c {
                'i' => flags.fold = on,
                'm' => flags.multi_line = on,
                's' => flags.dot_all = on,
                'U' => flags.swap_greed = on,
                '-' if on => {
                    on = false;
                    saw_flag = false;
                    continue;
                }
                ':' | ')' if on || saw_flag => {
                    if c == ':' {
                        self.open("(?:")?;
                    }
                    self.flags = flags;
                    return Ok(rest);
                }
                _ => break,
            }
            saw_flag = true;
        }
        Err(RegexError::new(ErrorCode::PerlOp, consumed(s, rest)))
    }

    /// Applies a repetition to the last item. `before` begins with the operator, `after` follows
    /// it.
    fn repeat(
        &mut self,
        op: &str,
        counts: Option<Counts>,
        before: &'a str,
        mut after: &'a str,
        last: Option<&'a str>,
    ) -> Result<&'a str, RegexError> {
        let mut lazy = self.flags.swap_greed;
        if self.perl {
            if let Some(rest) = after.strip_prefix('?') {
                after = rest;
                lazy = !lazy;
            }
            if let Some(last) = last {
                return Err(RegexError::new(ErrorCode::RepeatOp, consumed(last, after)));
            }
        }
        let Some(item) = self.frames.last_mut().and_then(|f| f.items.last_mut()) else {
            return Err(RegexError::new(ErrorCode::MissingRepeatArgument, consumed(before, after)));
        };
        if let Some((min, max)) = counts {
            let most = max.unwrap_or(min);
            item.budget = if most == 0 { 0 } else { most.saturating_mul(item.budget.max(1)) };
            if most >= 2 && item.budget > MAX_REPEAT {
                return Err(RegexError::new(ErrorCode::RepeatSize, consumed(before, after)));
            }
        }
        if last.is_some() {
            item.text = format!("(?:{})", item.text);
        }
        item.text.push_str(op);
        if lazy {
            item.text.push('?');
        }
        Ok(after)
    }

    fn escape(&mut self, s: &'a str) -> Result<&'a str, RegexError> {
        let after = s.get(2..).unwrap_or_default();
        if self.perl {
            match s.as_bytes().get(1) {
                Some(b'A') => {
                    self.push("\\A");
                    return Ok(after);
                }
                Some(b'b') => {
                    self.push("(?-u:\\b)");
                    return Ok(after);
                }
                Some(b'B') => {
                    self.push("(?-u:\\B)");
                    return Ok(after);
                }
                Some(b'z') => {
                    self.push("\\z");
                    return Ok(after);
                }
                Some(b'Q') => {
                    let (quoted, rest) = after.split_once("\\E").unwrap_or((after, ""));
                    for c in quoted.chars() {
                        self.literal(c);
                    }
                    return Ok(rest);
                }
                _ => {}
            }
            if let Some((class, rest)) = unicode_class(s)? {
                let class = self.folded(&class);
                self.push(class);
                return Ok(rest);
            }
            if let Some((class, rest)) = perl_class(s) {
                let class = self.folded(class);
                self.push(class);
                return Ok(rest);
            }
        }
        let (code, rest) = escaped_char(s)?;
        self.literal_code(code);
        Ok(rest)
    }

    fn folded(&self, class: &str) -> String {
        if self.flags.fold { format!("(?i:{class})") } else { class.to_string() }
    }

    fn class(&mut self, s: &'a str) -> Result<&'a str, RegexError> {
        let mut rest = s.get(1..).unwrap_or_default();
        let mut out = String::from("[");
        if let Some(r) = rest.strip_prefix('^') {
            rest = r;
            out.push('^');
            // Without the extensions a negated class does not match a line break.
            if !self.perl {
                out.push_str("\\n");
            }
        }
        let start = out.len();
        let mut first = true;
        while rest.is_empty() || first || !rest.starts_with(']') {
            if !self.perl
                && !first
                && let Some(r) = rest.strip_prefix('-')
                && !r.is_empty()
                && !r.starts_with(']')
            {
                let after = next_char(r).map_or(r, |(_, after)| after);
                return Err(RegexError::new(ErrorCode::CharRange, consumed(rest, after)));
            }
            first = false;
            if let Some((class, r)) = named_class(rest)? {
                out.push_str(&class);
                rest = r;
                continue;
            }
            if self.perl {
                if let Some((class, r)) = unicode_class(rest)? {
                    out.push_str(&class);
                    rest = r;
                    continue;
                }
                if let Some((class, r)) = perl_class(rest) {
                    out.push_str(class);
                    rest = r;
                    continue;
                }
            }
            let from = rest;
            let (low, r) = class_char(rest, s)?;
            rest = r;
            let mut high = low;
            if let Some(r) = rest.strip_prefix('-')
                && !r.is_empty()
                && !r.starts_with(']')
            {
                (high, rest) = class_char(r, s)?;
                if high < low {
                    return Err(RegexError::new(ErrorCode::CharRange, consumed(from, rest)));
                }
            }
            push_range(&mut out, low, high);
        }
        if out.len() == start {
            // Only numbers that no text can hold.
            out.push_str("&&[^\\x{0}-\\x{10FFFF}]");
            out.insert(start, 'a');
        }
        out.push(']');
        let class = self.folded(&out);
        self.push(class);
        Ok(rest.strip_prefix(']').unwrap_or(rest))
    }
}

/// `{n}`, `{n,}` or `{n,m}`. The outer `None`: no repeat, the brace is a literal. The inner one:
/// counts that are too large or in the wrong order.
fn counts(s: &str) -> Option<(Option<Counts>, &str)> {
    let (min, rest) = count(s.strip_prefix('{')?)?;
    let (max, rest) = match rest.strip_prefix(',') {
        None => (Some(min), rest),
        Some(r) if r.starts_with('}') => (None, r),
        Some(r) => {
            let (max, r) = count(r)?;
            (Some(max), r)
        }
    };
    let rest = rest.strip_prefix('}')?;
    let valid = min <= MAX_REPEAT && max.is_none_or(|m| m <= MAX_REPEAT && min <= m);
    Some((valid.then_some((min, max)), rest))
}

/// Digits without leading zero; too large ones saturate.
fn count(s: &str) -> Option<(u32, &str)> {
    let (digits, rest) = s.split_at(s.bytes().take_while(u8::is_ascii_digit).count());
    if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}
