//! Expressions of the IR as CEL writes them.
//!
//! In: a node, and texts for parts that stand in the resource. Out: its text; nothing for nodes
//! that no expression of a policy is written as, such as items of loops that stand nowhere.

use ephor_ir::Expr;
use ephor_ir::strict::{Make, Step, Walk};
use ephor_value::Value;

use crate::explain::decisions::rendered::render;

/// The text of a node; `known` has the texts of parts.
pub(super) fn text(expr: &Expr, known: &[(Expr, String)]) -> Option<String> {
    if let Some((_, text)) = known.iter().find(|(part, _)| part == expr) {
        return Some(text.clone());
    }
    let of = |expr: &Expr| text(expr, known);
    let all = |parts: &[Expr]| parts.iter().map(|part| operand(part, known)).collect::<Option<Vec<_>>>();
    Some(match expr {
        Expr::Const(value) => render(value),
        Expr::Folded(folded) => render(&folded.value),
        // Names of the request stand alone.
        Expr::Root => String::new(),
        Expr::Path { base, keys, .. } => keys.iter().fold(of(base)?, |base, key| field(&base, "", key)),
        Expr::Walk(walk) => walked(walk, known)?,
        Expr::Test(test) => format!("has({})", field(&walked(&test.walk, known)?, "", &test.key)),
        Expr::OrElse { sides, unwrap, .. } => {
            let [optional, other] = &**sides;
            let name = if *unwrap { "orValue" } else { "or" };
            format!("{}.{name}({})", operand(optional, known)?, of(other)?)
        }
        Expr::Invoke(call) => invoked(call.function.name, &all(&call.args)?)?,
        Expr::OneOf { value, set } => format!("{} in {}", of(value)?, render(&Value::list(set.to_vec()))),
        Expr::Make(make) => match &**make {
            Make::List(items, optional) if optional.is_empty() => format!("[{}]", all(items)?.join(", ")),
            _ => return None,
        },
        Expr::Decide { all: is_and, sides } => all(&**sides)?.join(if *is_and { " && " } else { " || " }),
        Expr::Cond(parts) => match &*all(&**parts)? {
            [condition, yes, no] => format!("{condition} ? {yes} : {no}"),
            _ => return None,
        },
        Expr::Once { expr, .. } | Expr::Cells { body: expr, .. } => of(expr)?,
        _ => return None,
    })
}

/// The text of an operand, in parentheses where it is an operation with sides of its own.
fn operand(expr: &Expr, known: &[(Expr, String)]) -> Option<String> {
    let text = text(expr, known)?;
    let is_known = known.iter().any(|(part, _)| part == expr);
    let has_sides = match expr {
        Expr::Decide { .. } | Expr::Cond(_) | Expr::OneOf { .. } => true,
        Expr::Invoke(call) => call.function.name.starts_with('_') && call.function.name.ends_with('_'),
        _ => false,
    };
    Some(if has_sides && !is_known { format!("({text})") } else { text })
}

fn walked(walk: &Walk, known: &[(Expr, String)]) -> Option<String> {
    let mark = |optional: &bool| if *optional { "?" } else { "" };
    walk.steps.iter().try_fold(operand(&walk.base, known)?, |base, step| {
        Some(match step {
            Step::Field(name) => field(&base, "", name),
            Step::Key { key: Value::Str(name), optional } => field(&base, mark(optional), name),
            Step::Key { key, optional } => format!("{base}[{}{}]", mark(optional), render(key)),
            Step::At { index, optional } => format!("{base}[{}{}]", mark(optional), text(index, known)?),
        })
    })
}

fn field(base: &str, mark: &str, name: &str) -> String {
    let is_name =
        name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.starts_with(char::is_numeric);
    match (base, is_name) {
        ("", true) => name.to_owned(),
        (base, true) => format!("{base}.{mark}{name}"),
        (base, false) => format!("{base}[{mark}{}]", render(&Value::from(name))),
    }
}

/// A call: `a == b` for `_==_`, `a[b]` for `_[_]`, `a.size()` for functions.
fn invoked(name: &str, operands: &[String]) -> Option<String> {
    let parts: Vec<&str> = name.split('_').filter(|part| !part.is_empty()).collect();
    Some(match (&*parts, operands) {
        (["[", "]"], [base, index]) => format!("{base}[{index}]"),
        ([operator], [left, right]) if name.starts_with('_') || name.starts_with('@') => {
            format!("{left} {} {right}", operator.trim_matches('@'))
        }
        ([operator], [one]) if name.ends_with('_') => format!("{operator}{one}"),
        (_, [receiver, arguments @ ..]) if !name.contains(['_', '@']) => {
            format!("{receiver}.{name}({})", arguments.join(", "))
        }
        _ => return None,
    })
}
