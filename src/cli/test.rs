//! `ephor test`: tests of policies.
//!
//! Flags, order of work, texts and exit codes are Kyverno's (`docs/test.md`). Tests run in parallel, their
//! output is in the order of their files. Warnings that Kyverno does not print go to standard error, one line
//! each.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rayon::prelude::*;

use ephor_engine::Profile;
use ephor_testing::testing::coverage::Coverage;
use ephor_testing::testing::file::{self, Test};
use ephor_testing::testing::find::{Found, find};
use ephor_testing::testing::format::{Format, Style, render};
use ephor_testing::testing::load::Strictness;
use ephor_testing::testing::rows::{Row, Verdict};
use ephor_testing::testing::run::{Options, Ran, run as run_test};
use ephor_testing::testing::selector::Selector;

use super::flags::whole;
use super::usage::Usage;
use super::{Error, given, print, use_threads, warn};

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
  1  with --require-tests: no test; with --strict: a vacuous result; with --coverage-min: less coverage")]
pub struct Args {
    /// folders, patterns or git repositories
    #[arg(value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    folders: Vec<String>,
    /// name of test files
    #[arg(long, short, value_name = "NAME", default_value = "kyverno-test.yaml")]
    file_name: String,
    /// selector of the checked results: policy=…,rule=…,resource=…
    #[arg(long, short, value_name = "SELECTOR", default_value = "policy=*,rule=*,resource=*")]
    test_case_selector: String,
    /// branch of a git repository
    #[arg(long, short = 'b', value_name = "BRANCH", default_value = "", hide_default_value = true)]
    git_branch: String,
    /// access to image registries
    #[arg(long)]
    registry: bool,
    /// number of threads, 0 for one per core; the output is the same for any
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = whole)]
    threads: i64,
    /// new run whenever a file changes
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    exit: Exit,
    #[command(flatten)]
    coverage: CoverageOptions,
}

/// What is printed.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct Output {
    /// format of results (default a table)
    #[arg(long, short, value_name = "FORMAT", default_value = "", hide_default_value = true)]
    output_format: TestFormat,
    /// failures only, all at the end
    #[arg(long)]
    fail_only: bool,
    /// messages of the results
    #[arg(long)]
    detailed_results: bool,
    /// output without colours
    #[arg(long)]
    remove_color: bool,
}

/// What fails a run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Errors and exit code")]
struct Exit {
    /// error when no test is found
    #[arg(long)]
    require_tests: bool,
    /// deprecation warnings as errors
    #[arg(long)]
    warnings_as_errors: bool,
    /// vacuous expected results (no assertion evaluated) as failures
    #[arg(long)]
    strict: bool,
}

/// What tests reach.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Coverage")]
struct CoverageOptions {
    /// report of rules, conditions and pattern leaves that no test reached
    #[arg(long = "coverage")]
    report: bool,
    /// file for the coverage
    #[arg(long = "coverage-file", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<String>,
    /// format of the coverage file
    #[arg(long = "coverage-format", value_name = "FORMAT", default_value = "json")]
    format: CoverageFormat,
    /// error when tests reach a smaller share of rules, conditions and pattern leaves
    #[arg(long = "coverage-min", value_name = "PERCENT", value_parser = percent)]
    min: Option<f64>,
}

/// A format of the coverage file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CoverageFormat {
    Json,
    Lcov,
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
    fn is_recorded(&self) -> bool {
        self.report || self.min.is_some() || given(&self.file).is_some()
    }

    /// Whether the program writes a file itself: that of the coverage, or the temporary one before it.
    fn writes(&self, path: &Path) -> bool {
        let Some(own) = given(&self.file).map(Path::new) else { return false };
        let folder = |p: &Path| {
            let folder = p.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
            folder.canonicalize().ok()
        };
        let name = |p: &Path| p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let (own_name, changed) = (name(own), name(path));
        let is_named = changed == own_name
            || (changed.starts_with(&format!("{own_name}.")) && changed.ends_with(".tmp"));
        is_named && folder(own) == folder(path)
    }
}

/// A format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TestFormat {
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

/// How long files have to stay unchanged before the tests run again.
const QUIET: Duration = Duration::from_millis(100);

/// How many tests run in one block: memory use does not grow with their number.
const BLOCK: usize = 64;

/// Runs the command.
///
/// # Errors
/// Tests cannot be read or run, or how many failed.
pub fn run(args: &Args) -> Result<i32, Error> {
    use_threads(args.threads);
    super::outbound::configure_for(Profile::kyverno_cli());
    if args.folders.is_empty() {
        return Err(Usage::NoArguments.into());
    }
    if args.watch { watch(args) } else { session(args) }
}

/// Runs the tests, and again whenever a file changes that they name, until the program is ended.
fn watch(args: &Args) -> Result<i32, Error> {
    loop {
        let (sender, changes) = std::sync::mpsc::channel();
        let options = args.coverage.clone();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.map_or(true, |event| matters(&event, &options)) {
                // The receiver is gone when the program ends.
                let _ = sender.send(());
            }
        })?;
        for folder in watched(args) {
            notify::Watcher::watch(&mut watcher, &folder, notify::RecursiveMode::Recursive)?;
        }
        if let Err(error) = session(args) {
            eprintln!("Error: {error}");
        }
        eprintln!("waiting for changes");
        changes.recv()?;
        // An editor writes several times: the run begins when it is quiet.
        while changes.recv_timeout(QUIET).is_ok() {}
    }
}

/// Whether tests may have other results now: a file changed that the program does not write itself.
fn matters(event: &notify::Event, options: &CoverageOptions) -> bool {
    let is_own = !event.paths.is_empty() && event.paths.iter().all(|path| options.writes(path));
    !event.kind.is_access() && !is_own
}

/// The folders in which a change matters.
fn watched(args: &Args) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = args.folders.iter().map(PathBuf::from).collect();
    let found = find(&args.folders, &args.file_name, &args.git_branch);
    for source in found.iter().flat_map(|f| &f.sources) {
        for test in file::tests(source, None).into_iter().flatten() {
            let folders =
                test.paths().map(Path::new).map(|p| if p.is_dir() { p } else { p.parent().unwrap_or(p) });
            all.extend(
                folders.map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p }.to_path_buf()),
            );
        }
    }
    all.retain(|p| p.is_dir());
    all.sort();
    all.dedup();
    // A watched folder includes everything below it.
    let mut roots: Vec<PathBuf> = Vec::new();
    for path in all {
        if !roots.iter().any(|root| path.starts_with(root)) {
            roots.push(path);
        }
    }
    roots
}

fn session(args: &Args) -> Result<i32, Error> {
    let (selector, wrong) = Selector::parse(&args.test_case_selector);
    if !wrong.is_empty() {
        let lines: Vec<String> = wrong.iter().map(|e| format!("  Error: {e}\n")).collect();
        print(&format!("\nFilter errors:\n{}", lines.concat()));
    }
    let found = find(&args.folders, &args.file_name, &args.git_branch).map_err(|text| {
        print(&format!("\nError loading tests: {text}\n"));
        Error::input(text)
    })?;
    for place in &found.empty {
        warn(&format!("{place}: no {} found", args.file_name));
    }
    let tests = read(&found)?;
    if tests.is_empty() {
        print("\nNo test yamls available\n");
        return match (args.exit.require_tests, wrong.first()) {
            (_, Some(e)) => Err(Error::input(e.clone())),
            (true, None) => Err(Error::NoTests),
            (false, None) => Ok(0),
        };
    }
    let format = Format::from(args.output.output_format);
    let colour = !args.output.remove_color && format == Format::Table;
    let cells = colour && super::shows_colours();
    let style = Style { format, detailed: args.output.detailed_results, colour, cells };
    let mut totals = Totals::default();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let result = run_all(&tests, &selector, args, style, &mut totals, &mut out);
    let result = result.and_then(|()| finish(args, style, totals, &mut out));
    let _ = out.flush();
    result
}

/// The tests of all files.
///
/// # Errors
/// A document is no test.
fn read(found: &Found) -> Result<Vec<Test>, Error> {
    let (mut tests, mut faulty) = (Vec::new(), Vec::new());
    for source in &found.sources {
        let repository = found
            .checkouts
            .iter()
            .map(|c| c.root())
            .find(|root| std::path::Path::new(&source.name).starts_with(root));
        for result in file::tests(source, repository) {
            match result {
                Ok(test) => tests.push(test),
                Err(e) => faulty.push(e),
            }
        }
    }
    if faulty.is_empty() {
        return Ok(tests);
    }
    let lines: Vec<String> =
        faulty.iter().map(|f| format!("  Path: {}\n    Error: {}\n", f.path, f.text)).collect();
    print(&format!("\nTest errors:\n{}", lines.concat()));
    for hint in faulty.iter().filter_map(|f| f.hint.as_ref()) {
        warn(hint);
    }
    Err(Error::FaultyTests { count: faulty.len() })
}

/// The totals of all tests so far.
#[derive(Default)]
struct Totals {
    rows: usize,
    failed: Vec<Row>,
    failures: usize,
    vacuous: usize,
    coverage: Coverage,
}

fn run_all(
    tests: &[Test],
    selector: &Selector,
    args: &Args,
    style: Style,
    totals: &mut Totals,
    out: &mut impl Write,
) -> Result<(), Error> {
    let options = Options {
        strictness: Strictness { warnings_as_errors: args.exit.warnings_as_errors, registry: args.registry },
        coverage: args.coverage.is_recorded(),
        ..Options::default()
    };
    let one = |test: &Test| -> Option<Ran> {
        if test.deprecated {
            return Some(deprecated(test));
        }
        let results = selector.select(&test.results);
        if results.is_empty() {
            return None;
        }
        Some(run_test(&Test { results, ..test.clone() }, options))
    };
    for block in tests.chunks(BLOCK) {
        let done: Vec<Option<Ran>> = block.par_iter().map(one).collect();
        for ran in done.into_iter().flatten() {
            let _ = out.write_all(ran.log.text.as_bytes());
            let _ = out.flush();
            ran.log.hints.iter().for_each(|hint| warn(hint));
            if let Some(text) = ran.failed {
                return Err(Error::input(text));
            }
            if !args.output.fail_only {
                let text = render(&ran.rows, style);
                let end = if style.format == Format::Table { "\n" } else { "\n\n" };
                let _ = write!(out, "\n{text}{end}");
            }
            ran.vacuous.iter().for_each(|line| warn(line));
            totals.vacuous += ran.vacuous.len();
            totals.coverage.merge(ran.coverage);
            totals.rows += ran.rows.len();
            let failed = ran.rows.into_iter().filter(|r| r.verdict == Verdict::Fail);
            if args.output.fail_only {
                totals.failed.extend(failed);
                totals.failures = totals.failed.len();
            } else {
                totals.failures += failed.count();
            }
        }
    }
    Ok(())
}

fn deprecated(test: &Test) -> Ran {
    let mut ran = Ran::default();
    ran.log.text = format!(
        "\nWARNING: test file ({}) uses a deprecated schema that will be removed in 1.15\n",
        test.path
    );
    ran.failed = Some(format!(
        "test file {} uses a deprecated schema — please migrate to the latest format",
        test.path
    ));
    ran
}

fn finish(args: &Args, style: Style, totals: Totals, out: &mut impl Write) -> Result<i32, Error> {
    let failures = totals.failures;
    let text = match args.output.fail_only {
        true => format!("\nTest Summary: {failures} out of {} tests failed\n\n", totals.rows),
        false => {
            format!("\nTest Summary: {} tests passed and {failures} tests failed\n\n", totals.rows - failures)
        }
    };
    let _ = out.write_all(text.as_bytes());
    if args.output.fail_only && failures > 0 {
        let failed = render(&totals.failed, style);
        let _ = match style.format {
            Format::Table => write!(out, "Aggregated Failed Test Cases : \n{failed}"),
            _ => write!(out, "\n{failed}\n\n"),
        };
    }
    if args.coverage.report {
        let _ = out.write_all(totals.coverage.text().as_bytes());
    }
    let _ = out.flush();
    if let Some(file) = given(&args.coverage.file) {
        let text = match args.coverage.format {
            CoverageFormat::Json => {
                format!("{}\n", ephor_value::print::json_pretty(&totals.coverage.document(), 1))
            }
            CoverageFormat::Lcov => totals.coverage.lcov(),
        };
        super::write_whole(file, &text)?;
    }
    if totals.vacuous > 0 {
        warn(&format!("{} expected result(s) are vacuous: no assertion was evaluated", totals.vacuous));
    }
    if failures > 0 {
        return Err(Error::FailedTests { count: failures });
    }
    if args.exit.strict && totals.vacuous > 0 {
        return Err(Error::VacuousResults { count: totals.vacuous });
    }
    let reached = totals.coverage.percent();
    if let Some(min) = args.coverage.min.filter(|min| reached < *min) {
        return Err(Error::Coverage { reached, min });
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, Event, EventKind};

    #[test]
    fn files_that_the_program_writes_start_no_new_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let options = CoverageOptions {
            report: false,
            file: Some(path("coverage.json").display().to_string()),
            format: CoverageFormat::Json,
            min: None,
        };
        let created = |name: &str| Event::new(EventKind::Create(CreateKind::File)).add_path(path(name));
        assert!(!matters(&created("coverage.json"), &options));
        assert!(!matters(&created("coverage.json.17.tmp"), &options));
        assert!(matters(&created("policy.yaml"), &options));
        assert!(matters(&created("coverage.json").add_path(path("policy.yaml")), &options));
        let elsewhere = folder.path().with_file_name("coverage.json");
        assert!(matters(&Event::new(EventKind::Create(CreateKind::File)).add_path(elsewhere), &options));
    }
}
