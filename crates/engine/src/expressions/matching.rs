//! `matchConditions` of webhooks: whether a policy is evaluated for a request at all.
//!
//! In: conditions and a request. Out: whether all are true. Semantics: `docs/reference/serve.md`,
//! "Answers".

use crate::{Request, view};
use ephor_ir::expressions::{RULES, Source};

use super::{ConditionsError, Scope};

/// Whether all conditions on requests are true; a false one wins over faults. They see a request as
/// Kyverno 1.19.1 makes it; where that fails they see the one that was sent, for which an API
/// server has evaluated them before.
///
/// # Errors
/// Why conditions cannot be evaluated, also by an API server.
pub fn admits(conditions: &[Source], request: &Request) -> Result<bool, ConditionsError> {
    if conditions.is_empty() {
        return Ok(true);
    }
    let hold = |root| Scope::new(&root, &request.functions, &RULES).admits(conditions);
    let made = hold(view::rule::match_conditions(request));
    match &request.sent {
        Some(sent) if made.is_err() => hold(view::rule::match_conditions_as_sent(request, sent)).or(made),
        _ => made,
    }
}
