//! `ephor explain`: the lowered rules of policies, and why they decide as they do.

use ephor_inspect::explain::{self, Explained, Wanted};
use ephor_policies::load::{self, Policies};
use ephor_sources::files;
use ephor_value::suggest::did_you_mean;

use super::apply::{Input, Values};
use super::completion::rule_names;
use super::{Error, Global, given, some_policies};

/// Explains the rules of policies and their decisions about resources
///
/// Shows each rule of policies as lowered and as optimised, generated rules included, with file and
/// line of the source of every piece. docs/internals/ir.md describes the nodes. With -r: what the
/// rules decide about resources, with the place of every decision in the policy and of every value
/// in the resource.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # all rules of a policy
  ephor explain policy.yaml

  # the rule that is generated for cron jobs
  ephor explain policy.yaml --kind CronJob

  # the IR, which can be applied as a policy file
  ephor explain policy.yaml --output json > policy.json
  ephor apply policy.json --resource pod.yaml

  # why a resource passes, fails or is not matched
  ephor explain policy.yaml -r pod.yaml

  # one rule of many, on one object of many, with everything that a run of `apply` was given
  ephor explain policies/ -r manifests/ -R -f values.yaml --policy need-team --rule team --object ConfigMap/web/good")]
pub struct Args {
    /// files, folders or addresses with policies, - for standard input
    #[arg(value_name = "POLICY", value_hint = clap::ValueHint::AnyPath)]
    pub(super) policies: Vec<String>,
    /// name of the only rule to print, written or generated
    #[arg(long, value_name = "NAME", add = clap_complete::ArgValueCompleter::new(rule_names))]
    pub(super) rule: Option<String>,
    /// kind of the only objects to print rules for
    #[arg(long, value_name = "KIND", add = clap_complete::ArgValueCompleter::new(kind_names))]
    kind: Option<String>,
    /// output format: text, or json for the IR (docs/internals/ir-json.md)
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(super) output: Output,
    /// rules before optimisation, with --output json
    #[arg(long)]
    as_lowered: bool,
    /// output without colours
    #[arg(long)]
    pub(super) remove_color: bool,
    #[command(flatten)]
    pub(super) decisions: Decisions,
    #[command(flatten)]
    pub(super) input: Input,
    #[command(flatten)]
    pub(super) values: Values,
}

/// What decisions are explained.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Decisions about resources")]
pub(super) struct Decisions {
    /// name of the only policy, NAMESPACE/NAME of one in a namespace
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// the only object, KIND/NAME or KIND/NAMESPACE/NAME
    #[arg(long, value_name = "OBJECT")]
    pub object: Option<String>,
    /// all decisions, also those without influence on the result (as -v 1)
    #[arg(long)]
    pub tree: bool,
    /// access to image registries
    #[arg(long)]
    pub registry: bool,
    /// decisions of a cluster instead of the command line (profile `cluster`)
    #[arg(long)]
    pub as_cluster: bool,
}

/// A format of explanations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Output {
    Text,
    Json,
}

/// Runs the command.
///
/// # Errors
/// No policy, no such rule.
pub fn run(args: &Args, global: &Global) -> Result<i32, Error> {
    let arguments = some_policies(&args.policies)?;
    if !args.input.resources().is_empty() {
        arguments.iter().try_for_each(|argument| exists(argument))?;
        return super::explain_decisions::run(args, global);
    }
    if given(&args.decisions.object).is_some() {
        return Err(Error::ObjectWithoutResources);
    }
    let mut policies = policies(arguments)?;
    if let Some(name) = given(&args.decisions.policy) {
        super::explain_decisions::only(&mut policies.policies, name)?;
    }
    let kind = given(&args.kind);
    let all: Vec<Explained> = policies.policies.iter().flat_map(|p| explain::rules(p, kind)).collect();
    let rule = given(&args.rule);
    let chosen: Vec<&Explained> = all.iter().filter(|r| rule.is_none_or(|name| r.rule == name)).collect();
    if chosen.is_empty() {
        return Err(nothing(&all, rule, kind));
    }
    for p in &policies.policies {
        if let Some(why) = &p.refused {
            eprintln!("warning: {}:{}: policy `{}` is refused: {why}", p.source, p.line, p.name);
        }
    }
    if args.output == Output::Json {
        let wanted = Wanted { rule, kind, as_lowered: args.as_lowered };
        let bundle = explain::bundle(&policies, wanted);
        super::print(&format!("{}\n", bundle.write()?));
    } else {
        super::print(&chosen.iter().map(|r| r.text()).collect::<Vec<_>>().join("\n"));
    }
    Ok(0)
}

/// Loads the policies; what is skipped is printed as a warning, and is an error when nothing is
/// left.
fn policies(arguments: &[String]) -> Result<Policies, Error> {
    let mut all = Policies::default();
    let mut warnings = Vec::new();
    for argument in arguments {
        exists(argument)?;
        let loaded = files::policies(std::slice::from_ref(argument));
        warnings.extend(loaded.notices.iter().map(|n| format!("{}: {}", n.place, n.text)));
        all.extend(load::argument_for(&loaded.sources, load::Reader::AllExceptions));
    }
    warnings.extend(all.problems.iter().map(ToString::to_string));
    warnings.extend(
        all.cleanups.iter().map(|c| format!("{} `{}` has no rules", c.policy.api.kind, c.policy.key())),
    );
    if all.policies.is_empty() {
        return Err(Error::NoPolicyFound { arguments: arguments.join(", "), causes: warnings });
    }
    for text in warnings {
        eprintln!("warning: {text}");
    }
    Ok(all)
}

/// Whether there is a file or folder of this path; patterns and addresses are not checked.
///
/// # Errors
/// There is none; the error has the file that was probably meant.
pub(super) fn exists(argument: &str) -> Result<(), Error> {
    let path = std::path::Path::new(argument);
    if argument == "-" || argument.contains("://") || argument.contains(['*', '?', '[']) || path.exists() {
        return Ok(());
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
    let siblings: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| {
            entries.filter_map(|e| Some(e.ok()?.file_name().to_string_lossy().into_owned())).collect()
        })
        .unwrap_or_default();
    let siblings: Vec<&str> = siblings.iter().map(String::as_str).collect();
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let meant = did_you_mean(&name, &siblings).map(|c| path.with_file_name(c).display().to_string());
    Err(Error::NoPolicyFile { path: argument.into(), meant })
}

fn nothing(all: &[Explained], rule: Option<&str>, kind: Option<&str>) -> Error {
    let kind = kind.map(String::from);
    let Some(rule) = rule else { return Error::NoRules { kind } };
    let names: Vec<&str> = all.iter().map(|r| &*r.rule).collect();
    let meant = did_you_mean(rule, &names).map(String::from);
    let names = names.iter().map(ToString::to_string).collect();
    Error::NoRule { rule: rule.into(), kind, meant, names }
}

/// The kinds of Kubernetes whose names begin so.
fn kind_names(typed: &std::ffi::OsStr) -> Vec<clap_complete::CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let kinds = ephor_kubernetes::Kinds::with(&[]);
    let mut names: Vec<String> = kinds.all().iter().map(|r| r.kind.to_string()).collect();
    names.retain(|name| name.starts_with(&*typed));
    names.sort();
    names.dedup();
    names.into_iter().map(clap_complete::CompletionCandidate::new).collect()
}
