//! Policies that validate.
//!
//! In: a policy with its bindings and a request. Out: a result that says what came of each binding
//! ([`verdict`]), and what follows from the results of all policies ([`answer`]). Results hold
//! nothing of the request but the values of expressions, so that they may be stored in the result
//! cache. Semantics: `docs/semantics/admission.md`.

use ephor_functions::Context;
use ephor_ir::admission::PolicyBinding;
use ephor_ir::expressions::Expressions;
use ephor_ir::expressions::{API_SERVER, Source, Validation};
use ephor_ir::facts::FailurePolicy;
use ephor_kubernetes::{kind_object, resource_object};
use ephor_matching::constraints::Accepted;
use ephor_value::print::write_json_string;
use ephor_value::{Map, Str, Value, budget};

use super::Review;
use super::answer::{AdmissionOutcome, Denial};
use super::binding_result::{BindingEvaluation, BindingResult, Decision};
use super::bound::BoundPolicy;
use super::cluster_view::{ClusterView, converted};
use super::steps::{BoundStep, Run, steps};
use crate::expressions::Scope;
use crate::expressions::scope::fallen_back;
use crate::expressions::{ConditionsError, Failure, OUT_OF_BUDGET};
use crate::outcome::{Effect, RuleOutcome, Status};
use crate::trace;
use crate::view::admission::{self, AdmissionVariables};
use ephor_ir::Policy;
use ephor_ir::rule::RuleKind;

/// The cost limit of the validations of a policy with their messages, and of its audit annotations.
pub const BUDGET: u64 = 10_000_000;
/// The cost limit of its match conditions.
pub const CONDITIONS: u64 = 2_500_000;
/// A value for the audit log is cut there.
const MAX_ANNOTATION: usize = 10 << 10;
/// The key under which the audit log gets failures.
const FAILURE_KEY: &str = "validation.policy.admission.k8s.io/validation_failure";

/// The result of a policy that validates; `None` when it has nothing to say.
pub fn verdict(
    policy: &Policy,
    review: &Review,
    cluster: &ClusterView<'_>,
    cx: &Context,
) -> Option<RuleOutcome> {
    let bound = BoundPolicy::of(policy).filter(|bound| !bound.mutates())?;
    let mut results = Vec::new();
    let mut status = Status::Pass;
    // Of a binding expressions see its parameter only: without one all give the same.
    let mut without_parameter: Option<Result<BindingEvaluation, Denial>> = None;
    for step in steps(bound, review, cluster) {
        let result = match step {
            BoundStep::Broken { binding, text } => BindingResult::Misconfigured(binding, text),
            BoundStep::Run(run) => {
                let evaluate = || bounded(bound, &run, review, cluster, cx);
                let evaluated = match &run.param {
                    None => without_parameter.get_or_insert_with(evaluate).clone(),
                    Some(_) => evaluate(),
                };
                match evaluated {
                    Ok(evaluated) if evaluated.is_silent() => continue,
                    Ok(evaluated) => BindingResult::Evaluated(run.binding, evaluated),
                    Err(denial) => BindingResult::Denied(Box::new(denial)),
                }
            }
        };
        status = match &result {
            BindingResult::Evaluated(_, of) if of.decisions.is_empty() => status,
            BindingResult::Evaluated(_, of) if of.denies() => Status::Fail,
            _ if status == Status::Pass => Status::Error,
            _ => status,
        };
        results.push(result);
    }
    if results.is_empty() {
        return None;
    }
    let mut outcome = RuleOutcome::new(bound.name(), RuleKind::Validation, status, "");
    outcome.effect = Some(Box::new(Effect::Bindings(results)));
    Some(outcome)
}

/// Validates a request by policies in their order.
pub fn validate<'p>(
    policies: impl Iterator<Item = &'p Policy>,
    review: &Review,
    cluster: &ClusterView<'_>,
) -> AdmissionOutcome {
    if review.is_exempt() {
        return AdmissionOutcome::default();
    }
    let cx = cluster.functions(review);
    let results: Vec<(&Policy, RuleOutcome)> =
        policies.filter_map(|policy| Some((policy, verdict(policy, review, cluster, &cx)?))).collect();
    answer(review, results.iter().map(|(policy, outcome)| (*policy, outcome)))
}

/// What follows for a request from the results of policies in their order.
pub fn answer<'r>(
    review: &Review,
    results: impl Iterator<Item = (&'r Policy, &'r RuleOutcome)>,
) -> AdmissionOutcome {
    let mut state = AnswerFold { review, first: None, warnings: Vec::new(), annotations: Map::new() };
    for (policy, outcome) in results {
        let (Some(policy), Some(Effect::Bindings(results))) =
            (BoundPolicy::of(policy), outcome.effect.as_deref())
        else {
            continue;
        };
        let mut values: Vec<(&Str, Vec<&String>)> = Vec::new();
        for result in results {
            match result {
                BindingResult::Misconfigured(at, text) => {
                    state.deny(policy, at.and_then(|at| policy.bindings().get(at)), text, "");
                }
                BindingResult::Denied(denial) => {
                    return AdmissionOutcome { denial: Some((**denial).clone()), ..state.answer() };
                }
                BindingResult::Evaluated(at, evaluated) => {
                    let Some(binding) = policy.bindings().get(*at) else { continue };
                    state.decide(policy, binding, &evaluated.decisions);
                    for text in &evaluated.broken_annotations {
                        state.deny(policy, Some(binding), text, "");
                    }
                    for (key, value) in &evaluated.annotations {
                        note(&mut values, key, value);
                    }
                }
            }
        }
        for (key, values) in values {
            let values: Vec<&str> = values.into_iter().map(|value| &**value).collect();
            state.annotate(&format!("{}/{key}", policy.name()), values.join(", "));
        }
    }
    state.answer()
}

fn note<'r>(values: &mut Vec<(&'r Str, Vec<&'r String>)>, key: &'r Str, value: &'r String) {
    match values.iter_mut().find(|(k, _)| *k == key) {
        Some((_, values)) if values.contains(&value) => {}
        Some((_, values)) => values.push(value),
        None => values.push((key, vec![value])),
    }
}

struct AnswerFold<'r> {
    review: &'r Review,
    first: Option<Denial>,
    warnings: Vec<String>,
    annotations: Map,
}

impl AnswerFold<'_> {
    fn deny(&mut self, policy: BoundPolicy<'_>, binding: Option<&PolicyBinding>, text: &str, reason: &str) {
        if self.first.is_some() {
            return;
        }
        let with = binding.map(|b| format!(" with binding '{}'", b.name)).unwrap_or_default();
        let cause = format!("ValidatingAdmissionPolicy '{}'{with} denied request: {text}", policy.name());
        let (code, reason) = match reason {
            "Forbidden" => (403, "Forbidden"),
            "Unauthorized" => (401, "Unauthorized"),
            "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
            "" => (422, "Invalid"),
            other => (422, other),
        };
        let (resource, name) = (self.review.resource_name(), self.review.shown_name());
        self.first = Some(Denial {
            code,
            reason: reason.into(),
            message: format!("{resource} \"{name}\" is forbidden: {cause}"),
            details: self.review.details(),
            causes: vec![cause.into()],
            internal: false,
        });
    }

    fn decide(&mut self, policy: BoundPolicy<'_>, binding: &PolicyBinding, decisions: &[(usize, Decision)]) {
        for (i, decision) in decisions {
            let (text, reason) = match decision {
                Decision::Fail(_) if *policy.failure_policy() == FailurePolicy::Ignore => continue,
                Decision::Fail(text) => (text, ""),
                Decision::Deny(text, reason) => (text, &**reason),
            };
            for action in &binding.actions {
                match &**action {
                    "Deny" => self.deny(policy, Some(binding), text, reason),
                    "Warn" => self.warnings.push(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {text}",
                        policy.name(),
                        binding.name
                    )),
                    "Audit" => self.annotate(FAILURE_KEY, failure(policy, binding, text, *i)),
                    _ => {}
                }
            }
        }
    }

    /// The first value of a key counts.
    fn annotate(&mut self, key: &str, value: String) {
        if !self.annotations.contains_key(key) {
            self.annotations.insert(key, Value::from(value));
        }
    }

    fn answer(self) -> AdmissionOutcome {
        AdmissionOutcome { denial: self.first, warnings: self.warnings, annotations: self.annotations }
    }
}

/// A failure as the audit log shows it.
fn failure(policy: BoundPolicy<'_>, binding: &PolicyBinding, text: &str, index: usize) -> String {
    let text_json = |text: &str| {
        let mut out = String::new();
        write_json_string(&mut out, text);
        out
    };
    let actions: Vec<String> = binding.actions.iter().map(|a| text_json(a)).collect();
    format!(
        "[{{\"message\":{},\"policy\":{},\"binding\":{},\"expressionIndex\":{index},\"validationActions\":[{}]}}]",
        text_json(text),
        text_json(policy.name()),
        text_json(&binding.name),
        actions.join(",")
    )
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
    Value::Map(request)
}

/// The request as conditions see it: of the resource they see the client's version.
pub fn conditions_request(accepted: &Accepted, review: &Review) -> Value {
    let mut request = seen_request(accepted, review).as_map().cloned().unwrap_or_default();
    request.insert("resource", review.part("resource"));
    Value::Map(request)
}

/// Evaluates conditions that belong to no policy, on a request under the resource that accepted it.
///
/// # Errors
/// None is false and some fail.
pub fn conditions(
    all: &[Source],
    accepted: &Accepted,
    review: &Review,
    cx: &Context,
) -> Result<bool, ConditionsError> {
    if all.is_empty() {
        return Ok(true);
    }
    let seen = AdmissionVariables {
        object: converted(review.object(), &accepted.kind),
        old_object: converted(&review.part("oldObject"), &accepted.kind),
        params: None,
        namespace: Value::Null,
        authorizer: true,
    };
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

/// Evaluates a policy; one that exceeds a bound fails, unless it denies all the same.
fn bounded(
    policy: BoundPolicy<'_>,
    run: &Run,
    review: &Review,
    cluster: &ClusterView<'_>,
    cx: &Context,
) -> Result<BindingEvaluation, Denial> {
    let (outcome, excess) = budget::spend(|| evaluate(policy, run, review, cluster, cx));
    let text = match excess {
        None => return outcome,
        Some(excess) => excess.text().to_string(),
    };
    let mut decisions = outcome?.decisions;
    decisions.retain(|(_, d)| matches!(d, Decision::Deny(..)));
    // Validations are counted without those that the bound has cut off.
    let mut decisions: Vec<_> = decisions.into_iter().enumerate().map(|(i, (_, d))| (i, d)).collect();
    decisions.push((decisions.len(), Decision::Fail(text)));
    Ok(BindingEvaluation { decisions, ..BindingEvaluation::default() })
}

fn evaluate(
    policy: BoundPolicy<'_>,
    run: &Run,
    review: &Review,
    cluster: &ClusterView<'_>,
    cx: &Context,
) -> Result<BindingEvaluation, Denial> {
    let namespace = seen_namespace(review, cluster)?;
    let seen = AdmissionVariables {
        object: converted(review.object(), &run.accepted.kind),
        old_object: converted(&review.part("oldObject"), &run.accepted.kind),
        params: run.param.clone(),
        namespace: Value::Null,
        authorizer: true,
    };
    if !policy.expressions.conditions.is_empty() {
        let request = admission::request(&conditions_request(&run.accepted, review));
        let root = admission::root(&request, seen.clone(), &review.request);
        let scope = Scope::of_rule(&root, policy.expressions, cx).with_budget(CONDITIONS);
        match scope.admits(&policy.expressions.conditions) {
            Ok(true) => {}
            Ok(false) => return Ok(BindingEvaluation::default()),
            Err(error) => return Ok(BindingEvaluation::failed(error.to_string())),
        }
    }
    let request = admission::request(&seen_request(&run.accepted, review));
    let seen = AdmissionVariables { namespace, ..seen };
    let root = admission::root(&request, seen.clone(), &review.request);
    let silent = admission::root(&request, AdmissionVariables { authorizer: false, ..seen }, &review.request);
    let evaluated = match decided(policy.expressions, policy.validations(), &root, &silent, cx) {
        Some(decisions) => BindingEvaluation { decisions, ..BindingEvaluation::default() },
        None => BindingEvaluation::failed(OUT_OF_BUDGET),
    };
    Ok(annotated(policy, &silent, cx, evaluated))
}

/// Evaluates all validations, then their messages; `None` when the budget is exhausted.
pub(super) fn decided(
    expressions: &Expressions,
    validations: &[Validation],
    root: &Value,
    silent: &Value,
    cx: &Context,
) -> Option<Vec<(usize, Decision)>> {
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
    let decision = |((validation, result), made): ((&Validation, _), Option<Value>)| match result {
        Err(failure) => Some(Decision::Fail(scope.failed(&validation.check, failure).to_string())),
        // Also for validations that pass.
        Ok(_) if exhausted => Some(Decision::Fail(format!("failed messageExpression: {OUT_OF_BUDGET}"))),
        Ok(Value::Bool(true)) => None,
        Ok(_) => {
            let message = fallen_back(validation, made.as_ref());
            Some(Decision::Deny(message.to_string(), validation.reason.clone()))
        }
    };
    let all = validations.iter().zip(results).zip(messages).map(decision).enumerate();
    Some(all.filter_map(|(i, decision)| Some((i, decision?))).collect())
}

fn annotated(
    policy: BoundPolicy<'_>,
    root: &Value,
    cx: &Context,
    mut evaluated: BindingEvaluation,
) -> BindingEvaluation {
    let scope = Scope::of_rule(root, policy.expressions, cx).with_budget(BUDGET);
    for annotation in &policy.expressions.annotations {
        match scope.value(&annotation.value.program) {
            Err(Failure::OutOfBudget) => return BindingEvaluation::failed(OUT_OF_BUDGET),
            Ok(Value::Str(text)) => {
                let text = text.trim();
                if !text.is_empty() {
                    evaluated.annotations.push((annotation.key.clone(), cut(text)));
                }
            }
            Ok(_) => {}
            Err(_) if *policy.failure_policy() == FailurePolicy::Ignore => {}
            Err(failure) => {
                let failed = scope.failed(&annotation.value, failure);
                evaluated.broken_annotations.push(failed.to_string());
            }
        }
    }
    evaluated
}

/// The first bytes of a text; half a character becomes the replacement character.
fn cut(text: &str) -> String {
    match text.as_bytes().get(..MAX_ANNOTATION) {
        Some(head) => String::from_utf8_lossy(head).into_owned(),
        None => text.into(),
    }
}
