//! Policies on check requests of proxies: whether a request may pass.
//!
//! In: a policy and a check request. Out: the first answer that an expression gives, as a result. Semantics:
//! `docs/cel-policies.md`, "Check requests".

use std::borrow::Cow;

use crate::engine::outcome::{RuleOutcome, Status};
use crate::engine::strict::Lazies;
use crate::functions::Context;
use crate::functions::cel::proxy::{Answer, answer};
use crate::ir::Policy;
use crate::ir::review::{Deed, Proxy, View};
use crate::ir::rule::Body;
use crate::value::Value;

use super::{Part, Scope, rooted};

/// See the module page; none where the policy is about other requests.
pub fn run(policy: &Policy, request: &Value, proxy: Proxy, functions: &Context) -> Option<RuleOutcome> {
    let rule = policy.rules.first()?;
    let Body::Review(review) = &rule.body else { return None };
    let (View::Check(of), Deed::Answers(programs)) = (review.view, &review.body) else { return None };
    if of != proxy {
        return None;
    }
    let root = rooted([(Part::Object, request.clone())]);
    let lazies = Lazies::bare(&review.lazies);
    let scope = Scope { root: Cow::Owned(root), functions, lazies };
    let result =
        |status, text: &str| Some(RuleOutcome::new(&policy.name, rule.kind, status, text.to_owned()));
    let passed_over = || result(Status::Skip, "request does not match");
    let failed = |text: &str| if review.lenient { passed_over() } else { result(Status::Error, text) };
    match scope.admits(&review.admit) {
        Ok(true) => {}
        Ok(false) => return passed_over(),
        Err(text) => return failed(&text),
    }
    for program in programs {
        match scope.value(program) {
            Ok(Value::Null) => {}
            Ok(value) => {
                return match answer(&value) {
                    Some(Answer::Allowed) => result(Status::Pass, "request allowed"),
                    Some(Answer::Denied(text)) => result(Status::Fail, &text),
                    None => failed("rule result is expected to be an answer"),
                };
            }
            Err(text) => return failed(&text),
        }
    }
    passed_over()
}
