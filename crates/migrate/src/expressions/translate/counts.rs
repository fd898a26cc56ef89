//! Two counts of one list.
//!
//! In: two expressions that count items, of which one counts those that pass a test, and the other
//! those of them that pass one more test. Out: that they are equal, said of each item: what passes
//! the first test passes the other one. Nothing in it may fail, as `all` forgives an item that
//! fails where another item decides.

use crate::cel::build::{any, flatten, not, on, over};
use crate::cel::{build, is_same};
use crate::expressions::shared::mapped;
use ephor_cel::ast::Node;

/// Whether two counts are equal, where one counts some of the items that the other counts.
pub fn equal_counts(one: &Node, other: &Node) -> Option<Node> {
    let (one, other) = (target(one, "size")?, target(other, "size")?);
    alike(one, other).or_else(|| alike(other, one))
}

/// A test of the items of lists that are put together as one of each list: the lists have other
/// types.
pub fn of_each_list(node: &Node) -> Node {
    mapped(node, &|node| {
        let (range, var, body) = of_macro(node, "all")?;
        let lists = flatten("_+_", range.clone());
        let of = |list: Node| over(list, "all", var, of_each_list(body));
        (lists.len() > 1).then(|| build::all(lists.into_iter().map(of).collect()))
    })
}

/// That the second list, which has some of the items of the first one, has all of them.
fn alike(all: &Node, some: &Node) -> Option<Node> {
    if let (Some(all), Some(some)) = (target(all, "flatten"), target(some, "flatten")) {
        let (range, var, inner) = of_macro(all, "map")?;
        let (own, same, other) = of_macro(some, "map")?;
        return (var == same && is_same(range, own))
            .then(|| alike(inner, other))?
            .map(|test| over(range.clone(), "all", var, test));
    }
    let (own, var, passing) = of_macro(some, "filter")?;
    let (range, before) = match of_macro(all, "filter") {
        Some((range, same, before)) if same == var && is_same(range, own) => {
            (range, flatten("_&&_", before.clone()))
        }
        _ if is_same(all, own) => (all, Vec::new()),
        _ => return None,
    };
    let mut passing = flatten("_&&_", passing.clone());
    let starts_alike =
        passing.len() > before.len() && before.iter().zip(&passing).all(|(a, b)| is_same(a, b));
    if !starts_alike {
        return None;
    }
    let more = passing.split_off(before.len());
    let passes = build::all(more);
    let mut either: Vec<Node> = before.into_iter().map(not).collect();
    either.push(passes);
    Some(over(range.clone(), "all", var, any(either)))
}

/// What a method without arguments is called on.
fn target<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    on(node, name).filter(|(_, args)| args.is_empty()).map(|(target, _)| target)
}

/// The range, the variable and the body of a macro.
fn of_macro<'n>(node: &'n Node, name: &str) -> Option<(&'n Node, &'n str, &'n Node)> {
    match on(node, name)? {
        (range, [var, body]) => Some((range, var.as_ident()?, body)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::build::{all, binary, equals, int, method, name, select};
    use crate::cel::print;

    fn size(list: Node) -> Node {
        method(list, "size", Vec::new())
    }

    /// `a.map(x, x.c.filter(y, TESTS)).flatten().size()`
    fn count(tests: Vec<Node>) -> Node {
        let inner = over(select(name("x"), "c"), "filter", "y", all(tests));
        size(method(over(name("a"), "map", "x", inner), "flatten", Vec::new()))
    }

    fn is_one() -> Node {
        equals(select(name("y"), "d"), int(1))
    }

    fn said(one: &Node, other: &Node) -> Option<String> {
        equal_counts(one, other).map(|node| print(&node, usize::MAX))
    }

    #[test]
    fn two_counts_are_equal_where_each_item_passes_both_tests() {
        let (few, fewer) = (count(vec![is_one()]), count(vec![is_one(), select(name("y"), "e")]));
        let each = Some("a.all(x, x.c.all(y, y.d != 1 || y.e))".to_string());
        assert_eq!(said(&few, &fewer), each);
        assert_eq!(said(&fewer, &few), each);
        assert_eq!(said(&few, &count(vec![select(name("y"), "e"), is_one()])), None);
        let some = |list: &str| size(over(name(list), "filter", "x", select(name("x"), "b")));
        assert_eq!(said(&size(name("a")), &some("a")), Some("a.all(x, x.b)".into()));
        assert_eq!(said(&size(name("a")), &some("b")), None);
    }

    #[test]
    fn lists_that_are_put_together_are_tested_one_by_one() {
        let inner = over(binary("+", name("c"), name("d")), "all", "y", name("y"));
        let found = of_each_list(&over(binary("+", name("a"), name("b")), "all", "x", inner));
        let wanted = "a.all(x, c.all(y, y) && d.all(y, y)) && b.all(x, c.all(y, y) && d.all(y, y))";
        assert_eq!(print(&found, usize::MAX), wanted);
    }
}
