//! Rules whose expressions change the object of the request.
//!
//! In: a rule and a request. Out: a result and, when all mutations succeed, the mutated object.
//! Each mutation sees what the former one left; variables keep their first value. Semantics:
//! `docs/semantics/cel-policies.md`, "Changes".

use std::fmt::Display;

use crate::admission::change::{apply_literals, merge_literal};
use crate::admission::literal::{LiteralData, check_names};
use ephor_ir::expressions::{Expressions, PatchType};
use ephor_ir::mutate::{Change, Mutation};
use ephor_kubernetes::Types;
use ephor_patch::structured::Atomic;
use ephor_value::{Str, Value};

use super::ExpressionPatchError;
use super::entered::{annotations, broken, enter};
use crate::matched::MatchedRule;
use crate::outcome::{Effect, RuleOutcome, Status};
use crate::view::{
    self,
    request::{Absent, with},
};

/// Runs the patches of a rule; the object is `None` when it stays as it is.
pub(crate) fn run(
    matched: MatchedRule<'_, '_>,
    expressions: &Expressions,
    mutation: &Mutation,
) -> (RuleOutcome, Option<Value>) {
    let MatchedRule { rule, request, context, .. } = matched;
    let root = view::request::root(request, Absent::Empty);
    let scope = match enter(matched, expressions, &root, &request.functions) {
        Ok(scope) => scope,
        Err(result) => return (*result, None),
    };
    let types = context.sources.types().unwrap_or_else(|| Types::built_in());
    let failed = |error: &dyn Display| (broken(rule, expressions, error), None);
    let Change::Expressions { patches, replaces_atomic, .. } = &mutation.change else {
        return failed(&"the rule has no expressions");
    };
    let atomics = if *replaces_atomic { Atomic::Replaced } else { Atomic::Refused };
    let kind = [&request.target.group, &request.target.version, &request.target.kind].map(Str::clone);
    let mut object = request.object.clone();
    for patch in patches {
        let root = with(&scope.root, "object", object.clone());
        let value = match scope.value_on(&patch.source.program, &root) {
            Ok(value) => value,
            Err(failure) => return failed(&failure),
        };
        match changed(patch.patch_type, &object, (&value, &root), &kind, (types, atomics)) {
            Ok(Some(next)) => object = next,
            Ok(None) => {}
            Err(error) => return failed(&error),
        }
    }
    let root = with(&scope.root, "object", object.clone());
    let properties = match annotations(expressions, &scope, &root) {
        Ok(properties) => properties,
        Err(error) => return failed(&error),
    };
    let mut result = RuleOutcome::new(&"".into(), rule.kind, Status::Pass, expressions.wording.passed);
    result.properties = properties;
    result.effect = Some(Box::new(Effect::Patched(object.clone())));
    let left = (!object.json_eq(&request.object)).then_some(object);
    (result, left)
}

fn changed(
    patch_type: PatchType,
    object: &Value,
    (value, root): (&Value, &Value),
    kind: &[Str; 3],
    (types, atomics): (&Types, Atomic),
) -> Result<Option<Value>, ExpressionPatchError> {
    match patch_type {
        PatchType::JsonPatch => apply_literals(object, value).map_err(ExpressionPatchError::Literal),
        PatchType::ApplyConfiguration | PatchType::Unknown => {
            check_names(value).map_err(ExpressionPatchError::Literal)?;
            let Some(def) = types.of_kind(kind) else {
                return Err(ExpressionPatchError::NoType);
            };
            let merged = merge_literal(object, value, &LiteralData::of(root), def, types, atomics);
            merged.map(Some).map_err(ExpressionPatchError::Literal)
        }
    }
}
