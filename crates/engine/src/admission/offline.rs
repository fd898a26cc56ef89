//! Admission policies outside of a cluster, as Kyverno runs them.
//!
//! The request always creates the object, which has no schema: lists are replaced, numbers are
//! doubles. Parameters are selected by name or labels alone. Semantics:
//! `docs/semantics/admission.md`, "Outside of a cluster".

use crate::expressions::Scope;
use crate::matched::{MatchedRule, RuleCall};
use crate::results::{RuleEffect, RuleRun};
use crate::view::offline::{root, whole_root};
use crate::view::rule::namespace;
use crate::{Request, RuleOutcome, Status};
use ephor_ir::Rule;
use ephor_ir::admission::{Bound, PolicyBinding};
use ephor_ir::expressions::{API_SERVER, Expressions, PatchType};
use ephor_ir::facts::FailurePolicy;
use ephor_matching::constraints::accepts_target;
use ephor_matching::filter::selects;
use ephor_patch::structured::merge_freely;
use ephor_value::stock::stock;
use ephor_value::{Map, Str, Value};

use super::bound::{patches, validations};
use super::change::apply_literals;
use super::crossing::part_of;
use super::literal::{LiteralData, check_names};
use super::validate::{BUDGET, CONDITIONS, decided};
use crate::expressions::OUT_OF_BUDGET;

/// The calls of a rule: one for each binding that accepts the request, or for the last of them; one
/// for a policy without bindings.
pub(crate) fn plan<'p>(
    rule: &'p Rule,
    request: &Request,
    last_alone: bool,
) -> impl Iterator<Item = RuleCall<'p>> {
    let all = bindings(rule);
    let unbound = all.is_empty().then(|| RuleCall::from(rule));
    let accepted = move |binding: &&PolicyBinding| accepts(binding, request);
    let last = if last_alone { all.iter().rev().find(accepted) } else { None };
    let each = if last_alone { &[] } else { all };
    let bound = last.into_iter().chain(each.iter().filter(accepted));
    unbound.into_iter().chain(bound.map(move |binding| RuleCall { rule, binding: Some(binding) }))
}

fn bindings(rule: &Rule) -> &[PolicyBinding] {
    rule.bound.as_deref().map_or(&[], |bound| &bound.bindings)
}

fn accepts(binding: &PolicyBinding, request: &Request) -> bool {
    binding.when.as_ref().is_none_or(|c| accepts_target(c, &request.target))
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

/// The result of a call; `key`: the property that names the binding.
fn outcome(matched: MatchedRule<'_, '_>, status: Status, text: Str, key: &'static str) -> RuleOutcome {
    let mut result = matched.result(status, text);
    if let Some(binding) = matched.binding {
        // Most have no other property.
        result.properties = vec![(stock(key), binding.name.clone())];
    }
    result
}

/// Whether the conditions of a policy hold, which see no parameter that was looked up; none does
/// where that is unknown and the policy may be ignored.
fn admits(matched: MatchedRule<'_, '_>, of: &Expressions, params: Option<Value>) -> Result<bool, Str> {
    if of.conditions.is_empty() {
        return Ok(true);
    }
    let seen = seen(matched, &matched.request.object, params, Value::Null);
    match scope(matched, of, &seen, CONDITIONS).admits(&of.conditions) {
        Err(_) if of.failure_policy == FailurePolicy::Ignore => Ok(false),
        admits => admits.map_err(|error| error.to_string().into()),
    }
}

/// What expressions see. Where the profile says so, whatever is requested is seen as a creation.
fn seen(matched: MatchedRule<'_, '_>, object: &Value, params: Option<Value>, namespace: Value) -> Value {
    let creates = matched.context.profile.admission_policies_see_creations;
    root(matched.request, creates, object, params, namespace)
}

fn scope<'s>(matched: MatchedRule<'s, '_>, of: &'s Expressions, root: &'s Value, budget: u64) -> Scope<'s> {
    Scope::of_rule(root, of, &matched.request.functions).with_budget(budget)
}

/// The result of a policy that validates.
pub(crate) fn verdict(bound: &Bound, matched: MatchedRule<'_, '_>) -> Option<RuleOutcome> {
    let MatchedRule { rule, request, binding, .. } = matched;
    let expressions = rule.expressions.as_ref()?;
    let report = |status, text| Some(outcome(matched, status, text, "binding"));
    let params = bound.param_kind.as_ref().map(|_| param(bound, binding));
    match admits(matched, expressions, params.clone()) {
        Ok(true) => {}
        Ok(false) => return report(Status::Skip, stock(API_SERVER.unmet)),
        Err(text) => return report(Status::Error, text),
    }
    let with_params;
    let root = match params {
        None => whole_root(request, matched.context.profile.admission_policies_see_creations),
        params => {
            with_params = seen(matched, &request.object, params, namespace(request));
            &with_params
        }
    };
    let Some(decisions) = decided(expressions, validations(rule), root, root, &request.functions) else {
        return report(Status::Error, stock(OUT_OF_BUDGET));
    };
    match decisions.into_iter().next() {
        Some(failed) => report(failed.status, failed.message),
        None => report(Status::Pass, stock(API_SERVER.passed)),
    }
}

/// The result of a policy that mutates the object, and the object. A mutation that fails gives no
/// result.
pub(crate) fn change(bound: &Bound, matched: MatchedRule<'_, '_>) -> RuleRun {
    let Some(expressions) = &matched.rule.expressions else { return RuleRun::default() };
    let report = |status, text| Some(outcome(matched, status, text, "mapBinding")).into();
    match admits(matched, expressions, bound.param_kind.as_ref().map(|_| Value::Null)) {
        Ok(true) => {}
        Ok(false) => return report(Status::Skip, stock(API_SERVER.unmet)),
        Err(text) => return report(Status::Error, text),
    }
    let Some(object) = changed(bound, matched, expressions) else { return RuleRun::default() };
    let effect = match object.strict_eq(&matched.request.object) {
        true => RuleEffect::Same,
        false => RuleEffect::Changed(object),
    };
    RuleRun { effect, ..report(Status::Pass, stock("mutation is successfully applied")) }
}

/// The object after all mutations; `None` when one fails.
fn changed(bound: &Bound, matched: MatchedRule<'_, '_>, expressions: &Expressions) -> Option<Value> {
    let MatchedRule { rule, request, binding, .. } = matched;
    let params = bound.param_kind.as_ref().map(|_| param(bound, binding));
    let namespace = if request.target.namespace.is_empty() { Value::Null } else { namespace(request) };
    let mut object = request.object.clone();
    // A patch of no known type changes nothing.
    for patch in patches(rule).iter().filter(|p| p.patch_type != PatchType::Unknown) {
        let root = seen(matched, &object, params.clone(), namespace.clone());
        let value = scope(matched, expressions, &root, BUDGET).value(&patch.source.program).ok()?;
        let new = match patch.patch_type {
            PatchType::ApplyConfiguration => {
                check_names(&value).ok()?;
                let part = part_of(&value, &LiteralData::of(&root)).ok()?;
                Some(merge_freely(&object, &part).ok()?)
            }
            PatchType::JsonPatch => apply_literals(&object, &value).ok()?,
            PatchType::Unknown => None,
        };
        object = new.unwrap_or(object);
    }
    Some(object)
}
