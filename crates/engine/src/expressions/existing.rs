//! Objects that exist already and that a policy changes because of a request.
//!
//! In: a rule that matches a request. Out: whether its conditions hold, and the objects that an
//! expression of the policy returns. Semantics: `docs/semantics/cel-policies.md`, "Changes";
//! `docs/reference/cluster.md`, "Background work".

use std::fmt::Display;

use crate::matched::MatchedRule;
use crate::outcome::{RuleOutcome, Status};
use crate::view::request::{Absent, root};
use ephor_ir::expressions::Source;
use ephor_ir::rule::Body;
use ephor_value::Value;

use super::entered::{broken, enter};

/// The objects that a policy changes because of a request.
#[derive(Debug, Default)]
pub enum Targets {
    /// None: the policy does not apply to the request.
    #[default]
    None,
    /// They cannot be found; the result says why.
    Failed(Box<RuleOutcome>),
    /// Those that the rule for existing objects selects.
    Selected,
    /// Those that an expression returned.
    Returned(Vec<Value>),
}

/// The objects that a rule changes because of a request that it matches.
pub(crate) fn targets(matched: MatchedRule<'_, '_>) -> Targets {
    let MatchedRule { rule, request, .. } = matched;
    let (Some(expressions), Body::Mutate(mutation)) = (&rule.expressions, &rule.body) else {
        return Targets::None;
    };
    let Some(existing) = &mutation.existing else { return Targets::None };
    let seen = root(request, Absent::Empty);
    let scope = match enter(matched, expressions, &seen, &request.functions) {
        Ok(scope) => scope,
        Err(result) if result.status == Status::Skip => return Targets::None,
        Err(result) => return Targets::Failed(result),
    };
    let failed = |source: &Source, cause: &dyn Display| {
        let text = format!("{}: {cause}", source.origin.path);
        Targets::Failed(Box::new(broken(rule, expressions, &text)))
    };
    let Some(source) = &existing.returned_by else { return Targets::Selected };
    match scope.value(&source.program) {
        Ok(Value::Null) => Targets::Returned(Vec::new()),
        Ok(found) if found.as_map().is_some() => Targets::Returned(match found.get("items") {
            Some(Value::List(all)) => all.to_vec(),
            _ => vec![found],
        }),
        Ok(_) => failed(source, &"it returns no object"),
        Err(failure) => failed(source, &failure),
    }
}
