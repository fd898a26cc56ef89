//! The flags of `ephor test`.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use ephor_report::formats::Format as Own;
use ephor_testing::testing::format::Format;
use ephor_value::release::Release;

use crate::cli::arguments::given;
use crate::cli::config::ConfigFlag;
use crate::cli::config::file::ConfigError;
use crate::cli::flags::whole;
use crate::cli::releases;
use crate::cli::report_file::extension;

/// Runs tests of policies
///
/// Every folder is searched for test files, which name policies, resources and expected results.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # run all tests below a folder
  ephor test policies/

  # only those of one rule, with messages
  ephor test policies/ -t 'policy=need-team,rule=team' --detailed-results

Exit codes:
  0  all results are as expected, or there is no test
  1  a result is not as expected, or a file cannot be used
  1  with --require-tests: no test; with --strict: a folder without tests, no result, a vacuous result
  1  with --coverage-min: less coverage")]
pub struct TestArgs {
    /// folders, patterns or git repositories
    #[arg(value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    pub(super) folders: Vec<String>,
    /// name of test files
    #[arg(long, short, value_name = "NAME", default_value = "kyverno-test.yaml")]
    pub(super) file_name: String,
    /// selector of the checked results: policy=…,rule=…,resource=…
    #[arg(long, short, value_name = "SELECTOR", default_value = "policy=*,rule=*,resource=*")]
    pub(super) test_case_selector: String,
    /// branch of a git repository
    #[arg(long, short = 'b', value_name = "BRANCH", default_value = "", hide_default_value = true)]
    pub(super) git_branch: String,
    /// access to image registries
    #[arg(long)]
    pub(super) registry: bool,
    /// Kubernetes' own policies as the API server of this release evaluates them, where a test file
    /// does not name one itself (default that of ephor.yaml, else as Kyverno's command line does)
    #[arg(long, value_name = "VERSION", value_parser = releases::parse)]
    pub(super) kubernetes: Option<Release>,
    #[command(flatten)]
    pub(super) config: ConfigFlag,
    /// number of threads, 0 for one per core; the output is the same for any
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = whole)]
    pub(super) threads: i64,
    /// new run whenever a file changes
    #[arg(long)]
    pub(super) watch: bool,
    #[command(flatten)]
    pub(super) output: TestOutputFlags,
    #[command(flatten)]
    pub(super) exit: Exit,
    #[command(flatten)]
    pub(super) coverage: CoverageOptions,
}

impl TestArgs {
    /// The flags, with the configuration of the repository in the place of those that are not
    /// given.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub(super) fn configured(mut self) -> Result<TestArgs, ConfigError> {
        let Some(config) = self.config.find()? else { return Ok(self) };
        self.kubernetes = self.kubernetes.or(config.release());
        let output = &mut self.output;
        if output.kyverno_format == TestFormat::Table && given(&output.report_file).is_none() {
            let format = config.text("format").and_then(|name| Own::of(&name));
            output.output_format = output.output_format.or(format.filter(|format| *format != Own::Html));
        }
        Ok(self)
    }

    /// The files that the program writes, by their flags.
    pub(super) fn written(&self) -> Vec<(&'static str, &str)> {
        let files = [("--coverage-file", &self.coverage.file), ("--report-file", &self.output.report_file)];
        files.into_iter().filter_map(|(flag, file)| Some((flag, given(file)?))).collect()
    }
}

/// What is printed.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct TestOutputFlags {
    /// format of Kyverno's results, between the lines about the run (default a table)
    #[arg(short = 'o', value_name = "FORMAT", default_value = "", hide_default_value = true)]
    pub(super) kyverno_format: TestFormat,
    /// format of the results, which nothing else is printed with
    #[arg(long, value_name = "FORMAT", value_parser = formats(), conflicts_with = "kyverno_format")]
    pub(super) output_format: Option<Own>,
    /// file for the results in --output-format, else in the format of its extension
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) report_file: Option<String>,
    /// failures only, all at the end
    #[arg(long)]
    pub(super) fail_only: bool,
    /// messages of the results
    #[arg(long)]
    pub(super) detailed_results: bool,
    /// output without colours
    #[arg(long)]
    pub(super) remove_color: bool,
}

/// What fails a run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Errors and exit code")]
pub(super) struct Exit {
    /// error when no test is found
    #[arg(long)]
    pub(super) require_tests: bool,
    /// deprecation warnings as errors
    #[arg(long)]
    pub(super) warnings_as_errors: bool,
    /// as failures: vacuous expected results (no assertion evaluated), folders without tests, no
    /// result
    #[arg(long)]
    pub(super) strict: bool,
}

/// What tests reach.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Coverage")]
pub(super) struct CoverageOptions {
    /// report of rules, conditions and pattern leaves that no test reached
    #[arg(long = "coverage")]
    pub(super) report: bool,
    /// file for the coverage
    #[arg(long = "coverage-file", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) file: Option<String>,
    /// format of the coverage file (default that of its extension, else json)
    #[arg(long = "coverage-format", value_name = "FORMAT")]
    format: Option<CoverageFormat>,
    /// error when tests reach a smaller share of rules, conditions and pattern leaves
    #[arg(long = "coverage-min", value_name = "PERCENT", value_parser = percent)]
    pub(super) min: Option<f64>,
}

impl CoverageOptions {
    /// The format of a file.
    pub(super) fn format_of(&self, file: &str) -> CoverageFormat {
        self.format.unwrap_or(match extension(file) {
            Some("html") => CoverageFormat::Html,
            Some("info" | "lcov") => CoverageFormat::Lcov,
            _ => CoverageFormat::Json,
        })
    }
}

/// A format of the coverage file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum CoverageFormat {
    Json,
    Lcov,
    Html,
}

/// A text that is no share.
#[derive(Debug, thiserror::Error)]
#[error("expected a number from 0 to 100")]
struct PercentError;

fn percent(text: &str) -> Result<f64, PercentError> {
    let number: f64 = text.trim_end_matches('%').parse().map_err(|_| PercentError)?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err(PercentError) }
}

impl CoverageOptions {
    /// Whether it has to be recorded what tests reach.
    pub(super) fn is_recorded(&self) -> bool {
        self.report || self.min.is_some() || given(&self.file).is_some()
    }
}

/// A format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum TestFormat {
    #[value(name = "", hide = true)]
    Table,
    Json,
    Yaml,
    Markdown,
    Junit,
}

impl From<TestFormat> for Format {
    fn from(format: TestFormat) -> Format {
        match format {
            TestFormat::Table => Format::Table,
            TestFormat::Json => Format::Json,
            TestFormat::Yaml => Format::Yaml,
            TestFormat::Markdown => Format::Markdown,
            TestFormat::Junit => Format::Junit,
        }
    }
}

/// The formats of our own; a page about policies and their resources is none for tests.
fn formats() -> impl TypedValueParser<Value = Own> {
    let names = Own::ALL.iter().filter(|(_, format)| *format != Own::Html).map(|(name, _)| *name);
    PossibleValuesParser::new(names).try_map(|name| Own::of(&name).ok_or("no format"))
}

/// The command as Kyverno reads it: `--output-format` selects a format of its own.
pub(in crate::cli) fn with_values_of_kyverno(command: clap::Command) -> clap::Command {
    let command = command.mut_arg("output_format", |arg| arg.long("report-format").hide(true));
    command.mut_arg("kyverno_format", |arg| arg.long("output-format"))
}
