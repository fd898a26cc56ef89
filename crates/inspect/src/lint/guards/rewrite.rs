//! The guarded text of a read of something that may be absent.
//!
//! In: the text of an expression and a read in it. Out: the chain of fields as it is written, and
//! edits of the text, the likeliest first: an optional with a default, or `has(…) &&` before the
//! operand of `&&`, `||` or the condition that reads it. Nothing is written that does not parse.

use std::ops::Range;

use ephor_cel::syntax::lexer::{Tok, Token, tokenize};
use ephor_kubernetes::schema::{Leaf, Type};

use super::super::fix::edited;
use super::value::{Class, What};
use super::walk::{Read, Unequal, Usage};

/// Methods that take an optional as it is.
const OF_OPTIONALS: [&str; 6] = ["orValue", "hasValue", "value", "or", "optMap", "optFlatMap"];

/// Edits of the text of an expression, by bytes.
pub(super) type Edits = Vec<(Range<usize>, String)>;

/// The tokens of an expression with a read in it.
pub(super) struct Text<'s> {
    source: &'s str,
    tokens: Vec<Token<'s>>,
}

impl<'s> Text<'s> {
    pub(super) fn of(source: &'s str) -> Text<'s> {
        Text { source, tokens: tokenize(source).0 }
    }

    /// The position of the token at a byte.
    fn at(&self, byte: u32) -> Option<usize> {
        self.tokens.binary_search_by_key(&byte, |token| token.at).ok()
    }

    fn kind(&self, at: usize) -> Option<Tok> {
        self.tokens.get(at).map(|token| token.kind)
    }

    fn end(&self, at: usize) -> Option<usize> {
        self.tokens.get(at).map(|token| token.at as usize + token.text.len())
    }

    /// The position of the bracket that closes the one at a position.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for (i, token) in self.tokens.iter().enumerate().skip(open) {
            match token.kind {
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth += 1,
                Tok::RParen | Tok::RBracket | Tok::RBrace => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(i);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The position of the bracket that opens the one at a position.
    fn opening(&self, close: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for i in (0..=close).rev() {
            match self.kind(i)? {
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth += 1,
                Tok::LParen | Tok::LBracket | Tok::LBrace => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(i);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The last token of the step of a chain whose dot or bracket is at a byte.
    fn step_end(&self, byte: u32) -> Option<usize> {
        let at = self.at(byte)?;
        match self.kind(at)? {
            Tok::Dot => {
                let name = if self.kind(at + 1) == Some(Tok::Question) { at + 2 } else { at + 1 };
                matches!(self.kind(name)?, Tok::Ident | Tok::EscIdent).then_some(name)
            }
            Tok::LBracket => self.closing(at),
            _ => None,
        }
    }

    /// The first token of the chain of which a step is at a byte: names, calls and brackets with
    /// dots between.
    fn chain_start(&self, byte: u32) -> Option<usize> {
        let mut at = self.at(byte)?;
        loop {
            // A step: what is before it.
            let before = at.checked_sub(1)?;
            let start = match self.kind(before)? {
                Tok::Ident | Tok::EscIdent => before,
                Tok::RBracket | Tok::RParen => {
                    let open = self.opening(before)?;
                    let is_call = self.kind(before) == Some(Tok::RParen)
                        && open > 0
                        && self.kind(open - 1) == Some(Tok::Ident);
                    let is_index = self.kind(before) == Some(Tok::RBracket)
                        && open > 0
                        && matches!(
                            self.kind(open - 1),
                            Some(Tok::Ident | Tok::EscIdent | Tok::RBracket | Tok::RParen)
                        );
                    match (is_call, is_index) {
                        (true, _) => open - 1,
                        (_, true) => {
                            at = open;
                            continue;
                        }
                        _ => return Some(open),
                    }
                }
                _ => return None,
            };
            match start.checked_sub(1).and_then(|before| self.kind(before)) {
                Some(Tok::Dot) => at = start - 1,
                Some(Tok::Question) if start >= 2 && self.kind(start - 2) == Some(Tok::Dot) => at = start - 2,
                _ => return Some(start),
            }
        }
    }

    /// The text of the chain of a read, up to the step at a byte.
    pub(super) fn chain(&self, read: &Read, step: u32) -> Option<&'s str> {
        let start = self.tokens.get(self.chain_start(*read.at.first()?)?)?.at as usize;
        self.source.get(start..self.end(self.step_end(step)?)?)
    }

    /// Where the name or key of the step at a byte stands.
    pub(super) fn name(&self, step: u32) -> Option<Range<usize>> {
        let at = self.at(step)?;
        let end = self.step_end(step)?;
        let start = if self.kind(at)? == Tok::Dot { end } else { at + 1 };
        let last = if self.kind(at)? == Tok::Dot { end } else { end - 1 };
        Some(self.tokens.get(start)?.at as usize..self.end(last)?)
    }

    /// The chain with optional steps.
    fn optional_steps(&self, read: &Read) -> Option<Edits> {
        let marks = read.at.iter().map(|at| {
            self.at(*at)?;
            Some((*at as usize + 1..*at as usize + 1, "?".to_string()))
        });
        marks.collect()
    }

    /// The edits that guard a read.
    pub(super) fn guards(&self, read: &Read) -> Vec<Edits> {
        let mut found = Vec::new();
        match read.usage {
            Usage::Test(open) => found.extend(self.tested(read, open)),
            Usage::Null(operator) => found.extend(self.compared(read, operator)),
            Usage::Value => {
                found.extend(self.defaulted(read));
                found.extend(self.preceded(read));
            }
        }
        found
    }

    fn defaulted(&self, read: &Read) -> Option<Edits> {
        let mut edits = self.optional_steps(read)?;
        let last = self.step_end(read.end)?;
        let is_taken = self.kind(last + 1) == Some(Tok::Dot)
            && self.tokens.get(last + 2).is_some_and(|method| OF_OPTIONALS.contains(&method.text));
        if is_taken {
            return Some(edits);
        }
        let end = self.end(last)?;
        edits.push((end..end, format!(".orValue({})", default(&read.what)?)));
        Some(edits)
    }

    /// `has(a.b.c)` as `a.?b.?c.hasValue()`.
    fn tested(&self, read: &Read, open: u32) -> Option<Edits> {
        let open = self.at(open)?;
        let close = self.closing(open)?;
        let has = self.tokens.get(open.checked_sub(1)?)?;
        let dot = (open..close).rev().find(|at| self.kind(*at) == Some(Tok::Dot))?;
        let dot = self.tokens.get(dot)?.at as usize;
        let close = self.tokens.get(close)?.at as usize;
        let mut edits: Edits = vec![(has.at as usize..self.end(open)?, String::new())];
        edits.extend(self.optional_steps(read)?);
        edits.push((dot + 1..dot + 1, "?".into()));
        edits.push((close..close + 1, ".hasValue()".into()));
        Some(edits)
    }

    /// `a.b == null` as `!has(a.b)`.
    fn compared(&self, read: &Read, operator: u32) -> Option<Edits> {
        let at = self.at(operator)?;
        let is_equal = self.kind(at)? == Tok::Equals;
        let start = self.chain_start(*read.at.first()?)?;
        let last = self.step_end(read.end)?;
        let null = |at: usize| self.kind(at) == Some(Tok::Null);
        // Either side may be the chain.
        let (from, to) = if last + 1 == at && null(at + 1) {
            (start, at + 1)
        } else if at + 1 == start && at > 0 && null(at - 1) {
            (at - 1, last)
        } else {
            return None;
        };
        let not = if is_equal { "!" } else { "" };
        let chain = self.tokens.get(start)?.at as usize..self.end(last)?;
        let is_last_dot = self.at(read.end).and_then(|at| self.kind(at)) == Some(Tok::Dot);
        let text = match read.at.as_slice() {
            [only] if *only == read.end && is_last_dot => {
                format!("{not}has({})", self.source.get(chain)?)
            }
            _ => {
                let own: Edits = self
                    .optional_steps(read)?
                    .into_iter()
                    .map(|(range, text)| (range.start - chain.start..range.end - chain.start, text))
                    .collect();
                // What has no guard of its own is the value of an optional, too.
                format!("{not}{}.hasValue()", edited(self.source.get(chain)?, &own)?)
            }
        };
        Some(vec![(self.tokens.get(from)?.at as usize..self.end(to)?, text)])
    }

    /// `has(…) && ` before the operand of a condition that reads the chain.
    fn preceded(&self, read: &Read) -> Option<Edits> {
        let start = self.chain_start(*read.at.first()?)?;
        if self.kind(start)? != Tok::Ident || self.kind(start + 1)? == Tok::LParen {
            return None;
        }
        let root = self.tokens.get(start)?.text;
        let mut tests = String::new();
        for at in &read.at {
            let position = self.at(*at)?;
            let whole = self.chain(read, *at)?;
            let test = match self.kind(position)? {
                Tok::Dot => format!("has({whole})"),
                _ => {
                    let map =
                        whole.get(..(*at as usize).checked_sub(self.tokens.get(start)?.at as usize)?)?;
                    format!("{} in {map}", self.source.get(self.name(*at)?)?)
                }
            };
            tests.push_str(&test);
            tests.push_str(" && ");
        }
        let operand = self.operand(start, root)?;
        Some(vec![(operand..operand, tests)])
    }

    /// The byte at which the operand of `&&`, `||`, a condition or a loop begins that has a token.
    fn operand(&self, at: usize, root: &str) -> Option<usize> {
        let mut from = at;
        let mut depth = 0_usize;
        loop {
            let Some(before) = from.checked_sub(1) else {
                return Some(self.tokens.first()?.at as usize);
            };
            match self.kind(before)? {
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth += 1,
                Tok::And | Tok::Or if depth == 0 => return Some(self.tokens.get(from)?.at as usize),
                Tok::Question | Tok::Colon if depth == 0 => {
                    // An optional step is none.
                    let is_step = before > 0
                        && matches!(self.kind(before - 1), Some(Tok::Dot | Tok::LBracket))
                        && self.kind(before)? == Tok::Question;
                    if !is_step {
                        return None;
                    }
                }
                Tok::Comma if depth == 0 => {
                    let open = self.open_before(before)?;
                    let name = self.tokens.get(open.checked_sub(1)?)?.text;
                    let var = self.tokens.get(open + 1)?.text;
                    let is_first = open + 2 == before;
                    if matches!(name, "all" | "exists" | "exists_one" | "filter") && is_first {
                        return Some(self.tokens.get(from)?.at as usize);
                    }
                    if var == root {
                        return None;
                    }
                }
                Tok::LParen | Tok::LBracket | Tok::LBrace if depth == 0 => {
                    let is_group = self.kind(before)? == Tok::LParen
                        && before.checked_sub(1).is_none_or(|at| {
                            matches!(self.kind(at), Some(Tok::And | Tok::Or | Tok::Exclam | Tok::LParen))
                        });
                    if is_group && self.is_boolean_group(before) {
                        return Some(self.tokens.get(from)?.at as usize);
                    }
                }
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth -= 1,
                _ => {}
            }
            from = before;
        }
    }

    /// The position of the bracket around a position.
    fn open_before(&self, at: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for i in (0..at).rev() {
            match self.kind(i)? {
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth += 1,
                Tok::LParen | Tok::LBracket | Tok::LBrace if depth == 0 => return Some(i),
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Whether a group is an operand of conditions on both sides.
    fn is_boolean_group(&self, open: usize) -> bool {
        let behind = self.closing(open).and_then(|close| self.kind(close + 1));
        matches!(behind, Some(Tok::And | Tok::Or | Tok::Eof | Tok::RParen | Tok::Question))
    }
}

/// What stands for an absent value.
fn default(what: &What) -> Option<&'static str> {
    let types = what.types();
    if !types.is_empty() {
        let texts = types.iter().map(|ty| match ty {
            Type::Leaf(Leaf::String) => Some("''"),
            Type::Leaf(Leaf::Bool) => Some("false"),
            Type::Leaf(Leaf::Int32 | Leaf::Int64) => Some("0"),
            Type::Leaf(Leaf::Double) => Some("0.0"),
            Type::List(..) => Some("[]"),
            Type::Map(..) => Some("{}"),
            _ => None,
        });
        let all: Option<Vec<&str>> = texts.collect();
        let all = all?;
        return all.first().copied().filter(|text| all.iter().all(|other| other == text));
    }
    match what {
        What::One(Class::Text) => Some("''"),
        What::One(Class::Bool) => Some("false"),
        What::List(_) => Some("[]"),
        _ => None,
    }
}

/// A literal of a comparison as one of the other side's class: `'true'` as `true`.
pub(super) fn converted(source: &str, unequal: &Unequal) -> Vec<Edits> {
    let text = Text::of(source);
    let Some(operator) = text.at(unequal.at) else { return Vec::new() };
    let [left, right] = unequal.sides;
    let is_end = |at: usize| {
        matches!(
            text.kind(at),
            Some(
                Tok::And
                    | Tok::Or
                    | Tok::RParen
                    | Tok::RBracket
                    | Tok::Question
                    | Tok::Colon
                    | Tok::Comma
                    | Tok::Eof
            )
        )
    };
    let is_begin = |at: Option<usize>| {
        at.is_none_or(|at| {
            matches!(
                text.kind(at),
                Some(
                    Tok::And
                        | Tok::Or
                        | Tok::LParen
                        | Tok::LBracket
                        | Tok::Question
                        | Tok::Colon
                        | Tok::Comma
                )
            )
        })
    };
    let mut found = Vec::new();
    let literals = [
        (operator.checked_sub(1), left, right, is_begin(operator.checked_sub(2))),
        (Some(operator + 1), right, left, is_end(operator + 2)),
    ];
    for (at, own, wanted, is_alone) in literals {
        let Some(token) = at.and_then(|at| text.tokens.get(at)).filter(|_| is_alone) else { continue };
        let inner = token.text.trim_matches(['\'', '"']);
        let new = match (token.kind, own, wanted) {
            (Tok::Str, Class::Text, Class::Bool) if matches!(inner, "true" | "false") => inner.to_string(),
            (Tok::Str, Class::Text, Class::Number) if inner.parse::<i64>().is_ok() => inner.to_string(),
            (Tok::Int | Tok::True | Tok::False, _, Class::Text) => format!("'{inner}'"),
            _ => continue,
        };
        let start = token.at as usize;
        found.push(vec![(start..start + token.text.len(), new)]);
    }
    found
}
