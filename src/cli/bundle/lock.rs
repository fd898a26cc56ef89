//! `ephor bundle lock`: digests of tags, in `ephor.lock`.

use clap::ValueHint;
use ephor_sources::bundle::{BundleReference, access};
use ephor_sources::files::is_bundle;

use super::requirements;
use crate::cli::arguments::given;
use crate::cli::outputs::write_whole;
use crate::cli::{CommandError, console};

/// Pins the digests of bundles in ephor.lock
///
/// Pins every tag that `ephor.yaml` names among its policies, and those that are pinned already;
/// with references only these. Commands then use the pinned digests, wherever the tags have moved.
/// With a key, a tag is only pinned to a bundle that is signed by it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # all that the repository uses
  ephor bundle lock

  # one more, or the new digest of one
  ephor bundle lock oci://ghcr.io/acme/policies:v1

  # whether a tag has moved
  ephor bundle lock --check

Exit codes:
  0  the file has the digests; with --check: no tag has moved
  1  with --check: a tag has moved or is not pinned
  2  there is no such bundle, it may not be used, or the file cannot be read")]
pub struct LockArgs {
    /// oci://REGISTRY/REPOSITORY:TAG
    #[arg(value_name = "REF")]
    references: Vec<String>,
    /// write nothing, and exit with 1 if the file would change
    #[arg(long)]
    check: bool,
    /// configuration of the repository, instead of ephor.yaml
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// A bundle may not be used, or the file cannot be written.
pub fn run(args: &LockArgs) -> Result<i32, CommandError> {
    requirements::use_config(given(&args.config));
    let access = access::current()?;
    let config = requirements::config()?;
    let mut lock = access.lock().clone();
    let mut names = args.references.clone();
    if names.is_empty() {
        let of_config = config.as_ref().map(|config| config.texts("policies")).unwrap_or_default();
        names.extend(of_config.into_iter().filter(|argument| is_bundle(argument)));
        names.extend(lock.pins().map(|(reference, _)| reference.to_owned()));
    }
    let mut references = Vec::new();
    for name in &names {
        let reference = BundleReference::parse(name)?;
        let is_new = |known: &BundleReference| known.pinnable() != reference.pinnable();
        // A digest is a pin itself.
        if reference.pinnable().is_some() && references.iter().all(is_new) {
            references.push(reference);
        }
    }
    if references.is_empty() {
        console::warn("there is no tag to pin: neither the arguments nor ephor.yaml name one (oci://…:TAG)");
    }
    let mut changes = 0;
    for reference in &references {
        let digest = access.resolve(reference)?;
        let before = lock.pin(reference, &digest);
        let state = match before {
            Some(before) if before == digest => "unchanged".to_string(),
            Some(before) => format!("was {before}"),
            None => "new".to_string(),
        };
        changes += usize::from(state != "unchanged");
        console::print(&format!("{reference} {digest} ({state})\n"));
    }
    if args.check {
        return Ok(i32::from(changes > 0));
    }
    if changes > 0 {
        write_whole(requirements::lock_file(config.as_ref()), lock.text())?;
    }
    Ok(0)
}
