//! `ephor apply`: policies against resource files.
//!
//! Flags, order of work, texts and exit codes are Kyverno's (`docs/reference/cli.md`); what Kyverno
//! is silent about goes to standard error, one line each. The stages, each with the type that it
//! hands to the next one:
//!
//! 1. flags (`ApplyArgs`) → `OutputOptions` and `InputArguments`: what counts of them;
//! 2. arguments → `Inputs`: everything that is read, gathered once;
//! 3. inputs → `Engine` and `Run`: what is evaluated, and how it is shown;
//! 4. evaluate → `Sink`: results, printed in input order while they come;
//! 5. render → exit code: what follows all results, and files.
//!
//! - `arguments`: what is loaded.
//! - `conflict`: flags that exclude each other.
//! - `evaluate`: every resource meets every policy.
//! - `inputs`: policies, resources, exceptions, values and clusters, gathered.
//! - `log`: warnings and notices.
//! - `object_path`: how objects are named.
//! - `options`: the flags.
//! - `output`: what is printed.
//! - `output_options`: flags about output.
//! - `render`: results as text, tables, reports and documents.
//! - `run`: what was loaded, and how it is shown.

mod arguments;
pub(super) mod conflict;
mod evaluate;
mod inputs;
mod log;
mod object_path;
mod options;
mod output;
mod output_options;
mod render;
mod run;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ephor_engine::Profile;
use ephor_inspect::results::Collector;
use ephor_ir::Policy;
use ephor_policies::by_policy::ByPolicy;
use ephor_policies::pitfalls::Remarks;
use ephor_policies::policy_set::Engine;
use ephor_recording::Recording;
use ephor_report::formats::{Format, WriteError};
use ephor_report::policy_report::PolicyFacts;
use ephor_report::spool::Spool;
use ephor_sources::files::changed::ChangedFiles;
use ephor_value::{Value, clock};

use super::CommandError;
use super::arguments::{Global, given, use_threads};
use super::console::{self, StandardOutput, print};
use super::explain::decisions::{self, Wanted};
use super::outbound;
use super::outputs::{self, absolute};
use super::recorded::{Time, finish};
pub(super) use arguments::InputArguments;
pub(super) use inputs::Inputs;
use inputs::ObjectBlocks;
pub(super) use log::Log;
pub use options::ApplyArgs;
use options::check;
pub(super) use options::{InputFlags, ValueFlags, with_values_of_kyverno};
use output::ApplyOutput;
use output_options::OutputContext;
pub(super) use output_options::OutputOptions;
use render::baseline::Baseline;
use render::changes::destination;
use render::finish::CANNOT_RUN;
use render::results::Style;
use run::Run;

/// Runs the command; the result is the exit code.
///
/// # Errors
/// Whatever ends the run before anything is evaluated.
pub fn run(args: ApplyArgs, global: &Global) -> Result<i32, CommandError> {
    let args = &args.configured()?;
    use_threads(args.run.threads);
    check(args, global)?;
    let options = OutputOptions::read(args, global, OutputContext::here())?;
    let is_strict = options.strict;
    match recorded(args, global, options) {
        Err(error) if is_strict => {
            console::error(&format!("Error: {error}\n"));
            Ok(CANNOT_RUN)
        }
        done => done,
    }
}

/// Runs with the recording of the flags; what it does not hold ends the run with [`CANNOT_RUN`].
fn recorded(args: &ApplyArgs, global: &Global, options: OutputOptions) -> Result<i32, CommandError> {
    check_outputs(args, &options)?;
    let Some(recording) = args.recording.open(Time::Stands)? else {
        return apply(args, global, options, None);
    };
    let done = apply(args, global, options, Some(recording.clone()));
    let is_complete = finish(&recording)?;
    if is_complete { done } else { done.map(|_| CANNOT_RUN) }
}

fn apply(
    args: &ApplyArgs,
    global: &Global,
    options: OutputOptions,
    recording: Option<Recording>,
) -> Result<i32, CommandError> {
    let started = Instant::now();
    let log = Log::new(&options);
    let arguments = arguments_of(args, global, &options);
    outbound::configure_for(arguments.profile, recording);
    let destination = destination(
        given(&args.output.output).unwrap_or_default(),
        !args.output.stdin,
        args.output.only_failures,
    )?;
    let (mut inputs, blocks) = Inputs::gather(&arguments, &options, &log)?;
    if let Some(changed) = &options.changed {
        note_changes(changed, args, &inputs, &log);
    }
    let engine = inputs.engine()?;
    let invocation = inputs::invocation(&arguments, &engine);
    let explanation = match args.output.explain {
        true => {
            let wanted = Wanted { colour: options.colour, verbose: options.verbose, ..Wanted::default() };
            Some(decisions::text(&inputs, &engine, &wanted)?)
        }
        false => None,
    };
    let is_document = matches!(options.output, ApplyOutput::Own(format) if format != Format::Text);
    let baseline = match &options.baseline {
        Some(file) if !options.writes_baseline => Baseline::read(file)?,
        _ => Baseline::default(),
    };
    let run = Run { args, options, log, started, inputs, destination, invocation, baseline };
    let code = evaluated(run, blocks, engine, arguments.announces)?;
    match explanation {
        Some(text) if is_document => console::error(&format!("\n{text}")),
        Some(text) => print(&format!("\n{text}")),
        None => {}
    }
    Ok(code)
}

/// Says what a run on changed files alone does not show.
fn note_changes(changed: &ChangedFiles, args: &ApplyArgs, inputs: &Inputs, log: &Log) {
    let since = &changed.since;
    let is_changed = |policy: &String| changed.has(Path::new(policy)) || changed.has_below(Path::new(policy));
    if args.policies.iter().any(is_changed) {
        log.warn(&format!("policies changed since {since}, too: resources of other files are not evaluated"));
    }
    if inputs.subjects() == 0 {
        log.warn(&format!("no resource changed since {since}"));
    }
}

/// What the flags load.
fn arguments_of<'a>(args: &'a ApplyArgs, global: &'a Global, options: &OutputOptions) -> InputArguments<'a> {
    let is_plain = matches!(options.output, ApplyOutput::Plain | ApplyOutput::Table);
    InputArguments {
        policies: &args.policies,
        input: &args.input,
        payloads: Some(&args.payloads),
        values: &args.values,
        repository: Some(&args.repository),
        cluster: args.cluster.cluster.then_some((&args.cluster, global)),
        registry: args.run.registry,
        deprecations: true,
        warnings_as_errors: args.exit.warnings_as_errors,
        announces: is_plain && !args.output.stdin,
        details: !is_plain,
        streams: !args.output.explain && !args.output.deletions,
        shard: args.run.shard,
        severities: &args.run.severities,
        profile: if args.run.as_cluster { Profile::as_cluster() } else { Profile::kyverno_cli() },
    }
}

/// Evaluates and renders; the result is the exit code.
///
/// # Errors
/// A resource from which no request can be built, a file that cannot be read or written.
fn evaluated(
    run: Run<'_>,
    blocks: Option<ObjectBlocks>,
    engine: Engine,
    announces: bool,
) -> Result<i32, CommandError> {
    let remarks = Arc::new(Remarks::default());
    let engine = engine.with_remarks(remarks.clone());
    let lowered = run.inputs.policies.policies.iter().filter_map(|p| p.policy.as_ref());
    let facts: ByPolicy<PolicyFacts> = lowered.map(|p| (p, PolicyFacts::of(p))).collect();
    let mut out = StandardOutput::lock();
    let requests =
        |policy: &Policy, object: &Value| run.inputs.requests.of_policy(policy, object.clone(), &engine).ok();
    let collector = Collector::new(
        &engine,
        &requests,
        &run.inputs.policies.policies,
        !run.options.is_own() && run.options.report_files.is_empty(),
    );
    // Formats that hold changes of files.
    let of_fixes = [Format::Sarif, Format::Json, Format::Jsonl];
    let collector = match of_fixes.into_iter().any(|format| run.options.writes(format)) {
        true => collector.with_fixes(),
        false => collector,
    };
    let now = clock::since_epoch().as_secs();
    let style = Style {
        output: run.options.rendered(),
        collector: &collector,
        all_findings: run.options.needs_findings(),
        only_failures: run.options.only_failures,
        audit_warn: run.args.exit.audit_warn,
        detailed: run.args.output.detailed_results,
        colour: run.options.colour,
        facts: &facts,
        seconds: now,
    };
    let sink = match blocks {
        None => run.evaluate(&engine, None, &style, &mut out)?,
        // What an output begins with, and whether there is one, is known when all was read.
        blocks => {
            let mut waiting = Spool::default();
            let sink = run.evaluate(&engine, blocks, &style, &mut waiting)?;
            if let Some(resource) = run.inputs.missed() {
                return Err(CommandError::OtherLookup { resource: resource.into() });
            }
            if announces {
                out.write_all(run.inputs.announcement().as_bytes()).map_err(WriteError::from)?;
            }
            waiting.reader().copy(&mut out).map_err(WriteError::from)?;
            sink
        }
    };
    remarks.take().iter().for_each(|text| run.log.warn(text));
    let verdict = run.finish(sink, &collector, &mut out)?;
    if run.args.output.deletions {
        let now = i64::try_from(clock::since_epoch().as_secs()).unwrap_or(0);
        run.write_deletions(&engine, now, &mut out);
    }
    let code = run.exit_code(&verdict, &mut out);
    out.finish()?;
    drop(collector);
    // The program ends now; freeing memory piece by piece would only take time.
    std::mem::forget((engine, run));
    Ok(code)
}

/// Refuses two outputs of one path, and an output that is an input, before anything is written.
fn check_outputs(args: &ApplyArgs, options: &OutputOptions) -> Result<(), CommandError> {
    let baseline = options.baseline.as_deref().filter(|_| options.writes_baseline);
    let reports = options.report_files.iter().map(|(_, file)| ("--report-file", file.as_str()));
    let others = [
        ("--output", given(&args.output.output)),
        ("--baseline", baseline),
        ("--record", args.recording.written()),
    ];
    let others = others.into_iter().filter_map(|(flag, path)| Some((flag, path?)));
    let named: Vec<_> = reports.chain(others).collect();
    outputs::distinct(named.iter().copied())?;
    let input = &args.input;
    let inputs = [
        ("a policy file", args.policies.clone()),
        ("a resource file", input.resources()),
        ("a file of targets", input.target_resources()),
        ("a file of parameters", input.parameter_resources()),
        ("a file of exceptions", input.exceptions()),
        ("the recording", args.recording.read().map(String::from).into_iter().collect()),
        ("the values file", given(&args.values.values_file).map(String::from).into_iter().collect()),
    ];
    for (flag, path) in named {
        let whole = absolute(Path::new(path));
        let is_this = |file: &String| whole.is_file() && absolute(Path::new(file)) == whole;
        if let Some((input, _)) = inputs.iter().find(|(_, files)| files.iter().any(is_this)) {
            return Err(CommandError::OverwritesInput { path: path.into(), input, flag });
        }
    }
    Ok(())
}
