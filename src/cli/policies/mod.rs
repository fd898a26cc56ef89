//! `ephor policies`: the policy library of the program.
//!
//! What a control is, and what names mean, is in `ephor_library`; here are flags and texts.
//!
//! - [`export`]: `ephor policies export`: controls as files, or as one stream.
//! - [`list`]: `ephor policies list`: sets and controls.
//! - [`show`]: `ephor policies show`: why a control is wanted, what it refuses, and its texts.

pub mod export;
pub mod list;
pub mod show;

use clap::ValueEnum;
use ephor_library::{Form, Selection};
use ephor_sources::builtin;
use ephor_sources::files::SourceText;

use super::CommandError;
use super::help::{self, Commands};
use super::program_name::program;

/// Lists, shows and exports the policies of the library
///
/// The program holds a library of controls, each as a ClusterPolicy, in Kyverno's CEL kind and as
/// Kubernetes' own policy, so far as each can say it. Where a command takes policies, it takes
/// builtin://NAME too, the NAME of a set, a group or a control; builtin://NAME?form=native names
/// the form.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # what there is, and one of it
  ephor policies list
  ephor policies show disallow-host-path

  # check manifests, nothing installed
  ephor apply --builtin pss-restricted -r deploy/

  # in a cluster, reports first
  ephor policies export pss-baseline | kubectl apply -f -

  # what a control of your own leaves out that the library's has
  ephor diff my-policy.yaml builtin://disallow-host-path")]
pub struct PoliciesArgs {
    #[command(subcommand)]
    command: Option<PoliciesCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum PoliciesCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Export(export::ExportArgs),
}

/// The languages of controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormName {
    /// ClusterPolicy, ClusterCleanupPolicy
    Classic,
    /// Kyverno's kinds in CEL
    Cel,
    /// Kubernetes' own policies with their bindings
    Native,
}

impl From<FormName> for Form {
    fn from(name: FormName) -> Form {
        match name {
            FormName::Classic => Form::Classic,
            FormName::Cel => Form::Cel,
            FormName::Native => Form::Native,
        }
    }
}

/// Makes the library of the program the one that `builtin://NAME` means.
pub(in crate::cli) fn configure() {
    builtin::configure(|argument| {
        let files = Selection::parse(argument)?.files();
        let text = |file| SourceText { name: Selection::name_of(file), text: file.text.into() };
        Ok(files.into_iter().map(text).collect())
    });
}

/// Runs the command; without one prints its page.
///
/// # Errors
/// As the command that is meant.
pub fn run(args: &PoliciesArgs, commands: Commands) -> Result<i32, CommandError> {
    match &args.command {
        Some(PoliciesCommand::List(args)) => list::run(args),
        Some(PoliciesCommand::Show(args)) => show::run(args),
        Some(PoliciesCommand::Export(args)) => export::run(args),
        None => {
            help::print(commands, &format!("{} policies", program()));
            Ok(0)
        }
    }
}
