//! `ephor version`: the version of the program, and of whose behaviour it has.

use clap::ValueEnum;

use ephor_document::json::to_serde;
use ephor_value::{Map, Value};

use super::CommandError;
use crate::cli::console::print;
use crate::cli::program_name::is_kyverno;

/// The release of Kyverno whose behaviour the program has.
const KYVERNO: &str = "1.19.1";
/// The release of Kubernetes whose behaviour the program has.
const KUBERNETES: &str = "1.36.3";

/// Shows the version of the program
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "Examples:
  # the version, and those of Kyverno and Kubernetes
  ephor version

  # for scripts
  ephor version -o json")]
pub struct VersionArgs {
    /// output format
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT", default_value = "text")]
    output_format: VersionFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum VersionFormat {
    #[default]
    Text,
    Json,
}

/// Runs the command.
///
/// # Errors
/// None that is known.
pub fn run(args: &VersionArgs) -> Result<i32, CommandError> {
    let version = env!("CARGO_PKG_VERSION");
    match args.output_format {
        // Scripts that call Kyverno look for its version.
        VersionFormat::Text if is_kyverno() => {
            print(&format!("Version: v{KYVERNO}\nTime: ---\nGit commit ID: ---\n"))
        }
        VersionFormat::Text => {
            print(&format!("Version: {version}\nReference: Kyverno {KYVERNO}, Kubernetes {KUBERNETES}\n"))
        }
        VersionFormat::Json => {
            let mut out = Map::new();
            out.insert("version", version.into());
            if let Some(commit) = option_env!("EPHOR_COMMIT") {
                out.insert("commit", commit.into());
            }
            out.insert("target", format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS).into());
            out.insert("kyverno", KYVERNO.into());
            out.insert("kubernetes", KUBERNETES.into());
            print(&format!("{}\n", serde_json::to_string_pretty(&to_serde(&Value::Map(out)))?));
        }
    }
    Ok(0)
}
