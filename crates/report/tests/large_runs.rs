//! Runs of more results than there is memory for: the same documents, in bounded memory.

#![allow(clippy::unwrap_used)]

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use ephor_engine::Status;
use ephor_report::formats::{Format, WriteError};
use ephor_report::run::{
    Finding, Findings, Invocation, Order, Place, PolicyInfo, ResourceName, Run, Severity,
};

/// Results of this many objects: two forms of a control, a policy with two rules, one that passes,
/// and one that is evaluated behind all others.
fn findings(objects: usize) -> impl Iterator<Item = Finding> {
    let policy = |name: &str, kind: &str, severity| {
        let (name, kind) = (name.into(), kind.into());
        let description = format!("Policy {name} requires it. {}", "More about it. ".repeat(20));
        Arc::new(PolicyInfo { name, kind, description, severity, ..PolicyInfo::default() })
    };
    let classic = policy("pin", "ClusterPolicy", Some(Severity::Medium));
    let cel = policy("pin", "ValidatingPolicy", Some(Severity::Medium));
    let labels = policy("labels", "ClusterPolicy", None);
    let late = policy("late", "CleanupPolicy", Some(Severity::Low));
    let place = |file: &str, line, text: &str| {
        Some(Place { file: file.into(), line, column: 5, length: 3, text: text.into() })
    };
    let of =
        move |i: usize, policy: &Arc<PolicyInfo>, rule: &str, status, message: &str, field: &str| Finding {
            order: Order::default(),
            policy: policy.clone(),
            rule: rule.into(),
            status,
            message: message.into(),
            resource: Some(ResourceName {
                api_version: "v1".into(),
                kind: "Pod".into(),
                namespace: format!("n{}", i % 30),
                name: format!("pod-{i}"),
                generate_name: String::new(),
            }),
            field: Some(field.into()),
            place: place("pods.yaml", i * 12 + 3, "    image: \"x:latest\""),
            template: None,
            decision: place("policies/p.yaml", 9, "    image: \"!*:latest\""),
            fix: None,
            is_known: i.is_multiple_of(7) && status == Status::Fail,
        };
    let on_time = {
        move |i: usize| {
            let pin = "validation error: Pin the tag. rule tag failed at path /spec/image/";
            [
                of(i, &classic, "tag", Status::Fail, pin, "spec.image"),
                of(i, &cel, "", Status::Fail, "Pin the tag", "spec.image"),
                of(i, &labels, "team", Status::Pass, "", "metadata"),
                of(i, &labels, "cost", Status::Warn, "who <pays> & why?\nné", "metadata.labels"),
                // The same rule again.
                of(i, &labels, "cost", Status::Error, "no such key", "metadata.labels.b"),
            ]
        }
    };
    let at_the_end = move |i: usize| of(i, &late, "", Status::Fail, "it stays", "metadata.name");
    (0..objects).flat_map(on_time).chain((0..objects).step_by(3).map(at_the_end))
}

fn run(most: usize, objects: usize) -> Run {
    let mut all = Findings::within(most);
    all.extend(findings(objects)).unwrap();
    assert_eq!(all.is_on_disk(), most == 0);
    let invocation = Invocation { policies: vec!["policies".into()], ..Invocation::default() };
    Run { findings: all, resources: objects, policies: 4, invocation, ..Run::default() }
}

#[test]
fn each_format_writes_the_same_from_memory_and_from_disk() {
    for violations_only in [false, true] {
        let of = |most| Run { violations_only, ..run(most, 300) };
        let (memory, disk) = (of(usize::MAX), of(0));
        assert_eq!(memory.counts(), disk.counts());
        for (name, format) in Format::ALL {
            let [a, b] = [&memory, &disk].map(|run| format.document(run, true).unwrap());
            assert!(a == b, "{name} differs");
            assert!(a.text.len() > 100, "{name}: {}", a.text);
        }
    }
}

#[test]
fn an_object_whose_results_come_at_two_places_of_the_run_is_shown_once() {
    for most in [usize::MAX, 0] {
        let text = Format::Text.document(&run(most, 4), false).unwrap().text;
        assert_eq!(text.matches("Pod n0/pod-0 (pods.yaml)\n").count(), 1, "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let at = |wanted: &str| lines.iter().position(|line| line.contains(wanted)).unwrap();
        assert!(at("pod-0") < at("KNOWN late") && at("KNOWN late") < at("pod-1"), "{text}");
        assert!(text.contains("4 resources, 4 policies: 10 failed"), "{text}");
        assert!(text.contains("(14 violations in 18 results)"), "{text}");
    }
}

/// Has room for some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_is_full_is_an_error_at_any_place_of_a_document() {
    let run = run(0, 3);
    for (name, format) in Format::ALL {
        let whole = format.document(&run, false).unwrap().text.len();
        for room in (0..whole).step_by(97) {
            let written = format.write(&run, false, &mut Full(room));
            let is_full = |error: &io::Error| error.kind() == io::ErrorKind::StorageFull;
            assert!(
                matches!(&written, Err(WriteError::Output(error)) if is_full(error)),
                "{name}: {written:?}"
            );
        }
        format.write(&run, false, &mut Full(whole)).unwrap();
    }
}

#[test]
fn results_that_have_no_room_on_the_disk_are_an_error_that_names_the_folder() {
    let mut all = Findings::within(1_000).in_folder(PathBuf::from("/no such folder"));
    let error = all.extend(findings(4_000)).unwrap_err().to_string();
    assert!(error.contains("`/no such folder`"), "{error}");
}

/// The most memory that this process had, in bytes.
#[cfg(target_os = "linux")]
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1_024
}

#[cfg(target_os = "linux")]
#[test]
fn four_times_as_many_results_need_no_more_memory() {
    let all = |objects| {
        let mut all = Findings::default();
        all.extend(findings(objects)).unwrap();
        let run = Run { findings: all, ..Run::default() };
        for (_, format) in Format::ALL {
            format.write(&run, false, &mut io::sink()).unwrap();
        }
        (run.findings.len(), peak())
    };
    let ((few, least), (many, most)) = (all(1_500), all(6_000));
    assert_eq!((few, many), (8_000, 32_000));
    // 24,000 results take about 14 MB in memory.
    assert!(most < least + (6 << 20), "{} MB, {} MB", least >> 20, most >> 20);
}
