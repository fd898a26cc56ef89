//! Which part of an expression failed.
//!
//! Evaluation keeps no places: faults are frequent and nearly always absorbed. When one is shown to
//! a user, the tree is walked again, evaluating part by part, down to the innermost part that
//! fails. In: the tree, the document on which evaluating it failed. Out: the byte of the expression
//! at which that part stands.

use ephor_engine::eval::{Env, eval};
use ephor_functions::Context;
use ephor_ir::ops::truthy;
use ephor_jmespath::{Ast, lower};
use ephor_value::{Fault, Value};

/// The place in `ast` at which evaluating it on `current` fails; `None` when it does not, or when
/// the place is unknown.
pub fn blame(ast: &Ast, current: &Value, cx: &Context) -> Option<usize> {
    match ast {
        Ast::Field(_, at) | Ast::Slice(_, at) | Ast::Empty(at) => Some(*at),
        Ast::Subexpression(p) | Ast::IndexExpression(p) | Ast::Pipe(p) => {
            let absorbs = matches!(ast, Ast::Pipe(_));
            match run(&p[0], current, cx) {
                Err(fault) if !(absorbs && fault.is_not_found()) => blame(&p[0], current, cx),
                left => blame(&p[1], &left.unwrap_or_default(), cx),
            }
        }
        Ast::Projection(p) | Ast::ValueProjection(p) => match run(&p[0], current, cx) {
            Err(fault) if matches!(ast, Ast::Projection(_)) && !fault.is_not_found() => {
                blame(&p[0], current, cx)
            }
            source => in_items(&items(&source.unwrap_or_default()), &p[1], cx),
        },
        Ast::Filter(p) => {
            let source = run(&p[0], current, cx).unwrap_or_default();
            for item in items(&source) {
                match run(&p[2], &item, cx) {
                    Err(fault) if !fault.is_not_found() => return blame(&p[2], &item, cx),
                    Ok(test) if truthy(&test) => {
                        if let Some(at) = in_items(&[item], &p[1], cx) {
                            return Some(at);
                        }
                    }
                    _ => {}
                }
            }
            None
        }
        Ast::Function(_, args, at) => {
            let args_of =
                |reference: bool| args.iter().filter(move |a| matches!(a, Ast::Expref(_)) == reference);
            if let Some(inner) = args_of(false).find_map(|arg| if_fails(arg, current, cx)) {
                return Some(inner);
            }
            let lists: Vec<Value> =
                args_of(false).flat_map(|arg| items(&run(arg, current, cx).unwrap_or_default())).collect();
            let inside = args_of(true).find_map(|arg| match arg {
                Ast::Expref(body) => in_items(&lists, body, cx),
                _ => None,
            });
            inside.or(Some(*at))
        }
        Ast::And(p) => if_fails(&p[0], current, cx).or_else(|| blame(&p[1], current, cx)),
        other => other.children().into_iter().find_map(|child| if_fails(child, current, cx)),
    }
}

fn run(ast: &Ast, current: &Value, cx: &Context) -> Result<Value, Fault> {
    let expr = lower::lower(ast);
    eval(&expr, Env::new(current, cx)).map(std::borrow::Cow::into_owned)
}

/// The place where `ast` fails other than by a missing key.
fn if_fails(ast: &Ast, current: &Value, cx: &Context) -> Option<usize> {
    match run(ast, current, cx) {
        Err(fault) if !fault.is_not_found() => blame(ast, current, cx),
        _ => None,
    }
}

fn in_items(items: &[Value], right: &Ast, cx: &Context) -> Option<usize> {
    items.iter().find_map(|item| if_fails(right, item, cx))
}

/// What a projection walks over, nulls of object projections included.
fn items(source: &Value) -> Vec<Value> {
    match source {
        Value::List(list) => list.to_vec(),
        Value::Map(map) => std::iter::once(Value::Null).chain(map.values().cloned()).collect(),
        _ => Vec::new(),
    }
}
