//! The end of the output, and the exit code.
//!
//! In: what was printed and counted on the way. Out: what follows all results, files, the exit
//! code. Semantics: `docs/reference/cli.md`, "apply".

use std::io::{Read, Write};

use ephor_engine::Status;
use ephor_report::about::About;
use ephor_report::formats::{Format, WriteError};
use ephor_report::policy_report::{self, Summary};
use ephor_report::run::{self as report, Finding, Findings};
use ephor_report::shards::run_id;
use ephor_report::spool::{SpoolError, SpoolReader};
use ephor_value::clock;

use super::super::output::ApplyOutput;
use super::super::run::Run;
use super::about;
use super::baseline::NewBaseline;
use super::generated_exceptions;
use super::results::FailedRule;
use super::sink::Sink;
use crate::cli::outputs::write_with;
use crate::cli::roots;
use crate::cli::{CommandError, console};
use ephor_inspect::results::Collector;

/// The exit code of `--strict` for what cannot be used.
pub(in crate::cli::apply) const CANNOT_RUN: i32 = 2;

/// How many errors are named before they are only counted.
const MAX_NAMED: usize = 20;

/// How many resolved violations of a baseline are named before they are only counted.
const MAX_RESOLVED: usize = 5;

/// What the exit code depends on.
pub(in crate::cli::apply) struct RunVerdict {
    /// How many results there are of each status.
    pub counts: Summary,
    /// Whether violations end in exit code 1.
    pub fails: bool,
    /// What could not be used, for `--strict`; with formats of our own, that nothing was checked.
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
        if let Some(error) = sink.failed.take() {
            return Err(error);
        }
        let verdict = self.verdict(&sink);
        for error in std::mem::take(&mut sink.errors) {
            sink.findings.extend(collector.located(&error))?;
        }
        let run = self.report(std::mem::take(&mut sink.findings), verdict.fails);
        if let (Some(file), true) = (&self.options.baseline, self.options.writes_baseline) {
            let baseline = NewBaseline::of(&run.findings)?;
            write_with(file, |out| baseline.write(out))?;
            self.log.warn(&format!("{} violations are written to the baseline `{file}`", baseline.len()));
        }
        self.resolved()?;
        if !self.options.is_own() {
            print_errors(&run, self.named(), sink.unshown)?;
        }
        for (output, file) in &self.options.report_files {
            let left_out = write_with(file, |out| match output {
                ApplyOutput::Own(format) => format.write(&run, false, out),
                _ => write_document(*output, &sink, out).map(|()| None),
            })?;
            left_out.iter().for_each(|text| self.log.warn(text));
        }
        // With files of reports the run is shown as text.
        let is_shown = self.options.report_files.is_empty() || !self.options.quiet;
        // Kyverno's text ends without a line end.
        if self.options.is_own() && sink.shows_objects && is_shown {
            out.write_all(b"\n\n").map_err(WriteError::from)?;
        }
        if is_shown || !self.options.is_own() {
            self.write_ending(&sink, &run, out)?;
        }
        Ok(verdict)
    }

    /// Names the violations of the baseline that have not come up, and takes them out of it where
    /// that is wanted.
    fn resolved(&self) -> Result<(), CommandError> {
        let resolved = self.baseline.resolved();
        let Some(file) = self.options.baseline.as_ref().filter(|_| !resolved.is_empty()) else {
            return Ok(());
        };
        let (entries, occur) = match resolved.len() {
            1 => ("entry", "occurs"),
            _ => ("entries", "occur"),
        };
        let shown = if self.options.verbose { usize::MAX } else { MAX_RESOLVED };
        let each = resolved.iter().take(shown).map(|(id, resource)| format!("{id} on {resource}"));
        let mut named = each.collect::<Vec<_>>().join(", ");
        if resolved.len() > shown {
            named.push_str(&format!(" and {} more (-v 1 lists them)", resolved.len() - shown));
        }
        let end = match self.options.prunes_baseline {
            true => {
                write_with(file, |out| self.baseline.write_pruned(out))?;
                "; taken out of it"
            }
            false => "; --prune-baseline takes them out",
        };
        self.log.warn(&format!(
            "{} {entries} of the baseline `{file}` no longer {occur}: {named}{end}",
            resolved.len()
        ));
        Ok(())
    }

    /// How many errors are named before they are only counted.
    pub(in crate::cli::apply) fn named(&self) -> usize {
        if self.options.verbose { usize::MAX } else { MAX_NAMED }
    }

    /// Writes what is printed behind the results of all resources.
    fn write_ending(&self, sink: &Sink, run: &report::Run, out: &mut dyn Write) -> Result<(), WriteError> {
        match self.options.output {
            ApplyOutput::Plain => out.write_all(self.summary(sink).as_bytes())?,
            ApplyOutput::Table => {
                let mut headers = vec!["ID", "POLICY", "RULE", "RESOURCE", "RESULT", "REASON"];
                if self.args.output.detailed_results {
                    headers.push("MESSAGE");
                }
                sink.rows.write(&headers, self.options.colour_of_header, out)?;
            }
            ApplyOutput::ReportYaml => write_yaml_reports(sink, out)?,
            ApplyOutput::ReportJson => write_json_reports(sink, false, out)?,
            ApplyOutput::ExceptionsYaml | ApplyOutput::ExceptionsJson => {
                if sink.exceptions.len() == 0 {
                    self.log.warn("no exception is generated: no rule failed");
                }
                for text in sink.exceptions.iter() {
                    out.write_all(text?.as_bytes())?;
                }
            }
            ApplyOutput::Own(format) => {
                let shown = if self.options.report_files.is_empty() { format } else { Format::Text };
                let left_out = shown.write(run, self.options.colour, out)?;
                left_out.iter().for_each(|text| self.log.warn(text));
            }
        }
        Ok(())
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

    /// The run as formats show it.
    fn report(&self, findings: Findings, fails: bool) -> report::Run {
        report::Run {
            findings,
            violations_only: self.options.only_failures,
            resources: self.inputs.subjects(),
            policies: self.inputs.policies.policies.len() + self.inputs.policies.cleanups.len(),
            // A run that is repeated says the same.
            seconds: if clock::stands() { 0.0 } else { self.started.elapsed().as_secs_f64() },
            notes: self.log.notes(),
            roots: roots::here(),
            invocation: self.invocation.clone(),
            about: match self.options.writes(Format::Html) || self.options.writes(Format::Jsonl) {
                true => about::about(self.inputs.policies.policies.iter()),
                false => About::default(),
            },
            fails,
            shard: self.args.run.shard,
            id: if self.options.writes(Format::Jsonl) { self.id() } else { String::new() },
        }
    }

    /// A digest of what the results depend on, objects aside: policies, flags and the files that
    /// they name.
    fn id(&self) -> String {
        let loaded = &self.inputs.policies;
        let documents = loaded.policies.iter().map(|p| ephor_value::print::json(&p.document));
        let cleanups = loaded.cleanups.iter().map(|c| format!("{} {}", c.policy.id(), c.schedule));
        let options = &self.options;
        let flags = format!(
            "{:?} {:?} {:?} {:?} {:?}",
            self.invocation,
            self.inputs.requests.profile,
            (options.only_failures, options.fail_on, &options.baseline, options.writes_baseline),
            self.args.exit.audit_warn,
            self.args.input.kubernetes,
        );
        run_id(documents.chain(cleanups).chain([flags]))
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
        // A shard may have none of the objects.
        let may_be_empty = !self.args.run.shard.is_whole() || self.options.changed.is_some();
        let has_no_subject = self.inputs.subjects() == 0 && !may_be_empty;
        let nothing = [
            (!self.inputs.has_policies()).then(|| "no policy".into()),
            has_no_subject.then(|| "no resource".into()),
        ];
        let others = [
            of(
                unused,
                "policy source or document cannot be used",
                "policy sources or documents cannot be used",
            ),
            of(refused, "policy is refused", "policies are refused"),
            // A policy that is refused is an error by itself.
            of(counts.of(Status::Error).saturating_sub(refused), "result is an error", "results are errors"),
        ];
        if self.options.strict {
            faults.extend(others.into_iter().chain(nothing).flatten());
        } else if self.options.is_own() {
            faults.extend(nothing.into_iter().flatten());
        }
        let is_chosen = self.options.fail_on.is_some() || self.options.baseline.is_some();
        let fails = match is_chosen {
            false => counts.of(Status::Fail) > 0 || counts.of(Status::Error) > 0,
            true => !self.options.writes_baseline && sink.fails,
        };
        // What was not read is not known to pass.
        let fails = fails || self.log.broken_count() > 0;
        RunVerdict { counts, fails, faults }
    }

    /// Whether a result ends in exit code 1: a failure of a policy without severity always does.
    pub(in crate::cli::apply) fn fails(&self, finding: &Finding) -> bool {
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

    /// The exceptions for failures of a resource, each as a document.
    pub(in crate::cli::apply) fn exceptions_for(&self, records: &[FailedRule]) -> Vec<String> {
        let ttl = Some(self.args.output.generated_exception_ttl).filter(|nanoseconds| *nanoseconds > 0);
        let ttl = ttl.map(ephor_value::duration::format);
        let as_json = self.options.rendered().is_json();
        let failed = records.iter().filter(|r| r.status == Status::Fail && !r.policy.contains('/'));
        failed.map(|r| generated_exceptions::for_failure(r, ttl.as_deref(), as_json)).collect()
    }

    pub(in crate::cli::apply) fn exit_code(&self, verdict: &RunVerdict, out: &mut impl Write) -> i32 {
        let counts = &verdict.counts;
        if !verdict.faults.is_empty() {
            let why = if self.options.strict { " (--strict)" } else { ": nothing is checked" };
            console::error(&format!("error: {}{why}\n", verdict.faults.join(", ")));
            return CANNOT_RUN;
        }
        if verdict.fails {
            return i32::from(!self.args.exit.exit_zero);
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
fn print_errors(run: &report::Run, named: usize, unshown: usize) -> Result<(), SpoolError> {
    let mut number = 0;
    for finding in run.findings.iter() {
        let error = finding?;
        if error.status != Status::Error || error.resource.is_none() {
            continue;
        }
        number += 1;
        if number > named {
            continue;
        }
        let resource = error.resource.as_ref().map(|r| r.display()).unwrap_or_default();
        let place = |place: &Option<report::Place>| place.as_ref().map(|p| p.display()).unwrap_or_default();
        let (at, by) = (place(&error.place), place(&error.decision));
        let at = if at.is_empty() { at } else { format!(" at {at}") };
        let by = if by.is_empty() { by } else { format!(" ({by})") };
        let message = error.message.replace('\n', " ");
        console::error(&format!("error: {}{by}: {message}: {resource}{at}\n", error.rule_id()));
    }
    let more = number.saturating_sub(named) + unshown;
    if more > 0 {
        console::error(&format!("error: {more} more (-v 1 lists them)\n"));
    }
    Ok(())
}

/// Writes what a file holds of Kyverno's documents: objects and nothing else, also when there are
/// none.
fn write_document(output: ApplyOutput, sink: &Sink, out: &mut dyn Write) -> Result<(), WriteError> {
    let reports = usize::from(!sink.entries.is_empty()) + sink.namespaced.len();
    let objects = match output {
        ApplyOutput::ReportYaml | ApplyOutput::ReportJson => reports,
        _ => sink.exceptions.len(),
    };
    // As kubectl reads them: one object as it is, several as a list.
    let [head, tail] = match (output.is_json(), objects) {
        (true, 1) => ["", "\n"],
        (true, _) => ["{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[", "]}\n"],
        (false, 0) => ["apiVersion: v1\nkind: List\nitems: []\n", ""],
        (false, _) => ["", ""],
    };
    out.write_all(head.as_bytes())?;
    match output {
        ApplyOutput::ReportYaml => {
            sink.entries.reader().copy(out)?;
            write_yaml_reports(sink, out)?;
        }
        ApplyOutput::ReportJson => write_json_reports(sink, true, out)?,
        _ => {
            let mut before = "";
            for text in sink.exceptions.iter() {
                let text = text?;
                match output.is_json() {
                    true => write!(out, "{before}{}", text.trim_start_matches("---\n").trim_end())?,
                    false => out.write_all(text.as_bytes())?,
                }
                before = ",";
            }
        }
    }
    out.write_all(tail.as_bytes())?;
    Ok(())
}

/// Writes what follows the entries of the cluster-wide report, and the reports of namespaced
/// policies.
fn write_yaml_reports(sink: &Sink, out: &mut dyn Write) -> Result<(), WriteError> {
    if sink.started {
        out.write_all(policy_report::tail(&sink.reported).as_bytes())?;
    }
    for (namespace, name, counts, mut entries) in sink.namespaced.iter() {
        write!(out, "---\n{}", policy_report::head("PolicyReport", name, namespace))?;
        entries.copy(out)?;
        out.write_all(policy_report::tail(counts).as_bytes())?;
    }
    Ok(())
}

/// Writes the reports as JSON: as items of a list, or one a line, as Kyverno prints them. There is
/// no cluster-wide report without results, but what stands behind it is printed.
fn write_json_reports(sink: &Sink, is_list: bool, out: &mut dyn Write) -> Result<(), WriteError> {
    let end = if is_list { "" } else { "\n" };
    let mut before = if is_list { "" } else { "---\n" };
    if !sink.entries.is_empty() {
        let head = policy_report::json_head("ClusterReport", "merged", "", &sink.reported);
        write_json_report(&head, sink.entries.reader(), out)?;
        out.write_all(end.as_bytes())?;
        before = if is_list { "," } else { "---\n" };
    }
    for (namespace, name, counts, entries) in sink.namespaced.iter() {
        out.write_all(before.as_bytes())?;
        let head = policy_report::json_head("PolicyReport", name, namespace, counts);
        write_json_report(&head, entries, out)?;
        out.write_all(end.as_bytes())?;
        before = if is_list { "," } else { "---\n" };
    }
    Ok(())
}

/// Writes a report of entries, each of which begins with a comma.
fn write_json_report(
    head: &str,
    mut entries: SpoolReader<'_>,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    out.write_all(head.as_bytes())?;
    let mut first = [0];
    if entries.read(&mut first)? > 0 && first != *b"," {
        out.write_all(&first)?;
    }
    entries.copy(out)?;
    out.write_all(policy_report::JSON_TAIL.as_bytes())?;
    Ok(())
}
