//! Tracing an evaluation: which pieces of rules it reaches, and what decides it.
//!
//! In: what the evaluator emits while it runs. Out: [`Hits`], how often each piece was reached (a
//! piece is known by its address, which stays the same while its policy lives), and [`Event`]s, the
//! decisions in their order with their operands. Nothing is recorded unless a trace is running, and
//! then only on its thread: on all other threads tracing costs a read a flag for each piece, and
//! nothing for each node of an expression.
//!
//! - `steps`: the steps of an expression that decide its value
//! - `traced_value`: a value that was seen, by where it lies

mod steps;
mod traced_value;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::EntryError;
use ephor_ir::Condition;
use ephor_ir::origin::Origin;
use ephor_value::{Fault, Str, Value};

pub use steps::Step;
pub(super) use steps::{node, nodes, reads_since, steps, steps_since};
pub use traced_value::TracedValue;
use traced_value::{address, storage};

/// How many recordings are under way.
static WATCHING: AtomicUsize = AtomicUsize::new(0);

/// How many events of a run are stored; later ones are only counted. A number too small loses the
/// end of a long trace, never a verdict.
const MAX_EVENTS: usize = 10_000;

thread_local! {
    static HITS: RefCell<HashMap<usize, u64>> = RefCell::new(HashMap::new());
    static EVENTS: RefCell<Option<Trace>> = const { RefCell::new(None) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// How often pieces were reached, by address.
#[derive(Clone, Debug, Default)]
pub struct Hits(HashMap<usize, u64>);

impl Hits {
    /// How often a piece was reached.
    pub fn of<T>(&self, piece: &T) -> u64 {
        self.0.get(&address(piece)).copied().unwrap_or(0)
    }

    /// Adds those of another recording.
    pub fn add(&mut self, other: Hits) {
        for (piece, n) in other.0 {
            let sum = self.0.entry(piece).or_default();
            *sum = sum.saturating_add(n);
        }
    }
}

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The decisions, in their order.
    pub events: Vec<Event>,
    /// How many more there were.
    pub left_out: usize,
}

/// A decision.
#[derive(Clone, Debug)]
pub struct Event {
    /// The number of `foreach` loops around it.
    pub depth: usize,
    /// What decides, in the policy document.
    pub origin: Origin,
    /// What was decided.
    pub what: EventKind,
    /// The addresses of the values that were read for it, in their order; some are parts of the
    /// request ([`path_of`]), others were computed.
    pub reads: Vec<usize>,
    /// Of a composed variable the steps that decided its value, of a condition those that decided
    /// its sides.
    pub steps: Vec<Step>,
}

/// Why data of a rule has no value.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DataError {
    /// A context entry cannot be loaded.
    #[error(transparent)]
    Entry(Box<EntryError>),
    /// The expression of a composed variable failed.
    #[error("{}", .0.cel_text())]
    Variable(Fault),
}

/// A decision with its operands.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// A rule begins.
    Rule(Str),
    /// Data of a rule was loaded: its name, and its value or why there is none.
    Data(Str, Result<Value, DataError>),
    /// A condition was evaluated.
    Condition {
        /// The left side.
        key: TracedValue,
        /// The operator as policies write it.
        operator: &'static str,
        /// The right side.
        value: Value,
        /// Whether it holds.
        holds: bool,
    },
    /// An element of a `foreach` loop.
    Element(usize, TracedValue),
    /// The object was compared with a pattern.
    Pattern {
        /// Which of several.
        at: Option<usize>,
        /// Whether the pattern passed, failed or does not apply.
        verdict: PatternVerdict,
        /// The path in the object at which it was decided, `/spec/replicas/`; empty where there is
        /// none.
        path: String,
        /// What differs.
        text: String,
    },
    /// A list or condition has no value.
    Failed(String),
    /// Pod Security controls refuse the object because of these fields,
    /// `spec.containers[0].securityContext`.
    Fields(Vec<String>),
    /// An expression was evaluated: its text, its value or fault, and the steps that decided.
    Expression(Str, Result<TracedValue, Fault>, Vec<Step>),
}

/// How an object compares with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternVerdict {
    /// It matches.
    Match,
    /// It differs.
    Mismatch,
    /// An anchor says that the pattern is not for it.
    NotApplicable,
}

/// Where a value stands in a document, or what it is a copy of.
pub fn path_of_value(document: &Value, seen: &TracedValue) -> Option<ephor_value::place::Path> {
    let of_address = seen.address.and_then(|address| path_of(document, address));
    of_address.or_else(|| path_of(document, storage(&seen.value)?))
}

/// Where the value at an address stands in a document; `None` = it is no part of it.
pub fn path_of(document: &Value, wanted: usize) -> Option<ephor_value::place::Path> {
    use ephor_value::place::PathPart;
    ephor_value::stack::deep(|| {
        if address(document) == wanted || storage(document) == Some(wanted) {
            return Some(Vec::new());
        }
        let below = |part: PathPart, v: &Value| {
            path_of(v, wanted).map(|mut path| {
                path.insert(0, part);
                path
            })
        };
        match document {
            Value::Map(m) => m.iter().find_map(|(k, v)| below(PathPart::Key(k.clone()), v)),
            Value::List(items) => items.iter().enumerate().find_map(|(i, v)| below(PathPart::Index(i), v)),
            _ => None,
        }
    })
}

/// Notes that a piece was reached.
#[inline]
pub fn note<T>(piece: &T) {
    if WATCHING.load(Ordering::Relaxed) != 0 {
        HITS.with_borrow_mut(|hits| {
            let n = hits.entry(address(piece)).or_default();
            *n = n.saturating_add(1);
        });
    }
}

/// Whether this thread's decisions are watched.
#[inline]
pub fn is_on() -> bool {
    WATCHING.load(Ordering::Relaxed) != 0 && EVENTS.with_borrow(Option::is_some)
}

/// Records a decision, if a trace is running.
#[inline]
pub fn emit(origin: &Origin, what: impl FnOnce() -> EventKind) {
    emit_reading(origin, || (what(), Vec::new()));
}

/// Records that a part of an object is the reason of a refusal.
pub(super) fn emit_part(origin: &Origin, text: &str, part: Option<&Value>) {
    emit_reading(origin, || (EventKind::Failed(text.to_string()), part.map(address).into_iter().collect()));
}

/// Records the value of a composed variable, with what was read and decided after the first `nodes`
/// values that the trace noted.
pub(super) fn emit_variable(
    origin: &Origin,
    expr: Option<&ephor_ir::Expr>,
    nodes: usize,
    what: impl FnOnce() -> EventKind,
) {
    emit_reading(origin, || (what(), reads_since(nodes)));
    if is_on() {
        put_steps(expr.map(|expr| steps_since(expr, nodes)).unwrap_or_default());
    }
}

/// Records a condition, with what was read and decided for its sides after the first `nodes` values
/// that the trace noted.
pub(super) fn emit_condition(condition: &Condition, nodes: usize, what: impl FnOnce() -> EventKind) {
    emit_reading(&condition.origin, || (what(), reads_since(nodes)));
    if is_on() {
        let sides = [&condition.key, &condition.value];
        put_steps(sides.into_iter().flat_map(|side| steps::steps_of_template(side, nodes)).collect());
    }
}

/// Adds its steps to the last event.
fn put_steps(steps: Vec<Step>) {
    EVENTS.with_borrow_mut(|trace| {
        if let Some(last) = trace.as_mut().and_then(|trace| trace.events.last_mut()) {
            last.steps = steps;
        }
    });
}

/// Records a decision with the addresses of what was read for it, if a trace is running.
#[inline]
pub(super) fn emit_reading(origin: &Origin, what: impl FnOnce() -> (EventKind, Vec<usize>)) {
    if is_on() {
        let (what, reads) = what();
        let event = Event { depth: DEPTH.get(), origin: origin.clone(), what, reads, steps: Vec::new() };
        EVENTS.with_borrow_mut(|trace| match trace {
            Some(trace) if trace.events.len() < MAX_EVENTS => trace.events.push(event),
            Some(trace) => trace.left_out = trace.left_out.saturating_add(1),
            None => {}
        });
    }
}

/// Runs the body of a loop.
pub fn inside<R>(run: impl FnOnce() -> R) -> R {
    let depth = DEPTH.get();
    DEPTH.set(depth.saturating_add(1));
    let result = run();
    DEPTH.set(depth);
    result
}

/// Runs something that stays on this thread, and says what it reached.
pub fn record<R>(run: impl FnOnce() -> R) -> (R, Hits) {
    HITS.with_borrow_mut(HashMap::clear);
    WATCHING.fetch_add(1, Ordering::Relaxed);
    let result = run();
    WATCHING.fetch_sub(1, Ordering::Relaxed);
    (result, Hits(HITS.with_borrow_mut(std::mem::take)))
}

/// Runs something that stays on this thread, and says what decided it.
pub fn watch<R>(run: impl FnOnce() -> R) -> (R, Trace) {
    EVENTS.set(Some(Trace::default()));
    steps::clear();
    DEPTH.set(0);
    let (result, _) = record(run);
    (result, EVENTS.take().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_reached_while_recording_counts() {
        let (a, b) = (Box::new(1), Box::new(2));
        note(&*a);
        let ((), hits) = record(|| {
            note(&*b);
            note(&*b);
        });
        assert_eq!((hits.of(&*a), hits.of(&*b)), (0, 2));
    }

    #[test]
    fn a_part_of_a_document_is_found_by_its_address() {
        let document = ephor_document::yaml_value("a: [{b: 1}, {b: 1}]").unwrap_or_default();
        let second = document.at(&["a"]).and_then(Value::as_list).and_then(|items| items.get(1)?.get("b"));
        let path = second.and_then(|v| path_of(&document, address(v))).unwrap_or_default();
        assert_eq!(ephor_value::place::dotted(&path), "a[1].b");
        assert_eq!(path_of(&document, address(&Value::Null)), None);
    }
}
