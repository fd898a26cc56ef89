//! The results of tests in the formats of `ephor apply`.
//!
//! In: the rows of each test. Out: a run whose findings stand at the expected results in the test
//! files, as standard output or as a file. A row that failed is a violation; with `--strict` a
//! vacuous one is, too. Semantics: `docs/reference/test.md`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ephor_engine::Status;
use ephor_report::diff::without_colour;
use ephor_report::formats::Format;
use ephor_report::run::{Finding, Note, Order, Place, PolicyInfo, ResourceName, Run};
use ephor_testing::testing::file::Test;
use ephor_testing::testing::rows::{Row, Verdict};

use super::options::{TestArgs, TestOutputFlags};
use crate::cli::CommandError;
use crate::cli::console;
use crate::cli::console::StandardOutput;
use crate::cli::outputs::write_with;
use crate::cli::report_file::report_file;
use crate::cli::roots;
use crate::cli::test::totals::TestTotals;

/// Where the results go in addition to what Kyverno prints.
pub(super) struct Report(Option<(Format, Option<String>)>);

impl Report {
    /// The report that flags select.
    ///
    /// # Errors
    /// The file has no extension of a format.
    pub(super) fn of(flags: &TestOutputFlags) -> Result<Report, CommandError> {
        let file = report_file(flags.output_format, &flags.report_file)?;
        let printed = || flags.output_format.map(|format| (format, None));
        Ok(Report(file.map(|(format, file)| (format, Some(file))).or_else(printed)))
    }

    /// Whether there is one.
    pub(super) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Whether it is what standard output holds, and nothing else.
    pub(super) fn is_printed(&self) -> bool {
        matches!(self.0, Some((_, None)))
    }

    /// Prints or writes the results.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(self, totals: TestTotals, args: &TestArgs) -> Result<(), CommandError> {
        let Some((format, file)) = self.0 else { return Ok(()) };
        let run = Run { violations_only: args.output.fail_only, ..run(totals, args.exit.strict) };
        let colour = file.is_none() && !args.output.remove_color && console::shows_colours();
        let left_out = match file {
            Some(file) => write_with(&file, |out| format.write(&run, colour, out))?,
            None => {
                let mut out = StandardOutput::lock();
                let left_out = format.write(&run, colour, &mut out)?;
                out.finish()?;
                left_out
            }
        };
        left_out.iter().for_each(|text| console::warn(text));
        Ok(())
    }
}

fn run(totals: TestTotals, is_strict: bool) -> Run {
    let findings = totals.findings;
    let policies: HashSet<&str> = findings.iter().map(|f| f.policy.name.as_str()).collect();
    let resources: HashSet<&ResourceName> = findings.iter().filter_map(|f| f.resource.as_ref()).collect();
    let notes = totals.vacuous.into_iter().map(|text| Note { text, is_error: is_strict });
    Run {
        policies: policies.len(),
        resources: resources.len(),
        seconds: totals.started.elapsed().as_secs_f64(),
        notes: notes.collect(),
        roots: roots::here(),
        findings: findings.into(),
        ..Run::default()
    }
}

/// The rows of a test, each at its expected result.
pub(super) fn findings(test: &Test, rows: &[Row], is_strict: bool) -> Vec<Finding> {
    let mut policies: HashMap<&str, Arc<PolicyInfo>> = HashMap::new();
    let mut places: HashMap<usize, Place> = HashMap::new();
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let info = || Arc::new(tested(&row.policy));
        let message = without_colour(&row.message);
        let (status, message) = match row.verdict {
            Verdict::Pass if is_strict && !row.compared => {
                (Status::Fail, format!("vacuous result: {}", row.reason))
            }
            Verdict::Pass => (Status::Pass, message),
            Verdict::Skip => (Status::Skip, row.reason.clone()),
            Verdict::Fail => (Status::Fail, failure(&row.reason, &message)),
        };
        all.push(Finding {
            order: Order::default(),
            policy: policies.entry(&row.policy).or_insert_with(info).clone(),
            rule: row.rule.clone(),
            status,
            message,
            resource: Some(named(&row.resource)),
            field: None,
            place: Some(places.entry(row.at).or_insert_with(|| place(test, row.at)).clone()),
            template: None,
            decision: None,
            fix: None,
            is_known: false,
        });
    }
    all
}

/// The policy of a row. Its violations are those of tests, not of what the policy requires.
fn tested(name: &str) -> PolicyInfo {
    PolicyInfo {
        name: name.into(),
        title: format!("Tests of policy {name}"),
        description: format!("Policy `{name}` decides what its tests expect."),
        help: format!(
            "A result is a test that failed: policy `{name}` decides otherwise than the test expects, or its rule, its policy or its resource does not exist; with `--strict` also when nothing was compared. Change the policy or the expected result, and run `ephor test` again."
        ),
        ..PolicyInfo::default()
    }
}

fn failure(reason: &str, message: &str) -> String {
    match message.trim() {
        "" => reason.into(),
        same if same == reason => reason.into(),
        message => format!("{reason}: {message}"),
    }
}

/// The status that is expected, or the whole expected result where it has none.
fn place(test: &Test, result: usize) -> Place {
    let place = test.place_of(result, Some("result")).or_else(|| test.place_of(result, None));
    let Some(at) = place else {
        return Place { file: test.path.clone(), line: test.line, ..Place::default() };
    };
    Place {
        file: test.path.clone(),
        line: test.line + at.line.saturating_sub(1),
        column: at.col,
        length: at.len,
        text: test.text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default().trim_end().into(),
    }
}

/// `version/kind/namespace/name`, as rows name objects; payloads are files.
fn named(row: &str) -> ResourceName {
    let parts: Vec<&str> = row.rsplitn(4, '/').collect();
    match parts[..] {
        [name, namespace, kind, version] if kind.starts_with(|c: char| c.is_ascii_uppercase()) => {
            ResourceName {
                api_version: version.into(),
                kind: kind.into(),
                namespace: namespace.into(),
                name: name.into(),
                ..ResourceName::default()
            }
        }
        _ => ResourceName { name: row.trim_start_matches('/').into(), ..ResourceName::default() },
    }
}
