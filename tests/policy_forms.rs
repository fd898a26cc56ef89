//! The policies of this repository in their three forms: all say the same about the same objects,
//! in the same words.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use ephor_document::ResourceOptions;
use ephor_engine::Request;
use ephor_engine::Status;
use ephor_engine::request::Parts;
use ephor_policies::{Engine, PolicySet};
use ephor_value::Value;

/// What a policy says about an object, over all of its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Fail,
    Error,
    Nothing,
}

fn engine(path: &Path) -> Engine {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Engine::new(PolicySet::from_yaml(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
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
    assert_eq!(found.0, expected.0, "{what}");
    for message in &found.1 {
        let has = |classic: &String| classic.contains(message.trim_end_matches('.'));
        assert!(expected.1.iter().any(has), "{what}: `{message}` is none of {:#?}", expected.1);
    }
}

/// The folders of policies below a group's.
fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    let below = |dir: &Path| -> Vec<PathBuf> {
        let all = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
        all.filter(|p| p.is_dir()).collect()
    };
    let mut all: Vec<PathBuf> = below(&root).iter().flat_map(|group| below(group)).collect();
    all.sort();
    all
}

#[test]
fn all_forms_of_a_policy_give_the_same_verdict_on_the_same_objects() {
    let (mut objects, mut violations) = (0, 0);
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let classic = engine(&folder.join(format!("{name}.yaml")));
        let review = engine(&folder.join(format!("{name}.vpol.yaml")));
        let kubernetes = engine(&folder.join(format!("{name}.vap.yaml")));
        let text = std::fs::read_to_string(folder.join(".kyverno-test/resources.yaml")).unwrap();
        for found in ephor_document::resources(name, &text, ResourceOptions { float_numbers: true }).unwrap()
        {
            let object = &found.value;
            let shown =
                format!("{name}: {} {}", object.text_at(&["kind"]), object.text_at(&["metadata", "name"]));
            let expected = verdict(&classic, object);
            assert_same(&verdict(&review, object), &expected, &format!("ValidatingPolicy {shown}"));
            let found = verdict(&kubernetes, object);
            assert_same(&found, &expected, &format!("ValidatingAdmissionPolicy {shown}"));
            objects += 1;
            violations += usize::from(expected.0 == Verdict::Fail);
        }
    }
    // Both kinds of verdict are read.
    assert!(objects > 200 && violations > 80, "{objects} objects, {violations} violations");
}

#[test]
fn forms_of_policies_about_pods_are_proved_equal() {
    // Those that take little time where code is not optimised.
    for name in ["disallow-host-namespaces", "disallow-host-path", "restrict-sysctls"] {
        let file = format!("policies/pod-security-baseline/{name}/{name}");
        for form in ["vpol", "vap"] {
            let (old, new) = (format!("{file}.yaml"), format!("{file}.{form}.yaml"));
            let out = std::process::Command::new(env!("CARGO_BIN_EXE_ephor"))
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .args(["diff", &old, &new])
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&out.stdout);
            assert!(text.contains("1 policy: 1 proved, 0 tested, 0 differ"), "{new}: {text}");
        }
    }
}
