//! Policies on check requests of proxies: whether a request may pass.
//!
//! In: a rule and a request whose object is the check request. Out: the first answer that an
//! expression gives, as a result. Semantics: `docs/semantics/cel-policies.md`, "Check requests".

use crate::matched::MatchedRule;
use crate::outcome::{RuleOutcome, Status};
use ephor_functions::cel::proxy::{Answer, answer};
use ephor_ir::Rule;
use ephor_ir::expressions::{Expressions, Proxy, View};
use ephor_ir::rule::Body;
use ephor_value::Value;

use super::Scope;
use crate::view::request::{RequestPart, rooted};

/// Whether a rule answers check requests of a proxy.
pub(crate) fn concerns(rule: &Rule, proxy: Proxy) -> bool {
    let is_of = |e: &Expressions| matches!(e.view, View::CheckRequest(of) if of == proxy);
    matches!(rule.body, Body::Answer(_)) && rule.expressions.as_deref().is_some_and(is_of)
}

/// See the module page.
pub(crate) fn run(matched: MatchedRule<'_, '_>) -> Option<RuleOutcome> {
    let MatchedRule { policy, rule, request, .. } = matched;
    let (Some(expressions), Body::Answer(programs)) = (&rule.expressions, &rule.body) else { return None };
    let root = rooted([(RequestPart::Object, request.object.clone())]);
    let scope = Scope::of_rule(&root, expressions, &request.functions);
    let result =
        |status, text: &str| Some(RuleOutcome::new(&policy.name, rule.kind, status, text.to_owned()));
    let skipped = || result(Status::Skip, expressions.wording.unmet);
    let failed = |text: &str| match expressions.failure_policy.is_fail() {
        true => result(Status::Error, text),
        false => skipped(),
    };
    match scope.admits(&expressions.conditions) {
        Ok(true) => {}
        Ok(false) => return skipped(),
        Err(error) => return failed(&error.to_string()),
    }
    for program in programs {
        match scope.value(program) {
            Ok(Value::Null) => {}
            Ok(value) => {
                return match answer(&value) {
                    Some(Answer::Allowed) => result(Status::Pass, expressions.wording.passed),
                    Some(Answer::Denied(text)) => result(Status::Fail, &text),
                    None => failed("rule result is expected to be an answer"),
                };
            }
            Err(failure) => return failed(&failure.to_string()),
        }
    }
    skipped()
}
