//! What commands share of their arguments: options of all commands, and what is read from one.
//!
//! In: parsed options and positional arguments. Out: the values that they mean, or a [`Usage`].

use super::usage::Usage;

/// Flags of every command.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Options of all commands")]
pub struct Global {
    /// level of detail of explanations
    #[arg(long = "v", short = 'v', value_name = "LEVEL", global = true)]
    pub(super) verbosity: Option<String>,
    /// kubeconfig file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, global = true, env = "EPHOR_KUBECONFIG", hide_env_values = true)]
    pub(super) kubeconfig: Option<String>,
    /// public key that must have signed bundles of policies (oci://…): a file, or env://VARIABLE
    #[arg(long, value_name = "KEY", value_hint = clap::ValueHint::FilePath, global = true, env = "EPHOR_BUNDLE_KEY", hide_env_values = true)]
    pub(super) bundle_key: Option<String>,
}

impl Global {
    /// Whether all of what is summed up is listed.
    pub(super) fn is_verbose(&self) -> bool {
        !matches!(self.verbosity.as_deref(), None | Some("" | "0"))
    }
}

/// When output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ColorWhen {
    /// On a terminal, unless the environment says otherwise
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Flags of commands of our own about what they print.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct ConsoleFlags {
    /// colours: on a terminal unless the environment says otherwise, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: ColorWhen,
    /// no warnings and no progress: errors and results only
    #[arg(long)]
    quiet: bool,
}

impl ConsoleFlags {
    /// From here on the flags count.
    pub(super) fn apply(self) {
        match self.color {
            ColorWhen::Auto => {}
            when => super::console::set_colours(when == ColorWhen::Always),
        }
        if self.quiet {
            super::console::be_quiet();
        }
    }
}

/// The cluster that the flags mean.
pub(super) fn cluster_choice(context: Option<&str>, global: &Global) -> ephor_cluster::Choice {
    let kubeconfig = global.kubeconfig.clone().unwrap_or_default();
    let context = context.unwrap_or_default().to_string();
    ephor_cluster::Choice { kubeconfig, context, ..ephor_cluster::Choice::default() }
}

/// The only argument of a command.
///
/// # Errors
/// There is none, or there are several.
pub(super) fn only(arguments: &[String]) -> Result<&str, Usage> {
    match arguments {
        [one] => Ok(one),
        more => Err(Usage::NotOne(more.len())),
    }
}

/// The policies that a command is about.
///
/// # Errors
/// There are none.
pub(super) fn some_policies(arguments: &[String]) -> Result<&[String], Usage> {
    if arguments.is_empty() { Err(Usage::NoPolicy) } else { Ok(arguments) }
}

/// A flag whose empty value means the same as none.
pub(super) fn given(value: &Option<String>) -> Option<&str> {
    value.as_deref().filter(|text| !text.is_empty())
}

/// Uses this number of threads; 0 is one per core.
pub(super) fn use_threads(number: i64) {
    if number > 0 {
        let threads = usize::try_from(number).unwrap_or(1).min(256);
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
}
