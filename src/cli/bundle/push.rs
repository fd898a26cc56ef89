//! `ephor bundle push`: files as a bundle.

use std::path::Path;

use clap::ValueHint;
use ephor_sources::bundle::error::PushProblem;
use ephor_sources::bundle::{Artifact, BundleError, BundleReference};
use ephor_sources::download::is_url;
use ephor_sources::files::{self, FileCause, SourceText, is_bundle};

use super::files as counted;
use crate::cli::{CommandError, console, policy_files};

/// Pushes policy files to a registry
///
/// Files of a folder keep their paths in it, other files their names. The same files always have
/// the same digest. Prints the reference with the digest, which can be used as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # the files of a folder
  ephor bundle push oci://ghcr.io/acme/policies:v1 policies/

  # signed with a key, by the digest that was pushed
  BUNDLE=$(ephor bundle push oci://ghcr.io/acme/policies:v1 policies/)
  cosign sign --key cosign.key \"${BUNDLE#oci://}\"

Exit codes:
  0  the registry has the bundle
  2  a file is missing or cannot be part of a bundle, or the registry does not take it")]
pub struct PushArgs {
    /// oci://REGISTRY/REPOSITORY:TAG
    #[arg(value_name = "REF")]
    reference: String,
    /// files and folders with policies
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath, required = true)]
    files: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// A file that cannot be pushed; the registry does not take the bundle.
pub fn run(args: &PushArgs) -> Result<i32, CommandError> {
    let reference = BundleReference::parse(&args.reference)?;
    let mut all = Vec::new();
    for argument in &args.files {
        all.extend(read(argument)?);
    }
    let artifact = Artifact::of(all)?;
    artifact.push(&reference)?;
    console::error(&format!("pushed {}\n", counted(artifact.files)));
    let name = reference.to_string();
    let name = name.split('@').next().unwrap_or_default();
    console::print(&format!("{name}@{}\n", artifact.digest));
    Ok(0)
}

/// The files that an argument means, with their names in the bundle.
fn read(argument: &str) -> Result<Vec<(String, Vec<u8>)>, CommandError> {
    let wrong = |name: &str, problem| CommandError::from(BundleError::Pushed { name: name.into(), problem });
    if argument == "-" || is_url(argument) || is_bundle(argument) {
        return Err(wrong(argument, PushProblem::Kind));
    }
    policy_files::exists(argument)?;
    let loaded = files::policies_with_json(&[argument]);
    for notice in &loaded.notices {
        match notice.cause {
            FileCause::Missing | FileCause::Unreadable | FileCause::NoMatch => {
                return Err(wrong(&notice.place, PushProblem::Unread(notice.text.clone())));
            }
            FileCause::Extension if notice.place == *argument => {
                return Err(wrong(argument, PushProblem::Kind));
            }
            FileCause::Empty => console::warn(&notice.to_string()),
            // A folder of policies may hold a page about them.
            _ => {}
        }
    }
    let folder = Some(Path::new(argument)).filter(|path| path.is_dir());
    Ok(loaded.sources.into_iter().map(|source| named(source, folder)).collect())
}

fn named(source: SourceText, folder: Option<&Path>) -> (String, Vec<u8>) {
    let path = Path::new(&source.name);
    let own = folder.and_then(|folder| path.strip_prefix(folder).ok());
    let own = own.or(path.file_name().map(Path::new)).unwrap_or(path);
    let steps: Vec<String> = own.iter().map(|step| step.to_string_lossy().into_owned()).collect();
    (steps.join("/"), source.text.into_bytes())
}
