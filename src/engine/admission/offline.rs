//! Admission policies outside of a cluster, as Kyverno runs them.
//!
//! The request always creates the object, which has no schema: lists are replaced, numbers are doubles.
//! Parameters are told by name or labels alone. Semantics: `docs/admission.md`, "Outside of a cluster".

use crate::engine::expressions::{admission_request, namespace};
use crate::engine::{Request, RuleOutcome, Status};
use crate::ir::Rule;
use crate::ir::admission::{AdmissionBody, Bound, Change, ChangeKind, OnFailure, PolicyBinding};
use crate::matching::constraints::accepts_target;
use crate::matching::filter::selects;
use crate::patch::structured::merge_freely;
use crate::value::{Map, Value};

use super::change::apply_literals;
use super::listing::{Admitted, Listing, admitted};
use super::literal::{check_names, part};
use super::validate::{BUDGET, CONDITIONS, Decision, asked};

const NOT_MET: &str = "match conditions aren't met";

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

/// What expressions see.
fn root(request: &Request, object: &Value, params: Option<Value>, namespace: Value) -> Value {
    let mut r = admission_request(request);
    r.insert("operation", Value::from("CREATE"));
    let user = r.get("userInfo").and_then(Value::as_map).is_none_or(Map::is_empty);
    if user {
        let mut m = Map::new();
        m.insert("username", "system:kyverno:background-scan".into());
        m.insert("uid", "system:kyverno:background-scan".into());
        m.insert("groups", Value::list(vec!["system:kyverno:background-scan".into()]));
        r.insert("userInfo", Value::Map(m));
    }
    let mut m = Map::new();
    m.insert("object", object.clone());
    m.insert("oldObject", Value::Null);
    m.insert("request", Value::Map(r));
    m.insert("namespaceObject", namespace);
    if let Some(params) = params {
        m.insert("params", params);
    }
    Value::Map(m)
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

/// The result of a policy that asks; the last binding that accepts the request decides.
pub fn verdict(bound: &Bound, rule: &Rule, request: &Request) -> Option<RuleOutcome> {
    let binding = accepting(bound, request).pop()?;
    let policy = &bound.policy;
    let AdmissionBody::Ask { demands, .. } = &policy.body else { return None };
    let told = |status, text: &str| Some(outcome(rule, status, text, binding, "binding"));
    let params = policy.params.as_ref().map(|_| param(bound, binding));
    let seen = |namespace: Value| root(request, &request.object, params.clone(), namespace);
    let conditions = seen(Value::Null);
    match admitted(&policy.admit, Listing::new(&policy.lazies, &conditions, &request.functions, CONDITIONS)) {
        Admitted::Yes => {}
        Admitted::No => return told(Status::Skip, NOT_MET),
        Admitted::Failed(_) if policy.failure == OnFailure::Ignore => return told(Status::Skip, NOT_MET),
        Admitted::Failed(text) => return told(Status::Error, &text),
    }
    let root = seen(namespace(request));
    let decisions = match asked(policy, demands, &root, &root, &request.functions) {
        Ok(decisions) => decisions,
        Err(_) => return told(Status::Error, super::listing::OUT_OF_BUDGET),
    };
    for decision in decisions {
        match decision {
            Decision::Admit => {}
            Decision::Fail(text) => return told(Status::Error, &text),
            Decision::Deny(text, _) => return told(Status::Fail, &text),
        }
    }
    told(Status::Pass, "")
}

/// The result of a policy that changes the object, and the object; each binding sees what the one before
/// it has made. A change that fails gives no result.
pub fn change(bound: &Bound, rule: &Rule, request: &Request) -> (Option<RuleOutcome>, Option<Value>) {
    let AdmissionBody::Change { changes, .. } = &bound.policy.body else { return (None, None) };
    let (mut last, mut object) = (None, request.object.clone());
    for binding in accepting(bound, request) {
        let told = |status, text: &str| Some(outcome(rule, status, text, binding, "mapBinding"));
        match changed(bound, changes, binding, request, &object) {
            Ok(Some(new)) => {
                object = new;
                last = told(Status::Pass, "mutation is successfully applied");
            }
            Ok(None) => last = told(Status::Skip, NOT_MET),
            Err(Failed::Condition(text)) => last = told(Status::Error, &text),
            Err(Failed::Change) => {}
        }
    }
    let new = (!object.strict_eq(&request.object)).then_some(object);
    (last, new)
}

enum Failed {
    Condition(String),
    Change,
}

fn changed(
    bound: &Bound,
    changes: &[Change],
    binding: Option<&PolicyBinding>,
    request: &Request,
    object: &Value,
) -> Result<Option<Value>, Failed> {
    let policy = &bound.policy;
    let params = policy.params.as_ref().map(|_| Value::Null);
    let conditions = root(request, object, params, Value::Null);
    match admitted(&policy.admit, Listing::new(&policy.lazies, &conditions, &request.functions, CONDITIONS)) {
        Admitted::Yes => {}
        Admitted::No => return Ok(None),
        Admitted::Failed(_) if policy.failure == OnFailure::Ignore => return Ok(None),
        Admitted::Failed(text) => return Err(Failed::Condition(text)),
    }
    let params = policy.params.as_ref().map(|_| param(bound, binding));
    let namespace = if request.target.namespace.is_empty() { Value::Null } else { namespace(request) };
    let mut object = object.clone();
    // A change of no known kind changes nothing.
    for change in changes.iter().filter(|c| c.kind != ChangeKind::Unknown) {
        let root = root(request, &object, params.clone(), namespace.clone());
        let mut list = Listing::new(&policy.lazies, &root, &request.functions, BUDGET);
        let value = match list.run(&change.source.program) {
            Ok(Ok(value)) => value,
            _ => return Err(Failed::Change),
        };
        let new = match change.kind {
            ChangeKind::Apply => {
                check_names(&value).and_then(|()| merge_freely(&object, &part(&value))).map(Some)
            }
            ChangeKind::JsonPatch => apply_literals(&object, &value),
            ChangeKind::Unknown => Ok(None),
        };
        object = new.map_err(|_| Failed::Change)?.unwrap_or(object);
    }
    Ok(Some(object))
}
