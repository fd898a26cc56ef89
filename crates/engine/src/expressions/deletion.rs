//! Deleting policies: whether a run would delete an object.
//!
//! In: a policy and an object, or data of any form. Out: pass = it would be deleted; none where the
//! policy does not select it. Expressions see neither a request nor a former object. Semantics:
//! `docs/semantics/cel-policies.md`, "Deletion".

use crate::Request;
use crate::matched::applies;
use crate::outcome::{RuleOutcome, Status};
use ephor_ir::Policy;
use ephor_ir::rule::Body;

use super::Scope;
use super::cel_exceptions::{CelExceptions, excepted};
use crate::view::request::{RequestPart, limited_to, namespace, rooted};

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionSubject {
    /// An object of a cluster.
    Object,
    /// Data of any form; without a kind it is selected by every policy.
    Payload,
}

/// See the module page. A fault is an error result with its text alone.
pub fn run(
    policy: &Policy,
    request: &Request,
    cel_exceptions: CelExceptions<'_>,
    subject: DeletionSubject,
) -> Option<RuleOutcome> {
    let rule = policy.rules.first()?;
    let expressions = rule.expressions.as_ref()?;
    if !matches!(rule.body, Body::Delete) {
        return None;
    }
    let object = &request.object;
    let has_kind = !object.text_at(&["apiVersion"]).is_empty() && !object.text_at(&["kind"]).is_empty();
    if (subject == DeletionSubject::Object || has_kind) && !applies(rule, request) {
        return None;
    }
    let root = rooted([(RequestPart::Object, object.clone()), (RequestPart::Namespace, namespace(request))]);
    let root = match &policy.namespace {
        Some(own) => limited_to(&root, own),
        None => root,
    };
    let what = if subject == DeletionSubject::Payload { "json" } else { "resource" };
    let result = |status, text: String| Some(RuleOutcome::new(&policy.name, rule.kind, status, text));
    let spared = || result(Status::Fail, format!("{what} {}", expressions.wording.unmet));
    match excepted(policy, &root, &request.functions, cel_exceptions) {
        Ok(found) if found.is_empty() => {}
        Ok(_) => return spared(),
        Err(error) => return result(Status::Error, error.to_string()),
    }
    let scope = Scope::of_rule(&root, expressions, &request.functions);
    match scope.admits(&expressions.conditions) {
        Ok(true) => result(Status::Pass, format!("{what} {}", expressions.wording.passed)),
        Ok(false) => spared(),
        Err(error) => result(Status::Error, error.to_string()),
    }
}
