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
use ephor_testing::testing::format::{FORMATS, Format, Style, render};
use ephor_testing::testing::load::Strictness;
use ephor_testing::testing::rows::{Row, Verdict};
use ephor_testing::testing::run::{Options, Ran, run as run_test};
use ephor_testing::testing::selector::Selector;

use super::flags::{self, Flag, Parsed, Takes, flag};
use super::{Page, command_help, print, warn};

const FLAGS: &[Flag] = &[
    flag("file-name", Takes::Text, "name of test files").short('f').default("kyverno-test.yaml"),
    flag("test-case-selector", Takes::Text, "selector of the checked results: policy=…,rule=…,resource=…")
        .short('t')
        .default("policy=*,rule=*,resource=*"),
    flag("git-branch", Takes::Text, "branch of a git repository").short('b'),
    flag("output-format", Takes::Text, "format of results: json, yaml, markdown, junit").short('o'),
    flag("fail-only", Takes::Switch, "failures only, all at the end"),
    flag("detailed-results", Takes::Switch, "messages of the results"),
    flag("remove-color", Takes::Switch, "output without colours"),
    flag("registry", Takes::Switch, "access to image registries"),
    flag("require-tests", Takes::Switch, "error when no test is found"),
    flag("warnings-as-errors", Takes::Switch, "deprecation warnings as errors"),
    flag("strict", Takes::Switch, "vacuous expected results (no assertion evaluated) as failures"),
    flag("coverage", Takes::Switch, "report of rules, conditions and pattern leaves that no test reached"),
    flag("coverage-file", Takes::Text, "JSON file for the coverage"),
    flag("watch", Takes::Switch, "new run whenever a file changes"),
    flag("threads", Takes::Number, "number of threads, 0 for one per core; the output is the same for any")
        .default("0"),
];

const ABOUT: &str = "Runs tests of policies: every folder is searched for test files, which name policies, resources and\nexpected results.";
const EXAMPLES: &str = "  # run all tests below a folder\n  ephor test policies/\n\n  # only those of one rule, with messages\n  ephor test policies/ -t 'policy=need-team,rule=team' --detailed-results\n";

pub(super) const PAGE: Page = Page {
    name: "test",
    arguments: "<folder or repository>...",
    about: ABOUT,
    flags: FLAGS,
    examples: EXAMPLES,
};

/// How long files have to stay unchanged before the tests run again.
const QUIET: Duration = Duration::from_millis(100);

/// How many tests run in one block: memory use does not grow with their number.
const BLOCK: usize = 64;

/// Runs the command.
///
/// # Errors
/// Kyverno's text for what cannot be run, or how many tests failed.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if parsed.on("help") {
        print(&command_help("test", PAGE.arguments, ABOUT, FLAGS, EXAMPLES));
        return Ok(0);
    }
    if parsed.number("threads") > 0 {
        let threads = usize::try_from(parsed.number("threads")).unwrap_or(1).min(256);
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    super::outbound::configure_for(Profile::kyverno_cli());
    let format = FORMATS.iter().find(|(name, _)| *name == parsed.text("output-format"));
    let Some((_, format)) = format else {
        return Err("invalid format, expected (json, yaml, markdown, junit)".into());
    };
    if parsed.arguments.is_empty() {
        return Err("requires at least 1 arg(s), only received 0".into());
    }
    if parsed.on("watch") {
        return watch(&parsed, *format);
    }
    session(&parsed, *format)
}

/// Runs the tests, and again whenever a file changes that they name, until the program is ended.
fn watch(parsed: &Parsed, format: Format) -> Result<i32, String> {
    let failed = |e: notify::Error| format!("cannot watch files: {e}");
    loop {
        let (sender, changes) = std::sync::mpsc::channel();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let reads = event.as_ref().is_ok_and(|e| e.kind.is_access());
            if !reads {
                // The receiver is gone when the program ends.
                let _ = sender.send(());
            }
        })
        .map_err(failed)?;
        for folder in watched(parsed) {
            notify::Watcher::watch(&mut watcher, &folder, notify::RecursiveMode::Recursive)
                .map_err(failed)?;
        }
        if let Err(text) = session(parsed, format) {
            eprintln!("Error: {text}");
        }
        eprintln!("waiting for changes");
        changes.recv().map_err(|e| format!("cannot watch files: {e}"))?;
        // An editor writes several times: the run begins when it is quiet.
        while changes.recv_timeout(QUIET).is_ok() {}
    }
}

/// The folders in which a change matters.
fn watched(parsed: &Parsed) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = parsed.arguments.iter().map(PathBuf::from).collect();
    let found = find(&parsed.arguments, parsed.text("file-name"), parsed.text("git-branch"));
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

fn session(parsed: &Parsed, format: Format) -> Result<i32, String> {
    let (selector, wrong) = Selector::parse(parsed.text("test-case-selector"));
    if !wrong.is_empty() {
        let lines: Vec<String> = wrong.iter().map(|e| format!("  Error: {e}\n")).collect();
        print(&format!("\nFilter errors:\n{}", lines.concat()));
    }
    let found =
        find(&parsed.arguments, parsed.text("file-name"), parsed.text("git-branch")).inspect_err(|e| {
            print(&format!("\nError loading tests: {e}\n"));
        })?;
    for place in &found.empty {
        warn(&format!("{place}: no {} found", parsed.text("file-name")));
    }
    let tests = read(&found)?;
    if tests.is_empty() {
        print("\nNo test yamls available\n");
        return match (parsed.on("require-tests"), wrong.first()) {
            (_, Some(e)) => Err(e.clone()),
            (true, None) => Err("no tests found".into()),
            (false, None) => Ok(0),
        };
    }
    let colour = !parsed.on("remove-color") && format == Format::Table;
    let cells = colour && super::shows_colours();
    let style = Style { format, detailed: parsed.on("detailed-results"), colour, cells };
    let mut totals = Totals::default();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let result = run_all(&tests, &selector, parsed, style, &mut totals, &mut out);
    let result = result.and_then(|()| finish(parsed, style, totals, &mut out));
    let _ = out.flush();
    result
}

/// The tests of all files.
///
/// # Errors
/// A document is no test.
fn read(found: &Found) -> Result<Vec<Test>, String> {
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
    Err(format!("found {} errors after loading tests", faulty.len()))
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
    parsed: &Parsed,
    style: Style,
    totals: &mut Totals,
    out: &mut impl Write,
) -> Result<(), String> {
    let options = Options {
        strictness: Strictness {
            warnings_as_errors: parsed.on("warnings-as-errors"),
            registry: parsed.on("registry"),
        },
        coverage: parsed.on("coverage") || !parsed.text("coverage-file").is_empty(),
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
                return Err(text);
            }
            if !parsed.on("fail-only") {
                let text = render(&ran.rows, style);
                let end = if style.format == Format::Table { "\n" } else { "\n\n" };
                let _ = write!(out, "\n{text}{end}");
            }
            ran.vacuous.iter().for_each(|line| warn(line));
            totals.vacuous += ran.vacuous.len();
            totals.coverage.merge(ran.coverage);
            totals.rows += ran.rows.len();
            let failed = ran.rows.into_iter().filter(|r| r.verdict == Verdict::Fail);
            if parsed.on("fail-only") {
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

fn finish(parsed: &Parsed, style: Style, totals: Totals, out: &mut impl Write) -> Result<i32, String> {
    let failures = totals.failures;
    let text = match parsed.on("fail-only") {
        true => format!("\nTest Summary: {failures} out of {} tests failed\n\n", totals.rows),
        false => {
            format!("\nTest Summary: {} tests passed and {failures} tests failed\n\n", totals.rows - failures)
        }
    };
    let _ = out.write_all(text.as_bytes());
    if parsed.on("fail-only") && failures > 0 {
        let failed = render(&totals.failed, style);
        let _ = match style.format {
            Format::Table => write!(out, "Aggregated Failed Test Cases : \n{failed}"),
            _ => write!(out, "\n{failed}\n\n"),
        };
    }
    if parsed.on("coverage") {
        let _ = out.write_all(totals.coverage.text().as_bytes());
    }
    let _ = out.flush();
    let file = parsed.text("coverage-file");
    if !file.is_empty() {
        let text = format!("{}\n", ephor_value::print::json_pretty(&totals.coverage.document(), 1));
        super::write_whole(file, &text).map_err(|e| format!("failed to write {file} ({e})"))?;
    }
    if totals.vacuous > 0 {
        warn(&format!("{} expected result(s) are vacuous: no assertion was evaluated", totals.vacuous));
    }
    if failures > 0 {
        return Err(format!("{failures} tests failed"));
    }
    if parsed.on("strict") && totals.vacuous > 0 {
        return Err(format!("{} expected result(s) are vacuous and --strict is set", totals.vacuous));
    }
    Ok(0)
}
