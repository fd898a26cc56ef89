//! A run as JSON lines: what stands on each.
//!
//! In: parts of a [`Run`](crate::run::Run). Out: a line for the run, one for each policy before its
//! first result, and one for each result, in order. [`crate::formats::jsonl`] writes them,
//! [`crate::shards`] reads them again. The form is described in `docs/reference/formats.md`.

use std::collections::BTreeSet;
use std::sync::Arc;

use ephor_engine::Status;
use serde::{Deserialize, Serialize};

use crate::about::About;
use crate::fix::FileFix;
use crate::roots::Roots;
use crate::run::{Counts, Finding, Invocation, Note, Order, Place, PolicyInfo, ResourceName, Severity};

/// The version of the form; it grows when a field changes its meaning or goes.
pub const VERSION: u64 = 1;

/// What stands on a line; texts are lent where it is written, and owned where it is read.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Line<T> {
    Run(Box<RunLine>),
    Policy(PolicyLine),
    Result(ResultLine<T>),
}

/// The first line: everything of the run but its results.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunLine {
    pub version: u64,
    pub tool: Tool,
    /// `I/N`.
    pub shard: String,
    /// What the results depend on, objects aside, as a digest.
    pub id: String,
    pub policies: usize,
    pub resources: usize,
    pub seconds: f64,
    pub violations_only: bool,
    pub fails: bool,
    /// How many results there are of each status, also of those without a line.
    pub summary: CountsLine,
    /// How many results have a line.
    pub results: usize,
    pub notes: Vec<NoteLine>,
    pub roots: Roots,
    pub invocation: InvocationLine,
    #[serde(default)]
    pub about: About,
}

/// The program that wrote it.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub(crate) struct Tool {
    pub name: String,
    pub version: String,
}

impl Tool {
    /// This one.
    pub(crate) fn own() -> Tool {
        Tool { name: "ephor".into(), version: env!("CARGO_PKG_VERSION").into() }
    }
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct CountsLine {
    pass: usize,
    fail: usize,
    warn: usize,
    error: usize,
    skip: usize,
    known: usize,
}

impl From<Counts> for CountsLine {
    fn from(counts: Counts) -> CountsLine {
        let Counts { pass, fail, warn, error, skip, known } = counts;
        CountsLine { pass, fail, warn, error, skip, known }
    }
}

impl From<CountsLine> for Counts {
    fn from(line: CountsLine) -> Counts {
        let CountsLine { pass, fail, warn, error, skip, known } = line;
        Counts { pass, fail, warn, error, skip, known }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct NoteLine {
    error: bool,
    text: String,
}

impl From<&Note> for NoteLine {
    fn from(note: &Note) -> NoteLine {
        NoteLine { error: note.is_error, text: note.text.clone() }
    }
}

impl From<NoteLine> for Note {
    fn from(line: NoteLine) -> Note {
        Note { text: line.text, is_error: line.error }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InvocationLine {
    policies: Vec<String>,
    resources: Vec<String>,
    flags: Vec<String>,
    is_read_once: bool,
    alone: BTreeSet<String>,
}

impl From<&Invocation> for InvocationLine {
    fn from(invocation: &Invocation) -> InvocationLine {
        let Invocation { policies, resources, flags, is_read_once, alone } = invocation.clone();
        InvocationLine { policies, resources, flags, is_read_once, alone }
    }
}

impl From<InvocationLine> for Invocation {
    fn from(line: InvocationLine) -> Invocation {
        let InvocationLine { policies, resources, flags, is_read_once, alone } = line;
        Invocation { policies, resources, flags, is_read_once, alone }
    }
}

/// A policy, which later lines name by its position among the lines of policies, from 0.
#[derive(Deserialize, Serialize)]
pub(crate) struct PolicyLine {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    help: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    category: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    severity: Option<String>,
}

impl From<&PolicyInfo> for PolicyLine {
    fn from(policy: &PolicyInfo) -> PolicyLine {
        let PolicyInfo { name, kind, title, description, help, category, subject, severity } = policy.clone();
        let severity = severity.map(|severity| severity.name().to_string());
        PolicyLine { name, kind, title, description, help, category, subject, severity }
    }
}

impl PolicyLine {
    /// The policy, if its severity is one.
    pub(crate) fn policy(self) -> Option<PolicyInfo> {
        let PolicyLine { name, kind, title, description, help, category, subject, severity } = self;
        let severity = match severity {
            Some(name) => Some(Severity::of(&name)?),
            None => None,
        };
        Some(PolicyInfo { name, kind, title, description, help, category, subject, severity })
    }
}

/// A result.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultLine<T> {
    /// The stage and the object of its order.
    order: (u32, u64),
    policy: usize,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    rule: Option<T>,
    result: T,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    message: Option<T>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    field: Option<T>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    template: Option<T>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    known: bool,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    resource: Option<NameLine<T>>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    place: Option<PlaceLine<T>>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    policy_place: Option<PlaceLine<T>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fix: Option<Box<FileFix>>,
}

fn none<T>() -> Option<T> {
    None
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct NameLine<T> {
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    api_version: Option<T>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    kind: Option<T>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    namespace: Option<T>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    name: Option<T>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    generate_name: Option<T>,
}

#[derive(Deserialize, Serialize)]
struct PlaceLine<T> {
    file: T,
    #[serde(default, skip_serializing_if = "is_unknown")]
    line: usize,
    #[serde(default, skip_serializing_if = "is_unknown")]
    column: usize,
    #[serde(default, skip_serializing_if = "is_unknown")]
    length: usize,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    text: Option<T>,
}

fn is_unknown(number: &usize) -> bool {
    *number == 0
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

impl<'f> ResultLine<&'f str> {
    /// A result whose policy has this number.
    pub(crate) fn of(finding: &'f Finding, policy: usize) -> ResultLine<&'f str> {
        let place = |place: &'f Place| PlaceLine {
            file: place.file.as_str(),
            line: place.line,
            column: place.column,
            length: place.length,
            text: some(&place.text),
        };
        ResultLine {
            order: (finding.order.stage, finding.order.object),
            policy,
            rule: some(&finding.rule),
            result: finding.status.name(),
            message: some(&finding.message),
            field: finding.field.as_deref(),
            template: finding.template.as_deref(),
            known: finding.is_known,
            resource: finding.resource.as_ref().map(|r| NameLine {
                api_version: some(&r.api_version),
                kind: some(&r.kind),
                namespace: some(&r.namespace),
                name: some(&r.name),
                generate_name: some(&r.generate_name),
            }),
            place: finding.place.as_ref().map(place),
            policy_place: finding.decision.as_ref().map(place),
            fix: finding.fix.clone(),
        }
    }
}

impl ResultLine<String> {
    /// The result, if its policy is one of these and its status is one.
    pub(crate) fn finding(self, policies: &[Arc<PolicyInfo>]) -> Option<Finding> {
        let place = |line: PlaceLine<String>| Place {
            file: line.file,
            line: line.line,
            column: line.column,
            length: line.length,
            text: line.text.unwrap_or_default(),
        };
        const STATUSES: [Status; 5] = [Status::Pass, Status::Fail, Status::Warn, Status::Error, Status::Skip];
        Some(Finding {
            order: Order { stage: self.order.0, object: self.order.1 },
            policy: policies.get(self.policy)?.clone(),
            rule: self.rule.unwrap_or_default(),
            status: STATUSES.into_iter().find(|status| status.name() == self.result)?,
            message: self.message.unwrap_or_default(),
            resource: self.resource.map(|r| ResourceName {
                api_version: r.api_version.unwrap_or_default(),
                kind: r.kind.unwrap_or_default(),
                namespace: r.namespace.unwrap_or_default(),
                name: r.name.unwrap_or_default(),
                generate_name: r.generate_name.unwrap_or_default(),
            }),
            field: self.field,
            place: self.place.map(place),
            template: self.template,
            decision: self.policy_place.map(place),
            fix: self.fix,
            is_known: self.known,
        })
    }
}
