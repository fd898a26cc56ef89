//! Evaluating: every resource meets every policy, in parallel; results come in input order.
//!
//! In: everything that was loaded. Out: the exit code; results are printed on the way by `finish`.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::Arc;

use crate::cli::flags::Parsed;
use ephor_document::Document;
use ephor_engine::{Request, Status};
use ephor_external::ExternalData;
use ephor_ir::expressions::Proxy;
use ephor_ir::facts::Stage;
use ephor_policies::load::{Policies, Purpose};
use ephor_policies::policy_set::{Engine, Outcome};
use ephor_policies::scan::scan;
use ephor_report::policy_report::PolicyFacts;
use ephor_server::cluster::Cluster;
use ephor_server::cluster::live::Live;
use ephor_sources::context;
use ephor_sources::offline::Offline;
use ephor_testing::inputs::exceptions::Exceptions;
use ephor_testing::inputs::requests::Requests;
use ephor_value::Value;

use super::changes::{self, Destination};
use super::finish::Sink;
use super::results::{self, Output, Rendered, Style};

/// Everything that was loaded.
pub(super) struct Run<'r> {
    pub parsed: &'r Parsed,
    pub policies: Policies,
    pub resources: Vec<Document>,
    pub exceptions: Exceptions,
    pub payloads: Vec<Value>,
    pub checks: Vec<(Proxy, Value)>,
    pub requests: Requests,
    pub output: Output,
    pub destination: Destination,
    /// The cluster that rules may query.
    pub live: Option<Arc<Cluster>>,
}

impl Run<'_> {
    /// Evaluates and prints.
    ///
    /// # Errors
    /// A resource from which no request can be built.
    pub(super) fn evaluate(self, sources: Offline) -> Result<i32, String> {
        let lowered: Vec<_> = self.policies.policies.iter().filter_map(|p| p.policy.clone()).collect();
        let facts: HashMap<String, PolicyFacts> =
            lowered.iter().map(|p| (p.id(), PolicyFacts::of(p))).collect();
        let first = self.resources.first().map(|d| &d.value).or(self.payloads.first());
        let context = match (first, self.context()) {
            (Some(first), Err(text)) => {
                let name = first.text_at(&["metadata", "name"]);
                return Err(format!("failed to apply policies on resource {name} ({text})"));
            }
            (_, context) => context.unwrap_or_default(),
        };
        let set = self.exceptions.clone().with(lowered);
        let mut external: Arc<dyn ExternalData> = Arc::new(Offline { context: Some(context), ..sources });
        if let Some(cluster) = &self.live {
            let objects = external.objects().to_vec();
            let cluster = cluster.clone();
            external = Arc::new(Live { cluster, cache: None, objects, others: external, types: None });
        }
        let engine = Engine::new(set)
            .with_profile(self.requests.profile)
            .with_external(external)
            .with_values(self.requests.values.clone());
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
        let style = Style {
            output: self.output,
            audit_warn: self.parsed.on("audit-warn"),
            detailed: self.parsed.on("detailed-results"),
            colour: !self.parsed.on("remove-color") && crate::cli::shows_colours(),
            facts: &facts,
            seconds: std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |d| d.as_secs()),
        };
        let progress = progress(self.resources.len());
        let continues = self.parsed.on("continue-on-fail");
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
                        let name =
                            self.resources.get(i).map_or("", |d| d.value.text_at(&["metadata", "name"]));
                        sink.failed
                            .get_or_insert(format!("failed to apply policies on resource {name} ({text})"));
                    }
                }
            },
        );
        if let Some(p) = progress {
            p.finish_and_clear();
        }
        if let Some(text) = sink.failed.take() {
            let _ = out.flush();
            return Err(text);
        }
        let checks = self.checks(&engine, &style)?;
        let deletions = match self.policies.uncompiled(Purpose::Deletion) {
            Some(text) if first.is_some() => return Err(text),
            _ => self.deletions(&engine, &style)?,
        };
        if sink.holds {
            let _ = out.write_all(self.refused().as_bytes());
            let _ = out.write_all(&std::mem::take(&mut sink.held));
        }
        for payload in &self.payloads {
            let rendered = self.payload(payload, &engine, &style)?;
            self.take(&mut sink, rendered, &mut out, true);
        }
        for rendered in checks {
            self.take(&mut sink, rendered, &mut out, true);
        }
        for rendered in deletions {
            self.take(&mut sink, rendered, &mut out, false);
        }
        self.clean_up(&engine, &style, &mut sink, &mut out);
        let counts = self.finish(sink, &mut out);
        if self.parsed.on("deletions") {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let now = now.ok().and_then(|d| i64::try_from(d.as_secs()).ok()).unwrap_or(0);
            self.write_deletions(&engine, now, &mut out);
        }
        let code = self.exit_code(&counts, &mut out);
        let _ = out.flush();
        // The program ends now; freeing memory piece by piece would only take time.
        std::mem::forget((engine, self));
        Ok(code)
    }

    /// What expressions read, if the policies can be used at all.
    fn context(&self) -> Result<context::Context, String> {
        let context = match self.parsed.text("context-file") {
            "" => context::Context::default(),
            path => context::read(path)?,
        };
        self.policies.uncompiled(Purpose::Request).map_or(Ok(context), Err)
    }

    /// What policies answer to check requests of proxies.
    ///
    /// # Errors
    /// A policy that does not compile.
    fn checks(&self, engine: &Engine, style: &Style<'_>) -> Result<Vec<Rendered>, String> {
        for proxy in [Proxy::Http, Proxy::Envoy] {
            let is_checked = self.checks.iter().any(|(of, _)| *of == proxy);
            if let Some(text) = self.policies.uncompiled(Purpose::Check(proxy)).filter(|_| is_checked) {
                return Err(text);
            }
        }
        let render = |(proxy, request): &(Proxy, Value)| {
            let outcome = Outcome { policies: engine.check(request, *proxy), object: None };
            results::render(style, usize::MAX, request, &outcome)
        };
        Ok(self.checks.iter().map(render).collect())
    }

    fn payload(&self, payload: &Value, engine: &Engine, style: &Style<'_>) -> Result<Rendered, String> {
        let request = self.requests.of(payload.clone(), None, engine)?;
        Ok(results::render(style, usize::MAX, payload, &engine.evaluate_payload(&request)))
    }

    fn resource(&self, i: usize) -> &Value {
        const NOTHING: Value = Value::Null;
        self.resources.get(i).map_or(&NOTHING, |d| &d.value)
    }

    fn request(&self, i: usize, engine: &Engine) -> Result<Request, String> {
        self.requests.of(self.resource(i).clone(), None, engine)
    }

    /// The policies that the check refused, in Kyverno's two groups.
    fn refused(&self) -> String {
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
}

/// A progress bar for long runs on a terminal.
fn progress(count: usize) -> Option<indicatif::ProgressBar> {
    const LONG: usize = 2_000;
    (count >= LONG && std::io::stderr().is_terminal() && !std::io::stdout().is_terminal()).then(|| {
        let bar = indicatif::ProgressBar::new(count as u64);
        bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        bar
    })
}
