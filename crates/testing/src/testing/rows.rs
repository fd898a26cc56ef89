//! Expected results against actual ones: one row for each object that is compared.
//!
//! In: the expected results of a test, and the responses of its policies. Out: rows that passed,
//! were skipped or failed, and a note on each vacuous expected result. Semantics:
//! `docs/reference/test.md`, "Rows".

use std::collections::HashMap;

use ephor_engine::action::{enforces, of_policy};
use ephor_engine::{Effect, RuleOutcome, Status};
use ephor_ir::facts::Stage;
use ephor_ir::rule::RuleKind;
use ephor_matching::Target;
use ephor_report::diff;
use ephor_report::policy_report::{PolicyFacts, report_message, report_status};
use ephor_value::Value;
use ephor_value::suggest::did_you_mean;

use super::file::Expected;
use super::objects::{self, Mismatch};
use super::responses::{Response, key};

/// The verdict of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As expected.
    Pass,
    /// Not as expected.
    Fail,
    /// Nothing could be compared, because the policy is not well-formed.
    Skip,
}

impl Verdict {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "Pass",
            Verdict::Fail => "Fail",
            Verdict::Skip => "Skip",
        }
    }
}

/// A comparison of an expected result with the actual one for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The policy as the test names it.
    pub policy: String,
    /// The rule that ran, or that was to run.
    pub rule: String,
    /// The object.
    pub resource: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// The message of the rule, or the difference; with colours.
    pub message: String,
    /// Whether a result was compared at all.
    pub compared: bool,
    /// The position of the expected result in the test.
    pub at: usize,
}

/// An expected result for which no assertion was evaluated, wholly or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VacuousResult {
    /// Its position in the test.
    pub at: usize,
    /// Why.
    pub text: String,
}

/// An object and the responses of policies to it.
pub struct Subject<'o> {
    /// Version, kind, namespace and name; for a payload only its path.
    pub key: Vec<String>,
    /// The responses, when it was evaluated.
    pub responses: Vec<Response<'o>>,
    /// The responses that changed it although it was not evaluated.
    pub changed: Vec<(Value, Response<'o>, &'o RuleOutcome)>,
}

impl Subject<'_> {
    fn display_name(&self) -> String {
        match self.key.len() {
            1 if !self.name().contains('/') => format!("/{}", self.name()),
            _ => self.key.join("/"),
        }
    }

    fn name(&self) -> &str {
        self.key.last().map_or("", String::as_str)
    }

    fn has_place(&self, wanted: &str) -> bool {
        match wanted.split_once('/') {
            None => self.name() == wanted,
            Some((ns, name)) => {
                self.name() == name
                    && self.key.len() >= 2
                    && self.key.get(self.key.len() - 2).is_some_and(|n| n == ns)
            }
        }
    }
}

/// What rows are built from in addition to the responses.
pub struct Context<'c> {
    /// Facts of policies by key.
    pub facts: &'c HashMap<String, PolicyFacts>,
    /// Why policies were refused, by name.
    pub refused: &'c HashMap<String, String>,
}

/// What is reported of the name that was probably meant, if there is one.
pub(super) fn meant(name: &str, known: &[&str]) -> String {
    let other = did_you_mean(name, known).filter(|close| *close != name);
    other.map(|close| format!("; did you mean `{close}`?")).unwrap_or_default()
}

/// The rows of an expected result, in the order of `subjects`: those of targets stand before those
/// that were evaluated.
pub fn rows(
    at: usize,
    expected: &Expected,
    targets: &[Subject<'_>],
    evaluated: &[Subject<'_>],
    context: &Context<'_>,
) -> (Vec<Row>, Vec<VacuousResult>) {
    let mut builder = RowBuilder { expected, context, rows: Vec::new(), vacuous: Vec::new(), at };
    for subject in builder.selected(targets, evaluated) {
        builder.subject(subject, targets, evaluated);
    }
    (builder.rows, builder.vacuous)
}

struct RowBuilder<'m> {
    at: usize,
    expected: &'m Expected,
    context: &'m Context<'m>,
    rows: Vec<Row>,
    vacuous: Vec<VacuousResult>,
}

impl<'m> RowBuilder<'m> {
    fn add_vacuous(&mut self, text: String) {
        self.vacuous.push(VacuousResult { at: self.at, text });
    }

    /// The objects that are named; all of them when none is, or when there is none of that name.
    fn selected<'o>(
        &mut self,
        targets: &'o [Subject<'o>],
        evaluated: &'o [Subject<'o>],
    ) -> Vec<&'o Subject<'o>> {
        let all = || targets.iter().chain(evaluated);
        let mut found: Vec<&Subject<'_>> = Vec::new();
        if let Some(names) = &self.expected.resources {
            for name in names {
                let before = found.len();
                found.extend(all().filter(|s| s.has_place(name)));
                if found.len() == before {
                    let names: Vec<&str> = all().map(Subject::name).collect();
                    let own = name.rsplit('/').next().unwrap_or_default();
                    let text = format!("there is no object `{name}`{}", meant(own, &names));
                    self.vacuous.push(VacuousResult { at: self.at, text });
                }
            }
            for [version, namespace, name] in &self.expected.specs {
                let wanted = |s: &&Subject<'_>| matches!(&s.key[..], [v, _, ns, n] if v == version && ns == namespace && n == name);
                let before = found.len();
                found.extend(all().filter(wanted));
                if found.len() == before {
                    let text = format!("there is no object `{version}/{namespace}/{name}`");
                    self.vacuous.push(VacuousResult { at: self.at, text });
                }
            }
        }
        if found.is_empty() {
            found.extend(all());
        }
        found
    }

    fn subject(&mut self, subject: &Subject<'_>, targets: &[Subject<'_>], evaluated: &[Subject<'_>]) {
        let before = self.rows.len();
        let mut dropped = false;
        let name = self.expected.policy.rsplit('/').next().unwrap_or_default().to_owned();
        // An object that was evaluated and also changed by others is compared in both ways.
        for evaluated in evaluated.iter().filter(|s| s.key == subject.key) {
            for response in evaluated.responses.iter().filter(|r| *r.policy.name == *name) {
                dropped |= self.response(response, &evaluated.display_name());
                if self.rows.len() == before && !dropped {
                    self.add_vacuous(format!(
                        "{} gives no result for {}",
                        self.named(),
                        evaluated.display_name()
                    ));
                    self.push(
                        &self.expected.rule.clone(),
                        evaluated.display_name(),
                        Verdict::Pass,
                        "Excluded",
                        "Excluded",
                        false,
                    );
                }
            }
        }
        for target in targets.iter().filter(|s| s.key == subject.key) {
            for (object, response, result) in &target.changed {
                dropped |= self.compare(response, result, object, &target.display_name());
            }
        }
        if self.rows.len() > before {
            return;
        }
        if dropped {
            let shown = subject.display_name();
            return self.add_vacuous(format!("the expected objects do not hold {shown}"));
        }
        let rule = self.expected.rule.clone();
        if let Some(why) = self.context.refused.get(&name) {
            self.add_vacuous(format!("{} is not well-formed", self.named()));
            let why = why.clone();
            return self.push(&rule, subject.display_name(), Verdict::Skip, "Invalid Policy", &why, false);
        }
        self.push(&rule, subject.display_name(), Verdict::Fail, "Not found", "Not found", false);
    }

    fn named(&self) -> String {
        match &*self.expected.rule {
            "" => format!("policy `{}`", self.expected.policy),
            rule => format!("rule `{rule}` of policy `{}`", self.expected.policy),
        }
    }

    fn push(
        &mut self,
        rule: &str,
        resource: String,
        verdict: Verdict,
        reason: &str,
        message: &str,
        compared: bool,
    ) {
        self.rows.push(Row {
            policy: self.expected.policy.clone(),
            rule: rule.into(),
            resource,
            verdict,
            reason: reason.into(),
            message: message.into(),
            compared,
            at: self.at,
        });
    }

    /// Whether a result is one of those that are expected.
    fn concerns(&self, response: &Response<'_>, result: &RuleOutcome) -> bool {
        let wanted = &*self.expected.rule;
        let base = |prefix: &str| result.rule.strip_prefix(prefix) == Some(wanted);
        wanted.is_empty()
            || !response.policy.report.names_rules
            || *result.rule == *wanted
            || base("autogen-")
            || base("autogen-cronjob-")
    }

    /// The rows of a response; whether one was dropped because its object is not in the file.
    fn response(&mut self, response: &Response<'_>, shown: &str) -> bool {
        let mut dropped = false;
        let results: Vec<&RuleOutcome> =
            response.results.iter().copied().filter(|r| self.concerns(response, r)).collect();
        for result in results {
            if let Some(Effect::Generated(objects)) = result.effect.as_deref() {
                for object in objects {
                    let name = format!("/{}", object.text_at(&["metadata", "name"]));
                    dropped |= self.compare_generated(response, result, object, name, true);
                }
            } else {
                dropped |= self.compare(response, result, &response.object, shown);
            }
        }
        dropped
    }

    /// Compares a changed object, then the status; whether the row was dropped.
    fn compare(
        &mut self,
        response: &Response<'_>,
        result: &RuleOutcome,
        object: &Value,
        shown: &str,
    ) -> bool {
        if let Some(path) = self.expected.patched.as_deref().filter(|_| result.kind != RuleKind::Generation) {
            match objects::compare(object, path, "PatchedResources") {
                Ok(()) => {}
                Err(Mismatch::Missing(_)) if !self.expected.fail_on_missing => return true,
                Err(Mismatch::Missing(text) | Mismatch::Unusable(text)) => {
                    self.push(
                        &rule_of(response, result),
                        shown.into(),
                        Verdict::Fail,
                        "Resource error",
                        &text,
                        true,
                    );
                    return false;
                }
                Err(Mismatch::Differs(diff)) => {
                    let text = differs(
                        "Patched resource didn't match the patched resource in the test result",
                        &diff,
                    );
                    self.push(
                        &rule_of(response, result),
                        shown.into(),
                        Verdict::Fail,
                        "Resource diff",
                        &text,
                        true,
                    );
                    return false;
                }
            }
        }
        self.compare_generated(response, result, object, shown.into(), false)
    }

    /// Compares a generated object with the expected ones, then the status; returns whether the row
    /// was dropped. Kyverno also compares the objects of rules that generate none, with texts of
    /// its own.
    fn compare_generated(
        &mut self,
        response: &Response<'_>,
        result: &RuleOutcome,
        object: &Value,
        shown: String,
        is_generated: bool,
    ) -> bool {
        let what = if self.expected.generated_list { "GeneratedResources" } else { "GeneratedResource" };
        let (mut differing, mut other) = (None, None);
        for path in &self.expected.generated {
            match objects::compare(object, path, what) {
                Ok(()) => {
                    self.status(response, result, shown);
                    return false;
                }
                Err(Mismatch::Differs(diff)) => differing = Some(diff),
                Err(Mismatch::Missing(_)) if !is_generated && !self.expected.fail_on_missing => {
                    other = Some(None);
                }
                Err(Mismatch::Missing(text) | Mismatch::Unusable(text)) => other = Some(Some(text)),
            }
        }
        let rule = rule_of(response, result);
        match (differing, other) {
            (Some(diff), _) => {
                let head = match self.expected.generated_list {
                    true => {
                        "Generated resource didn't match any of the expected generated resources in the test result"
                    }
                    false if is_generated => {
                        "Generated resource didn't match the generated resource in the test result"
                    }
                    false => "Patched resource didn't match the generated resource in the test result",
                };
                self.push(&rule, shown, Verdict::Fail, "Resource diff", &differs(head, &diff), true);
            }
            (None, Some(Some(text))) => {
                self.push(&rule, shown, Verdict::Fail, "Resource error", &text, true);
            }
            (None, Some(None)) => return true,
            (None, None) => self.status(response, result, shown),
        }
        false
    }

    fn status(&mut self, response: &Response<'_>, result: &RuleOutcome, shown: String) {
        let status = match self.context.facts.get(&response.policy.id()) {
            Some(facts) => report_status(result.status, facts, false),
            None => result.status,
        };
        let rule = rule_of(response, result);
        let message = report_message(result);
        let (wanted, got) = (self.expected.result.clone(), status.name());
        if wanted != got {
            let reason = format!("Want {wanted}, got {got}");
            return self.push(&rule, shown, Verdict::Fail, &reason, &message, true);
        }
        if !self.expected.action.is_empty() {
            let in_force = of_policy(response.policy, &Target::of(&response.object));
            if enforces(&self.expected.action) != enforces(in_force) {
                let got = if enforces(in_force) { "Enforce" } else { "Audit" };
                let reason = format!("Want action {}, got {got}", self.expected.action);
                return self.push(&rule, shown, Verdict::Fail, &reason, &message, true);
            }
        }
        self.push(&rule, shown, Verdict::Pass, "Ok", &message, true);
    }
}

/// The rule's name, where results are reported by it.
fn rule_of(response: &Response<'_>, result: &RuleOutcome) -> String {
    let nameless = matches!(response.policy.stage, Stage::Expressions | Stage::Payloads);
    // Mutations that fail are reported by the rule `evaluation`.
    let named = match result.kind {
        RuleKind::Generation => true,
        RuleKind::Mutation => result.status == Status::Error,
        _ => false,
    };
    if nameless && !named { String::new() } else { result.rule.to_string() }
}

fn differs(head: &str, diff: &str) -> String {
    format!("{head}\n({})\n\n{diff}", diff::legend())
}

/// The key of an object as rows know it.
pub fn key_of(object: &Value) -> Vec<String> {
    key(object).to_vec()
}
