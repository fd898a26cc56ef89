//! `ephor.yaml`: what a repository wants of the commands that read policies, and `ephor config`,
//! which prints it.
//!
//! In: the file of that name in the current folder or the nearest one above it, up to the root of
//! the repository. Out: values in the place of flags that are not given. Semantics:
//! `docs/reference/config.md`.
//!
//! - [`file`]: the file: where it is, what it holds, what is wrong in it.

pub mod file;

use clap::ValueHint;
use ephor_value::print::json;
use ephor_value::{Map, Value};

use self::file::{Config, ConfigError, KEYS, Setting};
use super::arguments::given;
use super::bundle::requirements;
use super::{CommandError, console, program_name};

/// `--config` of the commands that read the configuration.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ConfigFlag {
    /// configuration of the repository, instead of ephor.yaml
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<String>,
}

impl ConfigFlag {
    /// The configuration that counts for the command. Kyverno knows none.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn find(&self) -> Result<Option<Config>, ConfigError> {
        if program_name::is_kyverno() {
            return Ok(None);
        }
        requirements::use_config(given(&self.config));
        Config::find(given(&self.config))
    }

    /// The named file, where one is named.
    pub fn named(&self) -> Option<&str> {
        given(&self.config)
    }
}

/// Prints what the configuration of the repository sets, and where
///
/// The file is `ephor.yaml` in the current folder or the nearest one above it, up to the root of
/// the repository. Flags win over it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # what counts here
  ephor config

  # that of another folder
  ephor config --config shop/ephor.yaml")]
pub struct ConfigArgs {
    #[command(flatten)]
    config: ConfigFlag,
    /// form of the output
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT", default_value = "text")]
    output_format: ConfigFormat,
}

/// The forms of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ConfigFormat {
    /// A line for each setting
    Text,
    /// An object
    Json,
}

/// Runs the command.
///
/// # Errors
/// The file cannot be used.
pub fn run(args: &ConfigArgs) -> Result<i32, CommandError> {
    let config = Config::find(args.config.named())?;
    let settings: Vec<(&'static str, Option<Setting>)> = KEYS
        .iter()
        .map(|key| (key.name, config.as_ref().and_then(|config| config.setting(key.name))))
        .collect();
    match args.output_format {
        ConfigFormat::Text => console::print(&text(config.as_ref(), &settings)),
        ConfigFormat::Json => {
            let set = settings.into_iter().filter_map(|(name, setting)| Some((name.into(), setting?.value)));
            console::print(&format!("{}\n", json(&Value::Map(set.collect::<Map>()))));
        }
    }
    Ok(0)
}

fn text(config: Option<&Config>, settings: &[(&'static str, Option<Setting>)]) -> String {
    let mut out = match config {
        Some(config) => format!("{}\n", config.name()),
        None => "there is no ephor.yaml: the defaults of the flags count\n".to_string(),
    };
    let width = settings.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, setting) in settings {
        match setting {
            Some(setting) => {
                out.push_str(&format!(
                    "  {name:width$}  {}  (line {})\n",
                    json(&setting.value),
                    setting.line
                ));
            }
            None => out.push_str(&format!("  {name:width$}  -\n")),
        }
    }
    out
}
