//! `ephor conformance`: runs recorded suites.
//!
//! Suites and their counts go to standard output; progress, skipped cases and totals to standard error. Only differences that are
//! not known make the command fail.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use ephor_conformance as conformance;
use ephor_conformance::known::{self, Known};
use ephor_conformance::{Report, Step, data};
use ephor_value::print::json;
use ephor_value::{Map, Value};

use super::flags::{self, Flag, Takes, flag};

const FLAGS: &[Flag] = &[
    flag("suite", Takes::Text, "prefix of the names of the suites to run").short('s'),
    flag("failures", Takes::Text, "file for failing cases, one JSON object per line").short('f'),
    flag(
        "known",
        Takes::Text,
        "file with known differences (default conformance/failing.toml of the repository)",
    ),
];

const ABOUT: &str = "Runs every suite found in a folder laid out as described in docs/conformance.md and prints one line a suite\n(NAME PASSED/TOTAL). Without a folder: the recorded suites of the repository it runs in.\nThe exit code is 1 when a case fails that is not known to.";

const EXAMPLES: &str = "  # run the suites that this repository wrote\n  ephor conformance conformance\n\n  # run those recorded from the references\n  ephor conformance\n";

pub(super) const PAGE: super::Page =
    super::Page { name: "conformance", arguments: "[DIR]", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Totals over all suites.
#[derive(Default)]
struct Totals {
    suites: usize,
    passed: usize,
    total: usize,
    known: usize,
    /// Failing cases, one JSON object a line.
    lines: String,
}

impl Totals {
    fn add(&mut self, report: &Report, known: &Known) {
        self.suites += 1;
        self.passed += report.passed;
        self.total += report.total;
        for failure in &report.failures {
            let cause = known.cause(&report.name, &failure.id);
            self.known += usize::from(cause.is_some());
            let mut line = Map::new();
            line.insert("suite", Value::from(&*report.name));
            line.insert("id", Value::from(&*failure.id));
            line.insert("expected", failure.expected.clone());
            line.insert("got", failure.got.clone());
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
/// Bad flags, an unreadable folder.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if parsed.on("help") {
        super::print(&super::command_help("conformance", "[DIR]", ABOUT, FLAGS, EXAMPLES));
        return Ok(0);
    }
    let dir = match &parsed.arguments[..] {
        [] => data::folder().map_err(|e| e.to_string())?,
        [dir] => PathBuf::from(dir),
        more => return Err(format!("accepts at most 1 arg(s), received {}", more.len())),
    };
    if !dir.is_dir() {
        return Err(format!("open {}: no such file or directory", dir.display()));
    }
    let known = known(parsed.text("known"))?;
    let progress = progress();
    let mut totals = Totals::default();
    conformance::run_all(&dir, parsed.text("suite"), |step| match step {
        Step::Begun(name) => progress.set_message(name.to_string()),
        Step::Done(report) => {
            totals.add(&report, &known);
            progress.suspend(|| {
                super::print(&format!("{} {}/{}\n", report.name, report.passed, report.total));
                for (why, cases) in &report.left_out {
                    eprintln!("{}: {cases} left out: {why}", report.name);
                }
            });
        }
    })
    .map_err(|e| e.to_string())?;
    progress.finish_and_clear();
    if totals.suites == 0 {
        return Err(format!("no suite found in {}", dir.display()));
    }
    let Totals { suites, passed, total, known, .. } = totals;
    eprintln!(
        "{suites} suites: {passed} of {total} cases pass; of the others {known} are known, {} new",
        totals.unknown()
    );
    let file = parsed.text("failures");
    if !file.is_empty() {
        super::write_whole(file, &totals.lines).map_err(|e| format!("failed to write {file} ({e})"))?;
    }
    Ok(i32::from(totals.unknown() > 0))
}

/// The differences that are known: those of a file, or of the repository that the command runs in.
fn known(file: &str) -> Result<Known, String> {
    let of_repository =
        || data::repository().map(|root| root.join(known::FILE)).filter(|file| file.is_file());
    let file = if file.is_empty() { of_repository() } else { Some(Path::new(file).to_path_buf()) };
    file.map_or_else(|| Ok(Known::default()), |file| Known::read(&file)).map_err(|e| e.to_string())
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
