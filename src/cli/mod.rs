//! The command line: reads flags and calls the library.
//!
//! In: arguments. Out: what a command prints, and the exit code. Each command is a file with its
//! flags (a struct of typed options) and what it does with them; `clap` reads them, [`flags`] adds
//! the forms that are Kyverno's, [`usage`] its texts for what is wrong, `help` the pages. Called
//! through a link named `kyverno` or `kubectl-kyverno` the program names itself so. Errors go to
//! standard error as `Error: …` with exit code 1; what is worth knowing but changes no result goes
//! there as one `warning: …` line each.

pub mod admission;
pub mod allocator;
pub mod apply;
pub mod cel;
pub mod cluster_check;
pub mod completion;
pub mod conformance;
pub mod convert;
pub mod crds;
pub mod create;
pub mod diff;
pub mod docs;
pub mod equivalent;
pub mod error;
pub mod explain;
mod explain_decisions;
pub mod fix;
mod fix_policies;
pub mod flags;
mod help;
pub mod implies;
pub mod jp;
pub mod lint;
mod lint_deep;
pub mod migrate;
mod outbound;
mod outputs;
mod places;
mod progress;
mod prompt;
mod roots;
pub mod serve;
pub mod test;
pub mod usage;
pub mod version;
pub mod webhook_config;
mod webhook_options;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use ephor_report::formats::Document;
use ephor_value::environment::{self, Variable};

pub use error::Error;
use outputs::write_whole;
use usage::Usage;

/// Evaluates Kubernetes policies: Kyverno's and Kubernetes' own, in one engine
#[derive(Debug, Parser)]
#[command(name = "ephor")]
struct Cli {
    #[command(flatten)]
    global: Global,
    /// version of the program
    #[arg(long, short = 'V')]
    version: bool,
    #[command(subcommand)]
    command: Option<Top>,
}

/// Flags of every command.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Options of all commands")]
pub struct Global {
    /// level of detail of explanations
    #[arg(long = "v", short = 'v', value_name = "LEVEL", global = true)]
    verbosity: Option<String>,
    /// kubeconfig file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, global = true, env = "EPHOR_KUBECONFIG", hide_env_values = true)]
    kubeconfig: Option<String>,
}

impl Global {
    /// Whether all of what is summed up is listed.
    fn is_verbose(&self) -> bool {
        !matches!(self.verbosity.as_deref(), None | Some("" | "0"))
    }
}

#[derive(Debug, Subcommand)]
enum Top {
    Admission(admission::Args),
    Apply(Box<apply::Args>),
    Cel(cel::Args),
    ClusterCheck(cluster_check::Args),
    Completion(completion::Args),
    Conformance(conformance::Args),
    Convert(convert::Args),
    Crds(crds::Args),
    Create(create::Args),
    Diff(Box<diff::Args>),
    Docs(docs::Args),
    Equivalent(Box<equivalent::Args>),
    Explain(explain::Args),
    Fix(fix::Args),
    Implies(Box<implies::Args>),
    Jp(jp::Args),
    Lint(lint::Args),
    Migrate(migrate::Args),
    Serve(Box<serve::Args>),
    Test(test::Args),
    Version(version::Args),
    WebhookConfig(webhook_config::Args),
}

/// The name under which the program was called.
fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    let stem = std::path::Path::new(&called).file_stem().map(|s| s.to_string_lossy().into_owned());
    match stem.as_deref() {
        Some(name @ ("kyverno" | "kubectl-kyverno")) => name.trim_start_matches("kubectl-").to_string(),
        _ => "ephor".into(),
    }
}

/// Whether the program was called by Kyverno's name, and answers as it does.
fn is_kyverno() -> bool {
    program() == "kyverno"
}

/// The commands with their pages, as help, completion and documents show them.
fn commands() -> clap::Command {
    let mut command = Cli::command().name(program());
    if is_kyverno() {
        command = command.mut_subcommand("migrate", migrate::with_flags_of_kyverno);
    }
    let command = flags::with_flags_without_effect(command);
    help::with_pages(flags::with_environment(command))
}

/// Runs the program with its arguments (without its name); returns the exit code.
pub fn main(args: &[String]) -> i32 {
    if completion::answered() {
        return 0;
    }
    match read(args).and_then(|cli| cli.map_or(Ok(0), run)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("Error: {error}");
            if error.is_about_arguments() && !is_kyverno() {
                let (_, command) = usage::meant(&commands(), args);
                eprintln!("help: `{command} --help` shows what it takes");
            }
            error.exit_code()
        }
    }
}

/// The command that the arguments mean; none when they are about help, which is printed.
fn read(args: &[String]) -> Result<Option<Cli>, Error> {
    let mut command = flags::with_forms_of_go(commands()).args_override_self(true);
    if is_kyverno() {
        command = command.mut_subcommand("apply", apply::with_values_of_kyverno);
        command = command.mut_subcommand("test", test::with_values_of_kyverno);
    }
    let named = std::iter::once(program()).chain(args.iter().cloned());
    match command.clone().try_get_matches_from(named).and_then(|m| Cli::from_arg_matches(&m)) {
        Ok(cli) => Ok(Some(cli)),
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            let words: Vec<String> = args.iter().filter(|a| *a != "help").cloned().collect();
            help::print(&usage::meant(&command, &words).1);
            Ok(None)
        }
        Err(error) => Err(usage::of(&error, &command, args).into()),
    }
}

fn run(cli: Cli) -> Result<i32, Error> {
    let Cli { global, version, command } = cli;
    if version {
        return version::run(&version::Args::default());
    }
    let Some(command) = command else {
        help::print(&program());
        return Ok(0);
    };
    match command {
        Top::Admission(args) => admission::run(&args),
        Top::Apply(args) => apply::run(&args, &global),
        Top::Cel(args) => cel::run(args),
        Top::ClusterCheck(args) => cluster_check::run(&args, &global),
        Top::Completion(args) => completion::run(&args),
        Top::Conformance(args) => conformance::run(&args),
        Top::Convert(args) => convert::run(&args, &global),
        Top::Crds(args) => crds::run(&args),
        Top::Diff(args) => diff::run(&args),
        Top::Create(args) => create::run(args),
        Top::Docs(args) => docs::run(&args),
        Top::Equivalent(args) => equivalent::run(&args),
        Top::Explain(args) => explain::run(&args, &global),
        Top::Fix(args) => fix::run(args),
        Top::Implies(args) => implies::run(&args),
        Top::Jp(args) => jp::run(args),
        Top::Lint(args) => lint::run(&args),
        Top::Migrate(args) => migrate::run(&args, &global),
        Top::Serve(args) => serve::run(&args, &global),
        Top::Test(args) => test::run(&args),
        Top::Version(args) => version::run(&args),
        Top::WebhookConfig(args) => webhook_config::run(&args, &global),
    }
}

/// The cluster that the flags mean.
fn cluster_choice(context: Option<&str>, global: &Global) -> ephor_cluster::Choice {
    let kubeconfig = global.kubeconfig.clone().unwrap_or_default();
    let context = context.unwrap_or_default().to_string();
    ephor_cluster::Choice { kubeconfig, context, ..ephor_cluster::Choice::default() }
}

/// The only argument of a command.
///
/// # Errors
/// There is none, or there are several.
fn only(arguments: &[String]) -> Result<&str, Usage> {
    match arguments {
        [one] => Ok(one),
        more => Err(Usage::NotOne(more.len())),
    }
}

/// The policies that a command is about.
///
/// # Errors
/// There are none.
fn some_policies(arguments: &[String]) -> Result<&[String], Usage> {
    if arguments.is_empty() { Err(Usage::NoPolicy) } else { Ok(arguments) }
}

/// A flag whose empty value means the same as none.
fn given(value: &Option<String>) -> Option<&str> {
    value.as_deref().filter(|text| !text.is_empty())
}

/// Uses this number of threads; 0 is one per core.
fn use_threads(number: i64) {
    if number > 0 {
        let threads = usize::try_from(number).unwrap_or(1).min(256);
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
}

/// Prints a warning to standard error.
fn warn(text: &str) {
    use std::io::Write;
    // A reader that ends early, such as `head`, does not end the run.
    let _ = writeln!(std::io::stderr(), "warning: {text}");
}

/// The text of a document; what it does not hold is a warning.
fn whole(document: Document) -> String {
    document.left_out.iter().for_each(|text| warn(text));
    document.text
}

/// Whether the environment switches colours on or off: `NO_COLOR`, then `FORCE_COLOR` or
/// `CLICOLOR_FORCE`, then a terminal without colours.
fn colour_of_environment() -> Option<bool> {
    let is_on = |variable: Variable| variable.non_empty().is_some_and(|value| value != "0");
    if environment::NO_COLOR.is_set() {
        return Some(false);
    }
    if is_on(environment::FORCE_COLOR) || is_on(environment::CLICOLOR_FORCE) {
        return Some(true);
    }
    environment::TERM.value().is_some_and(|t| t == "dumb").then_some(false)
}

/// Whether standard output shows colours: the environment says so, or it is a terminal.
fn shows_colours() -> bool {
    use std::io::IsTerminal;
    colour_of_environment().unwrap_or_else(|| std::io::stdout().is_terminal())
}

/// Writes to standard output; a closed pipe is no error of ours.
pub fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}
