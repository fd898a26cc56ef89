//! `ephor apply`: policies against resource files.
//!
//! Flags, order of work, texts and exit codes are Kyverno's (`docs/cli.md`); what Kyverno
//! is silent about goes to standard error, one line each. Here is the order of work until everything
//! is loaded: `options` checks flags, `gather` loads, `evaluate` and `cleanup` evaluate,
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
mod log;
mod options;
mod output_options;
mod results;
mod when;

use std::sync::Arc;

use ephor_engine::Profile;
use ephor_engine::request::UserParts;
use ephor_ir::expressions::Proxy;
use ephor_ir::facts::Stage;
use ephor_kubernetes::Types;
use ephor_policies::load::{LoadedPolicy, Policies};
use ephor_report::formats::Format;
use ephor_sources::offline::Offline;
use ephor_sources::payload;
use ephor_sources::registry::client::registry;
use ephor_testing::inputs::Refused;
use ephor_testing::inputs::requests::Requests;
use ephor_testing::inputs::user;
use ephor_testing::inputs::values::Values;
use ephor_value::Value;

use super::{Error, Global, explain_decisions, given, print, use_threads};
use evaluate::Run;
use gather::{deprecations, is_global, load_exceptions, load_policies, load_resources, without_duplicates};
use log::Log;
pub(super) use options::with_values_of_kyverno;
pub use options::{Args, Conflict};
use options::{Input, check};
pub(super) use output_options::report_file;
use output_options::{OutputOptions, Surroundings};
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
    let destination =
        changes::destination(given(&args.output.output).unwrap_or_default(), !args.output.stdin)?;
    let user = read_user(given(&args.values.userinfo), &log)?;
    let mut values = match given(&args.values.values_file) {
        None => Values::default(),
        Some(path) => Values::read(path, path).map_err(|refused| refusal(refused, &log))?,
    };
    for text in values.set(&args.values.set()) {
        log.warn(&text);
    }
    let mut policies = load_policies(args, &log)?;
    deprecations(&policies.deprecations, policies.migrated(), args.exit.warnings_as_errors, &log)?;
    let load = |paths: &[String]| load_resources(paths, profile, &options, &log);
    let targets = load(&args.input.target_resources())?;
    let params = load(&args.input.parameter_resources())?;
    policies.bind(params.iter().map(|d| d.value.clone()).collect());
    let mut live = None;
    let resources = match args.cluster.cluster {
        true => match cluster::find_cluster(&args.cluster, global)? {
            Ok(found) => {
                let loaded = cluster::load(&found, args, &policies, profile, &log)?;
                for (name, namespace) in loaded.namespaces {
                    values.namespaces.entry(name).or_insert(namespace);
                }
                live = Some(found);
                loaded.objects
            }
            Err(why) => {
                log.warn(&format!("no cluster: {why}"));
                cluster::find(&args.input.resources(), &log)?;
                Vec::new()
            }
        },
        false => load(&args.input.resources())?,
    };
    let payloads = payloads(&args.input)?;
    let looks = |p: &LoadedPolicy| p.policy.as_ref().is_some_and(|p| p.stage == Stage::Payloads);
    if !payloads.is_empty() && !policies.policies.iter().any(looks) {
        log.warn("payloads are checked by ValidatingPolicy objects in JSON mode only, and none is given");
    }
    let resources = without_duplicates(resources, &log);
    let globals = resources.iter().filter(|d| is_global(&d.value)).map(|d| d.value.clone()).collect();
    let exceptions = load_exceptions(args, &policies, &resources, &log)?;
    if !args.output.stdin && matches!(options.output, Output::Plain | Output::Table) {
        print(&progress(&policies, resources.len() + payloads.len(), exceptions.len()));
    }
    let checks = check_requests(&args.input)?;
    let sources = Offline {
        objects: [&resources, &targets, &params].into_iter().flatten().map(|d| d.value.clone()).collect(),
        globals,
        context: None,
        types: crds(&args.input.definitions(), profile, &options, &log)?,
        registry: registry(args.run.registry),
        strict: false,
    };
    let requests = Requests {
        values: Arc::new(values),
        user,
        profile,
        details: !matches!(options.output, Output::Plain | Output::Table),
        operation: None,
    };
    let explanation = match args.output.explain {
        true => {
            let details = (None, options.colour, options.verbose);
            Some(explain_decisions::text(&policies, &resources, &requests, details)?)
        }
        false => None,
    };
    let is_document = matches!(options.output, Output::Own(format) if format != Format::Text);
    let run = Run {
        args,
        options,
        log,
        started,
        policies,
        resources,
        exceptions,
        payloads,
        checks,
        requests,
        destination,
        live,
    };
    let code = run.evaluate(sources)?;
    match explanation {
        Some(text) if is_document => eprint!("\n{text}"),
        Some(text) => print(&format!("\n{text}")),
        None => {}
    }
    Ok(code)
}

/// Prints the notice and the hint of an error; returns its text.
fn refusal(refused: Refused, log: &Log) -> Error {
    refused.notice.iter().for_each(|notice| log.notice(notice));
    refused.hint.iter().for_each(|hint| log.warn(hint));
    Error::input(refused.text)
}

/// The types of objects with those of `--crd-paths`.
fn crds(
    paths: &[String],
    profile: Profile,
    options: &OutputOptions,
    log: &Log,
) -> Result<Option<Arc<Types>>, Error> {
    if paths.is_empty() {
        return Ok(None);
    }
    let definitions = load_resources(paths, profile, options, log)?;
    Ok(Some(Types::with(definitions.iter().map(|d| &d.value))))
}

fn read_user(path: Option<&str>, log: &Log) -> Result<Option<UserParts>, Error> {
    let Some(path) = path else { return Ok(None) };
    let (parts, deprecated) = user::read(path).map_err(|refused| refusal(refused, log))?;
    if deprecated {
        log.notice(&user::deprecated(path));
    }
    Ok(Some(parts))
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
fn payloads(input: &Input) -> Result<Vec<Value>, Error> {
    let read = |path: &String| Ok(payload::any_form(path)?.with_float_numbers());
    input.payloads().iter().map(read).collect()
}

/// Reads the check requests of proxies.
fn check_requests(input: &Input) -> Result<Vec<(Proxy, Value)>, Error> {
    let read = |paths: Vec<String>, proxy: Proxy| -> Result<Vec<(Proxy, Value)>, Error> {
        paths.iter().map(|path| Ok((proxy, payload::check_request(path, proxy)?))).collect()
    };
    let envoy = read(input.envoy_checks(), Proxy::Envoy)?;
    let mut all = read(input.http_checks(), Proxy::Http)?;
    all.extend(envoy);
    Ok(all)
}
