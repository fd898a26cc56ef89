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
use ephor_kubernetes::admitted::as_sent;
use ephor_kubernetes::resource_object;
use ephor_value::budget::Excess;
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use super::Review;
use super::binding_row::BindingRow;
use super::bound::BoundPolicy;
use super::cluster_view::ClusterView;
use super::mutate::Passes;
use super::plan::{BoundCall, plan};
use super::validate::{admits, entered, evaluate, exceeded, result, seen};
use crate::Request;
use crate::call::{CallMatch, Subject, calls};
use crate::matched::EvalContext;
use crate::outcome::{RuleOutcome, Status};
use crate::request::namespace_of_labels;
use crate::results::{Results, RuleRun};
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
    let review = review(request, &cluster);
    let functions = cluster.functions(&review);
    let mut on = OnRequest { policy: bound, review: &review, cluster: &cluster, cx: &functions };
    match bound.mutates() {
        true => on.changed(),
        false => calls(plan(bound, &review, &cluster), &mut on),
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

/// The request as the API server reviews it.
fn review(request: &Request, cluster: &ClusterView<'_>) -> Review {
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
        false => as_sent(object, &kind, cluster.types()),
    };
    let (object, old) = (seen(&request.object), seen(&request.old_object));
    sent.insert("object", object);
    sent.insert("oldObject", old);
    Review::new(Value::Map(sent))
}

/// A request that a policy is evaluated on.
struct OnRequest<'c> {
    policy: BoundPolicy<'c>,
    review: &'c Review,
    cluster: &'c ClusterView<'c>,
    cx: &'c Context,
}

impl Subject for OnRequest<'_> {
    type Call = BoundCall;

    fn enter(&mut self, call: &BoundCall) -> CallMatch {
        entered(self.policy, call, "")
    }

    fn evaluate(&mut self, call: &BoundCall) -> RuleRun {
        let Ok(view) = &call.with else { return RuleRun::default() };
        let found = match evaluate(self.policy, view, self.review, self.cluster, self.cx) {
            None => vec![self.row(Status::Skip, API_SERVER.unmet)],
            Some(found) if found.iter().all(|one| !one.status.is_violation()) => {
                vec![self.row(Status::Pass, API_SERVER.passed)]
            }
            Some(found) => found.into_iter().map(shown).collect(),
        };
        self.of(call, found).into()
    }

    fn exceeded(&mut self, call: &BoundCall, run: RuleRun, excess: Excess) -> Option<RuleRun> {
        Some(self.of(call, exceeded(self.policy, run, excess)).into())
    }
}

impl OnRequest<'_> {
    fn row(&self, status: Status, text: &str) -> RuleOutcome {
        result(self.policy, status, text, BindingRow::default())
    }

    /// The results of a call, each with its binding.
    fn of(&self, call: &BoundCall, mut results: Vec<RuleOutcome>) -> Vec<RuleOutcome> {
        let key = if self.policy.mutates() { "mapBinding" } else { "binding" };
        let binding = call.binding.and_then(|at| self.policy.bindings().get(at));
        for one in &mut results {
            one.binding.iter_mut().for_each(|row| row.binding = call.binding);
            one.properties.extend(
                binding.filter(|b| !b.name.is_empty()).map(|binding| (key.into(), binding.name.clone())),
            );
        }
        results
    }

    /// The results of a policy that changes the object, and the object.
    fn changed(&mut self) -> Results {
        let plan = plan(self.policy, self.review, self.cluster);
        if plan.is_empty() || self.review.object().is_null() {
            return Results::default();
        }
        let mut passes = Passes::new(self.review, self.cluster);
        let denied = passes.run(&[self.policy], self.review, false).err();
        let object = Some(passes.object.clone()).filter(|_| passes.changed);
        let row = match denied {
            Some(denial) => self.row(Status::Error, &denial.message),
            None if object.is_some() || plan.iter().any(|call| self.is_met(call)) => {
                self.row(Status::Pass, "mutation is successfully applied")
            }
            None => self.row(Status::Skip, API_SERVER.unmet),
        };
        let last = plan.last().map(|call| self.of(call, vec![row])).unwrap_or_default();
        Results { object, ..last.into() }
    }

    fn is_met(&self, call: &BoundCall) -> bool {
        let Ok(view) = &call.with else { return false };
        let (object, release) = (self.review.object(), self.cluster.release());
        let seen = seen(&view.accepted, view.param.clone(), self.review, object, release);
        admits(self.policy, view, self.review, &seen, self.cx).unwrap_or(false)
    }
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
