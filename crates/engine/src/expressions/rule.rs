//! Rules with `validate.cel`: parameters and the namespace, then conditions and validations.
//!
//! In: a rule's expressions and a request. Out: a status and a message. The first validation that
//! is false or fails decides. Semantics: `docs/semantics/validate.md`, "Bodies".

use crate::matched::EvalContext;
use crate::outcome::{Status, stock};
use crate::{Request, rule_params, view};
use ephor_ir::expressions::{Expressions, Validation};
use ephor_value::{Map, Str, Value};

use super::Scope;
use super::entered::decide;

/// Runs a rule's expressions; `passed` is the message where all are true.
pub fn run(
    expressions: &Expressions,
    validations: &[Validation],
    passed: &Str,
    request: &Request,
    context: EvalContext<'_>,
) -> (Status, Str) {
    let profile = context.profile;
    if !profile.offline_namespaces
        && expressions.reads_namespace
        && view::rule::is_namespaced(request)
        && request.namespace.is_null()
    {
        let text = format!(
            "Error getting the resource's namespace: namespaces \"{}\" not found",
            request.target.namespace
        );
        return (Status::Error, text.into());
    }
    let root = request.strict_root.get_or_init(|| view::rule::root(request, profile));
    let on = |root: &Value| evaluate(expressions, validations, passed, request, root);
    let Some(params) = &expressions.params else { return on(root) };
    if profile.offline_params {
        return match rule_params::look_up_offline(params) {
            Ok(()) => (Status::Pass, passed.clone()),
            Err(error) => (Status::Error, error.to_string().into()),
        };
    }
    // Parameters can change without an admission request.
    ephor_functions::untracked::note();
    let found = match rule_params::find(params, request, context.sources) {
        Ok(found) => found,
        Err(error) => return (Status::Error, error.to_string().into()),
    };
    for param in found {
        let mut seen = root.as_map().cloned().unwrap_or_default();
        seen.insert("params", param);
        match on(&Value::Map(seen)) {
            (Status::Pass, _) => {}
            other => return other,
        }
    }
    (Status::Pass, passed.clone())
}

fn evaluate(
    expressions: &Expressions,
    validations: &[Validation],
    passed: &Str,
    request: &Request,
    root: &Value,
) -> (Status, Str) {
    let Expressions { conditions, wording, .. } = expressions;
    let functions = &request.functions;
    if !conditions.is_empty() {
        // Conditions know nothing of the namespace.
        let mut seen: Map = root.as_map().cloned().unwrap_or_default();
        seen.insert("namespaceObject", Value::Null);
        let seen = Value::Map(seen);
        match Scope::of_rule(&seen, expressions, functions).admits(conditions) {
            Ok(true) => {}
            Ok(false) => return (Status::Skip, stock(wording.unmet)),
            Err(error) => return (Status::Fail, error.to_string().into()),
        }
    }
    match decide(validations, &Scope::of_rule(root, expressions, functions).sharing(request), expressions) {
        Some(violation) => (violation.status, violation.message),
        None => (Status::Pass, passed.clone()),
    }
}
