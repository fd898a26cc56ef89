//! What a policy decides about a resource, and why.
//!
//! In: a loaded policy, an engine that holds it alone, a request and the resource's document. Out:
//! for each rule whether it matches and by what, then every decision of its evaluation
//! ([`ephor_engine::trace`]) with file and line in the policy and, for values that stand in the
//! resource, in the resource. What a brief answer leaves out is marked.
//!
//! - `rendered`: values as decisions show them.
//! - `source`: expressions of the IR as CEL writes them.

mod rendered;
mod source;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::explain::decisions::rendered::render;
use ephor_document::{Document, locate};
use ephor_engine::trace::{self, Event, EventKind, PatternVerdict, Step, TracedValue};
use ephor_engine::{Request, RuleOutcome, Status};
use ephor_ir::facts::Stage;
use ephor_ir::{Expr, Origin, Policy, Rule};
use ephor_matching::mismatch::{self, Decision, Reason};
use ephor_policies::load::LoadedPolicy;
use ephor_policies::policy_set::Engine;
use ephor_policies::violation::{steps_of, subject_of_pattern};
use ephor_value::place::{Path, PathPart, dotted, parse};
use ephor_value::{Fault, Value};

use ephor_analysis::print;

/// What a rule decided about a resource.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The policy's name.
    pub policy: String,
    /// The rule's name; empty for policies whose rules have none.
    pub rule: String,
    /// Where the rule is written, `FILE:LINE`.
    pub place: String,
    /// The result; `None` = the rule says nothing about the resource.
    pub status: Option<Status>,
    /// The decisions, in their order.
    pub lines: Vec<Line>,
}

/// A decision.
#[derive(Clone, Debug)]
pub struct Line {
    /// What of the policy decides, `FILE:LINE`.
    pub place: String,
    /// What is decided on which value; of values of the resource with their place.
    pub text: String,
    /// What it means for the rule.
    pub tone: Tone,
    /// How many loops and expressions are around it.
    pub depth: usize,
    /// Whether a brief answer leaves it out.
    pub detail: bool,
}

/// What a decision means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// The rule continues, or is satisfied.
    Good,
    /// The rule is violated, or cannot be evaluated.
    Bad,
    /// The rule does not apply, or nothing follows yet.
    Neutral,
}

/// Evaluates a policy on a request and explains what it decides.
pub fn decide(
    loaded: &LoadedPolicy,
    engine: &Engine,
    request: &Request,
    resource: &Document,
) -> Vec<Decided> {
    let Some(policy) = &loaded.policy else { return Vec::new() };
    let evaluate = || match policy.stage {
        Stage::Payloads => engine.evaluate_payload(request),
        _ => engine.evaluate(request),
    };
    let (outcome, seen) = trace::watch(evaluate);
    let results: Vec<&RuleOutcome> = outcome.policies.iter().flat_map(|p| &p.rules).collect();
    let explainer = Explainer { loaded, request, resource };
    let rules = policy.rules_for(&request.target.kind);
    let mut decisions: Vec<(bool, Decided)> =
        rules.iter().filter_map(|rule| explainer.rule(policy, rule, &results, &seen.events)).collect();
    // Rules without names are one rule for several kinds.
    if policy.stage != Stage::Rules {
        let best = decisions.iter().position(|(matches, _)| *matches).unwrap_or(0);
        decisions = decisions.into_iter().skip(best).take(1).collect();
    }
    decisions.into_iter().map(|(_, decided)| decided).collect()
}

struct Explainer<'t> {
    loaded: &'t LoadedPolicy,
    request: &'t Request,
    resource: &'t Document,
}

impl Explainer<'_> {
    /// Whether a rule matches, and what it decides; nothing of one that was generated for other
    /// kinds.
    fn rule(
        &self,
        policy: &Arc<Policy>,
        rule: &Rule,
        results: &[&RuleOutcome],
        events: &[Event],
    ) -> Option<(bool, Decided)> {
        let (matches, mut lines) = self.matched(rule);
        if !matches && rule.generated.is_some() {
            return None;
        }
        let starts = |e: &Event| matches!(&e.what, EventKind::Rule(name) if *name == rule.name);
        let own = events.iter().skip_while(|e| !starts(e)).skip(1);
        let own: Vec<&Event> = own.take_while(|e| !matches!(e.what, EventKind::Rule(_))).collect();
        // Where rules have no names, one of them matches.
        let unnamed = policy.stage != Stage::Rules;
        let of_rule = results.iter().filter(|r| matches && (unnamed || r.rule == rule.name));
        // A rule may have several results, one for each image: the gravest is that of the rule.
        let results: Vec<&&RuleOutcome> = of_rule.collect();
        let status = results.iter().map(|r| r.status).max_by_key(|status| gravity(*status));
        // Of a loop the last element decided; those before it are details.
        let last =
            own.iter().rposition(|e| e.depth == 0 && matches!(e.what, EventKind::Element(..))).unwrap_or(0);
        for (at, event) in own.iter().enumerate().filter(|_| matches) {
            let of_loop = event.depth > 0 || matches!(event.what, EventKind::Element(..));
            let early = of_loop && at < last;
            let before = lines.len();
            self.event(event, own.get(..at).unwrap_or_default(), &mut lines);
            lines.iter_mut().skip(before).for_each(|line| line.detail |= early);
        }
        for result in results {
            let tone = match result.status {
                Status::Pass => Tone::Good,
                Status::Fail | Status::Error => Tone::Bad,
                Status::Warn | Status::Skip => Tone::Neutral,
            };
            let colon = if result.message.is_empty() { "" } else { ": " };
            let text = format!("{}{colon}{}", result.status.name(), result.message);
            lines.push(self.line(&rule.origin, text, tone));
        }
        let place = super::place(self.loaded, &parse(&rule.origin.path));
        let name = if policy.report.names_rules { rule.name.to_string() } else { String::new() };
        Some((matches, Decided { policy: policy.key(), rule: name, place, status, lines }))
    }

    fn line(&self, origin: &Origin, text: String, tone: Tone) -> Line {
        let place = super::place(self.loaded, &origin.below(&[]));
        Line { place, text, tone, depth: 0, detail: false }
    }

    /// Whether a rule matches, and by what.
    fn matched(&self, rule: &Rule) -> (bool, Vec<Line>) {
        let (says, tone, reasons) = match mismatch::decide(&rule.when, &rule.unless, &self.request.target) {
            Decision::Matches(reasons) => ("matches", Tone::Good, reasons),
            Decision::Differs(reasons) => ("does not match", Tone::Neutral, reasons),
            Decision::Excluded(reasons) => ("excluded", Tone::Neutral, reasons),
        };
        let line = |r: &Reason| self.line(&r.origin, format!("{says}: {}", r.text), tone);
        (tone == Tone::Good, reasons.iter().map(line).collect())
    }

    fn event(&self, event: &Event, before: &[&Event], lines: &mut Vec<Line>) {
        let mut add = |text: String, tone: Tone, detail: bool| {
            let line = self.line(&event.origin, text, tone);
            lines.push(Line { depth: event.depth, detail, ..line });
        };
        match &event.what {
            EventKind::Rule(_) => {}
            EventKind::Data(name, value) => match value {
                Ok(value) => add(format!("{name} = {}", render(value)), Tone::Neutral, true),
                Err(text) => add(format!("{name}: {text}"), Tone::Bad, false),
            },
            EventKind::Failed(text) => add(text.clone(), Tone::Bad, false),
            EventKind::Condition { key, operator, value, holds } => {
                let is_deny = event.origin.path.contains(".deny.");
                let tone = match (is_deny, holds) {
                    (true, true) => Tone::Bad,
                    (false, false) => Tone::Neutral,
                    _ => Tone::Good,
                };
                let what = if is_deny { "deny condition" } else { "condition" };
                let text =
                    format!("{what}: {} {operator} {} is {holds}", self.render_seen(key), render(value));
                add(text, tone, false);
            }
            EventKind::Fields(fields) => {
                for field in fields {
                    let place = self.place(&parse(field));
                    add(format!("refused because of {field} ({place})"), Tone::Bad, false);
                }
            }
            EventKind::Element(at, value) => {
                add(format!("element {at}: {}", self.render_seen(value)), Tone::Neutral, false)
            }
            EventKind::Pattern { at, verdict, path, text } => {
                let subject = subject_of_pattern(event, before, path, &self.resource.value);
                self.pattern(event, *at, *verdict, (path, &subject), text, lines)
            }
            EventKind::Expression(text, value, steps) => {
                let (tone, detail) = match value.as_ref().map(|seen| seen.value.as_bool()) {
                    Ok(Some(true)) => (Tone::Good, true),
                    _ => (Tone::Bad, false),
                };
                let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
                add(format!("{one_line} {}", self.found(value)), tone, false);
                for step in steps {
                    let (text, is_readable) = self.step(step);
                    let line = self.line(&event.origin, text, tone);
                    lines.push(Line { depth: event.depth + 1, detail: detail || !is_readable, ..line });
                }
            }
        }
    }

    fn pattern(
        &self,
        event: &Event,
        at: Option<usize>,
        verdict: PatternVerdict,
        (path, subject): (&str, &[PathPart]),
        text: &str,
        lines: &mut Vec<Line>,
    ) {
        let which = at.map(|at| format!("[{at}]")).unwrap_or_default();
        let (text, tone) = match verdict {
            PatternVerdict::Match => (format!("pattern{which}: the object looks like it"), Tone::Good),
            PatternVerdict::NotApplicable => (format!("pattern{which}: {text}"), Tone::Neutral),
            PatternVerdict::Mismatch => {
                let place = match subject {
                    [] => String::new(),
                    steps => format!(" ({})", self.place(steps)),
                };
                (format!("pattern{which}: {text}{place}"), Tone::Bad)
            }
        };
        let steps = steps_of(&self.resource.value, path);
        let base = at.map_or_else(|| event.origin.clone(), |at| event.origin.index(at));
        let place = super::place(self.loaded, &base.below(&steps));
        lines.push(Line { place, text, tone, depth: event.depth, detail: false });
    }

    /// `FILE:LINE:COL` of a part of the resource, or of the nearest part around it that is there.
    fn place(&self, path: &[PathPart]) -> String {
        let Document { source, line, text, .. } = self.resource;
        let found = (0..=path.len()).rev().find_map(|n| locate::locate(text, path.get(..n)?));
        match found {
            Some(at) => format!("{source}:{}:{}", line + at.line.saturating_sub(1), at.col),
            None => format!("{source}:{line}"),
        }
    }

    /// A value; of a part of the resource with its path and place.
    fn render_seen(&self, seen: &TracedValue) -> String {
        let value = render(&seen.value);
        match self.path(seen) {
            Some(path) => format!("{} ({}) {value}", dotted(&path), self.place(&path)),
            None => value,
        }
    }

    fn path(&self, seen: &TracedValue) -> Option<Path> {
        let path = trace::path_of(&self.request.object, seen.address?)?;
        (!path.is_empty()).then_some(path)
    }

    fn found(&self, value: &Result<TracedValue, Fault>) -> String {
        match value {
            Ok(seen) => format!("is {}", render(&seen.value)),
            Err(fault) => format!("fails: {}", fault.cel_text()),
        }
    }

    /// A step, and whether it is written as users write expressions; others are details.
    fn step(&self, step: &Step) -> (String, bool) {
        if let Ok(seen) = &step.value
            && self.path(seen).is_some()
        {
            return (self.render_seen(seen), true);
        }
        let path = |(_, value): &Operand| value.as_ref().ok().and_then(|seen| self.path(seen));
        let in_resource = |o: &'_ Operand| Some((o.0.clone(), dotted(&path(o)?)));
        let known: Vec<(Expr, String)> = step.operands.iter().filter_map(in_resource).collect();
        let mut is_readable = true;
        let mut text = |expr: &Expr| {
            source::text(expr, &known).unwrap_or_else(|| {
                is_readable = false;
                print::expression(expr).short()
            })
        };
        let whole = text(&step.expr);
        let is_constant = |(expr, _): &&Operand| matches!(expr, Expr::Const(_) | Expr::Folded(_));
        let value = |o: &Operand| match path(o) {
            Some(path) => format!("{} ({}) {}", dotted(&path), self.place(&path), self.found(&o.1)),
            None => format!("{} {}", text(&o.0), self.found(&o.1)),
        };
        let operands: Vec<String> = step.operands.iter().filter(|o| !is_constant(o)).map(value).collect();
        let colon = if operands.is_empty() { "" } else { ": " };
        (format!("{whole} {}{colon}{}", self.found(&step.value), operands.join(", ")), is_readable)
    }
}

/// How much a result counts among those of one rule.
fn gravity(status: Status) -> usize {
    match status {
        Status::Skip => 0,
        Status::Pass => 1,
        Status::Warn => 2,
        Status::Fail => 3,
        Status::Error => 4,
    }
}

/// A part of a node with its value.
type Operand = (Expr, Result<TracedValue, Fault>);

impl Decided {
    /// A headline and a line for each decision; `-v` adds those that are details.
    pub fn text(&self, colour: bool, verbose: bool) -> String {
        let paint = |text: &str, tone: Tone| {
            let code = match (colour, tone) {
                (false, _) => return text.to_owned(),
                (true, Tone::Good) => 32,
                (true, Tone::Bad) => 31,
                (true, Tone::Neutral) => 33,
            };
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        };
        let slash = if self.rule.is_empty() { "" } else { "/" };
        let (status, tone) = match self.status {
            Some(Status::Pass) => ("pass", Tone::Good),
            Some(status @ (Status::Fail | Status::Error)) => (status.name(), Tone::Bad),
            Some(status) => (status.name(), Tone::Neutral),
            None => ("no result", Tone::Neutral),
        };
        let mut out =
            format!("{}{slash}{} at {}: {}\n", self.policy, self.rule, self.place, paint(status, tone));
        for line in self.lines.iter().filter(|l| verbose || !l.detail) {
            let indent = "  ".repeat(line.depth + 1);
            out.push_str(&format!("{indent}{} {}\n", line.place, paint(&line.text, line.tone)));
        }
        out
    }

    /// The same as a document.
    pub fn to_value(&self) -> Value {
        let line = |l: &Line| {
            let tone = match l.tone {
                Tone::Good => "good",
                Tone::Bad => "bad",
                Tone::Neutral => "neutral",
            };
            Value::map([
                ("place", Value::from(&*l.place)),
                ("text", Value::from(&*l.text)),
                ("tone", Value::from(tone)),
                ("depth", Value::Int(i64::try_from(l.depth).unwrap_or(i64::MAX))),
                ("detail", Value::Bool(l.detail)),
            ])
        };
        Value::map([
            ("policy", Value::from(&*self.policy)),
            ("rule", Value::from(&*self.rule)),
            ("place", Value::from(&*self.place)),
            ("status", self.status.map_or(Value::Null, |s| Value::from(s.name()))),
            ("decisions", Value::list(self.lines.iter().map(line).collect())),
        ])
    }
}
