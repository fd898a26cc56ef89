//! `ephor test`: tests of policies.
//!
//! Flags, order of work, texts and exit codes are Kyverno's (`docs/reference/test.md`). Tests run
//! in parallel, their output is in the order of their files. Warnings that Kyverno does not print
//! go to standard error, one line each. With `--output-format` standard output is one document of a
//! format of our own (`report`).
//!
//! - `options`: the flags of `ephor test`.
//! - `report`: the results of tests in the formats of `ephor apply`.
//! - `totals`: what all tests of a run add up to.
//! - `watch`: `ephor test --watch`: a new run whenever a file changes that tests name.

mod options;
mod report;
mod totals;
mod watch;

use std::io::Write;

use rayon::prelude::*;

use ephor_engine::Profile;
use ephor_testing::testing::file::{self, Test};
use ephor_testing::testing::find::{Found, find};
use ephor_testing::testing::format::{Format, Style, render};
use ephor_testing::testing::load::Strictness;
use ephor_testing::testing::rows::Verdict;
use ephor_testing::testing::run::{Options, Ran, run as run_test};
use ephor_testing::testing::selector::Selector;
use ephor_value::suggest::did_you_mean;

use super::usage::Usage;
use super::{CommandError, outputs};
use crate::cli::arguments::{given, use_threads};
use crate::cli::bundle::requirements;
use crate::cli::console::{self, print, warn};
use crate::cli::test::totals::TestTotals;
use options::CoverageFormat;
pub use options::TestArgs;
pub(super) use options::with_values_of_kyverno;
use report::Report;

/// How many tests run in one block: memory use does not grow with their number.
const BLOCK: usize = 64;

/// Runs the command.
///
/// # Errors
/// Tests cannot be read or run, or how many failed.
pub fn run(args: TestArgs) -> Result<i32, CommandError> {
    let args = &args.configured()?;
    use_threads(args.threads);
    super::outbound::configure_for(Profile::kyverno_cli(), None);
    if args.folders.is_empty() {
        return Err(Usage::NoArguments.into());
    }
    outputs::distinct(args.written())?;
    if args.watch { watch::watch(args, session) } else { session(args) }
}

fn session(args: &TestArgs) -> Result<i32, CommandError> {
    let report = Report::of(&args.output)?;
    // What Kyverno prints about the run, unless standard output is a document.
    let line = |text: &str| if report.is_printed() { console::error(text) } else { print(text) };
    let (selector, wrong) = Selector::parse(&args.test_case_selector);
    if !wrong.is_empty() {
        let lines: Vec<String> = wrong.iter().map(|e| format!("  Error: {e}\n")).collect();
        line(&format!("\nFilter errors:\n{}", lines.concat()));
    }
    let found = find(&args.folders, &args.file_name, &args.git_branch).map_err(|text| {
        line(&format!("\nError loading tests: {text}\n"));
        CommandError::input(text)
    })?;
    for place in &found.empty {
        warn(&format!("{place}: no {} found", args.file_name));
    }
    let tests = read(&found, &line)?;
    requirements::fetch(tests.iter().flat_map(|test| &test.policies))?;
    if tests.is_empty() {
        line("\nNo test yamls available\n");
        match (args.exit.require_tests, wrong.first()) {
            (_, Some(e)) => return Err(CommandError::input(e.clone())),
            (true, None) => return Err(CommandError::NoTests),
            (false, None) => {}
        }
        report.write(TestTotals::default(), args)?;
        return strictly_some(args, &found, 0).map(|()| 0);
    }
    let format = Format::from(args.output.kyverno_format);
    let colour = !args.output.remove_color && format == Format::Table;
    let cells = colour && console::shows_colours();
    let style = Style { format, detailed: args.output.detailed_results, colour, cells };
    let mut totals = TestTotals { is_reported: report.is_some(), ..TestTotals::default() };
    let mut out: Box<dyn Write> = match report.is_printed() {
        true => Box::new(std::io::sink()),
        false => Box::new(std::io::BufWriter::new(std::io::stdout().lock())),
    };
    let result = run_all(&tests, &selector, args, style, &mut totals, &mut out);
    let rows = totals.rows;
    let is_selected =
        args.test_case_selector.trim().is_empty() || tests.iter().any(|t| selects(&selector, t));
    if result.is_ok() && !is_selected {
        warn(&unselected(&args.test_case_selector, &tests));
    }
    let result = result.and_then(|()| finish(args, style, totals, report, &mut out));
    let _ = out.flush();
    let code = result?;
    strictly_some(args, &found, rows).map(|()| code)
}

fn selects(selector: &Selector, test: &Test) -> bool {
    test.deprecated || !selector.select(&test.results).is_empty()
}

/// The warning about a selector that accepts no result of any test.
fn unselected(selector: &str, tests: &[Test]) -> String {
    let results = || tests.iter().flat_map(|test| &test.results);
    let meant = selector.split(',').find_map(|part| {
        let (key, value) = part.split_once('=')?;
        let names: Vec<&str> = match key.trim() {
            "policy" => results().map(|r| r.policy.as_str()).collect(),
            "rule" => results().map(|r| r.rule.as_str()).collect(),
            _ => return None,
        };
        did_you_mean(value.trim(), &names).filter(|name| *name != value.trim())
    });
    let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    format!("no test has a result that `{}` selects: nothing is checked{meant}", selector.trim())
}

/// With `--strict`, tests below each argument, and a result that was compared.
///
/// # Errors
/// There is none.
fn strictly_some(args: &TestArgs, found: &Found, rows: usize) -> Result<(), CommandError> {
    match (&found.empty[..], rows) {
        _ if !args.exit.strict => Ok(()),
        ([], 0) => Err(CommandError::NoResults),
        ([], _) => Ok(()),
        (places, _) => Err(CommandError::PlacesWithoutTests {
            name: args.file_name.clone(),
            places: places.iter().map(|place| format!("`{place}`")).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// The tests of all files.
///
/// # Errors
/// A document is no test.
fn read(found: &Found, line: &impl Fn(&str)) -> Result<Vec<Test>, CommandError> {
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
    line(&format!("\nTest errors:\n{}", lines.concat()));
    for hint in faulty.iter().filter_map(|f| f.hint.as_ref()) {
        warn(hint);
    }
    Err(CommandError::FaultyTests { count: faulty.len() })
}

fn run_all(
    tests: &[Test],
    selector: &Selector,
    args: &TestArgs,
    style: Style,
    totals: &mut TestTotals,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let options = Options {
        strictness: Strictness {
            warnings_as_errors: args.exit.warnings_as_errors,
            registry: args.registry,
            kubernetes: args.kubernetes,
        },
        coverage: args.coverage.is_recorded(),
        ..Options::default()
    };
    let one = |test: &Test| -> Option<(Test, Ran)> {
        if test.deprecated {
            return Some((test.clone(), deprecated(test)));
        }
        let results = selector.select(&test.results);
        if results.is_empty() {
            return None;
        }
        let test = Test { results, ..test.clone() };
        let ran = run_test(&test, options);
        Some((test, ran))
    };
    for block in tests.chunks(BLOCK) {
        let done: Vec<Option<(Test, Ran)>> = block.par_iter().map(one).collect();
        for (test, ran) in done.into_iter().flatten() {
            let _ = out.write_all(ran.log.text.as_bytes());
            let _ = out.flush();
            ran.log.hints.iter().for_each(|hint| warn(hint));
            if let Some(text) = ran.failed {
                return Err(CommandError::input(text));
            }
            if !args.output.fail_only {
                let text = render(&ran.rows, style);
                let end = if style.format == Format::Table { "\n" } else { "\n\n" };
                let _ = write!(out, "\n{text}{end}");
            }
            ran.vacuous.iter().for_each(|line| warn(line));
            if totals.is_reported {
                totals.findings.extend(report::findings(&test, &ran.rows, args.exit.strict));
            }
            totals.vacuous.extend(ran.vacuous);
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

fn finish(
    args: &TestArgs,
    style: Style,
    totals: TestTotals,
    report: Report,
    out: &mut impl Write,
) -> Result<i32, CommandError> {
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
        match report.is_printed() {
            true => console::error(&totals.coverage.text()),
            false => drop(out.write_all(totals.coverage.text().as_bytes())),
        }
    }
    let _ = out.flush();
    if let Some(file) = given(&args.coverage.file) {
        let text = match args.coverage.format_of(file) {
            CoverageFormat::Json => {
                format!("{}\n", ephor_value::print::json_pretty(&totals.coverage.document(), 1))
            }
            CoverageFormat::Lcov => totals.coverage.lcov(),
            CoverageFormat::Html => totals.coverage.html(),
        };
        outputs::write_whole(file, &text)?;
    }
    let (vacuous, reached) = (totals.vacuous.len(), totals.coverage.percent());
    if vacuous > 0 {
        warn(&format!("{vacuous} expected result(s) are vacuous: no assertion was evaluated"));
    }
    report.write(totals, args)?;
    if failures > 0 {
        return Err(CommandError::FailedTests { count: failures });
    }
    if args.exit.strict && vacuous > 0 {
        return Err(CommandError::VacuousResults { count: vacuous });
    }
    if let Some(min) = args.coverage.min.filter(|min| reached < *min) {
        return Err(CommandError::Coverage { reached, min });
    }
    Ok(0)
}
