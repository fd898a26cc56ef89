//! Policies on check requests of proxies: whether a request may pass.
//!
//! In: a policy and a check request. Out: the first answer that an expression gives, as a result.
//! Semantics: `docs/semantics/cel-policies.md`, "Check requests".

use crate::outcome::{RuleOutcome, Status};
use ephor_functions::Context;
use ephor_functions::cel::proxy::{Answer, answer};
use ephor_ir::Policy;
use ephor_ir::expressions::{Proxy, View};
use ephor_ir::rule::Body;
use ephor_value::Value;

use super::Scope;
use crate::view::request::{RequestPart, rooted};

/// See the module page; none where the policy is about other requests.
pub fn run(policy: &Policy, request: &Value, proxy: Proxy, functions: &Context) -> Option<RuleOutcome> {
    let rule = policy.rules.first()?;
    let (Some(expressions), Body::Answer(programs)) = (&rule.expressions, &rule.body) else { return None };
    let View::CheckRequest(of) = expressions.view else { return None };
    if of != proxy {
        return None;
    }
    let root = rooted([(RequestPart::Object, request.clone())]);
    let scope = Scope::of_rule(&root, expressions, functions);
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
