//! Tokens → syntax tree: an operator-precedence parser.
//!
//! Depth is bounded: an expression whose tree is higher than [`MAX_HEIGHT`] is refused, because
//! everything that walks the tree recurses.

use ephor_document::decode_json;
use ephor_value::Value;
use ephor_value::number::strconv;

use super::SyntaxError;
use super::ast::{Ast, Comparator};
use super::lexer::{Kind, Token, tokenize};

/// The highest tree that is accepted.
pub const MAX_HEIGHT: usize = 256;

/// Below this binding power a token ends the right side of a projection.
const PROJECTION_STOP: u8 = 10;

type Parsed = Result<Ast, SyntaxError>;

/// Parses an expression.
///
/// # Errors
/// Kyverno 1.19.1's text with the byte offset; see [`SyntaxError`].
pub fn parse(text: &str) -> Parsed {
    let mut parser = Parser { tokens: tokenize(text)?, at: 0, depth: 0 };
    let ast = parser.expression(0)?;
    match parser.current() {
        Kind::Eof => Ok(ast),
        other => {
            Err(parser.error(format!("Unexpected token at the end of the expression: {}", other.name())))
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn token(&self, ahead: usize) -> &Token {
        const END: &Token = &Token { kind: Kind::Eof, text: String::new(), at: 0 };
        self.tokens.get(self.at + ahead).or(self.tokens.last()).unwrap_or(END)
    }

    fn current(&self) -> Kind {
        self.token(0).kind
    }

    fn advance(&mut self) -> Token {
        let token = self.token(0).clone();
        self.at += 1;
        token
    }

    fn error(&self, text: impl AsRef<str>) -> SyntaxError {
        SyntaxError::at(self.token(0).at, text)
    }

    fn expect(&mut self, kind: Kind) -> Result<(), SyntaxError> {
        if self.current() == kind {
            self.at += 1;
            return Ok(());
        }
        Err(self.error(format!("Expected {}, received: {}", kind.name(), self.current().name())))
    }

    fn expression(&mut self, power: u8) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_HEIGHT {
            return Err(self.error("expression nests too deeply"));
        }
        let entered = self.depth;
        let start = self.token(0).at;
        let token = self.advance();
        let mut left = self.prefix(token)?;
        while power < self.current().binding_power() {
            // A long chain makes a tree as high as it is long.
            self.depth += 1;
            if self.depth > MAX_HEIGHT {
                return Err(self.error("expression nests too deeply"));
            }
            let token = self.advance();
            left = self.infix(token, left, start)?;
        }
        self.depth = entered - 1;
        Ok(left)
    }

    fn boxed(&mut self, power: u8) -> Result<Box<Ast>, SyntaxError> {
        Ok(Box::new(self.expression(power)?))
    }

    fn prefix(&mut self, token: Token) -> Parsed {
        match token.kind {
            Kind::Json => decode_json(&token.text)
                .map(Ast::Literal)
                .map_err(|e| SyntaxError::raw(token.at, e.to_string())),
            Kind::String => Ok(Ast::Literal(Value::from(token.text))),
            Kind::Identifier => Ok(Ast::Field(token.text, token.at)),
            Kind::QuotedIdentifier if self.current() == Kind::LParen => {
                Err(SyntaxError::at(token.at, "Can't have quoted identifier as function Name."))
            }
            Kind::QuotedIdentifier => Ok(Ast::Field(token.text, token.at)),
            Kind::Star => {
                let right = match self.current() {
                    Kind::RBracket => Ast::Identity,
                    _ => self.projection_right(Kind::Star.binding_power())?,
                };
                Ok(Ast::ValueProjection(Box::new([Ast::Identity, right])))
            }
            Kind::Filter => self.filter(Ast::Identity),
            Kind::LBrace => self.multi_select_hash(),
            Kind::Flatten => {
                let left = Ast::Flatten(Box::new(Ast::Identity));
                let right = self.projection_right(Kind::Flatten.binding_power())?;
                Ok(Ast::Projection(Box::new([left, right])))
            }
            Kind::LBracket => match self.current() {
                // Kyverno drops this error and continues with a node that cannot be evaluated.
                Kind::Number | Kind::Colon => match self.index() {
                    Ok(right) => self.project_if_slice(Ast::Identity, right),
                    Err(_) => Ok(Ast::Empty(token.at)),
                },
                Kind::Star if self.token(1).kind == Kind::RBracket => {
                    self.at += 2;
                    let right = self.projection_right(Kind::Star.binding_power())?;
                    Ok(Ast::Projection(Box::new([Ast::Identity, right])))
                }
                _ => self.multi_select_list(),
            },
            Kind::Current => Ok(Ast::Current),
            Kind::Expref => Ok(Ast::Expref(self.boxed(Kind::Expref.binding_power())?)),
            Kind::Not => Ok(Ast::Not(self.boxed(Kind::Not.binding_power())?)),
            Kind::LParen => {
                let inner = self.expression(0)?;
                self.expect(Kind::RParen)?;
                Ok(inner)
            }
            Kind::Eof => Err(SyntaxError::at(token.at, "Incomplete expression")),
            other => Err(SyntaxError::at(token.at, format!("Invalid token: {}", other.name()))),
        }
    }

    /// `start` is where `left` begins.
    fn infix(&mut self, token: Token, left: Ast, start: usize) -> Parsed {
        let power = token.kind.binding_power();
        let comparator = match token.kind {
            Kind::Eq => Some(Comparator::Eq),
            Kind::Ne => Some(Comparator::Ne),
            Kind::Lt => Some(Comparator::Lt),
            Kind::Lte => Some(Comparator::Lte),
            Kind::Gt => Some(Comparator::Gt),
            Kind::Gte => Some(Comparator::Gte),
            _ => None,
        };
        if let Some(c) = comparator {
            let right = self.expression(power)?;
            return Ok(Ast::Comparator(c, Box::new([left, right])));
        }
        match token.kind {
            Kind::Dot if self.current() == Kind::Star => {
                self.at += 1;
                let right = self.projection_right(power)?;
                Ok(Ast::ValueProjection(Box::new([left, right])))
            }
            Kind::Dot => Ok(Ast::Subexpression(Box::new([left, self.dot_right(power)?]))),
            Kind::Pipe => Ok(Ast::Pipe(Box::new([left, self.expression(power)?]))),
            Kind::Or => Ok(Ast::Or(Box::new([left, self.expression(power)?]))),
            Kind::And => Ok(Ast::And(Box::new([left, self.expression(power)?]))),
            Kind::LParen => self.call(left, start),
            Kind::Filter => self.filter(left),
            Kind::Flatten => {
                let left = Ast::Flatten(Box::new(left));
                let right = self.projection_right(power)?;
                Ok(Ast::Projection(Box::new([left, right])))
            }
            Kind::LBracket => match self.current() {
                Kind::Number | Kind::Colon => {
                    let right = self.index()?;
                    self.project_if_slice(left, right)
                }
                _ => {
                    self.expect(Kind::Star)?;
                    self.expect(Kind::RBracket)?;
                    let right = self.projection_right(Kind::Star.binding_power())?;
                    Ok(Ast::Projection(Box::new([left, right])))
                }
            },
            // Kyverno names the token and points behind it.
            other => Err(self.error(format!("Unexpected token: {}", other.name()))),
        }
    }

    /// The callee's name is the value of whatever stands before the parenthesis (reference bug).
    fn call(&mut self, callee: Ast, start: usize) -> Parsed {
        let name = match callee {
            Ast::Field(name, _) | Ast::Function(Some(name), ..) => Some(name),
            Ast::Literal(v) => v.as_str().map(str::to_string),
            _ => None,
        };
        let mut args = Vec::new();
        while self.current() != Kind::RParen {
            args.push(self.expression(0)?);
            if self.current() == Kind::Comma {
                self.at += 1;
            }
        }
        self.expect(Kind::RParen)?;
        Ok(Ast::Function(name, args, start))
    }

    fn dot_right(&mut self, power: u8) -> Parsed {
        match self.current() {
            Kind::Identifier | Kind::QuotedIdentifier | Kind::Star => self.expression(power),
            Kind::LBracket => {
                self.at += 1;
                self.multi_select_list()
            }
            Kind::LBrace => {
                self.at += 1;
                self.multi_select_hash()
            }
            _ => Err(self.error("Expected identifier, lbracket, or lbrace")),
        }
    }

    fn projection_right(&mut self, power: u8) -> Parsed {
        match self.current() {
            k if k.binding_power() < PROJECTION_STOP => Ok(Ast::Identity),
            Kind::LBracket | Kind::Filter => self.expression(power),
            Kind::Dot => {
                self.at += 1;
                self.dot_right(power)
            }
            _ => Err(self.error("Error")),
        }
    }

    fn filter(&mut self, left: Ast) -> Parsed {
        let condition = self.expression(0)?;
        self.expect(Kind::RBracket)?;
        let right = match self.current() {
            Kind::Flatten => Ast::Identity,
            _ => self.projection_right(Kind::Filter.binding_power())?,
        };
        Ok(Ast::Filter(Box::new([left, right, condition])))
    }

    fn index(&mut self) -> Parsed {
        if self.current() == Kind::Colon || self.token(1).kind == Kind::Colon {
            return self.slice();
        }
        let n = integer(self.token(0))?;
        self.at += 1;
        self.expect(Kind::RBracket)?;
        Ok(Ast::Index(n))
    }

    fn slice(&mut self) -> Parsed {
        let mut parts = [None; 3];
        let start = self.token(0).at;
        let mut part = 0;
        while self.current() != Kind::RBracket && part < 3 {
            match self.current() {
                Kind::Colon => part += 1,
                Kind::Number => {
                    let n = integer(self.token(0))?;
                    if let Some(slot) = parts.get_mut(part) {
                        *slot = Some(n);
                    }
                }
                other => {
                    return Err(self.error(format!("Expected tColon or tNumber, received: {}", other.name())));
                }
            }
            self.at += 1;
        }
        self.expect(Kind::RBracket)?;
        Ok(Ast::Slice(parts, start))
    }

    fn project_if_slice(&mut self, left: Ast, right: Ast) -> Parsed {
        let is_slice = matches!(right, Ast::Slice(..));
        let indexed = Ast::IndexExpression(Box::new([left, right]));
        if !is_slice {
            return Ok(indexed);
        }
        let right = self.projection_right(Kind::Star.binding_power())?;
        Ok(Ast::Projection(Box::new([indexed, right])))
    }

    fn multi_select_list(&mut self) -> Parsed {
        let mut items = Vec::new();
        loop {
            items.push(self.expression(0)?);
            if self.current() == Kind::RBracket {
                break;
            }
            self.expect(Kind::Comma)?;
        }
        self.at += 1;
        Ok(Ast::MultiSelectList(items))
    }

    fn multi_select_hash(&mut self) -> Parsed {
        let mut pairs = Vec::new();
        loop {
            if !matches!(self.current(), Kind::Identifier | Kind::QuotedIdentifier) {
                return Err(self.error("Expected tQuotedIdentifier or tUnquotedIdentifier"));
            }
            let key = self.advance().text;
            self.expect(Kind::Colon)?;
            pairs.push((key, self.expression(0)?));
            match self.current() {
                Kind::Comma => self.at += 1,
                Kind::RBrace => {
                    self.at += 1;
                    return Ok(Ast::MultiSelectHash(pairs));
                }
                _ => {}
            }
        }
    }
}

fn integer(token: &Token) -> Result<i64, SyntaxError> {
    strconv("Atoi", &token.text).map_err(|e| SyntaxError::raw(token.at, e.to_string()))
}
