//! `ephor bundle`: policies as artifacts in registries of images.
//!
//! What a bundle is, and all checks, are in `ephor_sources::bundle`; here are flags and texts.
//!
//! - [`inspect`]: `ephor bundle inspect`: what a bundle holds, without writing it.
//! - [`lock`]: `ephor bundle lock`: digests of tags.
//! - [`pull`]: `ephor bundle pull`: its files in a folder.
//! - [`push`]: `ephor bundle push`: files as a bundle.
//! - [`requirements`]: what a run requires of the bundles that it uses.

pub mod inspect;
pub mod lock;
pub mod pull;
pub mod push;
pub mod requirements;

use super::CommandError;
use super::help::{self, Commands};
use super::program_name::program;

/// Pushes, pulls and pins policies as OCI artifacts
///
/// A bundle is a set of policy files in a registry of images. Where a command takes policies, it
/// takes `oci://REGISTRY/REPOSITORY:TAG` too, or `@sha256:…` in the place of the tag. Credentials
/// are those of `docker login`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # a folder as a bundle, and policies of a bundle
  ephor bundle push oci://ghcr.io/acme/policies:v1 policies/
  ephor apply oci://ghcr.io/acme/policies:v1 -r deploy/

  # the digests of all bundles that ephor.yaml names
  ephor bundle lock")]
pub struct BundleArgs {
    #[command(subcommand)]
    command: Option<BundleCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum BundleCommand {
    Push(push::PushArgs),
    Pull(pull::PullArgs),
    Inspect(inspect::InspectArgs),
    Lock(lock::LockArgs),
}

/// Runs the command; without one prints its page.
///
/// # Errors
/// As the command that is meant.
pub fn run(args: &BundleArgs, commands: Commands) -> Result<i32, CommandError> {
    match &args.command {
        Some(BundleCommand::Push(args)) => push::run(args),
        Some(BundleCommand::Pull(args)) => pull::run(args),
        Some(BundleCommand::Inspect(args)) => inspect::run(args),
        Some(BundleCommand::Lock(args)) => lock::run(args),
        None => {
            help::print(commands, &format!("{} bundle", program()));
            Ok(0)
        }
    }
}

/// `1 file`, `2 files`.
fn files(count: usize) -> String {
    if count == 1 { "1 file".into() } else { format!("{count} files") }
}
