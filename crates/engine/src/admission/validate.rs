//! Policies that validate.
//!
//! In: a policy with its bindings and a request. Out: its results ([`verdict`]), each with the
//! binding that it is for. They hold nothing of the request but the values of expressions, so that
//! they may be stored in the result cache. Semantics: `docs/semantics/admission.md`.

use ephor_functions::Context;
use ephor_ir::expressions::Expressions;
use ephor_ir::expressions::{API_SERVER, Source, Validation};
use ephor_ir::facts::FailurePolicy;
use ephor_kubernetes::release::ServerRules;
use ephor_kubernetes::views::viewed;
use ephor_kubernetes::{kind_object, resource_object};
use ephor_matching::constraints::Accepted;
use ephor_value::budget::Excess;
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use super::Review;
use super::answer::{AdmissionOutcome, Denial, answer};
use super::binding_row::BindingRow;
use super::bound::BoundPolicy;
use super::cluster_view::{ClusterView, converted};
use super::plan::{BoundCall, BoundView, plan};
use crate::call::{CallMatch, Subject, calls};
use crate::expressions::Scope;
use crate::expressions::scope::fallen_back;
use crate::expressions::{ConditionsError, FailedValidation, Failure, OUT_OF_BUDGET};
use crate::outcome::{RuleOutcome, Status};
use crate::results::RuleRun;
use crate::trace;
use crate::view::admission::{self, AdmissionVariables};
use ephor_ir::Policy;

/// The cost limit of the validations of a policy with their messages, and of its audit annotations.
pub const BUDGET: u64 = 10_000_000;
/// The cost limit of its match conditions.
pub const CONDITIONS: u64 = 2_500_000;
/// A value for the audit log is cut there.
const MAX_ANNOTATION: usize = 10 << 10;

/// The results of a policy that validates, in the order of its bindings; none where it has nothing
/// to say.
pub fn verdict(
    policy: &Policy,
    review: &Review,
    cluster: &ClusterView<'_>,
    cx: &Context,
) -> Vec<RuleOutcome> {
    let Some(policy) = BoundPolicy::of(policy).filter(|bound| !bound.mutates()) else { return Vec::new() };
    results(policy, review, cluster, cx, false)
}

/// The results of a policy that validates; `says_all`: also that it passes, and that its conditions
/// are not met.
pub(super) fn results(
    policy: BoundPolicy<'_>,
    review: &Review,
    cluster: &ClusterView<'_>,
    cx: &Context,
    says_all: bool,
) -> Vec<RuleOutcome> {
    let mut subject = ValidatedRequest { policy, review, cluster, cx, says_all, without_parameter: None };
    calls(plan(policy, review, cluster), &mut subject).rules
}

/// A request that a policy validates.
struct ValidatedRequest<'c> {
    policy: BoundPolicy<'c>,
    review: &'c Review,
    cluster: &'c ClusterView<'c>,
    cx: &'c Context,
    says_all: bool,
    /// Of a binding expressions see its parameter only: without one all give the same.
    without_parameter: Option<Vec<RuleOutcome>>,
}

impl ValidatedRequest<'_> {
    /// What an evaluation gave, in at least one result.
    fn all(&self, found: Option<Vec<RuleOutcome>>) -> Vec<RuleOutcome> {
        let row = |status, text: &str| vec![result(self.policy, status, text, BindingRow::default())];
        match found {
            None => row(Status::Skip, API_SERVER.unmet),
            Some(found) if found.iter().any(|one| one.status.is_violation()) => found,
            Some(_) => row(Status::Pass, API_SERVER.passed),
        }
    }

    /// The results of a call, each with its binding.
    fn of(&mut self, call: &BoundCall, mut results: Vec<RuleOutcome>) -> RuleRun {
        if call.with.as_ref().is_ok_and(|view| view.param.is_none()) {
            self.without_parameter = Some(results.clone());
        }
        let rows = results.iter_mut().filter_map(|result| result.binding.as_mut());
        rows.for_each(|row| row.binding = call.binding);
        results.into()
    }
}

impl Subject for ValidatedRequest<'_> {
    type Call = BoundCall;

    fn enter(&mut self, call: &BoundCall) -> CallMatch {
        entered(self.policy, call, "")
    }

    fn evaluate(&mut self, call: &BoundCall) -> RuleRun {
        let Ok(view) = &call.with else { return RuleRun::default() };
        let known = self.without_parameter.take().filter(|_| view.param.is_none());
        let results = known.unwrap_or_else(|| {
            let found = evaluate(self.policy, view, self.review, self.cluster, self.cx);
            if self.says_all { self.all(found) } else { found.unwrap_or_default() }
        });
        self.of(call, results)
    }

    /// It fails, unless it denies all the same.
    fn exceeded(&mut self, call: &BoundCall, run: RuleRun, excess: Excess) -> Option<RuleRun> {
        let RuleRun { mut results, .. } = run;
        if results.iter().any(|result| result.binding.as_ref().is_some_and(|row| row.denial.is_some())) {
            return Some(results.into());
        }
        results.retain(|result| result.status == Status::Fail);
        // Validations are counted without those that the bound has cut off.
        for (at, result) in results.iter_mut().enumerate() {
            result.binding.iter_mut().for_each(|row| {
                row.validation = Some(at);
                row.annotations.clear();
            });
        }
        results.push(failed(self.policy, results.len(), excess.text()));
        Some(self.of(call, results))
    }
}

/// Whether a call of a native policy is evaluated: it matches, but may have a mistake, which is
/// denied for this reason.
pub(super) fn entered(policy: BoundPolicy<'_>, call: &BoundCall, reason: &str) -> CallMatch {
    match &call.with {
        Ok(_) => CallMatch::Match,
        Err(text) => {
            let row = BindingRow { binding: call.binding, reason: reason.into(), ..BindingRow::default() };
            CallMatch::Broken(result(policy, Status::Error, &**text, row))
        }
    }
}

/// A result of a policy.
pub(super) fn result(
    policy: BoundPolicy<'_>,
    status: Status,
    text: impl Into<Str>,
    row: BindingRow,
) -> RuleOutcome {
    let result = RuleOutcome::new(policy.name(), policy.rule.kind, status, text);
    RuleOutcome { binding: Some(Box::new(row)), ..result }
}

/// Validates a request by policies in their order.
pub fn validate<'p>(
    policies: impl Iterator<Item = &'p Policy>,
    review: &Review,
    cluster: &ClusterView<'_>,
) -> AdmissionOutcome {
    let policies = policies.filter(|p| BoundPolicy::of(p).is_some_and(|policy| policy.sees(review)));
    let cx = cluster.functions(review);
    let results: Vec<(&Policy, Vec<RuleOutcome>)> =
        policies.map(|policy| (policy, verdict(policy, review, cluster, &cx))).collect();
    let results = results.iter().map(|(policy, results)| (*policy, &results[..]));
    answer(review, results, cluster.release())
}

/// The request as the expressions of a policy see it: under the policy's version of the resource.
pub fn seen_request(accepted: &Accepted, review: &Review) -> Value {
    let mut request = review.request.as_map().cloned().unwrap_or_default();
    for (own, other) in
        [("requestKind", "kind"), ("requestResource", "resource"), ("requestSubResource", "subResource")]
    {
        if !request.contains_key(own)
            && let Some(v) = request.get(other).cloned()
        {
            request.insert(own, v);
        }
    }
    request.insert("kind", kind_object(accepted.kind.clone()));
    request.insert("resource", resource_object(accepted.resource.clone()));
    // A review gets its identifier when it is sent to a webhook.
    request.insert("uid", "".into());
    Value::Map(request)
}

/// The request as conditions see it: of the resource they see the client's version.
pub fn conditions_request(accepted: &Accepted, review: &Review) -> Value {
    let mut request = seen_request(accepted, review).as_map().cloned().unwrap_or_default();
    request.insert("resource", review.part("resource"));
    Value::Map(request)
}

/// What conditions see of a request with an object, under the resource that accepted it.
pub(super) fn seen(
    accepted: &Accepted,
    params: Option<Value>,
    review: &Review,
    object: &Value,
    release: Release,
) -> AdmissionVariables {
    let typed = ServerRules::of(release).has_typed_views;
    let seen = |object: &Value| {
        let object = converted(object, &accepted.kind);
        if typed { viewed(&object, &accepted.kind, release) } else { object }
    };
    AdmissionVariables {
        object: seen(object),
        old_object: seen(review.old_object()),
        params,
        namespace: Value::Null,
        authorizer: true,
        typed,
    }
}

/// Whether the conditions of a policy hold.
pub(super) fn admits(
    policy: BoundPolicy<'_>,
    view: &BoundView,
    review: &Review,
    seen: &AdmissionVariables,
    cx: &Context,
) -> Result<bool, ConditionsError> {
    if policy.expressions.conditions.is_empty() {
        return Ok(true);
    }
    let request = admission::request(&conditions_request(&view.accepted, review));
    let root = admission::root(&request, seen.clone(), &review.request);
    let scope = Scope::of_rule(&root, policy.expressions, cx).with_budget(CONDITIONS);
    scope.admits(&policy.expressions.conditions)
}

/// Evaluates conditions that belong to no policy, on a request under the resource that accepted it,
/// in an API server of a release.
///
/// # Errors
/// None is false and some fail.
pub fn conditions(
    all: &[Source],
    accepted: &Accepted,
    review: &Review,
    cx: &Context,
    release: Release,
) -> Result<bool, ConditionsError> {
    if all.is_empty() {
        return Ok(true);
    }
    let seen = seen(accepted, None, review, review.object(), release);
    let request = admission::request(&conditions_request(accepted, review));
    let root = admission::root(&request, seen, &review.request);
    Scope::new(&root, cx, &API_SERVER).with_budget(CONDITIONS).admits(all)
}

/// The namespace that expressions see.
///
/// # Errors
/// There is none of that name.
pub fn seen_namespace(review: &Review, cluster: &ClusterView<'_>) -> Result<Value, Denial> {
    let Some(name) = review.namespace() else { return Ok(Value::Null) };
    let namespace = cluster.assumed_namespace(name).ok_or_else(|| Denial::no_namespace(name))?;
    Ok(admission::namespace(&namespace))
}

/// A validation that could not be evaluated.
fn failed(policy: BoundPolicy<'_>, at: usize, text: impl Into<Str>) -> RuleOutcome {
    result(policy, Status::Error, text, BindingRow { validation: Some(at), ..BindingRow::default() })
}

/// The validations and annotations of a policy; `None` where its conditions do not hold.
fn evaluate(
    policy: BoundPolicy<'_>,
    view: &BoundView,
    review: &Review,
    cluster: &ClusterView<'_>,
    cx: &Context,
) -> Option<Vec<RuleOutcome>> {
    let namespace = match seen_namespace(review, cluster) {
        Ok(namespace) => namespace,
        Err(denial) => {
            let row = BindingRow { denial: Some(Box::new(denial)), ..BindingRow::default() };
            return Some(vec![result(policy, Status::Error, "", row)]);
        }
    };
    let seen = seen(&view.accepted, view.param.clone(), review, review.object(), cluster.release());
    match admits(policy, view, review, &seen, cx) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(error) => return Some(vec![failed(policy, 0, error.to_string())]),
    }
    let request = admission::request(&seen_request(&view.accepted, review));
    let seen = AdmissionVariables { namespace, ..seen };
    let root = admission::root(&request, seen.clone(), &review.request);
    let silent = admission::root(&request, AdmissionVariables { authorizer: false, ..seen }, &review.request);
    let Some(decisions) = decided(policy.expressions, policy.validations(), &root, &silent, cx) else {
        return Some(annotated(policy, &silent, cx, vec![failed(policy, 0, OUT_OF_BUDGET)]));
    };
    let results = decisions.into_iter().map(|FailedValidation { at, status, message, reason }| {
        let row = BindingRow { validation: Some(at), reason, ..BindingRow::default() };
        result(policy, status, message, row)
    });
    Some(annotated(policy, &silent, cx, results.collect()))
}

/// Evaluates all validations, then their messages; `None` when the budget is exhausted.
pub(super) fn decided(
    expressions: &Expressions,
    validations: &[Validation],
    root: &Value,
    silent: &Value,
    cx: &Context,
) -> Option<Vec<FailedValidation>> {
    let scope = Scope::of_rule(root, expressions, cx).with_budget(BUDGET);
    let mut results = Vec::with_capacity(validations.len());
    // The first validation that does not admit the request decides.
    let mut is_open = trace::is_on();
    for validation in validations {
        let result = scope.value(&validation.check.program);
        if is_open {
            scope.emit(&validation.check, result.clone());
            is_open = matches!(result, Ok(Value::Bool(true)));
        }
        match result {
            Err(Failure::OutOfBudget) => return None,
            result => results.push(result),
        }
    }
    let of_messages = Scope::of_rule(silent, expressions, cx).with_budget(scope.left());
    let mut messages = Vec::with_capacity(validations.len());
    let mut exhausted = false;
    for validation in validations {
        messages.push(match &validation.message_program {
            Some(program) if !exhausted => match of_messages.value(program) {
                Ok(made) => Some(made),
                Err(failure) => {
                    exhausted = matches!(failure, Failure::OutOfBudget);
                    None
                }
            },
            _ => None,
        });
    }
    let decision = |(at, ((validation, result), made)): (usize, ((&Validation, _), Option<Value>))| {
        let (status, message, reason) = match result {
            Err(failure) => {
                (Status::Error, scope.failed(&validation.check, failure).to_string().into(), "".into())
            }
            // Also for validations that pass.
            Ok(_) if exhausted => {
                (Status::Error, format!("failed messageExpression: {OUT_OF_BUDGET}").into(), "".into())
            }
            Ok(Value::Bool(true)) => return None,
            Ok(_) => (Status::Fail, fallen_back(validation, made.as_ref()), validation.reason.clone()),
        };
        Some(FailedValidation { at, status, message, reason })
    };
    Some(validations.iter().zip(results).zip(messages).enumerate().filter_map(decision).collect())
}

/// The results of an evaluation with its audit annotations, on the first of them.
fn annotated(
    policy: BoundPolicy<'_>,
    root: &Value,
    cx: &Context,
    mut results: Vec<RuleOutcome>,
) -> Vec<RuleOutcome> {
    let scope = Scope::of_rule(root, policy.expressions, cx).with_budget(BUDGET);
    let mut annotations = Vec::new();
    for annotation in &policy.expressions.annotations {
        match scope.value(&annotation.value.program) {
            Err(Failure::OutOfBudget) => return vec![failed(policy, 0, OUT_OF_BUDGET)],
            Ok(Value::Str(text)) => {
                let text = text.trim();
                if !text.is_empty() {
                    annotations.push((annotation.key.clone(), cut(text)));
                }
            }
            Ok(_) => {}
            Err(_) if *policy.failure_policy() == FailurePolicy::Ignore => {}
            Err(failure) => {
                let text = scope.failed(&annotation.value, failure).to_string();
                results.push(result(policy, Status::Error, text, BindingRow::default()));
            }
        }
    }
    if annotations.is_empty() {
        return results;
    }
    match results.first_mut().and_then(|first| first.binding.as_mut()) {
        Some(row) => row.annotations = annotations,
        None => {
            let row = BindingRow { annotations, ..BindingRow::default() };
            results.push(result(policy, Status::Pass, "", row));
        }
    }
    results
}

/// The first bytes of a text; half a character becomes the replacement character.
fn cut(text: &str) -> Str {
    match text.as_bytes().get(..MAX_ANNOTATION) {
        Some(head) => String::from_utf8_lossy(head).into(),
        None => text.into(),
    }
}
