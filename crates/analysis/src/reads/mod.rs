//! What rules read of a request, known before there is one.
//!
//! In: a lowered policy. Out: [`Reads`], the parts of a request that results can depend on, and
//! whether they may depend on more: on the clock, on chance, on external data, which is noted at
//! run time (`functions::untracked`); or [`Untracked`] for a dependency that static analysis cannot
//! see. Two requests that agree in these parts get the same results, so results can be cached
//! (`policy_set::result_cache`).
//!
//! The analysis evaluates a rule on abstract values (`seen`): the places that a value comes from. A
//! part counts as read when something depends on it: on all of it, or on its shape, which is its
//! kind, how many items a list has, whether an object is empty, and the scalar itself.
//!
//! - `abstract_value`: the places that a value comes from
//! - `calls`: calls of functions
//! - `comparisons`: what values are compared with
//! - `expectations`: which types uses of a value expect
//! - `expected_type`: a type that rules expect
//! - `expr`: expressions
//! - `filter`: matchers
//! - `footprint`: `Reads`, `ReadTree` and steps
//! - `pod_security`: fields of Pod Security controls
//! - `reader`: the interpreter
//! - `rule`: policies and rules
//! - `shape`: patterns
//! - `template`: templates
//! - `texts`: texts that steps make of others

pub(crate) mod abstract_value;
pub(crate) mod calls;
pub mod comparisons;
pub mod expectations;
pub mod expected_type;
pub(crate) mod expr;
pub(crate) mod filter;
pub(crate) mod footprint;
pub(crate) mod pod_security;
pub(crate) mod reader;
pub(crate) mod rule;
pub(crate) mod shape;
pub(crate) mod template;
pub mod texts;

pub use rule::{of_policy, reads_namespace, tested_by_policy};

pub use crate::reads::footprint::{GIVEN, NAME_OF_NAMESPACE, ReadTree, Reads, Step, Untracked, UserReads};
pub use crate::reads::rule::of_expression;

#[cfg(test)]
mod tree_tests {
    use ephor_value::Str;

    use super::*;

    fn key(name: &str) -> Step {
        Step::Key(Str::from(name))
    }

    fn compared(tree: &ReadTree) -> bool {
        tree.get("a").is_some_and(|tree| tree.whole && tree.compared)
    }

    #[test]
    fn a_value_is_compared_alone_as_long_as_nothing_else_is_read_of_it() {
        let only = |more: &dyn Fn(&mut ReadTree)| {
            [true, false].map(|first| {
                let mut tree = ReadTree::default();
                if first {
                    tree.add_compared(&[key("a")]);
                }
                more(&mut tree);
                tree.add_compared(&[key("a")]);
                compared(&tree)
            })
        };
        assert_eq!(only(&|_| {}), [true, true]);
        // Its shape is whether it is there.
        assert_eq!(only(&|tree| tree.add(&[key("a")], false)), [true, true]);
        assert_eq!(only(&|tree| tree.add(&[key("a")], true)), [false, false]);
        assert_eq!(only(&|tree| tree.add(&[key("a"), key("b")], false)), [false, false]);
        assert_eq!(only(&|tree| tree.add(&[key("a"), Step::Items], false)), [false, false]);
        assert_eq!(only(&|tree| tree.add_names(&[key("a")])), [false, false]);
        assert_eq!(only(&|tree| tree.add_compared(&[key("a"), key("b")])), [false, false]);
        assert_eq!(only(&|tree| tree.merge(&ReadTree::all())), [false, false]);
    }
}
