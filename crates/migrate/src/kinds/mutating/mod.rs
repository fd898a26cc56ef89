//! Mutate rules → MutatingPolicies.
//!
//! In: a rule as it is written. Out: a draft with its mutations, in order: an apply configuration
//! where values are merged by the schema, JSON patches for the rest. Preconditions and conditions
//! of the patch become matchConditions. Semantics: `docs/semantics/mutate.md` and
//! `docs/semantics/cel-policies.md`.
//!
//! - `anchors`: anchors of merges
//! - `constant`: values and paths of patches
//! - `optional_parts`: parts that are left out
//! - `nested_items`: items of lists that are changed
//! - `json`: JSON patches
//! - `loops`: loops of JSON patches
//! - `merge`: strategic merges
//! - `merge_loops`: loops of merges
//! - `order`: operations in an order
//! - `targets`: objects that exist already
//! - `unquoted`: the text of a JSON patch

pub(crate) mod anchors;
pub(crate) mod constant;
pub(crate) mod json;
pub(crate) mod loops;
pub(crate) mod merge;
pub(crate) mod merge_loops;
pub(crate) mod nested_items;
pub(crate) mod optional_parts;
pub(crate) mod order;
pub(crate) mod targets;
pub(crate) mod unquoted;

use std::cell::RefCell;
use std::sync::Arc;

use ephor_ir::Rule;
use ephor_ir::mutate::{Change, Mutation as Body, PatchLoop};
use ephor_lower::template::text;
use ephor_value::{Str, Value};

use crate::cel::laid_out;
use crate::constraints::add_condition;
use crate::constraints::model::Matching;
use crate::expressions::context::Context;
use crate::expressions::converted::NamedExpression;
use crate::expressions::refusal::{Refusal, Result};
use crate::expressions::{in_yaml, value};
use crate::kinds::mutating::constant::Place;
use crate::kinds::mutating::unquoted::unquoted;
use crate::kinds::shared;
use crate::kinds::shared::{common, own_conditions, preconditions};
use crate::model::draft::{Draft, MutationDraft};
use crate::model::migrated::Document;
use crate::model::original::NewMetadata;
use crate::model::source::Source;
use crate::text::{Map, Node};

/// The draft of a mutate rule.
pub(crate) fn draft(
    source: &Source<'_>,
    at: usize,
    rule: &Rule,
    body: &Body,
    found: &Matching,
    context: &Context,
) -> Result<Draft> {
    let written = source.written(at, rule);
    let changes = changes(source, at, rule, body, &found.kinds, context)?;
    let converted = preconditions(&written, changes.pattern, at, context)?;
    let mut conditions = own_conditions(&converted);
    changes.tests.into_iter().for_each(|one| add_condition(&mut conditions, one));
    let mutations = changes.mutations;
    Ok(Draft {
        rules: vec![(at, rule.name.to_string())],
        conditions,
        variables: converted.variables,
        mutations,
        ..Draft::default()
    })
}

/// What stands above a mutation that writes into one list by positions in several.
const BEHIND: [&str; 2] = [
    "# As in the old policy, positions are those among all these lists: an element behind the last",
    "# item of the list that is changed adds one without a name, which an API server refuses.",
];

/// The changes of a rule.
pub(crate) struct Changes {
    /// The mutations.
    mutations: Vec<MutationDraft>,
    /// The pattern that an object must match for them.
    pattern: Option<Value>,
    /// What else must hold of it.
    tests: Vec<NamedExpression>,
}

/// The mutations of a rule for objects of the kinds.
pub(crate) fn changes(
    source: &Source<'_>,
    at: usize,
    rule: &Rule,
    body: &Body,
    kinds: &[[Str; 3]],
    context: &Context,
) -> Result<Changes> {
    let written = source.written(at, rule);
    let origin = rule.origin.key("mutate");
    let refuse = |what: &str, nearest: &str, key: &str| Err(Refusal::new(what, origin.key(key), nearest));
    let part = |key: &str| written.at(&["mutate", key]).filter(|v| !v.is_null());
    let Some(kind) = kinds.first() else {
        return refuse(
            "a mutation of kinds by wildcard",
            "name the kinds: an apply configuration is of one kind",
            "",
        );
    };
    let types = &source.options.types;
    let object = Place::object(kind, types);
    let (mut mutations, mut pattern, mut tests) = (Vec::new(), None, Vec::new());
    let comments = RefCell::new(source.original.comments(&format!("spec.rules[{at}]")));
    let mut add = |is_json: bool, expression: &str, place: &str| {
        comments.borrow_mut().push(format!("# from {}", source.original.short_place(place)));
        mutations.push(MutationDraft {
            comments: comments.take(),
            is_json,
            expression: laid_out(expression),
        });
    };
    let of_target = context.trigger.iter().flat_map(|trigger| &trigger.bindings);
    let names: Arc<[Str]> = rule.bindings.iter().chain(of_target).map(|b| b.name.clone()).collect();
    let fill = |written: &str| value(&text(&written.into(), &names), rule, None, context);
    if let Change::ForEach(loops) = &body.change {
        let written = part("foreach").and_then(Value::as_list).unwrap_or_default();
        let all: Vec<_> = loops.iter().zip(written).collect();
        let is_merge =
            |own: &PatchLoop| matches!(own.change, Change::Patch(ephor_ir::mutate::Patch::Merge(_), _));
        let mut patches = Vec::new();
        for (own, written) in &all {
            if is_merge(own) {
                let place = own.origin.key("patchStrategicMerge").path;
                for (is_json, text) in merge_loops::mutations(own, written, rule, &object, context)? {
                    add(is_json, &text, &place);
                }
                continue;
            }
            let found = loops::patches(own, written, rule, &object, &names, context)?;
            patches.push((found, own.origin.path.to_string()));
        }
        // Context entries are read before the first loop.
        if patches.len() > 1 && !rule.bindings.is_empty() {
            let is_below = |a: &str, b: &str| a.is_empty() || b.starts_with(a.trim_end_matches('\''));
            let lists: Vec<&str> = patches.iter().map(|(one, _)| one.list.as_str()).collect();
            let touch = lists
                .iter()
                .enumerate()
                .any(|(at, a)| lists.iter().enumerate().any(|(other, b)| at != other && is_below(a, b)));
            if touch || patches.len() != all.len() {
                return refuse(
                    "loops over one list in a rule with context entries",
                    "write a rule for each loop",
                    "foreach",
                );
            }
            if patches.iter().any(|(one, _)| one.is_behind) {
                comments.borrow_mut().extend(BEHIND.map(String::from));
            }
            let texts: Vec<&str> = patches.iter().map(|(one, _)| one.expression.as_str()).collect();
            let place = patches.first().map(|(_, place)| place.clone()).unwrap_or_default();
            add(true, &texts.join(" + "), &place);
        } else {
            for (one, place) in &patches {
                if one.is_behind {
                    comments.borrow_mut().extend(BEHIND.map(String::from));
                }
                add(true, &one.expression, place);
            }
        }
    } else if let Some(patch) = part("patchStrategicMerge") {
        let origin = origin.key("patchStrategicMerge");
        let merged = merge::merged(patch, &object, types, &origin, &fill, None)?;
        pattern = merged.condition;
        let all = merged
            .apply
            .iter()
            .map(|text| (false, text))
            .chain(merged.patches.iter().map(|text| (true, text)));
        all.for_each(|(is_json, text)| add(is_json, text, &origin.path));
    } else if let Some(patch) = part("patchesJson6902").and_then(Value::as_str) {
        let origin = origin.key("patchesJson6902");
        let no = |what: &str, nearest: &str| Refusal::new(what, origin.clone(), nearest);
        let positions = |place: &Place, key: &str| json::numbers(place, key, &no);
        let fill = |written: &str| {
            let is_quoted = unquoted(written).is_none();
            let written = unquoted(written).unwrap_or(written);
            let own = text(&written.into(), &names);
            in_yaml(&own, is_quoted, rule, context).map_err(|refusal| refusal.moved(&rule.origin, &origin))
        };
        let found = json::expressions(patch, (&object, false), types, &origin, &fill, &positions)?;
        found.operations.iter().for_each(|text| add(true, text, &origin.path));
        let condition = |text: &String| NamedExpression::converted("test", text.clone());
        tests = found.tests.iter().map(condition).collect();
    }
    if mutations.is_empty() {
        return refuse("a mutation that changes nothing", "leave the rule out", "");
    }
    Ok(Changes { mutations, pattern, tests })
}

/// The document of a draft.
pub(crate) fn document(source: &Source<'_>, draft: &Draft, named: &NewMetadata<'_>) -> Document {
    let kind = if named.namespace.is_some() { "NamespacedMutatingPolicy" } else { "MutatingPolicy" };
    let mut spec = Map::default();
    let existing = draft.targets.is_some().then(|| ("mutateExisting", Node::enabled(true)));
    common(source, existing, &mut spec);
    spec.push_some("autogen", draft.autogen());
    draft.write_selection(&mut spec);
    if let Some(targets) = &draft.targets {
        targets.write(&mut spec);
    }
    spec.push("mutations", Node::List(draft.mutations.iter().map(MutationDraft::item).collect()));
    shared::document(source.original, kind, named, spec)
}
