//! Places of the object that an expression names.
//!
//! In: an expression of either language. Out: the place whose value it gives, in the object, in the
//! item of a loop or in the element of a `foreach`; nothing where it computes one.

use ephor_analysis::reads::Step;
use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::strict::{ComprehensionKind, Make, Step as Walked};
use ephor_value::{Str, Value};

/// An expression without what changes nothing; variables keep the value that they had first, so
/// their parts are not read.
pub(crate) fn here(expr: &Expr) -> &Expr {
    match expr {
        Expr::Walk(walk) if walk.steps.is_empty() => here(&walk.base),
        Expr::Once { expr, .. } | Expr::Cells { body: expr, .. } => here(expr),
        expr => match expr.invoked() {
            Some((Operation::Unchanged, [one])) => here(one),
            _ => expr,
        },
    }
}

/// The keys under which a value is read, and what it is read of.
pub(crate) fn keys_of(expr: &Expr) -> Option<(&Expr, Vec<Str>)> {
    match here(expr) {
        Expr::Path { base, keys, .. } => {
            let (base, mut all) = keys_of(base)?;
            all.extend(keys.iter().cloned());
            Some((base, all))
        }
        Expr::Walk(walk) => {
            let (base, mut all) = keys_of(&walk.base)?;
            for step in &walk.steps {
                let Walked::Key { key: Value::Str(key), .. } = step else { return None };
                all.push(key.clone());
            }
            Some((base, all))
        }
        other => Some((other, Vec::new())),
    }
}

/// The place of a list of the object; one that is not there may count as empty.
pub(crate) fn list_place(expr: &Expr) -> Option<Vec<Step>> {
    let expr = match here(expr) {
        Expr::OrElse { sides, .. } if is_empty(&sides[1]) => &sides[0],
        expr => expr,
    };
    place_of(expr)
}

/// The list of which a filter chooses items, and what it wants of them.
pub(crate) fn unfiltered(range: &Expr) -> (&Expr, Option<&Expr>) {
    match here(range) {
        Expr::Comprehension(l)
            if l.kind == ComprehensionKind::List && !l.two && matches!(here(&l.body), Expr::Local(0)) =>
        {
            (&l.range, l.keep.as_ref())
        }
        _ => (range, None),
    }
}

/// The lists of the object that a loop walks over, one after the other.
pub(crate) fn lists_in_turn(range: &Expr) -> Option<Vec<Vec<Step>>> {
    match here(range) {
        Expr::Invoke(sum) if sum.function.operation == Operation::Add => {
            let each: Option<Vec<_>> = sum.args.iter().map(lists_in_turn).collect();
            Some(each?.concat())
        }
        one => Some(vec![list_place(one)?]),
    }
}

/// Whether an API server refuses names with wildcards in a list: that of containers.
pub(crate) fn has_plain_names(list: &[Step]) -> bool {
    matches!(list.last(), Some(Step::Key(key))
        if matches!(&**key, "containers" | "initContainers" | "ephemeralContainers"))
}

/// The place of a value of the object.
pub(crate) fn place_of(expr: &Expr) -> Option<Vec<Step>> {
    let (base, keys) = keys_of(expr)?;
    let (first, rest) = keys.split_first()?;
    (matches!(base, Expr::Root) && **first == *"object" && !rest.is_empty())
        .then(|| rest.iter().cloned().map(Step::Key).collect())
}

/// The place of a value in the item of the innermost loop.
pub(crate) fn in_item(expr: &Expr) -> Option<Vec<Step>> {
    let (base, keys) = keys_of(expr)?;
    (matches!(base, Expr::Local(0)) && !keys.is_empty()).then(|| keys.into_iter().map(Step::Key).collect())
}

pub(crate) fn is_empty(expr: &Expr) -> bool {
    match here(expr) {
        Expr::Make(make) => matches!(&**make, Make::List(items, _) if items.is_empty()),
        expr => expr.constant().and_then(Value::as_list).is_some_and(<[Value]>::is_empty),
    }
}

/// The lists of the object of the request that a loop walks over, one after the other.
pub(crate) fn lists_of(list: &Expr) -> Option<Vec<Vec<Step>>> {
    match list {
        Expr::Rescue { expr, .. } | Expr::Flatten(expr) => lists_of(expr),
        Expr::Project { source, keep: None, body: None, .. } => lists_of(source),
        Expr::Let { value, body } => {
            let Expr::UnlessNull(sides) = &**body else { return None };
            let (Expr::Local(0), Expr::List(parts)) = (&sides[0], &sides[1]) else { return None };
            let above = in_object(value)?;
            let part = |part: &Expr| {
                let part = if let Expr::Rescue { expr, .. } = part { expr } else { part };
                let (base, keys) = keys_of(part)?;
                let below = keys.into_iter().map(Step::Key);
                matches!(base, Expr::Local(0)).then(|| above.iter().cloned().chain(below).collect())
            };
            parts.iter().map(part).collect()
        }
        other => Some(vec![in_object(other)?]),
    }
}

/// The place of a value of the object of the request.
pub(crate) fn in_object(expr: &Expr) -> Option<Vec<Step>> {
    let (base, keys) = keys_of(expr)?;
    match (base, &*keys) {
        (Expr::Root, [request, object, rest @ ..])
            if **request == *"request" && **object == *"object" && !rest.is_empty() =>
        {
            Some(rest.iter().cloned().map(Step::Key).collect())
        }
        _ => None,
    }
}

/// The place of a value in the element of a loop.
pub(crate) fn in_element(expr: &Expr) -> Option<Vec<Step>> {
    let (base, keys) = keys_of(expr)?;
    match (base, &*keys) {
        (Expr::Root, [element, rest @ ..]) if **element == *"element" && !rest.is_empty() => {
            Some(rest.iter().cloned().map(Step::Key).collect())
        }
        _ => None,
    }
}

/// Whether a value is the name of the user who sends the request.
pub(crate) fn is_user(expr: &Expr) -> bool {
    keys_of(expr).is_some_and(|(base, keys)| {
        matches!(base, Expr::Root) && keys.iter().map(|key| &**key).eq(["request", "userInfo", "username"])
    })
}
