//! Mutate rules → MutatingPolicies.
//!
//! In: a rule as it is written. Out: a draft with its mutations, in order: an apply configuration where values are merged by the schema, JSON patches for
//! the rest. Preconditions and conditions of the patch become matchConditions. Semantics: `docs/mutate.md` and `docs/cel-policies.md`.

mod constant;
mod json;
mod merge;

use std::sync::Arc;

use ephor_api::autogen::Computed;
use ephor_cel::library::general;
use ephor_cel::syntax::parse;

use crate::cel::{WIDTH, print};
use crate::constraints::{Condition, Matching, conditions, constraints};
use crate::draft::{Draft, Variable};
use crate::expressions::{Context, Converted, Element, Refusal, convert, holds, value};
use crate::ir::Rule;
use crate::ir::mutate::{Change, Mutation as Body, PatchLoop};
use crate::lower::template::text;
use crate::original::Named;
use crate::policy::{Document, Source};
use crate::text::{Item, Map, Node, write};
use crate::validating::{VERSION, common};
use crate::value::{Str, Value};
use constant::Place;

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
    let origin = rule.origin.key("mutate");
    let refuse =
        |what: &str, key: &str| Err(Refusal::new(what, origin.key(key), "write the MutatingPolicy by hand"));
    if body.targets.is_some() {
        return refuse("`targets` of a mutation", "targets");
    }
    let part = |key: &str| written.at(&["mutate", key]).filter(|v| !v.is_null());
    let Some(kind) = found.kinds.first() else { return refuse("a mutation of kinds by wildcard", "") };
    let types = &source.options.types;
    let object = Place::object(kind, types);
    let (mut mutations, mut pattern) = (Vec::new(), None);
    let mut comments = source.original.comments(&format!("spec.rules[{at}]"));
    let mut add = |is_json: bool, expression: &str, place: &str| {
        comments.push(format!("# from {}", source.original.short_place(place)));
        mutations.push(Mutation {
            comments: std::mem::take(&mut comments),
            is_json,
            expression: laid_out(expression),
        });
    };
    let names: Arc<[Str]> = rule.bindings.iter().map(|b| b.name.clone()).collect();
    let fill = |written: &str| value(&text(&written.into(), &names), rule, None, context);
    if let Change::ForEach(loops) = &body.change {
        let written = part("foreach").and_then(Value::as_list).unwrap_or_default();
        for (own, written) in loops.iter().zip(written) {
            let (expression, place) = of_loop(own, written, rule, &object, context)?;
            add(false, &expression, &place);
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
        for text in json::expressions(patch, &object, types, &origin, &fill)? {
            add(true, &text, &origin.path);
        }
    }
    if mutations.is_empty() {
        return refuse("a mutation that changes nothing", "");
    }
    let converted = preconditions(&written, pattern, at, context)?;
    let mut own: Vec<Condition> = Vec::new();
    for (name, expression) in converted.conditions.into_iter().map(|c| (c.name.to_string(), c.expression)) {
        own.push(Condition { name, expression, is_verbatim: false });
    }
    for one in converted.validations.into_iter().filter(|one| one.expression != "true") {
        own.push(Condition { name: "pattern".into(), expression: one.expression, is_verbatim: false });
    }
    let variables = converted.variables.into_iter().map(|one| Variable {
        name: one.name.to_string(),
        expression: one.expression,
        is_verbatim: false,
    });
    Ok(Draft {
        rules: vec![(at, rule.name.to_string())],
        conditions: own,
        variables: variables.collect(),
        mutations,
        ..Draft::default()
    })
}

/// The name of an element in expressions.
const ELEMENT: &str = "element";

/// A loop whose merge changes the elements of the list that it is about, as an apply configuration.
fn of_loop(
    own: &PatchLoop,
    written: &Value,
    rule: &Rule,
    object: &Place,
    context: &Context,
) -> Result<(String, String), Refusal> {
    let refuse = |what: &str| Refusal::new(what, own.origin.clone(), "write the MutatingPolicy by hand");
    let list = written.text_at(&["list"]).trim();
    let path = list.strip_prefix("request.object.").map(|path| path.strip_suffix("[]").unwrap_or(path));
    let keys: Vec<&str> = path.unwrap_or_default().split('.').collect();
    let is_plain = |key: &&str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric());
    if !keys.iter().all(is_plain) {
        return Err(refuse("a loop of patches over more than one list of the object"));
    }
    let Some(patch) = written.get("patchStrategicMerge").filter(|v| !v.is_null()) else {
        return Err(refuse("a loop without a merge"));
    };
    let types = &context.types;
    let place = keys.iter().fold(object.clone(), |place, key| place.key(key, types));
    let element = Element { var: ELEMENT, list: &keys, bindings: &own.bindings };
    let test = own.admit.as_ref().map(|admit| holds(admit, rule, &element, context)).transpose()?;
    let names: Arc<[Str]> = rule.bindings.iter().chain(own.bindings.iter()).map(|b| b.name.clone()).collect();
    let fill = |written: &str| value(&text(&written.into(), &names), rule, Some(&element), context);
    let chosen = merge::Chosen { list: &place, var: ELEMENT, test };
    let origin = own.origin.key("patchStrategicMerge");
    let merged = merge::merged(patch, object, types, &origin, &fill, Some(&chosen))?;
    match merged.apply {
        // Nothing but the list may depend on the element.
        Some(apply)
            if merged.patches.is_empty() && merged.condition.is_none() && apply.contains(".map(element,") =>
        {
            Ok((apply, origin.path.to_string()))
        }
        _ => Err(refuse("a loop whose patch changes more than its elements")),
    }
}

/// The preconditions of a rule, and a pattern that the object must match, in CEL: those of a rule that validates with that pattern.
fn preconditions(
    written: &Value,
    pattern: Option<Value>,
    at: usize,
    context: &Context,
) -> Result<Converted, Refusal> {
    if pattern.is_none() && written.get("preconditions").is_none_or(Value::is_null) {
        return Ok(Converted::default());
    }
    let mut rule = crate::value::Map::new();
    for key in ["name", "match", "exclude", "context", "preconditions"] {
        if let Some(value) = written.get(key) {
            rule.insert(key, value.clone());
        }
    }
    if let Some(pattern) = pattern {
        rule.insert("validate", Value::map([("message", Value::from("x")), ("pattern", pattern)]));
    }
    let computed = Computed { rule: Value::Map(rule), written: at, generated: None };
    convert(&crate::lower::rule::rule(&computed), context)
}

/// An expression in lines of the usual width; as it is where it cannot be parsed.
pub(crate) fn laid_out(text: &str) -> String {
    parse(text, general("").syntax).map_or_else(|_| text.to_string(), |node| print(&node, WIDTH))
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
    common(source, &mut spec);
    if let Some(controllers) = &draft.controllers {
        let node = Node::map([("controllers", Node::texts(controllers))]);
        spec.push("autogen", Node::map([("podControllers", node)]));
    }
    spec.push("matchConstraints", constraints(&draft.matching));
    spec.push_some("matchConditions", conditions(&draft.conditions));
    if !draft.variables.is_empty() {
        spec.push("variables", Node::list(draft.variables.iter().map(Variable::node)));
    }
    spec.push("mutations", Node::List(draft.mutations.iter().map(Mutation::item).collect()));
    text.push_str(&write(&Node::map([("spec", spec.into())]), 0));
    Document { kind, name: named.name.into(), text }
}
