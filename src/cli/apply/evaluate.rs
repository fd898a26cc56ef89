//! Evaluating: every resource meets every policy, in parallel; results come in input order.
//!
//! In: everything that was loaded. Out: the exit code; results are printed on the way by `finish`.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Instant;

use crate::cli::{Error, progress};
use ephor_document::Document;
use ephor_engine::request::NoObjects;
use ephor_engine::{Request, Status};
use ephor_ir::expressions::Proxy;
use ephor_ir::facts::Stage;
use ephor_policies::load::{Policies, Purpose};
use ephor_policies::pitfalls::Remarks;
use ephor_policies::policy_set::{Engine, Outcome};
use ephor_policies::scan::scan;
use ephor_report::policy_report::PolicyFacts;
use ephor_report::run::Invocation;
use ephor_testing::inputs::requests::Requests;
use ephor_value::Value;

use super::baseline::Baseline;
use super::changes::{self, Destination};
use super::findings::Collector;
use super::finish::Sink;
use super::log::Log;
use super::options::Args;
use super::output_options::OutputOptions;
use super::results::{self, Rendered, Style};

/// Everything that was loaded.
pub(super) struct Run<'r> {
    pub args: &'r Args,
    pub options: OutputOptions,
    pub log: Log,
    pub started: Instant,
    pub policies: Policies,
    pub resources: Vec<Document>,
    pub payloads: Vec<Value>,
    pub checks: Vec<(Proxy, Value)>,
    pub requests: Requests,
    pub destination: Destination,
    /// The arguments, for commands that look at a part of the run.
    pub invocation: Invocation,
}

/// What failures of policies that delete are: Kyverno's word for objects that stay.
fn remains(count: usize) -> String {
    let objects = if count == 1 { "1 object".to_string() } else { format!("{count} objects") };
    format!("of cleanup and deleting policies, failed counts {objects} that would not be deleted")
}

impl Run<'_> {
    /// Evaluates and prints.
    ///
    /// # Errors
    /// A resource from which no request can be built.
    pub(super) fn evaluate(self, engine: Engine) -> Result<i32, Error> {
        let remarks = Arc::new(Remarks::default());
        let engine = engine.with_remarks(remarks.clone());
        let lowered = self.policies.policies.iter().filter_map(|p| p.policy.as_ref());
        let facts: HashMap<String, PolicyFacts> = lowered.map(|p| (p.id(), PolicyFacts::of(p))).collect();
        let first = self.resources.first().map(|d| &d.value).or(self.payloads.first());
        let baseline = self.baseline()?;
        let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        // An error of a deleting policy ends the run; no result is printed then.
        let deletes = engine.set().policies().iter().any(|p| p.stage == Stage::Schedule);
        let mut sink = Sink { holds: deletes || engine.set().has_phases(), ..Sink::default() };
        for _ in self.policies.policies.iter().filter(|p| p.refused.is_some()) {
            sink.counts.add(Status::Error);
        }
        if !sink.holds {
            let _ = out.write_all(self.refused().as_bytes());
        }
        let collector = Collector::new(
            &engine,
            &self.requests,
            &self.resources,
            &self.policies.policies,
            !self.options.is_own() && self.options.report_file.is_none(),
        );
        sink.findings = collector.refused();
        let style = Style {
            output: self.options.rendered(),
            collector: &collector,
            all_findings: self.options.needs_findings(),
            only_failures: self.options.only_failures,
            audit_warn: self.args.exit.audit_warn,
            detailed: self.args.output.detailed_results,
            colour: self.options.colour,
            facts: &facts,
            seconds: std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |d| d.as_secs()),
        };
        let progress = self.progress();
        let continues = self.args.exit.continue_on_fail;
        scan(
            &engine,
            self.resources.len(),
            |i| self.request(i, &engine),
            |i, request, outcome| self.requests.with_own_values(self.resource(i), request, outcome, &engine),
            |i, outcome| {
                let resource = self.resources.get(i).map(|d| &d.value).unwrap_or(&Value::Null);
                // Results are reported for the mutated object; without one, for the original.
                let shown = outcome.object.as_ref().filter(|o| !o.is_null()).unwrap_or(resource);
                let changes = changes::render(engine.set(), resource, outcome, &self.destination);
                (results::render(&style, i, shown, outcome), changes)
            },
            |i, rendered| {
                if let Some(p) = &progress {
                    p.set_position(i as u64 + 1);
                    let violations = [Status::Fail, Status::Warn, Status::Error].map(|s| sink.counts.of(s));
                    p.set_message(format!("{} violations", violations.iter().sum::<usize>()));
                }
                match rendered {
                    Ok((rendered, changes)) if sink.failed.is_none() => {
                        self.show(&mut sink, changes, &mut out);
                        if sink.failed.is_none() {
                            self.take_or_hold(&mut sink, rendered, &mut out);
                        }
                    }
                    Ok(_) => {}
                    Err(_) if continues => {}
                    Err(text) => {
                        let name = self.resource(i).text_at(&["metadata", "name"]).into();
                        let cause = Box::new(Error::input(text));
                        sink.failed.get_or_insert(Error::Resource { name, cause });
                    }
                }
            },
        );
        if let Some(p) = progress {
            p.finish_and_clear();
        }
        if let Some(error) = sink.failed.take() {
            let _ = out.flush();
            return Err(error);
        }
        let checks = self.checks(&engine, &style)?;
        let deletions = match self.policies.uncompiled(Purpose::Deletion) {
            Some(text) if first.is_some() => return Err(Error::Policy(text)),
            _ => self.deletions(&engine, &style)?,
        };
        if sink.holds {
            let _ = out.write_all(self.refused().as_bytes());
            let held = std::mem::take(&mut sink.held);
            let _ = out.write_all(&held);
        }
        for payload in &self.payloads {
            let rendered = self.payload(payload, &engine, &style)?;
            self.take(&mut sink, rendered, &mut out, true);
        }
        for rendered in checks {
            self.take(&mut sink, rendered, &mut out, true);
        }
        let mut remaining: usize = deletions.iter().map(|rendered| rendered.counts.of(Status::Fail)).sum();
        for rendered in deletions {
            self.take(&mut sink, rendered, &mut out, false);
        }
        remaining += self.clean_up(&engine, &style, &mut sink, &mut out);
        if remaining > 0 {
            self.log.warn(&remains(remaining));
        }
        for finding in &mut sink.findings {
            finding.is_known = finding.is_violation() && baseline.has(finding);
        }
        remarks.take().iter().for_each(|text| self.log.warn(text));
        let verdict = self.finish(sink, &collector, &mut out)?;
        if self.args.output.deletions {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let now = now.ok().and_then(|d| i64::try_from(d.as_secs()).ok()).unwrap_or(0);
            self.write_deletions(&engine, now, &mut out);
        }
        let code = self.exit_code(&verdict, &mut out);
        let _ = out.flush();
        drop(collector);
        // The program ends now; freeing memory piece by piece would only take time.
        std::mem::forget((engine, self));
        Ok(code)
    }

    /// What policies answer to check requests of proxies.
    ///
    /// # Errors
    /// A policy that does not compile.
    fn checks(&self, engine: &Engine, style: &Style<'_>) -> Result<Vec<Rendered>, Error> {
        for proxy in [Proxy::Http, Proxy::Envoy] {
            let is_checked = self.checks.iter().any(|(of, _)| *of == proxy);
            if let Some(text) = self.policies.uncompiled(Purpose::Check(proxy)).filter(|_| is_checked) {
                return Err(Error::Policy(text));
            }
        }
        let render = |(proxy, request): &(Proxy, Value)| {
            let outcome = Outcome { policies: engine.check(request, *proxy), object: None };
            results::render(style, usize::MAX, request, &outcome)
        };
        Ok(self.checks.iter().map(render).collect())
    }

    fn payload(&self, payload: &Value, engine: &Engine, style: &Style<'_>) -> Result<Rendered, Error> {
        let request = self.requests.of(payload.clone(), None, engine).map_err(Error::input)?;
        Ok(results::render(style, usize::MAX, payload, &engine.evaluate_payload(&request)))
    }

    fn resource(&self, i: usize) -> &Value {
        const NOTHING: Value = Value::Null;
        self.resources.get(i).map_or(&NOTHING, |d| &d.value)
    }

    fn request(&self, i: usize, engine: &Engine) -> Result<Request, NoObjects> {
        self.requests.of(self.resource(i).clone(), None, engine)
    }

    /// The policies that the check refused, in Kyverno's two groups; our own formats have them
    /// among the results.
    fn refused(&self) -> String {
        if self.options.is_own() {
            return String::new();
        }
        let line = "-".repeat(70);
        let mut out = String::new();
        let is_invalid = |text: &str| text.starts_with("variable 'element.name'");
        for (title, invalid) in [("Policies Skipped:", false), ("Invalid Policies:", true)] {
            let group = self.policies.policies.iter().filter_map(|p| {
                p.refused.as_ref().filter(|text| is_invalid(text) == invalid).map(|text| (&p.name, text))
            });
            let lines: Vec<String> =
                group.enumerate().map(|(i, (name, text))| format!("{}. {name}: {text}\n", i + 1)).collect();
            if !lines.is_empty() {
                out.push_str(&format!("{line}\n{title}\n{}{line}\n", lines.concat()));
            }
        }
        out
    }

    /// The known violations.
    fn baseline(&self) -> Result<Baseline, Error> {
        match &self.options.baseline {
            Some(file) if !self.options.writes_baseline => Baseline::read(file),
            _ => Ok(Baseline::default()),
        }
    }

    /// A progress bar for long runs on a terminal: resources, violations, time left. Results that
    /// are printed on the way have no bar between them.
    fn progress(&self) -> Option<indicatif::ProgressBar> {
        const LONG: usize = 2_000;
        let is_free = self.options.is_own() || !std::io::stdout().is_terminal();
        let shows = self.resources.len() >= LONG && is_free && !self.options.quiet;
        shows.then(|| progress::bar(self.resources.len(), "resources")).flatten()
    }
}
