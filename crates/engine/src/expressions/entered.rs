//! What rules with expressions share: what comes before their body, validations in order, audit
//! annotations, and the result of a rule that cannot be evaluated.

use std::borrow::Cow;
use std::fmt::Display;

use ephor_functions::Context;
use ephor_ir::Rule;
use ephor_ir::cel_exception::{CelException, exceptions_value};
use ephor_ir::expressions::{Expressions, Validation};
use ephor_value::{Str, Value};

use super::cel_exceptions::{excepted, exempt};
use super::error::{AnnotationError, ConditionsError};
use super::scope::Scope;
use crate::matched::MatchedRule;
use crate::outcome::{RuleOutcome, Status, stock};
use crate::view::request::{limited_to, with};

/// What comes before the body of a rule; a result where that ends the rule.
pub(super) fn enter<'s>(
    matched: MatchedRule<'s, '_>,
    expressions: &'s Expressions,
    root: &'s Value,
    functions: &'s Context,
) -> Result<Scope<'s>, Box<RuleOutcome>> {
    let MatchedRule { policy, rule, context, .. } = matched;
    let failed = |error: &ConditionsError| Box::new(broken(rule, expressions, error));
    let unmet = expressions.wording.unmet;
    let skipped = || Box::new(RuleOutcome::new(&stock(""), rule.kind, Status::Skip, stock(unmet)));
    let counts = expressions.failure_policy.is_fail();
    let mut root = match &policy.namespace {
        Some(namespace) => Cow::Owned(limited_to(root, namespace)),
        None => Cow::Borrowed(root),
    };
    let found = match excepted(policy, &root, functions, context.cel_exceptions) {
        Ok(found) => found,
        Err(_) if !counts => Vec::new(),
        Err(error) => return Err(failed(&error)),
    };
    if found.iter().any(|e| e.is_full()) {
        return Err(Box::new(exempt(rule, &found)));
    }
    if !found.is_empty() {
        let all = |part: fn(&CelException) -> &[Value]| found.iter().flat_map(|e| part(e).to_vec()).collect();
        let allowed = exceptions_value(all(|e| &e.images), all(|e| &e.values));
        root = Cow::Owned(with(&root, "exceptions", allowed));
    }
    let scope =
        Scope::of(root, &expressions.variables, functions, expressions.wording).sharing(matched.request);
    match scope.admits(&expressions.conditions) {
        Ok(true) => Ok(scope),
        Ok(false) => Err(skipped()),
        Err(_) if !counts => Err(skipped()),
        Err(error) => Err(failed(&error)),
    }
}

/// The result of a rule that cannot be evaluated.
pub(super) fn broken(rule: &Rule, expressions: &Expressions, error: &dyn Display) -> RuleOutcome {
    let text = format!("{}{error}", expressions.wording.broken);
    RuleOutcome::new(&"evaluation".into(), rule.kind, Status::Error, text)
}

/// A validation that is not true.
pub(crate) struct FailedValidation {
    pub(crate) at: usize,
    pub(crate) status: Status,
    pub(crate) message: Str,
    pub(crate) reason: Str,
}

/// Evaluates validations in order, up to the first that is not true.
pub(super) fn decide(
    validations: &[Validation],
    scope: &Scope<'_>,
    expressions: &Expressions,
) -> Option<FailedValidation> {
    for (at, validation) in validations.iter().enumerate() {
        let (status, message) = match scope.decides(&validation.check) {
            Ok(true) => continue,
            Ok(false) => (Status::Fail, scope.message(validation, at)),
            Err(failure) => {
                let text = scope.failed(&validation.check, failure);
                match expressions.wording.error {
                    Some(before) => (Status::Error, format!("{before}{text}").into()),
                    None => (Status::Fail, text.to_string().into()),
                }
            }
        };
        return Some(FailedValidation { at, status, message, reason: validation.reason.clone() });
    }
    None
}

/// Audit annotations as properties of a result.
pub(super) fn annotations(
    expressions: &Expressions,
    scope: &Scope<'_>,
    root: &Value,
) -> Result<Vec<(Str, Str)>, AnnotationError> {
    let mut out = Vec::new();
    for annotation in &expressions.annotations {
        let key = &annotation.key;
        match scope.value_on(&annotation.value.program, root) {
            Ok(Value::Str(text)) if text.is_empty() => {}
            Ok(Value::Str(text)) => out.push((key.clone(), text)),
            Ok(other) => {
                let found = other.cel_type().into();
                return Err(AnnotationError::NoText { key: key.clone(), found });
            }
            Err(failure) => return Err(AnnotationError::Failed { key: key.clone(), failure }),
        }
    }
    // Kyverno keeps them in a map.
    out.sort();
    Ok(out)
}
