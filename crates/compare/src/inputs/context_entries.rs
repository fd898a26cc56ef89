//! External data as inputs that both sides share.
//!
//! In: two sides. Out: the same sides with what their rules load (API calls, ConfigMaps, image
//! data, global context entries) as fields of the object, one field for each different entry. A
//! proof for these sides holds for any answers that both get, so it is relative to the answers.
//! Entries of loops are loaded for each element: they are no inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ephor_analysis::reads::ReadTree;
use ephor_ir::check::{Check, ForEach};
use ephor_ir::expr::{Faults, Missing};
pub(crate) use ephor_ir::rule::INPUTS;
use ephor_ir::rule::{Binding, BindingSource, Body, QuerySource};
use ephor_ir::template::{Needs, Query};
use ephor_ir::{Expr, Rule, Template};
use ephor_value::print::json;
use ephor_value::{Map, Str, Value};

use crate::inputs::dependencies::external;
use crate::model::limits::MAX_ENTRY_NAMES;
use crate::sides::side::Side;

/// Whether inputs are read: their lists have no names of their own.
pub(crate) fn has_inputs(tree: &ReadTree) -> bool {
    let below = tree.items.as_deref().into_iter().chain(tree.nested.as_deref());
    tree.get(INPUTS).is_some() || tree.keys.iter().map(|(_, below)| below).chain(below).any(has_inputs)
}

/// Both sides with inputs, and what these are; `None`: they load nothing, or not the same.
pub(crate) fn with_inputs(sides: [&Side; 2]) -> Option<([Side; 2], BTreeSet<String>)> {
    let entries = sides.map(|side| {
        let rules = side.policies().iter().flat_map(|policy| policy.all_rules());
        let entries: Option<BTreeSet<String>> = rules
            .map(|rule| {
                let is_in_loop = matches!(&rule.body, Body::Validate { check, .. } if loads_in_loop(check));
                (!is_in_loop).then(|| (0..rule.bindings.len()).filter_map(|at| entry(&rule.bindings, at)))
            })
            .collect::<Option<Vec<_>>>()
            .map(|all| all.into_iter().flatten().collect());
        entries
    });
    let [Some(old), Some(new)] = entries else { return None };
    if old.is_empty() || old != new {
        return None;
    }
    let known: BTreeMap<String, usize> = old.into_iter().enumerate().map(|(at, entry)| (entry, at)).collect();
    let names = sides.iter().flat_map(|side| side.policies()).flat_map(|policy| external(policy)).collect();
    Some((sides.map(|side| side.with_rules(&|rule| of_rule(rule, &known))), names))
}

/// What an entry loads, in words that are the same for entries that load the same; `None`: nothing.
fn entry(bindings: &[Arc<Binding>], at: usize) -> Option<String> {
    let text = loaded(bindings.get(at)?)?;
    Some(format!("{text}{}", named(&text, bindings.get(..at)?, 0)))
}

fn loaded(binding: &Binding) -> Option<String> {
    let unnamed = |raw: &Value| {
        let own = raw.as_map().into_iter().flat_map(Map::iter).filter(|(key, _)| &***key != "name");
        json(&Value::Map(own.map(|(key, value)| (key.clone(), value.clone())).collect()))
    };
    match &binding.source {
        BindingSource::Variable { .. } | BindingSource::Given { .. } => None,
        BindingSource::ConfigMap { raw, .. } => Some(format!("ConfigMap {}", json(raw))),
        BindingSource::ApiCall { raw, .. } => Some(format!("call {}", unnamed(raw))),
        BindingSource::Global { name, query } => Some(format!("global {name} {query:?}")),
        BindingSource::Image { reference, query, .. } => Some(format!("image {reference:?} {query:?}")),
    }
}

/// The earlier entries that a text may name, with those that they name.
fn named(text: &str, earlier: &[Arc<Binding>], depth: usize) -> String {
    let mut found = String::new();
    for (at, binding) in earlier.iter().enumerate() {
        if depth < MAX_ENTRY_NAMES && text.contains(&*binding.name) {
            let own = format!("{:?}", binding.source);
            let further = named(&own, earlier.get(..at).unwrap_or_default(), depth + 1);
            found.push_str(&format!("; {} = {own}{further}", binding.name));
        }
    }
    found
}

fn loads_in_loop(check: &Check) -> bool {
    let loads = |l: &ForEach| l.bindings.iter().any(|one| loaded(one).is_some()) || loads_in_loop(&l.check);
    matches!(check, Check::ForEach(loops) if loops.iter().any(loads))
}

fn of_rule(rule: &Arc<Rule>, known: &BTreeMap<String, usize>) -> Arc<Rule> {
    let of = |(at, binding): (usize, &Arc<Binding>)| match entry(&rule.bindings, at)
        .and_then(|entry| known.get(&entry))
    {
        Some(at) => Arc::new(Binding { source: input(*at), ..(**binding).clone() }),
        None => Arc::clone(binding),
    };
    let bindings = rule.bindings.iter().enumerate().map(of).collect();
    Arc::new(Rule { bindings, ..(**rule).clone() })
}

/// A variable with the value of an input.
fn input(at: usize) -> BindingSource {
    let query = |object: &str| {
        let keys = ["request", object, INPUTS].into_iter().map(Str::from);
        let keys = keys.chain([Str::from(at.to_string())]).collect();
        let path = Expr::Path { base: Box::new(Expr::Root), keys, scalar: Missing::Null };
        Query {
            sorts: false,
            text: format!("request.{object}.\"{INPUTS}\".\"{at}\"").into(),
            expr: Ok(Expr::rescue(path, Faults::AllAsNull)),
            needs: Needs::default(),
            on_delete: None,
        }
    };
    let query = Query { on_delete: Some(Box::new(query("oldObject"))), ..query("object") };
    BindingSource::Variable {
        value: None,
        query: Some(QuerySource::Ready(query)),
        default: Some(Template::Const(Value::Null)),
        raw: Value::Map(Map::new()),
    }
}
