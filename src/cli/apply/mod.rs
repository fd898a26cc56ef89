//! `ephor apply`: policies against resource files.
//!
//! Flags, order of work, texts and exit codes are Kyverno's (`docs/reference/cli.md`); what Kyverno
//! is silent about goes to standard error, one line each. Here is the order of work until
//! everything is loaded: `options` checks flags, `gather` loads, `evaluate` and `cleanup` evaluate,
//! `results` and `finish` print.

mod baseline;
mod changes;
mod cleanup;
mod cluster;
mod evaluate;
mod exceptions;
mod findings;
mod finish;
mod gather;
mod inputs;
mod log;
mod options;
mod output_options;
mod results;
mod when;

use std::path::Path;

use ephor_engine::Profile;
use ephor_ir::expressions::Proxy;
use ephor_ir::facts::Stage;
use ephor_policies::load::{LoadedPolicy, Policies};
use ephor_report::formats::Format;
use ephor_sources::payload;
use ephor_value::Value;

use super::explain_decisions::{self, Wanted};
use super::outputs::{self, absolute};
use super::{Error, Global, given, print, use_threads};
use evaluate::Run;
pub use gather::helps;
pub(super) use inputs::{Arguments, Inputs};
pub(super) use log::Log;
pub(super) use options::with_values_of_kyverno;
pub use options::{Args, Conflict};
pub(super) use options::{Input, Values};
use options::{Payloads, check};
pub(super) use output_options::OutputOptions;
use output_options::Surroundings;
pub(super) use output_options::report_file;
use results::Output;

/// Runs the command; the result is the exit code.
///
/// # Errors
/// Whatever ends the run before anything is evaluated.
pub fn run(args: &Args, global: &Global) -> Result<i32, Error> {
    use_threads(args.run.threads);
    check(args, global)?;
    let options = OutputOptions::read(args, global, Surroundings::here())?;
    let is_strict = options.strict;
    match apply(args, global, options) {
        Err(error) if is_strict => {
            eprintln!("Error: {error}");
            Ok(CANNOT_RUN)
        }
        done => done,
    }
}

/// The exit code of `--strict` for what cannot be used.
const CANNOT_RUN: i32 = 2;

fn apply(args: &Args, global: &Global, options: OutputOptions) -> Result<i32, Error> {
    let started = std::time::Instant::now();
    let log = Log::new(&options);
    let profile = if args.run.as_cluster { Profile::as_cluster() } else { Profile::kyverno_cli() };
    super::outbound::configure_for(profile);
    check_outputs(args, &options)?;
    let destination =
        changes::destination(given(&args.output.output).unwrap_or_default(), !args.output.stdin)?;
    let arguments = Arguments {
        policies: &args.policies,
        input: &args.input,
        values: &args.values,
        repository: Some(&args.repository),
        cluster: args.cluster.cluster.then_some((&args.cluster, global)),
        registry: args.run.registry,
        deprecations: true,
        warnings_as_errors: args.exit.warnings_as_errors,
        details: !matches!(options.output, Output::Plain | Output::Table),
        profile,
    };
    let mut inputs = Inputs::read(&arguments, &options, &log)?;
    let payloads = payloads(&args.payloads)?;
    let looks = |p: &LoadedPolicy| p.policy.as_ref().is_some_and(|p| p.stage == Stage::Payloads);
    if !payloads.is_empty() && !inputs.policies.policies.iter().any(looks) {
        log.warn("payloads are checked by ValidatingPolicy objects in JSON mode only, and none is given");
    }
    if !args.output.stdin && matches!(options.output, Output::Plain | Output::Table) {
        let count = inputs.resources.len() + payloads.len();
        print(&progress(&inputs.policies, count, inputs.exceptions.len()));
    }
    let checks = check_requests(&args.payloads)?;
    let engine = inputs.engine(payloads.first())?;
    let invocation = inputs.invocation(&arguments, &engine);
    let explanation = match args.output.explain {
        true => {
            let wanted = Wanted { colour: options.colour, verbose: options.verbose, ..Wanted::default() };
            Some(explain_decisions::text(&inputs, &engine, &wanted)?)
        }
        false => None,
    };
    let is_document = matches!(options.output, Output::Own(format) if format != Format::Text);
    let run = Run {
        args,
        options,
        log,
        started,
        policies: inputs.policies,
        resources: inputs.resources,
        payloads,
        checks,
        requests: inputs.requests,
        destination,
        invocation,
    };
    let code = run.evaluate(engine)?;
    match explanation {
        Some(text) if is_document => eprint!("\n{text}"),
        Some(text) => print(&format!("\n{text}")),
        None => {}
    }
    Ok(code)
}

/// Refuses two outputs of one path, and an output that is an input, before anything is written.
fn check_outputs(args: &Args, options: &OutputOptions) -> Result<(), Error> {
    let baseline = options.baseline.as_deref().filter(|_| options.writes_baseline);
    let report = options.report_file.as_ref().map(|(_, file)| file.as_str());
    let named =
        [("--output", given(&args.output.output)), ("--report-file", report), ("--baseline", baseline)];
    let named: Vec<_> = named.into_iter().filter_map(|(flag, path)| Some((flag, path?))).collect();
    outputs::distinct(named.iter().copied())?;
    let input = &args.input;
    let inputs = [
        ("a policy file", args.policies.clone()),
        ("a resource file", input.resources()),
        ("a file of targets", input.target_resources()),
        ("a file of parameters", input.parameter_resources()),
        ("a file of exceptions", input.exceptions()),
        ("the values file", given(&args.values.values_file).map(String::from).into_iter().collect()),
    ];
    for (flag, path) in named {
        let whole = absolute(Path::new(path));
        let is_this = |file: &String| whole.is_file() && absolute(Path::new(file)) == whole;
        if let Some((input, _)) = inputs.iter().find(|(_, files)| files.iter().any(is_this)) {
            return Err(Error::OverwritesInput { path: path.into(), input, flag });
        }
    }
    Ok(())
}

fn progress(policies: &Policies, resources: usize, exceptions: usize) -> String {
    let rules: usize = policies.policies.iter().map(|p| p.rule_count).sum();
    let rules = rules + policies.cleanups.len();
    let with = match exceptions {
        0 => String::new(),
        n => format!(" with {n} exception(s)"),
    };
    format!("\nApplying {rules} policy rule(s) to {resources} resource(s){with}...\n")
}

/// Reads the payloads of any form.
fn payloads(flags: &Payloads) -> Result<Vec<Value>, Error> {
    let read = |path: &String| Ok(payload::any_form(path)?.with_float_numbers());
    flags.any_form().iter().map(read).collect()
}

/// Reads the check requests of proxies.
fn check_requests(flags: &Payloads) -> Result<Vec<(Proxy, Value)>, Error> {
    let read = |paths: Vec<String>, proxy: Proxy| -> Result<Vec<(Proxy, Value)>, Error> {
        paths.iter().map(|path| Ok((proxy, payload::check_request(path, proxy)?))).collect()
    };
    let envoy = read(flags.envoy_checks(), Proxy::Envoy)?;
    let mut all = read(flags.http_checks(), Proxy::Http)?;
    all.extend(envoy);
    Ok(all)
}
