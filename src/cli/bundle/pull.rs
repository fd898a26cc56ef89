//! `ephor bundle pull`: the files of a bundle in a folder.

use std::path::Path;

use clap::ValueHint;
use ephor_sources::bundle::{BundleReference, access, folder};

use super::{files, requirements};
use crate::cli::{CommandError, console};

/// Pulls a bundle and writes its files
///
/// All files are written or none. Digests, sizes and names are checked first; a name that leads out
/// of the folder is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # into a folder
  ephor bundle pull oci://ghcr.io/acme/policies:v1 --out policies/

  # only if it is signed
  ephor bundle pull oci://ghcr.io/acme/policies:v1 --bundle-key cosign.pub --out policies/

Exit codes:
  0  the files are in the folder
  2  there is no such bundle, it may not be used, or a file cannot be written")]
pub struct PullArgs {
    /// oci://REGISTRY/REPOSITORY:TAG, or @sha256:… in the place of the tag
    #[arg(value_name = "REF")]
    reference: String,
    /// folder for the files
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    out: String,
    /// replace files that have another content
    #[arg(long)]
    force: bool,
}

/// Runs the command.
///
/// # Errors
/// The bundle may not be used, or a file cannot be written.
pub fn run(args: &PullArgs) -> Result<i32, CommandError> {
    let reference = BundleReference::parse(&args.reference)?.to_string();
    requirements::fetch([&reference])?;
    let bundle = access::fetch(&reference)?;
    for name in &bundle.left_out {
        console::warn(&format!("{reference}: `{name}` is no policy file and is left out"));
    }
    let written = folder::write(&bundle, Path::new(&args.out), args.force)?;
    for path in &written {
        console::print(&format!("{}\n", path.display()));
    }
    console::error(&format!("pulled {} of {}\n", files(written.len()), bundle.digest));
    Ok(0)
}
