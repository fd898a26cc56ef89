//! The command line: reads flags and calls the library.
//!
//! In: arguments. Out: what a command prints, and the exit code. Each command is a file with its
//! flags (a struct of typed options) and what it does with them; `clap` reads them, [`flags`] adds
//! the forms that are Kyverno's, [`usage`] its texts for what is wrong, `help` the pages. Called
//! through a link named `kyverno` or `kubectl-kyverno` the program names itself so. Errors go to
//! standard error as `Error: …` with exit code 1; what is worth knowing but changes no result goes
//! there as one `warning: …` line each.
//!
//! - [`admission`]: `ephor admission`.
//! - [`allocator`]: the allocator of the program and of its benches: small strings and objects are
//!   most of the work, which these do faster than the system's.
//! - [`apply`]: `ephor apply`: policies against resource files.
//! - `arguments`: what commands share of their arguments: options of all commands, and what is
//!   read from one.
//! - [`bundle`]: `ephor bundle`: policies as artifacts in registries of images.
//! - `candidates`: what a shell completes: names of functions, rules and kinds.
//! - [`cel`]: `ephor cel`.
//! - [`cluster_check`]: `ephor cluster-check`: what an upgrade of Kyverno changes for the policies
//!   of a cluster.
//! - [`completion`]: `ephor completion`: completion of commands, flags and values in a shell.
//! - [`config`]: `ephor.yaml`: what a repository wants of `apply` and `lint`, and `ephor config`,
//!   which prints it.
//! - [`conformance`]: `ephor conformance`: runs recorded suites.
//! - `console`: standard output, standard error and their colours.
//! - [`convert`]: `ephor convert`: policies in another group.
//! - [`crds`]: `ephor crds`: the CustomResourceDefinitions of the kinds that ephor reads and
//!   writes.
//! - [`create`]: `ephor create`: templates of files.
//! - [`diff`]: `ephor diff`: whether policies mean the same; and what `equivalent` and `implies`
//!   share with it.
//! - [`docs`]: `ephor docs`: the pages of the commands as Markdown files and as manual pages; those
//!   of the book are in `reference`.
//! - [`equivalent`]: `ephor equivalent`: whether two sets of policies have the same effects.
//! - [`error`]: why a command ends without a result.
//! - [`explain`]: `ephor explain`: the lowered rules of policies, and why they decide as they do.
//! - [`fix`]: `ephor fix`: repairs tests and policies with deprecated syntax.
//! - `flag_values`: values of flags that are more than a text: counts, durations, names of
//!   objects, levels of the log.
//! - `help`: the pages of the commands as `--help` prints them.
//! - [`implies`]: `ephor implies`: whether one set of policies denies everything that another one
//!   denies.
//! - [`jp`]: `ephor jp`.
//! - [`lint`]: `ephor lint`: checks of policies before they run.
//! - `lint_deep`: `ephor lint --deep`: what rules do on all objects that they distinguish.
//! - [`lsp`]: `ephor lsp`: the language server of editors.
//! - [`mcp`]: `ephor mcp`: tools of the Model Context Protocol for agents.
//! - [`migrate`]: `ephor migrate`.
//! - `outbound`: flags about requests to services, registries and other servers that are not the
//!   cluster.
//! - `outputs`: files that a command writes.
//! - [`play`]: `ephor play`: the page on loopback, with the engine of the program behind it.
//! - [`policies`]: `ephor policies`: the policy library of the program.
//! - `policy_files`: files that arguments name as policies: whether they exist, and what is wrong
//!   in them.
//! - `program_name`: the name under which the program was called: its own, or Kyverno's.
//! - `progress`: the progress bar of long runs.
//! - `prompt`: prompts on a document.
//! - `recorded`: flags that record the answers of the outside in a file, or replay them.
//! - `releases`: `--kubernetes VERSION`: the release whose API server's behaviour applies.
//! - [`replay`]: `ephor replay`: what policies would have answered to the requests of an audit log.
//! - [`report`]: `ephor report`: what is done with the results of runs.
//! - `report_file`: the file of a report, and the format that its extension names.
//! - `roots`: the folders that names of files begin in, for documents that build servers read.
//! - [`schema`]: `ephor schema`: JSON schemas of policies and of the files that go with them.
//! - [`serve`]: `ephor serve`: the admission webhook server.
//! - [`mod@test`]: `ephor test`: tests of policies.
//! - [`version`]: `ephor version`: the version of the program, and of whose behaviour it has.
//! - [`webhook_config`]: `ephor webhook-config`: the webhook configurations that policies need, and
//!   what they do with a request.
//! - `webhook_options`: flags of webhook configurations, for `ephor webhook-config` and `ephor
//!   serve`.
//! - [`flags`]: forms of flags that are Kyverno's: comma separated records, switches that take a
//!   value, whole numbers and durations of Go; and the environment variable of each flag.
//! - [`usage`]: what is wrong with a command line, in the words of Kyverno's.

pub mod admission;
pub mod allocator;
pub mod apply;
mod arguments;
pub mod bundle;
mod candidates;
pub mod cel;
pub mod cluster_check;
pub mod completion;
pub mod config;
pub mod conformance;
mod console;
pub mod convert;
pub mod crds;
pub mod create;
pub mod diff;
pub mod docs;
pub mod equivalent;
pub mod error;
pub mod explain;
pub mod fix;
mod flag_values;
pub mod flags;
mod help;
pub mod implies;
pub mod jp;
pub mod lint;
mod lint_deep;
pub mod lsp;
pub mod mcp;
pub mod migrate;
mod outbound;
mod outputs;
pub mod play;
pub mod policies;
mod policy_files;
mod program_name;
mod progress;
mod prompt;
mod recorded;
mod releases;
pub mod replay;
pub mod report;
mod report_file;
mod roots;
pub mod schema;
pub mod serve;
pub mod test;
pub mod usage;
pub mod version;
pub mod webhook_config;
mod webhook_options;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use error::CommandError;

use crate::cli::arguments::Global;
use crate::cli::program_name::{is_kyverno, program};

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

#[derive(Debug, Subcommand)]
enum Top {
    Admission(admission::AdmissionArgs),
    Apply(Box<apply::ApplyArgs>),
    Bundle(bundle::BundleArgs),
    Cel(cel::CelArgs),
    ClusterCheck(cluster_check::ClusterCheckArgs),
    Completion(completion::CompletionArgs),
    Config(config::ConfigArgs),
    Conformance(conformance::ConformanceArgs),
    Convert(convert::ConvertArgs),
    Crds(crds::CrdsArgs),
    Schema(schema::SchemaArgs),
    Create(create::CreateArgs),
    Diff(Box<diff::DiffArgs>),
    Docs(docs::DocsArgs),
    Equivalent(Box<equivalent::EquivalentArgs>),
    Explain(explain::ExplainArgs),
    Fix(fix::FixArgs),
    Implies(Box<implies::ImpliesArgs>),
    Jp(jp::JpArgs),
    Lint(lint::LintArgs),
    Lsp(lsp::LspArgs),
    Mcp(mcp::McpArgs),
    Migrate(migrate::MigrateArgs),
    Play(play::PlayArgs),
    Policies(policies::PoliciesArgs),
    Replay(replay::ReplayArgs),
    Report(report::ReportArgs),
    Serve(Box<serve::ServeArgs>),
    Test(test::TestArgs),
    Version(version::VersionArgs),
    WebhookConfig(webhook_config::WebhookConfigArgs),
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

/// The pages of the book about the commands, as `tests/reference` compares them.
pub fn reference_pages() -> Vec<docs::reference::File> {
    docs::reference::files(commands)
}

/// Runs the program with its arguments (without its name); returns the exit code.
pub fn main(args: &[String]) -> i32 {
    if completion::answered(commands) {
        return 0;
    }
    match read(args).and_then(|cli| cli.map_or(Ok(0), run)) {
        Ok(code) => code,
        Err(error) => {
            console::error(&format!("Error: {error}\n"));
            if error.is_about_arguments() && !is_kyverno() {
                let (_, command) = usage::meant(&commands(), args);
                console::error(&format!("help: `{command} --help` shows what it takes\n"));
            }
            let all = commands();
            let (_, name) = usage::meant(&all, args);
            // Exit code 1 of a command of our own is what it found.
            let is_own = !is_kyverno() && help::is_own(&name);
            if is_own && !error.is_finding() { 2 } else { error.exit_code() }
        }
    }
}

/// The command that the arguments mean; none when they are about help, which is printed.
fn read(args: &[String]) -> Result<Option<Cli>, CommandError> {
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
            help::print(commands, &usage::meant(&command, &words).1);
            Ok(None)
        }
        Err(error) => Err(usage::of(&error, &command, args).into()),
    }
}

fn run(cli: Cli) -> Result<i32, CommandError> {
    let Cli { global, version, command } = cli;
    if version {
        return version::run(&version::VersionArgs::default());
    }
    let Some(command) = command else {
        help::print(commands, &program());
        return Ok(0);
    };
    bundle::requirements::configure(&global);
    policies::configure();
    match command {
        Top::Admission(args) => admission::run(&args),
        Top::Apply(args) => apply::run(*args, &global),
        Top::Bundle(args) => bundle::run(&args, commands),
        Top::Cel(args) => cel::run(args, commands),
        Top::ClusterCheck(args) => cluster_check::run(&args, &global),
        Top::Completion(args) => completion::run(&args),
        Top::Config(args) => config::run(&args),
        Top::Conformance(args) => conformance::run(&args),
        Top::Convert(args) => convert::run(&args, &global),
        Top::Crds(args) => crds::run(&args),
        Top::Schema(args) => schema::run(&args),
        Top::Diff(args) => diff::run(&args),
        Top::Create(args) => create::run(args, commands),
        Top::Docs(args) => docs::run(&args, commands),
        Top::Equivalent(args) => equivalent::run(&args),
        Top::Explain(args) => explain::run(args, &global),
        Top::Fix(args) => fix::run(args, commands),
        Top::Implies(args) => implies::run(&args),
        Top::Jp(args) => jp::run(args, commands),
        Top::Lint(args) => lint::run(args),
        Top::Lsp(args) => lsp::run(&args),
        Top::Mcp(args) => mcp::run(&args),
        Top::Migrate(args) => migrate::run(args, &global),
        Top::Play(args) => play::run(&args),
        Top::Policies(args) => policies::run(&args, commands),
        Top::Replay(args) => replay::run(args),
        Top::Report(args) => report::run(&args),
        Top::Serve(args) => serve::run(&args, &global),
        Top::Test(args) => test::run(args),
        Top::Version(args) => version::run(&args),
        Top::WebhookConfig(args) => webhook_config::run(&args, &global),
    }
}
