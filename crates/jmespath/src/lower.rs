//! Syntax tree → IR.
//!
//! The current node of JMESPath becomes a binder: the root at the outermost level, a `Local` inside
//! projections, pipes and multi-selects. Which nodes take a missing key for null is the table of
//! `docs/expressions/jmespath.md`; it is spelled out here once, by wrapping operands in `Rescue`.

use ephor_functions::{self, Run};
use ephor_ir::expr::{Cmp, Expr, Faults, Missing, Over};
use ephor_ir::guard::guard;
use ephor_value::{Str, Value};

use super::{Ast, Comparator};

/// A key of something that is no object is null.
const SCALAR: Missing = Missing::Null;

/// Lowers an expression that starts at the root.
pub fn lower(ast: &Ast) -> Expr {
    guard(node(ast, &Expr::Root))
}

/// Lowers a part of an expression for a current node that is given when it is run: the root is that
/// node.
pub fn lower_part(ast: &Ast) -> Expr {
    node(ast, &Expr::Root)
}

/// The expression for `ast` where `current` is the current node: the root, or the item of the
/// innermost binder. JMESPath cannot name an outer node, so nothing else ever occurs.
fn node(ast: &Ast, current: &Expr) -> Expr {
    match ast {
        Ast::Empty(_) => Expr::fail("Unknown AST node: ASTEmpty"),
        Ast::Current | Ast::Identity => current.clone(),
        Ast::Literal(v) => Expr::Const(v.clone()),
        Ast::Field(name, _) => Expr::get(current.clone(), Str::from(name.as_str()), SCALAR),
        Ast::Index(i) => Expr::Index { base: Box::new(current.clone()), index: *i },
        Ast::Slice(bounds, _) => Expr::Slice { base: Box::new(current.clone()), bounds: *bounds },
        Ast::Subexpression(p) | Ast::IndexExpression(p) => {
            let left = node(&p[0], current);
            follow(left, &p[1])
        }
        Ast::Pipe(p) => {
            let left = Expr::rescue(node(&p[0], current), Faults::MissingAsNull);
            let right = follow(left, &p[1]);
            Expr::rescue(right, Faults::MissingAsNull)
        }
        // An expression reference is true; of keys, items and entries it has none.
        Ast::Or(p) if is_reference(&p[0]) => node(&p[0], current),
        Ast::And(p) if is_reference(&p[0]) => node(&p[1], current),
        Ast::Not(e) if is_reference(e) => Expr::Const(false.into()),
        Ast::Or(p) => {
            let sides = p.each_ref().map(|side| missing_as_null(side, current));
            Expr::Or(Box::new(sides))
        }
        Ast::And(p) => {
            let left = missing_as_null(&p[0], current);
            let right = node(&p[1], current);
            Expr::And(Box::new([left, right]))
        }
        Ast::Not(e) => Expr::Not(Box::new(missing_as_null(e, current))),
        Ast::Comparator(op, p) => {
            let sides = p.each_ref().map(|side| missing_as_null(side, current));
            Expr::Compare { op: cmp(*op), sides: Box::new(sides) }
        }
        Ast::Flatten(e) => Expr::Flatten(Box::new(all_as_null(e, current))),
        Ast::Projection(p) => {
            let source = match &p[0] {
                // The operand of `[]` already absorbs every fault.
                Ast::Flatten(_) => node(&p[0], current),
                left => missing_as_null(left, current),
            };
            projection(Over::Items, source, None, &p[1])
        }
        Ast::ValueProjection(p) => {
            let source = all_as_null(&p[0], current);
            projection(Over::Values, source, None, &p[1])
        }
        Ast::Filter(p) => {
            let source = all_as_null(&p[0], current);
            projection(Over::Items, source, Some(&p[2]), &p[1])
        }
        Ast::MultiSelectList(items) => {
            let items: Vec<Expr> = items.iter().map(|e| missing_as_null(e, current)).collect();
            Expr::UnlessNull(Box::new([current.clone(), Expr::List(items.into())]))
        }
        Ast::MultiSelectHash(pairs) => {
            let pairs: Vec<(Str, Expr)> =
                pairs.iter().map(|(k, e)| (Str::from(k.as_str()), missing_as_null(e, current))).collect();
            Expr::UnlessNull(Box::new([current.clone(), Expr::Object(pairs.into())]))
        }
        Ast::Expref(e) => lambda(e),
        Ast::Function(name, args, _) => call(name.as_deref(), args, current),
    }
}

fn is_reference(ast: &Ast) -> bool {
    matches!(ast, Ast::Expref(_))
}

fn missing_as_null(ast: &Ast, current: &Expr) -> Expr {
    Expr::rescue(node(ast, current), Faults::MissingAsNull)
}

fn all_as_null(ast: &Ast, current: &Expr) -> Expr {
    Expr::rescue(node(ast, current), Faults::AllAsNull)
}

/// Evaluates `right` on the result of `left`. A chain of keys and indexes needs no binder.
fn follow(left: Expr, right: &Ast) -> Expr {
    match right {
        Ast::Field(..) | Ast::Index(_) | Ast::Slice(..) if matches!(left, Expr::Lambda { .. }) => {
            Expr::Const(Value::Null)
        }
        Ast::Field(name, _) => Expr::get(left, Str::from(name.as_str()), SCALAR),
        Ast::Index(i) => Expr::Index { base: Box::new(left), index: *i },
        Ast::Slice(bounds, _) => Expr::Slice { base: Box::new(left), bounds: *bounds },
        Ast::Identity | Ast::Current => left,
        _ if matches!(left, Expr::Root | Expr::Local(_)) => node(right, &left),
        _ => {
            let body = node(right, &Expr::Local(0));
            Expr::Let { value: Box::new(left), body: Box::new(body) }
        }
    }
}

fn projection(over: Over, source: Expr, keep: Option<&Ast>, right: &Ast) -> Expr {
    let item = Expr::Local(0);
    let keep = keep.filter(|k| !is_reference(k));
    let keep = keep.map(|k| Box::new(missing_as_null(k, &item)));
    let body = match right {
        Ast::Identity => None,
        right => Some(Box::new(node(right, &item))),
    };
    Expr::Project { over, source: Box::new(source), keep, body }
}

fn lambda(ast: &Ast) -> Expr {
    let body = node(ast, &Expr::Local(0));
    Expr::Lambda { body: Box::new(body), text: format!("{{{}}}", ast.brief()).into() }
}

fn call(name: Option<&str>, args: &[Ast], current: &Expr) -> Expr {
    let lowered: Box<[Expr]> = args
        .iter()
        .map(|arg| match arg {
            Ast::Expref(e) => lambda(e),
            arg => missing_as_null(arg, current),
        })
        .collect();
    let Some(name) = name else {
        return Expr::Fail { args: lowered, text: "invalid node value type".into() };
    };
    match ephor_functions::find(name) {
        None => Expr::Fail { args: lowered, text: format!("unknown function: {name}").into() },
        Some(function) => match function.run {
            Run::Higher(kind) => Expr::Higher { kind, function, args: lowered },
            Run::Plain(_) | Run::Strict(_) | Run::Node => Expr::Call { function, args: lowered },
        },
    }
}

fn cmp(op: Comparator) -> Cmp {
    match op {
        Comparator::Eq => Cmp::Eq,
        Comparator::Ne => Cmp::Ne,
        Comparator::Lt => Cmp::Lt,
        Comparator::Lte => Cmp::Le,
        Comparator::Gt => Cmp::Gt,
        Comparator::Gte => Cmp::Ge,
    }
}
