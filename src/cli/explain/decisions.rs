//! `ephor explain POLICY -r RESOURCE`: what policies decide about resources, and why.
//!
//! In: what `apply` loads, and which policy, rule and object are wanted. Out: text, or JSON. Each
//! policy is evaluated on the object that `apply` shows it: with what other policies changed
//! before, with the values, exceptions and external data of the run.

use ephor_document::Document;
use ephor_engine::Profile;
use ephor_inspect::explain::decisions::Decided;
use ephor_inspect::explain::run::{DecidedRun, key};
use ephor_policies::load::LoadedPolicy;
use ephor_policies::policy_set::Engine;
use ephor_report::run::ResourceName;
use ephor_value::Value;
use ephor_value::print::json;
use ephor_value::shard::Shard;
use ephor_value::suggest::did_you_mean;

use crate::cli::apply::{InputArguments, Inputs, Log, OutputOptions};
use crate::cli::arguments::{Global, given};
use crate::cli::console::print;
use crate::cli::explain::options::{ExplainArgs, ExplainFormat};
use crate::cli::{CommandError, console};

/// Which decisions are wanted, and how they are shown.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct Wanted<'a> {
    /// The only policy.
    pub policy: Option<&'a str>,
    /// The only rule.
    pub rule: Option<&'a str>,
    /// The only object, `KIND/[NAMESPACE/]NAME`.
    pub object: Option<&'a str>,
    /// Whether colours are shown.
    pub colour: bool,
    /// Whether decisions without influence are shown.
    pub verbose: bool,
}

/// Prints what the policies decide about each resource.
///
/// # Errors
/// An input that cannot be read, or no policy, rule or object of the name.
pub(in crate::cli) fn run(args: &ExplainArgs, global: &Global) -> Result<i32, CommandError> {
    let flags = &args.decisions;
    let verbose = flags.tree || given(&global.verbosity).is_some();
    let colour = !args.remove_color && console::shows_colours();
    let options = OutputOptions::of_explanation(&args.input, verbose, colour);
    let log = Log::new(&options);
    let arguments = InputArguments {
        policies: &args.policies,
        input: &args.input,
        payloads: None,
        values: &args.values,
        repository: None,
        cluster: None,
        registry: flags.registry,
        deprecations: false,
        warnings_as_errors: false,
        announces: false,
        details: false,
        streams: false,
        shard: Shard::default(),
        severities: &[],
        profile: if flags.as_cluster { Profile::as_cluster() } else { Profile::kyverno_cli() },
    };
    let (mut inputs, _) = Inputs::gather(&arguments, &options, &log)?;
    if inputs.policies.policies.is_empty() {
        let causes = log.notes().into_iter().map(|note| note.text).collect();
        return Err(CommandError::NoPolicyFound { arguments: args.policies.join(", "), causes });
    }
    let engine = inputs.engine_of_compiled()?;
    let wanted = Wanted {
        policy: given(&flags.policy),
        rule: given(&args.rule),
        object: given(&flags.object),
        colour,
        verbose,
    };
    if args.output_format != ExplainFormat::Json {
        print(&text(&inputs, &engine, &wanted)?);
        return Ok(0);
    }
    let mut list = Vec::new();
    for resource in chosen(&inputs, &wanted)? {
        let decided = about(&inputs, &engine, resource, &wanted)?;
        let name = Value::from(&*headline(resource));
        let rules = Value::list(decided.iter().map(Decided::to_value).collect());
        list.push(Value::Map([("resource".into(), name), ("rules".into(), rules)].into_iter().collect()));
    }
    print(&format!("{}\n", json(&Value::list(list))));
    Ok(0)
}

/// What the wanted policies and rules decide about each wanted resource.
///
/// # Errors
/// An object that gives no request, or no policy, rule or object of the name.
pub(in crate::cli) fn text(
    inputs: &Inputs,
    engine: &Engine,
    wanted: &Wanted<'_>,
) -> Result<String, CommandError> {
    let one = |resource| {
        let decided = about(inputs, engine, resource, wanted)?;
        let rules: Vec<String> = decided.iter().map(|d| d.text(wanted.colour, wanted.verbose)).collect();
        Ok(format!("{}\n\n{}", headline(resource), rules.join("\n")))
    };
    let texts: Result<Vec<String>, CommandError> = chosen(inputs, wanted)?.into_iter().map(one).collect();
    Ok(texts?.join("\n"))
}

/// The resources that are wanted.
///
/// # Errors
/// None has the name.
fn chosen<'i>(inputs: &'i Inputs, wanted: &Wanted<'_>) -> Result<Vec<&'i Document>, CommandError> {
    let Some(object) = wanted.object else { return Ok(inputs.objects.in_memory().iter().collect()) };
    let name = |d: &Document| ResourceName::of(&d.value).kind_and_name();
    let found: Vec<&Document> = inputs.objects.in_memory().iter().filter(|d| name(d) == object).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let names: Vec<String> = inputs.objects.in_memory().iter().map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Err(CommandError::NoObjectOfName {
        object: object.into(),
        meant: did_you_mean(object, &names).map(String::from),
    })
}

/// `pod.yaml:1 Pod dev/cart`
fn headline(resource: &Document) -> String {
    format!("{}:{} {}", resource.source, resource.line, ResourceName::of(&resource.value).display())
}

/// The decisions of all policies about a resource, or those that are wanted.
fn about(
    inputs: &Inputs,
    engine: &Engine,
    resource: &Document,
    wanted: &Wanted<'_>,
) -> Result<Vec<Decided>, CommandError> {
    let all = &inputs.policies.policies;
    if let Some(name) = wanted.policy.filter(|name| !all.iter().any(|p| key(p) == *name)) {
        return Err(no_policy(all, name));
    }
    let run = DecidedRun { policies: all, exceptions: &inputs.exceptions, requests: &inputs.requests };
    let mut out = run.about(engine, resource, wanted.policy).map_err(CommandError::input)?;
    let Some(rule) = wanted.rule else { return Ok(out) };
    let names: Vec<&str> = out.iter().map(|d| &*d.rule).collect();
    let meant = did_you_mean(rule, &names).map(String::from);
    out.retain(|d| d.rule == rule);
    match out.is_empty() {
        true => Err(CommandError::NoRule { rule: rule.into(), kind: None, meant, names: Vec::new() }),
        false => Ok(out),
    }
}

/// Drops all policies but the one of this name.
///
/// # Errors
/// None has the name.
pub(in crate::cli) fn only(policies: &mut Vec<LoadedPolicy>, name: &str) -> Result<(), CommandError> {
    if !policies.iter().any(|p| key(p) == name) {
        return Err(no_policy(policies, name));
    }
    policies.retain(|p| key(p) == name);
    Ok(())
}

fn no_policy(policies: &[LoadedPolicy], name: &str) -> CommandError {
    let names: Vec<String> = policies.iter().map(key).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    CommandError::NoPolicyOfName { name: name.into(), meant: did_you_mean(name, &names).map(String::from) }
}
