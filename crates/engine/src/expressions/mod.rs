//! Running rules with CEL expressions: which exceptions and conditions there are, then validations,
//! then audit annotations.
//!
//! In: a rule and a request. Out: a result, or none where the rule does not apply. What differs
//! between APIs is the rule's [`ephor_ir::expressions::Wording`]. Semantics:
//! `docs/semantics/validate.md`, "Bodies"; `docs/semantics/cel-policies.md`, "Evaluation".

use std::borrow::Cow;
use std::fmt::Display;

use ephor_functions::Context;
use ephor_ir::Rule;
use ephor_ir::cel_exception::{CelException, exceptions_value};
use ephor_ir::check::Check;
use ephor_ir::expressions::{Expressions, Validation, View};
use ephor_ir::rule::Body;
use ephor_value::{Str, Value};

use super::Request;
use super::outcome::{RuleOutcome, Status, stock};
use super::run::MatchedRule;
use super::view;

pub mod answer;
mod cel_exceptions;
pub mod deletion;
mod error;
pub mod existing;
pub mod generate;
pub mod images;
mod inquiry;
mod matching;
pub mod patch;
pub mod rule;
pub mod scope;

pub use cel_exceptions::CelExceptions;
pub use error::{
    AnnotationError, AttestorError, AttestorFieldError, ConditionsError, DraftError, ExtractionError,
    FailedExpression, Failure, GenerationError, OUT_OF_BUDGET, PatchError,
};
pub use inquiry::InquiryError;
pub use matching::admits;
pub use scope::Scope;

use cel_exceptions::{excepted, exempt};
use view::request::{Absent, limited_to, with};

/// Runs a rule over requests or payloads that validates.
pub(super) fn run(met: MatchedRule<'_, '_>, expressions: &Expressions) -> Option<RuleOutcome> {
    let MatchedRule { rule, request, .. } = met;
    let kind = match expressions.view {
        View::PodTemplates => "Pod",
        View::Payload => "",
        _ => &*request.target.kind,
    };
    let payload = expressions.view == View::Payload;
    let each = |root: &Value| match &rule.body {
        Body::ValidateImages(checks) => {
            let subject = images::Subject { root, kind, payload };
            images::run(met, expressions, checks, &subject)
        }
        _ => one(met, expressions, root),
    };
    match expressions.view {
        View::PodTemplates => of_templates(rule, request, &each),
        View::Payload => each(&view::request::payload(request)),
        View::Request => each(request.review_root.get_or_init(|| view::request::root(request, Absent::Null))),
        // These have bodies of their own.
        View::Rule | View::AdmissionRequest | View::CheckRequest(_) => None,
    }
}

/// What comes before the body of a rule; a result where that ends the rule.
fn enter<'s>(
    met: MatchedRule<'s, '_>,
    expressions: &'s Expressions,
    root: &'s Value,
    functions: &'s Context,
) -> Result<Scope<'s>, Box<RuleOutcome>> {
    let MatchedRule { policy, rule, around, .. } = met;
    let failed = |error: &ConditionsError| Box::new(broken(rule, expressions, error));
    let unmet = expressions.wording.unmet;
    let skipped = || Box::new(RuleOutcome::new(&stock(""), rule.kind, Status::Skip, stock(unmet)));
    let counts = expressions.failure_policy.is_fail();
    let mut root = match &policy.namespace {
        Some(namespace) => Cow::Owned(limited_to(root, namespace)),
        None => Cow::Borrowed(root),
    };
    let found = match excepted(policy, &root, functions, around.cel_exceptions) {
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
    let scope = Scope::of(root, &expressions.variables, functions, expressions.wording).sharing(met.request);
    match scope.admits(&expressions.conditions) {
        Ok(true) => Ok(scope),
        Ok(false) => Err(skipped()),
        Err(_) if !counts => Err(skipped()),
        Err(error) => Err(failed(&error)),
    }
}

/// The result of a rule that cannot be evaluated.
fn broken(rule: &Rule, expressions: &Expressions, error: &dyn Display) -> RuleOutcome {
    let text = format!("{}{error}", expressions.wording.broken);
    RuleOutcome::new(&"evaluation".into(), rule.kind, Status::Error, text)
}

fn one(met: MatchedRule<'_, '_>, expressions: &Expressions, root: &Value) -> Option<RuleOutcome> {
    let rule = met.rule;
    let scope = match enter(met, expressions, root, &met.request.functions) {
        Ok(scope) => scope,
        Err(result) => return Some(*result),
    };
    let Body::Validate { check: Check::Assert(validations), .. } = &rule.body else { return None };
    let decided = decide(validations, &scope, expressions);
    let (status, text) = match &decided {
        None => (Status::Pass, stock(expressions.wording.passed)),
        Some(violation) => (violation.status, violation.message.clone()),
    };
    let mut result = RuleOutcome::new(&stock(""), rule.kind, status, text);
    if status != Status::Error {
        match annotations(expressions, &scope, &scope.root) {
            Ok(properties) => result.properties = properties,
            Err(error) if status == Status::Fail => {
                result.status = Status::Error;
                result.message = format!("error: {error}").into();
            }
            Err(error) => return Some(broken(rule, expressions, &error)),
        }
    }
    if let Some(violation) = decided
        && !result.properties.iter().any(|(k, _)| &**k == "cel.validationIndex")
    {
        result.properties.push(("cel.validationIndex".into(), violation.at.to_string().into()));
    }
    Some(result)
}

/// The first validation that is not true.
struct Violation {
    at: usize,
    status: Status,
    message: Str,
}

/// Evaluates validations in order, up to the first that is not true.
fn decide(validations: &[Validation], scope: &Scope<'_>, expressions: &Expressions) -> Option<Violation> {
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
        return Some(Violation { at, status, message });
    }
    None
}

/// Audit annotations as properties of a result.
fn annotations(
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

/// Runs a rule on each pod template below `spec`; the first that fails decides.
fn of_templates(
    rule: &Rule,
    request: &Request,
    each: &dyn Fn(&Value) -> Option<RuleOutcome>,
) -> Option<RuleOutcome> {
    let found = view::pod_templates::roots(request);
    if found.is_empty() {
        let object = request.object_or_old();
        let what = format!("{}/{}", object.text_at(&["apiVersion"]), object.text_at(&["kind"]));
        let text = format!("failed to load context: extraction mode: no pod template found in {what}");
        return Some(RuleOutcome::new(&"evaluation".into(), rule.kind, Status::Error, text));
    }
    let mut last = None;
    for (path, root) in found {
        let mut result = each(&root)?;
        if matches!(result.status, Status::Fail | Status::Error) {
            result.message = format!("{} (pod template at {path})", result.message).into();
            return Some(result);
        }
        last = Some(result);
    }
    last
}
