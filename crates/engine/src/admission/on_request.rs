//! Admission policies on the requests of commands, as an API server of a release runs them.
//!
//! In: a policy that was lowered for an API server, with its bindings and what may be its
//! parameters, and a request. Out: a result for each binding that concerns the request: unlike an
//! API server a command says of policies, too, that they pass or that their conditions are not met.
//! The object is seen as the release stores it: without fields that it does not know, with its
//! defaults. Semantics: `docs/semantics/admission.md`, "On a chosen release".

use ephor_functions::Context;
use ephor_ir::Policy;
use ephor_ir::expressions::API_SERVER;
use ephor_kubernetes::admitted::{as_sent, without_disabled};
use ephor_kubernetes::resource_object;
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use super::Review;
use super::binding_row::BindingRow;
use super::bound::BoundPolicy;
use super::cluster_view::ClusterView;
use super::mutate::{Mutated, mutate};
use super::plan::{BoundCall, plan};
use super::validate::{self, admits, result, seen};
use crate::Request;
use crate::matched::EvalContext;
use crate::outcome::{RuleOutcome, Status};
use crate::request::namespace_of_labels;
use crate::results::Results;
use crate::run::Phase;
use crate::view::offline::with_user;
use crate::view::rule::admission_request;

/// Whether an API server runs a policy, and of which release; else Kyverno does, or it is one of
/// Kyverno's.
pub(crate) fn server_of(policy: &Policy) -> Option<Release> {
    policy.rules.first()?.bound.as_ref()?.server
}

/// What a policy does with a request in one phase.
pub(crate) fn results(
    phase: Phase,
    policy: &Policy,
    release: Release,
    request: &Request,
    context: EvalContext<'_>,
) -> Results {
    let Some(bound) = BoundPolicy::of(policy) else { return Results::default() };
    let is_own = match phase {
        Phase::Mutate => bound.mutates(),
        Phase::Decide => !bound.mutates(),
        _ => false,
    };
    if !is_own {
        return Results::default();
    }
    let namespace = (request.target.namespace.clone(), known_namespace(request));
    let cluster = ClusterView::of_command(context.sources, release, &bound.bound.params, namespace);
    let review = review(request, &cluster, bound.mutates());
    let functions = cluster.functions(&review);
    match bound.mutates() {
        true => changed(bound, &review, &cluster, &functions),
        false => validated(bound, &review, &cluster, &functions).into(),
    }
}

/// What is known of the namespace of a request.
fn known_namespace(request: &Request) -> Option<Value> {
    if !request.namespace.is_null() {
        return Some(request.namespace.clone());
    }
    let target = &request.target;
    let mut labels = target.namespace_labels.clone();
    labels.insert("kubernetes.io/metadata.name", Value::Str(target.namespace.clone()));
    (!target.namespace.is_empty()).then(|| namespace_of_labels(&target.namespace, labels))
}

/// The request as the API server reviews it; policies that validate see it after mutations.
fn review(request: &Request, cluster: &ClusterView<'_>, mutates: bool) -> Review {
    let mut sent = admission_request(request);
    let target = &request.target;
    if request.sent.is_none()
        && let Some(known) = cluster.kinds().kind(&target.group, &target.version, &target.kind)
    {
        for key in ["resource", "requestResource"] {
            sent.insert(key, resource_object([&*known.group, &*known.version, &*known.plural]));
        }
    }
    if !sent.contains_key("operation") {
        sent.insert("operation", "CREATE".into());
    }
    with_user(&mut sent);
    let part = |key: &str| Str::from(sent.get("kind").map_or("", |kind| kind.text_at(&[key])));
    let kind = [part("group"), part("version"), part("kind")];
    let seen = |object: &Value| match object.is_null() {
        true => Value::Null,
        false if mutates => as_sent(object, &kind, cluster.types()),
        false => without_disabled(as_sent(object, &kind, cluster.types()), &kind[2], cluster.release()),
    };
    let (object, old) = (seen(&request.object), seen(&request.old_object));
    sent.insert("object", object);
    sent.insert("oldObject", old);
    Review::new(Value::Map(sent))
}

/// What a policy that validates gives, each result with the name of its binding.
fn validated(
    policy: BoundPolicy<'_>,
    review: &Review,
    cluster: &ClusterView<'_>,
    cx: &Context,
) -> Vec<RuleOutcome> {
    let all = validate::results(policy, review, cluster, cx, true);
    all.into_iter().map(|result| named(policy, shown(result))).collect()
}

/// The result of a policy that changes the object, and the object.
fn changed(policy: BoundPolicy<'_>, review: &Review, cluster: &ClusterView<'_>, cx: &Context) -> Results {
    let plan = plan(policy, review, cluster);
    let Some(last) = plan.last().filter(|_| !review.object().is_null()) else { return Results::default() };
    let Mutated { object, denial } = mutate(&[policy], review, cluster);
    let object = Some(object).filter(|object| !object.json_eq(review.object()));
    let is_met = |call: &BoundCall| {
        let Ok(view) = &call.with else { return false };
        let seen = seen(&view.accepted, view.param.clone(), review, review.object(), cluster.release());
        admits(policy, view, review, &seen, cx).unwrap_or(false)
    };
    let (status, text) = match &denial {
        Some(denial) => (Status::Error, &*denial.message),
        None if object.is_some() || plan.iter().any(is_met) => {
            (Status::Pass, "mutation is successfully applied")
        }
        None => (Status::Skip, API_SERVER.unmet),
    };
    let row = BindingRow { binding: last.binding, ..BindingRow::default() };
    Results { object, ..vec![named(policy, result(policy, status, text, row))].into() }
}

/// A result with the name of its binding, as reports have it.
fn named(policy: BoundPolicy<'_>, mut result: RuleOutcome) -> RuleOutcome {
    let key = if policy.mutates() { "mapBinding" } else { "binding" };
    let at = result.binding.as_ref().and_then(|row| row.binding);
    let binding = at.and_then(|at| policy.bindings().get(at)).filter(|binding| !binding.name.is_empty());
    result.properties.extend(binding.map(|binding| (key.into(), binding.name.clone())));
    result
}

/// A result as commands show it: a denial with its message.
fn shown(mut result: RuleOutcome) -> RuleOutcome {
    if let Some(denial) = result.binding.as_ref().and_then(|row| row.denial.as_deref())
        && result.message.is_empty()
    {
        result.message = denial.message.as_str().into();
    }
    result
}
