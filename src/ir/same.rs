//! Whether two expressions are the same.
//!
//! In: two expressions. Out: whether they have the same nodes with the same parameters. Constants are compared
//! by [`Identity`], functions by their rows of the registry. Expressions that are equal give equal results at
//! equal cost; those that differ may do so as well.

use std::hash::{Hash, Hasher};

use super::Expr;
use super::expr::{Cmp, Faults, Missing, Over};
use super::strict::{Guard, Known, LoopKind, Make, Step, Walk};
use super::walk::children;
use crate::functions::{Function, Higher};
use crate::value::Str;
use crate::value::identity::Identity;

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        node(self) == node(other) && below(self) == below(other)
    }
}

impl Eq for Expr {}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        node(self).hash(state);
        below(self).hash(state);
    }
}

fn below(expr: &Expr) -> Vec<&Expr> {
    let mut all = Vec::new();
    children(expr, &mut |e, _| all.push(e));
    all
}

/// What a node is, its children aside.
#[derive(PartialEq, Eq, Hash)]
enum Node<'e> {
    Const(Identity<'e>),
    Root,
    Local(u32),
    Path(&'e [Str], Missing),
    Index(i64),
    Slice([Option<i64>; 3]),
    Let,
    Rescue(Faults),
    Not,
    Or,
    And,
    Compare(Cmp),
    /// Whether there is a filter, and a body.
    Project(Over, bool, bool),
    Flatten,
    List,
    Object(Vec<&'e Str>),
    UnlessNull,
    Call(&'static Function),
    Higher(Higher, &'static Function),
    Lambda(&'e str),
    Walk(Steps<'e>),
    Test(Steps<'e>, &'e str),
    Cond,
    Decide(bool),
    Lazy(u32),
    Charged(&'e [u64], Identity<'e>),
    Invoke(&'static Function, Known, &'e [Guard]),
    OneOf(Vec<Identity<'e>>),
    MakeList(&'e [usize]),
    MakeMap(Vec<bool>),
    MakeStruct(&'e str, Vec<(&'e Str, bool)>),
    Loop {
        kind: LoopKind,
        two: bool,
        filters: bool,
        wraps: bool,
    },
    Bind,
    OrElse {
        unwrap: bool,
        eager: bool,
    },
    Once(u32),
    Cells(u32),
    Fail(&'e str),
}

/// The steps of a walk, and whether it is charged.
#[derive(PartialEq, Eq, Hash)]
struct Steps<'e>(Vec<StepOf<'e>>, bool);

#[derive(PartialEq, Eq, Hash)]
enum StepOf<'e> {
    Key(Identity<'e>, bool),
    Field(&'e str),
    At(bool),
}

fn steps(walk: &Walk) -> Steps<'_> {
    let Walk { base: _, steps, charged } = walk;
    fn of(step: &Step) -> StepOf<'_> {
        match step {
            Step::Key { key, optional } => StepOf::Key(Identity(key), *optional),
            Step::Field(name) => StepOf::Field(name),
            Step::At { index: _, optional } => StepOf::At(*optional),
        }
    }
    Steps(steps.iter().map(of).collect(), *charged)
}

fn node(expr: &Expr) -> Node<'_> {
    match expr {
        Expr::Const(v) => Node::Const(Identity(v)),
        Expr::Root => Node::Root,
        Expr::Local(n) => Node::Local(*n),
        Expr::Path { base: _, keys, scalar } => Node::Path(keys, *scalar),
        Expr::Index { base: _, index } => Node::Index(*index),
        Expr::Slice { base: _, bounds } => Node::Slice(*bounds),
        Expr::Let { value: _, body: _ } => Node::Let,
        Expr::Rescue { expr: _, faults } => Node::Rescue(*faults),
        Expr::Not(_) => Node::Not,
        Expr::Or(_) => Node::Or,
        Expr::And(_) => Node::And,
        Expr::Compare { op, sides: _ } => Node::Compare(*op),
        Expr::Project { over, source: _, keep, body } => Node::Project(*over, keep.is_some(), body.is_some()),
        Expr::Flatten(_) => Node::Flatten,
        Expr::List(_) => Node::List,
        Expr::Object(pairs) => Node::Object(pairs.iter().map(|(k, _)| k).collect()),
        Expr::UnlessNull(_) => Node::UnlessNull,
        Expr::Call { function, args: _ } => Node::Call(function),
        Expr::Higher { kind, function, args: _ } => Node::Higher(*kind, function),
        Expr::Lambda { body: _, text } => Node::Lambda(text),
        Expr::Walk(walk) => Node::Walk(steps(walk)),
        Expr::Test(test) => Node::Test(steps(&test.walk), &test.key),
        Expr::Cond(_) => Node::Cond,
        Expr::Decide { all, sides: _ } => Node::Decide(*all),
        Expr::Lazy(n) => Node::Lazy(*n),
        Expr::Charged(charged) => Node::Charged(&charged.charges, Identity(&charged.value)),
        Expr::Invoke(invoke) => Node::Invoke(invoke.function, invoke.known, &invoke.guards),
        Expr::OneOf { value: _, set } => Node::OneOf(set.iter().map(Identity).collect()),
        Expr::Make(make) => match &**make {
            Make::List(_, optional) => Node::MakeList(optional),
            Make::Map(entries) => Node::MakeMap(entries.iter().map(|(.., optional)| *optional).collect()),
            Make::Struct(name, fields) => {
                Node::MakeStruct(name, fields.iter().map(|(k, _, optional)| (k, *optional)).collect())
            }
        },
        Expr::Loop(l) => Node::Loop { kind: l.kind, two: l.two, filters: l.keep.is_some(), wraps: l.wraps },
        Expr::Bind(_) => Node::Bind,
        Expr::OrElse { sides: _, unwrap, eager } => Node::OrElse { unwrap: *unwrap, eager: *eager },
        Expr::Once { cell, expr: _ } => Node::Once(*cell),
        Expr::Cells { count, body: _ } => Node::Cells(*count),
        Expr::Fail { args: _, text } => Node::Fail(text),
    }
}
