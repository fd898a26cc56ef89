//! The flags of `explain`.

use crate::cli::apply::{InputFlags, ValueFlags};
use crate::cli::arguments::ConsoleFlags;
use crate::cli::candidates::{kind_names, rule_names};
use crate::cli::config::ConfigFlag;
use crate::cli::config::file::ConfigError;

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
  ephor explain policy.yaml -o json > policy.json
  ephor apply policy.json --resource pod.yaml

  # why a resource passes, fails or is not matched
  ephor explain policy.yaml -r pod.yaml

  # one rule of many, on one object of many, with everything that a run of `apply` was given
  ephor explain policies/ -r manifests/ -R -f values.yaml --policy need-team --rule team --object ConfigMap/web/good")]
pub struct ExplainArgs {
    /// files, folders, addresses, bundles (oci://…) or sets of the library (builtin://…) with
    /// policies, - for standard input
    #[arg(value_name = "POLICY", value_hint = clap::ValueHint::AnyPath)]
    pub(in crate::cli) policies: Vec<String>,
    /// name of the only rule to print, written or generated
    #[arg(long, value_name = "NAME", add = clap_complete::ArgValueCompleter::new(rule_names))]
    pub(in crate::cli) rule: Option<String>,
    /// kind of the only objects to print rules for
    #[arg(long, value_name = "KIND", add = clap_complete::ArgValueCompleter::new(kind_names))]
    pub(in crate::cli) kind: Option<String>,
    /// output format: text, or json for the IR (docs/internals/ir-json.md)
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output_format: ExplainFormat,
    /// rules before optimisation, with --output-format json
    #[arg(long)]
    pub(in crate::cli) as_lowered: bool,
    /// output without colours
    #[arg(long)]
    pub(in crate::cli) remove_color: bool,
    #[command(flatten)]
    pub(in crate::cli) config: ConfigFlag,
    #[command(flatten)]
    pub(in crate::cli) console: ConsoleFlags,
    #[command(flatten)]
    pub(in crate::cli) decisions: Decisions,
    #[command(flatten)]
    pub(in crate::cli) input: InputFlags,
    #[command(flatten)]
    pub(in crate::cli) values: ValueFlags,
}

impl ExplainArgs {
    /// The flags, with the configuration of the repository in the place of those that are not
    /// given.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub(super) fn configured(mut self) -> Result<ExplainArgs, ConfigError> {
        let Some(config) = self.config.find()? else { return Ok(self) };
        if self.policies.is_empty() {
            self.policies = config.texts("policies");
        }
        self.input.exclude.extend(config.texts("exclude"));
        self.input.render |= config.is_on("render");
        self.input.kubernetes = self.input.kubernetes.or(config.release());
        Ok(self)
    }
}

/// What decisions are explained.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Decisions about resources")]
pub(in crate::cli) struct Decisions {
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
pub(in crate::cli) enum ExplainFormat {
    Text,
    Json,
}
