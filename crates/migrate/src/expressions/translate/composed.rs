//! Texts with variables and wildcards: `{{ team }}-*`.
//!
//! In: a sum of texts that stands where wildcards count. Out: the test whether a value matches it,
//! where its wildcards stand at the ends; others have no counterpart that reads well, and are
//! refused. Semantics: `docs/semantics/conditions.md`, "Equals, NotEquals".

use ephor_value::wildcard::has_wildcard;

use crate::cel::build::{as_text, binary, flatten, method, text};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::translate::texts;
use ephor_cel::ast::Node;

/// Whether a value matches a sum of texts; `None` where the sum has no wildcards of its own.
///
/// # Errors
/// A wildcard stands inside, or is a `?`.
pub fn matches(value: &Node, sum: &Node, scope: &Scope<'_>) -> Result<Option<Node>> {
    let parts = flatten("_+_", sum.clone());
    if !parts.iter().any(|part| as_text(part).is_some_and(has_wildcard)) {
        return Ok(None);
    }
    if let [one] = &parts[..] {
        return Ok(as_text(one).map(|pattern| texts::matches(value, pattern)));
    }
    let begins = parts.first().and_then(as_text).is_some_and(|s| s.starts_with('*'));
    let ends = parts.last().and_then(as_text).is_some_and(|s| s.ends_with('*'));
    let last = parts.len().saturating_sub(1);
    let cut = |(at, part): (usize, Node)| {
        let Some(mut own) = as_text(&part).map(String::from) else { return Some(part) };
        if at == 0 && begins {
            own.remove(0);
        }
        if at == last && ends {
            own.pop();
        }
        (!own.is_empty()).then(|| text(&own))
    };
    let rest: Vec<Node> = parts.into_iter().enumerate().filter_map(cut).collect();
    if rest.iter().any(|part| as_text(part).is_some_and(has_wildcard)) {
        return Err(scope.refuse(
            "a wildcard inside of a text with variables",
            "compare the beginning and the end of the text",
        ));
    }
    let sum = rest.into_iter().reduce(|sum, part| binary("+", sum, part)).unwrap_or_else(|| text(""));
    let name = match (begins, ends) {
        (true, true) => "contains",
        (true, false) => "endsWith",
        _ => "startsWith",
    };
    Ok(Some(method(value.clone(), name, vec![sum])))
}

/// Whether a sum of texts has wildcards of its own.
pub fn has_wildcards(sum: &Node) -> bool {
    let parts = flatten("_+_", sum.clone());
    parts.len() > 1 && parts.iter().any(|part| as_text(part).is_some_and(has_wildcard))
}
