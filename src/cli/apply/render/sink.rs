//! What has been printed and counted so far of a run.
//!
//! In: what each resource adds, in input order. Out: text that is printed on the way, and what the
//! end of the run is built from.

use std::collections::BTreeSet;
use std::io::Write;

use ephor_report::formats::Format;
use ephor_report::policy_report::{self, Summary};
use ephor_report::run::Finding;

use super::super::output::ApplyOutput;
use super::super::run::Run;
use super::changes::Changes;
use super::results::{FailedRule, Rendered};
use crate::cli::CommandError;
use ephor_inspect::results::Unlocated;

/// What has been printed and counted so far.
#[derive(Default)]
pub(in crate::cli::apply) struct Sink {
    pub counts: Summary,
    /// What of it Kyverno's summary line counts twice.
    pub twice: Summary,
    pub reported: Summary,
    pub entries: String,
    pub started: bool,
    pub rows: Vec<Vec<String>>,
    pub namespaced: Vec<(String, String, Summary)>,
    pub records: Vec<FailedRule>,
    pub findings: Vec<Finding>,
    /// Errors without their places.
    pub errors: Vec<Unlocated>,
    pub failed: Option<CommandError>,
    /// What was reported of policies.
    pub said: BTreeSet<String>,
    /// Changed or new objects were printed.
    pub shows_objects: bool,
    /// Results are buffered until all resources are done, because objects are printed before them.
    pub holds: bool,
    pub held: Vec<u8>,
}

impl Run<'_> {
    /// Shows changed and new objects, or writes them.
    pub(in crate::cli::apply) fn show(&self, sink: &mut Sink, changes: Changes, out: &mut impl Write) {
        // Documents of other programs hold nothing else.
        let is_document = matches!(self.options.output, ApplyOutput::Own(format) if format != Format::Text);
        if !is_document && !changes.text.is_empty() {
            let _ = out.write_all(changes.text.as_bytes());
            sink.shows_objects = true;
        }
        match self.destination.append(&changes.files) {
            Ok(()) => {
                let of_policies = changes.once.into_iter().filter(|text| sink.said.insert(text.clone()));
                of_policies.chain(changes.warnings).for_each(|text| self.log.warn(&text));
            }
            Err(error) => sink.failed = Some(error),
        }
    }

    /// [`Run::take`] now, or when all resources are done.
    pub(in crate::cli::apply) fn take_or_hold(
        &self,
        sink: &mut Sink,
        rendered: Rendered,
        out: &mut impl Write,
    ) {
        if !sink.holds {
            return self.take(sink, rendered, out, true);
        }
        let mut held = std::mem::take(&mut sink.held);
        self.take(sink, rendered, &mut held, true);
        sink.held = held;
    }

    /// Takes what a resource adds. Entries of a namespaced policy are `merged` into one report, or
    /// are one of their own.
    pub(in crate::cli::apply) fn take(
        &self,
        sink: &mut Sink,
        rendered: Rendered,
        out: &mut impl Write,
        merged: bool,
    ) {
        sink.counts.merge(&rendered.counts);
        sink.twice.merge(&rendered.twice);
        sink.reported.merge(&rendered.reported);
        sink.findings.extend(rendered.findings);
        sink.errors.extend(rendered.errors);
        match self.options.rendered() {
            ApplyOutput::Plain => {
                let _ = out.write_all(rendered.text.as_bytes());
            }
            // Streamed where it is printed.
            ApplyOutput::ReportYaml => {
                let mut text = String::new();
                if !sink.started && !rendered.text.is_empty() {
                    sink.started = true;
                    text = policy_report::head("ClusterReport", "merged", "");
                }
                text.push_str(&rendered.text);
                match self.options.is_own() {
                    true => sink.entries.push_str(&text),
                    false => drop(out.write_all(text.as_bytes())),
                }
            }
            ApplyOutput::ReportJson => sink.entries.push_str(&rendered.text),
            ApplyOutput::Table => sink.rows.extend(rendered.rows),
            ApplyOutput::ExceptionsYaml | ApplyOutput::ExceptionsJson => {
                sink.records.extend(rendered.records)
            }
            ApplyOutput::Own(_) => {}
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
}
