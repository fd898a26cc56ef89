//! `ephor conformance`: runs recorded suites.
//!
//! Suites and their counts go to standard output; progress, skipped cases and totals to standard
//! error. Only differences that are not known make the command fail.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use ephor_conformance::known::{self, Known};
use ephor_conformance::{Report, Step, data};
use ephor_value::print::{display, json};
use ephor_value::release::Release;
use ephor_value::{Map, Value};

use super::releases;
use super::usage::Usage;
use super::{CommandError, outputs};
use crate::cli::arguments::given;
use crate::cli::console;

/// Runs recorded suites and prints how many cases pass
///
/// Runs every suite found in a folder laid out as described in docs/internals/conformance.md and
/// prints one line a suite (NAME PASSED/TOTAL). Without a folder: the recorded suites of the
/// repository it runs in.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # run the suites that this repository wrote
  ephor conformance conformance

  # run those recorded from the references
  ephor conformance

Exit codes:
  0  every case passes, or is listed in the file of --known
  1  another case fails
  2  there is no suite")]
pub struct ConformanceArgs {
    /// folder with suites
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: Vec<String>,
    /// prefix of the names of the suites to run
    #[arg(long, short, value_name = "NAME", default_value = "", hide_default_value = true)]
    suite: String,
    /// release of Kubernetes whose recordings are in the folder
    #[arg(long, value_name = "VERSION", default_value = releases::DEFAULT, value_parser = releases::parse)]
    kubernetes: Release,
    /// file for failing cases, one JSON object per line
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    failures: Option<String>,
    /// file with known differences (default conformance/failing.toml of the repository)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    known: Option<String>,
}

/// Totals over all suites.
#[derive(Default)]
struct SuiteTotals {
    suites: usize,
    passed: usize,
    total: usize,
    known: usize,
    /// Failing cases, one JSON object a line.
    lines: String,
}

impl SuiteTotals {
    fn add(&mut self, report: &Report, release: Release, known: &Known) {
        self.suites += 1;
        self.passed += report.passed;
        self.total += report.total;
        for failure in &report.failures {
            let cause = known.cause(release, &report.name, &failure.id);
            self.known += usize::from(cause.is_some());
            let mut line = Map::new();
            line.insert("suite", Value::from(&*report.name));
            line.insert("id", Value::from(&*failure.id));
            line.insert("expected", with_json_numbers(&failure.expected));
            line.insert("got", with_json_numbers(&failure.got));
            if let Some(cause) = cause {
                line.insert("known", Value::from(cause));
            }
            self.lines.push_str(&json(&Value::Map(line)));
            self.lines.push('\n');
        }
    }

    /// Failing cases that are not known.
    fn unknown(&self) -> usize {
        self.total - self.passed - self.known
    }
}

/// Runs the command.
///
/// # Errors
/// An unreadable folder.
pub fn run(args: &ConformanceArgs) -> Result<i32, CommandError> {
    let dir = match &args.folder[..] {
        [] => data::folder()?,
        [dir] => PathBuf::from(dir),
        more => return Err(Usage::MoreThanOne(more.len()).into()),
    };
    if !dir.is_dir() {
        return Err(CommandError::NoFolder { path: dir });
    }
    let known = known(given(&args.known))?;
    let progress = progress();
    let mut totals = SuiteTotals::default();
    ephor_conformance::run_all(&dir, &args.suite, args.kubernetes, |step| match step {
        Step::Begun(name) => progress.set_message(name.to_string()),
        Step::Done(report) => {
            totals.add(&report, args.kubernetes, &known);
            progress.suspend(|| {
                console::print(&format!("{} {}/{}\n", report.name, report.passed, report.total));
                for (why, cases) in &report.left_out {
                    console::error(&format!("{}: {cases} left out: {why}\n", report.name));
                }
            });
        }
    })?;
    progress.finish_and_clear();
    if totals.suites == 0 {
        return Err(CommandError::NoSuite { path: dir });
    }
    let SuiteTotals { suites, passed, total, known, .. } = totals;
    console::error(&format!(
        "{suites} suites: {passed} of {total} cases pass; of the others {known} are known, {} new\n",
        totals.unknown()
    ));
    if let Some(file) = given(&args.failures) {
        outputs::write_whole(file, &totals.lines)?;
    }
    Ok(i32::from(totals.unknown() > 0))
}

/// A value whose numbers JSON has: others are texts.
fn with_json_numbers(value: &Value) -> Value {
    match value {
        Value::Float(number) if !number.is_finite() => display(value).into(),
        Value::List(items) => Value::list(items.iter().map(with_json_numbers).collect()),
        Value::Map(m) => Value::Map(m.iter().map(|(k, v)| (k.clone(), with_json_numbers(v))).collect()),
        other => other.clone(),
    }
}

/// The differences that are known: those of a file, or of the repository that the command runs in.
fn known(file: Option<&str>) -> Result<Known, CommandError> {
    let of_repository =
        || data::repository().map(|root| root.join(known::FILE)).filter(|file| file.is_file());
    let file = file.map(|file| Path::new(file).to_path_buf()).or_else(of_repository);
    Ok(file.map_or_else(|| Ok(Known::default()), |file| Known::read(&file))?)
}

/// On a terminal: which suite is run, and for how long.
fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
            .unwrap_or(ProgressStyle::default_spinner()),
    );
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
