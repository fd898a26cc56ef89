//! Questions about the matchers of rules.

use ephor_ir::matcher::{Filter, Matcher};

/// Whether a matcher can select requests of an operation.
pub(crate) fn selects(matcher: &Matcher, operation: &str) -> bool {
    let is_any = |filter: &Filter| {
        filter.operations.is_empty() || filter.operations.iter().any(|one| **one == *operation)
    };
    match matcher {
        Matcher::Any(filters) => filters.is_empty() || filters.iter().any(is_any),
        Matcher::All(filters) => filters.iter().all(is_any),
        Matcher::Constraints(constraints) => {
            constraints.rules.is_empty()
                || constraints.rules.iter().any(|rule| rule.operations.has(operation))
        }
    }
}
