//! Where in an object a rule is violated.
//!
//! In: a request on which rules of a policy fail. Out: for each of these rules the path of the
//! field that decided. The rules are evaluated once more while their decisions are recorded
//! ([`ephor_engine::trace`]); what an evaluation without violations costs does not change.
//!
//! - `reads`: the field that decided, of those that were read

use crate::policy_set::Engine;
use ephor_engine::trace::{self, Event, EventKind, PatternVerdict, Step, TracedValue};
use ephor_engine::{Request, RuleOutcome};
use ephor_ir::{self, Expr};
use ephor_value::place::{Path, PathPart, follow, parse};
use ephor_value::{Fault, Str, Value};

mod reads;

/// What decided against an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule; empty for policies whose rules have no names.
    pub rule: Str,
    /// What it says: a rule may have several results.
    pub message: Str,
    /// The field of the object, where one decided.
    pub field: Option<Path>,
    /// The path in the policy's document of what decided: a pattern, a condition, an expression.
    pub decision: Option<Path>,
}

/// What decided against the object, by rule, for a policy by its position in the set.
pub fn violations(engine: &Engine, at: usize, request: &Request) -> Vec<Violation> {
    let (results, recorded) = trace::watch(|| engine.evaluate_policy(at, request));
    let failed = results.iter().filter(|r| r.status.is_violation());
    failed.map(|r| of_rule(r, &recorded.events, &request.object)).collect()
}

/// What decided against the object, of the decisions of all rules of a policy.
fn of_rule(result: &RuleOutcome, events: &[Event], object: &Value) -> Violation {
    let is_named = |e: &Event| matches!(&e.what, EventKind::Rule(name) if *name == result.rule);
    // Errors of policies whose rules have no names are results of a name that no rule has.
    let has_name = events.iter().any(is_named);
    let begins = |e: &&Event| is_named(e) || !has_name && matches!(e.what, EventKind::Rule(_));
    let own = events.iter().skip_while(|e| !begins(e)).skip(1);
    let own: Vec<&Event> = own.take_while(|e| !matches!(e.what, EventKind::Rule(_))).collect();
    let says =
        |event: &&Event| matches!(&event.what, EventKind::Failed(text) if result.message.contains(&**text));
    // Of several refusals of one rule that of this result; what is around the first one repeats it.
    let own = match own.iter().position(says) {
        Some(at) => own.get(..=at).unwrap_or_default().to_vec(),
        None => own,
    };
    let before = |at: usize| own.get(..at).unwrap_or_default();
    let decides = |(at, event): (usize, &&'_ Event)| Some((at, decided(event, before(at), object)?));
    let (at, field) = match own.iter().enumerate().rev().find_map(decides) {
        Some((at, field)) => (Some(at), Some(field)),
        None => {
            let at = own.iter().rposition(|event| is_against(event));
            let of_reads = |at: usize| reads::decisive(own.get(at)?, before(at), object);
            let of_element = |at: usize| before(at).iter().rev().find_map(|e| of_element(e, object));
            (at, at.and_then(|at| of_reads(at).or_else(|| of_element(at))))
        }
    };
    let decision = at.and_then(|at| Some(place_of(own.get(at)?, before(at), object)));
    let decision = decision.filter(|path| !path.is_empty());
    Violation { rule: result.rule.clone(), message: result.message.clone(), field, decision }
}

/// The path of what decided in the policy's document; of a pattern the part that the object differs
/// from.
fn place_of(event: &Event, before: &[&Event], object: &Value) -> Path {
    match &event.what {
        EventKind::Pattern { at, path, .. } => {
            let base = at.map_or_else(|| event.origin.clone(), |at| event.origin.index(at));
            let element = element_of(event, before, object);
            let subject = element.as_ref().map_or(object, |path| follow(object, path).0);
            base.below(&steps_of(subject, path))
        }
        _ => event.origin.below(&[]),
    }
}

/// Whether a decision is against the object, or could not be taken.
fn is_against(event: &Event) -> bool {
    match &event.what {
        EventKind::Pattern { verdict, .. } => *verdict == PatternVerdict::Mismatch,
        EventKind::Condition { holds, .. } => *holds && is_of_deny(event),
        EventKind::Expression(_, value, _) => !is_true(value),
        EventKind::Data(_, value) => value.is_err(),
        EventKind::Fields(_) | EventKind::Failed(_) => true,
        _ => false,
    }
}

/// The path of the element that a decision of a loop is about, in the object; `before` are the
/// decisions before it.
fn element_of(event: &Event, before: &[&Event], object: &Value) -> Option<Path> {
    let is_of_loop = event.origin.path.contains(".foreach");
    is_of_loop.then(|| before.iter().rev().find_map(|before| of_element(before, object))).flatten()
}

/// The path in the object of what a pattern differs from: a pattern of a loop has paths below its
/// element. Empty when the element was computed, and cannot be found in the object.
pub fn subject_of_pattern(event: &Event, before: &[&Event], path: &str, object: &Value) -> Path {
    let is_of_loop = event.origin.path.contains(".foreach");
    // Without `elementScope` the pattern of a loop is one of the whole object.
    let first = path.split('/').find(|key| !key.is_empty()).unwrap_or_default();
    let is_of_object = |part: &Value| object.get(first).is_some() && part.get(first).is_none();
    match element_of(event, before, object) {
        Some(element) if is_of_object(follow(object, &element).0) => steps_of(object, path),
        None if is_of_loop && is_of_object(&Value::Null) => steps_of(object, path),
        Some(mut element) => {
            let below = steps_of(follow(object, &element).0, path);
            element.extend(below);
            element
        }
        None if is_of_loop => Path::new(),
        None => steps_of(object, path),
    }
}

/// The field of a decision against the object; `before` are the decisions before it.
fn decided(event: &Event, before: &[&Event], object: &Value) -> Option<Path> {
    let path = match &event.what {
        EventKind::Pattern { verdict: PatternVerdict::Mismatch, path, .. } => {
            subject_of_pattern(event, before, path, object)
        }
        EventKind::Condition { key, holds: true, .. } if is_of_deny(event) => {
            path_of(key, object).or_else(|| reads::decisive(event, before, object))?
        }
        EventKind::Fields(fields) => parse(fields.first()?),
        EventKind::Failed(_) => reads::decisive(event, before, object)?,
        EventKind::Expression(_, value, steps)
            if !is_true(value) && !steps.iter().any(|step| reads::is_missing_elsewhere(step, object)) =>
        {
            let of_variables = || {
                let read = before.iter().rev().filter(|event| reads::reads_variable(steps, event));
                best(read.filter_map(|event| of_steps(&event.steps, &event.reads, object)), object)
            };
            of_steps(steps, &event.reads, object)
                .or_else(of_variables)
                .or_else(|| reads::decisive(event, before, object))?
        }
        _ => return None,
    };
    (!path.is_empty()).then_some(path)
}

/// Whether a condition is one that refuses, and no precondition.
fn is_of_deny(event: &Event) -> bool {
    event.origin.path.contains(".deny.")
}

/// The element of a loop: that of the object itself, or the one part of it that is equal to an
/// element that was computed.
fn of_element(event: &Event, object: &Value) -> Option<Path> {
    let EventKind::Element(_, element) = &event.what else { return None };
    let of_equal = || {
        let mut found = Vec::new();
        equal_parts(object, &element.value, &mut Path::new(), &mut found);
        found.pop().filter(|path| found.is_empty() && !path.is_empty())
    };
    // An element that was computed is equal to what was read for it.
    let of_read = || {
        let paths = reads::paths(&event.reads, None, object);
        let is_equal = |path: &&Path| follow(object, path).0.strict_eq(&element.value);
        let below = || path_of_read(object, &paths, element.value.as_str()?);
        paths.iter().find(is_equal).cloned().or_else(below)
    };
    path_of(element, object).or_else(of_equal).or_else(of_read)
}

/// The paths of the objects in a value that are equal to one.
fn equal_parts(value: &Value, wanted: &Value, path: &mut Path, found: &mut Vec<Path>) {
    if !matches!(wanted, Value::Map(_)) {
        return;
    }
    ephor_value::stack::deep(|| {
        if value.strict_eq(wanted) {
            return found.push(path.clone());
        }
        let mut below = |part: PathPart, value: &Value| {
            path.push(part);
            equal_parts(value, wanted, path, found);
            path.pop();
        };
        match value {
            Value::Map(fields) => fields.iter().for_each(|(k, v)| below(PathPart::Key(k.clone()), v)),
            Value::List(items) => {
                items.iter().enumerate().for_each(|(i, v)| below(PathPart::Index(i), v));
            }
            _ => {}
        }
    });
}

fn is_true(value: &Result<TracedValue, ephor_value::Fault>) -> bool {
    value.as_ref().is_ok_and(|seen| seen.value.as_bool() == Some(true))
}

/// The field of the steps that decided an expression.
fn of_steps(steps: &[Step], reads: &[usize], object: &Value) -> Option<Path> {
    let of_parts = || best(steps.iter().rev().filter_map(|step| of_step(step, object)), object);
    let of_keys = || steps.iter().rev().find_map(|step| reads::key_of_step(step, reads, object));
    let of_texts = || steps.iter().rev().find_map(|step| of_computed(step, object));
    let of_missing = || steps.iter().rev().find_map(|step| of_missing(step, object));
    of_missing().or_else(of_parts).or_else(of_keys).or_else(of_texts)
}

/// The first of some paths; of items of one list one whose value is there says more than one that
/// has none.
fn best(mut paths: impl Iterator<Item = Path>, object: &Value) -> Option<Path> {
    let first = paths.next()?;
    let has_value = |path: &Path| {
        let (value, followed) = follow(object, path);
        followed == path.len() && !matches!(value, Value::Map(_) | Value::List(_))
    };
    if has_value(&first) {
        return Some(first);
    }
    let is_other_item = |path: &Path| {
        let parts = first.iter().zip(path).find(|(own, other)| own != other);
        matches!(parts, Some((PathPart::Index(_), PathPart::Index(_))))
    };
    Some(paths.find(|path| is_other_item(path) && has_value(path)).unwrap_or(first))
}

fn of_step(step: &Step, object: &Value) -> Option<Path> {
    let operands = step.operands.iter().filter_map(|(_, value)| value.as_ref().ok());
    let own = operands.chain(step.value.as_ref().ok()).filter_map(|seen| path_of(seen, object));
    let read = step.reads.iter().filter_map(|address| trace::path_of(object, *address));
    // The deepest one: it says most.
    let found = own.chain(read.filter(|path| !path.is_empty())).max_by_key(Vec::len)?;
    Some(of_item(step, object, found))
}

/// Of a list or map the item or key that is equal to what a step compares it with.
fn of_item(step: &Step, object: &Value, path: Path) -> Path {
    let texts = step.operands.iter().filter_map(|(_, value)| value.as_ref().ok());
    let wanted: Vec<&Value> = texts.map(|seen| &seen.value).collect();
    let is_wanted = |value: &Value| wanted.iter().any(|wanted| wanted.strict_eq(value));
    let part = match follow(object, &path).0 {
        Value::List(items) => items.iter().position(is_wanted).map(PathPart::Index),
        Value::Map(fields) => {
            let mut keys = fields.iter().map(|(key, _)| key);
            keys.find(|key| is_wanted(&Value::Str((*key).clone()))).map(|key| PathPart::Key(key.clone()))
        }
        _ => None,
    };
    path.into_iter().chain(part).collect()
}

/// The path at which a field is missing that a step reads: the part that is there, and the first
/// key that is not.
fn of_missing(step: &Step, object: &Value) -> Option<Path> {
    let (Expr::Walk(walk), Err(Fault::NotFound(_))) = (&step.expr, &step.value) else { return None };
    let base = step.operands.iter().rev().find(|(expr, _)| *expr == walk.base);
    let address = base.and_then(|(_, value)| value.as_ref().ok()?.address);
    let is_object =
        || matches!(&walk.base, Expr::Path { keys, .. } if keys.iter().map(|key| &**key).eq(["object"]));
    let of_object = || is_object().then(Path::new);
    let mut path = address.and_then(|address| trace::path_of(object, address)).or_else(of_object)?;
    for step in &walk.steps {
        let part = match step {
            ephor_ir::expr::Step::Key { key, .. } => match key {
                Value::Str(key) => PathPart::Key(key.clone()),
                Value::Int(index) => PathPart::Index(usize::try_from(*index).ok()?),
                _ => return None,
            },
            _ => return None,
        };
        path.push(part);
        if follow(object, &path).1 < path.len() {
            break;
        }
    }
    Some(path)
}

/// The first part of the object that is equal to a text that a step computed.
fn of_computed(step: &Step, object: &Value) -> Option<Path> {
    texts_of(step).find_map(|text| path_of_text(object, text, &mut Path::new()))
}

/// The texts that a step is about and that are no constants.
fn texts_of(step: &Step) -> impl Iterator<Item = &str> {
    let operands = step.operands.iter().filter(|(expr, _)| !matches!(expr, Expr::Const(_)));
    let texts = operands.filter_map(|(_, value)| value.as_ref().ok()?.value.as_str());
    texts.filter(|text| !text.is_empty())
}

/// The path of the first text below some parts of the object that is equal to one.
fn path_of_read(object: &Value, parts: &[Path], text: &str) -> Option<Path> {
    parts.iter().find_map(|part| path_of_text(follow(object, part).0, text, &mut part.clone()))
}

/// The path of the first text in a value that is equal to one; metadata aside, where names repeat
/// what stands elsewhere.
fn path_of_text(value: &Value, wanted: &str, path: &mut Path) -> Option<Path> {
    ephor_value::stack::deep(|| {
        let mut below = |part: PathPart, value: &Value| {
            path.push(part);
            let found = path_of_text(value, wanted, path);
            path.pop();
            found
        };
        match value {
            Value::Str(text) => (**text == *wanted).then(|| path.clone()),
            Value::Map(fields) => fields
                .iter()
                .filter(|(key, _)| !matches!(&***key, "apiVersion" | "kind"))
                .find_map(|(key, value)| match **key == *wanted {
                    // The text is a key that an expression read.
                    true => below(PathPart::Key(key.clone()), &Value::Null),
                    false => below(PathPart::Key(key.clone()), value),
                }),
            Value::List(items) => {
                items.iter().enumerate().find_map(|(at, item)| below(PathPart::Index(at), item))
            }
            _ => None,
        }
    })
}

fn path_of(seen: &TracedValue, object: &Value) -> Option<Path> {
    trace::path_of_value(object, seen).filter(|path| !path.is_empty())
}

/// The steps of a path as messages of patterns write it, `/spec/containers/0/image/`; keys may hold
/// slashes themselves.
pub fn steps_of(object: &Value, path: &str) -> Path {
    let mut parts: Vec<&str> = path.trim_matches('/').split('/').filter(|p| !p.is_empty()).collect();
    let (mut at, mut steps) = (object, Path::new());
    while let Some(first) = parts.first().copied() {
        let key = (1..=parts.len()).rev().find_map(|n| {
            let key = parts.get(..n)?.join("/");
            at.get(&key).map(|below| (n, key, below))
        });
        match (at.as_list(), first.parse::<usize>(), key) {
            (Some(items), Ok(index), _) => {
                steps.push(PathPart::Index(index));
                at = items.get(index).unwrap_or(&Value::Null);
                parts.drain(..1);
            }
            (_, _, Some((n, key, below))) => {
                steps.push(PathPart::Key(key.into()));
                at = below;
                parts.drain(..n);
            }
            _ => {
                // What is missing has no place of its own.
                steps.push(PathPart::Key(first.into()));
                at = &Value::Null;
                parts.drain(..1);
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests;
