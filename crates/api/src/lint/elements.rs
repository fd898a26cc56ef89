//! The loop variables `element` and `elementIndex` have a meaning only inside a foreach.

use super::subject::{ComputedRule, Finding, Outcome};
use super::substitute::{each_text, slashed};
use ephor_value::place;
use ephor_value::variables::{expression, find_all_variables};

/// Checks that a rule uses loop variables only below a `foreach`.
pub fn check(rule: &ComputedRule<'_>) -> Outcome {
    each_text(rule.value, &mut |text, below| {
        if !text.contains("{{") {
            return Ok(());
        }
        let place = slashed(below);
        if place.contains("/foreach/") {
            return Ok(());
        }
        let found = find_all_variables(text).into_iter().filter_map(|range| text.get(range));
        match found.map(expression).find(|query| query.starts_with("element")) {
            None => Ok(()),
            Some(query) => {
                let mut path = place::parse(&format!("spec.rules[{}]", rule.written));
                path.extend(below.iter().cloned());
                let text = format!("variable '{query}' present outside of foreach at path {place}");
                Err(Finding { text, path })
            }
        }
    })
}
