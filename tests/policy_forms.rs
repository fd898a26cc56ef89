//! The policies of the library in their forms: all say the same about the same objects, in the same
//! words, which is proved for all objects where it can be; and all of their tests pass.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ephor::{PolicySet as Policies, Verdict as Compared};
use ephor_document::ResourceOptions;
use ephor_engine::Request;
use ephor_engine::Status;
use ephor_engine::request::Parts;
use ephor_library::{Control, Form, LibraryFile, controls};
use ephor_policies::{Engine, PolicySet};
use ephor_value::Value;
use rayon::prelude::*;

/// What a policy says about an object, over all of its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Fail,
    Error,
    Nothing,
}

fn engine(file: LibraryFile) -> Engine {
    Engine::new(PolicySet::from_yaml(file.text).unwrap_or_else(|e| panic!("{}: {e}", file.path)))
}

/// The verdict about an object, and the messages of what failed.
fn verdict(engine: &Engine, object: &Value) -> (Verdict, Vec<String>) {
    let parts = Parts { object: object.clone(), ..Parts::default() };
    let request = Request::new(parts, engine.profile(), engine.functions()).unwrap();
    let outcome = engine.evaluate(&request);
    let has = |wanted: Status| outcome.results().any(|(_, r)| r.status == wanted);
    let verdict = match () {
        () if has(Status::Error) => Verdict::Error,
        () if has(Status::Fail) => Verdict::Fail,
        () if has(Status::Pass) => Verdict::Pass,
        () => Verdict::Nothing,
    };
    let failed = outcome.results().filter(|(_, r)| r.status == Status::Fail);
    (verdict, failed.map(|(_, r)| r.message.trim().to_owned()).collect())
}

/// Asserts that a CEL form gives the verdict of the classic one, and fails with a message that the
/// classic one has too: between the words that Kyverno adds to it.
fn assert_same(found: &(Verdict, Vec<String>), expected: &(Verdict, Vec<String>), what: &str) {
    // What a classic rule is not about, by its match or its preconditions, a CEL form passes or
    // leaves out: neither is a violation.
    let is_violation = |verdict| matches!(verdict, Verdict::Fail | Verdict::Error);
    if is_violation(found.0) || is_violation(expected.0) {
        assert_eq!(found.0, expected.0, "{what}");
    }
    for message in &found.1 {
        let has = |classic: &String| classic.contains(message.trim_end_matches('.'));
        assert!(expected.1.iter().any(has), "{what}: `{message}` is none of {:#?}", expected.1);
    }
}

/// The objects of a control's tests.
fn objects(control: &Control) -> Vec<Value> {
    let file = control.tests.iter().find(|file| file.path.ends_with("/resources.yaml")).unwrap();
    let found = ephor_document::resources(file.path, file.text, ResourceOptions { float_numbers: true });
    found.unwrap().into_iter().map(|document| document.value).collect()
}

/// The controls that validate.
fn validating() -> Vec<&'static Control> {
    let is_cel = |control: &&Control| control.form(Form::Cel).is_some_and(|f| f.path.ends_with(".vpol.yaml"));
    controls().iter().filter(is_cel).collect()
}

/// Whether a control reads a ConfigMap, which its own tests give it.
fn has_parameters(control: &Control) -> bool {
    control.tests.iter().any(|file| file.path.ends_with("/params.yaml"))
}

#[test]
fn all_forms_of_a_policy_give_the_same_verdict_on_the_same_objects() {
    let counted: Vec<(usize, usize)> = validating()
        .par_iter()
        .filter(|control| !has_parameters(control))
        .map(|control| {
            let of =
                |form| engine(control.form(form).unwrap_or_else(|| panic!("{}: {form:?}", control.name)));
            let (classic, cel, native) = (of(Form::Classic), of(Form::Cel), of(Form::Native));
            let mut count = (0, 0);
            for object in objects(control) {
                let name = object.text_at(&["metadata", "name"]);
                let shown = format!("{}: {} {name}", control.name, object.text_at(&["kind"]));
                let expected = verdict(&classic, &object);
                assert_same(&verdict(&cel, &object), &expected, &format!("ValidatingPolicy {shown}"));
                let found = verdict(&native, &object);
                assert_same(&found, &expected, &format!("ValidatingAdmissionPolicy {shown}"));
                count = (count.0 + 1, count.1 + usize::from(expected.0 == Verdict::Fail));
            }
            count
        })
        .collect();
    let (objects, violations) = counted.iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    // Both kinds of verdict are read.
    assert!(objects > 800 && violations > 400, "{objects} objects, {violations} violations");
}

/// The pairs of forms that are not proved equal, with the reason: `policies/unproved.toml`.
fn unproved() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/unproved.toml");
    let table: toml::Table = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    table.into_iter().map(|(pair, reason)| (pair, reason.as_str().unwrap().to_owned())).collect()
}

/// What comparing the classic form of a control with another one gives; none that is not there.
fn compared(control: &Control, form: Form) -> Option<(String, Compared, String)> {
    let (old, new) = (control.form(Form::Classic)?, control.form(form)?);
    let name = format!("{}.{}", control.name, form.name());
    if new.path.ends_with(".dpol.yaml") {
        // Deletions are compared by the command.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_ephor"))
            .current_dir(folder)
            .args(["diff", old.path, new.path])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let is_proved = out.status.success() && text.contains(" 1 proved, 0 tested, 0 differ");
        return Some((name, if is_proved { Compared::Proved } else { Compared::Tested }, text));
    }
    let set = |file: LibraryFile| {
        Policies::from_yaml(file.text).unwrap_or_else(|error| panic!("{}: {error}", file.path))
    };
    let found = ephor::diff(&set(old), &set(new)).unwrap_or_else(|error| panic!("{}: {error}", new.path));
    assert_eq!(found.len(), 1, "{name}: {found:#?}");
    let shown = match found[0].differences.first() {
        Some(one) => {
            format!("{} for {:?} {:?}: {:?} and {:?}", one.kind, one.object, one.request, one.old, one.new)
        }
        None => found[0].reasons.join("; "),
    };
    Some((name, found[0].verdict, shown))
}

#[test]
fn the_forms_of_a_policy_are_proved_equal_or_listed_with_the_reason() {
    // All of them take minutes; a step of 1 takes all.
    let step = std::env::var("EPHOR_FORMS_STEP").ok().and_then(|step| step.parse().ok()).unwrap_or(10);
    let all = controls().iter().flat_map(|control| [(control, Form::Cel), (control, Form::Native)]);
    let pairs: Vec<(&Control, Form)> = all.step_by(step).collect();
    let found: Vec<(String, Compared, String)> =
        pairs.par_iter().filter_map(|(control, form)| compared(control, *form)).collect();
    let mut expected = unproved();
    let (mut proved, mut wrong) = (0, Vec::new());
    for (name, verdict, shown) in &found {
        match (verdict, expected.remove(name)) {
            (Compared::Proved | Compared::ProvedRelative, None) => proved += 1,
            (Compared::Tested, Some(reason)) => assert!(!reason.is_empty(), "{name}"),
            (Compared::Proved | Compared::ProvedRelative, Some(_)) => {
                wrong.push(format!("{name} is proved: take it out of policies/unproved.toml"));
            }
            (other, _) => wrong.push(format!("{name}: {other:?}: {shown}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {} pairs:\n{}", wrong.len(), found.len(), wrong.join("\n"));
    if step == 1 {
        assert!(expected.is_empty(), "no such pairs: {:?}", expected.keys());
        eprintln!("{proved} of {} pairs are proved", found.len());
    }
}

#[test]
fn at_least_90_of_100_pairs_of_forms_are_proved_and_each_other_one_is_a_pair() {
    let pairs: BTreeSet<String> = controls()
        .iter()
        .flat_map(|control| {
            let others = control.forms.iter().filter(|(form, _)| *form != Form::Classic);
            others.map(|(form, _)| format!("{}.{}", control.name, form.name()))
        })
        .collect();
    let unproved = unproved();
    assert!(unproved.keys().all(|pair| pairs.contains(pair)), "{:?}", unproved.keys());
    assert!(unproved.len() * 100 <= pairs.len() * 10, "{} of {} pairs", unproved.len(), pairs.len());
}

#[test]
fn the_tests_of_all_policies_pass() {
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_ephor"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["test", "policies", "--strict", "--remove-color"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    let failed: Vec<&str> = text.lines().filter(|line| line.contains("Fail")).collect();
    assert!(out.status.success(), "{}\n{}", failed.join("\n"), String::from_utf8_lossy(&out.stderr));
}

#[test]
fn an_exported_policy_that_enforces_reports_nothing_alone() {
    let action = |text: &str, found: [&str; 2]| found.iter().any(|one| text.contains(one));
    for control in validating() {
        for (form, file) in &control.forms {
            let audit = action(file.text, ["failureAction: Audit\n", "validationActions: [Audit]\n"]);
            assert!(audit, "{}: {form:?}", control.name);
            // No other spelling of the action, which `--enforce` would leave as it is.
            let all = file
                .text
                .lines()
                .filter(|line| line.contains("failureAction") || line.contains("validationActions"));
            let spellings: BTreeSet<&str> = all.map(str::trim).collect();
            assert_eq!(spellings.len(), 1, "{}: {spellings:?}", file.path);
        }
    }
}
