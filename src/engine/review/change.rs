//! Reviews that change the object of the request.
//!
//! In: a review and a request. Out: a result and, when all changes could be made, the object that they leave.
//! Each change sees what the former one left; values under names keep what they were first. Semantics:
//! `docs/cel-policies.md`, "Changes".

use crate::engine::admission::change::{apply_literals, merge_literal};
use crate::engine::admission::literal::check_names;
use crate::ir::review::{Applied, Change, Deed, Review};
use crate::ir::{Policy, Rule};
use crate::kubernetes::Types;
use crate::patch::structured::Atomic;
use crate::value::{Str, Value};

use super::{annotations, broken, enter, with};
use crate::engine::Request;
use crate::engine::outcome::{Effect, RuleOutcome, Status};
use crate::engine::run::Surroundings;

/// Runs the changes of a review; the object is `None` when it stays as it is.
pub fn run(
    policy: &Policy,
    rule: &Rule,
    review: &Review,
    changes: &[Change],
    request: &Request,
    around: Surroundings<'_>,
) -> (RuleOutcome, Option<Value>) {
    let root = super::root(request, super::Absent::Empty);
    let scope = match enter(policy, rule, review, &root, &request.functions, around.exemptions) {
        Ok(scope) => scope,
        Err(result) => return (*result, None),
    };
    let types = around.sources.types().unwrap_or_else(|| Types::built_in());
    let atomics = match review.body {
        Deed::Changes { replaces: true, .. } => Atomic::Replaced,
        _ => Atomic::Refused,
    };
    let failed = |text: String| (broken(rule, review, &text), None);
    let kind = [&request.target.group, &request.target.version, &request.target.kind].map(Str::clone);
    let mut object = request.object.clone();
    for change in changes {
        let root = with(&scope.root, "object", object.clone());
        let value = match scope.value_on(&change.program, &root) {
            Ok(value) => value,
            Err(text) => return failed(text),
        };
        match changed(change.how, &object, &value, &kind, (types, atomics)) {
            Ok(Some(next)) => object = next,
            Ok(None) => {}
            Err(text) => return failed(text),
        }
    }
    let root = with(&scope.root, "object", object.clone());
    let properties = match annotations(review, &scope, &root) {
        Ok(properties) => properties,
        Err(text) => return failed(text),
    };
    let mut result = RuleOutcome::new(&"".into(), rule.kind, Status::Pass, "success");
    result.properties = properties;
    result.effect = Some(Box::new(Effect::Patched(object.clone())));
    let left = (!object.json_eq(&request.object)).then_some(object);
    (result, left)
}

fn changed(
    how: Applied,
    object: &Value,
    value: &Value,
    kind: &[Str; 3],
    (types, atomics): (&Types, Atomic),
) -> Result<Option<Value>, String> {
    match how {
        Applied::JsonPatch => apply_literals(object, value),
        Applied::Merge => {
            check_names(value)?;
            let Some(def) = types.of_kind(kind) else {
                return Err("error applying patch: type converter must not be nil".into());
            };
            let merged = merge_literal(object, value, def, types, atomics);
            merged.map(Some).map_err(|text| format!("error applying patch: {text}"))
        }
    }
}
