//! Evaluating conditions.
//!
//! In: conditions and a rule's data. Out: whether they hold, and the messages of the conditions
//! that decided. A failure ends the evaluation at once. The semantics' source is
//! `docs/semantics/conditions.md`.

use std::borrow::Cow;

use ephor_ir::condition::{Operator, Prepared};
use ephor_ir::{Condition, Conditions, operator};
use ephor_value::Value;

use super::data::Data;
use super::error::ConditionError;
use super::trace::{self, EventKind, TracedValue};

/// The verdict of conditions.
#[derive(Debug, PartialEq, Eq)]
pub struct ConditionVerdict {
    /// Whether they hold.
    pub holds: bool,
    /// The joined messages of the conditions that say so.
    pub message: String,
}

/// Evaluates conditions.
///
/// # Errors
/// A variable has no value, or an operator does not exist.
pub fn evaluate(conditions: &Conditions, data: &mut Data<'_>) -> Result<ConditionVerdict, ConditionError> {
    if conditions.flat {
        return flat(&conditions.all, data);
    }
    let (mut met, mut unmet) = (Vec::new(), Vec::new());
    let mut any_holds = true;
    if let Some(any) = &conditions.any {
        any_holds = false;
        for c in any {
            if one(c, data)? {
                any_holds = true;
                push_message(&mut met, &c.message);
                break;
            }
            push_message(&mut unmet, &c.message);
        }
    }
    let mut all_hold = true;
    for c in &conditions.all {
        if one(c, data)? {
            push_message(&mut met, &c.message);
        } else {
            all_hold = false;
            push_message(&mut unmet, &c.message);
            break;
        }
    }
    let holds = any_holds && all_hold;
    let messages = if holds { met } else { unmet };
    Ok(ConditionVerdict { holds, message: messages.join("; ") })
}

fn push_message<'c>(messages: &mut Vec<&'c str>, message: &'c str) {
    if !message.is_empty() {
        messages.push(message);
    }
}

fn flat(all: &[Condition], data: &mut Data<'_>) -> Result<ConditionVerdict, ConditionError> {
    let mut met = Vec::new();
    for c in all {
        if !one(c, data)? {
            return Ok(ConditionVerdict { holds: false, message: c.message.to_string() });
        }
        if !c.message.is_empty() {
            met.push(&*c.message);
        }
    }
    Ok(ConditionVerdict { holds: true, message: met.join(";") })
}

fn one(c: &Condition, data: &mut Data<'_>) -> Result<bool, ConditionError> {
    let before = if trace::is_on() { trace::nodes() } else { 0 };
    let result = decide(c, data, before);
    if let Err(error) = &result {
        trace::emit_reading(&c.origin, || (EventKind::Failed(error.to_string()), trace::reads_since(before)));
    }
    result
}

/// Whether a condition holds; `nodes` is how many values the trace noted before it.
fn decide(c: &Condition, data: &mut Data<'_>, nodes: usize) -> Result<bool, ConditionError> {
    trace::note(c);
    if let (Some(op), Some(right)) = (c.operator, &c.prepared)
        && let Some(key) = data.fill_borrowed(&c.key).map_err(ConditionError::Key)?
    {
        let holds = operator::holds(op, &key, right);
        emit(c, op, (key, right), holds, nodes);
        return Ok(holds);
    }
    let key = data.fill(&c.key).map_err(ConditionError::Key)?;
    let late;
    let right = match &c.prepared {
        Some(prepared) => prepared,
        None => {
            let value = data.fill(&c.value).map_err(ConditionError::Value)?;
            let Some(op) = c.operator else { return Err(ConditionError::UnknownOperator) };
            late = Prepared::new(op, value);
            &late
        }
    };
    let Some(op) = c.operator else { return Err(ConditionError::UnknownOperator) };
    let holds = operator::holds(op, &key, right);
    emit(c, op, (Cow::Owned(key), right), holds, nodes);
    Ok(holds)
}

/// Emits a trace event.
fn emit(
    c: &Condition,
    operator: Operator,
    (key, right): (Cow<'_, Value>, &Prepared),
    holds: bool,
    nodes: usize,
) {
    trace::emit_condition(c, nodes, || {
        let (key, value) = (TracedValue::of(key), right.value.clone());
        EventKind::Condition { key, operator: operator.name(), value, holds }
    });
}
