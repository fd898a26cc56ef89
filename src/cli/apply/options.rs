//! The flags of `apply` and what they may be together.
//!
//! In: arguments. Out: typed flags, or Kyverno's text for flags that exclude each other
//! (`docs/reference/cli.md`, "apply"). Those about output are read by `output_options`.

use std::sync::Arc;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ValueEnum, ValueHint};
use ephor_library::reference::SCHEME;
use ephor_matching::kinds::{self, KindSelector};
use ephor_report::formats::Format;
use ephor_report::run::Severity;
use ephor_sources::files::changed::{ChangedError, ChangedFiles};
use ephor_sources::files::repository;
use ephor_value::environment;
use ephor_value::release::Release;
use ephor_value::shard::Shard;

use crate::cli::CommandError;
use crate::cli::apply::conflict::ApplyConflict;
use crate::cli::arguments::{Global, given};
use crate::cli::config::ConfigFlag;
use crate::cli::config::file::ConfigError;
use crate::cli::flags::{Record, fields, nanoseconds, whole};
use crate::cli::recorded::RecordingFlags;
use crate::cli::releases;

/// Applies policies on resources and prints the results
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # check manifests against a folder of policies
  ephor apply policies/ -r deployment.yaml

  # against the Restricted profile of Pod Security, of the policy library
  ephor apply --builtin pss-restricted -r deployment.yaml

  # the same as a policy report
  ephor apply policies/ -r deployment.yaml --policy-report

Exit codes:
  0  no failure and no error
  1  a failure or an error, with --fail-on and --baseline one that counts; or the run cannot start
  2  there is no policy or no resource, with the formats of ephor; with --strict also with Kyverno's, and where a
     policy or a file cannot be used, a result is an error, or the run ends early
  --warn-exit-code  no failure, but a warning; with --warn-no-pass also when nothing passed")]
pub struct ApplyArgs {
    /// files, folders, addresses, git repositories or bundles (oci://…) with policies, sets of the
    /// library (builtin://…), - for standard input
    #[arg(value_name = "POLICY", value_hint = ValueHint::AnyPath)]
    pub(super) policies: Vec<String>,
    #[command(flatten)]
    pub(super) input: InputFlags,
    /// set, group or control of the policy library, in addition to POLICY; several times for
    /// several (`ephor policies list`)
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(super) builtin: Vec<String>,
    #[command(flatten)]
    pub(super) payloads: Payloads,
    #[command(flatten)]
    pub(super) values: ValueFlags,
    #[command(flatten)]
    pub(super) output: OutputFlags,
    #[command(flatten)]
    pub(super) exit: ExitFlags,
    #[command(flatten)]
    pub(super) cluster: ClusterOptions,
    #[command(flatten)]
    pub(super) repository: Repository,
    #[command(flatten)]
    pub(super) recording: RecordingFlags,
    #[command(flatten)]
    pub(super) run: Running,
}

/// What policies are applied on, objects aside.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Payloads")]
pub(in crate::cli) struct Payloads {
    /// JSON payload files
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Vec<Record>,
    /// files with HTTP check requests
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    http_payload: Vec<Record>,
    /// files with Envoy check requests
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    envoy_payload: Vec<Record>,
}

impl Payloads {
    /// The files with payloads of any form.
    pub fn any_form(&self) -> Vec<String> {
        fields(&self.json)
    }

    /// The files with HTTP check requests.
    pub fn http_checks(&self) -> Vec<String> {
        fields(&self.http_payload)
    }

    /// The files with Envoy check requests.
    pub fn envoy_checks(&self) -> Vec<String> {
        fields(&self.envoy_payload)
    }
}

/// The objects that policies are applied on, and those that they look up; `explain` reads the same.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(in crate::cli) struct InputFlags {
    /// resource files, folders or patterns, - for standard input
    #[arg(long, short, alias = "resources", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    resource: Vec<Record>,
    /// resources of all folders below those of -r
    #[arg(long, short = 'R')]
    pub recursive: bool,
    /// pattern of files and folders that are left out of the folders of -r, as in .gitignore;
    /// several times for several patterns
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// only resources of these kinds, such as Pod or apps/v1/Deployment; rules may look up others
    #[arg(long, value_name = "KIND")]
    kinds: Vec<Record>,
    /// charts and kustomizations in the folders of -r are rendered, by helm, kustomize or kubectl
    #[arg(long)]
    pub render: bool,
    /// only resources of files that changed since a commit, branch or tag; a chart and a
    /// kustomization count with their files
    #[arg(long, value_name = "REF")]
    pub changed_since: Option<String>,
    /// files with target resources of mutate-existing rules
    #[arg(long, alias = "target-resources", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    target_resource: Vec<Record>,
    /// files with parameters of admission policies
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    parameter_resource: Vec<Record>,
    /// files with CustomResourceDefinitions
    #[arg(long, alias = "crd-path", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    crd_paths: Vec<Record>,
    /// Kubernetes' own policies as the API server of this release evaluates them (default as
    /// Kyverno's command line does)
    #[arg(long, value_name = "VERSION", value_parser = releases::parse)]
    pub kubernetes: Option<Release>,
    /// files with PolicyExceptions
    #[arg(long, short, alias = "exceptions", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    exception: Vec<Record>,
    /// PolicyExceptions among the resources
    #[arg(long, alias = "exceptions-within-resources")]
    pub exceptions_with_resources: bool,
    /// additional PolicyExceptions among the policies
    #[arg(long)]
    pub exceptions_within_policies: bool,
}

impl InputFlags {
    /// The files that changed, where only those count.
    ///
    /// # Errors
    /// They are not known.
    pub fn changed(&self) -> Result<Option<Arc<ChangedFiles>>, ChangedError> {
        let since = given(&self.changed_since);
        since.map(|since| ChangedFiles::since(since).map(Arc::new)).transpose()
    }

    /// The resource files.
    pub fn resources(&self) -> Vec<String> {
        fields(&self.resource)
    }

    /// The kinds that policies are applied on; none = all.
    pub fn kinds(&self) -> Vec<KindSelector> {
        fields(&self.kinds).iter().map(|kind| kinds::parse(kind)).collect()
    }

    /// The files with targets of mutate-existing rules.
    pub fn target_resources(&self) -> Vec<String> {
        fields(&self.target_resource)
    }

    /// The files with parameters of admission policies.
    pub fn parameter_resources(&self) -> Vec<String> {
        fields(&self.parameter_resource)
    }

    /// The files with CustomResourceDefinitions.
    pub fn definitions(&self) -> Vec<String> {
        fields(&self.crd_paths)
    }

    /// The files with PolicyExceptions.
    pub fn exceptions(&self) -> Vec<String> {
        fields(&self.exception)
    }
}

/// What expressions read in addition to resources.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Values")]
pub(in crate::cli) struct ValueFlags {
    /// values of variables
    #[arg(long, short, value_name = "NAME=VALUE")]
    set: Vec<Record>,
    /// file with values for variables
    #[arg(long, short = 'f', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub values_file: Option<String>,
    /// file with the user of the request
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub userinfo: Option<String>,
    /// file with context data for CEL policies
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub context_file: Option<String>,
}

impl ValueFlags {
    /// The values of variables as `name=value`.
    pub fn set(&self) -> Vec<String> {
        fields(&self.set)
    }
}

/// What is printed, and how.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputFlags {
    /// results as a table
    #[arg(long, short)]
    pub table: bool,
    /// messages in the table
    #[arg(long)]
    pub detailed_results: bool,
    /// PolicyReports instead of results
    #[arg(long, short)]
    pub policy_report: bool,
    /// format of the results; yaml is one of --policy-report
    #[arg(long, value_name = "FORMAT", default_value = "yaml", value_parser = formats())]
    pub output_format: Selected,
    /// file for the results in the format of its extension, else in --output-format; with
    /// --policy-report or --generate-exceptions for these. Several times for several files
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report_file: Vec<String>,
    /// no results but failures, warnings and errors
    #[arg(long)]
    pub only_failures: bool,
    /// no warnings on standard error
    #[arg(long)]
    pub quiet: bool,
    /// colours: for terminals only, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Colour,
    /// PolicyExceptions for the failures instead of results
    #[arg(long)]
    pub generate_exceptions: bool,
    /// time to live of generated exceptions
    #[arg(long, value_name = "DURATION", default_value = "720h0m0s", value_parser = nanoseconds)]
    pub generated_exception_ttl: i64,
    /// file or directory for mutated and generated resources
    #[arg(long, short, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub output: Option<String>,
    /// output without headers, so that mutated resources can be piped
    #[arg(long, short = 'i')]
    pub stdin: bool,
    /// list of what cleanup policies and labels would delete, and when
    #[arg(long)]
    pub deletions: bool,
    /// what decided about each rule and resource, behind the results; on standard error when they
    /// are a document
    #[arg(long)]
    pub explain: bool,
    /// output without colours
    #[arg(long)]
    pub remove_color: bool,
    // Of Kyverno, without effect.
    #[allow(dead_code)]
    #[arg(long, hide = true)]
    show_performance: bool,
    /// The format of the configuration, for runs whose flags select no output.
    #[arg(skip)]
    pub configured: Option<Format>,
}

/// What fails a run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Errors and exit code")]
pub(super) struct ExitFlags {
    /// least severity of failures that end in exit code 1
    #[arg(long, value_name = "SEVERITY", value_parser = severities())]
    pub fail_on: Option<Severity>,
    /// file with known violations, which do not end in exit code 1
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub baseline: Option<String>,
    /// violations of this run as the file of --baseline
    #[arg(long)]
    pub write_baseline: bool,
    /// takes violations that this run does not have out of the file of --baseline
    #[arg(long)]
    pub prune_baseline: bool,
    /// exit code 2 for policies that cannot be used, and for none or no resource
    #[arg(long)]
    pub strict: bool,
    /// exit code 0 also when there are failures and errors
    #[arg(long)]
    pub exit_zero: bool,
    /// failures of audit policies as warnings
    #[arg(long)]
    pub audit_warn: bool,
    /// exit code when there are warnings and no failures
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = whole)]
    pub warn_exit_code: i64,
    /// exit code --warn-exit-code also when nothing passed
    #[arg(long)]
    pub warn_no_pass: bool,
    /// deprecation warnings as errors
    #[arg(long)]
    pub warnings_as_errors: bool,
    /// no error when a resource cannot be processed
    #[arg(long)]
    pub continue_on_fail: bool,
}

/// Resources of a cluster.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(in crate::cli) struct ClusterOptions {
    /// resources of the current cluster
    #[arg(long, short)]
    pub cluster: bool,
    /// name of the kubeconfig context
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// namespace with --cluster
    #[arg(long, short, value_name = "NAME")]
    pub namespace: Option<String>,
    /// only cluster-scoped objects with --cluster
    #[arg(long)]
    pub cluster_wide_resources: bool,
    // Of Kyverno, without effect.
    #[allow(dead_code)]
    #[arg(long, hide = true, default_value = "1", value_parser = whole)]
    concurrent: i64,
    #[allow(dead_code)]
    #[arg(long, hide = true, default_value = "100", value_parser = whole)]
    batch_size: i64,
    /// no error when a kind cannot be loaded with --cluster
    #[arg(long, default_value = "true")]
    pub continue_on_error: bool,
}

/// A git repository with policies.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Git repository")]
pub(in crate::cli) struct Repository {
    /// branch of a git policy source
    #[arg(long, short = 'b', value_name = "BRANCH")]
    pub git_branch: Option<String>,
    /// user of a git policy source
    #[arg(long, value_name = "NAME")]
    pub username: Option<String>,
    /// password of a git policy source
    #[arg(long, value_name = "PASSWORD")]
    pub password: Option<String>,
}

/// How policies are evaluated.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Evaluation")]
pub(super) struct Running {
    /// access to image registries
    #[arg(long)]
    pub registry: bool,
    /// results of a cluster instead of the command line (profile `cluster`)
    #[arg(long)]
    pub as_cluster: bool,
    #[command(flatten)]
    pub config: ConfigFlag,
    /// part I of N of the objects, by their identity; `job/N` in a Pod of an Indexed Job. `ephor
    /// report merge` joins the results of all parts
    #[arg(long, value_name = "I/N", default_value = "1/1", hide_default_value = true, value_parser = shard)]
    pub shard: Shard,
    /// number of threads, 0 for one per core; the output is the same for any
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = whole)]
    pub threads: i64,
    /// Severities of policies by name, of the configuration alone.
    #[arg(skip)]
    pub severities: Vec<(String, Severity)>,
}

impl ApplyArgs {
    /// The flags, with the configuration of the repository in the place of those that are not
    /// given. Kyverno knows none.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub(super) fn configured(mut self) -> Result<ApplyArgs, ConfigError> {
        self.policies.extend(self.builtin.iter().map(|name| format!("{SCHEME}{name}")));
        let Some(config) = self.run.config.find()? else { return Ok(self) };
        if self.policies.is_empty() {
            self.policies = config.texts("policies");
        }
        let has_input = !self.input.resource.is_empty()
            || !self.payloads.any_form().is_empty()
            || !self.payloads.http_checks().is_empty()
            || !self.payloads.envoy_checks().is_empty()
            || self.cluster.cluster;
        if !has_input {
            self.input.resource = vec![Record::from(config.texts("resources"))];
            self.input.recursive |= config.is_on("recursive");
        }
        self.input.exclude.extend(config.texts("exclude"));
        self.input.render |= config.is_on("render");
        if self.input.kinds.is_empty() {
            self.input.kinds = vec![Record::from(config.texts("kinds"))];
        }
        self.run.severities = config.severities();
        self.input.kubernetes = self.input.kubernetes.or(config.release());
        self.exit.strict |= config.is_on("strict");
        self.exit.fail_on = self.exit.fail_on.or(config.text("failOn").and_then(|text| Severity::of(&text)));
        self.exit.baseline = self.exit.baseline.or(config.text("baseline"));
        if self.output.report_file.is_empty() {
            self.output.report_file = config.texts("reports");
        }
        self.output.configured = config.text("format").and_then(|name| Format::of(&name));
        Ok(self)
    }
}

/// A format of our own, or none: YAML is that of Kyverno's reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Selected(pub Option<Format>);

/// The names of formats.
fn formats() -> impl TypedValueParser<Value = Selected> {
    let names = Format::ALL.iter().map(|(name, _)| *name).chain(["yaml"]);
    PossibleValuesParser::new(names).map(|name| Selected(Format::of(&name)))
}

/// Whether there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Colour {
    Auto,
    Always,
    Never,
}

/// The names of severities.
fn severities() -> impl TypedValueParser<Value = Severity> {
    let names = PossibleValuesParser::new(Severity::ALL.map(Severity::name));
    names.try_map(|name| Severity::of(&name).ok_or("no severity"))
}

/// Reads a shard; `job/N` is that of this Pod of an Indexed Job.
///
/// # Errors
/// The text is no shard, or this is no Pod of an Indexed Job with this number.
fn shard(text: &str) -> Result<Shard, String> {
    let Some(of) = text.strip_prefix("job/") else {
        return text.parse::<Shard>().map_err(|error| error.to_string());
    };
    let index = environment::JOB_COMPLETION_INDEX.text().ok_or("JOB_COMPLETION_INDEX is not set")?;
    let found = index.parse().ok().zip(of.parse().ok()).and_then(|(index, of)| Shard::at(index, of));
    found.ok_or_else(|| format!("JOB_COMPLETION_INDEX is `{index}`, which is no index of `{of}` Pods"))
}

/// The command as Kyverno reads it: a format that it does not know is YAML.
pub(in crate::cli) fn with_values_of_kyverno(command: clap::Command) -> clap::Command {
    let format =
        |name: &str| -> Result<Selected, std::convert::Infallible> { Ok(Selected(Format::of(name))) };
    command.mut_arg("output_format", |arg| arg.value_parser(format))
}

/// Checks arguments in Kyverno's order.
///
/// # Errors
/// What is missing or excludes each other.
pub(super) fn check(args: &ApplyArgs, global: &Global) -> Result<(), CommandError> {
    repository::check(&args.input.exclude)?;
    let resources = args.input.resources();
    let has_payloads = !args.payloads.any_form().is_empty();
    let has_checks = !args.payloads.http_checks().is_empty() || !args.payloads.envoy_checks().is_empty();
    let is_input = |name: &String| name == "-";
    let conflict = if given(&args.values.values_file).is_some() && !args.values.set().is_empty() {
        ApplyConflict::Values
    } else if args.policies.is_empty() {
        ApplyConflict::NoPolicy
    } else if args.policies.iter().any(is_input) && resources.iter().any(is_input) {
        ApplyConflict::StandardInput
    } else if !args.run.shard.is_whole() && (has_payloads || has_checks) {
        ApplyConflict::ShardOfPayloads
    } else if !resources.is_empty() && has_payloads {
        ApplyConflict::Payloads
    } else if resources.is_empty() && !has_payloads && !has_checks && !args.cluster.cluster {
        ApplyConflict::NoResource
    } else if args.input.definitions().iter().any(|p| !p.trim().is_empty())
        && given(&global.kubeconfig).is_some()
    {
        ApplyConflict::Definitions
    } else {
        return Ok(());
    };
    Err(conflict.into())
}
