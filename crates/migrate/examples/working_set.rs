//! Migrates every policy below folders, compares each result with its origin, and prints a table of
//! what came of them.
//!
//! `working_set FOLDER… [--out DIR] [--seconds N] [--objects]`: with the migrated files in a
//! folder, with a time limit for one policy (default 20), with the objects on which policies
//! differ; `--vap`: as policies of Kubernetes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ephor_compare::Answer;
use ephor_migrate::{DocumentOutcome, File, Limits, Options, TargetApi, file};
use ephor_value::print::json;
use ephor_value::{Value, parallel};

/// The YAML files below a folder, without those in folders of tests.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        match path.is_dir() {
            _ if is_hidden => {}
            true => files(&path, out),
            false if path.extension().is_some_and(|e| e == "yaml") => out.push(path),
            false => {}
        }
    }
}

/// Objects, a line each.
fn generated(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("\n      generated: {}", json(object))).collect()
}

/// The word for an outcome, and what to print about it.
fn shown(outcome: &DocumentOutcome, with_objects: bool) -> Option<(&'static str, String)> {
    Some(match outcome {
        DocumentOutcome::Unchanged => return None,
        DocumentOutcome::Unreadable(why) => ("unreadable", why.clone()),
        DocumentOutcome::Refused(all) => {
            let texts = all.iter().map(|r| format!("{} at {}", r.construct, r.place));
            ("refused", texts.collect::<Vec<_>>().join("; "))
        }
        DocumentOutcome::Moved(_, proof) => match &**proof {
            Err(why) => ("unusable", why.to_string()),
            Ok(proof) => {
                let why = match &proof.claim.answer {
                    Answer::Tested(why) | Answer::ProvedRelative(why) => why.join("; "),
                    Answer::Incomparable(why) => why.clone(),
                    _ => String::new(),
                };
                let objects = proof.claim.differences.iter().filter(|_| with_objects).map(|d| {
                    let (old, new) = (d.old.verdict.name(), d.new.verdict.name());
                    format!(
                        "\n    {} {}: {old} -> {new} {}",
                        d.kind.name(),
                        d.environment.name(),
                        json(&d.object)
                    ) + &format!("\n      old: {}\n      new: {}", d.old.message, d.new.message)
                        + &generated(&d.old.generated)
                        + &generated(&d.new.generated)
                        + &d.old_object
                            .as_ref()
                            .map(|o| format!("\n      former: {}", json(o)))
                            .unwrap_or_default()
                });
                (proof.claim.answer.name(), why + &objects.collect::<String>())
            }
        },
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |flag: &str| arguments.iter().position(|a| a == flag).and_then(|at| arguments.get(at + 1));
    let seconds = after("--seconds").and_then(|text| text.parse().ok()).unwrap_or(20);
    let with_objects = arguments.iter().any(|a| a == "--objects");
    let values = [after("--seconds"), after("--out")];
    let mut paths = Vec::new();
    for folder in arguments.iter().filter(|a| !a.starts_with("--") && !values.contains(&Some(a))) {
        match Path::new(folder).is_file() {
            true => paths.push(folder.into()),
            false => files(Path::new(folder), &mut paths),
        }
    }
    let limits = Limits { time: Some(Duration::from_secs(seconds)), ..Limits::default() };
    let to = if arguments.iter().any(|a| a == "--vap") { TargetApi::Kubernetes } else { TargetApi::Kyverno };
    let options = Options { to, ..Options::default() };
    let one = |path: &PathBuf| -> Option<File> {
        let text = std::fs::read_to_string(path).ok()?;
        file(&path.to_string_lossy(), &text, &options, limits).ok()
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut times = Vec::new();
    for file in parallel::map(&paths, one).into_iter().flatten() {
        if let Some(folder) = after("--out").filter(|_| file.has_moved()) {
            let name = file.name.trim_start_matches('/').replace('/', "__");
            if let Err(cause) = std::fs::write(Path::new(folder).join(name), file.migrated()) {
                eprintln!("{}: {cause}", file.name);
            }
        }
        for part in &file.parts {
            let Some((word, text)) = shown(&part.outcome, with_objects) else { continue };
            println!("{}:{}\t{word}\t{} ms\t{text}", file.name, part.line, part.time.as_millis());
            *counts.entry(word).or_default() += 1;
            times.push(part.time);
        }
    }
    times.sort();
    let median = times.get(times.len() / 2).map_or(0, Duration::as_millis);
    println!("{} policies, median {median} ms: {counts:?}", times.len());
}
