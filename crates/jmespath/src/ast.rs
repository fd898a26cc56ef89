//! The syntax tree and its two texts: the tree of `jp parse` and the one-line form of type errors.

use std::fmt::Write;

use ephor_value::Value;
use ephor_value::print::{display, go_syntax};
use ephor_value::quote::quote;

use super::lexer::Kind;

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Lte,
    /// `>`
    Gt,
    /// `>=`
    Gte,
}

impl Comparator {
    fn token(self) -> Kind {
        match self {
            Comparator::Eq => Kind::Eq,
            Comparator::Ne => Kind::Ne,
            Comparator::Lt => Kind::Lt,
            Comparator::Lte => Kind::Lte,
            Comparator::Gt => Kind::Gt,
            Comparator::Gte => Kind::Gte,
        }
    }
}

/// A node of the syntax tree. Pairs are (left, right). Nodes that can fail on their own know the
/// byte of the expression at which they stand.
#[derive(Clone, Debug)]
pub enum Ast {
    /// What a broken index at the start of an expression leaves behind; fails when evaluated.
    Empty(usize),
    /// `a == b` and its like.
    Comparator(Comparator, Box<[Ast; 2]>),
    /// `@`
    Current,
    /// `&expr`
    Expref(Box<Ast>),
    /// `name(args)`; without a name when the callee was no name.
    Function(Option<String>, Vec<Ast>, usize),
    /// A key.
    Field(String, usize),
    /// `left[?condition].right`: left, right, condition.
    Filter(Box<[Ast; 3]>),
    /// `expr[]`
    Flatten(Box<Ast>),
    /// The current node where nothing is written.
    Identity,
    /// `[n]`
    Index(i64),
    /// `left[n]` or `left[a:b:c]`
    IndexExpression(Box<[Ast; 2]>),
    /// A constant.
    Literal(Value),
    /// `{a: x, b: y}`
    MultiSelectHash(Vec<(String, Ast)>),
    /// `[x, y]`
    MultiSelectList(Vec<Ast>),
    /// `a || b`
    Or(Box<[Ast; 2]>),
    /// `a && b`
    And(Box<[Ast; 2]>),
    /// `!a`
    Not(Box<Ast>),
    /// `a | b`
    Pipe(Box<[Ast; 2]>),
    /// `left[*].right`
    Projection(Box<[Ast; 2]>),
    /// `a.b`
    Subexpression(Box<[Ast; 2]>),
    /// `a:b:c`
    Slice([Option<i64>; 3], usize),
    /// `left.*.right`
    ValueProjection(Box<[Ast; 2]>),
}

impl Ast {
    fn name(&self) -> (&'static str, u8) {
        match self {
            Ast::Empty(_) => ("ASTEmpty", 0),
            Ast::Comparator(..) => ("ASTComparator", 1),
            Ast::Current => ("ASTCurrentNode", 2),
            Ast::Expref(_) => ("ASTExpRef", 3),
            Ast::Function(..) => ("ASTFunctionExpression", 4),
            Ast::Field(..) => ("ASTField", 5),
            Ast::Filter(_) => ("ASTFilterProjection", 6),
            Ast::Flatten(_) => ("ASTFlatten", 7),
            Ast::Identity => ("ASTIdentity", 8),
            Ast::Index(_) => ("ASTIndex", 9),
            Ast::IndexExpression(_) => ("ASTIndexExpression", 10),
            Ast::Literal(_) => ("ASTLiteral", 12),
            Ast::MultiSelectHash(_) => ("ASTMultiSelectHash", 13),
            Ast::MultiSelectList(_) => ("ASTMultiSelectList", 14),
            Ast::Or(_) => ("ASTOrExpression", 15),
            Ast::And(_) => ("ASTAndExpression", 16),
            Ast::Not(_) => ("ASTNotExpression", 17),
            Ast::Pipe(_) => ("ASTPipe", 18),
            Ast::Projection(_) => ("ASTProjection", 19),
            Ast::Subexpression(_) => ("ASTSubexpression", 20),
            Ast::Slice(..) => ("ASTSlice", 21),
            Ast::ValueProjection(_) => ("ASTValueProjection", 22),
        }
    }

    /// The operand nodes, in the order in which the tree shows them.
    pub fn children(&self) -> Vec<&Ast> {
        match self {
            Ast::Comparator(_, p)
            | Ast::IndexExpression(p)
            | Ast::Or(p)
            | Ast::And(p)
            | Ast::Pipe(p)
            | Ast::Projection(p)
            | Ast::Subexpression(p)
            | Ast::ValueProjection(p) => p.iter().collect(),
            Ast::Filter(p) => p.iter().collect(),
            Ast::Expref(e) | Ast::Flatten(e) | Ast::Not(e) => vec![e],
            Ast::Function(_, args, _) => args.iter().collect(),
            Ast::MultiSelectList(items) => items.iter().collect(),
            Ast::MultiSelectHash(pairs) => pairs.iter().map(|(_, v)| v).collect(),
            _ => Vec::new(),
        }
    }

    /// The tree as `jp parse` prints it.
    pub fn tree(&self) -> String {
        let mut out = String::new();
        self.write_tree(&mut out, 0);
        out
    }

    fn write_tree(&self, out: &mut String, indent: usize) {
        let value = match self {
            Ast::Comparator(c, _) => Some(c.token().name().to_string()),
            Ast::Function(name, ..) => name.as_deref().map(quote),
            Ast::Field(name, _) => Some(quote(name)),
            Ast::Index(i) => Some(i.to_string()),
            Ast::Literal(Value::Null) => None,
            Ast::Literal(v) => Some(go_syntax(v)),
            Ast::Slice(bounds, _) => Some(slice_bounds(bounds)),
            _ => None,
        };
        if let Ast::MultiSelectHash(pairs) = self {
            open(out, indent, self.name().0, None, !pairs.is_empty());
            for (key, expr) in pairs {
                open(out, indent + 4, "ASTKeyValPair", Some(&quote(key)), true);
                expr.write_tree(out, indent + 8);
                close(out, indent + 4);
            }
            return close(out, indent);
        }
        let children = self.children();
        open(out, indent, self.name().0, value.as_deref(), !children.is_empty());
        for child in children {
            child.write_tree(out, indent + 4);
        }
        close(out, indent);
    }

    /// The node on one line as type errors show an expression reference: `{5 foo []}`.
    pub fn brief(&self) -> String {
        let value = match self {
            // The number of the token among all of them.
            Ast::Comparator(c, _) => (c.token() as u8).to_string(),
            Ast::Function(Some(name), ..) | Ast::Field(name, _) => name.clone(),
            Ast::Index(i) => i.to_string(),
            Ast::Literal(v) => display(v),
            _ => "<nil>".to_string(),
        };
        let children: Vec<String> = match self {
            Ast::MultiSelectHash(pairs) => {
                pairs.iter().map(|(k, v)| format!("{{11 {k} [{}]}}", v.brief())).collect()
            }
            _ => self.children().into_iter().map(Ast::brief).collect(),
        };
        format!("{{{} {value} [{}]}}", self.name().1, children.join(" "))
    }
}

fn open(out: &mut String, indent: usize, name: &str, value: Option<&str>, children: bool) {
    let pad = " ".repeat(indent);
    let _ = writeln!(out, "{pad}{name} {{");
    if let Some(v) = value {
        let _ = writeln!(out, "{pad}  value: {v}");
    }
    if children {
        let _ = writeln!(out, "{pad}  children: {{");
    }
}

fn close(out: &mut String, indent: usize) {
    let _ = writeln!(out, "{}}}", " ".repeat(indent));
}

/// The bounds of a slice. Kyverno shows the addresses at which it keeps them.
fn slice_bounds(bounds: &[Option<i64>; 3]) -> String {
    let shown = bounds.map(|b| b.map_or("(*int)(nil)".to_string(), |n| n.to_string()));
    format!("[]*int{{{}}}", shown.join(", "))
}
