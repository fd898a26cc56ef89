//! Flags of the commands that compare policies.

use std::time::{Duration, Instant};

use clap::{ValueEnum, ValueHint};

use ephor_compare::Options;
use ephor_value::release::Release;

use crate::cli::arguments::ConsoleFlags;
use crate::cli::config::ConfigFlag;
use crate::cli::config::file::ConfigError;
use crate::cli::console::warn;
use crate::cli::flag_values::time;
use crate::cli::releases;

/// Flags of `diff`, `equivalent` and `implies`.
#[derive(Clone, Debug, clap::Args)]
pub struct Common {
    /// differences with which the exit code is 1
    #[arg(long, value_name = "DIFFERENCE", default_value = "any")]
    pub fail_on: DiffFailOn,
    /// form of the answer (default that of ephor.yaml, else text)
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT")]
    output_format: Option<DiffFormat>,
    /// file with differences that are accepted (default that of ephor.yaml, else ephor-diff.yaml,
    /// if it exists)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub accepted: Option<String>,
    #[command(flatten)]
    config: ConfigFlag,
    /// folder for the objects on which policies differ, each with tests that show it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<String>,
    /// compare also what violations say, where both sides are violated; this changes no answer
    #[arg(long)]
    pub messages: bool,
    /// most objects that are evaluated for one rule
    #[arg(long, value_name = "NUMBER", default_value_t = Options::default().objects)]
    objects: usize,
    /// time after which what is not yet compared counts as tested (default none)
    #[arg(long, value_name = "DURATION", value_parser = time)]
    time_limit: Option<Duration>,
    /// Kubernetes' own policies as the API server of this release evaluates them, or of two
    /// releases, one for each side (default that of ephor.yaml, else as Kyverno does)
    #[arg(long, value_name = "VERSION[,VERSION]", value_parser = releases::parse_pair)]
    kubernetes: Option<[Release; 2]>,
    /// number of threads, 0 for one per core; the output is the same for any
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub threads: i64,
    /// file for what was evaluated, compressed when its name ends in .gz
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub certificate: Option<String>,
    /// file of --certificate whose objects are evaluated again, instead of a comparison
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "certificate")]
    pub check: Option<String>,
    #[command(flatten)]
    pub console: ConsoleFlags,
}

impl Common {
    /// The flags, with the configuration of the repository in the place of those that are not
    /// given. A file of `--config` that names accepted differences is one of `--accepted`, as it
    /// was once.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub fn configured(&self) -> Result<Common, ConfigError> {
        let mut common = self.clone();
        if let Some(file) = common.config.named().filter(|file| names_accepted(file)) {
            warn(&format!(
                "`--config {file}` names accepted differences; write `--accepted {file}`: --config is the configuration of the repository"
            ));
            common.accepted = common.accepted.or(Some(file.into()));
            common.config = ConfigFlag::default();
        }
        if let Some(config) = common.config.find()? {
            common.output_format = common.output_format.or(config.format());
            common.accepted = common.accepted.or(config.text("acceptedDifferences"));
            common.kubernetes = common.kubernetes.or(config.release().map(|release| [release; 2]));
        }
        Ok(common)
    }

    /// The form of the answer.
    pub fn format(&self) -> DiffFormat {
        self.output_format.unwrap_or(DiffFormat::Text)
    }

    /// The flags on which the answer depends, as words.
    pub fn arguments(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |flag: &str, value: String| words.extend([flag.to_string(), value]);
        if let Some(file) = &self.accepted {
            add("--accepted", file.clone());
        }
        if self.objects != Options::default().objects {
            add("--objects", self.objects.to_string());
        }
        if let Some([old, new]) = self.kubernetes {
            add("--kubernetes", if old == new { old.to_string() } else { format!("{old},{new}") });
        }
        if let Some(limit) = self.time_limit {
            add("--time-limit", format!("{}ms", limit.as_millis()));
        }
        words
    }

    /// The releases whose API servers evaluate Kubernetes' own policies of the sides.
    pub fn releases(&self) -> [Option<Release>; 2] {
        self.kubernetes.map_or([None, None], |both| both.map(Some))
    }

    /// What a comparison may do, from now on.
    pub fn options(&self) -> Options {
        let deadline = self.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        Options { objects: self.objects.max(1), deadline, ..Options::default() }
    }
}

/// Whether a file names accepted differences.
fn names_accepted(file: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    ephor_document::yaml_value(&text).is_ok_and(|value| value.get("ignore").is_some())
}

/// Differences with which the exit code is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiffFailOn {
    /// The new policy allows what the old one denies
    Weaker,
    /// The new policy denies what the old one allows
    Stricter,
    /// Any difference in clusters
    Any,
    /// Any difference, also in files only, or equality that is not proved
    Tested,
}

/// The forms of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// Lines and manifests, for people
    Text,
    /// One object
    Json,
    /// For pull requests
    Markdown,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub workflows
    Github,
    /// JUnit XML, for build servers
    Junit,
}
