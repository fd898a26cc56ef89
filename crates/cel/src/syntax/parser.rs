//! The grammar of CEL.
//!
//! In: a text. Out: its syntax tree with macros expanded, or the issues. Operators bind as in the
//! language's definition; chains of `&&` and `||` are balanced, as cel-go does it, which decides
//! about the order of evaluation and the places in messages.

use crate::ast::{Entry, Kind, Node, Place};
use crate::issue::{Issue, NOWHERE};
use ephor_value::names::RESERVED_WORDS;
use ephor_value::{Str, Value};

use super::builder::Builder;
use super::lexer::{Tok, Token, tokenize};
use super::options::{MAX_DEPTH, Options};
use super::{literal, macros};

/// How many characters expressions may have.
const MAX_SIZE: usize = 100_000;

/// Parses an expression.
///
/// # Errors
/// All issues that the text has.
pub fn parse(source: &str, options: Options) -> Result<Node, Vec<Issue>> {
    if source.len() > MAX_SIZE && source.chars().count() > MAX_SIZE {
        let size = source.chars().count();
        let text = format!("expression code point size exceeds limit: size: {size}, limit {MAX_SIZE}");
        return Err(vec![Issue::new(NOWHERE, text)]);
    }
    let (tokens, issues) = tokenize(source);
    #[cfg(feature = "syntax-errors")]
    let of_tokens = issues.clone();
    let builder = Builder { issues, options };
    let mut parser = Parser { tokens, next: 0, depth: 0, relations: 0, calculations: 0, builder };
    let node = parser.expr().and_then(|node| {
        parser.expect(Tok::Eof)?;
        Ok(node)
    });
    match node {
        Ok(node) if parser.builder.issues.is_empty() => Ok(node),
        Ok(_) => Err(parser.builder.issues),
        #[cfg(feature = "syntax-errors")]
        Err(Stop::Syntax) => Err(super::recover::issues(source, &parser.tokens, of_tokens, options)),
        #[cfg(not(feature = "syntax-errors"))]
        Err(Stop::Syntax) => Err(parser.builder.issues),
        Err(Stop::Depth) => {
            let text = format!("expression recursion limit exceeded: {MAX_DEPTH}");
            Err(vec![Issue::new(NOWHERE, text)])
        }
        Err(Stop::Chain) => Err(vec![Issue::new(NOWHERE, "max recursion depth exceeded")]),
    }
}

/// Why parsing stopped.
enum Stop {
    /// A syntax error, which is among the issues.
    Syntax,
    /// Too deep.
    Depth,
    /// Too many operators or selections in a row.
    Chain,
}

type Parsed = Result<Node, Stop>;

struct Parser<'s> {
    tokens: Vec<Token<'s>>,
    next: usize,
    depth: usize,
    /// How many relations and calculations are open.
    relations: usize,
    calculations: usize,
    builder: Builder,
}

/// Binary operators by strength, weakest first: relations, additions, products.
fn relation(kind: Tok) -> Option<&'static str> {
    Some(match kind {
        Tok::Less => "_<_",
        Tok::LessEquals => "_<=_",
        Tok::Greater => "_>_",
        Tok::GreaterEquals => "_>=_",
        Tok::Equals => "_==_",
        Tok::NotEquals => "_!=_",
        Tok::In => "@in",
        _ => return None,
    })
}

fn sum(kind: Tok) -> Option<&'static str> {
    match kind {
        Tok::Plus => Some("_+_"),
        Tok::Minus => Some("_-_"),
        _ => None,
    }
}

fn product(kind: Tok) -> Option<&'static str> {
    match kind {
        Tok::Star => Some("_*_"),
        Tok::Slash => Some("_/_"),
        Tok::Percent => Some("_%_"),
        _ => None,
    }
}

impl<'s> Parser<'s> {
    fn peek(&self) -> Token<'s> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Token<'s> {
        let last = Token { kind: Tok::Eof, at: 0, text: "<EOF>" };
        self.tokens.get(self.next + ahead).or(self.tokens.last()).copied().unwrap_or(last)
    }

    fn advance(&mut self) -> Token<'s> {
        let token = self.peek();
        if token.kind != Tok::Eof {
            self.next += 1;
        }
        token
    }

    fn eat(&mut self, kind: Tok) -> Option<Token<'s>> {
        (self.peek().kind == kind).then(|| self.advance())
    }

    fn expect(&mut self, kind: Tok) -> Result<Token<'s>, Stop> {
        if self.peek().kind == kind {
            return Ok(self.advance());
        }
        Err(self.mismatch(kind.name()))
    }

    fn mismatch(&mut self, expected: &str) -> Stop {
        let Token { at, text, .. } = self.peek();
        self.builder
            .issues
            .push(Issue::new(at, format!("Syntax error: mismatched input '{text}' expecting {expected}")));
        Stop::Syntax
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        if self.depth >= MAX_DEPTH {
            return Err(Stop::Depth);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn expr(&mut self) -> Parsed {
        self.deeper(|p| {
            let condition = p.or()?;
            let Some(question) = p.eat(Tok::Question) else { return Ok(condition) };
            let then = p.or()?;
            p.expect(Tok::Colon)?;
            let other = p.expr()?;
            Ok(Node::call(question.at, "_?_:_", vec![condition, then, other]))
        })
    }

    fn or(&mut self) -> Parsed {
        self.chain(Tok::Or, "_||_", |p| p.chain(Tok::And, "_&&_", Parser::relations))
    }

    fn chain(&mut self, op: Tok, function: &str, inner: impl Fn(&mut Self) -> Parsed) -> Parsed {
        let mut terms = vec![inner(self)?];
        let mut places = Vec::new();
        while let Some(token) = self.eat(op) {
            places.push(token.at);
            terms.push(inner(self)?);
        }
        Ok(balanced(function, &mut terms.into_iter(), &places))
    }

    fn relations(&mut self) -> Parsed {
        self.relations += 1;
        let all = self.binary(relation, Parser::additions);
        self.relations -= 1;
        all
    }

    fn additions(&mut self) -> Parsed {
        self.calculations += 1;
        let all = self.binary(sum, |p| p.binary(product, Parser::unary));
        self.calculations -= 1;
        all
    }

    fn binary(
        &mut self,
        operator: fn(Tok) -> Option<&'static str>,
        inner: impl Fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let mut left = inner(self)?;
        let depth = self.depth;
        while let Some(function) = operator(self.peek().kind) {
            // A chain nests to the left.
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(Stop::Chain);
            }
            let at = self.advance().at;
            let open = match function {
                "_+_" | "_-_" | "_*_" | "_/_" | "_%_" => &mut self.calculations,
                _ => &mut self.relations,
            };
            *open += 1;
            if *open > MAX_DEPTH {
                return Err(Stop::Depth);
            }
            let right = inner(self)?;
            match function {
                "_+_" | "_-_" | "_*_" | "_/_" | "_%_" => self.calculations -= 1,
                _ => self.relations -= 1,
            }
            left = Node::call(at, function, vec![left, right]);
        }
        self.depth = depth;
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        let first = self.peek();
        match first.kind {
            Tok::Exclam => {
                let count = self.operators(Tok::Exclam);
                let inner = self.member()?;
                Ok(if count.is_multiple_of(2) { inner } else { Node::call(first.at, "!_", vec![inner]) })
            }
            Tok::Minus if !matches!(self.peek_at(1).kind, Tok::Int | Tok::Float) => {
                let count = self.operators(Tok::Minus);
                let inner = self.member()?;
                Ok(if count.is_multiple_of(2) { inner } else { Node::call(first.at, "-_", vec![inner]) })
            }
            _ => self.member(),
        }
    }

    /// Takes operators as long as they repeat.
    fn operators(&mut self, kind: Tok) -> usize {
        let mut count = 0;
        while self.eat(kind).is_some() {
            count += 1;
        }
        count
    }

    fn member(&mut self) -> Parsed {
        let mut node = self.primary()?;
        let depth = self.depth;
        loop {
            let token = self.peek();
            match token.kind {
                Tok::Dot => {
                    self.advance();
                    let optional = self.eat(Tok::Question).is_some();
                    let name = self.peek();
                    match name.kind {
                        Tok::Ident if !optional && self.peek_at(1).kind == Tok::LParen => {
                            self.advance();
                            let open = self.advance();
                            let args = self.arguments()?;
                            node =
                                macros::method(&mut self.builder, token.at, open.at, node, name.text, args);
                        }
                        Tok::Ident | Tok::EscIdent => {
                            self.advance();
                            let field = self.field_name(name, name.at);
                            node = self.builder.select(token.at, optional, node, field);
                        }
                        _ => return Err(self.mismatch("IDENTIFIER")),
                    }
                }
                Tok::LBracket => {
                    self.advance();
                    let optional = self.eat(Tok::Question).is_some();
                    let index = self.expr()?;
                    self.expect(Tok::RBracket)?;
                    if optional && !self.builder.options.optional {
                        self.builder.issue(token.at, "unsupported syntax '[?'");
                    }
                    let function = if optional { "_[?_]" } else { "_[_]" };
                    node = Node::call(token.at, function, vec![node, index]);
                }
                _ => break,
            }
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(Stop::Chain);
            }
        }
        self.depth = depth;
        Ok(node)
    }

    /// The name of a field, without its backticks; where these are refused, the issue is at a
    /// place.
    fn field_name(&mut self, token: Token<'_>, at: Place) -> Str {
        if token.kind == Tok::EscIdent {
            if !self.builder.options.backticks {
                self.builder.issue(at, "unsupported syntax: '`'");
            }
            return token.text.trim_matches('`').into();
        }
        token.text.into()
    }

    fn arguments(&mut self) -> Result<Vec<Node>, Stop> {
        let mut args = Vec::new();
        if self.eat(Tok::RParen).is_some() {
            return Ok(args);
        }
        loop {
            args.push(self.expr()?);
            if self.eat(Tok::Comma).is_none() {
                break;
            }
        }
        self.expect(Tok::RParen)?;
        Ok(args)
    }

    fn primary(&mut self) -> Parsed {
        let token = self.peek();
        match token.kind {
            Tok::Minus | Tok::Int | Tok::Uint | Tok::Float | Tok::Str | Tok::Bytes => self.literal(),
            Tok::True | Tok::False | Tok::Null => self.literal(),
            Tok::LParen => {
                self.advance();
                let inner = self.expr()?;
                self.expect(Tok::RParen)?;
                Ok(inner)
            }
            Tok::LBracket => self.list(),
            Tok::LBrace => self.map(),
            Tok::Dot | Tok::Ident => self.name(),
            _ => Err(self.mismatch(
                "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
            )),
        }
    }

    fn literal(&mut self) -> Parsed {
        let first = self.peek();
        let negative = self.eat(Tok::Minus).is_some();
        if negative && !matches!(self.peek().kind, Tok::Int | Tok::Float) {
            return Err(self.mismatch("{NUM_FLOAT, NUM_INT}"));
        }
        let token = self.advance();
        let value = literal::value(token.kind, token.text, negative).unwrap_or_else(|text| {
            self.builder.issue(first.at, text);
            Value::Null
        });
        Ok(Node::constant(first.at, value))
    }

    /// A name, a call, or a message literal.
    fn name(&mut self) -> Parsed {
        let dot = self.eat(Tok::Dot).is_some();
        let first = self.expect(Tok::Ident)?;
        let lead = if dot { "." } else { "" };
        if self.peek().kind == Tok::LParen {
            let open = self.advance();
            if RESERVED_WORDS.contains(&first.text) {
                self.builder.issue(first.at, format!("reserved identifier: {}", first.text));
            }
            let args = self.arguments()?;
            return Ok(macros::function(&mut self.builder, open.at, &format!("{lead}{}", first.text), args));
        }
        if let Some(names) = self.message_names() {
            let name: String = format!("{lead}{}{names}", first.text);
            return self.message(name.into());
        }
        if RESERVED_WORDS.contains(&first.text) {
            self.builder.issue(first.at, format!("reserved identifier: {}", first.text));
            return Ok(Node::new(first.at, Kind::Const(Value::Null)));
        }
        Ok(Node::ident(first.at, &format!("{lead}{}", first.text)))
    }

    /// The rest of a message's name, taken when an opening brace follows.
    fn message_names(&mut self) -> Option<String> {
        let mut ahead = 0;
        let mut names = String::new();
        while self.peek_at(ahead).kind == Tok::Dot && self.peek_at(ahead + 1).kind == Tok::Ident {
            names.push('.');
            names.push_str(self.peek_at(ahead + 1).text);
            ahead += 2;
        }
        if self.peek_at(ahead).kind != Tok::LBrace {
            return None;
        }
        self.next += ahead;
        Some(names)
    }

    fn message(&mut self, name: Str) -> Parsed {
        let open = self.expect(Tok::LBrace)?;
        let mut fields = Vec::new();
        // Issues about names are at the first of the fields.
        let first = self.peek().at;
        while self.peek().kind != Tok::RBrace && !(fields.is_empty() && self.peek().kind == Tok::Comma) {
            let mark = self.eat(Tok::Question);
            let token = self.peek();
            if !matches!(token.kind, Tok::Ident | Tok::EscIdent) {
                return Err(self.mismatch("{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"));
            }
            self.advance();
            let key = self.field_name(token, first);
            let known = self.builder.issues.len();
            let colon = self.expect(Tok::Colon)?;
            let value = self.expr()?;
            if token.kind == Tok::EscIdent && !self.builder.options.backticks {
                // The value of a refused field is not read.
                self.builder.issues.truncate(known);
            }
            if mark.is_some() && !self.builder.options.optional {
                self.builder.issue(colon.at, "unsupported syntax '?'");
            }
            fields.push(Entry { at: colon.at, key, value, optional: mark.is_some() });
            if self.eat(Tok::Comma).is_none() {
                break;
            }
        }
        self.lone_comma(fields.is_empty());
        self.expect(Tok::RBrace)?;
        Ok(Node::new(open.at, Kind::Struct { name, fields }))
    }

    fn list(&mut self) -> Parsed {
        let open = self.expect(Tok::LBracket)?;
        let (mut items, mut optional) = (Vec::new(), Vec::new());
        while self.peek().kind != Tok::RBracket && !(items.is_empty() && self.peek().kind == Tok::Comma) {
            if let Some(mark) = self.eat(Tok::Question) {
                if !self.builder.options.optional {
                    self.builder.issue(mark.at, "unsupported syntax '?'");
                }
                optional.push(items.len());
            }
            items.push(self.expr()?);
            if self.eat(Tok::Comma).is_none() {
                break;
            }
        }
        self.lone_comma(items.is_empty());
        self.expect(Tok::RBracket)?;
        Ok(Node::new(open.at, Kind::List { items, optional }))
    }

    /// A comma is enough between brackets.
    fn lone_comma(&mut self, empty: bool) {
        if empty {
            self.eat(Tok::Comma);
        }
    }

    fn map(&mut self) -> Parsed {
        let open = self.expect(Tok::LBrace)?;
        let mut entries = Vec::new();
        while self.peek().kind != Tok::RBrace && !(entries.is_empty() && self.peek().kind == Tok::Comma) {
            let mark = self.eat(Tok::Question);
            let key = self.expr()?;
            let colon = self.expect(Tok::Colon)?;
            let value = self.expr()?;
            if mark.is_some() && !self.builder.options.optional {
                self.builder.issue(colon.at, "unsupported syntax '?'");
            }
            entries.push(Entry { at: colon.at, key, value, optional: mark.is_some() });
            if self.eat(Tok::Comma).is_none() {
                break;
            }
        }
        self.lone_comma(entries.is_empty());
        self.expect(Tok::RBrace)?;
        Ok(Node::new(open.at, Kind::Map(entries)))
    }
}

/// A chain as a balanced tree; `places` are those of the operators between the terms.
fn balanced(function: &str, terms: &mut std::vec::IntoIter<Node>, places: &[Place]) -> Node {
    if places.is_empty() {
        return terms.next().unwrap_or_else(|| Node::constant(0, Value::Null));
    }
    let middle = places.len() / 2;
    let at = places.get(middle).copied().unwrap_or(0);
    let left = balanced(function, terms, places.get(..middle).unwrap_or_default());
    let right = balanced(function, terms, places.get(middle + 1..).unwrap_or_default());
    Node::call(at, function, vec![left, right])
}
