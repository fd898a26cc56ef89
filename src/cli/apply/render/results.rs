//! Results of `apply` as text, table rows and counts.
//!
//! In: the results of one resource. Out: a [`Rendered`] piece that any thread can render and that
//! is printed in input order. Semantics: `docs/reference/cli.md`, "Results" to "Reports".

use std::fmt::Write;

use super::super::object_path::path;
use crate::cli::apply::output::ApplyOutput;

use ephor_document::Document;
use ephor_engine::action::{enforces, of_policy};
use ephor_engine::pod_security::report::properties;
use ephor_engine::{RuleOutcome, Status};
use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_ir::rule::RuleKind;
use ephor_matching::Target;
use ephor_policies::by_policy::ByPolicy;
use ephor_policies::policy_set::Outcome;
use ephor_report::policy_report::{Entry, PolicyFacts, Summary, report_status};
use ephor_report::run::{Finding, Order};
use ephor_value::Value;

use ephor_inspect::results::{Collector, Unlocated};

/// What rendering needs to know.
#[derive(Clone, Copy)]
pub struct Style<'s> {
    /// The output.
    pub output: ApplyOutput,
    /// Failures of auditing policies count as warnings.
    pub audit_warn: bool,
    /// Tables have a column for messages.
    pub detailed: bool,
    /// Whether colours are on.
    pub colour: bool,
    /// Facts of policies.
    pub facts: &'s ByPolicy<PolicyFacts>,
    /// Seconds since 1970, for reports.
    pub seconds: u64,
    /// What results with places are built by.
    pub collector: &'s Collector<'s>,
    /// Whether they are built of all results; else only of errors, and those that are shown get
    /// their places at the end.
    pub all_findings: bool,
    /// Whether tables leave out what is no violation.
    pub only_failures: bool,
}

/// What one resource adds to the output.
#[derive(Debug, Default)]
pub struct Rendered {
    /// Where the results stand in the run.
    pub order: Order,
    /// Plain text, or entries of the cluster-wide report.
    pub text: String,
    /// Rows of the table.
    pub rows: Vec<Vec<String>>,
    /// Counts for the summary line and the exit code.
    pub counts: Summary,
    /// Of these the results of MutatingPolicies, which Kyverno's summary line counts twice.
    pub twice: Summary,
    /// Counts of the cluster-wide report.
    pub reported: Summary,
    /// Entries of namespaced policies, by policy key.
    pub namespaced: Vec<(String, String, Summary)>,
    /// Results from which exceptions are generated.
    pub records: Vec<FailedRule>,
    /// Results with their places.
    pub findings: Vec<Finding>,
    /// Errors without their places.
    pub errors: Vec<Unlocated>,
}

/// A failure for which an exception can be generated.
#[derive(Clone, Debug)]
pub struct FailedRule {
    /// `name` or `namespace/name`.
    pub policy: String,
    /// Name of the rule.
    pub rule: String,
    /// The status shown.
    pub status: Status,
    /// The resource.
    pub resource: Value,
    /// The Pod Security controls that failed, as JSON.
    pub controls: Option<String>,
}

fn coloured(text: &str, code: &str, on: bool) -> String {
    let mut out = String::new();
    push_coloured(&mut out, text, code, on);
    out
}

#[inline]
fn push_coloured(out: &mut String, text: &str, code: &str, on: bool) {
    if !on {
        return out.push_str(text);
    }
    for part in ["\u{1b}[", code, ";1m", text, "\u{1b}[0;22m"] {
        out.push_str(part);
    }
}

/// Renders the results of one resource, which stands in a document if it was in a file.
pub fn render(
    style: &Style<'_>,
    document: Option<&Document>,
    resource: &Value,
    outcome: &Outcome,
) -> Rendered {
    let mut out = Rendered::default();
    let target = style.audit_warn.then(|| Target::of(resource));
    for p in &outcome.policies {
        let Some(facts) = style.facts.get(&p.policy) else { continue };
        let audit_warns = target.as_ref().is_some_and(|target| audits(&p.policy, target));
        count(&mut out.counts, p, facts, audit_warns);
        let is_twice = |r: &&RuleOutcome| {
            r.kind == RuleKind::Mutation && !facts.has_named_rules && p.policy.stage != Stage::ApiServer
        };
        p.rules.iter().filter(is_twice).for_each(|r| out.twice.add(r.status));
        let status = |r: &RuleOutcome| report_status(r.status, facts, audit_warns);
        if style.all_findings {
            out.findings.extend(style.collector.collect(document, resource, p, status));
        } else if p.rules.iter().any(|r| r.status == Status::Error) {
            let errors = p.rules.iter().filter(|r| status(r) == Status::Error);
            out.errors.extend(errors.map(|r| Unlocated::of(document, resource, p, r)));
        }
        match style.output {
            ApplyOutput::Plain => plain(&mut out.text, p, facts, resource, audit_warns, style.colour),
            ApplyOutput::Table => rows(&mut out.rows, p, facts, resource, audit_warns, style),
            ApplyOutput::ReportYaml | ApplyOutput::ReportJson => {
                report(&mut out, p, facts, resource, audit_warns, style);
            }
            ApplyOutput::Own(_) => {}
            ApplyOutput::ExceptionsYaml | ApplyOutput::ExceptionsJson => {
                out.records.extend(p.rules.iter().map(|r| {
                    FailedRule {
                        policy: facts.key.clone(),
                        rule: r.rule.to_string(),
                        status: report_status(r.status, facts, audit_warns),
                        resource: document.map_or(Value::Null, |d| d.value.clone()),
                        controls: (r.pod_security.as_ref())
                            .and_then(|_| properties(r).into_iter().find(|(k, _)| &**k == "controlsJSON"))
                            .map(|(_, v)| v.to_string()),
                    }
                }));
            }
        }
    }
    out
}

/// Whether the policy audits: the first rule that sets an action of its own decides.
fn audits(policy: &Policy, target: &Target) -> bool {
    !enforces(of_policy(policy, target))
}

fn count(counts: &mut Summary, p: &ephor_policies::PolicyOutcome, facts: &PolicyFacts, audit_warns: bool) {
    for r in &p.rules {
        // Of these only skips are not counted.
        if (r.status, r.kind, p.policy.stage) == (Status::Skip, RuleKind::Validation, Stage::ApiServer) {
            continue;
        }
        counts.add(match (r.kind, r.status) {
            // A cleanup policy has no rules; whether it is scored does not count.
            (RuleKind::Validation | RuleKind::ImageVerification, status) if facts.has_named_rules => {
                report_status(status, facts, audit_warns)
            }
            (_, status) => status,
        });
    }
}

fn plain(
    out: &mut String,
    p: &ephor_policies::PolicyOutcome,
    facts: &PolicyFacts,
    resource: &Value,
    audit_warns: bool,
    colour: bool,
) {
    let name = &p.policy.name;
    for r in p.rules.iter().filter(|r| matches!(r.kind, RuleKind::Mutation | RuleKind::Generation)) {
        let path = path(resource);
        match (r.kind, r.status) {
            (RuleKind::Mutation, Status::Skip) => {
                out.push_str(&format!("\nskipped mutate policy {name} -> resource {path}\n"));
            }
            (RuleKind::Mutation, Status::Error) => out.push_str(&format!(
                "\nerror while applying mutate policy {name} -> resource {path} \nerror:  {}\n",
                r.message
            )),
            (RuleKind::Generation, Status::Error) => out.push_str(&format!(
                "\nerror while applying generate policy {name} -> resource {path} \nerror: {}\n",
                r.message
            )),
            _ => {}
        }
    }
    let mut failed = p.rules.iter().filter(|r| r.status == Status::Fail).peekable();
    if failed.peek().is_none() {
        return;
    }
    let bold = |out: &mut String, text: &str| push_coloured(out, text, "36", colour);
    let parts =
        [&["metadata", "namespace"][..], &["kind"], &["metadata", "name"]].map(|p| resource.text_at(p));
    let head = |out: &mut String| {
        out.push_str("policy ");
        bold(out, name);
        out.push_str(" -> resource ");
        match parts.iter().all(|part| part.is_empty()) {
            true => bold(out, "JSON payload"),
            false => {
                for (i, part) in parts.iter().enumerate() {
                    out.push_str(if i > 0 { "/" } else { "" });
                    bold(out, part);
                }
            }
        }
        out.push_str(if audit_warns { " failed as audit warning:\n" } else { " failed:\n" });
    };
    // Most of it is messages; pieces are many and short.
    let size = |r: &RuleOutcome| r.rule.len() + r.message.len() + 24;
    out.reserve(
        p.rules.iter().filter(|r| r.status == Status::Fail).map(size).sum::<usize>() + name.len() + 96,
    );
    head(out);
    for (i, r) in failed.enumerate() {
        let message = if r.message.is_empty() { "validation failed" } else { &*r.message };
        // The variants of a review answer one by one.
        let number = if facts.has_named_rules { i + 1 } else { 1 };
        if i > 0 && !facts.has_named_rules {
            head(out);
        }
        match u8::try_from(number).ok().filter(|number| *number < 10) {
            // One digit needs no formatting, and most have one.
            Some(digit) => out.push(char::from(b'0' + digit)),
            None => drop(write!(out, "{number}")),
        }
        out.push_str(" - ");
        bold(out, &r.rule);
        out.push(' ');
        out.push_str(message);
        out.push('\n');
    }
}

fn rows(
    rows: &mut Vec<Vec<String>>,
    p: &ephor_policies::PolicyOutcome,
    facts: &PolicyFacts,
    resource: &Value,
    audit_warns: bool,
    style: &Style<'_>,
) {
    let name = |text: &str| coloured(text, "36", style.colour);
    let ns = resource.text_at(&["metadata", "namespace"]);
    let (kind, object) = (resource.text_at(&["kind"]), resource.text_at(&["metadata", "name"]));
    let place = match ns {
        "" => format!("{}/{}", name(kind), name(object)),
        ns => format!("{}/{}/{}", name(ns), name(kind), name(object)),
    };
    for r in &p.rules {
        let status = report_status(r.status, facts, audit_warns);
        if style.only_failures && matches!(status, Status::Pass | Status::Skip) {
            continue;
        }
        let (word, code) = match status {
            Status::Pass => ("Pass", "32"),
            Status::Fail => ("Fail", "31"),
            Status::Warn => ("Warn", "33"),
            Status::Error => ("Error", "31"),
            Status::Skip => ("Skip", "36"),
        };
        let mut row = vec![
            String::new(),
            name(&facts.key),
            match facts.has_named_rules {
                true => name(&r.rule),
                false => String::new(),
            },
            place.clone(),
            coloured(word, code, style.colour),
            String::new(),
        ];
        if style.detailed {
            row.push(r.message.to_string());
        }
        rows.push(row);
    }
}

fn report(
    out: &mut Rendered,
    p: &ephor_policies::PolicyOutcome,
    facts: &PolicyFacts,
    resource: &Value,
    audit_warns: bool,
    style: &Style<'_>,
) {
    let mut text = String::new();
    let mut counts = Summary::default();
    for r in &p.rules {
        let status = report_status(r.status, facts, audit_warns);
        counts.add(status);
        let entry = Entry { facts, result: r, status, resource, seconds: style.seconds };
        let into = if p.policy.namespace.is_some() { &mut text } else { &mut out.text };
        if style.output == ApplyOutput::ReportJson {
            into.push(',');
            entry.write_json(into);
        } else {
            entry.write_yaml(into);
        }
    }
    if p.policy.namespace.is_some() {
        out.namespaced.push((facts.key.clone(), text, counts));
    } else {
        out.reported.merge(&counts);
    }
}
