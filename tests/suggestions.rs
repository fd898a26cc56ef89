//! Commands that outputs suggest give the answers that they were suggested for, in a POSIX shell,
//! for the corpora of this repository.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use crate::common::{Files, Ran};

/// Policies with objects, and what else their tests read, as they are called in the folder of the
/// run.
struct Sample {
    name: String,
    files: Files,
    policy: String,
    objects: String,
    more: Vec<[String; 2]>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Folders whose names a shell would take apart.
const FOLDERS: [&str; 3] = ["in", "my files", "o'ne; $(two)"];

fn sample(at: usize, name: &str, policy: &str, objects: &str, more: &[(&str, &Path)]) -> Sample {
    let folder = FOLDERS[at % FOLDERS.len()];
    let files = Files::new(&[]);
    let put = |file: &str, text: &str| {
        files.write(&format!("{folder}/{file}"), text.as_bytes());
        format!("{folder}/{file}")
    };
    let more = more.iter().filter_map(|(flag, path)| {
        let text = std::fs::read_to_string(path).ok()?;
        Some([(*flag).to_string(), put(&format!("more{flag}.yaml"), &text)])
    });
    let more = more.collect();
    let (policy, objects) = (put("policy.yaml", policy), put("objects.yaml", objects));
    Sample { name: name.to_string(), files, policy, objects, more }
}

fn documents(text: &str) -> Vec<Value> {
    let all = serde_yaml_ng::Deserializer::from_str(text).map(Value::deserialize);
    all.map_while(Result::ok).filter(|value| !value.is_null()).collect()
}

fn below(folder: &Path, wanted: impl Fn(&Path) -> bool + Copy) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match path.is_dir() {
            true => found.extend(below(&path, wanted)),
            false => found.extend(wanted(&path).then_some(path)),
        }
    }
    found.sort();
    found
}

/// The policies of this repository with the objects of their tests, each form of a policy on its
/// own, and its cases.
fn samples() -> Vec<Sample> {
    let mut all = Vec::new();
    let is_test = |path: &Path| path.file_name().is_some_and(|name| name == "kyverno-test.yaml");
    for file in below(&root().join("policies"), is_test) {
        let folder = file.parent().unwrap();
        let objects = std::fs::read_to_string(folder.join("resources.yaml")).unwrap_or_default();
        let test = documents(&std::fs::read_to_string(&file).unwrap()).remove(0);
        let path = |key: &str| test[key].as_str().map(|name| folder.join(name));
        let (values, user) = (path("variables"), path("userinfo"));
        let more: Vec<(&str, &Path)> = [("-f", &values), ("-u", &user)]
            .into_iter()
            .filter_map(|(flag, path)| Some((flag, path.as_deref()?)))
            .collect();
        let around = folder.parent().unwrap();
        let policies = std::fs::read_dir(around)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            // No command shows yet why a policy deletes an object or keeps it.
            .filter(|path| path.is_file() && !path.display().to_string().contains("/cleanup/"));
        for policy in policies {
            let text = std::fs::read_to_string(&policy).unwrap();
            all.push(sample(all.len(), &policy.display().to_string(), &text, &objects, &more));
        }
    }
    let is_case = |path: &Path| path.extension().is_some_and(|extension| extension == "yaml");
    for file in below(&root().join("conformance/cases"), is_case) {
        for case in documents(&std::fs::read_to_string(&file).unwrap()) {
            let cases = case["cases"].as_array().cloned().unwrap_or_default();
            let objects = cases.iter().map(|case| &case["resource"]).filter(|object| object.is_object());
            let objects: Vec<String> = objects.map(ToString::to_string).collect();
            if case["policy"].is_object() && !objects.is_empty() {
                let (name, policy) = (file.display().to_string(), case["policy"].to_string());
                all.push(sample(all.len(), &name, &policy, &objects.join("\n---\n"), &[]));
            }
        }
    }
    all
}

/// Runs a command in a shell, in which `ephor` and `kyverno` are the program.
fn shell(files: &Files, command: &str) -> Ran {
    let bin = files.path("bin");
    if !bin.exists() {
        std::fs::create_dir(&bin).unwrap();
        for name in ["ephor", "kyverno"] {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ephor"), bin.join(name)).unwrap();
        }
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(files.dir.path()).env("PATH", path).env("HOME", files.dir.path());
    Ran::new(shell.output().unwrap())
}

/// The commands behind a word of an output, with those of the lines that continue it.
fn suggested(out: &str, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = out.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.trim_start().strip_prefix(word) else { continue };
        let column = line.len() - command.len();
        found.push(command.to_string());
        while let Some(next) = lines.next_if(|next| next.len() > column && next[..column].trim().is_empty()) {
            found.push(next[column..].to_string());
        }
    }
    found
}

/// Whether `explain` says of a rule what the run said: one of the violations that have the first
/// message of the run.
fn agrees(explained: &str, report: &Value) -> bool {
    let violations = report["results"].as_array().into_iter().flatten();
    violations.filter(|result| matches!(result["result"].as_str(), Some("fail" | "error" | "warn"))).any(
        |result| {
            let text = |key: &str| result[key].as_str().unwrap_or_default();
            let slash = if text("rule").is_empty() { "" } else { "/" };
            let head = format!("{}{slash}{} at ", text("policy"), text("rule"));
            let said = explained.lines().any(|line| {
                line.starts_with(&head)
                    && [": fail", ": error", ": warn"].iter().any(|end| line.ends_with(end))
            });
            // What stands for a message that the rule does not have.
            let message = text("message").lines().next().unwrap_or_default();
            said && (message == "validation failed" || explained.contains(message))
        },
    )
}

/// Whether `explain` names the line of the object that a violation is marked at, or the run marks
/// none.
fn marks(explained: &str, report: &Value) -> bool {
    let violations = report["results"].as_array().into_iter().flatten();
    violations.filter(|result| matches!(result["result"].as_str(), Some("fail" | "error" | "warn"))).any(
        |result| {
            let place = &result["place"];
            let line = format!("{}:{}:", place["file"].as_str().unwrap_or_default(), place["line"]);
            result["field"].is_null() || explained.contains(&line)
        },
    )
}

/// Each sixteenth sample; `EPHOR_SUGGESTIONS_STEP=1` takes all, which is some minutes of work.
fn some(all: Vec<Sample>) -> Vec<Sample> {
    let step = std::env::var("EPHOR_SUGGESTIONS_STEP").ok().and_then(|step| step.parse().ok()).unwrap_or(16);
    all.into_iter().step_by(step).collect()
}

/// The commands that were run, how many of them said the same, and those that did not.
#[derive(Default)]
struct Tally {
    run: usize,
    same: usize,
    marked: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn add(mut self, other: Tally) -> Tally {
        self.wrong.extend(other.wrong);
        Tally {
            run: self.run + other.run,
            same: self.same + other.same,
            marked: self.marked + other.marked,
            wrong: self.wrong,
        }
    }

    /// Notes a command that was run; `shown`: what it was run for, and what it printed.
    fn note(&mut self, is_same: bool, shown: impl FnOnce() -> String) {
        self.run += 1;
        match is_same {
            true => self.same += 1,
            false => self.wrong.push(shown()),
        }
    }
}

/// What the samples come to, over all threads.
fn tally(one: impl Fn(usize, &Sample) -> Tally + Sync) -> Tally {
    some(samples())
        .par_iter()
        .enumerate()
        .map(|(at, sample)| one(at, sample))
        .reduce(Tally::default, Tally::add)
}

/// A command with what suggested it and what it printed.
fn shown(sample: &Sample, args: &[&str], ran: &Ran, command: &str, again: &Ran) -> String {
    format!("{}: {args:?}\n{}\n$ {command}\n{}{}", sample.name, ran.out, again.out, again.err)
}

#[test]
fn commands_that_explain_a_violation_say_what_the_run_said() {
    let found = tally(|_, sample| {
        let mut tally = Tally::default();
        let more: Vec<&str> = sample.more.iter().flatten().map(String::as_str).collect();
        let base = [&["apply", &*sample.policy, "-r", &*sample.objects], more.as_slice()].concat();
        let folder = sample.policy.rsplit_once('/').unwrap().0;
        let whole = [&["apply", folder, "-r", folder], more.as_slice()].concat();
        let values = ["--set", "request.operation=UPDATE"];
        let variants = [
            base.clone(),
            [base.as_slice(), &["--as-cluster"]].concat(),
            [base.as_slice(), if more.is_empty() { &values } else { &["--audit-warn"] }].concat(),
            whole,
        ];
        for args in variants {
            let ran = sample.files.run(&[args.as_slice(), &["--output-format", "text"]].concat());
            let Some(command) = suggested(&ran.out, "why: ").pop() else { continue };
            let report = sample.files.run(&[args.as_slice(), &["--output-format", "json"]].concat());
            let report: Value = serde_json::from_str(&report.out).unwrap();
            let again = shell(&sample.files, &command);
            tally.marked += usize::from(marks(&again.out, &report));
            let is_same = again.code == Some(0) && agrees(&again.out, &report);
            tally.note(is_same, || shown(sample, &args, &ran, &command, &again));
        }
        tally
    });
    let Tally { run, same, marked, wrong } = found;
    eprintln!("{run} commands of `why:`, {same} say the same, {marked} with the same line of the object");
    assert!(run > 60 && wrong.is_empty(), "{} of {run}:\n{}", wrong.len(), wrong.join("\n"));
}

/// What a line about a verdict of `diff` says, as the status that `apply` prints.
fn verdict<'o>(out: &'o str, label: &str) -> Option<&'o str> {
    let line = out.lines().find_map(|line| line.trim_start().strip_prefix(label))?;
    line.trim_start().split("  ").next()
}

#[test]
fn commands_that_reproduce_a_difference_show_the_verdicts_of_both_sides() {
    let changes = [
        ("'?*'", "'x*'"),
        ("\"?*\"", "\"x*\""),
        ("Equals", "NotEquals"),
        ("AnyIn", "AnyNotIn"),
        ("true", "false"),
        ("kinds", "kinds"),
        ("operations: [CREATE", "operations: [UPDATE"),
        ("background: true", "background: false"),
        (":latest", ":newest"),
    ];
    let found = tally(|at, sample| {
        let mut tally = Tally::default();
        let old = std::fs::read_to_string(sample.files.path(&sample.policy)).unwrap();
        let changed = changes.iter().cycle().skip(at).take(changes.len()).find_map(|(from, to)| {
            let new = old.replacen(from, to, 1);
            (new != old).then_some(new)
        });
        let Some(new) = changed else { return tally };
        let folder = sample.policy.rsplit_once('/').unwrap().0;
        let changed = format!("{folder}/new's.yaml");
        sample.files.write(&changed, new.as_bytes());
        let more: &[&str] = if at % 2 == 0 { &[] } else { &["--out", "out put"] };
        let args = [&["diff", &*sample.policy, &*changed, "--objects", "500"], more].concat();
        let mut ran = sample.files.run(&args);
        let mut commands = suggested(&ran.out, "reproduce: ");
        // One that writes the files prints the commands that read them.
        if let Some(command) = commands.iter().find(|command| command.starts_with("ephor ")) {
            let again = shell(&sample.files, command);
            let verdicts = [verdict(&ran.out, "old "), verdict(&ran.out, "new ")];
            let is_same = [verdict(&again.out, "old "), verdict(&again.out, "new ")] == verdicts
                && again.out.contains("reproduce: kyverno ");
            tally.note(is_same, || shown(sample, &args, &ran, command, &again));
            ran = again;
            commands = suggested(&ran.out, "reproduce: ");
        }
        for (label, command) in
            ["old ", "new "].into_iter().zip(commands.iter().filter(|c| c.contains("kyverno ")))
        {
            let Some(said) = verdict(&ran.out, label) else { continue };
            let again = shell(&sample.files, command);
            let is_same = match (command.contains("kyverno test"), said) {
                (true, _) => again.code == Some(0),
                (false, "fail") => again.out.contains("fail: 1"),
                (false, "error") => again.out.contains("error: 1"),
                (false, _) => again.out.contains("fail: 0") && again.out.contains("error: 0"),
            };
            tally.note(is_same, || shown(sample, &args, &ran, command, &again));
        }
        tally
    });
    let Tally { run, same, wrong, .. } = found;
    eprintln!("{run} commands of `reproduce:`, {same} say the same");
    assert!(run > 20 && wrong.is_empty(), "{} of {run}:\n{}", wrong.len(), wrong.join("\n"));
}
