//! The end of the output, and the exit code.
//!
//! In: what was printed and counted on the way. Out: what follows all results, files, the exit
//! code. Semantics: `docs/reference/cli.md`, "apply".

use std::io::Write;

use ephor_engine::Status;
use ephor_report::formats::{Document, Format};
use ephor_report::policy_report::{self, Summary};
use ephor_report::run::{self as report, Counts, Finding};
use ephor_report::table;

use super::super::output::ApplyOutput;
use super::super::run::Run;
use super::baseline::Baseline;
use super::generated_exceptions;
use super::results::FailedRule;
use super::sink::Sink;
use crate::cli::outputs::write_whole;
use crate::cli::roots;
use crate::cli::{CommandError, console};
use ephor_inspect::results::Collector;

/// The exit code of `--strict` for what cannot be used.
pub(in crate::cli::apply) const CANNOT_RUN: i32 = 2;

/// How many errors are named before they are only counted.
const MAX_NAMED: usize = 20;

/// What the exit code depends on.
pub(in crate::cli::apply) struct RunVerdict {
    /// How many results there are of each status.
    pub counts: Summary,
    /// Whether violations end in exit code 1.
    pub fails: bool,
    /// What could not be used, for `--strict`.
    pub faults: Vec<String>,
}

impl Run<'_> {
    /// Prints what follows all results, and writes files; returns what the exit code depends on.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(in crate::cli::apply) fn finish(
        &self,
        mut sink: Sink,
        collector: &Collector<'_>,
        out: &mut impl Write,
    ) -> Result<RunVerdict, CommandError> {
        let verdict = self.verdict(&sink);
        let named = if self.options.verbose { usize::MAX } else { MAX_NAMED };
        let shown = sink.errors.iter().take(named);
        sink.findings.extend(shown.flat_map(|error| collector.located(error)));
        let unshown = sink.errors.len().saturating_sub(named);
        let mut run = self.report(std::mem::take(&mut sink.findings));
        if let (Some(file), true) = (&self.options.baseline, self.options.writes_baseline) {
            let baseline = Baseline::of(&run.findings);
            write_whole(file, baseline.text())?;
            self.log.warn(&format!("{} violations are written to the baseline `{file}`", baseline.len()));
        }
        if !self.options.is_own() {
            print_errors(&run, named, unshown);
        }
        if self.options.only_failures {
            run.keep_violations();
        }
        if let Some((output, file)) = &self.options.report_file {
            let text = match output {
                ApplyOutput::Own(format) => self.whole(format.write(&run, false)),
                _ => self.document(*output, &sink),
            };
            write_whole(file, &text)?;
        }
        let text = self.ending(&mut sink, &run);
        // Kyverno's text ends without a line end.
        if self.options.is_own() && sink.shows_objects && !text.is_empty() {
            let _ = out.write_all(b"\n\n");
        }
        let _ = out.write_all(text.as_bytes());
        Ok(verdict)
    }

    /// What is printed behind the results of all resources.
    fn ending(&self, sink: &mut Sink, run: &report::Run) -> String {
        match self.options.output {
            ApplyOutput::Plain => self.summary(sink),
            ApplyOutput::Table => self.table(sink),
            ApplyOutput::ReportYaml => yaml_reports(sink),
            ApplyOutput::ReportJson => json_reports(sink).join("---\n"),
            ApplyOutput::ExceptionsYaml | ApplyOutput::ExceptionsJson => {
                let all = self.exceptions_for(&sink.records).concat();
                if all.is_empty() {
                    self.log.warn("no exception is generated: no rule failed");
                }
                all
            }
            // With a file for the report the run is shown as text.
            ApplyOutput::Own(format) => match self.options.report_file.is_some() {
                true if self.options.quiet => String::new(),
                true => Format::Text.write(run, self.options.colour).text,
                false => self.whole(format.write(run, self.options.colour)),
            },
        }
    }

    /// Kyverno's summary line.
    fn summary(&self, sink: &Sink) -> String {
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

    /// The table of all results, numbered.
    fn table(&self, sink: &mut Sink) -> String {
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

    /// The text of a document; what it does not hold is a warning.
    fn whole(&self, document: Document) -> String {
        document.left_out.iter().for_each(|text| self.log.warn(text));
        document.text
    }

    /// What a file holds of Kyverno's documents: objects and nothing else, also when there are
    /// none.
    fn document(&self, output: ApplyOutput, sink: &Sink) -> String {
        let objects = match output {
            ApplyOutput::ReportYaml => vec![sink.entries.clone() + &yaml_reports(sink)],
            ApplyOutput::ReportJson => json_reports(sink),
            _ => self.exceptions_for(&sink.records),
        };
        match (output.is_json(), objects.concat()) {
            (true, _) => list_of(&objects),
            (false, text) if text.is_empty() => "apiVersion: v1\nkind: List\nitems: []\n".into(),
            (false, text) => text,
        }
    }

    /// The run as formats show it.
    fn report(&self, findings: Vec<Finding>) -> report::Run {
        report::Run {
            counts: Counts::of(&findings),
            findings,
            resources: self.inputs.subjects(),
            policies: self.inputs.policies.policies.len() + self.inputs.policies.cleanups.len(),
            seconds: self.started.elapsed().as_secs_f64(),
            notes: self.log.notes(),
            roots: roots::here(),
            invocation: self.invocation.clone(),
        }
    }

    fn verdict(&self, sink: &Sink) -> RunVerdict {
        let counts = sink.counts;
        let mut faults = Vec::new();
        let unused = self.log.notes().iter().filter(|note| note.is_error).count();
        let refused = self.inputs.policies.policies.iter().filter(|p| p.refused.is_some()).count();
        let of = |n: usize, one: &str, many: &str| match n {
            0 => None,
            1 => Some(format!("1 {one}")),
            n => Some(format!("{n} {many}")),
        };
        let all = [
            of(
                unused,
                "policy source or document cannot be used",
                "policy sources or documents cannot be used",
            ),
            of(refused, "policy is refused", "policies are refused"),
            (!self.inputs.has_policies()).then(|| "no policy".into()),
            (self.inputs.subjects() == 0).then(|| "no resource".into()),
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
        RunVerdict { counts, fails, faults }
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

    fn exceptions_for(&self, records: &[FailedRule]) -> Vec<String> {
        let ttl = Some(self.args.output.generated_exception_ttl).filter(|nanoseconds| *nanoseconds > 0);
        let ttl = ttl.map(ephor_value::duration::format);
        let as_json = self.options.rendered().is_json();
        let failed = records.iter().filter(|r| r.status == Status::Fail && !r.policy.contains('/'));
        failed.map(|r| generated_exceptions::for_failure(r, ttl.as_deref(), as_json)).collect()
    }

    pub(in crate::cli::apply) fn exit_code(&self, verdict: &RunVerdict, out: &mut impl Write) -> i32 {
        let counts = &verdict.counts;
        if !verdict.faults.is_empty() {
            console::error(&format!("error: {} (--strict)\n", verdict.faults.join(", ")));
            return CANNOT_RUN;
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

/// Why rules could not be evaluated, which Kyverno's outputs do not say: one line each.
fn print_errors(run: &report::Run, named: usize, unshown: usize) {
    let errors: Vec<&Finding> =
        run.findings.iter().filter(|f| f.status == Status::Error && f.resource.is_some()).collect();
    for error in errors.iter().take(named) {
        let resource = error.resource.as_ref().map(|r| r.display()).unwrap_or_default();
        let place = |place: &Option<report::Place>| place.as_ref().map(|p| p.display()).unwrap_or_default();
        let (at, by) = (place(&error.place), place(&error.decision));
        let at = if at.is_empty() { at } else { format!(" at {at}") };
        let by = if by.is_empty() { by } else { format!(" ({by})") };
        let message = error.message.replace('\n', " ");
        console::error(&format!("error: {}{by}: {message}: {resource}{at}\n", error.rule_id()));
    }
    let more = errors.len().saturating_sub(named) + unshown;
    if more > 0 {
        console::error(&format!("error: {more} more (-v 1 lists them)\n"));
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
