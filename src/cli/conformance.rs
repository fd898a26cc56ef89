//! `ephor conformance`: runs recorded suites.

use std::path::Path;

use crate::conformance::{self, object};
use crate::value::Value;
use crate::value::print::json;

use super::flags::{self, Flag, Takes, flag};

const FLAGS: &[Flag] = &[
    flag("suite", Takes::Text, "run only suites whose name starts with this").short('s'),
    flag("failures", Takes::Text, "write failing cases to this file, one JSON object a line").short('f'),
];

const ABOUT: &str = "Runs every suite found in a folder laid out as described in docs/conformance.md, prints one line a\nsuite (NAME PASSED/TOTAL), and ends with exit code 1 when a case fails.";

const EXAMPLES: &str = "  # run the suites of this repository\n  ephor conformance conformance\n";

pub(super) const PAGE: super::Page =
    super::Page { name: "conformance", arguments: "DIR", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command.
///
/// # Errors
/// Bad flags, an unreadable folder.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if parsed.on("help") {
        super::print(&super::command_help("conformance", "DIR", ABOUT, FLAGS, EXAMPLES));
        return Ok(0);
    }
    let [dir] = &parsed.arguments[..] else {
        return Err(format!("accepts 1 arg(s), received {}", parsed.arguments.len()));
    };
    if !Path::new(dir).is_dir() {
        return Err(format!("open {dir}: no such file or directory"));
    }
    let mut lines = String::new();
    let mut failed = 0;
    let mut suites = 0;
    conformance::run_all(Path::new(dir), parsed.text("suite"), |report| {
        suites += 1;
        failed += report.failures.len();
        super::print(&format!("{} {}/{}\n", report.name, report.passed, report.total));
        for f in &report.failures {
            let line = object([
                ("suite", Value::from(&*report.name)),
                ("id", Value::from(&*f.id)),
                ("expected", f.expected.clone()),
                ("got", f.got.clone()),
            ]);
            lines.push_str(&json(&line));
            lines.push('\n');
        }
    })
    .map_err(|e| e.to_string())?;
    if suites == 0 {
        return Err(format!("no suite found in {dir}"));
    }
    let file = parsed.text("failures");
    if !file.is_empty() {
        super::write_whole(file, &lines).map_err(|e| format!("failed to write {file} ({e})"))?;
    }
    Ok(i32::from(failed > 0))
}
