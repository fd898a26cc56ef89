//! Printing: the output of each resource, and the summary after all of them.
//!
//! In: rendered results in input order. Out: standard output and the exit code. Semantics:
//! `docs/cli.md`, "apply".

use std::io::Write;

use ephor_engine::Status;
use ephor_report::policy_report::{self, Summary};
use ephor_report::{formats, table};
use ephor_value::Value;

use super::changes::Changes;
use super::evaluate::Run;
use super::exceptions;
use super::results::{Output, Record, Rendered};
use crate::cli::warn;

/// What has been printed and counted so far.
#[derive(Default)]
pub(super) struct Sink {
    pub counts: Summary,
    pub reported: Summary,
    pub entries: String,
    pub started: bool,
    pub rows: Vec<Vec<String>>,
    pub namespaced: Vec<(String, String, Summary)>,
    pub records: Vec<Record>,
    pub failed: Option<String>,
    /// Results are buffered until all resources are done, because objects are printed before them.
    pub holds: bool,
    pub held: Vec<u8>,
}

impl Run<'_> {
    /// Shows changed and new objects, or writes them.
    pub(super) fn show(&self, sink: &mut Sink, changes: Changes, out: &mut impl Write) {
        let _ = out.write_all(changes.text.as_bytes());
        match self.destination.append(&changes.files) {
            Ok(()) => changes.warnings.iter().for_each(|text| warn(text)),
            Err(text) => sink.failed = Some(text),
        }
    }

    /// [`Run::take`] now, or when all resources are done.
    pub(super) fn take_or_hold(&self, sink: &mut Sink, rendered: Rendered, out: &mut impl Write) {
        if !sink.holds {
            return self.take(sink, rendered, out, true);
        }
        let mut held = std::mem::take(&mut sink.held);
        self.take(sink, rendered, &mut held, true);
        sink.held = held;
    }

    /// Takes what a resource adds. Entries of a namespaced policy are `merged` into one report, or are
    /// one of their own.
    pub(super) fn take(&self, sink: &mut Sink, rendered: Rendered, out: &mut impl Write, merged: bool) {
        sink.counts.merge(&rendered.counts);
        sink.reported.merge(&rendered.reported);
        match self.output {
            Output::Plain => {
                let _ = out.write_all(rendered.text.as_bytes());
            }
            Output::ReportYaml => {
                if !sink.started && !rendered.text.is_empty() {
                    sink.started = true;
                    let _ = out.write_all(policy_report::head("ClusterReport", "merged", "").as_bytes());
                }
                let _ = out.write_all(rendered.text.as_bytes());
            }
            Output::ReportJson => sink.entries.push_str(&rendered.text),
            Output::Table => sink.rows.extend(rendered.rows),
            Output::Exceptions | Output::Other => sink.records.extend(rendered.records),
        }
        for (key, text, counts) in rendered.namespaced {
            match sink.namespaced.iter_mut().find(|(k, ..)| merged && *k == key) {
                Some((_, all, sum)) => {
                    all.push_str(&text);
                    sum.merge(&counts);
                }
                None => sink.namespaced.push((key, text, counts)),
            }
        }
    }

    /// Prints what follows all results; returns the counts.
    pub(super) fn finish(&self, mut sink: Sink, out: &mut impl Write) -> Summary {
        let text = match self.output {
            Output::Plain => format!(
                "\npass: {}, fail: {}, warn: {}, error: {}, skip: {} \n",
                sink.counts.of(Status::Pass),
                sink.counts.of(Status::Fail),
                sink.counts.of(Status::Warn),
                sink.counts.of(Status::Error),
                sink.counts.of(Status::Skip)
            ),
            Output::Table => {
                for (i, row) in sink.rows.iter_mut().enumerate() {
                    if let Some(first) = row.first_mut() {
                        *first = (i + 1).to_string();
                    }
                }
                let mut headers = vec!["ID", "POLICY", "RULE", "RESOURCE", "RESULT", "REASON"];
                if self.parsed.on("detailed-results") {
                    headers.push("MESSAGE");
                }
                table::render(&headers, &sink.rows, !self.parsed.on("remove-color"))
            }
            Output::ReportYaml => {
                let mut text = if sink.started { policy_report::tail(&sink.reported) } else { String::new() };
                for (key, entries, counts) in &sink.namespaced {
                    let (ns, name) = key.split_once('/').unwrap_or(("", key));
                    text.push_str("---\n");
                    text.push_str(&policy_report::head("PolicyReport", name, ns));
                    text.push_str(entries);
                    text.push_str(&policy_report::tail(counts));
                }
                text
            }
            Output::ReportJson => {
                let mut text = match sink.entries.strip_prefix(',') {
                    Some(entries) => {
                        policy_report::json("ClusterReport", "merged", "", &sink.reported, entries)
                    }
                    None => String::new(),
                };
                for (key, entries, counts) in &sink.namespaced {
                    let (ns, name) = key.split_once('/').unwrap_or(("", key));
                    let entries = entries.strip_prefix(',').unwrap_or(entries);
                    text.push_str("---\n");
                    text.push_str(&policy_report::json("PolicyReport", name, ns, counts, entries));
                }
                text
            }
            Output::Exceptions => self.exceptions_for(&sink.records),
            Output::Other => self.other_format(&sink.records),
        };
        let _ = out.write_all(text.as_bytes());
        sink.counts
    }

    fn exceptions_for(&self, records: &[Record]) -> String {
        let ttl = self.parsed.text("generated-exception-ttl");
        let ttl =
            ephor_value::duration::parse(ttl).ok().filter(|ns| *ns > 0).map(ephor_value::duration::format);
        let as_json = self.parsed.text("output-format") == "json";
        let failed = records.iter().filter(|r| r.status == Status::Fail && !r.policy.contains('/'));
        failed
            .map(|r| {
                let resource = self.resources.get(r.index).map(|d| &d.value).unwrap_or(&Value::Null);
                exceptions::for_failure(r, resource, ttl.as_deref(), as_json)
            })
            .collect()
    }

    fn other_format(&self, records: &[Record]) -> String {
        let findings: Vec<formats::Finding<'_>> = records
            .iter()
            .map(|r| {
                let document = self.resources.get(r.index);
                formats::Finding {
                    policy: &r.policy,
                    rule: &r.rule,
                    status: r.status,
                    message: &r.message,
                    resource: &r.resource,
                    file: document.map_or("", |d| &d.source),
                    line: document.map_or(1, |d| d.line),
                }
            })
            .collect();
        match self.parsed.text("output-format") {
            "sarif" => formats::sarif(&findings),
            "junit" => formats::junit(&findings),
            "github" => formats::github(&findings),
            _ => formats::markdown(&findings),
        }
    }

    pub(super) fn exit_code(&self, counts: &Summary, out: &mut impl Write) -> i32 {
        if counts.of(Status::Fail) > 0 || counts.of(Status::Error) > 0 {
            return 1;
        }
        let code = i32::try_from(self.parsed.number("warn-exit-code")).unwrap_or(1);
        if counts.of(Status::Warn) > 0 && code != 0 {
            let _ = write!(out, "exit as warnExitCode is {code}");
            return code;
        }
        if counts.of(Status::Pass) == 0 && self.parsed.on("warn-no-pass") {
            let _ = writeln!(out, "exit as no objects satisfied policy");
            return code;
        }
        0
    }
}
