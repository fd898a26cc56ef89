//! Policies that ask.

use crate::functions::Context;
use crate::ir::admission::PolicyBinding;
use crate::ir::expressions::Expressions;
use crate::ir::expressions::{API_SERVER, Source, Validation};
use crate::ir::facts::FailurePolicy;
use crate::matching::constraints::Accepted;
use crate::value::print::write_json_string;
use crate::value::{Map, Str, Value, budget};

use super::convert::converted;
use super::hooks::{BoundPolicy, Chain, Run, Step, steps};
use super::{Answer, ClusterView, Denial, Review};
use crate::engine::expressions::Scope;
use crate::engine::expressions::scope::{Failure, OUT_OF_BUDGET, fallen_back};
use crate::engine::view::admission::{self, Seen};

/// What the demands of an evaluation with their messages may cost, and its annotations.
pub const BUDGET: u64 = 10_000_000;
/// What its conditions may cost.
pub const CONDITIONS: u64 = 2_500_000;
/// A value for the audit log is cut there.
const MAX_ANNOTATION: usize = 10 << 10;
/// The key under which the audit log gets failures.
const FAILURE_KEY: &str = "validation.policy.admission.k8s.io/validation_failure";

/// Asks all policies about a request.
pub fn validate(chain: &Chain, review: &Review, cluster: &ClusterView<'_>) -> Answer {
    let mut state = State { review, first: None, warnings: Vec::new(), annotations: Map::new() };
    if review.is_exempt() {
        return Answer::default();
    }
    let cx = cluster.functions(review);
    for policy in chain.candidates(&review.attributes.resource) {
        let mut told: Vec<(Str, Vec<String>)> = Vec::new();
        for step in steps(policy, review, cluster) {
            match step {
                Step::Broken { binding, text } => state.deny(policy, binding, &text, ""),
                Step::Run(run) => match bounded(policy, &run, review, cluster, &cx) {
                    Ok(outcome) => {
                        state.decide(policy, run.binding, &outcome.decisions);
                        for text in &outcome.broken_annotations {
                            state.deny(policy, Some(run.binding), text, "");
                        }
                        for (key, value) in outcome.annotations {
                            note(&mut told, key, value);
                        }
                    }
                    Err(denial) => return Answer { denial: Some(denial), ..state.answer() },
                },
            }
        }
        for (key, values) in told {
            state.annotate(&format!("{}/{key}", policy.name()), values.join(", "));
        }
    }
    state.answer()
}

fn note(told: &mut Vec<(Str, Vec<String>)>, key: Str, value: String) {
    match told.iter_mut().find(|(k, _)| *k == key) {
        Some((_, values)) if values.contains(&value) => {}
        Some((_, values)) => values.push(value),
        None => told.push((key, vec![value])),
    }
}

/// What a demand came to.
pub(super) enum Decision {
    /// It is met.
    Admit,
    /// It failed, which the policy may ignore.
    Fail(String),
    /// It is not met: message and reason.
    Deny(String, Str),
}

struct Outcome {
    decisions: Vec<Decision>,
    annotations: Vec<(Str, String)>,
    /// Annotations that failed, and count.
    broken_annotations: Vec<String>,
}

impl Outcome {
    fn of(decisions: Vec<Decision>) -> Outcome {
        Outcome { decisions, annotations: Vec::new(), broken_annotations: Vec::new() }
    }
}

struct State<'r> {
    review: &'r Review,
    first: Option<Denial>,
    warnings: Vec<String>,
    annotations: Map,
}

impl State<'_> {
    fn deny(&mut self, policy: &BoundPolicy, binding: Option<&PolicyBinding>, text: &str, reason: &str) {
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

    fn decide(&mut self, policy: &BoundPolicy, binding: &PolicyBinding, decisions: &[Decision]) {
        for (i, decision) in decisions.iter().enumerate() {
            let (text, reason) = match decision {
                Decision::Admit => continue,
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
                    "Audit" => self.annotate(FAILURE_KEY, failure(policy, binding, text, i)),
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

    fn answer(self) -> Answer {
        Answer { denial: self.first, warnings: self.warnings, annotations: self.annotations }
    }
}

/// A failure as the audit log shows it.
fn failure(policy: &BoundPolicy, binding: &PolicyBinding, text: &str, index: usize) -> String {
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
    let id = |parts: &[Str; 3], last: &str| {
        let names = ["group", "version", last];
        Value::Map(names.into_iter().zip(parts).map(|(k, v)| (Str::from(k), Value::Str(v.clone()))).collect())
    };
    for (own, other) in
        [("requestKind", "kind"), ("requestResource", "resource"), ("requestSubResource", "subResource")]
    {
        if !request.contains_key(own)
            && let Some(v) = request.get(other).cloned()
        {
            request.insert(own, v);
        }
    }
    request.insert("kind", id(&accepted.kind, "kind"));
    request.insert("resource", id(&accepted.resource, "resource"));
    Value::Map(request)
}

/// The request as conditions see it: of the resource they see the client's version.
pub fn conditions_request(accepted: &Accepted, review: &Review) -> Value {
    let mut request = seen_request(accepted, review).as_map().cloned().unwrap_or_default();
    request.insert("resource", review.part("resource"));
    Value::Map(request)
}

/// Asks conditions that belong to no policy, on a request under the resource that accepted it.
///
/// # Errors
/// None is false and some fail.
pub fn conditions(
    all: &[Source],
    accepted: &Accepted,
    review: &Review,
    cx: &Context,
) -> Result<bool, String> {
    if all.is_empty() {
        return Ok(true);
    }
    let seen = Seen {
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
    policy: &BoundPolicy,
    run: &Run<'_>,
    review: &Review,
    cluster: &ClusterView<'_>,
    cx: &Context,
) -> Result<Outcome, Denial> {
    let (outcome, excess) = budget::spend(|| evaluate(policy, run, review, cluster, cx));
    let text = match excess {
        None => return outcome,
        Some(excess) => excess.text().to_string(),
    };
    let mut decisions = outcome?.decisions;
    decisions.retain(|d| matches!(d, Decision::Deny(..)));
    decisions.push(Decision::Fail(text));
    Ok(Outcome::of(decisions))
}

fn evaluate(
    policy: &BoundPolicy,
    run: &Run<'_>,
    review: &Review,
    cluster: &ClusterView<'_>,
    cx: &Context,
) -> Result<Outcome, Denial> {
    let namespace = seen_namespace(review, cluster)?;
    let seen = Seen {
        object: converted(review.object(), &run.accepted.kind),
        old_object: converted(&review.part("oldObject"), &run.accepted.kind),
        params: run.param.clone(),
        namespace: Value::Null,
        authorizer: true,
    };
    if !policy.expressions.conditions.is_empty() {
        let request = admission::request(&conditions_request(&run.accepted, review));
        let root = admission::root(&request, seen.clone(), &review.request);
        let scope = Scope::of_rule(&root, &policy.expressions, cx).with_budget(CONDITIONS);
        match scope.admits(&policy.expressions.conditions) {
            Ok(true) => {}
            Ok(false) => return Ok(Outcome::of(Vec::new())),
            Err(text) => return Ok(Outcome::of(vec![Decision::Fail(text)])),
        }
    }
    let request = admission::request(&seen_request(&run.accepted, review));
    let seen = Seen { namespace, ..seen };
    let root = admission::root(&request, seen.clone(), &review.request);
    let silent = admission::root(&request, Seen { authorizer: false, ..seen }, &review.request);
    let decisions = decided(&policy.expressions, policy.validations(), &root, &silent, cx)
        .unwrap_or_else(|| vec![Decision::Fail(OUT_OF_BUDGET.into())]);
    Ok(annotated(policy, &silent, cx, decisions))
}

/// Evaluates all validations, then their messages; `None` when the budget is exhausted.
pub(super) fn decided(
    expressions: &Expressions,
    validations: &[Validation],
    root: &Value,
    silent: &Value,
    cx: &Context,
) -> Option<Vec<Decision>> {
    let scope = Scope::of_rule(root, expressions, cx).with_budget(BUDGET);
    let mut results = Vec::with_capacity(validations.len());
    for validation in validations {
        match scope.value(&validation.check.program) {
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
        Err(failure) => Decision::Fail(scope.text(&validation.check, &failure)),
        // Also for validations that pass.
        Ok(_) if exhausted => Decision::Fail(format!("failed messageExpression: {OUT_OF_BUDGET}")),
        Ok(Value::Bool(true)) => Decision::Admit,
        Ok(_) => {
            let message = fallen_back(validation, made.as_ref());
            Decision::Deny(message.to_string(), validation.reason.clone())
        }
    };
    Some(validations.iter().zip(results).zip(messages).map(decision).collect())
}

fn annotated(policy: &BoundPolicy, root: &Value, cx: &Context, decisions: Vec<Decision>) -> Outcome {
    let mut outcome = Outcome::of(decisions);
    let scope = Scope::of_rule(root, &policy.expressions, cx).with_budget(BUDGET);
    for annotation in &policy.expressions.annotations {
        match scope.value(&annotation.value.program) {
            Err(Failure::OutOfBudget) => return Outcome::of(vec![Decision::Fail(OUT_OF_BUDGET.into())]),
            Ok(Value::Str(text)) => {
                let text = text.trim();
                if !text.is_empty() {
                    outcome.annotations.push((annotation.key.clone(), cut(text)));
                }
            }
            Ok(_) => {}
            Err(_) if *policy.failure_policy() == FailurePolicy::Ignore => {}
            Err(failure) => outcome.broken_annotations.push(scope.text(&annotation.value, &failure)),
        }
    }
    outcome
}

/// The first bytes of a text; half a character becomes the replacement character.
fn cut(text: &str) -> String {
    match text.as_bytes().get(..MAX_ANNOTATION) {
        Some(head) => String::from_utf8_lossy(head).into_owned(),
        None => text.into(),
    }
}
