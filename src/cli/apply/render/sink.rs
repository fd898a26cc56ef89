//! What has been printed and counted so far of a run.
//!
//! In: what each resource adds, in input order. Out: text that is printed on the way, and what the
//! end of the run is built from: what grows with the input is on disk when it is much.

use std::collections::BTreeSet;
use std::io::Write;

use ephor_report::formats::{Format, WriteError};
use ephor_report::policy_report::{self, Summary};
use ephor_report::run::{Finding, Findings, Order};
use ephor_report::spool::{Spool, SpoolError};
use ephor_report::table::Rows;

use super::super::output::ApplyOutput;
use super::super::run::Run;
use super::changes::Changes;
use super::namespaced::NamespacedReports;
use super::results::Rendered;
use super::texts::Texts;
use crate::cli::CommandError;
use ephor_inspect::results::Unlocated;

/// What has been printed and counted so far.
#[derive(Default)]
pub(in crate::cli::apply) struct Sink {
    pub counts: Summary,
    /// What of it Kyverno's summary line counts twice.
    pub twice: Summary,
    pub reported: Summary,
    pub entries: Spool,
    pub started: bool,
    pub rows: Rows,
    pub namespaced: NamespacedReports,
    pub exceptions: Texts,
    pub findings: Findings,
    /// Whether one of them ends in exit code 1.
    pub fails: bool,
    /// Errors without their places, as many as are shown.
    pub errors: Vec<Unlocated>,
    /// How many more there are.
    pub unshown: usize,
    pub failed: Option<CommandError>,
    /// What was reported of policies.
    pub said: BTreeSet<String>,
    /// Warnings about objects that wait until all are read: those about the inputs come first.
    pub late: Option<Texts>,
    /// Changed or new objects were printed.
    pub shows_objects: bool,
    /// Results are buffered until all resources are done, because objects are printed before them.
    pub holds: bool,
    pub held: Spool,
}

impl Run<'_> {
    /// Shows changed and new objects, or writes them.
    ///
    /// # Errors
    /// They cannot be written.
    pub(in crate::cli::apply) fn show(
        &self,
        sink: &mut Sink,
        changes: Changes,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        // Documents of other programs hold nothing else.
        let is_document = matches!(self.options.output, ApplyOutput::Own(format) if format != Format::Text);
        if !is_document && !changes.text.is_empty() {
            out.write_all(changes.text.as_bytes()).map_err(WriteError::from)?;
            sink.shows_objects = true;
        }
        self.destination.append(&changes.files)?;
        for text in changes.once.into_iter().filter(|text| sink.said.insert(text.clone())) {
            self.warn(sink.late.as_mut(), &text)?;
        }
        for text in changes.warnings {
            self.warn(sink.late.as_mut(), &text)?;
        }
        Ok(())
    }

    /// A warning about an object, now or when all are read.
    fn warn(&self, late: Option<&mut Texts>, text: &str) -> Result<(), SpoolError> {
        match late {
            Some(late) => late.push(text)?,
            None => self.log.warn(text),
        }
        Ok(())
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
        if let Err(error) = self.add(sink, rendered, out, merged) {
            sink.failed.get_or_insert(error.into());
        }
    }

    /// Adds results with their places, which have this order in the run.
    pub(in crate::cli::apply) fn found(
        &self,
        sink: &mut Sink,
        order: Order,
        findings: Vec<Finding>,
    ) -> Result<(), SpoolError> {
        for mut finding in findings {
            finding.order = order;
            finding.is_known = finding.is_violation() && self.baseline.has(&finding);
            sink.fails |= self.fails(&finding);
            sink.findings.push(finding)?;
        }
        Ok(())
    }

    fn add(
        &self,
        sink: &mut Sink,
        rendered: Rendered,
        out: &mut impl Write,
        merged: bool,
    ) -> Result<(), WriteError> {
        sink.counts.merge(&rendered.counts);
        sink.twice.merge(&rendered.twice);
        sink.reported.merge(&rendered.reported);
        self.found(sink, rendered.order, rendered.findings)?;
        for error in rendered.errors {
            match sink.errors.len() < self.named() {
                true => sink.errors.push(error),
                false => sink.unshown += 1,
            }
        }
        match self.options.rendered() {
            ApplyOutput::Plain => out.write_all(rendered.text.as_bytes())?,
            // Streamed where it is printed.
            ApplyOutput::ReportYaml => {
                let mut text = String::new();
                if !sink.started && !rendered.text.is_empty() {
                    sink.started = true;
                    text = policy_report::head("ClusterReport", "merged", "");
                }
                text.push_str(&rendered.text);
                match self.options.is_own() {
                    true => sink.entries.push(text.as_bytes())?,
                    false => out.write_all(text.as_bytes())?,
                }
            }
            ApplyOutput::ReportJson => sink.entries.push(rendered.text.as_bytes())?,
            ApplyOutput::Table => rendered.rows.into_iter().try_for_each(|row| sink.rows.push(row))?,
            ApplyOutput::ExceptionsYaml | ApplyOutput::ExceptionsJson => {
                for text in self.exceptions_for(&rendered.records) {
                    sink.exceptions.push(&text)?;
                }
            }
            ApplyOutput::Own(_) => {}
        }
        for (key, text, counts) in rendered.namespaced {
            sink.namespaced.add(key, &text, &counts, merged)?;
        }
        Ok(())
    }
}
