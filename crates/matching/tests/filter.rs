//! Match and exclude blocks of classic policies, and the index.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use std::sync::Arc;

use ephor_ir::{Origin, Policy};
use ephor_lower::matcher::matcher;
use ephor_lower::policy::policy;
use ephor_matching::filter::{Mode, accepts};
use ephor_matching::index::Index;
use ephor_matching::{Target, User};
use ephor_value::Value;

fn yaml(text: &str) -> Value {
    ephor_document::yaml_value(text).unwrap()
}

fn target(text: &str) -> Target {
    Target { operation: "CREATE".into(), ..Target::of(&yaml(text)) }
}

fn matches(block: &str, target: &Target, mode: Mode) -> bool {
    accepts(&matcher(Some(&yaml(block)), &Origin::default()), target, mode)
}

const CM: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web, labels: {app: x}}}";

#[test]
fn any_wins_over_all_and_all_over_the_inline_form() {
    let t = target(CM);
    assert!(matches(
        "{any: [{resources: {kinds: [ConfigMap]}}], all: [{resources: {kinds: [Pod]}}]}",
        &t,
        Mode::Match
    ));
    assert!(!matches(
        "{all: [{resources: {kinds: [ConfigMap]}}, {resources: {kinds: [Pod]}}]}",
        &t,
        Mode::Match
    ));
    assert!(matches("{resources: {kinds: [ConfigMap], namespaces: ['w*']}}", &t, Mode::Match));
}

#[test]
fn an_empty_filter_accepts_nothing() {
    let t = target(CM);
    assert!(!matches("{any: [{}]}", &t, Mode::Match));
    assert!(!matches("{all: [{resources: {kinds: [ConfigMap]}}, {}]}", &t, Mode::Exclude));
}

#[test]
fn without_user_information_match_ignores_users_and_exclude_does_not_match() {
    let block = "{any: [{resources: {kinds: [ConfigMap]}, subjects: [{kind: User, name: eve}]}]}";
    let unknown = target(CM);
    assert!(matches(block, &unknown, Mode::Match));
    assert!(!matches(block, &unknown, Mode::Exclude));
    let eve = Target { user: Some(Arc::new(User { name: "eve".into(), ..User::default() })), ..unknown };
    assert!(matches(block, &eve, Mode::Exclude));
}

#[test]
fn exceptions_do_not_read_operations() {
    let t = target(CM);
    let block = "{any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]}";
    assert!(!matches(block, &t, Mode::Match));
    assert!(matches(block, &t, Mode::Exception));
}

fn named(name: &str, filter: &str) -> Policy {
    policy(&yaml(&format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: {name}}}, spec: {{rules: [{{name: r, match: {{any: [{{resources: {filter}}}]}}, validate: {{deny: {{}}}}}}]}}}}"
    )))
}

#[test]
fn the_index_finds_the_rules_that_can_match_among_many() {
    let mut policies: Vec<Policy> =
        (0..10_000).map(|i| named("other", &format!("{{kinds: [Kind{i}]}}"))).collect();
    policies.extend((0..1_000).map(|i| named("ns", &format!("{{kinds: [ConfigMap], namespaces: [ns{i}]}}"))));
    policies.push(named("kind", "{kinds: [ConfigMap]}"));
    policies.push(named("wild", "{kinds: ['Config*']}"));
    policies.push(named("web", "{kinds: [ConfigMap], namespaces: [web]}"));
    policies.push(named("name", "{kinds: [ConfigMap], names: [a]}"));
    let index = Index::new(policies.iter());
    let found: Vec<&str> =
        index.candidates(&target(CM)).iter().map(|(p, _)| &*policies[*p as usize].name).collect();
    assert_eq!(found, ["kind", "wild", "web", "name"]);
}

#[test]
fn the_index_leaves_out_no_rule_that_matches() {
    let filters = [
        "{kinds: [ConfigMap]}",
        "{kinds: ['*']}",
        "{kinds: [v1/ConfigMap], names: ['a*']}",
        "{kinds: [Pod, ConfigMap], namespaces: [web, x]}",
        "{namespaces: [web]}",
        "{names: [a]}",
        "{kinds: [ConfigMap], selector: {matchLabels: {app: x}}}",
        "{kinds: ['*/*']}",
    ];
    let policies: Vec<Policy> = filters.iter().map(|f| named("p", f)).collect();
    let index = Index::new(policies.iter());
    for object in [
        CM,
        "{apiVersion: v1, kind: Namespace, metadata: {name: web}}",
        "{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: x}}",
    ] {
        let t = target(object);
        let found = index.candidates(&t);
        for (i, p) in policies.iter().enumerate() {
            if accepts(&p.rules[0].when, &t, Mode::Match) {
                assert!(found.contains(&(i as u32, 0)), "{} on {object}", filters[i]);
            }
        }
    }
}
