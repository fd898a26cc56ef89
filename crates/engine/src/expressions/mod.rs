//! Running rules with CEL expressions: which exceptions and conditions there are, then validations,
//! then audit annotations.
//!
//! In: a rule and a request. Out: a result, or none where the rule does not apply. What differs
//! between APIs is the rule's [`ephor_ir::expressions::Wording`]. Semantics:
//! `docs/semantics/validate.md`, "Bodies"; `docs/semantics/cel-policies.md`, "Evaluation".
//!
//! - [`answer`]: policies on check requests of proxies: whether a request may pass
//! - `cel_exceptions`: how PolicyExceptions of `policies.kyverno.io` apply to policies
//! - [`deletion`]: deleting policies: whether a run would delete an object
//! - `entered`: what rules with expressions share: what comes before their body, validations in
//!   order, audit annotations, and the result of a rule that cannot be evaluated
//! - `error`: why the expressions of a rule give no result
//! - [`existing`]: objects that exist already and that a policy changes because of a request
//! - [`generate`]: rules whose expressions generate objects
//! - [`images`]: validations of images (ImageValidatingPolicies)
//! - `inquiry`: what expressions of an ImageValidatingPolicy may look up: signatures, attestations,
//!   registry data
//! - `matching`: `matchConditions` of webhooks: whether a policy is evaluated for a request at all
//! - [`patch`]: rules whose expressions change the object of the request
//! - [`rule`]: rules with `validate.cel`: parameters and the namespace, then conditions and
//!   validations
//! - `scope`: a list of expressions with what they share: the root, composed variables, and the
//!   budget
//! - `verified_images`: the images that a rule has checked

use ephor_ir::Rule;
use ephor_ir::check::Check;
use ephor_ir::expressions::{Expressions, View};
use ephor_ir::rule::Body;
use ephor_value::{Str, Value};

use super::Request;
use super::matched::MatchedRule;
use super::outcome::{RuleOutcome, Status, stock};
use super::view;

pub mod answer;
mod cel_exceptions;
pub mod deletion;
mod entered;
mod error;
pub mod existing;
pub mod generate;
pub mod images;
mod inquiry;
mod matching;
pub mod patch;
pub mod rule;
pub(crate) mod scope;
mod verified_images;

pub use cel_exceptions::CelExceptions;
pub use error::{
    AnnotationError, AttestorError, AttestorFieldError, ConditionsError, DraftError,
    ExpressionGenerationError, ExpressionPatchError, ExtractionError, FailedExpression, Failure,
    OUT_OF_BUDGET,
};
pub use inquiry::InquiryError;
pub use matching::admits;
pub use scope::PER_CALL;
pub(crate) use scope::Scope;
pub use verified_images::VerifiedImages;

pub(crate) use entered::FailedValidation;
use entered::{annotations, broken, decide, enter};
use view::request::Absent;

/// Runs a rule over requests or payloads that validates.
pub(super) fn run(matched: MatchedRule<'_, '_>, expressions: &Expressions) -> Option<RuleOutcome> {
    let MatchedRule { rule, request, .. } = matched;
    let kind = match expressions.view {
        View::PodTemplates => "Pod",
        View::Payload => "",
        _ => &*request.target.kind,
    };
    let payload = expressions.view == View::Payload;
    let each = |root: &Value| match &rule.body {
        Body::ValidateImages(checks) => {
            let subject = images::ImageSubject { root, kind, payload };
            images::run(matched, expressions, checks, &subject)
        }
        _ => one(matched, expressions, root),
    };
    match expressions.view {
        View::PodTemplates => of_templates(rule, request, &each),
        View::Payload => each(&view::request::payload(request)),
        View::Request => each(request.review_root.get_or_init(|| view::request::root(request, Absent::Null))),
        // These have bodies of their own.
        View::Rule | View::AdmissionRequest | View::CheckRequest(_) => None,
    }
}

fn one(matched: MatchedRule<'_, '_>, expressions: &Expressions, root: &Value) -> Option<RuleOutcome> {
    let rule = matched.rule;
    let scope = match enter(matched, expressions, root, &matched.request.functions) {
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
        result.properties.push((stock("cel.validationIndex"), position(violation.at)));
    }
    Some(result)
}

/// The text of a position; of the first ones it is shared.
fn position(at: usize) -> Str {
    const FIRST: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
    FIRST.get(at).map_or_else(|| at.to_string().into(), |text| stock(text))
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
