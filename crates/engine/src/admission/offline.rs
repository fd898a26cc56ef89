//! Admission policies outside of a cluster, as Kyverno runs them.
//!
//! The request always creates the object, which has no schema: lists are replaced, numbers are
//! doubles. Parameters are selected by name or labels alone. Semantics:
//! `docs/semantics/admission.md`, "Outside of a cluster".

use crate::expressions::Scope;
use crate::view::offline::root;
use crate::view::rule::namespace;
use crate::{Request, RuleOutcome, Status};
use ephor_ir::Rule;
use ephor_ir::admission::{Bound, PolicyBinding};
use ephor_ir::expressions::{API_SERVER, ExpressionPatch, Expressions, PatchType};
use ephor_ir::facts::FailurePolicy;
use ephor_matching::constraints::accepts_target;
use ephor_matching::filter::selects;
use ephor_patch::structured::merge_freely;
use ephor_value::{Map, Value};

use super::bound::{patches, validations};
use super::change::apply_literals;
use super::literal::{LiteralData, check_names, part};
use super::validate::{BUDGET, CONDITIONS, decided};
use crate::expressions::{ConditionsError, OUT_OF_BUDGET};

/// The bindings that accept a request; one `None` for a policy without bindings.
fn accepting<'b>(bound: &'b Bound, request: &Request) -> Vec<Option<&'b PolicyBinding>> {
    if bound.bindings.is_empty() {
        return vec![None];
    }
    let accepts = |b: &&PolicyBinding| b.when.as_ref().is_none_or(|c| accepts_target(c, &request.target));
    bound.bindings.iter().filter(accepts).map(Some).collect()
}

/// The parameter; null when there is none.
fn param(bound: &Bound, binding: Option<&PolicyBinding>) -> Value {
    let Some(wanted) = binding.and_then(|b| b.params.as_ref()) else { return Value::Null };
    match &wanted.selector {
        None => {
            let named = |o: &&Value| o.text_at(&["metadata", "name"]) == &*wanted.name;
            bound.params.iter().find(named).cloned().unwrap_or_default()
        }
        Some(selector) => {
            let none = Map::new();
            let fits = |o: &&Value| {
                selects(selector, o.at(&["metadata", "labels"]).and_then(Value::as_map).unwrap_or(&none))
            };
            let items: Vec<Value> = bound.params.iter().filter(fits).cloned().collect();
            if items.is_empty() {
                return Value::Null;
            }
            let mut list = Map::new();
            list.insert("items", Value::list(items));
            Value::Map(list)
        }
    }
}

fn outcome(
    rule: &Rule,
    status: Status,
    text: &str,
    binding: Option<&PolicyBinding>,
    key: &str,
) -> RuleOutcome {
    let mut result = RuleOutcome::new(&rule.name, rule.kind, status, text);
    if let Some(binding) = binding {
        result.properties.push((key.into(), binding.name.clone()));
    }
    result
}

/// The result of a policy that validates; the last binding that accepts the request decides.
/// `creates`: whatever is requested is seen as a creation.
pub fn verdict(bound: &Bound, rule: &Rule, request: &Request, creates: bool) -> Option<RuleOutcome> {
    let binding = accepting(bound, request).pop()?;
    let expressions = rule.expressions.as_ref()?;
    let report = |status, text: &str| Some(outcome(rule, status, text, binding, "binding"));
    let params = bound.param_kind.as_ref().map(|_| param(bound, binding));
    let seen = |namespace: Value| root(request, creates, &request.object, params.clone(), namespace);
    let conditions = seen(Value::Null);
    match scope(expressions, &conditions, request, CONDITIONS).admits(&expressions.conditions) {
        Ok(true) => {}
        Ok(false) => return report(Status::Skip, API_SERVER.unmet),
        Err(_) if expressions.failure_policy == FailurePolicy::Ignore => {
            return report(Status::Skip, API_SERVER.unmet);
        }
        Err(error) => return report(Status::Error, &error.to_string()),
    }
    let root = seen(namespace(request));
    let Some(decisions) = decided(expressions, validations(rule), &root, &root, &request.functions) else {
        return report(Status::Error, OUT_OF_BUDGET);
    };
    match decisions.into_iter().next() {
        Some(failed) => report(failed.status, &failed.message),
        None => report(Status::Pass, API_SERVER.passed),
    }
}

/// The result of a policy that mutates the object, and the object; each binding sees the object
/// that the one before it left. A mutation that fails gives no result.
pub fn change(
    bound: &Bound,
    rule: &Rule,
    request: &Request,
    creates: bool,
) -> (Option<RuleOutcome>, Option<Value>) {
    let Some(expressions) = &rule.expressions else { return (None, None) };
    let (mut last, mut object) = (None, request.object.clone());
    for binding in accepting(bound, request) {
        let report = |status, text: &str| Some(outcome(rule, status, text, binding, "mapBinding"));
        match changed(bound, expressions, patches(rule), binding, (request, creates), &object) {
            Ok(Some(new)) => {
                object = new;
                last = report(Status::Pass, "mutation is successfully applied");
            }
            Ok(None) => last = report(Status::Skip, API_SERVER.unmet),
            Err(MutationFailure::Condition(error)) => last = report(Status::Error, &error.to_string()),
            Err(MutationFailure::Change) => {}
        }
    }
    let new = (!object.strict_eq(&request.object)).then_some(object);
    (last, new)
}

fn scope<'s>(expressions: &'s Expressions, root: &'s Value, request: &'s Request, budget: u64) -> Scope<'s> {
    Scope::of_rule(root, expressions, &request.functions).with_budget(budget)
}

enum MutationFailure {
    Condition(ConditionsError),
    Change,
}

fn changed(
    bound: &Bound,
    expressions: &Expressions,
    patches: &[ExpressionPatch],
    binding: Option<&PolicyBinding>,
    (request, creates): (&Request, bool),
    object: &Value,
) -> Result<Option<Value>, MutationFailure> {
    let params = bound.param_kind.as_ref().map(|_| Value::Null);
    let conditions = root(request, creates, object, params, Value::Null);
    match scope(expressions, &conditions, request, CONDITIONS).admits(&expressions.conditions) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(_) if expressions.failure_policy == FailurePolicy::Ignore => return Ok(None),
        Err(error) => return Err(MutationFailure::Condition(error)),
    }
    let params = bound.param_kind.as_ref().map(|_| param(bound, binding));
    let namespace = if request.target.namespace.is_empty() { Value::Null } else { namespace(request) };
    let mut object = object.clone();
    // A patch of no known type changes nothing.
    for patch in patches.iter().filter(|p| p.patch_type != PatchType::Unknown) {
        let root = root(request, creates, &object, params.clone(), namespace.clone());
        let scope = scope(expressions, &root, request, BUDGET);
        let value = scope.value(&patch.source.program).map_err(|_| MutationFailure::Change)?;
        let new = match patch.patch_type {
            PatchType::ApplyConfiguration => {
                check_names(&value).map_err(|_| MutationFailure::Change)?;
                merge_freely(&object, &part(&value, &LiteralData::of(&root)))
                    .map(Some)
                    .map_err(|_| MutationFailure::Change)
            }
            PatchType::JsonPatch => apply_literals(&object, &value).map_err(|_| MutationFailure::Change),
            PatchType::Unknown => Ok(None),
        };
        object = new?.unwrap_or(object);
    }
    Ok(Some(object))
}
