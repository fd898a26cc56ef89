//! Validate rules: deny, pattern, anyPattern, and foreach, which ends at the first failing element.
//!
//! In: a lowered check, the object and the rule's data. Out: a status and a message, or nothing
//! when there was nothing to check. Texts and their order are those of
//! `docs/semantics/validate.md`.

use std::cell::OnceCell;

use ephor_functions::untracked;
use ephor_ir::check::{Check, ForEach, Overlay, Overlays, TOO_DEEP, doubles, is_open};
use ephor_ir::rule::{Message, Properties};
use ephor_ir::shape::{Pattern, type_name};
use ephor_ir::{Conditions, Origin, Template};
use ephor_value::{Str, Value, budget};

use super::condition;
use super::data::Data;
use super::error::{FillError, QueryError};
use super::outcome::{Status, stock};
use super::shape::{self, Outcome};
use super::trace::{self, EventKind, PatternVerdict, TracedValue};

/// Status and message of a check; `None` = no result.
pub type CheckVerdict = Option<(Status, Str)>;

/// What a check reads.
#[derive(Clone, Copy)]
pub struct CheckSubject<'v> {
    /// The name of the rule, for messages.
    pub rule: &'v Str,
    /// The message of the rule.
    pub message: &'v Message,
    /// What patterns read: the object, or the element of an enclosing scoped loop.
    pub object: &'v Value,
    /// Whether `object` is an element.
    pub scoped: bool,
    /// Whether the request deletes the object.
    pub deleting: bool,
    /// How many loops enclose the check.
    pub depth: usize,
}

/// Runs a check.
pub fn run(check: &Check, s: CheckSubject<'_>, data: &mut Data<'_>) -> CheckVerdict {
    match check {
        Check::Deny(conditions) => Some(deny(conditions, s, data)),
        Check::Pattern(overlay, origin) => pattern(overlay, origin, s, data),
        Check::AnyPattern(overlays, origin) => any_pattern(overlays, origin, s, data),
        Check::ForEach(loops) => for_each(loops, s, data),
        // Rules run these themselves; loops have none.
        Check::Assert(_) | Check::PodSecurity(_) | Check::Nothing => None,
    }
}

/// Whether a check fails on the former object of the request, whose data are `data`. Patterns of
/// the rule itself were filled in for the new object, with `current`, and are filled in again; all
/// else is evaluated on `data` alone.
pub fn fails_on_former(
    check: &Check,
    s: CheckSubject<'_>,
    data: &mut Data<'_>,
    current: &mut Data<'_>,
) -> bool {
    match check {
        Check::Pattern(Overlay::Dynamic(template), _) => {
            let filled = fill_again(template, data, current);
            let pattern = filled.and_then(|filled| data.world.late.pattern(&filled));
            pattern.is_some_and(
                |p| matches!(shape::run(&p, s.object), Outcome::Fail { path, .. } if !path.is_empty()),
            )
        }
        Check::AnyPattern(Overlays::Dynamic(template), _) => {
            let Some(Value::List(items)) = fill_again(template, data, current) else { return false };
            let mut failed = false;
            for item in items.iter() {
                let Some(pattern) = doubles(item, data.world.late) else { return false };
                match shape::run(&pattern, s.object) {
                    Outcome::Pass => return false,
                    Outcome::Fail { .. } => failed = true,
                    Outcome::Skip(_) => {}
                }
            }
            failed
        }
        _ => matches!(run(check, s, data), Some((Status::Fail, _))),
    }
}

/// A pattern as it was filled in with `current`, and what that left of variables and references
/// with `data`; `None` if either fails.
fn fill_again(template: &Template, data: &mut Data<'_>, current: &mut Data<'_>) -> Option<Value> {
    let filled = current.fill(template).ok()?;
    if !is_open(&filled) {
        return Some(filled);
    }
    untracked::note();
    data.fill(&data.world.late.document(&filled, &data.names())).ok()
}

fn deny(conditions: &Conditions, s: CheckSubject<'_>, data: &mut Data<'_>) -> (Status, Str) {
    let verdict = match condition::evaluate(conditions, data) {
        Ok(v) => v,
        Err(e) => return (Status::Error, format!("failed to check deny conditions: {e}").into()),
    };
    if !verdict.holds {
        return (Status::Pass, s.message.passed.clone());
    }
    (Status::Fail, deny_message(&verdict.message, s, data))
}

fn deny_message(found: &str, s: CheckSubject<'_>, data: &mut Data<'_>) -> Str {
    let own = &s.message.text;
    let filled = match (own.is_empty(), found.is_empty()) {
        (true, true) => return format!("validation error: rule {} failed", s.rule).into(),
        (false, true) => own_message(s, data),
        (own_is_empty, false) => {
            let joined: Str = if own_is_empty { found.into() } else { format!("{own}; {found}").into() };
            data.fill(&data.world.late.text(&joined, &data.names()))
        }
    };
    match filled {
        Ok(Value::Str(text)) => text,
        Ok(_) => "the produced message didn't resolve to a string, check your policy definition.".into(),
        Err(_) => found.into(),
    }
}

/// The rule's message, filled in. It may name what the loops around the failure have in their
/// scope, which the rule itself does not know.
fn own_message(s: CheckSubject<'_>, data: &mut Data<'_>) -> Result<Value, FillError> {
    if data.bound() == s.message.names.len() {
        return data.fill(&s.message.template);
    }
    let names = data.names();
    data.fill(&data.world.late.text(&s.message.text, &names))
}

/// The rule's message, filled in.
fn stated(s: CheckSubject<'_>, data: &mut Data<'_>) -> Result<Stated, ()> {
    if s.message.text.is_empty() {
        return Ok(Stated(None));
    }
    match own_message(s, data) {
        Ok(Value::Str(text)) => Ok(Stated(Some(text))),
        _ => Err(()),
    }
}

/// A message as it stands before what failed.
struct Stated(Option<Str>);

impl Stated {
    /// The message with a full stop and a blank, nothing without a message.
    fn parts(&self) -> [&str; 2] {
        match &self.0 {
            None => ["", ""],
            Some(text) if text.ends_with('.') => [text, " "],
            Some(text) => [text, ". "],
        }
    }
}

fn substitution_failed(error: &FillError) -> (Status, Str) {
    (Status::Error, format!("variable substitution failed: {error}").into())
}

/// Patterns have no object to read when it is deleted; all the same, their variables are put in.
fn has_object(s: CheckSubject<'_>) -> bool {
    s.scoped || !s.deleting
}

/// Compares, and emits a trace event.
fn compare<'a>(pattern: &'a Pattern, origin: &Origin, at: Option<usize>, s: CheckSubject<'a>) -> Outcome<'a> {
    let outcome = shape::run(pattern, s.object);
    trace::emit(origin, || {
        let (verdict, path, text) = match &outcome {
            Outcome::Pass => (PatternVerdict::Match, String::new(), String::new()),
            Outcome::Skip(why) => (PatternVerdict::NotApplicable, String::new(), why.text()),
            Outcome::Fail { why, .. } => (PatternVerdict::Mismatch, why.path().to_string(), why.text()),
        };
        EventKind::Pattern { at, verdict, path, text }
    });
    outcome
}

fn pattern(overlay: &Overlay, origin: &Origin, s: CheckSubject<'_>, data: &mut Data<'_>) -> CheckVerdict {
    let late;
    trace::note(overlay);
    let pattern = match overlay {
        Overlay::Ready(p) => p,
        Overlay::Broken(text) => return Some((Status::Error, text.clone())),
        Overlay::Dynamic(template) => match data.fill(template) {
            Err(e) => return Some(substitution_failed(&e)),
            Ok(v) => match data.world.late.pattern(&v) {
                Some(p) => {
                    late = std::sync::Arc::new(p);
                    &late
                }
                None => return Some((Status::Error, TOO_DEEP.into())),
            },
        },
    };
    if !has_object(s) {
        return None;
    }
    let rule = s.rule;
    Some(match compare(pattern, origin, None, s) {
        Outcome::Pass => (Status::Pass, s.message.passed.clone()),
        Outcome::Skip(why) => (Status::Skip, why.text().into()),
        Outcome::Fail { path, why } => match stated(s, data) {
            Err(()) => {
                let text = format!(
                    "validation error: variables substitution error in rule {rule} execution error: {}",
                    why.text()
                );
                (if path.is_empty() { Status::Error } else { Status::Fail }, text.into())
            }
            Ok(stated) if path.is_empty() => {
                let [own, end] = stated.parts();
                let text = format!("validation error: {own}{end}rule {rule} execution error: {}", why.text());
                (Status::Error, text.into())
            }
            Ok(stated) => {
                let [own, end] = stated.parts();
                let text =
                    ["validation error: ", own, end, "rule ", rule, " failed at path ", &path].concat();
                (Status::Fail, text.into())
            }
        },
    })
}

fn any_pattern(
    overlays: &Overlays,
    origin: &Origin,
    s: CheckSubject<'_>,
    data: &mut Data<'_>,
) -> CheckVerdict {
    let late: Vec<Pattern>;
    trace::note(overlays);
    let patterns: &[Pattern] = match overlays {
        Overlays::Ready(p) => p,
        Overlays::Broken(text) => return Some((Status::Error, text.clone())),
        Overlays::Dynamic(template) => match data.fill(template) {
            Err(e) => return Some(substitution_failed(&e)),
            Ok(Value::List(items)) => match items.iter().map(|v| doubles(v, data.world.late)).collect() {
                Some(p) => {
                    late = p;
                    &late
                }
                None => return Some((Status::Error, TOO_DEEP.into())),
            },
            Ok(v) => return Some((Status::Error, ephor_ir::check::not_a_list(&v).into())),
        },
    };
    if !has_object(s) {
        return None;
    }
    let rule = s.rule;
    if patterns.is_empty() {
        return Some((Status::Pass, s.message.text.clone()));
    }
    let (mut failed, mut skipped) = (Vec::new(), Vec::new());
    for (i, p) in patterns.iter().enumerate() {
        match compare(p, origin, Some(i), s) {
            Outcome::Pass => {
                let text = format!("validation rule '{rule}' anyPattern[{i}] passed.");
                return Some((Status::Pass, text.into()));
            }
            Outcome::Skip(why) => skipped.push(format!("rule {rule}[{i}] skipped: {}", why.text())),
            Outcome::Fail { path, why } if path.is_empty() => {
                failed.push(format!("rule {rule}[{i}] failed: {}", why.text()));
            }
            Outcome::Fail { path, .. } => {
                failed.push(["rule ", rule, "[", &i.to_string(), "] failed at path ", &path].concat());
            }
        }
    }
    if failed.is_empty() {
        return Some((Status::Skip, skipped.join(" ").into()));
    }
    let failed = failed.join(" ");
    let text = match stated(s, data) {
        Ok(stated) => {
            let [own, end] = stated.parts();
            ["validation error: ", own, end, &failed].concat()
        }
        Err(()) => {
            format!("validation error: variables substitution error in rule {rule} execution error: {failed}")
        }
    };
    Some((Status::Fail, text.into()))
}

/// How one element ended.
enum Element {
    Counted,
    Ignored,
    Ends(Status, Str),
}

fn for_each(loops: &[ForEach], s: CheckSubject<'_>, data: &mut Data<'_>) -> CheckVerdict {
    let mut counted = false;
    let mut list_error: Option<String> = None;
    for l in loops {
        let nodes = if trace::is_on() { trace::nodes() } else { 0 };
        let list = data.query(&l.list);
        let reads = if trace::is_on() { trace::reads_since(nodes) } else { Vec::new() };
        let list = match list {
            Ok(v) => v,
            Err(QueryError::Eval(f)) if f.is_not_found() => continue,
            Err(e) => {
                // Kyverno looks for these words in the whole text, which has also what users write:
                // an expression, a name, the answer of a service.
                let text = e.to_string();
                trace::emit_reading(&l.origin, || (EventKind::Failed(text.clone()), reads.clone()));
                if !text.contains("Unknown key") {
                    list_error = Some(text);
                }
                continue;
            }
        };
        let items = elements(&list);
        let before = data.snapshot();
        for (i, item) in items.iter().enumerate() {
            if item.is_null() {
                continue;
            }
            if let Err(fault) = budget::step() {
                data.reset(&before);
                data.release(before);
                return Some((Status::Error, fault.to_string().into()));
            }
            data.reset(&before);
            trace::emit_reading(&l.origin, || (EventKind::Element(i, TracedValue::at(item)), reads.clone()));
            match trace::inside(|| element(l, i, item, s, data)) {
                Element::Counted => counted = true,
                Element::Ignored => {}
                Element::Ends(status, text) => {
                    if status == Status::Error {
                        trace::emit_part(&l.origin, &text, Some(item));
                    }
                    data.reset(&before);
                    data.release(before);
                    return Some((status, text));
                }
            }
        }
        data.reset(&before);
        data.release(before);
    }
    if counted {
        return Some((Status::Pass, stock("rule passed")));
    }
    list_error.map(|text| (Status::Error, format!("failed to evaluate list: {text}").into()))
}

/// The names under which an element and its position are seen at a nesting depth.
fn element_names(depth: usize) -> [Str; 4] {
    thread_local! {
        static OUTER: OnceCell<[Str; 4]> = const { OnceCell::new() };
    }
    let names = |depth: usize| {
        [
            "element".into(),
            "elementIndex".into(),
            format!("element{depth}").into(),
            format!("elementIndex{depth}").into(),
        ]
    };
    match depth {
        // One for each thread: counting references to the same text from all threads is slow.
        0 => OUTER.with(|outer| outer.get_or_init(|| names(0)).clone()),
        depth => names(depth),
    }
}

/// What is no list is a list of one.
pub(super) fn elements(list: &Value) -> &[Value] {
    match list {
        Value::List(items) => items,
        other => std::slice::from_ref(other),
    }
}

/// An element as expressions see it: numbers are doubles.
fn shown_element(item: &Value) -> Value {
    match item {
        Value::Int(_) | Value::UInt(_) => item.with_float_numbers(),
        item => item.clone(),
    }
}

/// Shows an element and its position under their names at a nesting depth.
pub(super) fn bind_element(depth: usize, index: usize, item: &Value, data: &mut Data<'_>) {
    let position = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
    let shown = shown_element(item);
    let names = element_names(depth);
    data.set(&names[0], shown.clone());
    data.set(&names[1], position.clone());
    data.set(&names[2], shown);
    data.set(&names[3], position);
}

fn element(l: &ForEach, index: usize, item: &Value, s: CheckSubject<'_>, data: &mut Data<'_>) -> Element {
    bind_element(s.depth, index, item, data);
    let is_map = item.as_map().is_some();
    let scoped = l.element_scope.unwrap_or(is_map);
    if scoped && !is_map {
        return Element::Ends(
            Status::Error,
            format!(
                "failed to process foreach: cannot use elementScope=true foreach rules for elements that are not maps, expected type=map got type={}",
                type_name(&shown_element(item))
            )
            .into(),
        );
    }
    data.register(&l.bindings);
    if let Some(admit) = &l.admit {
        match condition::evaluate(admit, data) {
            Ok(v) if v.holds => {}
            // An element whose preconditions cannot be evaluated is skipped as well.
            _ => return Element::Ignored,
        }
    }
    let inner = CheckSubject {
        object: if scoped { item } else { s.object },
        scoped: scoped || s.scoped,
        depth: s.depth + 1,
        ..s
    };
    match run(&l.check, inner, data) {
        None | Some((Status::Skip, _)) => Element::Ignored,
        Some((Status::Pass | Status::Warn, _)) => Element::Counted,
        // Kyverno looks for these words in the text, for preconditions of loops inside. Such
        // elements are ignored above already, so only what users write can have them.
        Some((Status::Error, text)) if text.contains("failed to evaluate preconditions") => Element::Ignored,
        Some((status, text)) => Element::Ends(status, format!("validation failure: {text}").into()),
    }
}

/// Properties of a rule, filled in; as written when that fails.
pub fn properties(properties: Option<&Properties>, data: &mut Data<'_>) -> Vec<(Str, Str)> {
    let Some(Properties { written, template }) = properties else { return Vec::new() };
    let texts = |v: &Value| -> Option<Vec<(Str, Str)>> {
        v.as_map()?.iter().map(|(k, v)| Some((k.clone(), v.as_str()?.into()))).collect()
    };
    let filled = data.fill(template).ok().and_then(|v| texts(&v));
    filled.or_else(|| texts(written)).unwrap_or_default()
}
