//! Evaluating: every resource meets every policy, in parallel; results come in input order.
//!
//! In: a run with everything that was loaded, and the engine. Out: a [`Sink`]: what was printed and
//! counted on the way, from which `render::finish` builds the end of the output.
//!
//! - `cleanup`: cleanup and deleting policies.

mod cleanup;

use std::io::{IsTerminal, Write};

use ephor_engine::Status;
use ephor_engine::request::NoObjects;
use ephor_ir::expressions::Proxy;
use ephor_ir::facts::Stage;
use ephor_policies::load::Purpose;
use ephor_policies::policy_set::{Engine, Outcome};
use ephor_policies::scan;
use ephor_report::formats::WriteError;
use ephor_report::policy_report::Summary;
use ephor_report::run::Order;
use ephor_testing::inputs::resources::Resources;
use ephor_value::{Value, parallel};
use indicatif::ProgressBar;

use super::inputs::{CheckRequest, ObjectBlocks, PlacedObject};
use super::render::changes::{self, Changes};
use super::render::results::{self, Rendered, Style};
use super::render::sink::Sink;
use super::render::texts::Texts;
use super::run::Run;
use crate::cli::{CommandError, progress};

/// How many resources in memory are in work at a time.
const BLOCK: usize = 256;

/// What failures of policies that delete are: Kyverno's word for objects that stay.
fn remains(count: usize) -> String {
    let objects = if count == 1 { "1 object".to_string() } else { format!("{count} objects") };
    format!("of cleanup and deleting policies, failed counts {objects} that would not be deleted")
}

impl Run<'_> {
    /// Evaluates all policies on everything; results are printed on the way. `blocks` are objects
    /// that are read meanwhile.
    ///
    /// # Errors
    /// A resource from which no request can be built, a policy that does not compile.
    pub(super) fn evaluate(
        &self,
        engine: &Engine,
        blocks: Option<ObjectBlocks>,
        style: &Style<'_>,
        out: &mut impl Write,
    ) -> Result<Sink, CommandError> {
        // An error of a deleting policy ends the run; no result is printed then.
        let deletes = engine.set().policies().iter().any(|p| p.stage == Stage::Schedule);
        let mut sink = Sink { holds: deletes || engine.set().has_phases(), ..Sink::default() };
        for _ in self.inputs.policies.policies.iter().filter(|p| p.refused.is_some()) {
            sink.counts.add(Status::Error);
        }
        if !sink.holds {
            out.write_all(self.refused().as_bytes()).map_err(WriteError::from)?;
        }
        // Every shard loads the policies; the first one says what is refused.
        if self.args.run.shard.index() == 0 {
            self.found(&mut sink, Order::default(), style.collector.refused())?;
        }
        self.resources(engine, blocks, style, &mut sink, out)?;
        let checks = self.checks(engine, style)?;
        let deletions = match self.inputs.policies.uncompiled(Purpose::Deletion) {
            Some(text) if self.inputs.first().is_some() => return Err(CommandError::Policy(text)),
            _ => self.deletions(engine, style)?,
        };
        if sink.holds {
            out.write_all(self.refused().as_bytes()).map_err(WriteError::from)?;
            std::mem::take(&mut sink.held).reader().copy(out).map_err(WriteError::from)?;
        }
        for payload in &self.inputs.payloads {
            let rendered = self.payload(payload, engine, style)?;
            self.take(&mut sink, rendered, out, true);
        }
        for rendered in checks {
            self.take(&mut sink, rendered, out, true);
        }
        let mut remaining: usize = deletions.iter().map(|rendered| rendered.counts.of(Status::Fail)).sum();
        for rendered in deletions {
            self.take(&mut sink, rendered, out, false);
        }
        remaining += self.clean_up(engine, style, &mut sink, out);
        if remaining > 0 {
            self.log.warn(&remains(remaining));
        }
        Ok(sink)
    }

    /// Evaluates all policies on the resources, in parallel: on those in memory, or on blocks of
    /// which the next one is read meanwhile.
    ///
    /// # Errors
    /// The first resource that cannot be processed, a document that is no object, or a file that
    /// cannot be written.
    fn resources(
        &self,
        engine: &Engine,
        blocks: Option<ObjectBlocks>,
        style: &Style<'_>,
        sink: &mut Sink,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        let progress = self.progress(blocks.as_ref());
        let shows = |progress: &ProgressBar, at: u64, counts: &Summary| {
            let violations = [Status::Fail, Status::Warn, Status::Error].map(|s| counts.of(s));
            progress.set_position(at);
            progress.set_message(format!("{} violations", violations.iter().sum::<usize>()));
        };
        sink.late = blocks.as_ref().map(|_| Texts::default());
        let Some(ObjectBlocks { first: mut block, mut reader }) = blocks else {
            let mut done = 0;
            let own: Vec<PlacedObject<'_>> = self.inputs.objects.own().collect();
            for block in own.chunks(BLOCK) {
                let results = self.block(block, engine, style);
                self.add_block(block, results, sink, out);
                done += block.len();
                progress.iter().for_each(|p| shows(p, done as u64, &sink.counts));
            }
            progress.iter().for_each(ProgressBar::finish_and_clear);
            return sink.failed.take().map_or(Ok(()), Err);
        };
        loop {
            let is_last = reader.is_at_end();
            let read = || if is_last { Ok(Resources::default()) } else { reader.block() };
            let objects = block.objects();
            let (results, next) = parallel::join(|| self.block(&objects, engine, style), read);
            self.add_block(&objects, results, sink, out);
            progress.iter().for_each(|p| shows(p, reader.read(), &sink.counts));
            if let Some(error) = sink.failed.take() {
                return Err(error);
            }
            if is_last {
                break;
            }
            block = reader.take(next, &self.log)?;
            self.inputs.objects.add(block.objects().len());
        }
        progress.iter().for_each(ProgressBar::finish_and_clear);
        for text in sink.late.take().iter().flat_map(Texts::iter) {
            self.log.warn(&text?);
        }
        Ok(())
    }

    /// Evaluates all policies on a block of resources.
    fn block(
        &self,
        block: &[PlacedObject<'_>],
        engine: &Engine,
        style: &Style<'_>,
    ) -> Vec<Result<(Rendered, Changes), NoObjects>> {
        let requests = &self.inputs.requests;
        scan::block(
            engine,
            block,
            |object| self.request(object.document, engine),
            |object, request, outcome| {
                requests.with_own_values(&object.document.value, request, outcome, engine)
            },
            |object, outcome| {
                let document = object.document;
                let resource = &document.value;
                // Results are reported for the mutated object; without one, for the original.
                let shown = outcome.object.as_ref().filter(|o| !o.is_null()).unwrap_or(resource);
                let changes = changes::render(engine.set(), resource, outcome, &self.destination);
                let rendered = results::render(style, Some(document), shown, outcome);
                (Rendered { order: Order { stage: 1, object: object.at }, ..rendered }, changes)
            },
        )
    }

    /// Adds what a block of resources adds.
    fn add_block(
        &self,
        block: &[PlacedObject<'_>],
        results: Vec<Result<(Rendered, Changes), NoObjects>>,
        sink: &mut Sink,
        out: &mut impl Write,
    ) {
        for (object, rendered) in block.iter().zip(results) {
            self.add_resource(&object.document.value, rendered, sink, out);
        }
    }

    /// Adds what a resource adds, unless the run has failed.
    fn add_resource(
        &self,
        resource: &Value,
        rendered: Result<(Rendered, Changes), NoObjects>,
        sink: &mut Sink,
        out: &mut impl Write,
    ) {
        match rendered {
            Ok((rendered, changes)) if sink.failed.is_none() => match self.show(sink, changes, out) {
                Ok(()) => self.take_or_hold(sink, rendered, out),
                Err(error) => sink.failed = Some(error),
            },
            Ok(_) => {}
            Err(_) if self.args.exit.continue_on_fail => {}
            Err(text) => {
                let name = resource.text_at(&["metadata", "name"]).into();
                let cause = Box::new(CommandError::input(text));
                sink.failed.get_or_insert(CommandError::Resource { name, cause });
            }
        }
    }

    /// What policies answer to check requests of proxies.
    ///
    /// # Errors
    /// A policy that does not compile.
    fn checks(&self, engine: &Engine, style: &Style<'_>) -> Result<Vec<Rendered>, CommandError> {
        for proxy in [Proxy::Http, Proxy::Envoy] {
            let is_checked = self.inputs.checks.iter().any(|(of, _)| *of == proxy);
            if let Some(text) = self.inputs.policies.uncompiled(Purpose::Check(proxy)).filter(|_| is_checked)
            {
                return Err(CommandError::Policy(text));
            }
        }
        let render = |(proxy, request): &CheckRequest| {
            let outcome = Outcome { policies: engine.check(request, *proxy), object: None };
            results::render(style, None, request, &outcome)
        };
        Ok(self.inputs.checks.iter().map(render).collect())
    }

    fn payload(&self, payload: &Value, engine: &Engine, style: &Style<'_>) -> Result<Rendered, CommandError> {
        let request = self.inputs.requests.of(payload.clone(), None, engine).map_err(CommandError::input)?;
        Ok(results::render(style, None, payload, &engine.evaluate_payload(&request)))
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
            let group = self.inputs.policies.policies.iter().filter_map(|p| {
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

    /// A progress bar for long runs on a terminal: resources or bytes, violations, time left.
    /// Results that are printed on the way have no bar between them.
    fn progress(&self, blocks: Option<&ObjectBlocks>) -> Option<ProgressBar> {
        const LONG: usize = 2_000;
        let count = self.inputs.objects.count();
        let is_free = self.options.is_own() || blocks.is_some() || !std::io::stdout().is_terminal();
        match blocks {
            _ if !is_free || self.options.quiet => None,
            Some(blocks) => progress::bytes(blocks.reader.size()),
            None if count >= LONG => progress::bar(count, "resources"),
            None => None,
        }
    }
}
