//! `ephor apply`: policies against resource files.
//!
//! Flags, order of work, texts and exit codes are Kyverno's (`docs/cli.md`); what Kyverno
//! is silent about goes to standard error, one line each. Here is the order of work until everything
//! is loaded: `options` checks flags, `gather` loads, `evaluate` and `cleanup` evaluate,
//! `results` and `finish` print.

mod changes;
mod cleanup;
mod cluster;
mod evaluate;
mod exceptions;
mod finish;
mod gather;
mod options;
mod results;
mod when;

use std::sync::Arc;

use ephor_engine::Profile;
use ephor_engine::request::UserParts;
use ephor_ir::expressions::Proxy;
use ephor_ir::facts::Stage;
use ephor_kubernetes::Types;
use ephor_policies::load::{LoadedPolicy, Policies};
use ephor_sources::offline::Offline;
use ephor_sources::payload;
use ephor_sources::registry::client::registry;
use ephor_testing::inputs::Refused;
use ephor_testing::inputs::requests::Requests;
use ephor_testing::inputs::user;
use ephor_testing::inputs::values::Values;
use ephor_value::Value;

use super::flags::{self, Parsed};
use super::{Page, command_help, print, warn};
use evaluate::Run;
use gather::{deprecations, is_global, load_exceptions, load_policies, load_resources, without_duplicates};
use options::{FLAGS, check_arguments, output_of};
use results::Output;

const ABOUT: &str = "Applies policies on resources and prints what they say.";
const EXAMPLES: &str = "  # check manifests against a folder of policies\n  ephor apply policies/ -r deployment.yaml\n\n  # the same as a policy report\n  ephor apply policies/ -r deployment.yaml --policy-report\n";

pub(super) const PAGE: Page =
    Page { name: "apply", arguments: "<policy source>...", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command; the result is the exit code.
///
/// # Errors
/// Kyverno's text for whatever ends the run before anything is evaluated.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if parsed.on("help") {
        print(&command_help("apply", PAGE.arguments, ABOUT, FLAGS, EXAMPLES));
        return Ok(0);
    }
    if parsed.number("threads") > 0 {
        let threads = usize::try_from(parsed.number("threads")).unwrap_or(1).min(256);
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    check_arguments(&parsed)?;
    let profile = if parsed.on("as-cluster") { Profile::as_cluster() } else { Profile::kyverno_cli() };
    super::outbound::configure_for(profile);
    let destination = changes::destination(parsed.text("output"), !parsed.on("stdin"))?;
    let user = read_user(&parsed)?;
    let mut values = match parsed.text("values-file") {
        "" => Values::default(),
        path => Values::read(path, path).map_err(print_refusal)?,
    };
    for text in values.set(parsed.list("set")) {
        warn(&text);
    }
    let mut policies = load_policies(&parsed)?;
    deprecations(&policies.deprecations, parsed.on("warnings-as-errors"))?;
    let load = |flag: &str| load_resources(parsed.list(flag), profile, parsed.on("policy-report"));
    let (targets, params) = (load("target-resource")?, load("parameter-resource")?);
    policies.bind(params.iter().map(|d| d.value.clone()).collect());
    let mut live = None;
    let resources = match parsed.on("cluster") {
        true => match cluster::find_cluster(&parsed)? {
            Ok(found) => {
                let loaded = cluster::load(&found, &parsed, &policies, profile)?;
                for (name, namespace) in loaded.namespaces {
                    values.namespaces.entry(name).or_insert(namespace);
                }
                live = Some(found);
                loaded.objects
            }
            Err(why) => {
                warn(&format!("no cluster: {why}"));
                cluster::find(parsed.list("resource"))?;
                Vec::new()
            }
        },
        false => load("resource")?,
    };
    let payloads = payloads(&parsed)?;
    let looks = |p: &LoadedPolicy| p.policy.as_ref().is_some_and(|p| p.stage == Stage::Payloads);
    if !payloads.is_empty() && !policies.policies.iter().any(looks) {
        warn("payloads are checked by ValidatingPolicy objects in JSON mode only, and none is given");
    }
    let resources = without_duplicates(resources);
    let globals = resources.iter().filter(|d| is_global(&d.value)).map(|d| d.value.clone()).collect();
    let exceptions = load_exceptions(&parsed, &policies, &resources)?;
    let output = output_of(&parsed);
    if !parsed.on("stdin")
        && !matches!(output, Output::ReportYaml | Output::ReportJson | Output::Exceptions | Output::Other)
    {
        print(&progress(&policies, resources.len() + payloads.len(), exceptions.len()));
    }
    let checks = check_requests(&parsed)?;
    let sources = Offline {
        objects: [&resources, &targets, &params].into_iter().flatten().map(|d| d.value.clone()).collect(),
        globals,
        context: None,
        types: crds(&parsed, profile)?,
        registry: registry(parsed.on("registry")),
        strict: false,
    };
    let requests = Requests {
        values: Arc::new(values),
        user,
        profile,
        details: !matches!(output, Output::Plain | Output::Table),
        operation: None,
    };
    let run = Run {
        parsed: &parsed,
        policies,
        resources,
        exceptions,
        payloads,
        checks,
        requests,
        output,
        destination,
        live,
    };
    run.evaluate(sources)
}

/// Prints the notice and the hint of an error; returns its text.
fn print_refusal(refused: Refused) -> String {
    refused.notice.iter().for_each(|notice| print(notice));
    refused.hint.iter().for_each(|hint| warn(hint));
    refused.text
}

/// The types of objects with those of `--crd-paths`.
fn crds(parsed: &Parsed, profile: Profile) -> Result<Option<Arc<Types>>, String> {
    let paths = parsed.list("crd-paths");
    if paths.is_empty() {
        return Ok(None);
    }
    let definitions = load_resources(paths, profile, false)?;
    Ok(Some(Types::with(definitions.iter().map(|d| &d.value))))
}

fn read_user(parsed: &Parsed) -> Result<Option<UserParts>, String> {
    let path = parsed.text("userinfo");
    if path.is_empty() {
        return Ok(None);
    }
    let (parts, deprecated) = user::read(path).map_err(print_refusal)?;
    if deprecated {
        print(&user::deprecated(path));
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
fn payloads(parsed: &Parsed) -> Result<Vec<Value>, String> {
    parsed.list("json").iter().map(|path| payload::any_form(path).map(|v| v.with_float_numbers())).collect()
}

/// Reads the check requests of proxies.
fn check_requests(parsed: &Parsed) -> Result<Vec<(Proxy, Value)>, String> {
    let read = |flag: &str, proxy: Proxy| -> Result<Vec<(Proxy, Value)>, String> {
        parsed.list(flag).iter().map(|path| Ok((proxy, payload::check_request(path, proxy)?))).collect()
    };
    let envoy = read("envoy-payload", Proxy::Envoy)?;
    let mut all = read("http-payload", Proxy::Http)?;
    all.extend(envoy);
    Ok(all)
}
