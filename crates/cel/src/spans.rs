//! The texts of an expression's parts.
//!
//! In: the text of an expression and a part of its checked tree, which knows one place only. Out:
//! the text from the part's first token to its last, with the parentheses that belong to calls.

use super::check::{Typed, TypedKind};
use super::syntax::lexer::{Tok, Token, tokenize};

/// The tokens of an expression.
pub struct Spans<'s> {
    source: &'s str,
    tokens: Vec<Token<'s>>,
    /// For each bracket the position of the other one.
    partner: Vec<usize>,
}

type Span = (usize, usize);

impl<'s> Spans<'s> {
    /// The tokens of a text that parses.
    pub fn of(source: &'s str) -> Spans<'s> {
        let (tokens, _) = tokenize(source);
        let mut partner: Vec<usize> = (0..tokens.len()).collect();
        let mut open = Vec::new();
        for (i, token) in tokens.iter().enumerate() {
            match token.kind {
                Tok::LParen | Tok::LBracket | Tok::LBrace => open.push(i),
                Tok::RParen | Tok::RBracket | Tok::RBrace => {
                    let Some(start) = open.pop() else { continue };
                    if let Some(p) = partner.get_mut(start) {
                        *p = i;
                    }
                    if let Some(p) = partner.get_mut(i) {
                        *p = start;
                    }
                }
                _ => {}
            }
        }
        Spans { source, tokens, partner }
    }

    /// The text of a part.
    pub fn text(&self, part: &Typed) -> &'s str {
        let (first, last) = self.span(part);
        let from = self.tokens.get(first).map_or(0, |t| t.at as usize);
        let to = self.tokens.get(last).map_or(self.source.len(), |t| t.at as usize + t.text.len());
        self.source.get(from..to).unwrap_or_default()
    }

    fn kind(&self, at: usize) -> Option<Tok> {
        self.tokens.get(at).map(|t| t.kind)
    }

    fn closing(&self, at: usize) -> usize {
        self.partner.get(at).copied().unwrap_or(at)
    }

    /// Before a position: the names with dots that end there.
    fn names_before(&self, at: usize) -> usize {
        let mut first = at;
        while first > 0 && self.kind(first - 1) == Some(Tok::Ident) {
            first -= 1;
            if first == 0 || self.kind(first - 1) != Some(Tok::Dot) {
                break;
            }
            first -= 1;
        }
        first
    }

    /// A part as an operand: with the parentheses around it.
    fn operand(&self, part: &Typed) -> Span {
        let (mut first, mut last) = self.span(part);
        while first > 0
            && self.kind(first - 1) == Some(Tok::LParen)
            && self.closing(first - 1) == last + 1
            && (first < 2 || !matches!(self.kind(first - 2), Some(Tok::Ident)))
        {
            (first, last) = (first - 1, last + 1);
        }
        (first, last)
    }

    fn span(&self, part: &Typed) -> Span {
        let at = self.tokens.partition_point(|t| t.at < part.at);
        let bracket = matches!(self.kind(at), Some(Tok::LParen | Tok::LBracket | Tok::LBrace));
        let last = if bracket { self.closing(at) } else { at };
        match &part.kind {
            TypedKind::Const(_) => (at, if self.kind(at) == Some(Tok::Minus) { at + 1 } else { at }),
            TypedKind::Variable(_) | TypedKind::TypeName(..) if self.kind(at) == Some(Tok::Dot) => {
                (self.names_before(at), at + 1)
            }
            TypedKind::Variable(_) | TypedKind::TypeName(..) => (at, at),
            TypedKind::Select { test: true, .. } => (self.names_before(at), last),
            TypedKind::Select { operand, .. } => (self.operand(operand).0, at + 1),
            TypedKind::List { .. } | TypedKind::Map(_) => (at, last),
            TypedKind::Struct { .. } => (self.names_before(at), last),
            TypedKind::Fold(fold) => {
                let first = [&fold.range, &fold.init].map(|p| self.operand(p).0).into_iter().min();
                (first.unwrap_or(at).min(self.names_before(at)), last)
            }
            TypedKind::Call { function, args, member, .. } => {
                let first = args.first().map_or(at, |a| self.operand(a).0);
                let end = args.last().map_or(at, |a| self.operand(a).1);
                match (&**function, self.kind(at)) {
                    ("_?._", _) => (first, at + 2),
                    ("_[_]" | "_[?_]", _) => (first, last),
                    ("!_" | "-_", _) => (at, end),
                    (_, Some(Tok::LParen)) if *member || function.starts_with('_') => {
                        (first.min(self.names_before(at)), last)
                    }
                    (_, Some(Tok::LParen)) => (self.names_before(at), last),
                    _ => (first, end),
                }
            }
        }
    }
}
