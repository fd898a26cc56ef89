//! Deleting policies: whether a run would delete an object.
//!
//! In: a rule that selects an object, or data of any form. Out: pass = it would be deleted.
//! Expressions see neither a request nor a former object. Semantics:
//! `docs/semantics/cel-policies.md`, "Deletion".

use crate::Request;
use crate::matched::MatchedRule;
use crate::outcome::{RuleOutcome, Status};

use super::Scope;
use super::cel_exceptions::excepted;
use crate::view::request::{RequestPart, limited_to, namespace, rooted};

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionSubject {
    /// An object of a cluster.
    Object,
    /// Data of any form; without a kind it is selected by every policy.
    Payload,
}

impl DeletionSubject {
    /// Whether a policy selects what is read by its kind.
    pub(crate) fn is_restricted(self, request: &Request) -> bool {
        let object = &request.object;
        let has_kind = !object.text_at(&["apiVersion"]).is_empty() && !object.text_at(&["kind"]).is_empty();
        self == DeletionSubject::Object || has_kind
    }
}

/// See the module page. A fault is an error result with its text alone.
pub(crate) fn run(matched: MatchedRule<'_, '_>, subject: DeletionSubject) -> Option<RuleOutcome> {
    let MatchedRule { policy, rule, request, context, .. } = matched;
    let expressions = rule.expressions.as_ref()?;
    let root =
        rooted([(RequestPart::Object, request.object.clone()), (RequestPart::Namespace, namespace(request))]);
    let root = match &policy.namespace {
        Some(own) => limited_to(&root, own),
        None => root,
    };
    let what = if subject == DeletionSubject::Payload { "json" } else { "resource" };
    let result = |status, text: String| Some(RuleOutcome::new(&policy.name, rule.kind, status, text));
    let spared = || result(Status::Fail, format!("{what} {}", expressions.wording.unmet));
    match excepted(policy, &root, &request.functions, context.cel_exceptions) {
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
