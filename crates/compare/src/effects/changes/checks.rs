//! Rules that change objects, as rules that check what decides about the changes.
//!
//! In: a rule that changes or generates objects. Out: what it writes, and a rule with the same
//! filters and conditions that reads and tests the same and changes nothing, so that what is known
//! of rules that check objects (`units::split`) is known of it.

use std::sync::Arc;

use ephor_analysis::reads::Step;
use ephor_ir::check::{Check, Overlay};
use ephor_ir::expressions::{Source, Validation};
use ephor_ir::rule::{Body, Message};
use ephor_ir::template::{Hole, Template};
use ephor_ir::{Conditions, Rule};
use ephor_lower::LATE;
use ephor_value::Value;

use crate::effects::writes::model::Writes;
use crate::effects::writes::{conditions_on, writes};
use crate::model::environment::Environment;
use crate::model::matchers::selects;
use crate::model::unsupported::Unsupported;
use crate::normal::unused_entries::without_unread;

/// Whether a rule may apply to requests of an environment.
pub(crate) fn applies(rule: &Rule, environment: &Environment) -> bool {
    // Policies for pods have rules for them and for their controllers.
    let filters = rule.when.filters();
    let has_kinds = !filters.is_empty() && filters.iter().all(|filter| !filter.kinds.is_empty());
    let is_other = environment.is_foreign(rule) || (has_kinds && !environment.is_about(rule));
    !is_other && selects(&rule.when, environment.operation)
}

/// What a rule writes.
pub(crate) fn of_rule(rule: &Rule, environment: &Environment) -> Result<Writes, String> {
    let why = match &rule.body {
        // There is no object to generate something of.
        Body::Generate(_) if environment.operation == "DELETE" && rule.expressions.is_none() => {
            return Ok(Writes::default());
        }
        Body::Generate(_) if environment.operation == "DELETE" => Unsupported::DeletionGenerates,
        Body::Mutate(_) if environment.operation == "DELETE" => Unsupported::DeletedChanged,
        Body::Mutate(_) if !environment.is_of_resource() => Unsupported::SubresourceChanged,
        _ => {
            let found = writes(rule, &environment.object).map_err(of_samples)?;
            let is_one = found.patterns.is_empty()
                || pattern(&found.patterns).and_then(|one| LATE.pattern(&one)).is_some();
            return match is_one {
                true => Ok(found),
                false => Err(of_samples(Unsupported::AnchorsApart)),
            };
        }
    };
    Err(of_samples(why))
}

pub(crate) fn of_samples(why: Unsupported) -> String {
    format!("objects that rules change or generate are compared on samples: {why}")
}

/// A rule that checks what decides about the changes of another one: it reads and tests the same;
/// `all`: also what decides about an item by itself.
pub(crate) fn as_check(rule: &Arc<Rule>, environment: &Environment, all: bool) -> Arc<Rule> {
    if !matches!(rule.body, Body::Mutate(_) | Body::Generate(_)) {
        return Arc::clone(rule);
    }
    if !applies(rule, environment) {
        let nothing = checking(rule, Check::Nothing);
        return Arc::new(Rule { admit: None, bindings: [].into(), ..(*nothing).clone() });
    }
    let Writes { mut conditions, mut patterns, of_items, mut each, holes, mut chosen, compared, .. } =
        writes(rule, &environment.object).unwrap_or_default();
    match all {
        true => conditions.extend(of_items),
        false => {
            patterns.retain(|(place, _)| !place.contains(&Step::Items));
            each.retain(|(_, is_own)| !is_own);
            chosen.retain(|(_, is_own)| !is_own);
        }
    }
    let chosen: Vec<Hole> = chosen.into_iter().map(|(number, _)| number).collect();
    let of_documents = || {
        if let Some(pattern) = pattern(&patterns).and_then(|pattern| LATE.pattern(&pattern)) {
            return Check::Pattern(Overlay::Ready(Arc::new(pattern)), rule.origin.clone());
        }
        match (each.is_empty(), holes.is_empty() && chosen.is_empty() && compared.is_empty()) {
            (false, _) => Check::ForEach(each.into_iter().map(|(one, _)| one).collect()),
            (true, false) => {
                let conditions = conditions_on(&holes, &chosen, &rule.origin);
                let any = conditions.any.iter().flatten().chain(&compared).cloned().collect();
                Check::Deny(Conditions { any: Some(any), ..conditions })
            }
            (true, true) => Check::Nothing,
        }
    };
    let check = match rule.expressions.is_some() {
        true => {
            Check::Assert(conditions.into_iter().map(|own| validation(Source::new("", Ok(own)))).collect())
        }
        false => of_documents(),
    };
    without_unread(checking(rule, check))
}

/// A rule that checks something in place of what another one does.
pub(crate) fn checking(rule: &Arc<Rule>, check: Check) -> Arc<Rule> {
    let message = Message {
        origin: rule.origin.clone(),
        text: "".into(),
        template: Template::Const(Value::Null),
        passed: "".into(),
        names: rule.bindings.iter().map(|binding| binding.name.clone()).collect(),
    };
    Arc::new(Rule { body: Body::Validate { check, message }, ..(**rule).clone() })
}

/// A validation without a message.
pub(crate) fn validation(check: Source) -> Validation {
    Validation { check, message: "".into(), message_program: None, reason: "".into() }
}

/// The leaves of a pattern at their places, as one document; `None` where two of them do not go
/// together.
fn pattern(leaves: &[(Vec<Step>, Value)]) -> Option<Value> {
    fn with(document: Value, place: &[Step], leaf: &Value) -> Option<Value> {
        let Some((step, rest)) = place.split_first() else {
            return (document.is_null() || document == *leaf).then(|| leaf.clone());
        };
        match (step, document) {
            (Step::Key(key), Value::Null | Value::Map(_)) if key.contains(['*', '?', '(', ')']) => None,
            (Step::Key(key), Value::Null) => Some(Value::map([(&**key, with(Value::Null, rest, leaf)?)])),
            (Step::Key(key), document @ Value::Map(_)) => {
                let below = document.get(key).cloned().unwrap_or_default();
                Some(document.with(key, with(below, rest, leaf)?))
            }
            (Step::Items, Value::Null) => Some(Value::list(vec![with(Value::Null, rest, leaf)?])),
            (Step::Items, Value::List(items)) => {
                let first = items.first().cloned().unwrap_or_default();
                Some(Value::list(vec![with(first, rest, leaf)?]))
            }
            _ => None,
        }
    }
    let mut document = Value::Null;
    for (place, leaf) in leaves {
        document = with(document, place, leaf)?;
    }
    (!document.is_null()).then_some(document)
}
