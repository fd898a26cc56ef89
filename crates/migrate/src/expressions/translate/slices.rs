//! Slices of lists: `parts[1:-1]`.
//!
//! In: a list as a value, and the bounds of a slice. Out: the items between these, in CEL, whose
//! `slice` fails where a list is shorter, while the old one ends with the list. Semantics:
//! `docs/expressions/jmespath.md`, "Projections".

use crate::cel::build::{binary, choose, empty_list, int, method, on, size};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::Val;
use crate::expressions::translate::forms::ty_of;
use crate::expressions::translate::lists::{built, is_list};
use ephor_cel::ast::Node;

/// The items of a list between two bounds; a negative one counts from the end.
///
/// # Errors
/// What is no list, a step, or bounds from both ends, of which either may come first.
pub fn slice(of: &Val, bounds: &[Option<i64>; 3], scope: &mut Scope<'_>) -> Result<Val> {
    let [start, stop, step] = *bounds;
    // What is missing is null, not a list without items.
    let may_be_null = match of {
        Val::Path(path) => !path.fails && !path.is_required(),
        Val::Optional { .. } => true,
        _ => false,
    };
    if !is_list(of) || may_be_null {
        return Err(scope.refuse("a slice of what may be no list", "use a list"));
    }
    if step.is_some_and(|step| step != 1) {
        return Err(scope.refuse("a slice with a step", "name the items"));
    }
    scope.needs_kyverno("a slice of a list")?;
    let ty = ty_of(of);
    let (node, faults) = built(of, scope)?;
    let node = sliced(&node, start.unwrap_or(0), stop).ok_or_else(|| {
        scope.refuse("a slice with bounds from both ends in this order", "count both from one end")
    })?;
    Ok(Val::Node { node, ty, faults })
}

/// The slice of a list; none where its bounds count from the end first and from the beginning then.
fn sliced(of: &Node, start: i64, stop: Option<i64>) -> Option<Node> {
    let size = || size(of.clone());
    let from_end = |back: i64| binary("-", size(), int(back));
    let is_longer = |than: i64| binary(">", size(), int(than));
    let part = |from: Node, to: Node| method(of.clone(), "slice", vec![from, to]);
    let empty = || empty_list();
    // What is taken where the list has more items than a number; with no more, the other.
    let where_longer = |than: i64, then: Node, other: Node| match than < least(of) {
        true => then,
        false => choose(is_longer(than), then, other),
    };
    Some(match (start, stop) {
        (0, None) => of.clone(),
        (from, None) if from > 0 => where_longer(from, part(int(from), size()), empty()),
        (from, None) => {
            let back = from.checked_neg()?;
            where_longer(back, part(from_end(back), size()), of.clone())
        }
        (from, Some(to)) if from >= 0 && to >= 0 => match to > from {
            false => empty(),
            true => {
                let short = match from {
                    0 => of.clone(),
                    _ => choose(is_longer(from), part(int(from), size()), empty()),
                };
                where_longer(to, part(int(from), int(to)), short)
            }
        },
        (from, Some(to)) if from >= 0 => {
            let back = to.checked_neg()?;
            let needed = from.checked_add(back)?;
            // Of a list with just as many items nothing is left.
            let than = if from == 0 { needed.checked_sub(1)? } else { needed };
            where_longer(than, part(int(from), from_end(back)), empty())
        }
        (from, Some(to)) if to < 0 => match to > from {
            false => empty(),
            true => {
                let (back, end) = (from.checked_neg()?, to.checked_neg()?);
                let short = choose(is_longer(end), part(int(0), from_end(end)), empty());
                where_longer(back, part(from_end(back), from_end(end)), short)
            }
        },
        _ => return None,
    })
}

/// How many items a list has at least: a text that is split has a part.
fn least(of: &Node) -> i64 {
    i64::from(on(of, "split").is_some())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::cel::build::name;
    use crate::cel::print;

    fn written(start: i64, stop: Option<i64>) -> String {
        sliced(&name("l"), start, stop).map(|node| print(&node, usize::MAX)).unwrap_or_default()
    }

    #[test]
    fn slices_end_with_the_list() {
        assert_eq!(written(0, None), "l");
        assert_eq!(written(1, None), "l.size() > 1 ? l.slice(1, l.size()) : []");
        assert_eq!(written(-2, None), "l.size() > 2 ? l.slice(l.size() - 2, l.size()) : l");
        assert_eq!(written(0, Some(2)), "l.size() > 2 ? l.slice(0, 2) : l");
        assert_eq!(written(1, Some(-1)), "l.size() > 2 ? l.slice(1, l.size() - 1) : []");
        assert_eq!(written(0, Some(-1)), "l.size() > 0 ? l.slice(0, l.size() - 1) : []");
        assert_eq!(written(2, Some(2)), "[]");
        assert_eq!(written(-1, Some(1)), "");
    }

    #[test]
    fn a_text_that_is_split_has_a_part() {
        let parts = method(name("t"), "split", vec![name("s")]);
        let found = sliced(&parts, 0, Some(-1)).map(|node| print(&node, usize::MAX)).unwrap();
        assert_eq!(found, "t.split(s).slice(0, t.split(s).size() - 1)");
    }
}
