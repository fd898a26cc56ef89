//! Mutate rules → MutatingPolicies.
//!
//! In: a rule as it is written. Out: a draft with its mutations, in order: an apply configuration
//! where values are merged by the schema, JSON patches for the rest. Preconditions and conditions
//! of the patch become matchConditions. Semantics: `docs/semantics/mutate.md` and
//! `docs/semantics/cel-policies.md`.

pub mod anchors;
mod constant;
mod decided;
mod inside;
mod json;
mod loops;
mod merge;
mod merge_loops;
mod order;
pub mod targets;
mod unquoted;

use std::cell::RefCell;
use std::sync::Arc;

use ephor_api::autogen::Computed;

use crate::cel::laid_out;
use crate::constraints::{Condition, Matching, add_condition, conditions, constraints};
use crate::draft::{Draft, Variable};
use crate::expressions::{Context, Converted, Refusal, convert_conditions, in_yaml, value};
use crate::original::Named;
use crate::policy::{Document, Source};
use crate::text::{Item, Map, Node, write};
use crate::validating::{VERSION, common};
use constant::Place;
use ephor_ir::Rule;
use ephor_ir::mutate::{Change, Mutation as Body, PatchLoop};
use ephor_lower::template::text;
use ephor_value::{Str, Value};
use unquoted::unquoted;

/// A mutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The comments above it.
    pub comments: Vec<String>,
    /// Whether it is a JSON patch; else an apply configuration.
    pub is_json: bool,
    /// The expression.
    pub expression: String,
}

impl Mutation {
    /// Whether the policy's own generation of rules for controllers makes nothing that works of it:
    /// it replaces paths of the spec in apply configurations, not those of JSON patches, and not
    /// the type of the metadata, which is an error then.
    pub fn is_of_pods_alone(&self) -> bool {
        self.is_json || self.expression.contains("Object.metadata{")
    }

    fn item(&self) -> Item {
        let (kind, field) = match self.is_json {
            true => ("JSONPatch", "jsonPatch"),
            false => ("ApplyConfiguration", "applyConfiguration"),
        };
        let node = Node::map([
            ("patchType", Node::text(kind)),
            (field, Node::map([("expression", Node::Code(self.expression.clone()))])),
        ]);
        Item { comments: self.comments.clone(), node }
    }
}

/// The draft of a mutate rule.
///
/// # Errors
/// A construct that has no counterpart.
pub fn draft(
    source: &Source<'_>,
    at: usize,
    rule: &Rule,
    body: &Body,
    found: &Matching,
    context: &Context,
) -> Result<Draft, Refusal> {
    let written = source.written(at, rule);
    let changes = changes(source, at, rule, body, &found.kinds, context)?;
    let converted = preconditions(&written, changes.pattern, at, context)?;
    let mut conditions = own_conditions(&converted);
    changes.tests.into_iter().for_each(|one| add_condition(&mut conditions, one));
    let mutations = changes.mutations;
    Ok(Draft {
        rules: vec![(at, rule.name.to_string())],
        conditions,
        variables: own_variables(&converted),
        mutations,
        ..Draft::default()
    })
}

/// What must hold of the object, from a converted rule.
pub fn own_conditions(converted: &Converted) -> Vec<Condition> {
    let named = |name: &str, expression: &str| Condition {
        name: name.into(),
        expression: expression.into(),
        is_verbatim: false,
    };
    let patterns = converted.validations.iter().filter(|one| one.expression != "true");
    converted
        .conditions
        .iter()
        .map(|c| named(&c.name, &c.expression))
        .chain(patterns.map(|one| named("pattern", &one.expression)))
        .collect()
}

/// The variables of a converted rule.
pub fn own_variables(converted: &Converted) -> Vec<Variable> {
    let one = |v: &crate::expressions::Named| Variable {
        name: v.name.to_string(),
        expression: v.expression.clone(),
        is_verbatim: false,
    };
    converted.variables.iter().map(one).collect()
}

/// What stands above a mutation that writes into one list by positions in several.
const BEHIND: [&str; 2] = [
    "# As in the old policy, positions are those among all these lists: an element behind the last",
    "# item of the list that is changed adds one without a name, which an API server refuses.",
];

/// The changes of a rule.
struct Changes {
    /// The mutations.
    mutations: Vec<Mutation>,
    /// The pattern that an object must match for them.
    pattern: Option<Value>,
    /// What else must hold of it.
    tests: Vec<Condition>,
}

/// The mutations of a rule for objects of the kinds.
fn changes(
    source: &Source<'_>,
    at: usize,
    rule: &Rule,
    body: &Body,
    kinds: &[[Str; 3]],
    context: &Context,
) -> Result<Changes, Refusal> {
    let written = source.written(at, rule);
    let origin = rule.origin.key("mutate");
    let refuse =
        |what: &str, key: &str| Err(Refusal::new(what, origin.key(key), "write the MutatingPolicy by hand"));
    let part = |key: &str| written.at(&["mutate", key]).filter(|v| !v.is_null());
    let Some(kind) = kinds.first() else { return refuse("a mutation of kinds by wildcard", "") };
    let types = &source.options.types;
    let object = Place::object(kind, types);
    let (mut mutations, mut pattern, mut tests) = (Vec::new(), None, Vec::new());
    let comments = RefCell::new(source.original.comments(&format!("spec.rules[{at}]")));
    let mut add = |is_json: bool, expression: &str, place: &str| {
        comments.borrow_mut().push(format!("# from {}", source.original.short_place(place)));
        mutations.push(Mutation { comments: comments.take(), is_json, expression: laid_out(expression) });
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
                return refuse("loops over one list in a rule with context entries", "foreach");
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
        let no = |what: &str| Refusal::new(what, origin.clone(), "write the operations in CEL by hand");
        let positions = |place: &Place, key: &str| json::numbers(place, key, &no);
        let fill = |written: &str| {
            let is_quoted = unquoted(written).is_none();
            let written = unquoted(written).unwrap_or(written);
            let own = text(&written.into(), &names);
            in_yaml(&own, is_quoted, rule, context).map_err(|refusal| refusal.moved(&rule.origin, &origin))
        };
        let found = json::expressions(patch, (&object, false), types, &origin, &fill, &positions)?;
        found.operations.iter().for_each(|text| add(true, text, &origin.path));
        let condition =
            |text: &String| Condition { name: "test".into(), expression: text.clone(), is_verbatim: false };
        tests = found.tests.iter().map(condition).collect();
    }
    if mutations.is_empty() {
        return refuse("a mutation that changes nothing", "");
    }
    Ok(Changes { mutations, pattern, tests })
}

/// The preconditions of a rule, and a pattern that the object must match, in CEL: those of a rule
/// that validates with that pattern.
pub fn preconditions(
    written: &Value,
    pattern: Option<Value>,
    at: usize,
    context: &Context,
) -> Result<Converted, Refusal> {
    if pattern.is_none() && written.get("preconditions").is_none_or(Value::is_null) {
        return Ok(Converted::default());
    }
    let mut rule = ephor_value::Map::new();
    for key in ["name", "match", "exclude", "context", "preconditions"] {
        if let Some(value) = written.get(key) {
            rule.insert(key, value.clone());
        }
    }
    if let Some(pattern) = pattern {
        rule.insert("validate", Value::map([("message", Value::from("x")), ("pattern", pattern)]));
    }
    let computed = Computed { rule: Value::Map(rule), written: at, generated: None };
    convert_conditions(&ephor_lower::rule::rule(&computed), context)
}

/// The document of a draft.
pub fn document(source: &Source<'_>, draft: &Draft, named: &Named<'_>) -> Document {
    let kind = match named.namespace {
        Some(_) => "NamespacedMutatingPolicy",
        None => "MutatingPolicy",
    };
    let mut text: String = source.original.head().iter().map(|line| format!("{line}\n")).collect();
    text.push_str(&format!("apiVersion: {VERSION}\nkind: {kind}\n"));
    text.push_str(&source.original.metadata(named));
    let mut spec = Map::default();
    let existing = draft.targets.is_some().then(|| Node::map([("enabled", Node::Plain("true".into()))]));
    common(source, existing.map(|node| ("mutateExisting", node)), &mut spec);
    if let Some(controllers) = &draft.controllers {
        let node = Node::map([("controllers", Node::texts(controllers))]);
        spec.push("autogen", Node::map([("podControllers", node)]));
    }
    spec.push("matchConstraints", constraints(&draft.matching));
    spec.push_some("matchConditions", conditions(&draft.conditions));
    if !draft.variables.is_empty() {
        spec.push("variables", Node::list(draft.variables.iter().map(Variable::node)));
    }
    if let Some(targets) = &draft.targets {
        targets.write(&mut spec);
    }
    spec.push("mutations", Node::List(draft.mutations.iter().map(Mutation::item).collect()));
    text.push_str(&write(&Node::map([("spec", spec.into())]), 0));
    Document { kind, name: named.name.into(), text }
}
