//! Printing: the output of each resource, and the summary after all of them.
//!
//! In: rendered results in input order. Out: standard output and the exit code. Semantics:
//! `docs/reference/cli.md`, "apply".

use std::collections::BTreeSet;
use std::io::Write;

use ephor_engine::Status;
use ephor_report::formats::{self as report_formats, Format};
use ephor_report::policy_report::{self, Summary};
use ephor_report::run::{self as report, Counts, Finding};
use ephor_report::table;
use ephor_value::Value;

use super::baseline::Baseline;
use super::changes::Changes;
use super::evaluate::Run;
use super::exceptions;
use super::findings::{Collector, Unlocated};
use super::results::{Output, Record, Rendered};
use crate::cli::Error;

/// How many errors are named before they are only counted.
const NAMED: usize = 20;

/// What has been printed and counted so far.
#[derive(Default)]
pub(super) struct Sink {
    pub counts: Summary,
    /// What of it Kyverno's summary line counts twice.
    pub twice: Summary,
    pub reported: Summary,
    pub entries: String,
    pub started: bool,
    pub rows: Vec<Vec<String>>,
    pub namespaced: Vec<(String, String, Summary)>,
    pub records: Vec<Record>,
    pub findings: Vec<Finding>,
    /// Errors without their places.
    pub errors: Vec<Unlocated>,
    pub failed: Option<Error>,
    /// What was said of policies.
    pub said: BTreeSet<String>,
    /// Changed or new objects were printed.
    pub shows_objects: bool,
    /// Results are buffered until all resources are done, because objects are printed before them.
    pub holds: bool,
    pub held: Vec<u8>,
}

/// What the exit code depends on.
pub(super) struct Verdict {
    /// How many results there are of each status.
    pub counts: Summary,
    /// Whether violations end in exit code 1.
    pub fails: bool,
    /// What could not be used, for `--strict`.
    pub faults: Vec<String>,
}

impl Run<'_> {
    /// Shows changed and new objects, or writes them.
    pub(super) fn show(&self, sink: &mut Sink, changes: Changes, out: &mut impl Write) {
        // Documents of other programs hold nothing else.
        let is_document = matches!(self.options.output, Output::Own(format) if format != Format::Text);
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
    pub(super) fn take_or_hold(&self, sink: &mut Sink, rendered: Rendered, out: &mut impl Write) {
        if !sink.holds {
            return self.take(sink, rendered, out, true);
        }
        let mut held = std::mem::take(&mut sink.held);
        self.take(sink, rendered, &mut held, true);
        sink.held = held;
    }

    /// Takes what a resource adds. Entries of a namespaced policy are `merged` into one report, or
    /// are one of their own.
    pub(super) fn take(&self, sink: &mut Sink, rendered: Rendered, out: &mut impl Write, merged: bool) {
        sink.counts.merge(&rendered.counts);
        sink.twice.merge(&rendered.twice);
        sink.reported.merge(&rendered.reported);
        sink.findings.extend(rendered.findings);
        sink.errors.extend(rendered.errors);
        match self.options.rendered() {
            Output::Plain => {
                let _ = out.write_all(rendered.text.as_bytes());
            }
            // Streamed where it is printed.
            Output::ReportYaml => {
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
            Output::ReportJson => sink.entries.push_str(&rendered.text),
            Output::Table => sink.rows.extend(rendered.rows),
            Output::ExceptionsYaml | Output::ExceptionsJson => sink.records.extend(rendered.records),
            Output::Own(_) => {}
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

    /// Prints what follows all results, and writes files; returns what the exit code depends on.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn finish(
        &self,
        mut sink: Sink,
        collector: &Collector<'_>,
        out: &mut impl Write,
    ) -> Result<Verdict, Error> {
        let verdict = self.verdict(&sink);
        let named = if self.options.verbose { usize::MAX } else { NAMED };
        let shown = sink.errors.iter().take(named);
        sink.findings.extend(shown.flat_map(|error| collector.located(error)));
        let unshown = sink.errors.len().saturating_sub(named);
        let mut run = self.report(std::mem::take(&mut sink.findings));
        if let (Some(file), true) = (&self.options.baseline, self.options.writes_baseline) {
            let baseline = Baseline::of(&run.findings);
            self.write_file(file, &baseline.text())?;
            self.log.warn(&format!("{} violations are written to the baseline `{file}`", baseline.len()));
        }
        if !self.options.is_own() {
            self.print_errors(&run, named, unshown);
        }
        if self.options.only_failures {
            run.keep_violations();
        }
        if let Some((output, file)) = &self.options.report_file {
            let text = match output {
                Output::Own(format) => self.whole(format.write(&run, false)),
                _ => self.document(*output, &sink),
            };
            self.write_file(file, &text)?;
        }
        let text = match self.options.output {
            Output::Plain => {
                let statuses = [Status::Pass, Status::Fail, Status::Warn, Status::Error, Status::Skip];
                let twice: usize = statuses.map(|status| sink.twice.of(status)).iter().sum();
                if twice > 0 {
                    let results = if twice == 1 { "result" } else { "results" };
                    self.log.warn(&format!(
                        "the summary line counts {twice} {results} of MutatingPolicies twice, as Kyverno's does"
                    ));
                }
                let [pass, fail, warn, error, skip] =
                    statuses.map(|status| sink.counts.of(status) + sink.twice.of(status));
                format!("\npass: {pass}, fail: {fail}, warn: {warn}, error: {error}, skip: {skip} \n")
            }
            Output::Table => {
                for (i, row) in sink.rows.iter_mut().enumerate() {
                    if let Some(first) = row.first_mut() {
                        *first = (i + 1).to_string();
                    }
                }
                let mut headers = vec!["ID", "POLICY", "RULE", "RESOURCE", "RESULT", "REASON"];
                if self.args.output.detailed_results {
                    headers.push("MESSAGE");
                }
                table::render(&headers, &sink.rows, self.options.colour_of_header)
            }
            Output::ReportYaml => yaml_reports(&sink),
            Output::ReportJson => json_reports(&sink).join("---\n"),
            Output::ExceptionsYaml | Output::ExceptionsJson => {
                let all = self.exceptions_for(&sink.records).concat();
                if all.is_empty() {
                    self.log.warn("no exception is generated: no rule failed");
                }
                all
            }
            // With a file for the report the run is shown as text.
            Output::Own(format) => match self.options.report_file.is_some() {
                true if self.options.quiet => String::new(),
                true => Format::Text.write(&run, self.options.colour).text,
                false => self.whole(format.write(&run, self.options.colour)),
            },
        };
        // Kyverno's text ends without a line end.
        if self.options.is_own() && sink.shows_objects && !text.is_empty() {
            let _ = out.write_all(b"\n\n");
        }
        let _ = out.write_all(text.as_bytes());
        Ok(verdict)
    }

    /// The text of a document; what it does not hold is a warning.
    fn whole(&self, document: report_formats::Document) -> String {
        document.left_out.iter().for_each(|text| self.log.warn(text));
        document.text
    }

    /// What a file holds of Kyverno's documents: objects and nothing else, also when there are
    /// none.
    fn document(&self, output: Output, sink: &Sink) -> String {
        let objects = match output {
            Output::ReportYaml => vec![sink.entries.clone() + &yaml_reports(sink)],
            Output::ReportJson => json_reports(sink),
            _ => self.exceptions_for(&sink.records),
        };
        match (output.is_json(), objects.concat()) {
            (true, _) => list_of(&objects),
            (false, text) if text.is_empty() => "apiVersion: v1\nkind: List\nitems: []\n".into(),
            (false, text) => text,
        }
    }

    fn write_file(&self, file: &str, text: &str) -> Result<(), Error> {
        crate::cli::write_whole(file, text)
    }

    /// The run as formats show it.
    fn report(&self, findings: Vec<Finding>) -> report::Run {
        report::Run {
            counts: Counts::of(&findings),
            findings,
            resources: self.resources.len() + self.payloads.len() + self.checks.len(),
            policies: self.policies.policies.len() + self.policies.cleanups.len(),
            seconds: self.started.elapsed().as_secs_f64(),
            notes: self.log.notes(),
            roots: crate::cli::roots::here(),
            invocation: self.invocation.clone(),
        }
    }

    /// Why rules could not be evaluated, which Kyverno's outputs do not say: one line each.
    fn print_errors(&self, run: &report::Run, named: usize, unshown: usize) {
        let errors: Vec<&Finding> =
            run.findings.iter().filter(|f| f.status == Status::Error && f.resource.is_some()).collect();
        for error in errors.iter().take(named) {
            let resource = error.resource.as_ref().map(|r| r.display()).unwrap_or_default();
            let place =
                |place: &Option<report::Place>| place.as_ref().map(|p| p.display()).unwrap_or_default();
            let (at, by) = (place(&error.place), place(&error.decision));
            let at = if at.is_empty() { at } else { format!(" at {at}") };
            let by = if by.is_empty() { by } else { format!(" ({by})") };
            let message = error.message.replace('\n', " ");
            eprintln!("error: {}{by}: {message}: {resource}{at}", error.rule_id());
        }
        let more = errors.len().saturating_sub(named) + unshown;
        if more > 0 {
            eprintln!("error: {more} more (-v 1 lists them)");
        }
    }

    fn verdict(&self, sink: &Sink) -> Verdict {
        let counts = sink.counts;
        let mut faults = Vec::new();
        let unused = self.log.notes().iter().filter(|note| note.is_error).count();
        let refused = self.policies.policies.iter().filter(|p| p.refused.is_some()).count();
        let of = |n: usize, one: &str, many: &str| match n {
            0 => None,
            1 => Some(format!("1 {one}")),
            n => Some(format!("{n} {many}")),
        };
        let has_policies = !self.policies.policies.is_empty() || !self.policies.cleanups.is_empty();
        let has_resources =
            !self.resources.is_empty() || !self.payloads.is_empty() || !self.checks.is_empty();
        let all = [
            of(
                unused,
                "policy source or document cannot be used",
                "policy sources or documents cannot be used",
            ),
            of(refused, "policy is refused", "policies are refused"),
            (!has_policies).then(|| "no policy".into()),
            (!has_resources).then(|| "no resource".into()),
            // A policy that is refused is an error by itself.
            of(counts.of(Status::Error).saturating_sub(refused), "result is an error", "results are errors"),
        ];
        if self.options.strict {
            faults.extend(all.into_iter().flatten());
        }
        let is_chosen = self.options.fail_on.is_some() || self.options.baseline.is_some();
        let fails = match is_chosen {
            false => counts.of(Status::Fail) > 0 || counts.of(Status::Error) > 0,
            true => !self.options.writes_baseline && sink.findings.iter().any(|f| self.fails(f)),
        };
        Verdict { counts, fails, faults }
    }

    /// Whether a result ends in exit code 1: a failure of a policy without severity always does.
    fn fails(&self, finding: &Finding) -> bool {
        let is_grave = match (finding.policy.severity, self.options.fail_on) {
            (Some(severity), Some(least)) => severity >= least,
            _ => true,
        };
        match finding.status {
            _ if finding.is_known => false,
            Status::Error => true,
            Status::Fail => is_grave,
            Status::Pass | Status::Warn | Status::Skip => false,
        }
    }

    fn exceptions_for(&self, records: &[Record]) -> Vec<String> {
        let ttl = Some(self.args.output.generated_exception_ttl).filter(|nanoseconds| *nanoseconds > 0);
        let ttl = ttl.map(ephor_value::duration::format);
        let as_json = self.options.rendered().is_json();
        let failed = records.iter().filter(|r| r.status == Status::Fail && !r.policy.contains('/'));
        failed
            .map(|r| {
                let resource = self.resources.get(r.index).map(|d| &d.value).unwrap_or(&Value::Null);
                exceptions::for_failure(r, resource, ttl.as_deref(), as_json)
            })
            .collect()
    }

    pub(super) fn exit_code(&self, verdict: &Verdict, out: &mut impl Write) -> i32 {
        let counts = &verdict.counts;
        if !verdict.faults.is_empty() {
            eprintln!("error: {} (--strict)", verdict.faults.join(", "));
            return super::CANNOT_RUN;
        }
        if verdict.fails {
            return 1;
        }
        let code = i32::try_from(self.args.exit.warn_exit_code).unwrap_or(1);
        if counts.of(Status::Warn) > 0 && code != 0 {
            if !self.options.is_own() {
                let _ = write!(out, "exit as warnExitCode is {code}");
            }
            return code;
        }
        if counts.of(Status::Pass) == 0 && self.args.exit.warn_no_pass {
            if !self.options.is_own() {
                let _ = writeln!(out, "exit as no objects satisfied policy");
            }
            return code;
        }
        0
    }
}

/// What follows the entries of the cluster-wide report, and the reports of namespaced policies.
fn yaml_reports(sink: &Sink) -> String {
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

/// The reports as JSON, one a line. Kyverno prints no cluster-wide report without results.
fn json_reports(sink: &Sink) -> Vec<String> {
    let cluster = sink.entries.strip_prefix(',');
    let cluster = cluster
        .map(|entries| policy_report::json("ClusterReport", "merged", "", &sink.reported, entries))
        .unwrap_or_default();
    let of_namespaces = sink.namespaced.iter().map(|(key, entries, counts)| {
        let (ns, name) = key.split_once('/').unwrap_or(("", key));
        let entries = entries.strip_prefix(',').unwrap_or(entries);
        policy_report::json("PolicyReport", name, ns, counts, entries)
    });
    std::iter::once(cluster).chain(of_namespaces).collect()
}

/// Objects as JSON: one as it is, several as a list, as kubectl reads them.
fn list_of(objects: &[String]) -> String {
    let objects: Vec<&str> = objects
        .iter()
        .map(|text| text.trim_start_matches("---\n").trim_end())
        .filter(|text| !text.is_empty())
        .collect();
    match objects[..] {
        [one] => format!("{one}\n"),
        _ => format!("{{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{}]}}\n", objects.join(",")),
    }
}
