//! Cleaning a layer once its anchors are decided.
//!
//! Conditions go; what they hold besides further conditions stays and is merged. Empty objects and
//! what becomes empty without them go. Items are removed at their original position from a list
//! that gets shorter, so with several of them the wrong ones go: policies depend on the reference's
//! results.

use ephor_ir::mutate::{Member, Node};
use ephor_ir::shape::Anchor;

use super::layer::{Which, holds_anchor};

/// A list got too short for what was to be removed from it. The reference ends here altogether.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort;

impl std::error::Error for TooShort {}

impl std::fmt::Display for TooShort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("more items with anchors than the list can lose")
    }
}

fn is_condition(m: &Member) -> bool {
    matches!(m.anchor, Anchor::Condition | Anchor::Global)
}

/// Keeps the members for which `goes` is false.
fn retain(
    members: &mut Vec<Member>,
    goes: impl Fn(&mut Member) -> Result<bool, TooShort>,
) -> Result<(), TooShort> {
    let mut rest = Vec::with_capacity(members.len());
    for mut m in members.drain(..) {
        if !goes(&mut m)? {
            rest.push(m);
        }
    }
    *members = rest;
    Ok(())
}

/// Cleans a whole document: its members one by one, their own anchors stay as text.
///
/// # Errors
/// See [`TooShort`].
pub fn finish(document: &mut Node) -> Result<(), TooShort> {
    let Node::Map(members) = document else { return Ok(()) };
    retain(members, |m| {
        let condition = is_condition(m);
        strip(&mut m.value, condition)
    })
}

/// Cleans a node; whether it should go. `condition`: it is the value of one.
///
/// # Errors
/// See [`TooShort`].
pub fn strip(node: &mut Node, condition: bool) -> Result<bool, TooShort> {
    match node {
        Node::Scalar(_) => Ok(condition),
        Node::Map(members) => {
            retain(members, |m| Ok(is_condition(m) && strip(&mut m.value, true)?))?;
            members.iter_mut().filter(|m| is_condition(m)).for_each(Member::lose_anchor);
            retain(members, |m| strip(&mut m.value, false))?;
            Ok(members.is_empty())
        }
        Node::List(items) => {
            let was_empty = items.is_empty();
            let mut gone = vec![false; items.len()];
            let mut lost = 0;
            for (original, item) in items.iter_mut().enumerate() {
                // Items that are gone keep deciding about others.
                if holds_anchor(item, Which::Any) || strip(item, false)? {
                    // In the shorter list this position holds a later item.
                    *gone.get_mut(original + lost).ok_or(TooShort)? = true;
                    lost += 1;
                }
            }
            let mut gone = gone.into_iter();
            items.retain(|_| !gone.next().unwrap_or(false));
            Ok(items.is_empty() && !was_empty)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::lower;
    use ephor_document::yaml_value;
    use ephor_ir::mutate::Layer;

    /// The document without its conditions, as text; or why there is none.
    fn cleaned(text: &str) -> Result<String, TooShort> {
        let Some(Layer::Anchored(mut node)) = lower(&yaml_value(text).unwrap()) else { panic!("{text}") };
        finish(&mut node)?;
        Ok(ephor_value::print::json(&node.to_value()))
    }

    #[test]
    fn conditions_go_with_their_scalars_and_leave_what_they_hold_besides() {
        for (text, expected) in [
            ("{a: {(b): x, c: 1}}", r#"{"a":{"c":1}}"#),
            ("{a: {(b): {c: 1, (d): 2}}}", r#"{"a":{"b":{"c":1}}}"#),
            ("{a: {<(b): x}, c: 1}", r#"{"c":1}"#),
            ("{a: {(b): x}}", "{}"),
            ("{a: {+(b): x}}", r#"{"a":{"+(b)":"x"}}"#),
        ] {
            assert_eq!(cleaned(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn items_with_anchors_leave_their_list() {
        assert_eq!(cleaned("{a: [{(k): x, v: 1}, {v: 2}]}").as_deref(), Ok(r#"{"a":[{"v":2}]}"#));
        assert_eq!(cleaned("{a: [{v: 2}, {(k): x, v: 1}], b: 1}").as_deref(), Ok(r#"{"a":[{"v":2}],"b":1}"#));
        assert_eq!(cleaned("{a: [{(k): x}], b: 1}").as_deref(), Ok(r#"{"b":1}"#));
    }

    #[test]
    fn the_second_item_that_leaves_a_list_takes_the_one_behind_it() {
        let text = "{a: [{(k): x}, {(k): z}, {v: 3}, {v: 4}]}";
        assert_eq!(cleaned(text).as_deref(), Ok(r#"{"a":[{"(k)":"z"},{"v":4}]}"#));
        assert_eq!(cleaned("{a: [{v: 1}, {(k): x}, {(k): z}]}"), Err(TooShort));
    }
}
