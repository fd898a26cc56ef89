#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::{corpus, schema};

fn computed(policy: &str, selection: Selection<'_>) -> Vec<String> {
    let policy = schema::check(&corpus::parse(policy)).unwrap();
    names(&computed_rules(&policy, selection))
}

fn names(rules: &[Value]) -> Vec<String> {
    rules.iter().map(|rule| rule.text_at(&["name"]).to_owned()).collect()
}

fn policy(annotation: Option<&str>, rules: &str) -> String {
    let annotations =
        annotation.map_or(String::new(), |a| format!(r#","annotations":{{"{ANNOTATION}":"{a}"}}"#));
    format!(
        r#"{{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{{"name":"p"{annotations}}},"spec":{{"rules":[{rules}]}}}}"#
    )
}

const ON_PODS: &str =
    r#"{"name":"r","match":{"any":[{"resources":{"kinds":["Pod"]}}]},"validate":{"pattern":{"spec":{}}}}"#;

#[test]
fn generates_the_recorded_rules() {
    let (mut lines, mut wrong) = (0, Vec::new());
    for case in corpus::cases("autogen.jsonl") {
        let rules: Vec<Value> = corpus::policies(&case)
            .iter()
            .flat_map(|p| computed_rules(&schema::check(p).unwrap(), Selection::All))
            .collect();
        lines += 1;
        let expected = case.at(&["expected", "ruleBodies"]).unwrap();
        let found = Value::list(rules);
        if !corpus::without_empty(&found).json_eq(&corpus::without_empty(expected)) {
            wrong.push(case.text_at(&["id"]).to_owned());
        }
    }
    assert!(wrong.is_empty(), "{} of {lines}: {wrong:?}", wrong.len());
}

#[test]
fn names_the_recorded_rules() {
    for file in ["autogen", "conditions", "match", "mutate", "patterns", "realistic", "rules", "variables"] {
        for case in corpus::cases(&format!("{file}.jsonl")) {
            let policies = corpus::policies(&case);
            let policies: Vec<Value> = policies.iter().map(|p| schema::check(p).unwrap()).collect();
            let rules: Vec<Value> = policies.iter().flat_map(|p| computed_rules(p, Selection::All)).collect();
            let written: Vec<Value> = policies.iter().flat_map(written_rules).cloned().collect();
            let expected = match case.at(&["expected", "ruleNames"]) {
                Some(names) => {
                    names.as_list().unwrap().iter().map(|n| n.as_str().unwrap().to_owned()).collect()
                }
                None => names(&written),
            };
            assert_eq!(names(&rules), expected, "{}", case.text_at(&["id"]));
        }
    }
}

#[test]
fn the_annotation_selects_controllers() {
    for (annotation, all) in [
        (None, 3),
        (Some("none"), 1),
        (Some(""), 1),
        (Some(","), 1),
        (Some("Deployment"), 2),
        (Some("Deployment, CronJob"), 3),
        (Some("CronJob"), 2),
        (Some("None"), 2),
        (Some("Deployment,Foo"), 2),
    ] {
        assert_eq!(computed(&policy(annotation, ON_PODS), Selection::All).len(), all, "{annotation:?}");
    }
}

#[test]
fn one_kind_gets_only_its_own_rules() {
    let deployment_only = policy(Some("Deployment, CronJob"), ON_PODS);
    for (kind, expected) in [
        ("Pod", vec!["r"]),
        ("Deployment", vec!["r", "autogen-r"]),
        ("CronJob", vec!["r"]),
        ("ConfigMap", vec!["r"]),
    ] {
        assert_eq!(computed(&deployment_only, Selection::ForKind(kind)), expected, "{kind}");
    }
    // A kind of this name has none, whatever else the annotation names.
    for annotation in ["none", "none,Foo"] {
        let named = policy(Some(annotation), ON_PODS);
        assert_eq!(computed(&named, Selection::ForKind("none")), ["r"], "{annotation}");
    }
    let all = policy(None, ON_PODS);
    assert_eq!(computed(&all, Selection::ForKind("CronJob")), ["r", "autogen-cronjob-r"]);
    assert_eq!(computed(&all, Selection::ForKind("Job")), ["r", "autogen-r"]);
}

#[test]
fn a_name_ends_after_63_bytes() {
    let long = ON_PODS.replace("\"r\"", &format!("\"{}\"", "x".repeat(60)));
    let names = computed(&policy(None, &long), Selection::All);
    assert!(names[1..].iter().all(|name| name.len() == 63));
}

#[test]
fn references_in_messages_lead_through_the_template() {
    assert_eq!(shifted("$(/validate/pattern/a) $(x)", "pattern", "s/t"), "$(/validate/pattern/s/t/a) $(x)");
    assert_eq!(shifted("$(anyPattern/3/a)", "anyPattern", "s/t"), "$(anyPattern/3/s/t/a)");
}

#[test]
fn a_legacy_exclude_keeps_its_kinds_on_the_way_to_the_cron_job_rule() {
    let rule = ON_PODS.replace(r#""validate""#, r#""exclude":{"resources":{"kinds":["Pod"]}},"validate""#);
    let policy = schema::check(&corpus::parse(&policy(Some("CronJob"), &rule))).unwrap();
    let rules = computed_rules(&policy, Selection::All);
    let kinds = rules[1].at(&["exclude", "resources", "kinds"]).unwrap();
    assert!(kinds.json_eq(&Value::list(vec!["batch/v1/CronJob".into()])));
}
