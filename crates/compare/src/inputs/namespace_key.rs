//! Entries of ConfigMaps under the name of the namespace of the request.
//!
//! In: a rule that reads `dict.data."{{ request.namespace }}"`, or `dict.data[request.namespace]`
//! in CEL. Out: the rule with a key in its place. Where a rule reads no other entry, it does not
//! matter what the key is: ConfigMaps with an entry for the namespace, or without one, are those
//! with the key or without it.

use std::sync::Arc;

use ephor_functions::registry::Operation;
use ephor_ir::check::Check;
use ephor_ir::expressions::{Expressions, Source, Validation, Variable};
use ephor_ir::rule::{BindingSource, Body};
use ephor_ir::strict::{Step, Walk};
use ephor_ir::template::Rounds;
use ephor_ir::walk::{holds, map_children};
use ephor_ir::{Condition, Conditions, Expr, Rule, Template};
use ephor_lower::LATE;
use ephor_value::variables::{expression, find_variables};
use ephor_value::{Str, Value};

use crate::effects::writes::keys_of;

/// The key.
pub(crate) const KEY: &str = "of-the-namespace";

/// The field of a ConfigMap that has its entries.
const DATA: &str = "data";

/// A rule with a key for the name of the namespace, where it reads entries under it.
pub(crate) fn with_key(rule: &Arc<Rule>) -> Arc<Rule> {
    let Body::Validate { check, message } = &rule.body else { return Arc::clone(rule) };
    if let Some(shared) = &rule.expressions {
        let Check::Assert(validations) = check else { return Arc::clone(rule) };
        let all = shared.variables.iter().filter_map(|variable| variable.program.as_ref().ok());
        let all = all.chain(validations.iter().filter_map(|one| one.check.program.as_ref().ok()));
        let all: Vec<&Expr> = all.collect();
        let is_read =
            all.iter().any(|expr| holds(expr, &|e| matches!(e, Expr::Walk(walk) if is_by_namespace(walk))));
        let of_conditions = |e: &Expr| matches!(e, Expr::Walk(walk) if walk.steps.iter().any(is_data));
        let mut conditions = shared.conditions.iter().filter_map(|one| one.program.as_ref().ok());
        if conditions.any(|expr| holds(expr, &of_conditions)) {
            return Arc::clone(rule);
        }
        if !is_read || all.iter().any(|expr| holds(expr, &reads_other_entry)) {
            return Arc::clone(rule);
        }
        let source = |source: &Source| Source {
            program: source.program.clone().map(in_expression),
            sharing: Default::default(),
            ..source.clone()
        };
        let variables = shared.variables.iter().map(|variable| Variable {
            program: variable.program.clone().map(in_expression),
            sharing: Default::default(),
            ..variable.clone()
        });
        let validations =
            validations.iter().map(|one| Validation { check: source(&one.check), ..one.clone() }).collect();
        let expressions = Expressions { variables: variables.collect(), ..(**shared).clone() };
        let body = Body::Validate { check: Check::Assert(validations), message: message.clone() };
        return Arc::new(Rule { expressions: Some(Arc::new(expressions)), body, ..(**rule).clone() });
    }
    let maps: Vec<&Str> = rule
        .bindings
        .iter()
        .filter(|binding| matches!(binding.source, BindingSource::ConfigMap { .. }))
        .map(|binding| &binding.name)
        .collect();
    let Check::Deny(conditions) = check else { return Arc::clone(rule) };
    let Some(conditions) = in_conditions(conditions, &maps) else { return Arc::clone(rule) };
    let admit = match rule.admit.as_ref().map(|own| in_conditions(own, &maps)) {
        None => None,
        Some(Some(own)) => Some(own),
        Some(None) => return Arc::clone(rule),
    };
    let body = Body::Validate { check: Check::Deny(conditions), message: message.clone() };
    Arc::new(Rule { admit, body, ..(**rule).clone() })
}

/// Whether a value is the namespace of the request.
fn is_namespace(expr: &Expr) -> bool {
    keys_of(expr).is_some_and(|(base, keys)| {
        matches!(base, Expr::Root) && keys.iter().map(|key| &**key).eq(["request", "namespace"])
    })
}

fn is_data(step: &Step) -> bool {
    matches!(step, Step::Key { key: Value::Str(key), .. } if **key == *DATA)
}

/// Whether a walk reads an entry under the name of the namespace.
fn is_by_namespace(walk: &Walk) -> bool {
    walk.steps
        .windows(2)
        .any(|steps| matches!(steps, [data, Step::At { index, .. }] if is_data(data) && is_namespace(index)))
}

/// Whether an expression reads other entries, or may do so.
fn reads_other_entry(expr: &Expr) -> bool {
    let Expr::Walk(walk) = expr else { return false };
    walk.steps.windows(2).any(|steps| match steps {
        [data, Step::At { index, .. }] => is_data(data) && !is_namespace(index),
        [data, _] => is_data(data),
        _ => false,
    })
}

fn in_expression(expr: Expr) -> Expr {
    let key = || Value::from(KEY);
    let expr = match expr {
        Expr::Walk(mut walk) => {
            let is_entry: Vec<bool> = walk.steps.iter().map(is_data).collect();
            for (at, step) in walk.steps.iter_mut().enumerate().skip(1) {
                let is_below =
                    at.checked_sub(1).and_then(|above| is_entry.get(above)).copied().unwrap_or_default();
                if let Step::At { index, optional } = step
                    && is_below
                    && is_namespace(index)
                {
                    *step = Step::Key { key: key(), optional: *optional };
                }
            }
            Expr::Walk(walk)
        }
        Expr::Invoke(mut call) if call.function.operation == Operation::Member => {
            if let [name, of] = &mut *call.args
                && is_namespace(name)
                && matches!(&of, Expr::Walk(walk) if walk.steps.last().is_some_and(is_data))
            {
                *name = Expr::Const(key());
            }
            Expr::Invoke(call)
        }
        other => other,
    };
    map_children(expr, &mut |child, _| in_expression(child))
}

/// Conditions with the key; `None`: other entries are read, or may be.
fn in_conditions(conditions: &Conditions, maps: &[&Str]) -> Option<Conditions> {
    let each = |all: &[Condition]| {
        let one = |one: &Condition| {
            Some(Condition {
                key: in_template(&one.key, maps)?,
                value: in_template(&one.value, maps)?,
                ..one.clone()
            })
        };
        all.iter().map(one).collect::<Option<Box<[_]>>>()
    };
    let any = match conditions.any.as_deref() {
        None => None,
        Some(any) => Some(each(any)?),
    };
    Some(Conditions { any, all: each(&conditions.all)?, ..conditions.clone() })
}

fn in_template(template: &Template, maps: &[&Str]) -> Option<Template> {
    let reads_map = |text: &str| maps.iter().any(|name| text.contains(&***name));
    match template {
        Template::Rounds(rounds) if reads_map(&rounds.source) => in_text(rounds, maps),
        Template::Whole(hole) if reads_map(&hole.rounds.source) => None,
        Template::Text(text) if reads_map(&text.rounds.source) => None,
        Template::List(_) | Template::Object(_) | Template::Fail(_) => None,
        other => Some(other.clone()),
    }
}

/// A text that reads entries under the name of the namespace, and nothing else of ConfigMaps.
fn in_text(rounds: &Rounds, maps: &[&Str]) -> Option<Template> {
    let mut text = rounds.source.to_string();
    for at in find_variables(&rounds.source).into_iter().rev() {
        let inner = expression(rounds.source.get(at.clone())?);
        let before = rounds.source.get(..at.start)?;
        let is_entry = maps.iter().any(|name| before.ends_with(&format!("{name}.{DATA}.\"")));
        if is_entry && inner == "request.namespace" && rounds.source.get(at.end..)?.starts_with('"') {
            text.replace_range(at, KEY);
        }
    }
    let rest =
        maps.iter().fold(text.clone(), |rest, name| rest.replace(&format!("{name}.{DATA}.\"{KEY}\""), ""));
    let is_only = !maps.iter().any(|name| rest.contains(&***name));
    is_only.then(|| LATE.text(&Str::from(text), &rounds.names))
}
