//! Where `create` writes.

use clap::ValueHint;

/// Where the text goes.
#[derive(Debug, clap::Args)]
pub(super) struct OutputFile {
    /// output file instead of standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) output: Option<String>,
}
