//! Tests (`kyverno-test.yaml`) of migrated policies.
//!
//! In: the test files below the arguments, hidden folders included. Out: the same tests for the new
//! policies, below the folder of `--out`: what is before `results` stays, the results are those
//! that the new policies give, and files that the test names are copied. A result of the old test
//! that the new policies do not give is reported.

use std::path::{Path, PathBuf};

use ephor_document::yaml_value;
use ephor_migrate::File;
use ephor_migrate::report::MigrateRow;
use ephor_testing::testing::find::find;
use ephor_value::Value;

use crate::cli::CommandError;
use crate::cli::console::warn;
use crate::cli::create::from_run;
use crate::cli::outputs::Outputs;

use super::out::Layout;

/// The name of test files.
const NAME: &str = "kyverno-test.yaml";

/// Fields of a test that name files.
const FILES: [&str; 8] = [
    "resources",
    "jsonPayload",
    "targetResources",
    "exceptions",
    "paramResources",
    "variables",
    "userinfo",
    "context",
];

/// What came of the tests.
#[derive(Debug, Default)]
pub struct Carried {
    /// A line for each.
    pub lines: Vec<String>,
    /// The files of policies that tests name, without links.
    pub policies: Vec<PathBuf>,
}

/// Writes the tests of what moved.
///
/// # Errors
/// A file cannot be read or written.
pub fn carry(
    layout: &Layout,
    arguments: &[String],
    files: &[File],
    rows: &[MigrateRow<'_>],
    outputs: &mut Outputs,
) -> Result<Carried, CommandError> {
    let folders: Vec<String> = arguments.iter().filter(|a| Path::new(a).is_dir()).cloned().collect();
    if folders.is_empty() {
        return Ok(Carried::default());
    }
    let found = find(&folders, NAME, "").map_err(CommandError::input)?;
    let mut out = Carried::default();
    for source in &found.sources {
        let Ok(test) = yaml_value(&source.text) else { continue };
        let Some(base) = Path::new(&source.name).parent() else { continue };
        let policies = test.get("policies").and_then(Value::as_list).unwrap_or_default();
        let is_moved = |path: &str| {
            let wanted = std::fs::canonicalize(base.join(path)).ok();
            let moved = |file: &&File| file.has_moved() && std::fs::canonicalize(&file.name).ok() == wanted;
            wanted.is_some() && files.iter().any(|file| moved(&file))
        };
        if !policies.iter().filter_map(Value::as_str).any(is_moved) {
            continue;
        }
        for name in FILES.iter().filter_map(|field| test.get(field)).flat_map(names) {
            copy(layout, &base.join(name), outputs)?;
        }
        let named = policies.iter().filter_map(Value::as_str);
        out.policies.extend(named.filter_map(|path| std::fs::canonicalize(base.join(path)).ok()));
        out.lines.push(one(layout, &source.name, (&source.text, &test), rows, outputs)?);
    }
    Ok(out)
}

/// Writes a test, and says what came of it.
fn one(
    layout: &Layout,
    name: &str,
    (text, test): (&str, &Value),
    rows: &[MigrateRow<'_>],
    outputs: &mut Outputs,
) -> Result<String, CommandError> {
    let path = layout.target(name);
    let head = without_results(text);
    let is_taken = |file: &str| outputs.contains(&path.with_file_name(file));
    let results = match from_run::results(&head, &outputs.readable(&path).display().to_string(), &is_taken) {
        Ok(results) => results,
        Err(cause) => {
            warn(&format!("{name}: not carried over: {cause}"));
            return Ok(format!("{name}: not carried over"));
        }
    };
    results.left_out.iter().for_each(|text| warn(&format!("{name}: {text}")));
    for (file, text) in &results.files {
        outputs.add(&path.with_file_name(file), name, text.as_str())?;
    }
    outputs.add(&path, name, format!("{head}results:\n{}", results.text))?;
    let new = yaml_value(&format!("results:\n{}", results.text)).unwrap_or_default();
    let lost = lost(test, &new, rows);
    Ok(match lost.is_empty() {
        true => format!("{}: carried over", path.display()),
        false => {
            format!("{}: carried over; results that are no longer given: {}", path.display(), lost.join(", "))
        }
    })
}

/// Violations that the old test expects and the new results do not have.
fn lost(old: &Value, new: &Value, rows: &[MigrateRow<'_>]) -> Vec<String> {
    let list = |v: &Value| v.get("results").and_then(Value::as_list).unwrap_or_default().to_vec();
    let has = |policies: &[String], resource: &str| {
        list(new).iter().any(|result| {
            let names = result.get("resources").map(names).unwrap_or_default();
            result.text_at(&["result"]) == "fail"
                && policies.iter().any(|policy| policy == result.text_at(&["policy"]))
                && names.iter().any(|name| name.rsplit('/').next() == resource.rsplit('/').next())
        })
    };
    let mut out = Vec::new();
    for result in list(old).iter().filter(|result| result.text_at(&["result"]) == "fail") {
        let policy = result.text_at(&["policy"]);
        let Some(row) = rows.iter().find(|row| row.name == policy && !row.new.is_empty()) else { continue };
        let new: Vec<String> = row.new.iter().map(|(_, name)| (*name).to_string()).collect();
        for resource in result.get("resources").map(names).unwrap_or_default() {
            if !has(&new, resource) {
                out.push(format!("{policy} on {resource}"));
            }
        }
    }
    out
}

/// The texts of a field: one, or a list.
fn names(value: &Value) -> Vec<&str> {
    match value {
        Value::List(items) => items.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

/// The lines of a test without those of `results`.
fn without_results(text: &str) -> String {
    let mut out = String::new();
    let mut is_inside = false;
    for line in text.lines() {
        let begins = !line.is_empty() && !line.starts_with([' ', '\t', '#', '-']);
        if begins {
            is_inside = line.starts_with("results:");
        }
        if !is_inside {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// Copies a file below an argument to its place below the folder.
fn copy(layout: &Layout, path: &Path, outputs: &mut Outputs) -> Result<(), CommandError> {
    let Ok(text) = std::fs::read(path) else { return Ok(()) };
    let name = path.display().to_string();
    let target = layout.target(&name);
    // Several tests may name one file.
    match layout.has(path) && !outputs.contains(&target) {
        true => outputs.add(&target, &name, text),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_results_of_a_test_stays() {
        let text =
            "# t\nkind: Test\npolicies:\n- p.yaml\nresults:\n- policy: p\n  rule: r\nvariables: v.yaml\n";
        assert_eq!(without_results(text), "# t\nkind: Test\npolicies:\n- p.yaml\nvariables: v.yaml\n");
    }
}
