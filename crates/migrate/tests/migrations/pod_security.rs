//! Pod Security rules in CEL: what old and new policies say of pods.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use ephor_compare::{Side, Verdict};
use ephor_document::yaml_value;
use ephor_migrate::{Limits, Options, file};
use ephor_policies::load::{Reader, argument_for};
use ephor_sources::files::SourceText;
use ephor_value::Value;

fn side(text: &str) -> Side {
    let file = SourceText { name: "policy.yaml".into(), text: text.into() };
    Side::new(argument_for(&[file], Reader::Scan), "policy.yaml").unwrap()
}

/// A policy in both forms; `controllers`: the annotation about pod controllers.
fn both(controllers: &str, level: &str, exclude: &str) -> [Side; 2] {
    let old = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p, annotations: {{{controllers}}}}}\nspec:\n  rules:\n  - name: r\n    \
         match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate: {{podSecurity: {{level: {level}, version: latest, exclude: [{exclude}]}}}}\n"
    );
    // What the comparison finds is of no interest here.
    let limits = Limits { time: Some(Duration::ZERO), ..Limits::default() };
    let new = file("policy.yaml", &old, &Options::default(), limits).unwrap();
    assert!(new.has_moved(), "{exclude}: {:?}", new.parts[0].outcome);
    [side(&old), side(&new.migrated())]
}

/// Whether an object is a violation.
fn violates(side: &Side, object: &str) -> bool {
    let judged = side.judge_object(&yaml_value(object).unwrap(), "CREATE").unwrap();
    assert_ne!(judged.verdict, Verdict::Error, "{object}: {}", judged.message);
    judged.verdict.is_violation()
}

/// A security context with a value of a field, none if there is no value.
fn context(field: &str, value: Option<&str>) -> String {
    let inside = |value: &str| match field {
        "seccompProfile" => format!(", securityContext: {{seccompProfile: {{type: {value}}}}}"),
        field => format!(", securityContext: {{{field}: {value}}}"),
    };
    value.map(inside).unwrap_or_default()
}

/// Pods with one or two containers of two images and perhaps an init container, and all values of a
/// field in each place.
fn pods(field: &str, values: [Option<&str>; 3]) -> Vec<String> {
    let contexts = values.map(|value| context(field, value));
    let each = |image: &'static str| contexts.iter().map(move |own| format!("image: {image}{own}"));
    let containers: Vec<String> = each("new").chain(each("old/a")).collect();
    let mut lists: Vec<String> = containers.iter().map(|one| format!("[{{name: a, {one}}}]")).collect();
    for one in &containers {
        lists.extend(containers.iter().map(|two| format!("[{{name: a, {one}}}, {{name: b, {two}}}]")));
    }
    let first: Vec<String> = std::iter::once(String::new())
        .chain(containers.iter().take(4).map(|one| format!(", initContainers: [{{name: i, {one}}}]")))
        .collect();
    let mut all = Vec::new();
    for pod in &contexts {
        for list in &lists {
            all.extend(first.iter().map(|init| {
                format!(
                    "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: {list}{init}{pod}}}}}"
                )
            }));
        }
    }
    all
}

/// Exclusions of the other controls that such pods violate.
const OTHERS: &str =
    "{controlName: Privilege Escalation, images: ['*']}, {controlName: Capabilities, images: ['*']}, ";

fn agree_on_all(field: &str, values: [Option<&str>; 3], exclusions: &[&str]) {
    let pods = pods(field, values);
    for own in exclusions {
        let [old, new] = both("pod-policies.kyverno.io/autogen-controllers: none", "restricted", own);
        let mut violations = 0;
        for pod in &pods {
            let is_violation = violates(&old, pod);
            assert_eq!(is_violation, violates(&new, pod), "{own}: {pod}");
            violations += usize::from(is_violation);
        }
        assert!((1..pods.len()).contains(&violations), "{own}: {violations} of {}", pods.len());
    }
}

#[test]
fn exclusions_of_seccomp_are_those_of_kyverno_which_reports_the_first_requirement_alone() {
    let others = format!(
        "{OTHERS}{{controlName: Running as Non-root}}, {{controlName: Running as Non-root, images: ['*']}}, "
    );
    let with = |own: &str| format!("{others}{own}");
    let of_pod = "{controlName: Seccomp, restrictedField: spec.securityContext.seccompProfile.type, values: [Unconfined]}";
    let of_list = "{controlName: Seccomp, images: ['old/*'], restrictedField: 'spec.containers[*].securityContext.seccompProfile.type', values: [Unconfined]}";
    let all = [
        with("{controlName: Seccomp}"),
        with("{controlName: Seccomp, images: ['old/*']}"),
        with("{controlName: Seccomp, images: ['old/*']}, {controlName: Seccomp}"),
        with("{controlName: Seccomp}, {controlName: Seccomp, images: ['old/*']}"),
        with("{controlName: Seccomp, images: ['*']}"),
        with(of_pod),
        with(of_list),
        with(&format!("{of_pod}, {of_list}")),
    ];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    agree_on_all("seccompProfile", [None, Some("RuntimeDefault"), Some("Unconfined")], &all);
}

#[test]
fn an_exclusion_without_images_exempts_one_container_as_well() {
    let others = format!("{OTHERS}{{controlName: Seccomp}}, {{controlName: Seccomp, images: ['*']}}, ");
    let with = |own: &str| format!("{others}{own}");
    let all = [
        with("{controlName: Running as Non-root}"),
        with("{controlName: Running as Non-root, images: ['old/*']}"),
        with("{controlName: Running as Non-root, images: ['old/*']}, {controlName: Running as Non-root}"),
    ];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    agree_on_all("runAsNonRoot", [None, Some("true"), Some("false")], &all);
}

#[test]
fn a_source_of_volumes_may_be_excluded() {
    let own = "{controlName: Volume Types, restrictedField: 'spec.volumes[*].nfs', values: ['*']}";
    let [old, new] = both("pod-policies.kyverno.io/autogen-controllers: none", "restricted", own);
    let pod = |source: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{volumes: [{{name: v, {source}}}], \
             securityContext: {{runAsNonRoot: true, seccompProfile: {{type: RuntimeDefault}}}}, containers: [{{name: a, image: a, \
             securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}}}]}}}}"
        )
    };
    for (source, expected) in [
        ("emptyDir: {}", false),
        ("nfs: {server: a, path: /}", false),
        ("rbd: {monitors: [a], image: a}", true),
    ] {
        assert_eq!([&old, &new].map(|side| violates(side, &pod(source))), [expected; 2], "{source}");
    }
}

#[test]
fn annotations_of_cron_jobs_are_those_of_their_jobs() {
    let [old, new] = both("", "baseline", "");
    let object = |of_job: &str, of_pod: &str| -> Value {
        let annotations = |value: &str| match value {
            "" => "{}".to_string(),
            value => {
                format!("{{annotations: {{container.apparmor.security.beta.kubernetes.io/a: {value}}}}}")
            }
        };
        let text = format!(
            "{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: c}}, spec: {{schedule: '* * * * *', jobTemplate: {{metadata: {}, spec: \
             {{template: {{metadata: {}, spec: {{restartPolicy: Never, containers: [{{name: a, image: a}}]}}}}}}}}}}}}",
            annotations(of_job),
            annotations(of_pod)
        );
        yaml_value(&text).unwrap()
    };
    for (of_job, of_pod, expected) in
        [("unconfined", "", true), ("", "unconfined", false), ("runtime/default", "unconfined", false)]
    {
        let object = object(of_job, of_pod);
        let said =
            [&old, &new].map(|side| side.judge_object(&object, "CREATE").unwrap().verdict.is_violation());
        assert_eq!(said, [expected; 2], "{of_job} {of_pod}");
    }
}
